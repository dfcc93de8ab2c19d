"""The infinite-width kernel by brute force: the mean over a million random weights beside its closed form (Q3)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import geometry, kernel_variance, limit_kernel
from lemmata.theories.exp_regression.data import Data, draw
from lemmata.theories.exp_regression.network import project
from lemmata.theories.exp_regression.setting import Setting

CHUNK = 10**4
"""Weights drawn at a time."""


@lm.piece("activation", "dimension")
def sample(problem: Setting, key: jax.Array, data: Data) -> dict[str, Array]:
    """The mean of <x_i, x_j> φ'(<w, x_i>) φ'(<w, x_j>) over random w, chunk by chunk."""
    activation = ACTIVATIONS[problem.activation]
    chunks = problem.weight_samples // CHUNK

    def add(chunk: Array, total: Array) -> Array:
        weights = jax.random.normal(jax.random.fold_in(key, chunk), (CHUNK, problem.dimension))
        slopes = activation.slope(project(problem.weight_scale * weights.T, data.x))
        return total + slopes @ slopes.T / CHUNK

    points = data.x.shape[0]
    inner = data.x @ data.x.T
    mean = jax.lax.fori_loop(0, chunks, add, jnp.zeros((points, points))) / chunks
    variance = kernel_variance(problem.activation, data.x, problem.weight_scale)
    g = geometry(data.x)
    return {
        "estimate": inner * mean,
        "closed_form": limit_kernel(problem.activation, data.x, problem.weight_scale),
        "standard_error": jnp.sqrt(variance / (chunks * CHUNK)),
        "inner": inner,
        "square_sum": g.sums,
        "square_difference": g.differences,
        "angle": g.angle,
    }


PAIRS = ("point", "other")


@lm.simulation(
    lm.Variable("estimate", PAIRS, "", "kernel by Monte Carlo"),
    lm.Variable("closed_form", PAIRS, "H^cts", "kernel in closed form"),
    lm.Variable("standard_error", PAIRS, "", "exact standard error of the estimate"),
    lm.Variable("inner", PAIRS, "G", "<x_i, x_j>"),
    lm.Variable("square_sum", PAIRS, "s_+", "‖x_i + x_j‖²"),
    lm.Variable("square_difference", PAIRS, "s_-", "‖x_i - x_j‖²"),
    lm.Variable("angle", PAIRS, "θ", "angle between the points"),
    precision="float64",
)
def sample_kernel(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """The infinite-width kernel by brute force."""
    return sample(problem, lm.stream(key, "init"), draw(problem, key))
