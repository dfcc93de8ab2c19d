"""A random network before any training: kernel errors (Q5, X1), projections (Q2), outputs (Q7)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import kernel_variance, limit_kernel, output_variance
from lemmata.theories.exp_regression.data import draw
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
