"""Tasks, training task sets and patterns out of domain (2.2 to 2.4, 3.3).

A task is a pair (A, B): label +1 on inputs with a pattern of A, -1 with one of B, a coin otherwise. A and B are single
patterns, or disjoint tuples of them; patterns are counted from 1, as in the paper. Compiled code sees a task as its
row of roles, +1, -1 or 0 for every pattern.

Patterns out of domain are rows of coefficients k of all d_x patterns (μ_1 .. μ_{M_1}, ν_1 .. ν_{M_2}): the paper's
family, and what the theory asks of any other.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import lemmata as lm

Task = tuple[Any, Any]

SETS = ("cyclic", "subsampled", "swaps", "triangles", "given")
"""The training tasks that a setting can choose."""
SWAPS = [(1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5)]
TRIANGLES = [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4)]
"""The two sets of 2.4 with a disconnected task graph (M_1 = 6), which satisfy the condition all the same."""


class Coverage(NamedTuple):
    """How often every pattern is mapped to +1 and to -1, and whether Condition 6.3.2 is met."""

    plus: np.ndarray
    minus: np.ndarray
    satisfied: bool


def task_roles(tasks: Sequence[Task], patterns: int) -> Float[np.ndarray, "tasks patterns"]:
    """The roles of the patterns in every task."""
    roles = np.zeros((len(tasks), patterns))
    for row, task in zip(roles, tasks, strict=True):
        for sign, side in zip((1, -1), task, strict=True):
            for pattern in np.atleast_1d(side):
                if not 1 <= pattern <= patterns or pattern != int(pattern):
                    raise lm.UserError(f"The task {task} is not allowed: patterns are integers from 1 to {patterns}.")
                if row[int(pattern) - 1]:
                    raise lm.UserError(f"The task {task} is not allowed: its decisive patterns must differ.")
                row[int(pattern) - 1] = sign
    return roles


def check_condition(tasks: Sequence[Task], patterns: int) -> Coverage:
    """Condition 6.3.2: every pattern is mapped to each sign by exactly |T_tr| / M_1 >= 1 tasks (pairs of patterns)."""
    roles = task_roles(tasks, patterns)
    plus, minus = np.sum(roles > 0, axis=0), np.sum(roles < 0, axis=0)
    even = len(tasks) >= patterns and bool(np.all(plus * patterns == len(tasks)))
    return Coverage(plus, minus, even and bool(np.all(minus * patterns == len(tasks))))


def cyclic_tasks(patterns: int, rounds: int = 1) -> list[Task]:
    """U M_1 tasks: number (k-1) M_1 + j is (j, j ⊕ k); U = 1 is the smallest set, U = M_1 - 1 all tasks."""
    if not 1 <= rounds < patterns:
        allowed = f"with {patterns} patterns it is between 1 and {patterns - 1}"
        raise lm.UserError(f"rounds = {rounds} is not allowed: {allowed}.")
    return [(j, (j + k - 1) % patterns + 1) for k in range(1, rounds + 1) for j in range(1, patterns + 1)]


def set_tasks(patterns: int, size: int) -> list[Task]:
    """All tasks with |A| = |B| = size, the training set of 3.3 first: A = {j, ..}, B the `size` patterns after A."""
    if 2 * size > patterns:
        raise lm.UserError(f"class_size = {size} is not allowed: two disjoint sets need {2 * size} patterns.")
    if size == 1:
        return cyclic_tasks(patterns, patterns - 1)

    def turn(j: int, steps: range) -> tuple[int, ...]:
        return tuple(sorted((j + step - 1) % patterns + 1 for step in steps))

    first = [(turn(j, range(size)), turn(j, range(size, 2 * size))) for j in range(1, patterns + 1)]
    sides = list(itertools.combinations(range(1, patterns + 1), size))
    return first + [(a, b) for a in sides for b in sides if not {*a} & {*b} and (a, b) not in first]


def count_tasks(patterns: int, size: int = 1) -> int:
    """M_1 (M_1 - 1), or the number of pairs of disjoint sets."""
    return math.comb(patterns, size) * math.comb(patterns - size, size)


def seen_first(seen: Sequence[Task], patterns: int) -> list[Task]:
    """These tasks, then all the other pairs."""
    return [*seen, *(task for task in cyclic_tasks(patterns, patterns - 1) if task not in seen)]


def shuffle_roles(key: jax.Array, roles: Float[Array, "tasks patterns"]) -> Float[Array, "tasks patterns"]:
    """The M_1 tasks of the cycle in random order, then all others in random order: any first n are `subsampled`."""
    patterns = roles.shape[1]
    cycle, rest = jax.random.split(key)
    groups = (cycle, roles[:patterns]), (rest, roles[patterns:])
    return jnp.concatenate([jax.random.permutation(order, rows) for order, rows in groups])


def subsampled_tasks(patterns: int, count: int, seed: int = 0) -> list[Task]:
    """n random members of the cycle; beyond M_1 the whole cycle and n - M_1 random others (balance broken, covered)."""
    if not 1 <= count < patterns * (patterns - 1):
        most = patterns * (patterns - 1) - 1
        raise lm.UserError(f"count = {count} is not allowed: with {patterns} patterns it is between 1 and {most}.")
    roles = task_roles(cyclic_tasks(patterns, patterns - 1), patterns)
    chosen = np.asarray(shuffle_roles(jax.random.key(seed), jnp.asarray(roles)))[:count]
    return [(int(np.argmax(row)) + 1, int(np.argmin(row)) + 1) for row in chosen]


Coefficients = Float[np.ndarray, "shifted dimension"]

DEFECT = "irrelevant span"
DEFECTS = ("none", DEFECT)
"""None, or the one whose relevant patterns out of domain lie in the span of the irrelevant ones."""
BRANCHES = (45.0, 20.0, 6.35, 0.0, -45.0, -90.0, -135.0), (70.0, 83.65, 135.0, 180.0)
SHIFTS: dict[str, dict[str, Any]] = {f"{angle:g}": {"angle": angle} for branch in BRANCHES for angle in branch}
SHIFTS["defect"] = {"angle": 45.0, "defect": DEFECT}
"""The shifts of P5: angles of the reference family, branches A and B, and the defect."""
RADIUS = 0.82
"""a² + b² of the reference family, so that μ'_1 has the norm of a pattern."""


def coefficient_sum(angle: float) -> float:
    """S_1 = a + b of the reference family; S_2 = S_3 = √2."""
    return math.sqrt(2 * RADIUS) * math.sin(math.radians(angle + 45))


def reference_family(patterns: int, dimension: int, angle: float) -> tuple[Coefficients, Coefficients]:
    """μ'_1 = 0.3 (μ_1 - μ_2) + a μ_5 + b μ_6, μ'_2 = (μ_1 + μ_2)/√2, μ'_3 = (μ_3 + μ_4)/√2; ν'_i = ν_i.

    With fewer than 6 or 3 patterns there is none: zeros.
    """
    odr, odi = np.zeros((3, dimension)), np.eye(3, dimension, patterns)
    if patterns < 6 or dimension - patterns < 3:
        return odr, 0 * odi
    a, b = (math.sqrt(RADIUS) * f(math.radians(angle)) for f in (math.cos, math.sin))
    odr[0, [0, 1, 4, 5]] = 0.3, -0.3, a, b
    odr[1, :2] = odr[2, 2:4] = math.sqrt(0.5)
    return odr, odi


def require_family(patterns: int, irrelevant: int) -> None:
    """Refuse too few patterns for the reference family."""
    if patterns < 6 or irrelevant < 3:
        needs = "out of domain there must be at least 6 relevant and 3 irrelevant patterns"
        raise lm.UserError(f"patterns = {patterns}, irrelevant = {irrelevant} is not allowed here: {needs}.")


def irrelevant_family(patterns: int, dimension: int) -> Coefficients:
    """A deliberate break: μ'_j = ν_{3+j}, in the span of the irrelevant patterns."""
    return np.eye(3, dimension, patterns + 3)


def shift_refusals(
    odr: np.ndarray | None, odi: np.ndarray | None, patterns: int, dimension: int, strict: bool = True
) -> Iterator[str]:
    """What is wrong with given patterns out of domain: their shape and number; if strict, norm, angles and span."""
    relevant = np.arange(dimension) < patterns
    for name, rows, kind, span in (("odr", odr, "relevant", relevant), ("odi", odi, "irrelevant", ~relevant)):
        if rows is None:
            continue
        rows, most = np.asarray(rows, float), np.sum(span)
        if rows.ndim != 2 or rows.shape[1] != dimension or not 1 <= len(rows) <= most:
            yield f"{name} has shape {rows.shape}; allowed are at most {most} rows of {dimension} coefficients."
            return
        if not strict:
            continue
        gram = rows @ rows.T
        if np.abs(np.sqrt(np.diag(gram)) - 1).max() > 1e-6:
            yield f"{name} is not allowed: its patterns must have the norm β, so squared coefficients that add up to 1."
        if np.abs(gram - np.diag(np.diag(gram))).max() > 1e-6:
            yield f"{name} is not allowed: its patterns must be orthogonal to each other."
        if np.abs(rows[:, ~span]).max(initial=0) > 1e-6:
            yield f"{name} is not allowed: its patterns must lie in the span of the {kind} patterns."
