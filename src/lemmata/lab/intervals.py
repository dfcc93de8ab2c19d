"""Intervals over seeds: what a handful of independent runs says about a mean, a median, a share.

The seed is the unit of resampling everywhere: axis 0 of every array is the seed, and seeds are independent while
the cells of one seed are not. With so few of them (3 to 20) percentiles do not cover, so the intervals are t,
order-statistic or jackknife-t intervals. One seed says nothing about the spread: its interval is (-inf, inf).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class CannotFit(ValueError):
    """The data do not determine what was asked for; the message is one sentence for the user.

    try:
        lm.power_law(x, y)
    except lm.CannotFit as reason:
        print(reason)
    """


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, low <= value <= high. `value` is NaN only when nothing can be said.

        lm.Estimate(0.5, low=0.4, high=0.6)

    `statistic`: of what kind it is: a mean (also a fit to means), a median or a share.
    """

    value: float
    low: float
    high: float
    statistic: str = "mean"


def t_quantile(seeds: int, level: float) -> float:
    """Two-sided quantile of Student's t with `seeds` - 1 degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(seeds - 1, (1 + level) / 2))


def mean_interval(values: ArrayLike, level: float = 0.95) -> Estimate:
    """Mean over seeds, mean +- t_{n-1} s / sqrt(n), of values[seed].

        lm.mean_interval([0.9, 0.8, 1.0])

    Identical values give zero width. A value that is not finite leaves the mean it leads to and no interval.
    """
    values = _vector(values)
    if values.size == 0:
        return Estimate(np.nan, -np.inf, np.inf)
    if values.size == 1 or not np.isfinite(values).all():
        return Estimate(float(_mean(values)), -np.inf, np.inf)
    if np.ptp(values) == 0:
        return Estimate(float(values[0]), float(values[0]), float(values[0]))
    mean = float(values.mean())
    half = t_quantile(values.size, level) * float(values.std(ddof=1)) / values.size**0.5
    return Estimate(mean, mean - half, mean + half)


def standard_error(values: ArrayLike) -> float:
    """s / sqrt(n) of values[seed]; infinite for a single seed or a value that is not finite."""
    values = _vector(values)
    if values.size < 2 or not np.isfinite(values).all():
        return np.inf
    if np.ptp(values) == 0:
        return 0.0
    return float(values.std(ddof=1)) / values.size**0.5


def median_interval(values: ArrayLike, level: float = 0.95) -> Estimate:
    """Median over seeds between the order statistics v_(k) and v_(n+1-k), the largest k with P(Bin(n, 1/2) < k) <=
    (1 - level) / 2: exact for every distribution. Where even the extremes do not reach the level (n < 6 at 95 %),
    median +- t_{n-1} s sqrt(pi / 2n), the interval of a normal sample.
    """
    from scipy.special import bdtr

    values = np.sort(_vector(values))
    seeds = values.size
    if seeds == 0 or np.isnan(values).any():
        return Estimate(np.nan, -np.inf, np.inf)
    middle = values[(seeds - 1) // 2], values[seeds // 2]
    median = float(middle[0] if middle[0] == middle[1] else np.mean(middle))
    k = int(np.sum(bdtr(np.arange(seeds, dtype=float), seeds, 0.5) <= (1 - level) / 2))
    if k > 0:
        return Estimate(median, float(values[k - 1]), float(values[seeds - k]))
    spread = mean_interval(values, level)
    half = (spread.high - spread.low) / 2 * (np.pi / 2) ** 0.5
    return Estimate(median, median - half, median + half)


def share_interval(successes: float, trials: float, level: float = 0.95) -> Estimate:
    """Wilson's interval of a share p = k / n: all p with |k/n - p| <= z sqrt(p (1 - p) / n).

    lm.share_interval(19, 20)
    """
    from scipy.special import ndtri

    if not 0 <= successes <= trials or trials < 1:
        raise CannotFit(f"A share needs 0 <= successes <= trials and at least one trial, not {successes} of {trials}.")
    share = successes / trials
    square = float(ndtri((1 + level) / 2)) ** 2 / trials
    centre = (share + square / 2) / (1 + square)
    half = (square * (share * (1 - share) + square / 4)) ** 0.5 / (1 + square)
    return Estimate(share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)), "share")


def jackknife(statistic: Callable[[Array], float], data: ArrayLike, level: float = 0.95) -> Estimate:
    """theta +- t_{n-1} se with the delete-one-seed jackknife, se^2 = (n - 1) / n sum_i (theta_(i) - theta_(.))^2.

    `statistic` maps data[seeds, ...] to a number, smoothly (a mean, a ratio, a fit; not a median). For a mean this is
    the t interval. Where the statistic cannot be computed without one of the seeds, the interval is infinite.
    """
    data = np.asarray(data, float)
    seeds = len(data)
    value = float(statistic(data))
    if seeds < 2:
        return Estimate(value, -np.inf, np.inf)
    try:
        left = np.array([statistic(np.delete(data, seed, axis=0)) for seed in range(seeds)])
    except CannotFit:
        return Estimate(value, -np.inf, np.inf)
    half = t_quantile(seeds, level) * float(left.std()) * (seeds - 1) ** 0.5
    return Estimate(value, value - half, value + half) if np.isfinite(half) else Estimate(value, -np.inf, np.inf)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation of two vectors; ties share their mean rank, +inf ranks above every number.

    lm.spearman([1, 2, 3], [1, 3, 2])
    """
    from scipy.stats import spearmanr

    x, y = _vector(x), _vector(y)
    if x.shape != y.shape or np.isnan(x).any() or np.isnan(y).any():
        raise CannotFit("A rank correlation needs two vectors of the same length without NaN.")
    if len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        raise CannotFit("A rank correlation needs at least two different values on both sides.")
    found: Any = spearmanr(x, y)
    return float(found.statistic)


def _vector(values: ArrayLike) -> Array:
    values = np.asarray(values, float)
    if values.ndim != 1:
        raise CannotFit(f"One value per seed is needed, not an array of shape {values.shape}.")
    return values


def _mean(values: Array) -> float:
    with np.errstate(invalid="ignore"):
        return float(values.mean())
