"""What is fixed before the first step: the kernels, B, the step size η and the number of steps (section 4)."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import Spectrum, limit_kernel, spectrum
from lemmata.theories.exp_regression.bounds import PROJECTION_SOURCES, ln_step_size, projection_bound, step_count
from lemmata.theories.exp_regression.data import Data
from lemmata.theories.exp_regression.network import (
    Head,
    Scalar,
    Vector,
    Weights,
    kernel,
    largest_projection,
    project,
    read_out,
)
from lemmata.theories.exp_regression.setting import STEPS, Setting


class Constants(NamedTuple):
    """The constants of one run."""

    start: Spectrum
    """of H(0)."""
    limit: Spectrum
    """of H^cts."""
    kernel: Float[Array, "points points"]
    """H(0)."""
    limit_kernel: Float[Array, "points points"]
    """H^cts."""
    largest_projection: Scalar
    """The empirical B: the largest |<w_r(0), x_i>|."""
    B: Scalar
    """B by the setting's `projection_source`."""
    eta: Scalar
    rate: Scalar
    """κ² m η."""
    residual: Vector
    """e(0)."""
    predicted_steps: Scalar
    """T of Q17 with λ of H^cts; inf where the kernel is singular."""
    steps: Array
    """Steps to be taken: `steps` or, with horizon=predicted, T within its limits."""


@lm.piece("activation", once=True)
def find_constants(problem: Setting, data: Data, weights: Weights, head: Head) -> Constants:
    """Kernels at width m and in the limit, B, the step size and the horizon.

    On a numerically singular kernel (λ ≤ 1e-12 λ_max) the paper's step does not exist: η = 0 and T is infinite.
    """
    activation = ACTIVATIONS[problem.activation]
    projections = project(weights, data.x)
    values = activation.value(projections)
    start_kernel = kernel(head, activation.slope(projections), data.x)
    limiting = limit_kernel(problem.activation, data.x, problem.weight_scale)
    start, limit = spectrum(start_kernel), spectrum(limiting)
    points, width = data.x.shape[0], head.width
    largest = largest_projection(head, projections)
    of_B = problem.failure_probability, problem.weight_scale, problem.tail_constant
    known = [projection_bound(points, width, *of_B, source, largest) for source in PROJECTION_SOURCES]
    B = jnp.stack(known)[problem.rules["projection_source"]]
    sound = jnp.where(limit.singular, 1.0, limit.least)
    steps_of = {
        "practical": problem.step_constant / (head.scale**2 * width * start.largest),
        "theory": jnp.where(limit.singular, 0.0, jnp.exp(ln_step_size(points, width, sound, B))),
        "given": jnp.asarray(problem.step_size, float),
    }
    eta = jnp.stack([steps_of[step] for step in STEPS])[problem.rules["step"]]
    rate = head.scale**2 * width * eta
    residual = read_out(head, values) - data.y
    fast = jnp.where(limit.singular | (rate == 0), 1.0, rate * limit.least)
    predicted = step_count(1.0, fast, jnp.sum(residual**2), problem.tolerance)
    predicted = jnp.where(limit.singular | (rate == 0), jnp.inf, predicted)
    steps = jnp.asarray(problem.steps, int)
    needed = jnp.clip(jnp.minimum(predicted, steps).astype(int), problem.least_steps, steps)
    steps = jnp.where(problem.rules["predicted"] == 1, needed, steps)
    return Constants(start, limit, start_kernel, limiting, largest, B, eta, rate, residual, predicted, steps)
