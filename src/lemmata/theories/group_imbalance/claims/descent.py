"""Gradient descent and the derivatives behind it: noise, means, smoothness, concentration (rows 2, 8, 24-28)."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.group_imbalance.measures import REVERSED, check_diverged, median_slope, rates, trend
from lemmata.theories.group_imbalance.studies.curvature import DISTANCES

LEVELS = (1e-3, 1e-2)
SMALL, LARGE = 0.03, 0.25
"""Predicted shifts up to which 5 % and 25 % are allowed; larger ones leave the quadratic region."""


def _shift(data: xr.Dataset, law: str, level: float) -> xr.Dataset:
    runs = lm.cells(data, noise=f"{law} {level:g}")
    check_diverged(1 - runs.minimum_found)
    return runs.assign(moved=lm.at_end(runs.limit_distance))


@lm.evidence("g2-noise")
def shift_error(data: xr.Dataset, prediction: str = "solved") -> xr.DataArray:
    """|shift / ‖∇²f_n⁻¹ν̄‖ - 1| over what is allowed, the largest of a seed's decided cells."""
    found = []
    for level in LEVELS:
        runs = _shift(data, "fixed", level)
        predicted = runs.predicted_shift if prediction == "solved" else runs.noise_norm / runs.rate_largest
        allowed = xr.where(predicted <= SMALL, 0.05, 0.25).where(predicted <= LARGE)
        found.append(abs(runs.moved / predicted - 1) / allowed)
    both = lm.stack({f"{level:g}": each for level, each in zip(LEVELS, found, strict=True)}, "level")
    if bool(both.isnull().all("level").any()):
        raise lm.NotApplicable("a seed has no cell with a predicted shift of at most 0.25")
    return both.max("level")


@lm.evidence("g2-noise")
def shift_over_bound(data: xr.Dataset, law: str = "fixed", fresh: str = "fresh") -> xr.DataArray:
    """The shift over (ξ/λ_min) √(dK log n/n), and twice the rms shift of fresh noise, over the second half of the run,
    over that of fixed noise."""
    parts = {}
    for level in LEVELS if law == "fixed" else LEVELS[:1]:
        runs, again = _shift(data, law, level), _shift(data, fresh, level)
        parts[f"bound {level:g}"] = runs.moved * runs.rate_least / (level * runs.noise_radius)
        late = again.limit_distance.where(again.step > again.last_step / 2)
        parts[f"fresh {level:g}"] = 2 * np.sqrt((late**2).mean("record")) / _shift(data, "fixed", level).moved
    return lm.stack({name: part.drop_vars("noise", errors="ignore") for name, part in parts.items()}, "criterion")


@lm.evidence("f44a-mean")
def rate_trend(data: xr.Dataset, reverse: bool = False) -> xr.DataArray:
    """The log ratio of the fitted 1 - v̂ at C = 1.5 and at 0.25."""
    runs = lm.cells(data, mean=[0.25, 1.5])
    check_diverged(1 - runs.minimum_found)
    return trend(rates(runs).rate, "mean", (0.25, 1.5), reverse)


@lm.evidence("f44a-mean")
def straightness(data: xr.Dataset, distance: str = "limit_distance") -> xr.DataArray:
    """R² of the log distance over the last 40 % of every run that reached its horizon."""
    straight = rates(data, distance).straight
    kept = straight.where(data.capped == 0)
    if bool(kept.isnull().all("seed").any()):
        raise lm.NotApplicable("every run at one mean is capped")
    return kept.min("mean").dropna("seed")


@lm.evidence("g24-lipschitz")
def lipschitz(data: xr.Dataset, power: int = 1) -> xr.DataArray:
    """The largest left side over right side of every lemma; power: of ‖W - W'‖ on the right."""
    sizes = xr.DataArray(list(DISTANCES), coords={"distance": data.distance.values})
    return (data.ratio / sizes ** (power - 1)).max("distance")


@lm.evidence("g26-concentration")
def derivative_slopes(data: xr.Dataset, derivative: str, defect: str = "none") -> dict[str, lm.Estimate]:
    """The slope in n of the median error of a derivative, and of its ratio to the bound, at W* and away from it."""
    errors = lm.cells(data, defect=defect)[f"{derivative}_error"]
    bound = np.sqrt(np.log(errors.samples) / errors.samples)
    found = {}
    for place in ("truth", "away"):
        part = errors.sel(place=place)
        found[f"slope, {place}"] = median_slope(part, "samples")
        found[f"ratio, {place}"] = median_slope(part / bound, "samples")
    return found


@lm.evidence("g28-radius")
def least_around(data: xr.Dataset, defect: str = "none") -> xr.DataArray:
    """The least eigenvalue of ∇²f_n at W* and at radius r around it."""
    least = lm.cells(data, defect=defect).least
    return least.sel(radius=["0"] if defect != "none" else ["0", "r"])


SLOPES = lm.all_of(
    **{f"slope, {place}": lm.within(-0.6, -0.4, by="value", predicted=-0.5) for place in ("truth", "away")},
    **{f"ratio, {place}": lm.at_most(0.1, by="value") for place in ("truth", "away")},
)
REPEATED = lm.Control("500 samples repeated to fill n", defect="repeated")


CLAIMS = (
    lm.Claim("g2-noise-shift", "Theorem 2, gradient noise", "identity")
    .states("""Fixed noise moves the limit by ‖∇²f_n⁻¹ν̄‖: to 5 % where that is at most 0.03, to 25 % up to 0.25, in
        every seed.""")
    .in_symbols(r"\|W_\infty-\widehat{W}_n\|_F = \|(\nabla^2 f_n)^{-1}\bar\nu\|")
    .judged(shift_error(), lm.at_most(1.0, by="every"), lm.Control("prediction ‖ν̄‖/λ_max", prediction="largest")),
    lm.Claim("g2-noise-bound", "Theorem 2, (4.8)", "bound")
    .states("""Fixed noise moves the limit by at most the paper's bound, and fresh noise by less than half as much as
        fixed, in every seed, at ξ = 10⁻³ and 10⁻².""")
    .in_symbols(r"\|W_\infty-\widehat{W}_n\|_F \le \frac{\eta_0\xi}{1-v}\sqrt{\frac{dK\log n}{n}}")
    .judged(
        shift_over_bound(),
        lm.at_most(1.0, by="every"),
        lm.Control("noise with the mean ξ/2 along the slowest direction", law="biased"),
        lm.Control("fixed noise in the place of fresh", fresh="fixed"),
    ),
    lm.Claim("g8-rate", "Corollary (iii)", "ordering")
    .states("Gradient descent is slower when the means lie further out: the fitted 1 - v̂ falls from C = 0.25 to 1.5.")
    .in_symbols(r"v = 1-\Theta\left(\frac{1}{1+\|\mu\|^2}\right)")
    .judged(rate_trend(), lm.at_most(0.0), REVERSED),
    lm.Claim("f44a-straight", "Figure 4.4 (a)", "comparison", source="figure")
    .states("""The logarithm of the distance from the minimum is a straight line: R² above 0.99 over the last 40 % of
        every run.""")
    .in_symbols(r"\log\|W_t-\widehat{W}_n\|_F \approx a - b\,t")
    .judged(
        straightness(),
        lm.at_least(0.99, by="every", strict=True),
        lm.Control("distance from W* in place of the minimum", distance="truth_distance"),
    ),
    lm.Claim("g24-lipschitz", "Lemmas C.4.2, C.4.3", "bound")
    .states("""With the constant 6√3 the Hessian of the population, the Hessian of a sample and its gradient change no
        faster than the lemmas say, at distances from 10⁻⁶ to 3.""")
    .in_symbols(r"\|\nabla^2\bar f(W)-\nabla^2\bar f(W^*)\|\le 6\sqrt3\,K^{3/2}(M_4M_8)^{1/4}\|W-W^*\|_F")
    .judged(lipschitz(), lm.at_most(1.0, by="every"), lm.Control("‖W - W'‖² on the right", power=2)),
    lm.Claim("g26-hessian", "Lemma C.4.5", "scaling")
    .states("""The empirical Hessian approaches the population's like n^-1/2, at W* and at distance 0.5: slopes in
        [-0.6, -0.4], ratios to the bound that do not grow.""")
    .in_symbols(r"\|\nabla^2 f_n-\nabla^2\bar f\|\le C_6M_2\sqrt{dK\log n/n}")
    .judged(derivative_slopes("hessian"), SLOPES, REPEATED),
    lm.Claim("g27-gradient", "Lemma C.5.1", "scaling")
    .states("The empirical gradient approaches the population's like n^-1/2, at W* and at distance 0.5, without noise.")
    .in_symbols(r"\|\nabla f_n-\nabla\bar f\|\le C_{13}\sqrt{KM_2}\sqrt{d\log n/n}")
    .judged(derivative_slopes("gradient"), SLOPES, REPEATED),
    lm.Claim("g28-empirical-convexity", "Lemma C.3.1", "bound")
    .states("""The empirical risk is convex at the ground truth and on the ball of radius r around it: the least
        eigenvalue is positive along ten directions, in every seed.""")
    .in_symbols(r"\nabla^2 f_n(W)\succ 0,\quad \|W-W^*\|_F\le r")
    .judged(
        least_around(),
        lm.at_least(0.0, by="every", strict=True),
        lm.Control("a teacher with equal columns", defect="equal_columns"),
    ),
)
