"""Smoothness of the risk and concentration of its derivatives (rows 24-28)."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.group_imbalance.measures import median_slope
from lemmata.theories.group_imbalance.studies.concentration import DISTANCES


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
