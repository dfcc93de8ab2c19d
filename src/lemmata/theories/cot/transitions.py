"""Transition matrices of testing examples (2.4): constructors, what is asked of them, and their numbers.

A_k[i, j] is the probability that step k of an example goes from pattern i to pattern j; the right one is f_k(i). All of
it is host work in float64 and serves the user's own chains as well (`diagnose`).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

import lemmata as lm
from lemmata.theories.cot.tasks import images

CONSTRUCTORS = ("uniform", "weighted", "single", "pairs", "example", "direct", "given")
EXAMPLE = np.array([[[0.6, 0.4], [0.4, 0.6]], [[0.4, 0.6], [0.8, 0.2]]])
"""Example 1: K = 2, M' = 2, f_1 the identity, f_2 the swap."""
EXAMPLE_MAPS = np.array([[0, 1], [1, 0]])
DIRECT = np.array([EXAMPLE[0], [[0.2, 0.8], [0.8, 0.2]]])
"""The same with a second step for which Condition 7.3.2 holds: the control of f71-example."""
TOLERANCE = 1e-9


class Numbers(NamedTuple):
    """What a system is described by: τ, ρ, τ_o, ρ_o, and for every input whether Condition 7.3.2 holds."""

    trajectory: float
    primacy: float
    label_probability: float
    label_primacy: float
    condition: np.ndarray


def compose(matrices: np.ndarray) -> np.ndarray:
    """B = A_1 A_2 ... A_K."""
    return functools.reduce(np.matmul, matrices)


def primacy(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """1 - (largest other entry) / (right entry) of every row (7.12); minus infinity where the right entry is 0."""
    rows = np.arange(len(matrix))
    others = matrix.copy()
    others[rows, right] = 0.0
    chance = matrix[rows, right]
    return np.where(chance > 0, 1 - others.max(axis=1) / np.where(chance > 0, chance, 1), -np.inf)


def trajectories(matrices: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """The probability that an example with input i takes every step right."""
    path = images(list(maps))
    return np.prod([A[start, end] for A, start, end in zip(matrices, path, path[1:], strict=False)], axis=0)


def answers(maps: np.ndarray) -> np.ndarray:
    """f(i) for every input."""
    return images(list(maps))[-1]


def describe(matrices: np.ndarray, maps: np.ndarray) -> Numbers:
    """τ, ρ (7.12, 7.14), τ_o, ρ_o (7.13, 7.15) and Condition 7.3.2 by input; a tied favourite does not satisfy it."""
    whole, right = compose(matrices), answers(maps)
    favourite = whole.argmax(axis=1)
    return Numbers(
        float(trajectories(matrices, maps).min()),
        float(min(primacy(matrix, step).min() for matrix, step in zip(matrices, maps, strict=True))),
        float(whole.max(axis=1).min()),
        float(primacy(whole, favourite).min()),
        primacy(whole, right) > TOLERANCE,
    )


def step_probabilities(constructor: str, tau: float, steps: int, which: int, weights: Any = None) -> np.ndarray:
    """p_k = τ^{w_k}: even weights, one step with all the error (`which`, counted from 1), or the user's own."""
    if constructor == "single":
        share = np.eye(steps)[which - 1]
    elif constructor == "weighted":
        share = np.asarray(weights, float)
    else:
        share = np.full(steps, 1 / steps)
    return tau**share


def infeasible(p: float, rho: float, patterns: int) -> str:
    """Why no row has the right entry p, a runner-up (1-ρ)p and the rest even below it; empty if there is one."""
    if p >= 1:
        return ""
    if patterns == 2 and abs(p * (2 - rho) - 1) > TOLERANCE:
        return f"with two patterns p (2-ρ) must be 1, and is {p * (2 - rho):.4g}"
    if p * (2 - rho) > 1 + TOLERANCE:
        return f"p (2-ρ) = {p * (2 - rho):.4g} exceeds 1 (p = {p:.4g}, ρ = {rho:g})"
    most = p * (1 + (1 - rho) * (patterns - 1))
    if most < 1 - TOLERANCE:
        return f"p (1+(1-ρ)(M'-1)) = {most:.4g} is less than 1 (p = {p:.4g}, ρ = {rho:g})"
    return ""


def even_matrices(maps: np.ndarray, p: np.ndarray, rho: float, runner: np.ndarray) -> np.ndarray:
    """Rows with the right entry p_k, a runner-up `runner` places further with (1-ρ)p_k, and the rest even."""
    steps, patterns = maps.shape
    rows = np.arange(patterns)
    matrices = np.zeros((steps, patterns, patterns))
    for k in range(steps):
        second = 0.0 if p[k] >= 1 else 1 - p[k] if patterns == 2 else (1 - rho) * p[k]
        if patterns > 2:
            matrices[k] = max(1 - p[k] - second, 0.0) / (patterns - 2)
        matrices[k, rows, maps[k]] = p[k]
        matrices[k, rows, (maps[k] + runner[k]) % patterns] = second
    return matrices


def pair_matrices(maps: np.ndarray, a: float, b_u: float, b_s: float, c: float) -> np.ndarray:
    """The constructor `pairs`: steps that are right one by one and may be wrong together (K = 3, M' even)."""
    first, second, third = maps
    patterns = len(first)
    rows, partner = np.arange(patterns), np.arange(patterns) ^ 1
    matrices = np.zeros((3, patterns, patterns))
    matrices[0, rows, first] = a
    matrices[0, rows, partner[first]] = 1 - a
    sure = np.where(rows % 2 == 0, b_u, b_s)
    matrices[1, rows, second] = sure
    matrices[1, rows, second[partner]] = 1 - sure
    mate = np.empty(patterns, int)
    mate[second] = second[partner]
    matrices[2] = (1 - c) / (patterns - 2)
    matrices[2, rows, third] = c
    matrices[2, rows, third[mate]] = 0.0
    return matrices


def coincide(matrices: np.ndarray, maps: np.ndarray) -> bool:
    """Whether a failing input's wrong favourite is that input itself, whose votes the trained model weights down."""
    favourite = compose(matrices).argmax(axis=1)
    return bool(np.any((favourite != answers(maps)) & (favourite == np.arange(maps.shape[1]))))


def check_matrices(given: Any, steps: int, patterns: int) -> np.ndarray:
    """The user's own matrices: right shape, not negative, rows that sum to one."""
    matrices = np.asarray(given, float)
    if matrices.shape != (steps, patterns, patterns):
        raise lm.UserError(f"given_matrices has shape {matrices.shape}; allowed is {(steps, patterns, patterns)}.")
    check_rows(matrices)
    return matrices


def check_rows(matrices: np.ndarray) -> None:
    """Refuse matrices with an entry that is no probability or a row that does not sum to one."""
    for k, matrix in enumerate(matrices, start=1):
        if not np.isfinite(matrix).all():
            raise lm.UserError(f"The matrix of step {k} has an entry that is not a finite number.")
        if matrix.min() < 0:
            i, j = np.unravel_index(matrix.argmin(), matrix.shape)
            raise lm.UserError(
                f"The matrix of step {k} has the negative entry {matrix[i, j]:g} in row {i + 1}, column {j + 1}."
            )
        total = matrix.sum(axis=1)
        worst = int(np.argmax(np.abs(total - 1)))
        if abs(total[worst] - 1) > 1e-6:
            raise lm.UserError(f"Row {worst + 1} of step {k} sums to {total[worst]:.6g}; every row must sum to 1.")


def check_primacy(matrices: np.ndarray, maps: np.ndarray) -> None:
    """Refuse a system with a step whose most probable output is not the right one (ρ must be positive)."""
    for k, (matrix, step) in enumerate(zip(matrices, maps, strict=True), start=1):
        lead = primacy(matrix, step)
        if lead.min() <= 0:
            i = int(lead.argmin())
            raise lm.UserError(
                f"From pattern {i + 1}, step {k} goes to a wrong output at least as often as to the right one, "
                f"{step[i] + 1}: the primacy must be positive."
            )
