"""What is measured on a network and data (section 5): losses, margins, attention concentration, data statistics."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.networks.attention import concentration
from lemmata.theories.vit.data import Data
from lemmata.theories.vit.network import Network, attention

QUERIES = ("all", "relevant", "confusion", "neutral")


def attention_by_query(
    network: Network, data: Data, sample_weight: Float[Array, " samples"]
) -> dict[str, Float[Array, " query"]]:
    """Probe 5.2 on kept queries, samples averaged with `sample_weight` (which adds up to 1).

    `concentration`: mean attention on label-relevant tokens over all queries and over those of each type (left side of
    2.15); `complement`: mean attention on all other tokens, summed separately; `confused`: the part of the complement
    on confusion tokens; `lowest`: the smallest concentration of any query. A type without queries gives NaN.
    """
    weights = attention(network, data.tokens, data.weight)
    types = [data.weight, data.relevant() * data.weight, data.confusion() * data.weight, data.neutral() * data.weight]

    def mean(per_query: Array) -> Array:
        def over(chosen: Array) -> Array:
            total = jnp.sum(sample_weight[:, None] * chosen)
            return jnp.sum(sample_weight[:, None] * chosen * per_query) / total

        return jnp.stack([over(chosen) for chosen in types])

    on_relevant = concentration(weights, data.relevant())
    used = (data.weight > 0) & (sample_weight[:, None] > 0)
    return {
        "concentration": mean(on_relevant),
        "complement": mean(concentration(weights, data.confusion() + data.neutral())),
        "confused": mean(concentration(weights, data.confusion())),
        "lowest": jnp.min(jnp.where(used, on_relevant, jnp.inf)),
    }


def largest_similarity(data: Data, sample_weight: Float[Array, " samples"]) -> Float[Array, ""]:
    """lambda (A.11): the largest inner product between tokens of different patterns in one sample."""
    products = jnp.einsum("nld,nsd->nls", data.tokens, data.tokens)
    different = data.pattern[:, :, None] != data.pattern[:, None, :]
    used = (data.weight[:, :, None] > 0) & (data.weight[:, None, :] > 0) & (sample_weight[:, None, None] > 0)
    return jnp.max(jnp.where(different & used, products, -jnp.inf), initial=-1.0)
