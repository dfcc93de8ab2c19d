"""What is measured of a network: excess risks without labels, spectra, fitted rates (5)."""

from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance.network import SIGMOID, Activation, Inputs, Weights, log_probabilities, namespace

Array = Any


def excess(W: Weights, truth: Weights, x: Inputs, phi: Activation = SIGMOID) -> Array:
    """f̄(W) - f̄(W*) = E KL(Bern(H*) ‖ Bern(H)), the mean over points without labels."""
    xp = namespace(W)
    one, zero = log_probabilities(truth, x, phi)
    fit_one, fit_zero = log_probabilities(W, x, phi)
    return (xp.exp(one) * (one - fit_one) + xp.exp(zero) * (zero - fit_zero)).mean()


def entropy(truth: Weights, x: Inputs, phi: Activation = SIGMOID) -> Array:
    """The mean over points of the binary entropy of H*: the noise floor."""
    xp = namespace(truth)
    one, zero = log_probabilities(truth, x, phi)
    return -(xp.exp(one) * one + xp.exp(zero) * zero).mean()


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
