"""What claims and figures of this theory read off the data sets: worst cells, classes, frontiers, shares."""

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.lab.intervals import jackknife, median_interval
from lemmata.theories.exp_regression.data import PAIR_TARGETS
from lemmata.theories.exp_regression.setting import FLOOR

SLACK = 1 + 1e-9
"""Bounds are compared with this relative slack."""
MET = lm.at_most(SLACK, by="every")
"""A bound is met: left side / right side is at most 1 in every seed."""
STANDARD_ERRORS = 5
"""How many of them an estimate may lie from its closed form (Q3, Q7)."""
CLASSES = ("monotone", "catapult", "diverged", "unfinished")
REACHED = 0.9
"""The share of seeds that must reach ε for a width to count (X4)."""
RATIO = 0.5
"""ρ of X7's parallel pair."""
FLOORS = {
    ("parallel", "relu"): (PAIR_TARGETS[1] - RATIO * PAIR_TARGETS[0]) ** 2 / (1 + RATIO**2),
    ("antipodal", "cosh"): (PAIR_TARGETS[0] - PAIR_TARGETS[1]) ** 2 / 2,
    ("antipodal", "sinh"): (PAIR_TARGETS[0] + PAIR_TARGETS[1]) ** 2 / 2,
}
"""The squared error that remains where the kernel is singular, by pair and activation."""


def worst(values: xr.DataArray) -> xr.DataArray:
    """The largest value over the cells, by seed; NaN if one of them is."""
    return values.max([dim for dim in values.dims if dim != "seed"], skipna=False)


def worst_where(values: xr.DataArray, applies: xr.DataArray, reason: str) -> xr.DataArray:
    """The largest value over the cells to which a statement applies, by seed; seeds without one are left out."""
    largest = worst(xr.where(applies, values, -np.inf))
    largest = largest.isel(seed=np.flatnonzero(~np.isneginf(largest.values)))
    if largest.size == 0:
        raise lm.NotApplicable(f"not applicable: no run in which {reason}")
    return largest


def claimed_decay(data: xr.Dataset) -> xr.DataArray:
    """-ln(1 - m η λ/2) per step, λ of the infinite-width kernel: the claimed decay of ‖e‖²."""
    return -np.log1p(-np.clip(data.rate * data.limit_least / 2, 0.0, 1 - 1e-12))


def relative_square(data: xr.Dataset, name: str = "square") -> xr.DataArray:
    """‖e(t)‖²/‖e(0)‖² at every record above rounding."""
    return (data[name] / data.initial_square).where((data[name] > 0.01 * FLOOR) & np.isfinite(data[name]))


def classes(data: xr.Dataset, dynamics: str = "trained") -> xr.DataArray:
    """X6's class of every run: 0 monotone (peak ≤ 1.01), 1 catapult (then below 1e-3 of the start), 2 diverged, or 3
    unfinished; or of the linearised dynamics beside it, a sum of geometric terms, whose peak is at an end."""
    if dynamics == "linearised":
        final = data.linear_final_ratio
        peak, diverged = np.maximum(final, 1.0), final > 1e8
    else:
        peak, final, diverged = data.peak_ratio, data.final_ratio, data.diverged > 0
    return xr.where(diverged, 2, xr.where(peak <= 1.01, 0, xr.where(final < 1e-3, 1, 3)))


def farthest(difference: xr.DataArray, error: xr.DataArray, *dims: str) -> lm.Uncertain:
    """The difference that is most standard errors away from 0 along these dimensions; one that is no number wins."""
    place = (abs(difference) / error).fillna(np.inf).argmax(dims)
    return lm.Uncertain(difference.isel(place), error.isel(place))


def step_constants(data: xr.Dataset, low: float, high: float) -> xr.Dataset:
    """The runs of X6 with c in [low, high]."""
    c = data.step_constant.values
    return data.isel(step_constant=np.flatnonzero((c >= low) & (c <= high)))


def width_exponents(values: xr.DataArray, by: str, centre: str) -> dict[str, lm.Estimate]:
    """The exponent in m of the median or root mean square over seeds, by label, with the jackknife's interval; a median
    is not smooth enough for that: the interval of the seeds' median exponent."""

    def estimate(table: xr.DataArray) -> lm.Estimate:
        table = table.transpose("seed", "neurons")
        if centre != "median":
            return jackknife(
                lambda rows: lm.log_slope(table.isel(seed=slice(len(rows))).copy(data=rows), "neurons", centre), table
            )
        value, own = lm.log_slope(table, "neurons", centre), median_interval(lm.log_slopes(table, "neurons"))
        return lm.Estimate(value, min(own.low, value), max(own.high, value))

    return {f"{label}": estimate(values.sel({by: label}, drop=True)) for label in values[by].values}


def successes(data: xr.Dataset) -> xr.DataArray:
    """1 where a run reached ε within the predicted number of steps (and the cap)."""
    # a singular kernel has an infinite T, within which a run that never arrives does not succeed
    return (np.isfinite(data.reached_step) & (data.reached_step <= data.predicted_steps)) * 1.0


def frontier(data: xr.Dataset, trained: int = 1) -> xr.DataArray:
    """X4: the smallest width at which at least 90 % of the seeds succeed; inf beyond the grid."""
    enough = (successes(data).mean("seed") >= REACHED) & (data.trained == trained)
    return enough.neurons.where(enough, np.inf).min("variant")


def share(values: xr.DataArray) -> lm.Estimate:
    """The share of seeds with a true value, with Wilson's interval."""
    if values.isnull().any():
        raise lm.NotApplicable("not measured in every seed")
    return lm.share_interval(float(values.sum()), values.size)
