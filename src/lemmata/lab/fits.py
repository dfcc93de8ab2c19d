"""Fits along one axis of a sweep: lines, power laws and thresholds, with intervals over seeds.

Data are y[seed, x], one row per seed (a vector is a single seed). A law is fitted to the mean over seeds and its
interval comes from the seeds, which are independent, never from the cells, which share them. Fits that the data do
not determine raise `CannotFit`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lemmata.lab.intervals import Array, CannotFit, Estimate, jackknife, mean_interval, t_quantile


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x. R^2 is that of the seed means, 0 when they do not vary."""

    slope: Estimate
    intercept: Estimate
    r_squared: float


@dataclass(frozen=True)
class PowerLaw:
    """y = prefactor x^exponent. R^2 is that of the seed means of log y, 0 when they do not vary."""

    exponent: Estimate
    prefactor: float
    r_squared: float


@dataclass(frozen=True)
class OffsetPowerLaw:
    """y = prefactor (x - offset)^exponent. R^2 is that of the seed means of log y, 0 when they do not vary."""

    offset: Estimate
    exponent: Estimate
    prefactor: float
    r_squared: float


@dataclass(frozen=True)
class Threshold:
    """Where a success rate crosses its target. Censored: the crossing lies 'below' or 'above' the grid, and the value
    is 0 or inf, so that it ranks before or after every grid value.

        found: lm.Threshold = lm.threshold([8, 16, 32], success)
        found.estimate.value, found.censored
    """

    estimate: Estimate
    censored: Literal["", "below", "above"]


def slope(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Estimate:
    """Mean over seeds of the least-squares slope of y[seed, x] on x, with its t interval. Two x values are enough.

    lm.slope([0.1, 0.2], [[1.0, 2.1], [1.1, 1.9]])
    """
    x, y = _cells(x, y, points=2)
    return mean_interval(_least_squares(x, y)[0], level)


def line(x: ArrayLike, y: ArrayLike, through_origin: bool = False, level: float = 0.95) -> Line:
    """Least-squares line of the seed means (the mean of the seeds' lines), with t intervals over seeds.

        lm.line([1, 2, 3], [[2.0, 4.1, 6.0], [2.1, 3.9, 6.2]])

    R^2 = 1 - sum (y - fit)^2 / sum (y - mean y)^2 of the seed means, also for a line through the origin.
    """
    x, y = _cells(x, y, points=3)
    if through_origin:
        slopes, intercepts = y @ x / (x @ x), np.zeros(len(y))
    else:
        slopes, intercepts = _least_squares(x, y)
    fit = intercepts.mean() + slopes.mean() * x
    return Line(mean_interval(slopes, level), mean_interval(intercepts, level), _r_squared(y.mean(0), fit))


def power_law(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> PowerLaw:
    """y = C x^p as a straight line in logarithms: the exponent is the mean over seeds of the log-log slopes, which is
    the slope of the mean logarithm, with its t interval over seeds.

        lm.power_law([1, 2, 4], [[1.0, 0.5, 0.26], [1.1, 0.5, 0.24]])
    """
    x, y = _cells(x, y, points=3, positive=True)
    fit = line(np.log(x), np.log(y), level=level)
    return PowerLaw(fit.slope, float(np.exp(fit.intercept.value)), fit.r_squared)


def offset_power_law(
    x: ArrayLike, y: ArrayLike, exponent: float | None = None, nonnegative: bool = False, level: float = 0.95
) -> OffsetPowerLaw:
    """y = C (x - c)^p with c < min x, for a given exponent p or a free one: least squares of the mean log y on
    log(x - c), profiled over c. The fit is refused where c runs to the ends, min x - c outside [1e-4, 1e2] (max x -
    min x): there the data follow an exponential (c -> -inf) or one point only.

        lm.offset_power_law(x, y, exponent=-2)

    `nonnegative` restricts c to [0, min x). Intervals are jackknife-t over seeds, cut to the range allowed to c; they
    are those of the unrestricted fit, since at c = 0 the restricted one does not move.
    """
    x, y = _cells(x, y, points=3 if exponent is not None else 4)
    if (y <= 0).any() or (nonnegative and x.min() <= 0):
        raise CannotFit("A power law with an offset needs positive y, and positive x if the offset is not negative.")
    if exponent == 0:
        raise CannotFit("A power law with exponent 0 has no offset.")
    logs = np.log(y)
    floor = 0.0 if nonnegative else -np.inf
    offset, power, constant = _profile_offset(x, logs.mean(0), exponent, floor)
    fit = constant + power * np.log(x - offset)

    def interval(which: int, value: float) -> Estimate:
        try:
            free = jackknife(lambda rows: _profile_offset(x, rows.mean(0), exponent, -np.inf)[which], logs, level)
        except CannotFit:
            return Estimate(value, -np.inf, np.inf)
        return Estimate(value, min(free.low, value), max(free.high, value))

    c = interval(0, offset)
    offset_estimate = Estimate(c.value, max(c.low, floor), min(c.high, float(x.min())))
    exponent_estimate = interval(1, power) if exponent is None else Estimate(exponent, exponent, exponent)
    return OffsetPowerLaw(offset_estimate, exponent_estimate, float(np.exp(constant)), _r_squared(logs.mean(0), fit))


def put_on_law(x: ArrayLike, y: ArrayLike, exponent: float) -> Array:
    """The measured y[seed, x] with the fitted power law divided out and the claimed one multiplied in:
    y x^exponent / x^p, times the constant that keeps the mean of log y. The residuals of every seed stay."""
    x, y = _cells(x, y, points=2, positive=True)
    change = exponent * np.log(x) - _least_squares(np.log(x), np.log(y).mean(0))[0] * np.log(x)
    return y * np.exp(change - change.mean())


def threshold(x: ArrayLike, success: ArrayLike, target: float = 0.5, level: float = 0.95) -> Threshold:
    """Where the mean of success[seed, x] (0/1, or rates) over seeds crosses `target`: increasing regression of the
    mean on log2 x, then linear interpolation in log2 x; the middle where the fit is flat at the target.

        lm.threshold([8, 16, 32], [[0, 1, 1], [0, 0, 1]])

    The interval counts seeds at the grid points and needs no model of the curve. With r_j the fitted rate and n
    seeds, the lower limit is the last x_j at which a rate of `target` or more is excluded, P(Bin(n, target) <= n r_j)
    <= (1 - level) / 2 (mid-P), the upper one the first at which `target` or less is. So it is never narrower than the
    cell of the crossing, however sharp the curve. So few seeds that not even all of them agreeing would exclude the
    target (n < 5 at 0.5) take the t interval of `_few_seeds` instead.
    """
    x, success = _cells(x, success, points=2)
    if x[0] <= 0 or (np.diff(x) <= 0).any() or success.min() < 0 or success.max() > 1 or not 0 < target < 1:
        raise CannotFit("A threshold needs increasing positive x, successes in [0, 1] and a target inside (0, 1).")
    grid, seeds, tail = np.log2(x), len(success), (1 - level) / 2
    rates = _increasing(success.mean(0))
    low, high = _bracket(grid, rates, target)
    value = _crossing(grid, rates, target)
    if _few_by_counting(seeds, target, tail):
        low = min(low, _few_seeds(grid, success, target, level)[0])
    else:
        low = max(grid[_midp_tail(rates, seeds, target) <= tail], default=-np.inf)
    if _few_by_counting(seeds, 1 - target, tail):
        high = max(high, _few_seeds(grid, success, target, level)[1])
    else:
        high = min(grid[_midp_tail(1 - rates, seeds, 1 - target) <= tail], default=np.inf)
    value_, low_, high_ = (float(np.exp2(end)) for end in (value, low, high))
    estimate = Estimate(value_, low_, high_)
    return Threshold(estimate, "below" if value == -np.inf else "above" if value == np.inf else "")


def _cells(x: ArrayLike, y: ArrayLike, points: int, positive: bool = False) -> tuple[Array, Array]:
    """x[x] and y[seed, x] as arrays, checked: finite, matching, enough different x values, positive if asked."""
    x, y = np.asarray(x, float), np.atleast_2d(np.asarray(y, float))
    if x.ndim != 1 or y.ndim != 2 or y.shape[1] != x.size or len(y) == 0:
        raise CannotFit(f"A fit needs x of shape (x,) and y of shape (seed, x), not {x.shape} and {y.shape}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise CannotFit("A fit needs finite x and y; leave out or censor the cells that have none.")
    if len(np.unique(x)) < points:
        raise CannotFit(f"This fit needs at least {points} different values of x, not {len(np.unique(x))}.")
    if positive and (x.min() <= 0 or y.min() <= 0):
        raise CannotFit("A power law needs positive x and y.")
    return x, y


def _least_squares(x: Array, y: Array) -> tuple[Array, Array]:
    """Slope and intercept of y[..., x] on x."""
    centred = x - x.mean()
    slopes = y @ centred / (centred @ centred)
    return slopes, y.mean(-1) - slopes * x.mean()


def _r_squared(y: Array, fit: Array) -> float:
    total = float(np.sum((y - y.mean()) ** 2))
    rounding = len(y) * (1e-14 * float(np.abs(y).max())) ** 2
    return 1 - float(np.sum((y - fit) ** 2)) / total if total > rounding else 0.0


def _profile_offset(x: Array, logs: Array, exponent: float | None, floor: float) -> tuple[float, float, float]:
    """(c, p, log C) minimising the variance of log y - p log(x - c) over c in [floor, min x); u = log(min x - c)."""
    first, span = float(x.min()), float(np.ptp(x))

    def solve(u: Array) -> tuple[Array, Array, Array]:
        stretched = np.log(x - first + np.exp(u)[:, None])
        centre = stretched.mean(1)
        centred = stretched - centre[:, None]
        power = centred @ logs / np.sum(centred**2, axis=1) if exponent is None else np.full(len(u), exponent)
        misfit = np.sum((logs - logs.mean() - power[:, None] * centred) ** 2, axis=1)
        return misfit, power, logs.mean() - power * centre

    widest, allowed = np.log(100 * span), np.log(first - floor)
    top = min(widest, allowed)
    u = np.linspace(min(np.log(1e-4 * span), top - 5), top, 81)
    best = int(np.argmin(solve(u)[0]))
    if best == 0 or (best == 80 and top == widest):
        raise CannotFit("The data do not determine an offset: it runs to the end of its range.")
    for _ in range(5):
        u = np.linspace(u[max(best - 1, 0)], u[min(best + 1, 80)], 81)
        best = int(np.argmin(solve(u)[0]))
    _, power, constant = solve(u[[best]])
    return max(first - float(np.exp(u[best])), floor), float(power[0]), float(constant[0])


def _increasing(rates: Array) -> Array:
    """Increasing regression; rounded so that pooled means of k/n compare equal to the target they stand for."""
    from scipy.optimize import isotonic_regression

    return np.round(isotonic_regression(rates).x, 12)


def _bracket(grid: Array, rates: Array, target: float) -> tuple[float, float]:
    """Last grid point below the target and first one above it; infinite where there is none."""
    return max(grid[rates < target], default=-np.inf), min(grid[rates > target], default=np.inf)


def _crossing(grid: Array, rates: Array, target: float) -> float:
    """Where the interpolated increasing rates are at the target, the middle of it if flat; -inf or inf off the grid."""
    if rates[0] > target:
        return -np.inf
    if rates[-1] < target:
        return np.inf
    flat = grid[rates == target]
    return float(flat[0] + flat[-1]) / 2 if flat.size else float(np.interp(target, rates, grid))


def _few_by_counting(seeds: int, target: float, tail: float) -> bool:
    """Whether even a unanimous failure of all seeds leaves a rate of `target` possible."""
    return (1 - target) ** seeds / 2 > tail


def _midp_tail(rates: Array, seeds: int, target: float) -> Array:
    """P(B < k) + P(B = k) / 2 for B ~ Bin(seeds, target) at k = seeds * rate, continued to every real k."""
    from scipy.special import betainc

    k = seeds * rates
    up_to = np.where(k < seeds, betainc(np.maximum(seeds - k, 1e-12), k + 1, 1 - target), 1)
    less = np.where(k > 0, betainc(seeds - k + 1, np.maximum(k, 1e-12), 1 - target), 0)
    return (up_to + less) / 2


def _few_seeds(grid: Array, success: Array, target: float, level: float) -> tuple[float, float]:
    """Limits from the seeds' own thresholds, normal on the log2 scale and each known to a cell [a_i, b_i] only:
    mean(a) - k s and mean(b) + k s, s^2 = var((a + b) / 2) + mean((b - a)^2) / 12, k = t / sqrt(n).

    If every seed is a 0/1 curve the target is a quantile of those thresholds, and k is the noncentral t's; if every
    seed has its own rate it is their mean. Both are taken, and the wider counts. A seed that does not cross: no limit.
    """
    from scipy.special import nctdtrit, ndtri

    seeds = len(success)
    cells = np.array([_bracket(grid, _increasing(row), target) for row in success])
    if seeds < 2 or not np.isfinite(cells).all():
        return -np.inf, np.inf
    spread = (cells.mean(1).var(ddof=1) + np.mean(np.diff(cells) ** 2) / 12) ** 0.5
    t = t_quantile(seeds, level)
    shift = seeds**0.5 * float(ndtri(target))
    below, above = nctdtrit(seeds - 1, shift, [(1 - level) / 2, (1 + level) / 2])
    low, high = cells.mean(0) + np.array([min(-t, below), max(t, above)]) * spread / seeds**0.5
    return float(low), float(high)
