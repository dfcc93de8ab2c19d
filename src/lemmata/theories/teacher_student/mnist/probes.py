"""What section 5 tracks on real data: the direction of the values, and where attention has found its group."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.theories.teacher_student.mnist.data import boundary, target_scores


def probes(
    values: Float[Array, "kernel feature"],
    scores: Float[Array, "token token"],
    kernels: Float[Array, "kernel feature"],
    energy: Float[Array, " token"],
) -> dict[str, Array]:
    """Of W_V and S against the kernels V* and S*; `energy` is E‖x_i‖² of every patch."""
    target, edge = jnp.asarray(target_scores(), scores.dtype), jnp.asarray(boundary())
    inside = jnp.where(target > 0, scores, 0)
    mass = inside.sum(1) / target.sum(1)
    spread, lifted = mass - mass.mean(), energy - energy.mean()
    # equal masses, as at the start, have no correlation with anything
    even = jnp.linalg.norm(spread) < 1e-5 * jnp.linalg.norm(mass)
    row_products = (values * kernels).sum(1)
    row_norms = jnp.linalg.norm(values, axis=1) * jnp.linalg.norm(kernels, axis=1)
    return {
        # values that have not moved from 0 point nowhere: cosine 0
        "cosine": row_products.sum() / jnp.maximum(jnp.linalg.norm(values) * jnp.linalg.norm(kernels), 1e-30),
        "row_cosine": jnp.median(row_products / jnp.maximum(row_norms, 1e-30)),
        "group_mass": inside.sum(0).mean(),
        "relative_mass": mass,
        "interior_mass": jnp.sum(jnp.where(edge, 0, mass)) / jnp.sum(~edge),
        "boundary_mass": jnp.sum(jnp.where(edge, mass, 0)) / jnp.sum(edge),
        "mass_energy": jnp.where(
            even, jnp.nan, (spread @ lifted) / (jnp.linalg.norm(spread) * jnp.linalg.norm(lifted))
        ),
        "score_error": jnp.linalg.norm(scores - target),
    }
