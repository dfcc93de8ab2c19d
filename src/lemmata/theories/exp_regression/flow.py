"""Gradient flow of one point in closed form (Q21), and orthonormal points as separate problems.

For n = 1 the flow conserves e^{-<w_r, x>} - a_r ‖x‖² ℰ(t), ℰ(t) = ∫ (F - y): every weight is a function of one number,
F = Σ_r a_r / (c_r + a_r ‖x‖² ℰ) with c_r = e^{-<w_r(0), x>}, and the limit is the root of F(ℰ) = y.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.exp_regression.data import Data
from lemmata.theories.exp_regression.network import ByNeuron, Head, Weights, longest, loss_gradient, project, read_out
from lemmata.theories.exp_regression.setting import Setting


def flow_limit(signs: ByNeuron, start: ByNeuron, square: Array, y: Array) -> Float[Array, ""]:
    """ℰ_∞: the root of Σ_r a_r / (c_r + a_r ‖x‖² ℰ) = y where all denominators are positive; `start` are <w_r(0), x>.
    With both signs present F falls there from +∞ to -∞, so there is exactly one root, found by bisection."""
    c = jnp.exp(-start)
    low = -jnp.min(jnp.where(signs > 0, c, jnp.inf)) / square
    high = jnp.min(jnp.where(signs < 0, c, jnp.inf)) / square

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        above = jnp.sum(signs / (c + signs * square * middle)) > y
        return jnp.where(above, middle, ends[0]), jnp.where(above, ends[1], middle)

    low, high = jax.lax.fori_loop(0, 200, halve, (low, high))
    return (low + high) / 2


def flow_weights(signs: Array, start: Array, square: Array, limit: Array, defect: bool = False) -> Array:
    """<w_r(∞), x> = -ln(c_r + a_r ‖x‖² ℰ_∞); with the defect the sign a_r is left out."""
    return -jnp.log(jnp.exp(-start) + (1.0 if defect else signs) * square * limit)


@lm.piece(once=True)
def compare_flow(problem: Setting, data: Data, before: Weights, after: Weights, head: Head) -> dict[str, Array]:
    """Where the weights arrive against the flow of the first point alone, and how far they leave its line."""
    x, y = data.x[0], data.y[0]
    square = x @ x
    signs, start, end = head.signs, x @ before, x @ after
    limit = flow_limit(signs, start, square, y)
    predicted = [flow_weights(signs, start, square, limit, defect) for defect in (False, True)]
    errors = [jnp.max(jnp.where(head.used > 0, jnp.abs(end - each), 0.0)) for each in predicted]
    moved = after - before
    across = moved - jnp.outer(x, x @ moved) / square
    return {"flow_error": jnp.stack(errors), "flow_across": longest(across)}


@lm.piece(once=True)
def compare_separate(problem: Setting, data: Data, weights: Weights, head: Head, eta: Array) -> dict[str, Array]:
    """Largest difference, in F_i and <w_r, x_i>, between 50 joint steps and 50 steps of every point on its own."""

    def descend(x: Array, y: Array) -> tuple[Array, Array]:
        def step(_: Array, weights: Weights) -> Weights:
            values = jnp.exp(project(weights, x))
            return weights - eta * loss_gradient(head, values, x, read_out(head, values) - y)

        projections = project(jax.lax.fori_loop(0, 50, step, weights), x)
        return head.used * projections, read_out(head, jnp.exp(projections))

    joint, outputs = descend(data.x, data.y)
    alone, alone_outputs = jax.vmap(lambda x, y: descend(x[None], y[None]))(data.x, data.y)
    apart = jnp.maximum(jnp.max(jnp.abs(joint - alone[:, 0])), jnp.max(jnp.abs(outputs - alone_outputs[:, 0])))
    return {"separate_difference": apart}
