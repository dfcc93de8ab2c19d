"""Weights moved by at most R: projections, exponentials and the kernel (Lemmas 6.2 and 6.7).

Every weight is moved by `factor` R: in random directions, along ±x_i (x_i the point of the largest projection, so that
it grows), or along x_i + x_j. At factor 1 all bounds hold; the larger ones are the broken cases of the controls.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.theories.exp_regression.data import Data, draw, unit
from lemmata.theories.exp_regression.network import Head, Weights, initialise, kernel, project
from lemmata.theories.exp_regression.setting import SHIFTS, Setting

Ratios = dict[str, Array]


def moved_ratios(head: Head, x: Array, weights: Weights, moved: Weights, R: Array | float) -> Ratios:
    """Left side / right side of every statement about two sets of weights (absolute values throughout)."""
    points = x.shape[0]
    sums = x[:, None] + x[None]
    before, after = project(weights, x), project(moved, x)
    used = head.used > 0
    largest = jnp.max(jnp.where(used, jnp.abs(before), 0.0))
    highest = jnp.max(jnp.where(used, before, -jnp.inf))
    change = jnp.einsum("ijd,dr->ijr", sums, weights - moved) * head.used
    old, new = kernel(head, jnp.exp(before), x), kernel(head, jnp.exp(after), x)
    allowed = jnp.expm1(R * jnp.linalg.norm(sums, axis=-1)) * jnp.abs(old)
    relative = jnp.abs(new - old) / jnp.where(allowed > 0, allowed, 1.0)
    return {
        "moved_projection": jnp.max(jnp.where(used, jnp.abs(after), 0.0)) / (largest + R),
        # e^{<v, x>} ≤ e^{B + R}, also with the largest positive projection as B, which is smaller
        "moved_exponential": jnp.exp(jnp.max(jnp.where(used, after, -jnp.inf)) - highest - R),
        "difference": jnp.max(jnp.abs(change)) / (2 * R),
        "exponential_difference": jnp.max(jnp.abs(jnp.expm1(change))) / (4 * R),
        "frobenius_change": jnp.linalg.norm(new - old) / (3 * points * R * jnp.exp(2 * largest)),
        "entry_change": jnp.max(relative),
        "relative_change": relative,
    }


@lm.piece(once=True)
def perturb(problem: Setting, key: jax.Array, data: Data, weights: Weights, head: Head) -> Ratios:
    """The worst ratio over the perturbations of this kind."""
    x, R = data.x, problem.radius
    projections = project(weights, x) * head.used
    i = jnp.argmax(jnp.max(jnp.abs(projections), axis=1))
    j = (i + 1) % x.shape[0]
    row = projections[i]
    outward = jnp.sign(row[jnp.argmax(jnp.abs(row))])
    top = jnp.argmax(jnp.max(projections, axis=1))
    anywhere, pair = unit(jax.random.normal(key, weights.T.shape)).T, unit(x[i] + x[j])
    directions = {
        "random": (anywhere, anywhere),
        # outward at the largest projection, and upward at the largest positive one
        "point": (outward * unit(x[i]), unit(x[top])),
        "pair": (pair, pair),
    }
    every = [[jnp.broadcast_to(v.T, weights.T.shape).T for v in directions[shift]] for shift in SHIFTS]
    chosen = jnp.asarray(every)[problem.rules["shift"]]
    found = jax.vmap(lambda way: moved_ratios(head, x, weights, weights + problem.factor * R * way, R))(chosen)
    pairs = found.pop("relative_change")
    return {name: jnp.max(ratios) for name, ratios in found.items()} | {"pair_change": pairs[0, i, j]}


@lm.simulation(
    lm.Variable("moved_projection", (), "", "part 2: largest |<v_r, x_i>| / (B + R)"),
    lm.Variable("moved_exponential", (), "", "parts 4, 5: largest e^{<v_r, x_i>} / e^{B+R}, B the largest <w_r, x_i>"),
    lm.Variable("difference", (), "", "part 3: largest |<w_r - v_r, x_i + x_j>| / 2R"),
    lm.Variable("exponential_difference", (), "", "part 6: largest |e^{<w_r - v_r, x_i + x_j>} - 1| / 4R"),
    lm.Variable("frobenius_change", (), "", "Lemma 6.7: ‖H(w) - H(v)‖_F / 3nRe^{2B}"),
    lm.Variable("entry_change", (), "", "largest |ΔH_ij| / (e^{R‖x_i+x_j‖} - 1)|H_ij|"),
    lm.Variable("pair_change", (), "", "the same in the entry (i, j) of the pair that is aimed at"),
    precision="float64",
)
def perturb_weights(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """A random network and a copy of it with every weight moved."""
    weights, head = initialise(problem, lm.stream(key, "init"))
    return perturb(problem, lm.stream(key, "noise"), draw(problem, key), weights, head)
