"""The cheap models: ridge regression on one-hot classes, its predictions on held-out folds in closed form.

One is linear in the inputs; the other in Gaussian bumps around some of the nodes, which is not linear and local, and
gains what a small trained network gains. Only what both say is advised: it does not hang on one way to use the inputs.

With X = U S Vᵀ and H = X (XᵀX + λ)⁻¹ Xᵀ, the residual of the nodes of a fold, had they been left out, is
(I - H_ff)⁻¹ (Y - H Y)_f: one decomposition serves all folds, all repeats and all λ. With H_ff = P D Pᵀ the inverse is
I + P √D (I - √D PᵀP √D)⁻¹ √D Pᵀ, which is solved in the smaller of both sizes. λ is chosen for every fold by the
leave-one-out errors of the nodes outside it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

PENALTIES = 10.0 ** np.arange(-3, 3.1, 0.5)
CONSTANT = 30.0
"""The column of the intercept: so long that its penalty is nothing."""
DIGITS = 8
"""Of predictions. Equal inputs give equal ones; rounding would tell them apart by the label, which is taken off."""
BUMPS = 300
"""Nodes around which there is a bump; its width is the median distance."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Many products of small arrays: on a busy machine a second thread waits for the first and makes them slower."""
    import scipy.linalg  # noqa: F401 - a library that is loaded later has its threads

    with threadpool_limits(1):
        yield


class Decomposed(NamedTuple):
    """Left singular vectors of the inputs, and by λ the shrinkage of each and the leave-one-out errors."""

    left: Float[np.ndarray, "sample rank"]
    shrunk: Float[np.ndarray, "penalty rank"]
    errors: Float[np.ndarray, "penalty sample"]
    target: Float[np.ndarray, "sample class"]


def decompose(inputs: Float[np.ndarray, "sample width"], target: Float[np.ndarray, "sample class"]) -> Decomposed:
    full = np.concatenate([inputs, np.full((len(inputs), 1), CONSTANT)], axis=1)
    if full.shape[1] <= len(full):
        squares, right = np.linalg.eigh(full.T @ full)
        kept = squares > 1e-9 * squares[-1]
        left = full @ right[:, kept] / np.sqrt(squares[kept])
    else:
        squares, left = np.linalg.eigh(full @ full.T)
        kept = squares > 1e-9 * squares[-1]
        left = left[:, kept]
    shrunk = squares[kept] / (squares[kept] + PENALTIES[:, None])
    along = left.T @ target
    errors = np.empty((len(PENALTIES), len(inputs)))
    for error, shrink in zip(errors, shrunk, strict=True):
        left_out = np.maximum(1 - np.square(left) @ shrink, 1e-6)
        error[:] = np.square((target - left @ (shrink[:, None] * along)) / left_out[:, None]).sum(axis=1)
    return Decomposed(left, shrunk, errors, target)


def held_out(model: Decomposed, fold: Int[np.ndarray, " sample"]) -> Float[np.ndarray, "sample class"]:
    """What is predicted for every sample by a model that has not seen its fold."""
    from scipy.linalg import solve

    answer = np.empty_like(model.target)
    along = model.left.T @ model.target
    for f in np.unique(fold):
        out = np.flatnonzero(fold == f)
        shrink = model.shrunk[np.argmin(model.errors[:, fold != f].mean(axis=1))]
        part = model.left[out] * np.sqrt(shrink)
        residual = model.target[out] - part @ (np.sqrt(shrink)[:, None] * along)
        if part.shape[1] < len(out):
            inner = np.eye(part.shape[1]) - part.T @ part
            residual = residual + part @ solve(inner, part.T @ residual, assume_a="pos")
        else:
            residual = solve(np.eye(len(out)) - part @ part.T, residual, assume_a="pos")
        answer[out] = model.target[out] - residual
    return np.round(answer, DIGITS)


def bumps(inputs: Float[np.ndarray, "sample width"], rng: np.random.Generator) -> Float[np.ndarray, "sample bump"]:
    """exp(-d²/median d²) of the distances d to nodes that are drawn."""
    centre = inputs[rng.choice(len(inputs), min(BUMPS, len(inputs)), replace=False)]
    square = np.square(inputs).sum(axis=1)[:, None] - 2 * inputs @ centre.T + np.square(centre).sum(axis=1)
    middle = np.median(square)
    return np.exp(-np.maximum(square, 0) / middle) if middle > 0 else np.zeros_like(square)
