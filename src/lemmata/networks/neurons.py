"""Probes of single neurons: what their weights point to, and means over groups of them."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def alignment(
    rows: Float[Array, "neurons width"], directions: Float[Array, "width directions"]
) -> Float[Array, "neurons directions"]:
    """The cosine of every neuron's weights with every direction (a column); 0 where either vanishes."""
    sizes = jnp.linalg.norm(rows, axis=1)[:, None] * jnp.linalg.norm(directions, axis=0)
    return jnp.where(sizes > 0, rows @ directions / jnp.where(sizes > 0, sizes, 1.0), 0.0)


def group_mean(values: Float[Array, "... neurons"], groups: Float[Array, "group neurons"]) -> Float[Array, "group ..."]:
    """The mean over the neurons of each group (masks of 0 and 1); NaN for an empty one."""
    # divided last: compiled code makes 0 of a 0/0 that is multiplied by a mask
    total = jnp.tensordot(groups, values, axes=(1, -1))
    return total / jnp.sum(groups, axis=1).reshape(-1, *(1,) * (total.ndim - 1))
