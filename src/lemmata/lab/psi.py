"""The psi method (Kontsevich and Tyler, Vision Research 39, 1999; QUEST+: Watson, Journal of Vision 17(3), 2017): where
the success curve of a 0/1 experiment crosses a target, from few runs placed where they tell most.

On u = log2 x the curve is logistic between two rates of lapses,

    P(success at u) = lambda + (1 - 2 lambda) / (1 + exp(-(2 log 9 / r) (u - theta) - b)),

theta the place where it is at the target (that is what b is for) and r its *rise*, the octaves from 10 % to 90 % of
its way. With R = log2(high / low) of the range searched, the prior is uniform in theta on the range and a quarter of it
on either side, and uniform in log r from R / 12 to R. The posterior lives on a grid of theta and r, where Bayes' rule
is exact. The next run goes to the u whose outcome has the greatest mutual information with (theta, r), which is the u
of least expected entropy of the posterior.

What is guaranteed, if the curve is of this family and the runs are independent:

1. The posterior does not depend on how the runs were placed or why they ended, since both look at past outcomes only.
   So a credible interval holds theta with exactly its level, *on average over the prior*. For one fixed curve it may
   be more or less: more for steep curves, less for those that rise over half of the range or more, above all if the
   runs end as soon as the interval is narrow (docs/performance.md has the numbers).
2. Consistency and efficiency (Paninski, Neural Computation 17, 2005): with more and more runs the posterior of such a
   design concentrates at the truth, and asymptotically its entropy is never larger, in general smaller, than that of
   a placement that does not adapt. This is about the pair (theta, r) and many runs; it promises nothing about seven.

Why this and not another: counting alone (`fits.threshold`) needs five runs of one kind at either end of an interval;
up-and-down designs give no interval; probabilistic bisection (Waeber, Frazier and Henderson, SIAM J. Control Optim. 51,
2013) supposes a known chance of a wrong answer, which here is unknown and near the threshold tends to one half; noisy
binary search (Karp and Kleinberg, SODA 2007) bounds the rate at the point found, not its place, in O(log n / eps^2)
runs. Expected variance or width instead of entropy, or a rise shared among cells, changed the number of simulated runs
to a given width by less than a tenth, so the rule with a theorem was kept, and no assumption across cells made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lemmata.lab.intervals import Array

LAPSE = 0.02
"""Success or failure that has nothing to do with x; keeps one odd run far from the threshold from deciding."""
BESIDE = 0.25
"""The prior reaches so far beyond the range, on either side, in lengths of the range."""
POINTS = 48
"""Grid points of theta in the range."""
RISES = 16
"""Grid points of the rise, from a twelfth of the range to all of it."""


@dataclass(frozen=True)
class Model:
    """The curves considered, on log2 of x. A belief is an array [..., threshold, rise] that adds up to 1."""

    low: float
    high: float
    candidates: Array
    thresholds: Array
    rises: Array
    rates: Array
    """P(success), [candidate, threshold, rise]."""


def make_model(low: float, high: float, candidates: ArrayLike, target: float) -> Model:
    """The model on the range from `low` to `high` for runs at the `candidates`, all of them values of x."""
    from scipy.special import expit, logit

    low, high = math.log2(low), math.log2(high)
    u, length = np.log2(np.asarray(candidates, float)), high - low
    beyond = round(BESIDE * POINTS)
    thresholds = low + length / POINTS * np.arange(-beyond, POINTS + beyond + 1, dtype=float)
    rises = np.geomspace(length / 12, length, RISES)
    # A target below the usual rate of lapses would never be crossed.
    lapse = min(LAPSE, target / 2, (1 - target) / 2)
    steps = 2 * np.log(9) / rises * (u[:, None, None] - thresholds[:, None])
    rates = lapse + (1 - 2 * lapse) * expit(steps + logit((target - lapse) / (1 - 2 * lapse)))
    return Model(low, high, u, thresholds, rises, rates)


def prior(model: Model, cells: int) -> Array:
    """The belief of every cell before its first run, [cell, threshold, rise]."""
    shape = model.rates.shape[1:]
    return np.full((cells, *shape), 1 / np.prod(shape))


def update(model: Model, belief: Array, candidate: ArrayLike, outcome: ArrayLike) -> Array:
    """Bayes' rule for one run in every cell: belief[cell, ...], the index of the candidate tried, 0 or 1."""
    rates = model.rates[np.asarray(candidate, int)]
    posterior = belief * np.where(np.asarray(outcome, bool)[:, None, None], rates, 1 - rates)
    return posterior / posterior.sum((1, 2), keepdims=True)


def information(model: Model, belief: Array) -> Array:
    """I(outcome; threshold, rise) of a run at every candidate, [cell, candidate], in nats: h(E p) - E h(p)."""
    over = ([1, 2], [1, 2])
    return _entropy(np.tensordot(belief, model.rates, over)) - np.tensordot(belief, _entropy(model.rates), over)


def place(model: Model, belief: Array) -> NDArray[np.intp]:
    """The index of the most informative candidate of every cell; among equals the smallest, which is the cheapest."""
    gain = information(model, belief)
    return np.argmax(gain >= gain.max(1, keepdims=True) - 1e-9, axis=1)


def quantiles(model: Model, belief: Array, level: float = 0.95) -> tuple[Array, Array, Array]:
    """Median and equal-tailed credible interval of the threshold of every cell, in log2 x."""
    marginal = belief.sum(2)
    middle, low, high = (
        _quantile(model.thresholds, marginal, share) for share in (0.5, (1 - level) / 2, (1 + level) / 2)
    )
    return middle, low, high


def credible(model: Model, belief: Array, level: float = 0.95) -> tuple[Array, Array, Array]:
    """Median and equal-tailed credible interval of the threshold of every cell, as values of x.

    Beyond the range nothing was tried and the posterior reaches as far as the prior does, so a quantile out there says
    no more: a median or a limit beyond the range is 0 or inf, and an interval wholly beyond it begins at its end.
    """
    middle, low, high = quantiles(model, belief, level)
    middle = np.where(middle < model.low, -np.inf, np.where(middle > model.high, np.inf, middle))
    low = np.where(low < model.low, -np.inf, np.minimum(low, model.high))
    high = np.where(high > model.high, np.inf, np.maximum(high, model.low))
    return np.exp2(middle), np.exp2(low), np.exp2(high)


def is_narrow(model: Model, belief: Array, width: float, level: float = 0.95) -> NDArray[np.bool_]:
    """Whether the interval of every cell is at most `width` octaves wide or lies wholly beyond the range."""
    _, low, high = quantiles(model, belief, level)
    return (high - low <= width) | (low >= model.high) | (high <= model.low)


def mean_rise(model: Model, belief: Array) -> Array:
    """Geometric posterior mean of the rise of every cell, in octaves."""
    return np.exp(belief.sum(1) @ np.log(model.rises))


def _quantile(points: Array, mass: Array, share: float) -> Array:
    """Quantiles of mass[cell, point], each point's mass spread evenly over the cell around it."""
    total = np.cumsum(mass, axis=1)
    index = np.minimum((total < share).sum(1), len(points) - 1)
    here = np.arange(len(mass)), index
    return points[index] + (points[1] - points[0]) * ((share - total[here]) / mass[here] + 0.5)


def _entropy(p: Array) -> Array:
    from scipy.special import entr

    return entr(p) + entr(1 - p)
