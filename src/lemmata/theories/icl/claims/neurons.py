"""Neurons: norms (P8), directions (P9), lucky ones (P11, P12), growth of W_V and W_O (P14, P15)."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import all_of, at_least, at_most, within
from lemmata.lab.measures import at_end, stack
from lemmata.theories.icl import bounds
from lemmata.theories.icl.measures import ACTIVE, DEFAULT, EARLY, at_growth, at_step, of_default

EARLIER = (50, 100, 200)
"""Steps at which the linear growth of W_O is read."""


def _sizes(data: xr.Dataset) -> dict[str, xr.DataArray]:
    return {"share": at_end(data.large_share), "ratio": at_end(data.norm_ratio)}


def _median_cosine(data: xr.Dataset, name: str) -> xr.DataArray:
    """The median cosine over the large neurons."""
    return at_end(data[name]).where(at_end(data.large) > 0).median("neuron", skipna=True)


def _labels(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """The median cosine with sign(a_i) q over the large neurons, and the share of them whose sign is right."""
    large = at_end(data.large) > 0
    right = (at_end(data.label_cosine) > 0).where(large).mean("neuron", skipna=True)
    return {"median": _median_cosine(data, "label_cosine"), "signs": right}


def _lucky_p(name: str, sign: str) -> Evidence:
    """The two-sided binomial p-value of the lucky neurons of all draws against 1/8."""

    def evidence(datasets: Datasets) -> float:
        from scipy.stats import binomtest

        data = datasets["p11-lucky"]
        return float(binomtest(int(data[name].sel(sign=sign).sum()), int(data.width.sum()), 1 / 8).pvalue)

    return evidence


def _least_active(name: str, since: float = 0) -> Evidence:
    return of_default(lambda data: data[name].where(data.step >= since).min("record"))


def _coefficients(on_law: bool) -> Callable[[xr.Dataset], dict[str, xr.DataArray]]:
    """Smallest over largest normalised coefficient on a_i > 0 while the loss is active (a negative one is below any
    factor), and by how much (β²+1) |that on a_i < 0| exceeds it, relative to the largest.

    `on_law`: the first keep their residuals around the seed mean and are put on the law, the others on half of
    1/(β²+1) of it.
    """

    def take(data: xr.Dataset) -> dict[str, xr.DataArray]:
        active = data.active_hinge >= ACTIVE
        plus, minus = (data.value_coefficient.sel(sign=sign, drop=True).where(active) for sign in ("plus", "minus"))
        if on_law:
            plus = plus / plus.mean("seed")
            minus = plus / (2 * (DEFAULT.pattern_norm**2 + 1))
        if active.sum("record").min() < 2:
            raise NotApplicable("fewer than two records with an active loss in some seed")
        most = plus.max("record")
        share = (abs(minus) * (DEFAULT.pattern_norm**2 + 1) - plus) / abs(most)
        return {"even": plus.min("record") / abs(most), "others": share.max("record")}

    return take


def _coefficient_growth(exchanged: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """The largest coefficient over the growth records, over that at step 100."""

    def take(data: xr.Dataset) -> xr.DataArray:
        plus = data.value_coefficient.sel(sign="plus", drop=True)
        growth = at_growth(data, plus).max("record") / at_step(data, plus, EARLY)
        return 1 / growth if exchanged else growth

    return take


def _linear(on_law: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """Growth of W_O along (μ̄; q), mean over W, over the claimed δ(β²+1)αηt/(2m); `on_law`: put on it with residuals."""

    def take(data: xr.Dataset) -> xr.DataArray:
        found = {}
        for step in EARLIER:
            grown = at_step(data, data.output_growth.sel(growth="lucky", drop=True), step)
            claimed = bounds.output_growth(
                delta=DEFAULT.initial_scale, beta=DEFAULT.pattern_norm, alpha=DEFAULT.fraction, eta=DEFAULT.step_size,
                t=step, m=DEFAULT.neurons,
            )  # fmt: skip
            found[f"t={step}"] = grown / grown.mean("seed") if on_law else grown / claimed
        return stack(found, "at")

    return take


def _convex(data: xr.Dataset) -> dict[str, xr.DataArray]:
    grown = data.output_growth.sel(growth=["plus", "minus"])
    first, second = at_step(data, grown, 100), at_step(data, grown, 200)
    return {
        "positive": stack({"t=100": first, "t=200": second}, "at"),
        "convex": (second - first) / first,
        "last": at_end(grown),
    }


_READS = ("p1-default",)
_SHUFFLED = "query labels shuffled"
_PLANTED = "rows of W_O planted as (μ̄; sign(a_i) q) at every record"

CLAIMS = (
    Claim(
        name="p8-large-neurons",
        reference="Theorem 6.3.7",
        kind="bound",
        statement="A constant share of the neurons becomes large: between 0.5 and 0.85 of them, with a median norm at "
        "least 3 times that of the others.",
        reads=_READS,
        evidence=of_default(_sizes),
        judge=all_of(share=within(0.5, 0.85), ratio=at_least(3.0)),
        controls=(Control(_SHUFFLED, of_default(_sizes, "shuffled")),),
    ),
    Claim(
        name="p9-feature-block",
        reference="Proposition 6.4.5",
        kind="limit",
        statement="Large neurons point to the mean pattern: median cosine of the feature block with μ̄ at least 0.95.",
        reads=_READS,
        evidence=of_default(lambda data: _median_cosine(data, "feature_cosine")),
        judge=at_least(0.95),
        controls=(Control(_SHUFFLED, of_default(lambda data: _median_cosine(data, "feature_cosine"), "shuffled")),),
    ),
    Claim(
        name="p9-label-block",
        reference="Proposition 6.4.5",
        kind="limit",
        statement="... and to their label: median cosine of the label block with sign(a_i) q at least 0.95, and all "
        "signs right.",
        reads=_READS,
        evidence=of_default(_labels),
        judge=all_of(median=at_least(0.95), signs=at_least(1.0, by="every")),
        controls=(Control(_SHUFFLED, of_default(_labels, "shuffled")),),
    ),
    *(
        Claim(
            name=f"p11-lucky-{name}",
            reference="Lemma E.4.9",
            kind="identity",
            statement=f"The lucky neurons of a {label} prompt are an eighth of all (evidence: binomial p-value).",
            formula=f"E|{symbol}|/m = 1/8",
            reads=("p11-lucky",),
            evidence=_lucky_p("lucky", sign),
            judge=at_least(0.001, strict=True),
            controls=(Control("without the condition on the sign of a_i", _lucky_p("unsigned_lucky", sign)),),
        )
        for name, sign, label, symbol in (("positive", "plus", "+1", "W_n"), ("negative", "minus", "-1", "U_n"))
    ),
    Claim(
        name="p12-own-active",
        reference="Lemma E.4.10",
        kind="bound",
        statement="As stated: lucky neurons stay active on their prompt throughout training (at least 0.95 of them).",
        reads=_READS,
        evidence=_least_active("own_active"),
        judge=at_least(0.95),
        expected=FAILS,
        controls=(Control(_PLANTED, _least_active("planted_own_active"), HOLDS),),
    ),
    Claim(
        name="p12-all-active",
        reference="Lemma E.4.10",
        kind="bound",
        statement="As stated: from step 10 on all of W are active on every +1 prompt and all of U on every -1 prompt "
        "(at least 0.95 of them).",
        reads=_READS,
        evidence=_least_active("all_active", since=10),
        judge=at_least(0.95),
        expected=FAILS,
        controls=(Control(_PLANTED, _least_active("planted_all_active", since=10), HOLDS),),
    ),
    Claim(
        name="p14-sign",
        reference="Lemma E.4.6",
        kind="ordering",
        statement="While attention grows, W_V moves towards the neurons of the label's sign: the mean coefficient on "
        "a_i > 0 is positive.",
        reads=_READS,
        evidence=of_default(lambda data: at_growth(data, data.value_coefficient.sel(sign="plus")).min("record")),
        judge=at_least(0.0, by="every", strict=True),
        controls=(
            Control(
                "z negated in the formula",
                of_default(lambda data: at_growth(data, data.negated_value_coefficient.sel(sign="plus")).min("record")),
            ),
        ),
    ),
    Claim(
        name="p14-coefficient",
        reference="Lemma E.4.6",
        kind="bound",
        statement="As stated: that coefficient is of the order β²(1-γ)/m throughout (within a factor 3), and the one "
        "on a_i < 0 at most 1/(β²+1) of it.",
        formula="V_i ~ β²(1-γ_t)/m",
        reads=_READS,
        evidence=of_default(_coefficients(on_law=False)),
        judge=all_of(even=at_least(1 / 3), others=at_most(0.0)),
        expected=FAILS,
        controls=(Control("coefficients put on the law", of_default(_coefficients(on_law=True)), HOLDS),),
    ),
    Claim(
        name="p14-coefficient-corrected",
        reference="Lemma E.4.6, corrected",
        kind="ordering",
        statement="Corrected: it grows from step 100 on by a factor of at least 5, as neurons stop firing on both "
        "labels.",
        reads=_READS,
        evidence=of_default(_coefficient_growth(exchanged=False)),
        judge=at_least(5.0),
        controls=(Control("the two exchanged", of_default(_coefficient_growth(exchanged=True))),),
    ),
    Claim(
        name="p15-linear",
        reference="Lemma E.4.7",
        kind="bound",
        statement="As stated: W_O of lucky neurons grows at least linearly along (μ̄; q); at t = 50, 100, 200 by at "
        "least a tenth of δ(β²+1)αηt/(2m) (evidence: growth over that).",
        reads=_READS,
        evidence=of_default(_linear(on_law=False)),
        judge=at_least(0.1),
        expected=FAILS,
        controls=(Control("values put on the bound", of_default(_linear(on_law=True)), HOLDS),),
    ),
    Claim(
        name="p15-linear-corrected",
        reference="Lemma E.4.7, corrected",
        kind="ordering",
        statement="Corrected: it grows for both signs, slowly at first and then faster (the increment over [100, 200] "
        "is at least 1.5 times that over [0, 100]), to at least 0.05.",
        reads=_READS,
        evidence=of_default(_convex),
        judge=all_of(positive=at_least(0.0, strict=True), convex=at_least(1.5), last=at_least(0.05)),
        controls=(Control(_SHUFFLED, of_default(_convex, "shuffled")),),
    ),
)
