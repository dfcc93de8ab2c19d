"""The data of section 2: points in the unit ball and targets in [-1, 1], by the law they are drawn from."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.orthonormal import orthonormal
from lemmata.theories.exp_regression.setting import Setting

PAIR_TARGETS = (0.8, -0.3)
"""Targets of the first two points where the second is tied to the first (X7)."""


class Data(NamedTuple):
    """Points x_i with ‖x_i‖ ≤ 1 and targets |y_i| ≤ 1."""

    x: Float[Array, "points dimension"]
    y: Float[Array, " points"]


def data_key(problem: Setting, key: jax.Array) -> jax.Array:
    """The key of the data: that of the run, or of `data_seed` where one is set."""
    fixed = jax.random.key(jnp.maximum(problem.data_seed, 0).astype(jnp.uint32))
    return lm.stream(jax.lax.cond(problem.data_seed >= 0, lambda: fixed, lambda: key), "data")


@lm.piece("data_law", "samples", "dimension", "teacher_neurons", once=True)
def draw(problem: Setting, key: jax.Array) -> Data:
    """Points and targets of one run; `key` is that of the run."""
    if problem.data_law == "given":
        return Data(jnp.asarray(problem.given_inputs), jnp.asarray(problem.given_targets))
    points, targets, extra = jax.random.split(data_key(problem, key), 3)
    x = _points(problem, points)
    y = _targets(problem, targets, extra, x)
    if problem.samples > 1:
        tied = problem.pair_factor != 0
        x = x.at[1].set(jnp.where(tied, problem.pair_factor * x[0], x[1]))
        y = y.at[:2].set(jnp.where(tied, jnp.asarray(PAIR_TARGETS), y[:2]))
    return Data(x, y)


def _points(problem: Setting, key: jax.Array) -> Float[Array, "points dimension"]:
    n, d = problem.samples, problem.dimension
    if problem.data_law == "orthonormal":
        return orthonormal(key, d, n).T
    if problem.data_law == "clustered":
        first, second = jax.random.split(key)
        u = unit(jax.random.normal(first, (n // 2, d)))
        other = jax.random.normal(second, (n // 2, d))
        v = unit(other - jnp.sum(other * u, axis=1, keepdims=True) * u)
        partner = jnp.cos(problem.pair_angle) * u + jnp.sin(problem.pair_angle) * v
        return jnp.stack([u, partner], axis=1).reshape(n, d)
    direction, length = jax.random.split(key)
    x = unit(jax.random.normal(direction, (n, d)))
    if problem.data_law == "ball":
        x = x * jax.random.uniform(length, (n, 1)) ** (1 / d)
    return x


def _targets(problem: Setting, key: jax.Array, extra: jax.Array, x: Array) -> Float[Array, " points"]:
    n = problem.samples
    if problem.data_law == "teacher":
        # F* is an exponential network of k neurons with alternating signs
        signs = (-1.0) ** jnp.arange(problem.teacher_neurons)
        weights = jax.random.normal(extra, (problem.teacher_neurons, problem.dimension))
        wanted = jnp.exp(x @ weights.T) @ signs
        return wanted / jnp.max(jnp.abs(wanted))
    sign = jax.random.rademacher(key, (n,), x.dtype)
    if problem.data_law == "random_labels":
        return sign
    return sign * jax.random.uniform(extra, (n,), minval=problem.least_target)


def unit(vectors: Float[Array, "*batch dimension"]) -> Float[Array, "*batch dimension"]:
    """Every vector divided by its norm."""
    return vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True)
