"""How many samples are needed: against the dimension (row 5), covariance (rows 6, 7) and mean (row 8)."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.group_imbalance.measures import REVERSED, half, threshold_ratio, trend


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
