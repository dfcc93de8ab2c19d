"""Tasks (2.2), and the transition matrices of testing examples (2.4): constructors, refusals, and their numbers.

A task is f = f_K ∘ ... ∘ f_1, every f_k a bijection of the patterns. A map is an array of images: `f[i]` is the pattern
that pattern i is sent to, counted from 0. A_k[i, j] is the probability that step k of an example goes from pattern i to
pattern j; the right one is f_k(i). All of it is host work in float64 and serves the user's own chains as well
(`diagnose`); maps and images work inside compiled code too.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

import lemmata as lm

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


def shift_maps(order: np.ndarray, steps: int) -> np.ndarray:
    """The paper's generator: f_k moves every pattern by k places along `order`, a permutation p of the patterns."""
    return order[(order.argsort() + np.arange(1, steps + 1)[:, None]) % len(order)]


def shifted_images(order: Any, place: Any, steps: int) -> Any:
    """Where these maps have brought every pattern after 0, 1, ..., K steps: k(k+1)/2 places further; `place`: p^-1."""
    moved = np.cumsum(np.arange(steps + 1))[:, None]
    return order[(place + moved) % order.shape[0]]


def images(maps: Any) -> list[Any]:
    """Where every pattern is after 0, 1, ..., K steps."""
    reached = [np.arange(maps[0].shape[0])]
    for step in maps:
        reached.append(step[reached[-1]])
    return reached


def compose(matrices: np.ndarray) -> np.ndarray:
    """B = A_1 A_2 ... A_K."""
    return functools.reduce(np.matmul, matrices)


def primacy(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """1 - (largest other entry) / (right entry) of every row (7.12); minus infinity where the right entry is 0."""
    rows, others = np.arange(len(matrix)), matrix.copy()
    others[rows, right], chance = 0.0, matrix[rows, right]
    return np.where(chance > 0, 1 - others.max(axis=1) / np.where(chance > 0, chance, 1), -np.inf)


def leads(matrices: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """The primacy of every step and pattern [K, M]."""
    return np.stack([primacy(matrix, step) for matrix, step in zip(matrices, maps, strict=True)])


def answers(maps: np.ndarray) -> np.ndarray:
    """f(i) for every input."""
    return images(maps)[-1]


def describe(matrices: np.ndarray, maps: np.ndarray) -> Numbers:
    """τ, ρ (7.12, 7.14), τ_o, ρ_o (7.13, 7.15) and Condition 7.3.2 by input; a tied favourite does not satisfy it."""
    whole, path = compose(matrices), images(maps)
    trajectories = np.prod([A[i, j] for A, i, j in zip(matrices, path, path[1:], strict=False)], axis=0)
    return Numbers(
        float(trajectories.min()),
        float(leads(matrices, maps).min()),
        float(whole.max(axis=1).min()),
        float(primacy(whole, whole.argmax(axis=1)).min()),
        primacy(whole, path[-1]) > TOLERANCE,
    )


def step_probabilities(constructor: str, tau: float, steps: int, which: int = 1, weights: Any = None) -> np.ndarray:
    """p_k = τ^{w_k}: even weights, one step with all the error (`which`, counted from 1), or the user's own."""
    single, even = np.eye(steps)[which - 1], np.full(steps, 1 / steps)
    return tau ** {"single": single, "weighted": np.asarray(weights, float)}.get(constructor, even)


def infeasible(p: float, rho: float, patterns: int) -> str:
    """Why no row has the right entry p, a runner-up (1-ρ)p and the rest even below it; empty if there is one."""
    leaders, most = p * (2 - rho), p * (1 + (1 - rho) * (patterns - 1))
    if p >= 1:
        return ""
    if patterns == 2 and abs(leaders - 1) > TOLERANCE:
        return f"with two patterns p (2-ρ) must be 1, and is {leaders:.4g}"
    if leaders > 1 + TOLERANCE:
        return f"p (2-ρ) = {leaders:.4g} exceeds 1 (p = {p:.4g}, ρ = {rho:g})"
    return f"p (1+(1-ρ)(M'-1)) = {most:.4g} is less than 1 (p = {p:.4g}, ρ = {rho:g})" if most < 1 - TOLERANCE else ""


def even_matrices(maps: np.ndarray, p: np.ndarray, rho: float, runner: np.ndarray) -> np.ndarray:
    """Rows with the right entry p_k, a runner-up `runner` places further with (1-ρ)p_k, and the rest even."""
    steps, patterns = maps.shape
    rows, matrices = np.arange(patterns), np.zeros((steps, patterns, patterns))
    for k, right in enumerate(p):
        if reason := infeasible(float(right), rho, patterns):
            raise lm.UserError(f"No step errs like this: {reason}.")
        second = 0.0 if right >= 1 else 1 - right if patterns == 2 else (1 - rho) * right
        matrices[k] = max(1 - right - second, 0.0) / max(patterns - 2, 1)
        matrices[k, rows, maps[k]] = right
        matrices[k, rows, (maps[k] + runner[k]) % patterns] = second
    return matrices


def pair_matrices(maps: np.ndarray, a: float, b_u: float, b_s: float, c: float) -> np.ndarray:
    """The constructor `pairs`: steps that are right one by one and may be wrong together (K = 3, M' even)."""
    first, second, third = maps
    rows, mate = np.arange(len(first)), np.empty(len(first), int)
    partner, sure = rows ^ 1, np.where(rows % 2 == 0, b_u, b_s)
    mate[second] = second[partner]
    matrices = np.zeros((3, len(first), len(first)))
    matrices[0, rows, first], matrices[0, rows, partner[first]] = a, 1 - a
    matrices[1, rows, second], matrices[1, rows, second[partner]] = sure, 1 - sure
    matrices[2] = (1 - c) / (len(first) - 2)
    matrices[2, rows, third], matrices[2, rows, third[mate]] = c, 0.0
    return matrices


def coincide(matrices: np.ndarray, maps: np.ndarray) -> bool:
    """Whether a failing input's wrong favourite is that input itself, whose votes the trained model weights down."""
    favourite = compose(matrices).argmax(axis=1)
    return bool(np.any((favourite != answers(maps)) & (favourite == np.arange(maps.shape[1]))))


def check_rows(matrices: np.ndarray) -> None:
    """Refuse matrices with an entry that is no probability or a row that does not sum to one."""
    for k, matrix in enumerate(matrices, start=1):
        if not np.isfinite(matrix).all():
            raise lm.UserError(f"The matrix of step {k} has an entry that is not a finite number.")
        i, j = np.unravel_index(matrix.argmin(), matrix.shape)
        if matrix[i, j] < 0:
            place = f"in row {i + 1}, column {j + 1}"
            raise lm.UserError(f"The matrix of step {k} has the negative entry {matrix[i, j]:g} {place}.")
        total = matrix.sum(axis=1)
        worst = int(np.abs(total - 1).argmax())
        if abs(total[worst] - 1) > 1e-6:
            raise lm.UserError(f"Row {worst + 1} of step {k} sums to {total[worst]:.6g}; every row must sum to 1.")


def check_primacy(matrices: np.ndarray, maps: np.ndarray) -> None:
    """Refuse a system with a step whose most probable output is not the right one (ρ must be positive)."""
    if (behind := np.argwhere(leads(matrices, maps) <= 0)).size:
        k, i = behind[0]
        goes = f"From pattern {i + 1}, step {k + 1} goes to a wrong output at least as often as to the right one"
        raise lm.UserError(f"{goes}, {maps[k, i] + 1}: the primacy must be positive.")
