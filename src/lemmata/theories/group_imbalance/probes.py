"""What is measured of a network: excess risks without labels, spectra, fitted rates (5)."""

from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Inputs, Weights, cross_entropy, sides

Array = Any


def excess(W: Weights, truth: Weights, x: Inputs, phi: Activation = SIGMOID) -> Array:
    """f̄(W) - f̄(W*) = E KL(Bern(H*) ‖ Bern(H)), the mean over points without labels."""
    known = sides(truth, x, phi)
    return (cross_entropy(known, sides(W, x, phi)) - cross_entropy(known, known)).mean()


def fitted_rate(
    step: Float[np.ndarray, " record"], distance: Float[np.ndarray, " record"], floor: float, share: float = 0.4
) -> tuple[float, float]:
    """1 - v̂ and R² of the straight line through log distance over the last `share` of a run, above `floor` alone."""
    known = np.isfinite(step) & np.isfinite(distance) & (distance > floor)
    if known.sum() < 5:
        return np.nan, np.nan
    late = known & (step >= (1 - share) * step[known].max())
    if late.sum() < 5:
        return np.nan, np.nan
    t, logs = step[late], np.log(distance[late])
    slope, constant = np.polyfit(t, logs, 1)
    residual = logs - (slope * t + constant)
    return float(-np.expm1(slope)), float(1 - residual.var() / logs.var())
