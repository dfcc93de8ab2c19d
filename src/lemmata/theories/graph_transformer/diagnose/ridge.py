"""The cheap model: ridge regression on one-hot classes, its predictions on held-out folds in closed form.

With X = U S Vᵀ and H = X (XᵀX + λ)⁻¹ Xᵀ, the residual of the nodes of a fold, had they been left out, is
(I - H_ff)⁻¹ (Y - H Y)_f: one decomposition serves all folds, all repeats and all λ. λ is chosen for every fold by the
leave-one-out errors of the nodes outside it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

PENALTIES = 10.0 ** np.arange(-3, 3.1, 0.5)
CONSTANT = 30.0
"""The column of the intercept: so long that its penalty is nothing."""


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
    answer = np.empty_like(model.target)
    along = model.left.T @ model.target
    for f in np.unique(fold):
        out = np.flatnonzero(fold == f)
        shrink = model.shrunk[np.argmin(model.errors[:, fold != f].mean(axis=1))]
        part = model.left[out]
        residual = model.target[out] - part @ (shrink[:, None] * along)
        answer[out] = model.target[out] - np.linalg.solve(np.eye(len(out)) - (part * shrink) @ part.T, residual)
    return answer
