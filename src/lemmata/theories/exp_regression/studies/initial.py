"""A random network before any training: kernel errors (Q5, X1), projections (Q2), outputs (Q7); and the infinite-width
kernel by brute force, the mean over a million random weights beside its closed form (Q3)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import geometry, kernel_variance, limit_kernel, output_variance
from lemmata.theories.exp_regression.data import Data, draw
from lemmata.theories.exp_regression.network import initialise, kernel, largest_projection, project, read_out
from lemmata.theories.exp_regression.setting import Setting


@lm.piece("activation", "init", "capacity", "data_law", "samples", "dimension", "teacher_neurons", once=True)
def measure(problem: Setting, key: jax.Array) -> dict[str, Array]:
    """Kernel, projections and outputs of a random network beside their infinite-width values.

    One program, drawing included: an experiment has thousands of such runs, and each is short.
    """
    data = draw(problem, key)
    weights, head = initialise(problem, lm.stream(key, "init"))
    activation = ACTIVATIONS[problem.activation]
    projections = project(weights, data.x)
    finite = kernel(head, activation.slope(projections), data.x)
    limit = limit_kernel(problem.activation, data.x, problem.weight_scale)
    variance = kernel_variance(problem.activation, data.x, problem.weight_scale)
    effective = head.width / (2 if problem.init == "coupled" else 1)
    error = finite - limit
    outputs = read_out(head, activation.value(projections))
    return {
        "projection": largest_projection(head, projections),
        "kernel_error": jnp.linalg.norm(error),
        "entry_error": jnp.max(jnp.abs(error)),
        "predicted_error": jnp.sqrt(jnp.sum(variance) / effective),
        "kernel_least": jnp.linalg.eigvalsh(finite)[0],
        "limit_least": jnp.linalg.eigvalsh(limit)[0],
        "outputs": outputs,
        "output_variance": output_variance(problem.activation, data.x, problem.weight_scale),
        "error_square": jnp.sum((data.y - outputs) ** 2),
        "target_square": jnp.sum(data.y**2),
    }


@lm.simulation(
    lm.Variable("projection", (), "B", "largest |<w_r, x_i>|"),
    lm.Variable("kernel_error", (), "‖H^dis - H^cts‖_F", "distance of the kernel from its limit"),
    lm.Variable("entry_error", (), "max |H^dis - H^cts|", "largest error of an entry"),
    lm.Variable("predicted_error", (), "", "exact root mean square of the distance, √(Σ Var_ij / m_eff)"),
    lm.Variable("kernel_least", (), "λ_min(H^dis)", "least eigenvalue of the kernel"),
    lm.Variable("limit_least", (), "λ", "least eigenvalue of the limit"),
    lm.Variable("outputs", ("point",), "F(0)", "initial outputs"),
    lm.Variable("output_variance", ("point",), "", "E F_i(0)²/m with independent signs, in closed form"),
    lm.Variable("error_square", (), "‖y - F(0)‖²", "initial squared error"),
    lm.Variable("target_square", (), "‖y‖²", "squared norm of the targets"),
    precision="float64",
)
def measure_initial(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """A random network on one data set, untrained."""
    return measure(problem, key)


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
