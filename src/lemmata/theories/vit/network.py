"""The shallow vision transformer (2.1): softmax attention, a ReLU layer and fixed output signs; its initialisations.

F(X) = 1/|S| sum_{l in S} a_(l)^T ReLU(W_O V_l),   V_l = W_V X w_l,   w_l = softmax(X^T W_K^T W_Q x_l)

Forward pass and gradient are those of `lemmata.networks.shallow`. Variants (3.2): several heads, whose W_O,h V_l,h add
up; a skip connection, V_l = W_V X w_l + x_l; several classes, with one set of output signs per coordinate of the label.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.orthonormal import orthonormal, orthonormalise
from lemmata.networks.shallow import Network, products, run_forward
from lemmata.theories.vit.setting import Setting

SIGNS = 2**31 - 1
"""Sub-key of the output signs."""


class Features(NamedTuple):
    """The orthonormal features that the initial maps send the patterns close to (Assumption 2.3.1)."""

    value: Float[Array, "value_width patterns"]
    key: Float[Array, "key_width patterns"]
    query: Float[Array, "key_width patterns"]


def aim(signs: Array, label: Float[Array, "samples ..."]) -> tuple[Array, Float[Array, " samples"]]:
    """Signs s and factors c with margin y^T F = c F_s: a label vector is folded into signs of every sample's own."""
    if signs.ndim < 3:
        return signs, label
    return jnp.einsum("nk,klm->nlm", label, signs), jnp.ones(label.shape[0], label.dtype)


def margins(
    network: Network, signs: Array, label: Float[Array, "samples ..."], tokens: Array, weight: Array, skip: bool = False
) -> Float[Array, " samples"]:
    """y^T F of every sample."""
    aimed, factor = aim(signs, label)
    return factor * run_forward(products(network, skip), aimed, tokens, weight, skip).output


@lm.piece("tokens", "neurons", "output", "outputs", "balanced_signs", once=True)
def draw_signs(problem: Setting, key: jax.Array) -> Array:
    """The fixed output layer: entries ±1/sqrt(m), per neuron [m] or per token and neuron [L, m]. With 2^k classes one
    layer per coordinate of the label: [k, 1, m] or [k, L, m]."""
    key = jax.random.fold_in(key, SIGNS)
    if problem.outputs == 1:
        return _signs(problem, key)
    layers = jax.vmap(lambda c: _signs(problem, jax.random.fold_in(key, c)))(jnp.arange(problem.outputs))
    return layers if problem.output == "per_token" else layers[:, None, :]


def _signs(problem: Setting, key: jax.Array) -> Array:
    m = problem.neurons
    if problem.output == "per_token":
        # position l's signs depend on l alone
        keys = jax.vmap(lambda position: jax.random.fold_in(key, position))(jnp.arange(problem.tokens))
        return jax.vmap(lambda k: jax.random.rademacher(k, (m,), jnp.result_type(float)))(keys) / jnp.sqrt(m)
    if problem.balanced_signs:
        signs = jnp.where(jnp.arange(m) < (m + 1) // 2, 1.0, -1.0)
        return jax.random.permutation(key, signs) / jnp.sqrt(m)
    return jax.random.rademacher(key, (m,), jnp.result_type(float)) / jnp.sqrt(m)


@lm.piece(
    *("dimension", "patterns", "value_width", "key_width", "neurons", "heads", "init", "given_errors"),
    *("free_queries", "clip_spectral", "uniform_attention", "skip", "bent_patterns"),
    once=True,
)
def initialise(problem: Setting, key: jax.Array, basis: Array) -> tuple[Network, Features]:
    """The initial network and the features its maps were built on; several heads are stacked along a leading axis."""
    if problem.heads == 1:
        return _head(problem, key, basis)
    return jax.vmap(lambda head: _head(problem, jax.random.fold_in(key, head), basis))(jnp.arange(problem.heads))


def _head(problem: Setting, key: jax.Array, basis: Array) -> tuple[Network, Features]:
    output_key, maps_key = jax.random.split(key)
    output = problem.output_std * jax.random.normal(output_key, (problem.neurons, problem.value_width))
    if problem.init == "assumption":
        value, key_map, query, features = _assumption(problem, maps_key, basis)
    else:
        if problem.init == "literal":
            scale = 1 / problem.token_noise**2
            query = key_map = problem.attention_error**2 * scale * jnp.eye(problem.dimension)
            value = problem.value_error**2 * scale * orthonormal(maps_key, problem.dimension, problem.dimension)
        else:
            value, key_map, query = (
                jnp.asarray(m, output.dtype) for m in (problem.value_map, problem.key_map, problem.query_map)
            )
        common = polar(0.5 * (key_map + query) @ basis)
        features = Features(polar(value_vectors(value, basis, problem.skip)), common, common)
    if problem.clip_spectral:
        value, key_map, query = (w / jnp.maximum(1.0, jnp.linalg.norm(w, ord=2)) for w in (value, key_map, query))
    if problem.uniform_attention:
        key_map = jnp.zeros_like(key_map)
    output = output - problem.output_shift * features.value[:, 0]
    return Network(output, value, key_map, query), features


def value_vectors(value: Array, basis: Array, skip: bool) -> Float[Array, "*heads value_width patterns"]:
    """W_V μ_j, and (W_V + I) μ_j with a skip connection: what the hidden layer sees of a pattern."""
    return value @ basis + (basis if skip else 0.0)


def _assumption(problem: Setting, key: jax.Array, basis: Array) -> tuple[Array, Array, Array, Features]:
    """Assumption 2.3.1 with equality: W_V μ_j = p_j + σ e_j, W_K μ_j = q_j + δ e_j, W_Q μ_j = r_j + ...

    q_1 = r_1 and q_2 = r_2; R = Q, or with free queries r_3..r_M random in the complement of q_1, q_2. With a skip
    connection (W_V + I) μ_j = p_j + σ e_j (A.233).
    """
    m, wide, narrow = problem.patterns, problem.value_width, problem.key_width
    value_key, key_key = jax.random.split(key)
    normals_v = jax.random.normal(value_key, (2, wide, m))
    normals_k = jax.random.normal(key_key, (4, narrow, m))
    p, q = orthonormalise(normals_v[0]), orthonormalise(normals_k[0])
    r = q
    if problem.free_queries:
        # QR keeps the first two columns, which are orthonormal already
        r = orthonormalise(jnp.concatenate([q[:, :2], normals_k[1][:, 2:]], axis=1))
    if problem.given_errors:
        error_v = jnp.asarray(problem.value_error_directions)
    else:
        error_v = _directions(problem.confused[0], normals_v[1], p)
    inverse = jnp.linalg.pinv(basis) if problem.bent_patterns else basis.T
    value = (p + problem.value_error * error_v - (basis if problem.skip else 0.0)) @ inverse
    key_map = (q + problem.attention_error * _directions(problem.confused[1], normals_k[2], q)) @ inverse
    query = (r + problem.attention_error * _directions(problem.confused[1], normals_k[3], r)) @ inverse
    return value, key_map, query, Features(p, q, r)


def _directions(confused: Any, normals: Array, features: Array) -> Array:
    """Unit columns: uniform on the sphere, or (`confused` > 0) e_1 = p_2, e_2 = p_1, e_j = p_{j-1}."""
    confusing = jnp.concatenate([features[:, 1:2], features[:, :-1]], axis=1)
    return jnp.where(confused > 0, confusing, normals / jnp.linalg.norm(normals, axis=0))


def polar(matrix: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """The nearest matrix with orthonormal columns."""
    u, _, v = jnp.linalg.svd(matrix, full_matrices=False)
    return u @ v


def initial_errors(network: Network, features: Features, basis: Array, skip: bool = False) -> tuple[Array, Array]:
    """Probe 5.1: σ = max_j |W_V μ_j - p_j| and δ = max_j max(|W_K μ_j - q_j|, |W_Q μ_j - r_j|)."""

    def far(vectors: Array, targets: Array) -> Array:
        return jnp.max(jnp.linalg.norm(vectors - targets, axis=-2))

    sigma = far(value_vectors(network.value, basis, skip), features.value)
    delta = jnp.maximum(far(network.key @ basis, features.key), far(network.query @ basis, features.query))
    return sigma, delta
