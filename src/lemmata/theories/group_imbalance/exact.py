"""Exact population quantities of a world, computed once for every group and ground truth: cells share them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.data import World
from lemmata.theories.group_imbalance.network import SIGMOID, Activation

Array = np.ndarray


@lru_cache(maxsize=8192)
def _known(quantity: Callable[..., Any], activation: Activation, *group: bytes) -> Any:
    mean, covariance, truth = (np.frombuffer(each) for each in group)
    return quantity(mean, covariance.reshape(len(mean), -1), truth.reshape(len(mean), -1), activation)


def _of_groups(quantity: Callable[..., Any], world: World, activation: Activation) -> Array:
    pairs = zip(world.mixture.means, world.mixture.covariances, strict=True)
    groups = [[each.tobytes() for each in (mean, covariance, world.truth)] for mean, covariance in pairs]
    return np.stack([_known(quantity, activation, *group) for group in groups])


def fishers(world: World, activation: Activation = SIGMOID) -> Float[Array, "groups dk dk"]:
    """F_l of every group."""
    return _of_groups(population.information, world, activation)


def average_fisher(world: World, activation: Activation = SIGMOID) -> Float[Array, "dk dk"]:
    """F(Ψ)."""
    return population.average_fisher(world.mixture.weights, fishers(world, activation))


def floors(world: World, activation: Activation = SIGMOID) -> Float[Array, " groups"]:
    """The noise floor f̄_l(W*) of every group."""
    return _of_groups(population.noise_floor, world, activation)
