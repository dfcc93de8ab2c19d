"""The graph transformer with one answer for a graph.

    F(G) = K sum_n a^T ReLU(W_O sum_s α_sn W_V x_s),  K = 1 ("sum") or 1/|T| ("mean")

over all nodes n and s of the graph. It is `networks.shallow` with the nodes as their own queries.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.networks import shallow
from lemmata.theories.graph_transformer.network import Parameters, by_bin


def answers(
    parameters: Parameters, signs: Array, features: Float[Array, "graphs nodes dimension"], bins: Array
) -> Array:
    """F of every graph with K = 1/|T|; signs times |T| give the sum."""
    weight = jnp.ones(features.shape[:2], features.dtype)
    offset = jnp.broadcast_to(parameters.encoding[bins], (features.shape[0], *bins.shape))
    return shallow.run_forward(shallow.products(parameters.network), signs, features, weight, offset=offset).output


def gradient(parameters: Parameters, signs: Array, features: Array, bins: Array, slope: Any) -> Parameters:
    """sum_i slope_i(F) dF_i/dW in closed form."""
    weight = jnp.ones(features.shape[:2], features.dtype)
    bins = jnp.broadcast_to(bins, (features.shape[0], *bins.shape))
    network, tilt = shallow.gradient_with_offset(
        parameters.network, signs, features, weight, slope, parameters.encoding[bins]
    )
    rows = features.shape[0]
    d_encoding = by_bin(tilt.reshape(rows, -1), bins.reshape(rows, -1), parameters.encoding.shape[0])
    return Parameters(network, d_encoding, jnp.zeros_like(parameters.additive))
