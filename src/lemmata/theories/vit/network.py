"""The shallow vision transformer (2.1): softmax attention, a ReLU layer and fixed output signs; its initialisations.

F(X) = 1/|S| sum_{l in S} a_(l)^T ReLU(W_O V_l),   V_l = W_V X w_l,   w_l = softmax(X^T W_K^T W_Q x_l)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.lab.setting import Problem
from lemmata.lab.simulation import piece
from lemmata.networks.attention import softmax_attention
from lemmata.theories.vit.data import orthonormal, orthonormalise

SIGNS = 2**31 - 1
"""Sub-key of the output signs."""


class Network(NamedTuple):
    """The trained matrices."""

    output: Float[Array, "neurons value_width"]
    value: Float[Array, "value_width dimension"]
    key: Float[Array, "key_width dimension"]
    query: Float[Array, "key_width dimension"]


class Features(NamedTuple):
    """The orthonormal features that the initial maps send the patterns close to (Assumption 2.3.1)."""

    value: Float[Array, "value_width patterns"]
    key: Float[Array, "key_width patterns"]
    query: Float[Array, "key_width patterns"]


class Pass(NamedTuple):
    """One forward pass. The network sees its matrices only through A = W_O W_V and G = W_K^T W_Q."""

    attention: Float[Array, "samples tokens tokens"]
    pooled: Float[Array, "samples tokens dimension"]
    gate: Float[Array, "samples tokens neurons"]
    pull: Float[Array, "samples tokens dimension"]
    per_token: Float[Array, "samples tokens"]
    share: Float[Array, "samples tokens"]
    output: Float[Array, " samples"]


def products(network: Network) -> tuple[Float[Array, "neurons dimension"], Float[Array, "dimension dimension"]]:
    """A = W_O W_V and G = W_K^T W_Q."""
    return network.output @ network.value, network.key.T @ network.query


def attention(
    network: Network, tokens: Float[Array, "samples tokens dimension"], weight: Float[Array, "samples tokens"]
) -> Float[Array, "samples tokens tokens"]:
    """w_{l,s}: the attention of query l on key s; tokens of weight 0 are no keys."""
    return _attention(network.key.T @ network.query, tokens, weight)


def _attention(logits: Array, tokens: Array, weight: Array) -> Array:
    return softmax_attention(jnp.einsum("nld,nsd->nls", tokens @ logits.T, tokens), weight)


def _pass(a: Array, g: Array, signs: Array, tokens: Array, weight: Array) -> Pass:
    """xbar_l = X w_l, u_l = a_(l) 1[A xbar_l > 0], v_l = A^T u_l, f_l = v_l^T xbar_l = a_(l)^T ReLU(A xbar_l)."""
    samples, length, dimension = tokens.shape
    w = _attention(g, tokens, weight)
    pooled = w @ tokens
    hidden = (pooled.reshape(-1, dimension) @ a.T).reshape(samples, length, -1)
    gate = jnp.where(hidden > 0, signs, 0.0)
    pull = (gate.reshape(samples * length, -1) @ a).reshape(samples, length, dimension)
    per_token = jnp.sum(pull * pooled, axis=-1)
    share = weight / jnp.sum(weight, axis=-1, keepdims=True)
    return Pass(w, pooled, gate, pull, per_token, share, jnp.sum(share * per_token, axis=-1))


def forward(
    network: Network,
    signs: Float[Array, "*tokens neurons"],
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
) -> Float[Array, " samples"]:
    """F of every sample; tokens of weight 0 take part neither as queries nor as keys."""
    return _pass(*products(network), signs, tokens, weight).output


def gradient(
    network: Network,
    signs: Float[Array, "*tokens neurons"],
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
    slope: Callable[[Float[Array, " samples"]], Float[Array, " samples"]],
) -> Network:
    """sum_n slope_n(F) dF(X_n)/dW in closed form (oracle 8.2), from the same products as the forward pass.

        dF/dA = sum_l c_l u_l xbar_l^T,   dF/dG = sum_l c_l h_l x_l^T,   h_l = sum_s w_ls (x_s^T v_l - f_l) x_s

    with c_l the query's share of the average; the chain rule through `products` gives the four matrices. It is what
    autodiff of `forward` gives, with one gate stored and nothing computed twice.
    """
    samples, length, dimension = tokens.shape
    (a, g), chain = jax.vjp(products, network)
    run = _pass(a, g, signs, tokens, weight)
    each = slope(run.output)[:, None] * run.share
    flat = (run.pooled * each[:, :, None]).reshape(-1, dimension)
    # without the barrier XLA folds the transpose into the product, which is much slower on a CPU
    d_a = jax.lax.optimization_barrier(flat.T @ run.gate.reshape(samples * length, -1)).T
    tilt = run.attention * (jnp.einsum("nld,nsd->nls", run.pull, tokens) - run.per_token[:, :, None])
    h = ((tilt @ tokens) * each[:, :, None]).reshape(-1, dimension)
    d_g = h.T @ tokens.reshape(-1, dimension)
    return chain((d_a, d_g))[0]


@piece("tokens", "neurons", "output", "balanced_signs", once=True)
def draw_signs(problem: Problem, key: jax.Array) -> Float[Array, "*tokens neurons"]:
    """The fixed output layer: entries +-1/sqrt(m), per neuron or per token and neuron."""
    m = problem.neurons
    key = jax.random.fold_in(key, SIGNS)
    if problem.output == "per_token":
        # position l's signs depend on l alone
        keys = jax.vmap(lambda position: jax.random.fold_in(key, position))(jnp.arange(problem.tokens))
        return jax.vmap(lambda k: jax.random.rademacher(k, (m,), jnp.result_type(float)))(keys) / jnp.sqrt(m)
    if problem.balanced_signs:
        signs = jnp.where(jnp.arange(m) < (m + 1) // 2, 1.0, -1.0)
        return jax.random.permutation(key, signs) / jnp.sqrt(m)
    return jax.random.rademacher(key, (m,), jnp.result_type(float)) / jnp.sqrt(m)


@piece(
    "dimension",
    "patterns",
    "value_width",
    "key_width",
    "neurons",
    "init",
    "error",
    "error_qk",
    "free_queries",
    "clip_spectral",
    "uniform_attention",
    once=True,
)
def initialise(problem: Problem, key: jax.Array, basis: Array) -> tuple[Network, Features]:
    """The initial network and the features its maps were built on."""
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
        features = Features(polar(value @ basis), common, common)
    if problem.clip_spectral:
        value, key_map, query = (w / jnp.maximum(1.0, jnp.linalg.norm(w, ord=2)) for w in (value, key_map, query))
    if problem.uniform_attention:
        key_map = jnp.zeros_like(key_map)
    return Network(output, value, key_map, query), features


def _assumption(problem: Problem, key: jax.Array, basis: Array) -> tuple[Array, Array, Array, Features]:
    """Assumption 2.3.1 with equality: W_V mu_j = p_j + sigma e_j, W_K mu_j = q_j + delta e_j, W_Q mu_j = r_j + ...

    q_1 = r_1 and q_2 = r_2; R = Q, or with free queries r_3..r_M random in the complement of q_1, q_2.
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
    if problem.error == "given":
        error_v = jnp.asarray(problem.value_error_directions)
    else:
        error_v = _directions(problem.error, normals_v[1], p)
    value = (p + problem.value_error * error_v) @ basis.T
    key_map = (q + problem.attention_error * _directions(problem.error_qk, normals_k[2], q)) @ basis.T
    query = (r + problem.attention_error * _directions(problem.error_qk, normals_k[3], r)) @ basis.T
    return value, key_map, query, Features(p, q, r)


def _directions(how: str, normals: Array, features: Array) -> Array:
    """Unit columns: uniform on the sphere, or `confuse`: e_1 = p_2, e_2 = p_1, e_j = p_{j-1}."""
    if how == "confuse":
        return jnp.concatenate([features[:, 1:2], features[:, :-1]], axis=1)
    return normals / jnp.linalg.norm(normals, axis=0)


def polar(matrix: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """The nearest matrix with orthonormal columns."""
    u, _, v = jnp.linalg.svd(matrix, full_matrices=False)
    return u @ v


def initial_errors(network: Network, features: Features, basis: Array) -> tuple[Array, Array]:
    """Probe 5.1: sigma = max_j |W_V mu_j - p_j| and delta = max_j max(|W_K mu_j - q_j|, |W_Q mu_j - r_j|)."""
    columns = lambda w, f: jnp.linalg.norm(w @ basis - f, axis=0)  # noqa: E731
    sigma = jnp.max(columns(network.value, features.value))
    delta = jnp.maximum(jnp.max(columns(network.key, features.key)), jnp.max(columns(network.query, features.query)))
    return sigma, delta
