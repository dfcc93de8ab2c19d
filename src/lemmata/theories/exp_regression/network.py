"""The network F(x) = κ Σ_r a_r φ(<w_r, x>) of section 3: initialisation, forward pass, gradient (Eq. 1) and kernel.

Neurons come in pairs. Neuron k = 2r + member is kept at position r + member · capacity/2: the members of a pair
are added before anything else, so a coupled initialisation gives exactly zero. Widths below the capacity have a_r = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.activations import Activation
from lemmata.theories.exp_regression.setting import Setting

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
