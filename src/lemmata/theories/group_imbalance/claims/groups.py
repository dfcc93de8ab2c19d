"""What mean, covariance and fraction of a group do to the samples that are needed and to the risks (rows 5-10).

As stated the claims are about upper bounds read as behaviour; the corrected ones follow tr(F_l F⁻¹)."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.group_imbalance.measures import REVERSED, check_diverged, half, medians, threshold_ratio, trend

ENDS = (0.02, 0.5)
SCALES = [0.2, 0.5, 1.0, 2.0, 4.0]
FACTOR = 15.0
"""d K."""


@lm.evidence("f47a-fraction")
def risk_trend(
    data: xr.Dataset,
    along: str = "fraction",
    ends: tuple[Any, Any] = ENDS,
    risk: str = "excess",
    levels: tuple[str, ...] = (),
    reverse: bool = False,
) -> xr.DataArray:
    """The log ratio of a risk at the two ends of a sweep, of group 2 or average; once for each of several levels."""
    check_diverged(lm.cells(data, **{along: list(ends)}).diverged)
    values = data.excess.sel(group="second") if risk == "excess" else data[risk]
    ratio = trend(values, along, ends, reverse)
    return lm.stack(dict.fromkeys(levels, ratio), "level") if levels else ratio


@lm.evidence("f46b-mean")
def mean_predictor(data: xr.Dataset, reverse: bool = False) -> dict[str, xr.DataArray | float]:
    """The median of tr(F_2 F⁻¹): off dK at s = 0, along s, and on the literal path at 1, 2, 3 less that at 0 and 4."""
    factor = medians(data.factor.sel(group="second"))
    away = lm.cells(factor, path=[f"away {s}" for s in (0, 1, 2)]).values
    away = away[::-1] if reverse else away
    literal = {s: float(lm.cells(factor, path=f"literal {s}")) for s in range(5)}
    return {
        "anchor": float(abs(away[0] - FACTOR)),
        "falls": xr.DataArray(away, coords={"s": [0, 1, 2]}),
        "literal": min(literal[s] for s in (1, 2, 3)) - max(literal[0], literal[4]),
    }


@lm.evidence("f47a-fraction")
def predictor_ratio(data: xr.Dataset) -> xr.DataArray:
    """The median of tr(F_2 F⁻¹) at every λ₂ over that at 0.02."""
    factor = medians(data.factor.sel(group="second", drop=True))
    return factor / lm.cells(factor, fraction=0.02)


@lm.evidence("f47b-fraction")
def falls(data: xr.Dataset) -> dict[str, xr.DataArray | float]:
    """tr(F_2 F⁻¹) at λ₂ = 0.02 over that at 0.5, in every draw; the same of the mean measured excess risk."""
    check_diverged(lm.cells(data, fraction=list(ENDS)).diverged)
    few, many = (lm.cells(data, fraction=end).sel(group="second") for end in ENDS)
    return {"predicted": few.factor / many.factor, "measured": float(few.excess.mean() / many.excess.mean())}


@lm.evidence("f46a-covariance")
def dip(data: xr.Dataset, exchanged: bool = False) -> float:
    """How much higher the lower end of the median raw risk of group 2 is than its least value inside, over σ₂."""
    check_diverged(data.diverged)
    risk = medians(data.raw_risk.sel(group="second"))
    values = lm.cells(risk, second_scale=SCALES).values.copy()
    if exchanged:
        values[[2, 4]] = values[[4, 2]]
    return float(min(values[0], values[-1]) - values[1:-1].min())


@lm.evidence("f46a-covariance")
def rises(data: xr.Dataset, reverse: bool = False) -> dict[str, xr.DataArray | float]:
    """tr(F_2 F⁻¹) along σ₂, and the mean measured excess risk of group 2 at 4 over that at 0.2."""
    check_diverged(data.diverged)
    second = lm.cells(data, second_scale=SCALES).sel(group="second")
    factor, mean = second.factor, second.excess.mean("seed").values
    if reverse:
        factor = factor.copy(data=np.flip(factor.values, factor.get_axis_num("second_scale")))
        mean = mean[::-1]
    return {"predicted": factor, "measured": float(mean[-1] / mean[0])}


FLAT = ("falls", "does not rise")
LARGER = "the group with the larger covariance"
RAW = "average_raw_risk"
away = partial(risk_trend.of("f46b-mean"), along="path", ends=("away 0", "away 2"))
RISK = r"\bar f_2(\widehat{W}_n)-\bar f_2(W^*)"
# g8-group-risk, f46a-ushape and f46a-ushape-corrected come out inconclusive: in up to a quarter of the draws of a cell
# Newton's method passes the distance 50 from W*, and a tenth may (the page follows these draws, and says of the others)


@lm.evidence("f42-success")
def samples_per_dimension(data: xr.Dataset, optimiser: str = "newton", power: int = 1) -> float:
    """The largest n_50/d over the smallest, over d; with power = 2 the thresholds are put on n_50 ∝ d²."""
    runs = lm.cells(data, optimiser=optimiser)
    found = {int(d): half(runs.sel(dimension=d), "samples_per_dimension") for d in runs.dimension.values}
    above = [d for d, threshold in found.items() if threshold.censored == "above"]
    if len(above) >= 2:
        return np.inf
    if above or any(threshold.censored for threshold in found.values()):
        raise lm.NotApplicable("a threshold lies beyond the grid")
    each = np.array([threshold.estimate.value * d ** (power - 1) for d, threshold in found.items()])
    return float(each.max() / each.min())


@lm.evidence("f43b-covariance")
def small_covariance(data: xr.Dataset, reverse: bool = False) -> dict[str, lm.Estimate | xr.DataArray]:
    """The log ratios of n_50 and of tr F⁻¹ at σ = 0.1 and at 1."""
    ends = (0.1, 1.0) if reverse else (1.0, 0.1)
    samples = threshold_ratio(*(lm.cells(data, first_scale=end) for end in ends))
    return {"samples": samples, "error": trend(data.inverse_trace.isel(samples=0), "first_scale", ends)}


@lm.evidence("f43b-covariance")
def large_covariance(data: xr.Dataset, reverse: bool = False) -> xr.DataArray:
    """The log ratio of tr F⁻¹ at σ = 10 and at 1."""
    return trend(data.inverse_trace.isel(samples=0), "first_scale", (1.0, 10.0), reverse)


@lm.evidence("f43b-covariance")
def flat_ratio(data: xr.Dataset, claimed: bool = False) -> xr.DataArray:
    """tr F⁻¹ at σ = 10 over that at 4; claimed: put on the law of E_w², ∝ ‖Σ_l‖."""
    few, many = (lm.cells(data, first_scale=end).inverse_trace.isel(samples=0) for end in (4.0, 10.0))
    ratio = many / few
    return ratio * 6.25 / ratio.median() if claimed else ratio


@lm.evidence("f43a-mean")
def mean_samples(data: xr.Dataset, reverse: bool = False) -> lm.Estimate:
    """The log ratio of n_50 at ‖μ₁‖ = 5 and at 0."""
    ends = (5.0, 0.0) if reverse else (0.0, 5.0)
    return threshold_ratio(*(lm.cells(data, mean_norm=end) for end in ends))


CLAIMS = (
    lm.Claim("g8-group-risk", "Corollary (iii), Figure 4.6 (b)", "ordering")
    .states("""As stated, the risk of a group grows with its mean: the excess risk of group 2 rises from s = 0 to 2
        (mean -(2+s)1).""")
    .in_symbols(rf"{RISK} = O(1+\|\mu_2\|^2)")
    .judged(away(), lm.at_least(0.0), REVERSED, expected=lm.FAILS),
    lm.Claim("g8-group-risk-corrected", "Corollary (iii), corrected", "ordering", corrects="g8-group-risk")
    .states("""The predictor of the group's risk is dK where its mean is minus the other's, falls as it moves out, and
    on the path as printed is larger at 1, 2, 3 than at 0 and 4.""")
    .in_symbols(r"2n\,(\bar f_2(\widehat{W}_n)-\bar f_2(W^*)) \approx \mathrm{tr}(F_2F^{-1})")
    .judged(
        mean_predictor(),
        lm.all_of(anchor=lm.at_most(1e-6), falls=lm.decreasing("s", by="mean"), literal=lm.at_least(0.0, strict=True)),
        REVERSED,
    ),
    lm.Claim("g9-group-risk", "Corollary (iv), Figure 4.7 (a)", "ordering")
    .states("""As stated, more of the group with the smallest covariance lowers its risk: the log ratio of its excess
        risk at λ₂ = 0.5 and 0.02 is below -0.2 (fails above 0.2, flat between).""")
    .in_symbols(rf"{RISK} = O\left(\frac{{1}}{{1+\sqrt{{\lambda_2}}}}\right)")
    .judged(
        risk_trend(levels=FLAT),
        lm.at_most({"falls": -0.2, "does not rise": 0.2}, fails_if="all"),
        lm.Control(LARGER, risk_trend.of("f47b-fraction")(levels=FLAT), expected=lm.HOLDS),
        expected=lm.INCONCLUSIVE,
    ),
    lm.Claim("g9-group-risk-corrected", "Corollary (iv), corrected", "comparison", corrects="g9-group-risk")
    .states("""With more of the group with the smallest covariance the predictor of its risk hardly moves: the median of
    tr(F₂F⁻¹) stays within 15 % of its value at λ₂ = 0.02.""")
    .in_symbols(r"\mathrm{tr}(F_2F^{-1})(\lambda_2) \approx \mathrm{tr}(F_2F^{-1})(0.02)")
    .judged(
        predictor_ratio(),
        lm.within(0.85, 1.15, predicted=1.0),
        lm.Control(LARGER, predictor_ratio.of("f47b-fraction")()),
    ),
    lm.Claim("g10-group-risk", "Corollary (v), Figure 4.7 (b)", "ordering")
    .states("""As stated, more of the group with the largest covariance raises its risk: the excess risk of group 2
        rises from λ₂ = 0.02 to 0.5.""")
    .in_symbols(rf"{RISK} = O(1+\sqrt{{\lambda_2}})")
    .judged(risk_trend.of("f47b-fraction")(), lm.at_least(0.0), REVERSED, expected=lm.FAILS),
    lm.Claim("g10-group-risk-corrected", "Corollary (v), corrected", "comparison", corrects="g10-group-risk")
    .states("""More of the group with the largest covariance lowers its risk: tr(F₂F⁻¹) falls by at least 2.5 from λ₂ =
    0.02 to 0.5 for every W*, and so does the mean measured excess risk.""")
    .in_symbols(r"\mathrm{tr}(F_2F^{-1})(0.02) \ge 2.5\,\mathrm{tr}(F_2F^{-1})(0.5)")
    .judged(
        falls(),
        lm.all_of(predicted=lm.at_least(2.5, by="every"), measured=lm.at_least(2.5)),
        lm.Control("the group with the smaller covariance", falls.of("f47a-fraction")()),
    ),
    lm.Claim("f46a-ushape", "Figure 4.6 (a)", "comparison", source="figure")
    .states("""As reported, the median cross entropy of group 2 first falls and then rises with σ₂: a least value
        inside, both ends higher by 0.005.""")
    .in_symbols(r"\min(\bar f_2(0.2),\bar f_2(4)) - \min_{\sigma_2}\bar f_2(\sigma_2) \ge 0.005")
    .judged(dip(), lm.at_least(0.005), lm.Control("values at σ₂ = 1, 4 exchanged", exchanged=True), expected=lm.FAILS),
    lm.Claim("f46a-ushape-corrected", "Figure 4.6 (a), corrected", "ordering", corrects="f46a-ushape")
    .states("""Above the floor the risk of group 2 rises with σ₂: the predictor for every W*, and the mean measured one
        by a factor of at least 5 from 0.2 to 4.""")
    .in_symbols(r"\mathrm{tr}(F_2F^{-1})\ \mathrm{increases\ in}\ \sigma_2")
    .judged(rises(), lm.all_of(predicted=lm.increasing("second_scale", "every"), measured=lm.at_least(5.0)), REVERSED),
    lm.Claim("f47a-raw", "Figure 4.7 (a)", "ordering", source="figure")
    .states("""As reported, the average cross entropy falls from λ₂ = 0.02 to 0.5 where group 2 has the smaller
        covariance.""")
    .in_symbols(r"\bar f(\widehat{W}_n)\ \mathrm{falls\ in}\ \lambda_2")
    .judged(risk_trend(risk=RAW), lm.at_most(0.0), REVERSED, expected=lm.FAILS),
    lm.Claim("f47b-raw", "Figure 4.7 (b)", "ordering", source="figure")
    .states("""As reported, the average cross entropy rises from λ₂ = 0.02 to 0.5 where group 2 has the larger
        covariance.""")
    .in_symbols(r"\bar f(\widehat{W}_n)\ \mathrm{rises\ in}\ \lambda_2")
    .judged(risk_trend.of("f47b-fraction")(risk=RAW), lm.at_least(0.0), REVERSED, expected=lm.FAILS),
    lm.Claim("g5-samples-dimension", "(4.7), Figure 4.2", "scaling")
    .states("""The samples at which half of the draws succeed grow about linearly with the dimension: n_50/d varies by
        at most a factor 2 over d = 3, 5, 8, 12.""")
    .in_symbols(r"n_{sc} \propto d\log^2 d")
    .judged(
        samples_per_dimension(),
        lm.at_most(2.0),
        lm.Control("50 steps of gradient descent", optimiser="descent"),
        lm.Control("n_50 put on the law d²", power=2),
    ),
    lm.Claim("g6-samples-measured", "Corollary (i), Figure 4.3 (b)", "ordering")
    .states("A small covariance needs more samples: n_50 and tr F⁻¹ are larger at σ = 0.1 than at 1.")
    .in_symbols(r"n_{50}(\sigma=0.1) > n_{50}(\sigma=1)")
    .judged(small_covariance(), lm.all_of(samples=lm.at_least(0.0, strict=True), error=lm.at_least(0.0)), REVERSED),
    lm.Claim("g7-error", "Corollary (ii)", "ordering")
    .states("As stated, the error grows with a large covariance: tr F⁻¹ rises from σ = 1 to 10.")
    .in_symbols(r"\mathcal{E}_w = O(\sqrt{\|\Sigma_l\|})")
    .judged(large_covariance(), lm.at_least(0.0), REVERSED, expected=lm.FAILS),
    lm.Claim("g7-error-corrected", "Corollary (ii), corrected", "comparison", corrects="g7-error")
    .states("""With a large covariance the error is flat: the median of tr F⁻¹ at σ = 10 over that at 4 lies in [0.6,
    1.7].""")
    .in_symbols(r"\mathrm{tr}F^{-1}(10)/\mathrm{tr}F^{-1}(4) \in [0.6, 1.7]")
    .judged(
        flat_ratio(),
        lm.within(0.6, 1.7, by="median", predicted=1.0),
        lm.Control("ratios put on the law of E_w², ∝ ‖Σ_l‖", claimed=True),
    ),
    lm.Claim("g8-samples-measured", "Corollary (iii), Figure 4.3 (a)", "ordering")
    .states("A mean further out needs more samples: n_50 is larger at ‖μ₁‖ = 5 than at 0.")
    .in_symbols(r"n_{50}(\|\mu_1\|=5) > n_{50}(\|\mu_1\|=0)")
    .judged(mean_samples(), lm.at_least(0.0, strict=True), REVERSED),
)
