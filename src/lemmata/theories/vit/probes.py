"""What is measured on a network and data (section 5): attention, feature coordinates, statistics of the data.

The probes of single neurons are in `neurons`; losses and margins are taken where training and evaluation have them.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.attention import concentration
from lemmata.networks.shallow import Network, attention
from lemmata.theories.vit.data import Data
from lemmata.theories.vit.network import Features, value_vectors

QUERIES = ("all", "relevant", "confusion", "neutral")
BY_QUERY, MATRIX = ("record", "query"), ("record", "feature", "pattern")

ATTENTION = (
    lm.Variable("concentration", BY_QUERY, "conc", "attention on label-relevant tokens, by type of query", True),
    lm.Variable("complement", BY_QUERY, "1 - conc", "attention on all other tokens, by type of query", True),
    lm.Variable("confused", BY_QUERY, "", "attention on confusion tokens, by type of query", True),
    lm.Variable("entropy", BY_QUERY, "H", "entropy of the attention, by type of query", True),
    lm.Variable("attended", BY_QUERY, "e^H", "effective number of attended tokens, by type of query", True),
    lm.Variable("lowest", ("record",), "min conc", "smallest attention on label-relevant tokens of any query"),
)
FEATURES = (
    lm.Variable("query_features", MATRIX, "C_Q = Qᵀ W_Q U", "query map in feature coordinates"),
    lm.Variable("key_features", MATRIX, "C_K = Qᵀ W_K U", "key map in feature coordinates"),
    lm.Variable("value_features", MATRIX, "C_V = Pᵀ W_V U", "value map in feature coordinates"),
    lm.Variable("pattern_logits", ("record", "key_pattern", "pattern"), "G", "attention logits between patterns"),
)
DATA = (
    lm.Variable("relevant_share", (), "α_*", "realised fraction of label-relevant tokens"),
    lm.Variable("confusion_share", (), "α_#", "realised fraction of confusion tokens"),
    lm.Variable("neutral_share", (), "α_nd", "realised fraction of non-discriminative tokens"),
    lm.Variable("similarity", (), "λ", "largest inner product between tokens of different patterns"),
    lm.Variable("own_similarity", (), "", "smallest inner product between tokens of the same pattern"),
    lm.Variable("pattern_distance", (), "κ", "smallest distance between members of different patterns"),
)


def attention_by_query(
    network: Network, data: Data, sample_weight: Float[Array, " samples"]
) -> dict[str, Float[Array, " query"]]:
    """Probes 5.2 and 5.3, `ATTENTION`, on kept queries, samples averaged with `sample_weight` (which adds up to 1). The
    concentration is the left side of (2.15), the complement is summed separately. A type without queries gives NaN."""
    weights = attention(network, data.tokens, data.weight)
    types = [data.weight, data.relevant() * data.weight, data.confusion() * data.weight, data.neutral() * data.weight]

    def mean(per_query: Array) -> Array:
        chosen = [sample_weight[:, None] * queries for queries in types]
        return jnp.stack([jnp.sum(each * per_query) / jnp.sum(each) for each in chosen])

    on_relevant = concentration(weights, data.relevant())
    used = (data.weight > 0) & (sample_weight[:, None] > 0)
    # a key of weight c stands for c equal tokens, which share its attention
    each = weights / jnp.where(data.weight > 0, data.weight, 1.0)[:, None, :]
    entropy = -jnp.sum(jax.scipy.special.xlogy(weights, each), axis=-1)
    return {
        "concentration": mean(on_relevant),
        "complement": mean(concentration(weights, data.confusion() + data.neutral())),
        "confused": mean(concentration(weights, data.confusion())),
        "entropy": mean(entropy),
        "attended": mean(jnp.exp(entropy)),
        "lowest": jnp.min(jnp.where(used, on_relevant, jnp.inf)),
    }


def feature_coordinates(network: Network, features: Features, basis: Array, skip: bool = False) -> dict[str, Array]:
    """Probe 5.5: C_Q = Q^T W_Q U, C_K = Q^T W_K U, C_V = P^T W_V U and the pattern logits G = U^T W_K^T W_Q U. Means
    over the heads, if there are several."""
    keys, queries = network.key @ basis, network.query @ basis
    coordinates = {
        "query_features": features.key.mT @ queries,
        "key_features": features.key.mT @ keys,
        "value_features": features.value.mT @ value_vectors(network.value, basis, skip),
        "pattern_logits": keys.mT @ queries,
    }
    return {name: matrix if matrix.ndim == 2 else jnp.mean(matrix, axis=0) for name, matrix in coordinates.items()}


def token_shares(data: Data, sample_weight: Float[Array, " samples"]) -> dict[str, Float[Array, ""]]:
    """Probe 5.10: the realised α_*, α_#, α_nd of the kept tokens."""

    def share(chosen: Array) -> Array:
        return jnp.sum(sample_weight * jnp.sum(chosen * data.weight, axis=1) / jnp.sum(data.weight, axis=1))

    kinds = {"relevant": data.relevant(), "confusion": data.confusion(), "neutral": data.neutral()}
    return {f"{kind}_share": share(chosen) for kind, chosen in kinds.items()}


def similarities(data: Data, sample_weight: Float[Array, " samples"]) -> dict[str, Float[Array, ""]]:
    """λ (A.11), the largest inner product between tokens of different patterns in one sample; and the smallest
    between tokens of the same pattern (errata E15)."""
    products = jnp.einsum("nld,nsd->nls", data.tokens, data.tokens)
    same = data.pattern[:, :, None] == data.pattern[:, None, :]
    used = (data.weight[:, :, None] > 0) & (data.weight[:, None, :] > 0) & (sample_weight[:, None, None] > 0)
    return {
        "similarity": jnp.max(jnp.where(~same & used, products, -jnp.inf), initial=-1.0),
        "own_similarity": jnp.min(jnp.where(same & used, products, jnp.inf)),
    }


def pattern_distance(members: Float[Array, "dimension patterns *members"]) -> Float[Array, ""]:
    """κ (A.225): the smallest distance between patterns, or between members of different sets."""
    count = math.prod(members.shape[2:])
    flat = members.reshape(members.shape[0], -1)
    distance = jnp.linalg.norm(flat[:, :, None] - flat[:, None, :], axis=0)
    of = jnp.arange(flat.shape[1]) // count
    return jnp.min(jnp.where(of[:, None] == of[None, :], jnp.inf, distance))
