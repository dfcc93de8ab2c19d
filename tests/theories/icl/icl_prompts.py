"""Prompts of in-context learning as NumPy arrays, drawn by compiled samplers that the tests share."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
from typing import Any

import jax
import numpy as np
from scipy import stats

from lemmata.theories.icl import data as sampler
from lemmata.theories.icl.data import (
    Prompts,
    World,
    draw_basis,
    draw_prompts,
    draw_world,
    shifted_patterns,
    shifted_prompts,
    training_prompts,
)
from lemmata.theories.icl.setting import Setting

UNLIKELY = 1e-4
COUNT, ROOM, BETA = 1200, 12, 3.0
SMALL = Setting(
    dimension=10, patterns=6, irrelevant=4, label_dimension=2, neurons=8, key_width=12, value_width=12,
    basis="canonical", batch=24, contexts=ROOM, test_contexts=ROOM, test_prompts=240,
)  # fmt: skip
CLASSES = SMALL.replace(class_size=2)

draw = jax.jit(draw_prompts, static_argnames=("count", "room", "mode", "training"))
slots = jax.jit(sampler.batch_slots, static_argnames="count")
pairs_of = jax.jit(sampler.all_tasks, static_argnums=0)
batch = jax.jit(lambda p, key, world: training_prompts(p.only(["context_capacity"]), key, world, 240))
shifted = jax.jit(lambda p, key, world: shifted_prompts(p, key, world, shifted_patterns(p, world)))
haar = jax.jit(lambda problem, keys: jax.vmap(lambda key: draw_basis(problem, key))(keys))


@functools.cache
def world_of(setting: Setting, seed: int = 0) -> World:
    return draw_world(setting.problem(), jax.random.key(seed))


@functools.cache
def drawn(
    setting: Setting = SMALL, fraction: float = 0.8, length: int = ROOM, mode: str = "iid", unseen: bool = True
) -> Prompts:
    """Prompts as NumPy arrays."""
    world, problem = world_of(setting), setting.problem()
    tasks = (sampler.unseen if unseen else sampler.seen)(problem, world.roles)
    key = jax.random.key(1)
    prompts = draw(key, world.patterns, world.q, tasks, fraction, length, count=COUNT, room=ROOM, mode=mode)
    return jax.device_get(prompts)


def parts(tokens: np.ndarray, relevant: int = 6, dimension: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The relevant pattern, the irrelevant one and its amplitude, of every token with canonical patterns."""
    mu, nu = tokens[..., :relevant] / BETA, tokens[..., relevant:dimension] / BETA
    assert set(np.unique(mu)) == {0.0, 1.0}
    np.testing.assert_array_equal(mu.sum(axis=-1), 1)
    which = np.argmax(np.abs(nu), axis=-1)
    assert np.all(np.sum(nu != 0, axis=-1) <= 1)
    return np.argmax(mu, axis=-1), which, np.take_along_axis(nu, which[..., None], axis=-1)[..., 0]


def roles_of(prompts: Prompts, setting: Setting = SMALL) -> np.ndarray:
    """The roles of all patterns in the task of every prompt."""
    return np.asarray(world_of(setting).roles)[prompts.task]


def goodness(observed: Any, probabilities: Any) -> float:
    observed = np.asarray(observed)
    return stats.chisquare(observed, observed.sum() * np.asarray(probabilities)).pvalue
