"""Exact population quantities of a world, computed once for every group and ground truth: cells share them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.data import World
from lemmata.theories.group_imbalance.network import SIGMOID, Activation

Array = np.ndarray


class Key(NamedTuple):
    """One group and a ground truth, hashable."""

    dimension: int
    mean: bytes
    covariance: bytes
    truth: bytes
    activation: Activation

    def arrays(self) -> tuple[Array, Array, Array]:
        d = self.dimension
        mean, covariance, truth = (np.frombuffer(each) for each in (self.mean, self.covariance, self.truth))
        return mean, covariance.reshape(d, d), truth.reshape(d, -1)


def _keys(world: World, activation: Activation) -> list[Key]:
    d, truth = world.mixture.dimension, np.ascontiguousarray(world.truth).tobytes()
    pairs = zip(world.mixture.means, world.mixture.covariances, strict=True)
    return [Key(d, mean.tobytes(), np.ascontiguousarray(spread).tobytes(), truth, activation) for mean, spread in pairs]


@lru_cache(maxsize=8192)
def _fisher(key: Key) -> Array:
    mean, covariance, truth = key.arrays()
    return population.fishers(mean[None], covariance[None], truth, key.activation)[0]


@lru_cache(maxsize=8192)
def _floor(key: Key) -> float:
    mean, covariance, truth = key.arrays()
    return population.noise_floor(mean, covariance, truth, key.activation)


def fishers(world: World, activation: Activation = SIGMOID) -> Float[Array, "groups dk dk"]:
    """F_l of every group."""
    return np.stack([_fisher(key) for key in _keys(world, activation)])


def average_fisher(world: World, activation: Activation = SIGMOID) -> Float[Array, "dk dk"]:
    """F(Ψ)."""
    return population.average_fisher(world.mixture.weights, fishers(world, activation))


def floors(world: World, activation: Activation = SIGMOID) -> Float[Array, " groups"]:
    """The noise floor f̄_l(W*) of every group."""
    return np.array([_floor(key) for key in _keys(world, activation)])
