"""One step of gradient descent taken apart: its three terms (Lemma 9.1), their bounds (Q8-Q13), the kernel H_asy."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.theories.exp_regression import network
from lemmata.theories.exp_regression.network import ByPoint, Head, Points, Scalar, Vector, Weights, project, read_out


class Terms(NamedTuple):
    """One step of gradient descent of the exponential network, taken apart (Lemma 9.1).

    ‖e(t+1)‖² = ‖e(t)‖² + first + second + third, with first = -2 κ² m η eᵀ H e, second = 2 eᵀ v_2,
    third = ‖F(t+1) - F(t)‖² and v_{2,i} = κ Σ_r a_r e^{<w_r, x_i>} (e^z - 1 - z), z = -η <Δw_r, x_i> (vector: v_2,
    remainder: p_max = max |e^z - 1 - z| / |z|, 0 at z = 0, steepest: max_r ‖Δw_r‖).
    """

    square: Scalar
    next_square: Scalar
    first: Scalar
    second: Scalar
    third: Scalar
    remainder: Scalar
    steepest: Scalar
    vector: Vector


def series_excess(z: Array) -> Array:
    """e^z - 1 - z = z²/2 (1 + z/3 (1 + z/4 (...))), to 1e-15 for |z| ≤ 0.05."""
    tail = jnp.ones_like(z)
    for k in range(9, 2, -1):
        tail = 1 + z / k * tail
    return z**2 / 2 * tail


class Step(NamedTuple):
    """A step of the exponential network from W(t) to W(t+1): e^{<w_r(t), x_i>}, F(t), Δw_r(t), F(t+1)."""

    values: ByPoint
    outputs: Vector
    gradient: Weights
    next_outputs: Vector


def step_terms(head: Head, x: Points, y: Vector, step: Step, kernel: Array, eta: Scalar) -> Terms:
    """The terms of a step; `kernel` is H(t)."""
    residual = step.outputs - y
    z = -eta * project(step.gradient, x)
    ends = jnp.stack([jnp.min(head.used * z), jnp.max(head.used * z)])
    # by its series where that is exact to rounding: faster, and without cancellation
    short = jnp.max(jnp.abs(ends)) <= 0.05
    excess = jax.lax.cond(short, series_excess, lambda z: jnp.expm1(z) - z, z)
    second_order = read_out(head, step.values * excess)
    # |e^z - 1 - z|/|z| grows with |z| on either side of 0
    share = jnp.where(short, series_excess(ends), jnp.expm1(ends) - ends) / jnp.where(ends == 0, 1.0, jnp.abs(ends))
    return Terms(
        square=jnp.sum(residual**2),
        next_square=jnp.sum((step.next_outputs - y) ** 2),
        first=-2 * head.scale**2 * head.width * eta * (residual @ kernel @ residual),
        second=2 * residual @ second_order,
        third=jnp.sum((step.next_outputs - step.outputs) ** 2),
        remainder=jnp.max(share),
        steepest=network.longest(step.gradient),
        vector=second_order,
    )


def take_step(weights: Weights, head: Head, x: Points, y: Vector, eta: Scalar) -> tuple[Terms, Weights]:
    """The terms of one step of the exponential network from the given weights, and its gradient."""
    values = jnp.exp(project(weights, x))
    outputs = read_out(head, values)
    gradient = network.loss_gradient(head, values, x, outputs - y)
    moved = read_out(head, jnp.exp(project(weights - eta * gradient, x)))
    step = Step(values, outputs, gradient, moved)
    return step_terms(head, x, y, step, network.kernel(head, values, x), eta), gradient


def decomposition_errors(terms: Terms, width: Scalar) -> dict[str, Scalar]:
    """Q8: what is missing in ‖e(t+1)‖² = ‖e‖² + C_1 + C_2 + C_3, relative to max(1, ‖e‖² + |C_1| + |C_2| + C_3): as
    corrected, as printed with C_1 lacking its factor m, as printed with the sign of C_2 reversed."""
    size = jnp.maximum(1.0, terms.square + jnp.abs(terms.first) + jnp.abs(terms.second) + terms.third)
    change = terms.next_square - terms.square
    versions = {
        "decomposition": (terms.first, terms.second),
        "decomposition_first": (terms.first / width, terms.second),
        "decomposition_second": (terms.first, -terms.second),
    }
    return {name: jnp.abs(change - C_1 - C_2 - terms.third) / size for name, (C_1, C_2) in versions.items()}


def step_bounds(terms: Terms, head: Head, points: int, eta: Scalar, B: Scalar, R: Scalar) -> dict[str, Scalar]:
    """Left side / right side of Q11 (corrected, printed), Q12 (proved, stated) and Q13; where m η stands, κ² m η."""
    rate = head.scale**2 * head.width * eta
    second = 2 * rate * points * terms.square
    third = (rate * points) ** 2 * terms.square
    bound = second * terms.remainder * jnp.exp(2 * (B + R))
    return {
        "second_order": jnp.where(bound > 0, terms.second / jnp.where(bound > 0, bound, 1.0), 0.0),
        "second_order_printed": terms.second / (second * eta * jnp.exp(4 * B)),
        "third_order": terms.third / (4 * third * jnp.exp(4 * (B + R))),
        "third_order_stated": terms.third / (third * jnp.exp(8 * B)),
        "gradient_norm": terms.steepest / (head.scale * jnp.exp(B + R) * jnp.sqrt(points * terms.square)),
    }


def asymmetric_kernel(head: Head, values: ByPoint, x: Points, mask: ByPoint) -> Float[Array, "points points"]:
    """H_asy(P)_ij = <x_i, x_j> / m Σ_r p_ir e^{<w_r, x_i>} e^{<w_r, x_j>} (Definition 8.1)."""
    used = head.used * values
    return (x @ x.T) * ((mask * used) @ used.T) / head.width
