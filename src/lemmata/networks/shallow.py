"""One layer of softmax attention, a ReLU layer and fixed output signs, with its gradient in closed form.

    F = sum_l c_l a^T ReLU(W_O V_l),   V_l = sum_s w_ls W_V x_s,   w_l = softmax_s((W_K x_s)^T W_Q x_l)

over queries x_l, weighted by c_l, and keys x_s. The queries are the keys themselves with equal weight (`vit`), or other
tokens (`icl`: one query, the contexts as keys; `graph_transformer`: a node and the nodes it attends to). An `offset` is
added to the logits (a positional encoding). Several heads have their matrices stacked along a leading axis, and their
W_O,h V_l,h add up; with a skip connection V_l gets x_l added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.networks import fused
from lemmata.networks.attention import softmax_attention


class Network(NamedTuple):
    """The trained matrices."""

    output: Float[Array, "*heads neurons value_width"]
    value: Float[Array, "*heads value_width dimension"]
    key: Float[Array, "*heads key_width dimension"]
    query: Float[Array, "*heads key_width dimension"]


class Pass(NamedTuple):
    """One forward pass. The network sees its matrices only through A_h = W_O,h W_V,h and G_h = W_K,h^T W_Q,h.

    `mixed` has side by side what the hidden layer sees of every query: the values' inputs X w_l of every head and, with
    a skip connection, the query itself; `pull` is the derivative of f_l, the `answer` of a query, with respect to it.
    """

    attention: list[Float[Array, "samples queries tokens"]]
    mixed: Float[Array, "samples queries parts"]
    hidden: Float[Array, "samples queries neurons"]
    gate: Float[Array, "samples queries neurons"]
    pull: Float[Array, "samples queries parts"]
    share: Float[Array, "samples queries"]
    answer: Float[Array, "samples queries"]
    output: Float[Array, " samples"]


def split_heads(network: Network) -> list[Network]:
    """The heads of a network; the matrices of several heads are stacked along a leading axis."""
    if network.output.ndim == 2:
        return [network]
    return [Network(*(matrix[head] for matrix in network)) for head in range(network.output.shape[0])]


def products(network: Network, skip: bool = False) -> tuple[Float[Array, "neurons parts"], list[Array]]:
    """[A_1 .. A_H], followed by W_O with a skip connection, and G_1 .. G_H."""
    heads = split_heads(network)
    maps = [head.output @ head.value for head in heads] + ([network.output] if skip else [])
    return maps[0] if len(maps) == 1 else jnp.concatenate(maps, axis=1), [head.key.T @ head.query for head in heads]


def attention(
    network: Network, tokens: Float[Array, "samples tokens dimension"], weight: Float[Array, "samples tokens"]
) -> Float[Array, "samples tokens tokens"]:
    """w_{l,s}: the attention of token l on token s, averaged over the heads; tokens of weight 0 are no keys."""
    maps = [_attention(logits, tokens, tokens, weight) for logits in products(network)[1]]
    return maps[0] if len(maps) == 1 else jnp.mean(jnp.stack(maps), axis=0)


def _attention(logits: Array, queries: Array, tokens: Array, weight: Array, offset: Array | None = None) -> Array:
    products = jnp.einsum("nld,nsd->nls", queries @ logits.T, tokens)
    return softmax_attention(products if offset is None else products + offset, weight)


def run_forward(
    maps: tuple[Array, list[Array]],
    signs: Array,
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
    skip: bool = False,
    queries: Float[Array, "samples queries dimension"] | None = None,
    offset: Float[Array, "samples queries tokens"] | None = None,
) -> Pass:
    """xbar_l = X w_l, u_l = a_(l) 1[A xbar_l > 0], v_l = A^T u_l, f_l = v_l^T xbar_l = a_(l)^T ReLU(A xbar_l).

    queries: None for the tokens themselves, those of weight 0 left out. offset: added to the logits of every head.
    """
    a, logits = maps
    counted = weight if queries is None else jnp.ones(queries.shape[:2], weight.dtype)
    queries = tokens if queries is None else queries
    samples, length, _ = queries.shape
    w = [_attention(g, queries, tokens, weight, offset) for g in logits]
    parts = [w_h @ tokens for w_h in w] + ([queries] if skip else [])
    mixed = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
    hidden = (mixed.reshape(samples * length, -1) @ a.T).reshape(samples, length, -1)
    gate = jnp.where(hidden > 0, signs, 0.0)
    pull = (gate.reshape(samples * length, -1) @ a).reshape(samples, length, -1)
    share = counted / jnp.sum(counted, axis=-1, keepdims=True)
    answer = jnp.sum(pull * mixed, axis=-1)
    return Pass(w, mixed, hidden, gate, pull, share, answer, jnp.sum(share * answer, axis=-1))


def forward(
    network: Network,
    signs: Float[Array, "*outputs queries neurons"] | Float[Array, " neurons"],
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
    skip: bool = False,
    queries: Float[Array, "samples queries dimension"] | None = None,
) -> Float[Array, "samples ..."]:
    """F of every sample, a vector with several classes; tokens of weight 0 are neither queries nor keys."""
    maps = products(network, skip)
    if signs.ndim < 3:
        return run_forward(maps, signs, tokens, weight, skip, queries).output
    return jax.vmap(lambda s: run_forward(maps, s, tokens, weight, skip, queries).output, out_axes=-1)(signs)


def gradient(
    network: Network,
    signs: Float[Array, "*samples_or_queries neurons"],
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
    slope: Callable[[Float[Array, " samples"]], Float[Array, " samples"]],
    skip: bool = False,
    queries: Float[Array, "samples queries dimension"] | None = None,
) -> Network:
    """sum_n slope_n(F) dF(X_n)/dW in closed form, from the same products as the forward pass.

        dF/dA = sum_l c_l u_l xbar_l^T,   dF/dG = sum_l c_l h_l x_l^T,   h_l = sum_s w_ls (x_s^T v_l - f_l) x_s

    with c_l the query's share of the average, and f_l = sum_s w_ls x_s^T v_l, v_l, h_l of the head; the chain rule
    through `products` gives the matrices. It is what autodiff of `forward` gives, with one gate stored and nothing
    computed twice. With a single key h_l is 0 to the bit. On a GPU, where they apply, the kernels of `fused` do it
    without a hidden layer in memory.
    """
    alone = network.output.ndim == 2 and not skip and queries is None
    if alone and fused.applies(network.output, signs, tokens):
        (a, (g,)), chain = jax.vjp(products, network)
        d_a, d_g = fused.gradient(a, g, signs, tokens, weight, slope)
        return chain((d_a, [d_g]))[0]
    return gradient_with_offset(network, signs, tokens, weight, slope, None, skip, queries)[0]


def gradient_with_offset(
    network: Network,
    signs: Float[Array, "*samples_or_queries neurons"],
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
    slope: Callable[[Float[Array, " samples"]], Float[Array, " samples"]],
    offset: Float[Array, "samples queries tokens"] | None,
    skip: bool = False,
    queries: Float[Array, "samples queries dimension"] | None = None,
) -> tuple[Network, Float[Array, "samples queries tokens"]]:
    """`gradient`, and slope_n dF(X_n)/d offset_ls = slope_n c_l w_ls (x_s^T v_l - f_l), summed over the heads."""
    dimension = tokens.shape[-1]
    maps, chain = jax.vjp(lambda n: products(n, skip), network)
    run = run_forward(maps, signs, tokens, weight, skip, queries, offset)
    queries = tokens if queries is None else queries
    each = slope(run.output)[:, None] * run.share
    flat = (run.mixed * each[:, :, None]).reshape(each.size, -1)
    # without the barrier XLA folds the transpose into the product, which is much slower on a CPU
    d_a = jax.lax.optimization_barrier(flat.T @ run.gate.reshape(each.size, -1)).T

    def tilt(head: int) -> Array:
        pull = run.pull[:, :, head * dimension : (head + 1) * dimension]
        w, scores = run.attention[head], jnp.einsum("nld,nsd->nls", pull, tokens)
        return w * (scores - jnp.sum(w * scores, axis=-1, keepdims=True))

    def d_logits(tilted: Array) -> Array:
        h = ((tilted @ tokens) * each[:, :, None]).reshape(-1, dimension)
        return h.T @ queries.reshape(-1, dimension)

    tilts = [tilt(head) for head in range(len(run.attention))]
    return chain((d_a, [d_logits(tilted) for tilted in tilts]))[0], sum(tilts) * each[:, :, None]
