"""Tasks and training task sets (2.2 to 2.4, 3.3).

A task is a pair (A, B): label +1 on inputs with a pattern of A, -1 with one of B, a coin otherwise. A and B are single
patterns, or disjoint tuples of them; patterns are counted from 1, as in the paper. Compiled code sees a task as its
row of roles, +1, -1 or 0 for every pattern.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
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
        raise lm.UserError(
            f"rounds = {rounds} is not allowed: with {patterns} patterns it is between 1 and {patterns - 1}."
        )
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
    numbers = range(1, patterns + 1)
    every = [
        (a, b)
        for a in itertools.combinations(numbers, size)
        for b in itertools.combinations([n for n in numbers if n not in a], size)
    ]
    return first + [task for task in every if task not in first]


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
    return jnp.concatenate(
        [jax.random.permutation(cycle, roles[:patterns]), jax.random.permutation(rest, roles[patterns:])]
    )


def subsampled_tasks(patterns: int, count: int, seed: int = 0) -> list[Task]:
    """n random members of the cycle; beyond M_1 the whole cycle and n - M_1 random others (balance broken, covered)."""
    if not 1 <= count < patterns * (patterns - 1):
        raise lm.UserError(
            f"count = {count} is not allowed: with {patterns} patterns it is between 1 and "
            f"{patterns * (patterns - 1) - 1}."
        )
    roles = task_roles(cyclic_tasks(patterns, patterns - 1), patterns)
    chosen = np.asarray(shuffle_roles(jax.random.key(seed), jnp.asarray(roles)))[:count]
    return [(int(np.argmax(row)) + 1, int(np.argmin(row)) + 1) for row in chosen]
