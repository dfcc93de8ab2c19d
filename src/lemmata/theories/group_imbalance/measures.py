"""What claims and figures read off the data: fitted rates, thresholds, slopes of medians, paired trends."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

import lemmata as lm

LOST = 0.1
"""A cell with a larger share of diverged runs decides nothing."""
RESAMPLES = 400
REVERSED = lm.Control("the axis reversed", reverse=True)
Array = np.ndarray


def fitted_rate(
    step: Float[np.ndarray, " record"], distance: Float[np.ndarray, " record"], floor: float, share: float = 0.4
) -> tuple[float, float]:
    """1 - v̂ and R² of the straight line through log distance over the last `share` of a run, above `floor` alone."""
    known = np.isfinite(step) & np.isfinite(distance) & (distance > floor)
    late = known & (step >= (1 - share) * step[known].max(initial=0))
    if late.sum() < 5:
        return np.nan, np.nan
    t, logs = step[late], np.log(distance[late])
    slope, constant = np.polyfit(t, logs, 1)
    residual = logs - (slope * t + constant)
    return float(-np.expm1(slope)), float(1 - residual.var() / logs.var())


def rates(data: xr.Dataset, distance: str = "limit_distance") -> xr.Dataset:
    """1 - v̂ and R² of every run."""
    floor = 1e3 * data.rounding if distance == "limit_distance" else 0 * data.rounding
    rate, straight = xr.apply_ufunc(
        fitted_rate, data.step, data[distance], floor,
        input_core_dims=[["record"], ["record"], []], output_core_dims=[[], []], vectorize=True,
    )  # fmt: skip
    return xr.Dataset({"rate": rate, "straight": straight})


def check_diverged(diverged: xr.DataArray) -> None:
    """Cells with more than 10 % diverged runs decide nothing."""
    worst = float(diverged.mean("seed").max())
    if worst > LOST:
        raise lm.NotApplicable(f"{100 * worst:.0f} % of the runs of a cell have no minimum nearby")


def trend(values: xr.DataArray, along: str, ends: Sequence[Any], reverse: bool = False) -> xr.DataArray:
    """The log ratio of the two ends of a sweep, one per draw."""
    first, last = (lm.cells(values, **{along: end}) for end in (reversed(ends) if reverse else ends))
    return np.log(last / first)  # pyright: ignore[reportReturnType]


def bootstrap(statistic: Callable[[Array], float], count: int) -> lm.Estimate:
    """A statistic of draws, given their numbers, with the percentile interval of resampled draws."""
    rng = np.random.default_rng(0)
    found = np.array([statistic(rng.integers(count, size=count)) for _ in range(RESAMPLES)])
    known = found[np.isfinite(found)]
    value = statistic(np.arange(count))
    if not np.isfinite(value):
        raise lm.NotApplicable("a median over the draws is not finite")
    low, high = np.quantile(known, [0.025, 0.975]) if known.size else (value, value)
    return lm.Estimate(float(value), float(min(low, value)), float(max(high, value)))


def median_slope(values: xr.DataArray, along: str, x: Any = None) -> lm.Estimate:
    """The log-log slope of the medians over draws; draws that are infinite count as such."""
    rows = values.transpose("seed", along).values
    logs = np.log(np.asarray(values[along].values if x is None else x, float))
    if len(logs) < 2:
        raise lm.NotApplicable("a slope needs two cells")

    def statistic(draws: Array) -> float:
        with np.errstate(all="ignore"):
            middle = np.log(np.median(rows[draws], axis=0))
        return float(np.polyfit(logs, middle, 1)[0]) if np.isfinite(middle).all() else np.nan

    return bootstrap(statistic, len(rows))


def half(data: xr.Dataset, along: str = "samples") -> lm.Threshold:
    """n_50: where half of the draws succeed."""
    return lm.threshold(data[along].values, data.success.transpose("seed", along).values)


def ranked(threshold: lm.Threshold, grid: Array) -> float:
    """n_50 as a number for orderings: beyond the grid it counts as twice the largest or half the smallest n."""
    beyond = {"above": 2 * float(grid.max()), "below": float(grid.min()) / 2}
    return beyond.get(threshold.censored, threshold.estimate.value)


def threshold_ratio(low: xr.Dataset, high: xr.Dataset) -> lm.Estimate:
    """log of n_50 in the second cells over n_50 in the first, the draws resampled together."""
    grid = low.samples.values
    pair = [each.success.transpose("seed", "samples").values for each in (low, high)]

    def statistic(draws: Array) -> float:
        first, second = (ranked(lm.threshold(grid, rows[draws]), grid) for rows in pair)
        return float(np.log(second / first))

    return bootstrap(statistic, low.sizes["seed"])


def medians(values: xr.DataArray) -> xr.DataArray:
    """Over the draws."""
    return values.median("seed", skipna=False)
