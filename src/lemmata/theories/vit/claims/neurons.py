"""Lucky neurons: their alignment and norms (V9), number (V10) and gates (V11), value growth (V14), outputs (V15)."""

import math
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.vit.bounds import cap_probability
from lemmata.theories.vit.measures import NEGATIVE, POSITIVE, SOME_LOSS, UNTRAINED, at_end_or_start, by_side, converged
from lemmata.theories.vit.neurons import SIDES

COLATITUDE = math.pi / 2 - 0.15
"""The guard angle π/2 - (σ+τ) of Lemma A.5.1."""


def _runs(data: xr.Dataset) -> xr.Dataset:
    """The runs with shared signs and trained attention, up to T_0."""
    return lm.cells(data, variant="shared", attention="trained")


@lm.evidence("dynamics")
def alignment(data: xr.Dataset, untrained: bool = False) -> xr.DataArray:
    """Mean cosine of the lucky neurons of a class with its feature."""
    return at_end_or_start(_runs(data).alignment, untrained)


@lm.evidence("dynamics")
def components(data: xr.Dataset, untrained: bool = False) -> xr.DataArray:
    """Mean |W_O,i p_k| of the lucky neurons of class k over the largest along any other p_j."""
    sizes = at_end_or_start(_runs(data).component, untrained)
    lucky = [(k, lm.cells(sizes, group=side)) for k, side in enumerate(SIDES)]
    return by_side([size.isel(feature=k) / size.drop_isel(feature=k).max("feature") for k, size in lucky])


@lm.evidence("dynamics")
def norms(data: xr.Dataset, untrained: bool = False) -> xr.DataArray:
    """Mean squared norm of unlucky rows over that of the lucky rows of each class."""
    squares = at_end_or_start(_runs(data).square_norm, untrained)
    return by_side([lm.cells(squares, group="unlucky") / lm.cells(squares, group=side) for side in SIDES])


@lm.evidence("dynamics")
def output_ratio(data: xr.Dataset, untrained: bool = False) -> xr.DataArray:
    """On y = +1 samples: output of lucky_minus over lucky_plus, relative to α_#/α_*."""
    runs = _runs(data)
    output = lm.cells(at_end_or_start(runs.group_output, untrained), side="plus")
    ratio = lm.cells(output, group="minus") / lm.cells(output, group="plus")
    return ratio / (runs.confusion_share / runs.relevant_share)


@lm.evidence("dynamics")
def persistence(data: xr.Dataset, neurons: str = "lucky") -> xr.DataArray:
    """The smallest gate persistence at any record, of the lucky neurons or of a random half of each sign."""
    groups = list(SIDES) if neurons == "lucky" else [f"random {side}" for side in SIDES]
    return _runs(data).persistence.sel(gate_group=groups).min("record")


def _while_loss(runs: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The records at which at least a quarter of each class still has loss; NaN at the others."""
    return values.where((runs.unsolved >= SOME_LOSS).all("side"))


def _values(runs: xr.Dataset, own: bool) -> xr.DataArray:
    """The mean coefficient V^(k) of the lucky neurons of class k, or of those of the other class."""
    pairs = zip(SIDES, SIDES if own else SIDES[::-1], strict=True)
    return by_side([lm.cells(runs.value_growth, side=side, group=group) for side, group in pairs])


@lm.evidence("dynamics")
def stated_value(data: xr.Dataset, own: bool = True, records: slice = slice(None)) -> xr.DataArray:
    """The smallest V^(2) of lucky_minus, or (not `own`) of lucky_plus, over the steps with loss in both classes."""
    runs = _runs(data).isel(record=records)
    return _while_loss(runs, _values(runs, own)).sel(side="minus", drop=True).min("record")


@lm.evidence("dynamics")
def own_value(data: xr.Dataset, exchanged: bool = False) -> xr.DataArray:
    """The largest own-pattern coefficient over the steps with loss: V^(1) of lucky_plus and V^(2) of lucky_minus."""
    runs = _runs(data)
    return _while_loss(runs, _values(runs, own=not exchanged)).max("record")


@lm.evidence("dynamics")
def cross_value(data: xr.Dataset, exchanged: bool = False) -> xr.DataArray:
    """At t = 0: V^(1) of lucky_minus and V^(2) of lucky_plus."""
    return _values(_runs(data).isel(record=0), own=exchanged)


@lm.evidence("dynamics")
def small_value(data: xr.Dataset, group: str = "unlucky", records: slice = slice(None)) -> xr.DataArray:
    """Time mean over the steps with loss of mean |V^(k)| of a group over that of the own lucky neurons."""
    runs = _runs(data).isel(record=records)

    def share(side: str, other: str) -> xr.DataArray:
        size = lm.cells(runs.value_size, side=side)
        return lm.cells(size, group=other if group == "other class" else group) / lm.cells(size, group=side)

    return _while_loss(runs, by_side([share(*SIDES), share(*SIDES[::-1])])).mean("record")


@lm.evidence("dynamics")
def value_growth(data: xr.Dataset, exchanged: bool = False) -> dict[str, xr.DataArray]:
    """The diagonal of C_V at T_0 over its value at 0; `exchanged`: entries 1, 2 with 3, 4."""
    matrix = _runs(data).value_features
    ratio = lm.at_end(matrix) / matrix.isel(record=0)
    order = [2, 3, 0, 1] if exchanged else [0, 1, 2, 3]
    order += range(4, matrix.sizes["pattern"])
    entries = lm.stack({str(j + 1): ratio.isel(feature=j, pattern=j) for j in order}, "entry")
    return {"discriminative": entries.isel(entry=[0, 1]), "neutral": entries.isel(entry=slice(2, None))}


@lm.evidence("v10-lucky-sets")
def active_on_one(data: xr.Dataset, defect: str = "none") -> dict[str, lm.Uncertain]:
    """Shares of the neurons active on one token, un-signed and signed, with the standard deviation of the binomial."""
    data = lm.cells(data, defect=defect).rename(seed="run")
    return {
        "unsigned": lm.Uncertain(data.active_on_one, np.sqrt(0.25 / data.neurons)),
        "signed": lm.Uncertain(data.lucky_on_one, np.sqrt(0.1875 / data.neurons)),
    }


@lm.evidence("v10-lucky-sets")
def lucky_share(data: xr.Dataset, defect: str = "none") -> xr.DataArray:
    """The mean of the two signed fractions of neurons that are lucky on all relevant tokens."""
    return lm.cells(data.lucky_on_all, defect=defect).mean("side")


@lm.evidence("v10-lucky-sets")
def noise_response(data: xr.Dataset, with_error: bool = True) -> xr.DataArray:
    """The largest response of a neuron to token noise over its bound, with σ in it or without."""
    data = lm.cells(data, defect="none")
    return data.noise_ratio if with_error else data.noise_ratio_without_error


@lm.fact
def cap_share(factor: float = 1.0, *, seed: int) -> lm.Uncertain:
    """Share of 2·10⁵ uniform directions inside the cap, minus `factor` times its probability."""
    draw = np.random.default_rng(seed)
    draws, widths = 2 * 10**5, [5, 10, 20]
    normals = [draw.standard_normal((draws, width)) for width in widths]
    inside = [np.mean(normal[:, 0] / np.linalg.norm(normal, axis=1) >= math.cos(COLATITUDE)) for normal in normals]
    share = xr.DataArray(inside, coords={"m_a": widths})
    return lm.Uncertain(share - factor * cap_probability(widths, COLATITUDE), (share * (1 - share) / draws) ** 0.5)


def near(value: float) -> Any:
    """Four standard errors or deviations around a value."""
    return lm.within(value, value, predicted=value, se=4)


LEMMA = "Lemma A.3.1 claim 1"
EXCHANGED = lm.Control("lucky_plus and lucky_minus exchanged", exchanged=True)
SHIFTED = lm.Control("output weights shifted by -2ξ p_1", defect="shifted")
trained = partial(lm.Claim, gate=converged(attention="trained", variant="shared"))

CLAIMS = (
    trained("v9-lucky-alignment", LEMMA, "bound")
    .states("""At T_0 the lucky neurons point along the feature of their class: the mean cosine of lucky_plus with p_1
        and of lucky_minus with p_2 exceeds 0.8.""")
    .in_symbols(r"""\mathrm{mean}_{i\in\mathcal{W}}\cos(W_{O,i},p_1) > 0.8,\
        \mathrm{mean}_{i\in\mathcal{U}}\cos(W_{O,i},p_2) > 0.8""")
    .judged(alignment(), lm.at_least(0.8, by="every", strict=True), UNTRAINED),
    trained("v9-lucky-components", LEMMA, "comparison")
    .states("At T_0 the lucky neurons' mean component along their own feature is at least twice that along any other.")
    .in_symbols(r"""\mathrm{mean}_{i\in\mathcal{W}}|W_{O,i}p_1| \ge 2\,\mathrm{mean}_{i\in\mathcal{W}}|W_{O,i}p_j|\
        (j\ne1), \quad \mathrm{mean}_{i\in\mathcal{U}}|W_{O,i}p_2| \ge 2\,\mathrm{mean}_{i\in\mathcal{U}}|W_{O,i}p_j|\
        (j\ne2)""")
    .judged(components(), lm.at_least(2.0, by="every"), UNTRAINED),
    trained("v9-lucky-norms", LEMMA, "comparison")
    .states("At T_0 the mean squared norm of the unlucky neurons is less than half that of the lucky ones.")
    .in_symbols(r"""\mathrm{mean}_{\text{unlucky}}\lVert W_{O,i}\rVert^2 < 0.5\,\mathrm{mean}_{\text{lucky}}\lVert
        W_{O,i}\rVert^2""")
    .judged(norms(), lm.at_most(0.5, by="every", strict=True), UNTRAINED),
    lm.Claim("v9-noise-bound", LEMMA, "bound", source="derived")
    .states("Initially no neuron responds to the noise of any token by more than (σ + |W_V| τ) |W_O,i|.")
    .in_symbols(r"|W_{O,i}(W_Vx_l-p_{z(l)})| \le (\sigma+\lVert W_V\rVert\tau)\lVert W_{O,i}\rVert")
    .judged(noise_response(), lm.at_most(1.0, by="every"), lm.Control("the bound with σ = 0", with_error=False)),
    lm.Claim("v10-lucky-single", "Lemma A.5.1", "bound")
    .states("""Half of the neurons are active on a given relevant token, a quarter are so and have the sign of its
        class: within 4 standard deviations of the binomial.""")
    .in_symbols(r"""\frac{|\mathcal{W}_{l,n}(0)|}{m} = \frac{1}{2},\ \frac{|\mathcal{W}_{l,n}(0)\cap\{i: a_i>0\}|}{m} =
        \frac{1}{4}, \quad \mathcal{W}_{l,n}(0) = \{i: W_{O,i}V_l^n>0\}""")
    .judged(active_on_one(), lm.all_of(unsigned=near(0.5), signed=near(0.25)), SHIFTED),
    lm.Claim("v10-lucky-all", "Lemma A.5.1", "bound")
    .states("""A constant share of the neurons is lucky: at least 0.2 are active on all relevant tokens of a class and
        have its sign (mean over both classes).""")
    .in_symbols(r"\frac{|\mathcal{W}|+|\mathcal{U}|}{2m} \ge 0.2")
    .judged(lucky_share(), lm.at_least(0.2, by="every"), SHIFTED),
    lm.Claim("v10-cap-probability", "Lemma A.5.1, (A.189)", "identity")
    .states("""The share of 2·10⁵ uniform directions inside a cap of colatitude π/2 - 0.15 equals its closed form within
        4 standard errors, in 5, 10 and 20 dimensions.""")
    .in_symbols(r"\Pr(\text{colatitude} \le \phi) = \frac{1}{2}I_{\sin^2\phi}\left(\frac{m_a-1}{2},\frac{1}{2}\right)")
    .judged(cap_share(), near(0.0), lm.Control("the formula without the factor 1/2", factor=2.0)),
    trained("v11-gate-persistence", "Lemma A.5.2", "bound")
    .states("""Lucky neurons stay active on relevant tokens: at every record up to T_0 in at least 0.99 of the pairs of
        a lucky neuron and a relevant token.""")
    .in_symbols(r"\Pr_{i\text{ lucky},\,l\in\mathcal{S}_*^n}(W_{O,i}^{(t)}V_l^n(t) > 0) \ge 0.99 \quad (t \le T_0)")
    .judged(
        persistence(),
        lm.at_least(0.99, by="every"),
        lm.Control("a random half of the neurons of each sign instead", neurons="random"),
    ),
    trained("v14-value-own", "(A.17), (A.178)", "ordering")
    .states("""As stated: the coefficient V^(2) of the lucky_minus neurons is positive at every step at which a quarter
        of each class has loss.""")
    .in_symbols(r"\mathrm{mean}_{i\in\mathcal{U}}V_i^{(2)}(t) > 0")
    .judged(
        stated_value(),
        POSITIVE,
        lm.Control("V^(2) of the lucky_plus neurons at t = 0", own=False, records=slice(1)),
        expected=lm.FAILS,
    ),
    trained("v14-value-own-corrected", "Claim 3 (A.36)-(A.39), corrected", "ordering", corrects="v14-value-own")
    .states("""Corrected: own-pattern coefficients are negative, V^(1) on lucky_plus and V^(2) on lucky_minus, at every
        step at which a quarter of each class has loss.""")
    .in_symbols(r"\mathrm{mean}_{i\in\mathcal{W}}V_i^{(1)}(t) < 0,\ \mathrm{mean}_{i\in\mathcal{U}}V_i^{(2)}(t) < 0")
    .judged(own_value(), NEGATIVE, EXCHANGED),
    trained("v14-value-cross", "Claim 3 (A.36)-(A.39)", "ordering")
    .states("Initially the cross coefficients, V^(1) on lucky_minus and V^(2) on lucky_plus, are positive.")
    .in_symbols(r"\mathrm{mean}_{i\in\mathcal{U}}V_i^{(1)}(0) > 0,\ \mathrm{mean}_{i\in\mathcal{W}}V_i^{(2)}(0) > 0")
    .judged(cross_value(), POSITIVE, EXCHANGED),
    trained("v14-value-unlucky", "Claim 3, (A.179)", "comparison")
    .states("""The coefficients of unlucky neurons are small: less than half the own-pattern magnitude on average over
        the steps at which a quarter of each class has loss.""")
    .in_symbols(r"""\mathrm{mean}_t\frac{\mathrm{mean}_{\text{unlucky}}|V_i^{(k)}(t)|}{\mathrm{mean}_{\text{own
        lucky}}|V_i^{(k)}(t)|} < 0.5 \quad (k=1,2)""")
    .judged(
        small_value(),
        lm.at_most(0.5, by="every", strict=True),
        lm.Control("lucky neurons of the other class at t = 0", group="other class", records=slice(1)),
    ),
    trained("v14-value-growth", "Claim 3 (A.36)-(A.39)", "comparison")
    .states("""Up to T_0 the value map grows along the discriminative features by at least 30 % and changes along the
        others by at most 20 %.""")
    .in_symbols(r"\frac{C_V(T_0)[k,k]}{C_V(0)[k,k]} \ge 1.3\ (k=1,2),\ \in[0.8,1.2]\ (k\ge3)")
    .judged(
        value_growth(),
        lm.all_of(discriminative=lm.at_least(1.3, by="every"), neutral=lm.within(0.8, 1.2, by="every", predicted=1.0)),
        lm.Control("entries 1, 2 exchanged with 3, 4", exchanged=True),
    ),
    trained("v15-output-ratio", "(A.43)", "bound")
    .states("""At T_0, on samples of class +1, the output of the lucky_minus neurons over that of the lucky_plus neurons
        is at most 1.5 times α_#/α_*.""")
    .in_symbols(r"\frac{F_{\mathcal{U}}}{F_{\mathcal{W}}} \le 1.5\,\frac{\alpha_\#}{\alpha_*} \quad (y=+1)")
    .judged(output_ratio(), lm.at_most(1.5, by="every"), UNTRAINED),
)
