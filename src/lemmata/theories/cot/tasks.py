"""Tasks (2.2): f = f_K ∘ ... ∘ f_1, every f_k a bijection of the patterns.

A map is an array of images: `f[i]` is the pattern that pattern i is sent to, counted from 0. The functions work on
NumPy arrays and inside compiled code alike.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import lemmata as lm


def shift_maps(order: np.ndarray, steps: int) -> list[np.ndarray]:
    """The paper's generator: f_k moves every pattern by k places along `order`, a permutation p of the patterns."""
    place = order.argsort()
    return [order[(place + k) % len(order)] for k in range(1, steps + 1)]


def shifted_images(order: Any, place: Any, steps: int) -> Any:
    """Where these maps have brought every pattern after 0, 1, ..., K steps: k(k+1)/2 places further; `place`: p^-1."""
    moved = np.cumsum(np.arange(steps + 1))[:, None]
    return order[(place + moved) % order.shape[0]]


def images(maps: Sequence[Any]) -> list[Any]:
    """Where every pattern is after 0, 1, ..., K steps."""
    reached = [np.arange(maps[0].shape[0])]
    for step in maps:
        reached.append(step[reached[-1]])
    return reached


def check_maps(maps: Any, steps: int, patterns: int) -> np.ndarray:
    """The user's own bijections, counted from 0: an array of `steps` permutations of the patterns."""
    given = np.asarray(maps)
    if given.shape != (steps, patterns) or not np.array_equal(
        np.sort(given, axis=1), np.broadcast_to(np.arange(patterns), (steps, patterns))
    ):
        raise lm.UserError(
            f"given_maps must be {steps} permutations of 0, ..., {patterns - 1}, one for each reasoning step."
        )
    return given.astype(int)
