"""Theorem 2 of the paper: gradient descent from the tensor start converges linearly to a minimum near the ground truth.

Let x come from L Gaussian groups and y from a network W* of K ≤ d neurons of full rank. If

- the samples number at least n_sc (4.7, `bounds.samples`),
- the start comes from Subroutine 1 (`initialisation.tensor_start`), which then lies in the ball of local convexity,
- the step is of the order of 1/Σ_l λ_l (‖μ_l‖ + ‖Σ_l^{1/2}‖)² (4.2),

then with high probability ‖W_t - Ŵ_n‖ ≤ v^t ‖W_0 - Ŵ_n‖ + (η₀ξ/(1-v)) √(dK log n/n) with v = 1 - q/K² (4.8, 4.9), the
minimum Ŵ_n lies within E_w poly(K) √(d log n/n) of W* (4.10), and the risks are at most of that order (4.11, 4.12).
`hypotheses` says which conditions a setting meets. The risks are those above the noise floor, or the last line is
false: labels are random, and the cross entropy at W* itself is not 0 (E1).
"""

from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.group_imbalance.bounds import Constants
from lemmata.theories.group_imbalance.data import draw_world
from lemmata.theories.group_imbalance.measures import check_diverged, median_slope, rates
from lemmata.theories.group_imbalance.setting import Setting

WIDEST = 3000.0
"""Seeds with a larger condition number are left out of the fitted rate."""


def hypotheses(setting: Setting, seed: int = 0, epsilon: float = 0.1) -> dict[str, bool]:
    """Which conditions of the theorem a run of this setting meets, its open constants taken as 1."""
    world = draw_world(setting, seed)
    found = Constants(world.mixture, world.truth)
    return {
        "full rank": bool(found.delta[-1] > 0),
        "samples": bool(setting.count >= found.samples(epsilon)),
        "start": setting.start == "tensor",
        "step": setting.step_rule in ("theory", "hessian", "limit") and setting.step_factor < 2,
        "at least two groups": world.mixture.groups > 1,
    }


@lm.evidence("g1-descent")
def largest_ratio(data: xr.Dataset, case: str) -> xr.DataArray:
    """The largest ratio of the distances of two records in turn, down to a distance of 10⁻⁶."""
    runs = lm.cells(data, case=case)
    check_diverged(1 - runs.minimum_found)
    path = runs.limit_distance
    before = path.shift(record=1)
    return (path / before).where(before > 1e-6).max("record")


@lm.evidence("g1-descent")
def rate_ratio(data: xr.Dataset, eigenvalue: str = "least") -> xr.DataArray:
    """The fitted 1 - v̂ over η₀ times an eigenvalue of ∇²f_n at the minimum, start along the slowest direction."""
    runs = lm.cells(data, case="slowest")
    narrow = (runs.rate_largest / runs.rate_least <= WIDEST) & (runs.minimum_found > 0)
    if narrow.sum() < 3:
        raise lm.NotApplicable(f"only {int(narrow.sum())} seeds have a condition number up to {WIDEST:g}")
    ratio = rates(runs).rate / (runs.step_used * runs[f"rate_{eigenvalue}"])
    return ratio.isel(seed=np.flatnonzero(narrow.values))


@lm.evidence("g1-descent")
def rate_over_bound(data: xr.Dataset, factor: float = 1.0, neurons: int = 3) -> dict[str, xr.DataArray]:
    """q, and the fitted 1 - v̂ over q/K² (times a factor), zero means."""
    runs = lm.cells(data, case="zero mean")
    check_diverged(1 - runs.minimum_found)
    return {"factor": runs.rate_factor, "rate": rates(runs).rate * neurons**2 / (factor * runs.rate_factor)}


@lm.evidence("f45b-estimation")
def error_slope(data: xr.Dataset, defect: str = "none") -> lm.Estimate:
    """The log-log slope of the median error in n, up to 6·10⁴; cells with too many diverged runs are left out."""
    runs = lm.cells(data, defect=defect)
    runs = runs.isel(case=np.flatnonzero(runs.samples.values <= 60_000))
    if defect == "none":
        runs = runs.isel(case=np.flatnonzero(runs.diverged.mean("seed").transpose("case").values <= 0.1))
        runs["error"] = runs.error.where(runs.diverged == 0, np.inf)
    return median_slope(runs.error, "case", runs.samples.values)


@lm.evidence("f45b-estimation")
def error_constant(data: xr.Dataset, factor: float = 1.0) -> xr.DataArray:
    """n ‖Ŵ_n - W*‖² / tr F⁻¹ at n = 2.4·10⁵, times a factor."""
    runs = lm.cells(data, case="240000")
    check_diverged(runs.diverged)
    return factor * runs["count"] * runs.error**2 / runs.inverse_trace


@lm.evidence("g4-risk")
def risk_slope(data: xr.Dataset, risk: str = "average_raw_risk") -> lm.Estimate:
    """The log-log slope in n of the median risk over √(log n/n)."""
    check_diverged(data.diverged)
    n = data.samples
    return median_slope(data[risk] / np.sqrt(np.log(n) / n), "samples")


@lm.evidence("f47b-fraction")
def risk_over_predictor(data: xr.Dataset, risk: str = "excess") -> xr.DataArray:
    """2n times the risk over its predictor: of both groups over tr(F_l F⁻¹), on average over dK."""
    runs = lm.cells(data, fraction=[0.02, 0.5])
    check_diverged(runs.diverged)
    first, second = (runs.factor.sel(group=name, drop=True) for name in ("first", "second"))
    parts = {
        "first": runs[risk].sel(group="first", drop=True) / first,
        "second": runs[risk].sel(group="second", drop=True) / second,
        "average": runs[f"average_{risk}"] / ((1 - runs.fraction) * first + runs.fraction * second),
    }
    return 2 * runs["count"] * lm.stack(parts, "risk")


def _theorem(name: str, kind: Any, part: str = "", **how: Any) -> lm.Claim:
    return lm.Claim(name, f"Theorem 2, {part}", kind, **how)


CLAIMS = (
    _theorem("g1-monotone", "ordering", "(4.8)")
    .states("""From a random start at distance 0.1 of the minimum the distance falls from record to record, down to 10⁻⁶
        or the end of the run, in every seed.""")
    .in_symbols(r"\|W_{t+1}-\widehat{W}_n\|_F < \|W_t-\widehat{W}_n\|_F")
    .judged(
        largest_ratio("random"), lm.at_most(1.0, "every", strict=True), lm.Control("step 2.5/λ_max", case="long step")
    ),
    _theorem("g1-rate", "identity", "(4.9)")
    .states("""Along the slowest direction the fitted rate is η₀ times the least eigenvalue of the Hessian at the
        minimum, to 1 %, in every seed whose condition number is at most 3000.""")
    .in_symbols(r"1-\hat v = \eta_0\,\lambda_{\min}(\nabla^2 f_n(\widehat{W}_n))")
    .judged(
        rate_ratio(),
        lm.within(0.99, 1.01, by="every", predicted=1.0),
        lm.Control("the second-smallest eigenvalue in the prediction", eigenvalue="second"),
    ),
    _theorem("g1-rate-bound", "bound", "(4.9)")
    .states("With zero means q lies between 0 and 1 and the fitted rate is at least q/K², in every seed.")
    .in_symbols(r"1-\hat v \ge K^{-2} q,\quad 0 < q < 1")
    .judged(
        rate_over_bound(),
        lm.all_of(factor=lm.within(1e-300, 1 - 1e-12, by="every"), rate=lm.at_least(1.0, by="every")),
        lm.Control("right side times 1000", factor=1e3),
    ),
    _theorem("g3-estimation-slope", "scaling", "(4.10)")
    .states("""The median distance of the minimum from the ground truth falls with the number of samples with an
        exponent in [-0.75, -0.45], from 2·10³ to 6·10⁴.""")
    .in_symbols(r"\|\widehat{W}_n-W^*\|_F = O\left(\sqrt{d\log n/n}\right)")
    .judged(
        error_slope(),
        lm.within(-0.75, -0.45, by="value", predicted=-0.5),
        lm.Control("labels of another teacher", defect="other_teacher"),
    ),
    _theorem("g3-estimation-constant", "limit", "(4.10)", source="derived")
    .states("""At n = 2.4·10⁵ the squared distance from the ground truth is tr F⁻¹/n: the mean ratio lies in [0.55,
        1.45].""")
    .in_symbols(r"n\,E\|\widehat{W}_n-W^*\|_F^2 / \mathrm{tr} F^{-1} \to 1")
    .judged(
        error_constant(), lm.within(0.55, 1.45, "mean", predicted=1.0), lm.Control("F without its 1/K²", factor=9.0)
    ),
    _theorem("g4-risk", "bound", "(4.11)")
    .states("""As stated, the risk vanishes like √(d log n/n): the average cross entropy over that does not grow with n
        (slope at most 0.1).""")
    .in_symbols(r"\bar f(\widehat{W}_n) = O\left(\sqrt{d\log n/n}\right)")
    .judged(
        risk_slope(),
        lm.at_most(0.1, by="value"),
        lm.Control("excess in place of raw risk", risk="average_excess"),
        expected=lm.FAILS,
    ),
    _theorem("g4-risk-corrected", "limit", "(4.11), (4.12), corrected", corrects="g4-risk")
    .states("""Above the noise floor the risk of group l is tr(F_l F⁻¹)/2n and the average dK/2n: mean ratios within
        0.35 of 1 at λ₂ = 0.02 and 0.5.""")
    .in_symbols(r"2n\,E[\bar f_l(\widehat{W}_n)-\bar f_l(W^*)] \to \mathrm{tr}(F_l F^{-1})")
    .judged(
        risk_over_predictor(),
        lm.within(0.65, 1.35, by="mean", predicted=1.0),
        lm.Control("raw risk in place of excess", risk="raw_risk"),
    ),
)
