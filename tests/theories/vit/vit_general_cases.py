"""More general data (2.3, 2.4): the settings from which few programs draw, and what is drawn."""

import functools

import jax
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from lemmata.lab.setting import Problem
from lemmata.theories.vit.data import Data, draw, draw_members, draw_patterns
from lemmata.theories.vit.setting import Setting

SMALL = Setting(tokens=10, neurons=16, samples=9, test_samples=16, steps=3, records=4)
LAYER = SMALL.replace(normalise="layer", token_noise=0.1)
SHARES = np.array([[0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.9, 0.1], [0.5, 0.5], [1.0, 0.0], [0.1, 0.9]])
FOUR = SMALL.replace(
    classes=4, patterns=7, tokens=40, dimension=21, members=2, member_shares=SHARES, noise_law="sphere", normalise="no"
)
"""The counts of V19 (16 tokens of the class, 4 confusion tokens, 20 others) with pattern sets, and no noise."""
RANDOM = SMALL.replace(
    classes=4, patterns=5, dimension=20, members=3, token_noise=0.0, fractions="random", label_balance="bernoulli",
    relevant_fraction=0.3, confusion_fraction=0.24,
)  # fmt: skip
EIGHT = SMALL.replace(classes=8, patterns=11, dimension=11, value_width=11, key_width=11)
EIGHT_RANDOM = EIGHT.replace(fractions="random", relevant_fraction=0.3, confusion_fraction=0.24)
MANY = {FOUR.classes: 1024, EIGHT.classes: 256, SMALL.classes: 256}
UNLIKELY = 1e-3

seeds = st.integers(0, 2**31 - 1)
few = settings(deadline=None, max_examples=15)


@functools.cache
def drawn(setting: Setting, count: int = 0, seed: int = 0) -> tuple[Data, np.ndarray]:
    """Samples and the members [dimension, patterns, members] of their patterns, as NumPy arrays."""
    key, problem = jax.random.key(seed), setting.problem()
    members = draw_members(problem, key, draw_patterns(problem, key))
    return jax.device_get((draw(problem, key, members, count=count or MANY[setting.classes]), members))


def counts(data: Data, patterns: int) -> np.ndarray:
    return np.stack([np.bincount(row, minlength=patterns) for row in data.pattern])


def own(data: Data) -> np.ndarray:
    """The class of every sample, read off its label by hand."""
    vote = data.vote if data.vote.ndim == 2 else data.vote[:, None]
    return np.array([int("".join("0" if y > 0 else "1" for y in row), 2) for row in vote])


def chosen_member(data: Data, members: np.ndarray) -> np.ndarray:
    """Which member of its set every token is nearest to."""
    candidates = np.moveaxis(members, 0, -1)[data.pattern]
    return np.argmin(np.linalg.norm(data.tokens[:, :, None] - candidates, axis=-1), axis=-1)


def resized(setting: Setting, **sizes: int) -> Problem:
    """The problem with other static capacities."""
    leaves, (names, static) = setting.problem().tree_flatten()
    return Problem.tree_unflatten((names, tuple((dict(static) | sizes).items())), leaves)
