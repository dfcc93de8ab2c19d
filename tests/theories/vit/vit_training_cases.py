"""Small trainings of the shallow vision transformer, all of one size, so that few programs are compiled."""

import functools
from typing import Any

import jax
import numpy as np

from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.networks.shallow import Network
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import draw_signs, initialise
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import Watched, simulate, train

SMALL = Setting(
    tokens=10, neurons=16, samples=8, test_samples=16, steps=60, records=61, track="attention", stop="never",
    output_scale=0.1, step_size=0.5,
)  # fmt: skip
"""Reaches zero training loss after about 25 steps."""
EXACT = SMALL.replace(token_noise=0.0)


@functools.cache
def simulated(setting: Setting, seed: int = 0, precision: str = "float64") -> dict[str, np.ndarray]:
    with numerics(precision):
        return jax.device_get(simulate(setting, jax.random.key(seed)))


def pieces(setting: Setting, seed: int = 0, data_seed: int | None = None) -> tuple[Network, Any, Data, Any]:
    """Initial network, signs, training data and patterns (columns) of a run."""
    problem, key = setting.problem(), jax.random.key(seed)
    basis = draw_patterns(problem, stream(key, "data"))
    data_key = stream(key if data_seed is None else jax.random.key(data_seed), "data")
    data = draw(problem, data_key, basis, count=problem.drawn_room)
    network, _ = initialise(problem, stream(key, "init"), basis)
    return network, draw_signs(problem, stream(key, "init")), data, basis


def trained(setting: Setting, seed: int = 0, data_seed: int | None = None) -> Run:
    """The training of a run, on the data of another seed; with what `simulate` watches, so that they share programs."""
    network, signs, data, basis = pieces(setting, seed, data_seed)
    problem, key = setting.problem(), jax.random.key(seed)
    test = draw(problem, stream(key, "test"), basis, count=problem.drawn_test_room)
    watched = Watched(test, initialise(problem, stream(key, "init"), basis)[1], basis)
    return train(problem, stream(key, "batch"), network, signs, data, watched)


def resized(setting: Setting, **sizes: int) -> Problem:
    """The problem with other static capacities."""
    leaves, (names, static) = setting.problem().tree_flatten()
    return Problem.tree_unflatten((names, tuple((dict(static) | sizes).items())), leaves)


def identical(one: Network, two: Network) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def plain_attention(network: Network, x: np.ndarray, count: np.ndarray) -> np.ndarray:
    logits = x @ np.asarray(network.query).T @ np.asarray(network.key) @ x.T
    mass = count * np.exp(logits)
    return mass / mass.sum(-1, keepdims=True)


def plain_forward(network: Network, signs: np.ndarray, x: np.ndarray, count: np.ndarray) -> float:
    values = plain_attention(network, x, count) @ x @ np.asarray(network.value).T
    per_token = np.sum(np.asarray(signs) * np.maximum(values @ np.asarray(network.output).T, 0), axis=1)
    return float(count @ per_token / count.sum())
