"""The minimum Ŵ_n of the empirical risk by damped Newton steps, and the permutation that lines two networks up (4.2).

A saddle is left by taking eigenvalues in absolute value; a run that walks away from the ground truth is told, not
averaged: for small n the minimum of some draws lies at infinity.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from lemmata.theories.group_imbalance import network
from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Array, Inputs, Labels, Weights

FAR = 50.0
"""A run this far from the ground truth has diverged."""
POLISHED = 1e-12
NEWTON_STEPS = 60
NEAR = 1e-6
"""The last Newton step is at most this long."""
LONGEST = 2.0
"""No Newton step is longer."""
SHORTEST = 0.5**30
"""A step is halved until the risk falls enough, to this share of it at the shortest."""


class Minimum(NamedTuple):
    """Where a search ended: weights, whether it arrived or walked away, and the expansion of the risk there."""

    weights: Weights
    converged: bool
    diverged: bool = False
    at: Any = None


def minimise(
    x: Inputs,
    y: Labels,
    start: Weights,
    phi: Activation = SIGMOID,
    weights: Labels | None = None,
    centre: Weights | None = None,
    steps: int = NEWTON_STEPS,
    longest: float = LONGEST,
) -> Minimum:
    """A local minimum of Σ_i weights_i ℓ_i (the mean unless given) near `start`; `centre` is what it must stay near."""
    centre = start if centre is None else centre
    W, size, arrived = start, np.inf, False
    at = network.expand(W, x, y, weights, phi)
    for _ in range(steps):
        slope = network.flatten(at.gradient)
        before, size = size, float(np.linalg.norm(slope))
        values, vectors = np.linalg.eigh(at.hessian)
        curved = np.maximum(np.abs(values), 1e-9 * max(abs(values[-1]), 1e-300))
        move = -vectors @ (vectors.T @ slope / curved)
        length = float(np.linalg.norm(move))
        # a vanishing gradient is no minimum where the next step is still long: it lies at infinity then
        arrived = size <= 1e-8 and length <= NEAR and bool(values[0] > 0)
        if arrived and (size <= POLISHED or size >= before / 2):  # rounding ends the polish
            break
        move *= min(1.0, longest / max(length, 1e-300))
        step, drop = network.unflatten(move, W.shape[1]), 1e-4 * (slope @ move)
        scale, there = 1.0, network.expand(W + step, x, y, weights, phi)
        while size >= 1e-6 and not there.risk <= at.risk + scale * drop and scale > SHORTEST:
            scale /= 2
            there = network.expand(W + scale * step, x, y, weights, phi)
        W, at = W + scale * step, there
        if not np.linalg.norm(W - centre) <= FAR:
            return Minimum(W, False, True, at)
    return Minimum(W, arrived, False, at)


def matching(W: Weights, other: Weights) -> Int[Array, " neurons"]:
    """The order of the columns of `other` that is nearest to W: Hungarian assignment on squared distances."""
    from scipy.optimize import linear_sum_assignment

    distances = ((W[:, :, None] - other[:, None, :]) ** 2).sum(0)
    return linear_sum_assignment(distances)[1]


def distance(W: Weights, other: Weights) -> float:
    """min_P ‖W - other P‖_F."""
    return float(np.linalg.norm(W - other[:, matching(W, other)]))


def spread(found: list[Weights]) -> float:
    """V_W: the root mean square distance of several minima from their mean, columns lined up with the first."""
    aligned = np.stack([W[:, matching(found[0], W)] for W in found])
    return float(np.sqrt(((aligned - aligned.mean(0)) ** 2).sum((1, 2)).mean()))
