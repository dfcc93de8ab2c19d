"""The network F(x) = κ Σ_r a_r φ(<w_r, x>) of section 3: initialisation, forward pass, gradient (Eq. 1) and kernel; and
what is fixed before the first step (section 4): the kernels, B, the step size η and the number of steps.

Neurons come in pairs. Neuron k = 2r + member is kept at position r + member · capacity/2: the members of a pair
are added before anything else, so a coupled initialisation gives exactly zero. Widths below the capacity have a_r = 0.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.activations import ACTIVATIONS, Activation
from lemmata.networks.kernels import Spectrum, limit_kernel, spectrum
from lemmata.theories.exp_regression.bounds import PROJECTION_SOURCES, ln_step_size, projection_bound, step_count
from lemmata.theories.exp_regression.data import Data
from lemmata.theories.exp_regression.setting import STEPS, Setting

Weights = Float[Array, "dimension neurons"]
"""W = [w_1, ..., w_m], one column a neuron, as in the paper."""
Points = Float[Array, "points dimension"]
Vector = Float[Array, " points"]
ByPoint = Float[Array, "points neurons"]
ByNeuron = Float[Array, " neurons"]
Scalar = Float[Array, ""]


class Head(NamedTuple):
    """What is fixed: signs a_r (0 where the room is not used) and the output scale κ."""

    signs: ByNeuron
    scale: Scalar

    @property
    def used(self) -> ByNeuron:
        return jnp.abs(self.signs)

    @property
    def width(self) -> Scalar:
        """m."""
        return jnp.sum(self.used)


@lm.piece("init", "capacity", "dimension", once=True)
def initialise(problem: Setting, key: jax.Array) -> tuple[Weights, Head]:
    """W(0) and the head. Neuron r depends on the key and r alone, never on the capacity."""
    half = problem.capacity // 2
    scale = jnp.asarray(problem.output_scale, float)
    if problem.init == "given":
        given, signs = jnp.asarray(problem.given_weights), jnp.asarray(problem.given_output_signs)
        count = signs.shape[0]
        place = jnp.arange(count) // 2 + (jnp.arange(count) % 2) * half
        weights = jnp.zeros((problem.dimension, problem.capacity)).at[:, place].set(given.T)
        return weights, Head(jnp.zeros(problem.capacity).at[place].set(signs), scale)

    def neuron(key: jax.Array) -> tuple[Array, Array]:
        sign, weight = jax.random.split(key)
        return jax.random.normal(weight, (problem.dimension,)), jax.random.rademacher(sign, (), float)

    pair = jax.vmap(lambda r: jax.random.fold_in(key, r))(jnp.arange(half))
    weights, signs = jax.vmap(neuron)(pair)
    partner, partner_signs = weights, -signs
    if problem.init == "independent":
        partner, partner_signs = jax.vmap(lambda k: neuron(jax.random.fold_in(k, 1)))(pair)
    weights = problem.weight_scale * jnp.concatenate([weights, partner]).T
    index = jnp.concatenate([2 * jnp.arange(half), 2 * jnp.arange(half) + 1])
    signs = jnp.concatenate([signs, partner_signs]) * (index < problem.neurons)
    return weights, Head(signs, scale)


def places(problem: Setting) -> np.ndarray:
    """Where the neurons are that are used: the first members of the pairs, then the second ones."""
    m, half = problem.neurons, problem.capacity // 2
    return np.concatenate([np.arange((m + 1) // 2), half + np.arange(m // 2)])


def project(weights: Weights, x: Points) -> ByPoint:
    """<w_r, x_i>."""
    return x @ weights


def lengths(weights: Weights) -> ByNeuron:
    """‖w_r‖."""
    return jnp.sqrt(jnp.sum(weights**2, axis=0))


def longest(weights: Weights) -> Scalar:
    """max_r ‖w_r‖, one root for all of them."""
    return jnp.sqrt(jnp.max(jnp.sum(weights**2, axis=0)))


def read_out(head: Head, values: ByPoint) -> Vector:
    """F_i = κ Σ_r a_r φ(<w_r, x_i>), the members of a pair first."""
    terms = head.signs * values
    half = terms.shape[-1] // 2
    return head.scale * jnp.sum(terms[..., :half] + terms[..., half:], axis=-1)


def forward(weights: Weights, head: Head, x: Points, activation: Activation) -> Vector:
    """F(W, x, a)."""
    return read_out(head, activation.value(project(weights, x)))


def output_gradient(head: Head, slopes: ByPoint, x: Points) -> Float[Array, "points dimension neurons"]:
    """∂F_i/∂w_r = κ a_r φ'(<w_r, x_i>) x_i (Eq. 1)."""
    return head.scale * (head.signs * slopes)[:, None, :] * x[:, :, None]


def loss_gradient(head: Head, slopes: ByPoint, x: Points, residual: Vector) -> Weights:
    """Δw_r = κ a_r Σ_i (F_i - y_i) φ'(<w_r, x_i>) x_i, the gradient of L = ½ ‖F - y‖²."""
    return head.scale * head.signs * (x.T @ (residual[:, None] * slopes))


def kernel(head: Head, slopes: ByPoint, x: Points) -> Float[Array, "points points"]:
    """H_ij = <x_i, x_j> / m Σ_r φ'(<w_r, x_i>) φ'(<w_r, x_j>): no κ; J Jᵀ = κ² m H."""
    used = head.used * slopes
    return (x @ x.T) * (used @ used.T) / head.width


def largest_projection(head: Head, projections: ByPoint) -> Scalar:
    """The empirical B: max over neurons and points of |<w_r, x_i>|."""
    return jnp.max(head.used * jnp.abs(projections))


class Constants(NamedTuple):
    """What is fixed before the first step: H(0), H^cts and their spectra; the empirical B, the largest |<w_r(0), x_i>|,
    and B by the setting's `projection_source`; η and the rate κ² m η; e(0); T of Q17 with λ of H^cts, inf where that is
    singular; and the steps to be taken: `steps` or, with horizon=predicted, T within its limits."""

    start: Spectrum
    limit: Spectrum
    kernel: Float[Array, "points points"]
    limit_kernel: Float[Array, "points points"]
    largest_projection: Scalar
    B: Scalar
    eta: Scalar
    rate: Scalar
    residual: Vector
    predicted_steps: Scalar
    steps: Array


@lm.piece("activation", once=True)
def find_constants(problem: Setting, data: Data, weights: Weights, head: Head) -> Constants:
    """Kernels at width m and in the limit, B, the step size and the horizon; on a numerically singular kernel (λ ≤
    1e-12 λ_max) the paper's step does not exist: η = 0 and T is infinite."""
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
