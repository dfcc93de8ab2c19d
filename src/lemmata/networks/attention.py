"""Softmax attention over weighted tokens, and what it concentrates on."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def softmax_attention(
    logits: Float[Array, "*batch query key"], weight: Float[Array, "*#batch key"]
) -> Float[Array, "*batch query key"]:
    """w_{l,s} = c_s exp(logit_{l,s}) / sum_s' c_s' exp(logit_{l,s'}).

    `weight` is the multiplicity c of each key: 0 masks it, 1 is an ordinary token, k stands for k equal ones.
    """
    present = weight[..., None, :] > 0
    logits = jnp.where(present, logits, -jnp.inf)
    mass = weight[..., None, :] * jnp.exp(logits - jax.lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True)))
    return mass / jnp.sum(mass, axis=-1, keepdims=True)


def concentration(
    attention: Float[Array, "*batch query key"], target: Float[Array, "*#batch key"]
) -> Float[Array, "*batch query"]:
    """The attention mass that each query puts on the target keys."""
    return jnp.sum(attention * target[..., None, :], axis=-1)
