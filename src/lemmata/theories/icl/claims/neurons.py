"""Neurons: norms (P8), directions (P9), lucky ones (P11, P12), growth of W_V and W_O (P14, P15); pruning: small ones
are harmless, large ones are not (P10), also out of domain (figure 6.5)."""

import itertools

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.icl import bounds, measures
from lemmata.theories.icl.measures import ACTIVE, EARLY, SHUFFLED, at_growth, intact, learnt


@lm.evidence("p1-default")
def large_neurons(data: xr.Dataset, variant: str = "intact") -> dict[str, xr.DataArray]:
    """The share of large neurons, and their median norm over that of the others."""
    data = lm.cells(data, variant=variant)
    return {"share": lm.at_end(data.large_share), "ratio": lm.at_end(data.norm_ratio)}


def _cosine(data: xr.Dataset, block: str, variant: str) -> xr.DataArray:
    """The cosine of a block of the large neurons with its direction; NaN for the others."""
    data = lm.cells(data, variant=variant)
    return lm.at_end(data[f"{block}_cosine"]).where(lm.at_end(data.large) > 0)


@lm.evidence("p1-default")
def feature_cosine(data: xr.Dataset, variant: str = "intact") -> xr.DataArray:
    """The median cosine of the feature block with μ̄ over the large neurons."""
    return _cosine(data, "feature", variant).median("neuron", skipna=True)


@lm.evidence("p1-default")
def label_cosine(data: xr.Dataset, variant: str = "intact") -> dict[str, xr.DataArray]:
    """The median cosine with sign(a_i) q over the large neurons, and the share of them whose sign is right."""
    cosine = _cosine(data, "label", variant)
    signs = (cosine > 0).where(cosine.notnull()).mean("neuron", skipna=True)
    return {"median": cosine.median("neuron", skipna=True), "signs": signs}


@lm.evidence("p11-lucky")
def lucky_chance(data: xr.Dataset, sign: str, sets: str = "lucky") -> tuple[float, str]:
    """The two-sided binomial p-value of the lucky neurons of all draws against 1/8."""
    from scipy.stats import binomtest

    lucky, total = int(data[sets].sel(sign=sign).sum()), int(data.width.sum())
    return float(binomtest(lucky, total, 1 / 8).pvalue), f"{lucky / total:.4f} of {total} neurons are lucky"


@intact
def least_active(data: xr.Dataset, pairs: str, since: float = 0, rows: str = "trained") -> xr.DataArray:
    """The smallest share of lucky neurons that are active, own or all, over the records from a step on.

    rows: of W_O as trained, or planted as (μ̄; sign(a_i) q).
    """
    active = data[f"{pairs}_active" if rows == "trained" else f"{rows}_{pairs}_active"]
    return active.where(data.step >= since).min("record")


@intact
def least_coefficient(data: xr.Dataset, labels: str = "true") -> xr.DataArray:
    """The smallest mean coefficient on a_i > 0 over the growth records; labels: of the queries, true or negated."""
    coefficient = data.value_coefficient if labels == "true" else data.negated_value_coefficient
    return at_growth(data, coefficient.sel(sign="plus")).min("record")


@intact
def coefficient_order(data: xr.Dataset, on_law: bool = False) -> dict[str, xr.DataArray]:
    """Smallest over largest normalised coefficient on a_i > 0 while the loss is active (a negative one is below any
    factor), and by how much (β²+1) |that on a_i < 0| exceeds it, relative to the largest.

    on_law: the first keep every seed's own mean and are put on the law, constant along training; the others on half of
    1/(β²+1) of it.
    """
    factor = measures.setting_of(data).pattern_norm ** 2 + 1
    active = data.active_hinge >= ACTIVE
    plus, minus = (data.value_coefficient.sel(sign=sign, drop=True).where(active) for sign in ("plus", "minus"))
    if on_law:
        plus = plus.mean("record").where(active)
        minus = plus / (2 * factor)
    if active.sum("record").min() < 2:
        raise lm.NotApplicable("fewer than two records with an active loss in some seed")
    most = abs(plus.max("record"))
    return {"even": plus.min("record") / most, "others": ((abs(minus) * factor - plus) / most).max("record")}


@intact
def coefficient_growth(data: xr.Dataset, records: str = "growth") -> xr.DataArray:
    """The largest coefficient over the growth records (or up to step 100), over that at step 100."""
    plus = data.value_coefficient.sel(sign="plus", drop=True)
    chosen = at_growth(data, plus) if records == "growth" else plus.where(data.step <= EARLY)
    return chosen.max("record") / lm.at(plus, data.step, EARLY)


@intact
def lucky_growth(data: xr.Dataset, on_bound: bool = False) -> xr.DataArray:
    """Growth of W_O along (μ̄; q), mean over the lucky neurons, over δ(β²+1)αηt/(2m); on_bound: put on it with its
    residuals."""
    lucky = data.output_growth.sel(growth="lucky", drop=True)
    grown = {t: lm.at(lucky, data.step, t) for t in (50, 100, 200)}
    least = {t: v.mean("seed") if on_bound else measures.linear_growth(data, t) for t, v in grown.items()}
    return lm.stack({f"t={t}": v / least[t] for t, v in grown.items()}, "at")


@lm.evidence("p1-default")
def convex_growth(data: xr.Dataset, variant: str = "intact") -> dict[str, xr.DataArray]:
    """Growth of W_O along (μ̄; ±q) of both signs: at two steps, its increments, and at the end."""
    data = lm.cells(data, variant=variant)
    grown = data.output_growth.sel(growth=["plus", "minus"])
    first, second = (lm.at(grown, data.step, t) for t in (100, 200))
    return {
        "positive": lm.stack({"t=100": first, "t=200": second}, "at"),
        "convex": (second - first) / first,
        "last": lm.at_end(grown),
    }


PLANTED = lm.Control("rows of W_O planted as (μ̄; sign(a_i) q) at every record", rows="planted")


def _lucky_claim(name: str, sign: str, label: str, symbol: str) -> lm.Claim:
    return (
        lm.Claim(f"p11-lucky-{name}", "Lemma E.4.9", "identity", source="derived")
        .states(f"""The lucky neurons of a {label} prompt are an eighth of all: the binomial p-value of their number in
            all draws is above 0.001.""")
        .in_symbols(rf"\mathbb{{E}}|\mathcal{{{symbol}}}_n|/m = 1/8")
        .judged(
            lucky_chance(sign),
            lm.stating(lm.at_least(0.001, strict=True)),
            lm.Control("without the condition on the sign of a_i", sets="unsigned_lucky"),
        )
    )


RATES = ["0.1", "0.2", "0.3", "0.5"]


def _pruned(data: xr.Dataset, order: str, rate: str | list[str] = RATES) -> xr.DataArray:
    """The hinge after pruning so many neurons in this order."""
    return lm.cells(data, order=order, rate=rate).pruned_hinge


@intact
def rise(data: xr.Dataset, first: str = "smallest") -> xr.DataArray:
    """The rise of the hinge after pruning the smallest 20 %, and exactly the small neurons.

    first: with "largest", the largest 20 % and 30 % (about as many as there are small ones) instead.
    """
    small = data.large_hinge if first == "smallest" else _pruned(data, first, "0.3")
    pruned = lm.stack({"20 %": _pruned(data, first, "0.2"), "all small": small}, "pruned")
    return pruned - _pruned(data, "smallest", "0")


@intact
def off_formula(data: xr.Dataset, order: str = "random large") -> xr.DataArray:
    """|hinge - max{0, 1 - F (1 - R m/|L|)}| after pruning a share R of all neurons, F the mean margin before."""
    rate = xr.DataArray([float(r) for r in RATES], coords={"rate": RATES}, dims="rate")
    return abs(_pruned(data, order) - np.maximum(0, 1 - data.unseen_margin * (1 - rate / data.pruned_large_share)))


@intact
def order_gaps(data: xr.Dataset, first: str = "smallest", last: str = "largest") -> xr.DataArray:
    """Hinge of random in L less the one that should be smaller, and of the one that should be larger less it."""
    middle = _pruned(data, "random large")
    below, above = middle - _pruned(data, first), _pruned(data, last) - middle
    return lm.stack({f"over {first}": below, f"{last} over it": above}, "pair")


@intact
def hinge_of_large(data: xr.Dataset, pruned: str = "small") -> xr.DataArray:
    """The hinge without the small neurons, or without the largest half, over the proof's bound."""
    hinge = data.large_hinge if pruned == "small" else _pruned(data, "largest", "0.5")
    return hinge / bounds.pruning_upper(*measures.pruning_shares(data))


@intact
def hinge_after(data: xr.Dataset, order: str = "random large") -> xr.DataArray:
    """The hinge without a share R of neurons less the proof's bound."""
    least = [bounds.pruning_lower(float(rate), *measures.pruning_shares(data)) for rate in RATES]
    return _pruned(data, order) - xr.DataArray(least, coords={"rate": RATES})


@lm.evidence("f65-pruning")
def shifted_rise(data: xr.Dataset, what: str, rate: str, order: str = "smallest") -> xr.DataArray:
    """The rise of hinge or error out of domain after pruning, α' = 0.8."""
    values = lm.cells(data, test_fraction=0.8, order=order)[f"pruned_{what}"]
    return lm.cells(values, rate=rate) - lm.cells(values, rate="0")


@lm.evidence("f65-pruning")
def shifted_rises(data: xr.Dataset, rate: str = "0.5") -> dict[str, xr.DataArray]:
    """The rise of hinge and of error out of domain after pruning the smallest first, α' = 0.8."""
    return {what: shifted_rise.function(data, what, rate) for what in ("hinge", "error")}


@lm.evidence("f65-pruning")
def steps_of_alpha(data: xr.Dataset, alphas: tuple[float, ...] = (0.2, 0.4, 0.8)) -> xr.DataArray:
    """Steps of the error of the pruned network (smallest 20 %) from one α' to the next."""
    error = lm.cells(data, order="smallest", rate="0.2").pruned_error
    at = {alpha: lm.cells(error, test_fraction=alpha) for alpha in alphas}
    return lm.stack({f"{a:g} over {b:g}": at[a] - at[b] for a, b in itertools.pairwise(alphas)}, "step")


INSTEAD = lm.Control("smallest first in place of random", order="smallest")

CLAIMS = (
    learnt("p8-large-neurons", "Theorem 6.3.7", "bound")
    .states("""A constant share of the neurons becomes large: between 0.5 and 0.85 of them, with a median norm at least
        3 times that of the others.""")
    .in_symbols(r"""0.5 \le \frac{|\mathcal{L}|}{m} \le 0.85,\ \mathrm{median}_{i\in\mathcal{L}}\lVert r_i\rVert \ge
        3\,\mathrm{median}_{i\notin\mathcal{L}}\lVert r_i\rVert""")
    .judged(large_neurons(), lm.all_of(share=lm.within(0.5, 0.85), ratio=lm.at_least(3.0)), SHUFFLED),
    learnt("p9-feature-block", "Proposition 6.4.5", "limit")
    .states("Large neurons point to the mean pattern: median cosine of the feature block with μ̄ at least 0.95.")
    .in_symbols(r"\mathrm{median}_{i\in\mathcal{L}}\cos(r_{i,d_x},\bar{\mu}) \ge 0.95")
    .judged(feature_cosine(), lm.at_least(0.95), SHUFFLED),
    learnt("p9-label-block", "Proposition 6.4.5", "limit")
    .states("""Large neurons point to their label: median cosine of the label block with sign(a_i) q at least 0.95, all
        signs right.""")
    .in_symbols(r"""\mathrm{median}_{i\in\mathcal{L}}\cos(r_{i,d_y},\mathrm{sign}(a_i)q) \ge 0.95,\
        \mathrm{sign}(r_{i,d_y}^\top q) = \mathrm{sign}(a_i)\ (i\in\mathcal{L})""")
    .judged(label_cosine(), lm.all_of(median=lm.at_least(0.95), signs=lm.at_least(1.0, by="every")), SHUFFLED),
    _lucky_claim("positive", "plus", "+1", "W"),
    _lucky_claim("negative", "minus", "-1", "U"),
    learnt("p12-own-active", "Lemma E.4.10", "bound")
    .states("As stated: lucky neurons stay active on their prompt throughout training (at least 0.95 of them).")
    .in_symbols(r"\Pr_{i\in\mathcal{W}_n\cup\,\mathcal{U}_n}(W_{O(i,\cdot)}^{(t)}V^n(t) > 0) \ge 0.95")
    .judged(least_active("own"), lm.at_least(0.95), PLANTED, expected=lm.FAILS),
    learnt("p12-all-active", "Lemma E.4.10", "bound")
    .states("""As stated: from step 10 on all of W, the lucky neurons of +1 prompts, are active on every +1 prompt and
        all of U, those of -1 prompts, on every -1 prompt (at least 0.95 of them).""")
    .in_symbols(r"""\Pr_{i\in\mathcal{W},\,z^n=1}(W_{O(i,\cdot)}^{(t)}V^n(t) > 0) \ge 0.95,\
        \Pr_{i\in\mathcal{U},\,z^n=-1}(W_{O(i,\cdot)}^{(t)}V^n(t) > 0) \ge 0.95 \quad (t\ge10)""")
    .judged(least_active("all", since=10), lm.at_least(0.95), PLANTED, expected=lm.FAILS),
    learnt("p14-sign", "Lemma E.4.6", "ordering")
    .states("""While attention grows, W_V moves towards the neurons of the label's sign: the mean coefficient of its
        update on a_i > 0 is positive.""")
    .in_symbols(r"\mathrm{mean}_{a_i>0}V_i > 0, \quad -\nabla_{W_V}p_j = \sum_iV_iW_{O(i,\cdot)}^\top")
    .judged(
        least_coefficient(), lm.at_least(0.0, strict=True), lm.Control("z negated in the formula", labels="negated")
    ),
    learnt("p14-coefficient", "Lemma E.4.6", "bound")
    .states("""As stated: the mean coefficient of W_V's update on a_i > 0 is of the order β²(1-γ)/m as long as half of
        the prompts have loss (within a factor 3), and the one on a_i < 0 at most 1/(β²+1) of it.""")
    .in_symbols(r"""\mathrm{mean}_{a_i>0}V_i = \Theta\left(\frac{\beta^2(1-\gamma_t)}{m}\right),\
        |\mathrm{mean}_{a_i<0}V_i| \le \frac{1}{\beta^2+1}\mathrm{mean}_{a_i>0}V_i""")
    .judged(
        coefficient_order(),
        lm.all_of(even=lm.at_least(1 / 3), others=lm.at_most(0.0)),
        lm.Control("coefficients put on the law, at every seed's own mean", on_law=True),
        expected=lm.FAILS,
    ),
    learnt("p14-coefficient-corrected", "Lemma E.4.6, corrected", "ordering", corrects="p14-coefficient")
    .states("""Corrected: the mean coefficient of W_V's update on a_i > 0, over β²(1-γ)/m, grows while attention does:
        its largest value is at least 5 times that at step 100.""")
    .in_symbols(r"\max_tv(t) \ge 5\,v(100), \quad v(t) = \frac{m\,\mathrm{mean}_{a_i>0}V_i(t)}{\beta^2(1-\gamma_t)}")
    .judged(
        coefficient_growth(), lm.at_least(5.0), lm.Control("the records up to step 100 in their place", records="early")
    ),
    learnt("p15-linear", "Lemma E.4.7", "bound")
    .states("""As stated: W_O of lucky neurons grows at least linearly along (μ̄; q); at t = 50, 100, 200 by at least a
        tenth of δ(β²+1)αηt/(2m).""")
    .in_symbols(r"""\mathrm{mean}_{i\in\mathcal{W}}(W_{O(i,\cdot)}^{(t)}-W_{O(i,\cdot)}^{(0)})(\bar{\mu};q) \ge
        0.1\,\frac{\delta(\beta^2+1)\alpha\eta t}{2m} \quad (t=50,100,200)""")
    .judged(
        lucky_growth(),
        lm.at_least(0.1),
        lm.Control("values put on the bound", on_bound=True),
        expected=lm.FAILS,
    ),
    learnt("p15-linear-corrected", "Lemma E.4.7, corrected", "ordering", corrects="p15-linear")
    .states("""Corrected: W_O grows along (μ̄; ±q) for both signs, slowly at first and then faster (the increment over
        [100, 200] is at least 1.5 times that over [0, 100]), to at least 0.05.""")
    .in_symbols(r"""g_\pm(100) > 0,\ g_\pm(200)-g_\pm(100) \ge 1.5\,(g_\pm(100)-g_\pm(0)),\ g_\pm(T) \ge 0.05, \quad
        g_\pm(t) = \mathrm{mean}_{\pm a_i>0}(W_{O(i,\cdot)}^{(t)}-W_{O(i,\cdot)}^{(0)})(\bar{\mu};\pm q)""")
    .judged(
        convex_growth(),
        lm.all_of(positive=lm.at_least(0.0, strict=True), convex=lm.at_least(1.5), last=lm.at_least(0.05)),
        SHUFFLED,
    ),
    learnt("p10-harmless", "Theorem 6.3.7", "bound")
    .states("""Pruning small neurons is harmless: the hinge rises by at most 0.01 without the smallest 20 %, and without
        exactly the small ones.""")
    .in_symbols(r"\ell_{\text{pruned}}-\ell \le 0.01")
    .judged(rise(), lm.at_most(0.01), lm.Control("largest first", first="largest")),
    learnt("p10-formula", "Theorem 6.3.7, P10", "comparison", source="derived")
    .states("""Pruning a share R of neurons, random large ones, scales the output down: the hinge is max{0, 1 - F(1 -
        Rm/|L|)} within 0.05.""")
    .in_symbols(r"\ell_R = \max\{0,\ 1-\bar{F}(1-Rm/|\mathcal{L}|)\}")
    .judged(off_formula(), lm.at_most(0.05, by="mean"), INSTEAD),
    learnt("p10-order", "Theorem 6.3.7", "ordering")
    .states("""Pruning the smallest neurons first costs no more hinge loss than pruning random large ones, and this no
        more than pruning the largest first, at every rate.""")
    .in_symbols(r"\ell_{\text{smallest first}}(R) \le \ell_{\text{random large}}(R) \le \ell_{\text{largest first}}(R)")
    .judged(
        order_gaps(), lm.at_least(0.0), lm.Control("largest and smallest exchanged", first="largest", last="smallest")
    ),
    learnt("p10-upper", "(E.107)", "bound")
    .states("""Without the small neurons the hinge is below the proof's bound (E.107) with ε = 0.05, which is far from
        tight: their ratio is at most 1.""")
    .in_symbols(r"""\ell_{\text{large only}} \le 1-\left(1-\frac{2}{\alpha'M_1}\right)\frac{1-\epsilon}{1-2/(\alpha
        M_1)}(1-M_1^{-1/2})""")
    .judged(hinge_of_large(), lm.at_most(1.0), lm.Control("largest half pruned instead", pruned="largest half")),
    learnt("p10-lower", "(E.109)", "bound")
    .states("""Without a share R of neurons, random large ones, the hinge is above the proof's bound (E.109) with ε =
        0.05: their difference is positive.""")
    .in_symbols(r"\ell_R \ge 1-\left(1-\frac{2}{\alpha'M_1}\right)\frac{1+\epsilon}{1-2/(\alpha M_1)}(1-R)")
    .judged(hinge_after(), lm.at_least(0.0), INSTEAD),
    learnt("f65a-harmless", "Figure 6.5(a)", "bound", source="figure")
    .states("Out of domain pruning the smallest 15 % raises the hinge by at most 0.03.")
    .in_symbols(r"\ell_{\text{out}}(15\,\%)-\ell_{\text{out}}(0) \le 0.03")
    .judged(shifted_rise("hinge", "0.15"), lm.at_most(0.03), lm.Control("largest first", order="largest")),
    learnt("f65a-error-rises", "Figure 6.5(a)", "bound", source="figure")
    .states("As reported: out of domain, pruning the smallest half raises the classification error by at least 0.02.")
    .in_symbols(r"\mathrm{err}_{\text{out}}(50\,\%)-\mathrm{err}_{\text{out}}(0) \ge 0.02")
    .judged(
        shifted_rise("error", "0.5"),
        lm.at_least(0.02),
        lm.Control("largest first at rate 0.8", order="largest", rate="0.8"),
        expected=lm.FAILS,
    ),
    learnt("f65a-error-rises-corrected", "Figure 6.5(a), corrected", "bound", corrects="f65a-error-rises")
    .states("""Corrected: out of domain, pruning the smallest half raises the hinge loss by at least 0.1, and the
        classification error by less than 0.02.""")
    .in_symbols(r"""\ell_{\text{out}}(50\,\%)-\ell_{\text{out}}(0) \ge 0.1,\
        \mathrm{err}_{\text{out}}(50\,\%)-\mathrm{err}_{\text{out}}(0) < 0.02""")
    .judged(
        shifted_rises(),
        lm.all_of(hinge=lm.at_least(0.1), error=lm.at_most(0.02, strict=True)),
        lm.Control("smallest first at rate 0.15", rate="0.15"),
    ),
    learnt("f65b-context-order", "Figure 6.5(b)", "ordering", source="figure")
    .states("""Out of domain the pruned network (without the smallest 20 %) errs less with more decisive contexts: more
        at α' = 0.2 than at 0.4, and there more than at 0.8.""")
    .in_symbols(r"""\mathrm{err}_{\text{out}}(\alpha'=0.2) > \mathrm{err}_{\text{out}}(\alpha'=0.4) >
        \mathrm{err}_{\text{out}}(\alpha'=0.8)""")
    .judged(steps_of_alpha(), lm.at_least(0.0, strict=True), lm.Control("α' values reversed", alphas=(0.8, 0.4, 0.2))),
)
