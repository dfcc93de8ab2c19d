"""Deep transformers from small parts: layer norm, multi-head self-attention, pre-norm blocks, and a stack of them.

Everything is a pure function of a tree of parameters. A block is x + A(norm(x)), then x + P(norm(x)) with a mlp
P(x) = act(x W + b), to which a block that has an `mlp_output` adds a second layer: act(x W + b) W' + b'. "A one-layer
ReLU MLP" is read as the former. Blocks are stacked along a leading axis and scanned, so that the depth costs no
compilation. `weight` is the multiplicity of a token as in `softmax_attention`: a token of weight 0 is never a key, so
that masking it equals deleting it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.networks.attention import softmax_attention


class Norm(NamedTuple):
    """Layer norm: scale and shift of the standardised coordinates."""

    scale: Float[Array, "*blocks width"]
    shift: Float[Array, "*blocks width"]


class Dense(NamedTuple):
    """An affine map x -> x W + b."""

    matrix: Float[Array, "*blocks inputs outputs"]
    bias: Float[Array, "*blocks outputs"]


class Block(NamedTuple):
    """One pre-norm block; `query_key_value` gives queries, keys and values of all heads in one product."""

    attention_norm: Norm
    query_key_value: Dense
    attention_output: Dense
    mlp_norm: Norm
    mlp: Dense
    mlp_output: Dense | None = None


def draw_dense(key: jax.Array, inputs: int, outputs: int) -> Dense:
    """Entries and biases uniform within ±1/sqrt(inputs), the default of the common libraries."""
    reach = 1 / math.sqrt(inputs)
    drawn = jax.random.uniform(key, (inputs + 1, outputs), minval=-reach, maxval=reach)
    return Dense(drawn[:-1], drawn[-1])


def draw_norm(*shape: int) -> Norm:
    return Norm(jnp.ones(shape), jnp.zeros(shape))


def draw_blocks(key: jax.Array, *, blocks: int, width: int) -> Block:
    """A stack of initial blocks of one-layer perceptrons: every leaf has a leading axis of length `blocks`."""

    def one(key: jax.Array) -> Block:
        query_key_value, attention_output, mlp = jax.random.split(key, 3)
        return Block(
            draw_norm(width),
            draw_dense(query_key_value, width, 3 * width),
            draw_dense(attention_output, width, width),
            draw_norm(width),
            draw_dense(mlp, width, width),
        )

    return jax.vmap(one)(jax.random.split(key, blocks))


def dense(layer: Dense, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
    return x @ layer.matrix + layer.bias


def layer_norm(norm: Norm, x: Float[Array, "*batch width"], floor: float = 1e-5) -> Float[Array, "*batch width"]:
    """Every token standardised over its coordinates (variance + `floor`), then scaled and shifted."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred**2, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + floor) * norm.scale + norm.shift


def self_attention(
    query_key_value: Dense,
    attention_output: Dense,
    tokens: Float[Array, "*batch token width"],
    weight: Float[Array, "*#batch token"],
    *,
    heads: int,
    causal: bool = False,
    last: bool = False,
) -> tuple[Float[Array, "*batch query width"], Float[Array, "*batch head query key"]]:
    """Multi-head softmax(q k / sqrt(width of a head)) v, projected attention_output; and the attention of every head.

    All heads together are as wide as `query_key_value` makes them. causal: a query sees keys up to its own position.
    last: the last token alone is a query; it sees every key.
    """
    count, width = tokens.shape[-2], query_key_value.matrix.shape[-1] // 3
    assert width % heads == 0, f"{heads} heads do not divide the width {width}"

    def split(x: Array, parts: slice) -> list[Array]:
        layer = Dense(query_key_value.matrix[:, parts], query_key_value.bias[parts])
        by_head = dense(layer, x).reshape(*x.shape[:-1], -1, heads, width // heads)
        return [by_head[..., i, :, :] for i in range(by_head.shape[-3])]

    if last:
        (query,), (key, value) = split(tokens[..., -1:, :], slice(width)), split(tokens, slice(width, None))
    else:
        query, key, value = split(tokens, slice(None))
    logits = jnp.einsum("...qhd,...khd->...hqk", query, key) / math.sqrt(width // heads)
    if causal and not last:
        past, itself = jnp.tri(count, dtype=weight.dtype), jnp.eye(count, dtype=weight.dtype)
        # a masked query would see no key at all; it sees itself instead and nobody reads it
        seen = past * weight[..., None, :] + itself * (weight[..., None] == 0)
        attention = softmax_attention(logits[..., None, :], seen[..., None, :, :])[..., 0, :]
    else:
        attention = softmax_attention(logits, weight[..., None, :])
    mixed = jnp.einsum("...hqk,...khd->...qhd", attention, value)
    return dense(attention_output, mixed.reshape(*mixed.shape[:-2], width)), attention


def apply_block(
    block: Block,
    tokens: Float[Array, "*batch token width"],
    weight: Float[Array, "*#batch token"],
    *,
    heads: int,
    causal: bool = False,
    last: bool = False,
    activation: Callable[[Array], Array] = jax.nn.relu,
) -> tuple[Float[Array, "*batch query width"], Float[Array, "*batch head query key"]]:
    """x + attention(norm(x)), then x + mlp(norm(x)); and the attention. last: of the last token alone."""
    normed = layer_norm(block.attention_norm, tokens)
    mixed, attention = self_attention(
        block.query_key_value, block.attention_output, normed, weight, heads=heads, causal=causal, last=last
    )
    tokens = (tokens[..., -1:, :] if last else tokens) + mixed
    hidden = activation(dense(block.mlp, layer_norm(block.mlp_norm, tokens)))
    return tokens + (hidden if block.mlp_output is None else dense(block.mlp_output, hidden)), attention


def transform(
    blocks: Block,
    tokens: Float[Array, "*batch token width"],
    weight: Float[Array, "*#batch token"],
    *,
    heads: int,
    causal: bool = False,
    last: bool = False,
    activation: Callable[[Array], Array] = jax.nn.relu,
    show: Collection[str] = (),
) -> tuple[Float[Array, "*batch query width"], dict[str, Array]]:
    """The tokens after all blocks, and the named intermediates of `show`, stacked over blocks.

    "attention" [blocks *batch head query key]; "tokens" [blocks *batch token width], after each block.
    last: only the last token is asked for, and shown; the last block then computes nothing else.
    """

    def step(tokens: Array, block: Block, last_block: bool = False) -> tuple[Array, dict[str, Array]]:
        tokens, attention = apply_block(
            block, tokens, weight, heads=heads, causal=causal, last=last_block, activation=activation
        )
        named = {"attention": attention, "tokens": tokens}
        return tokens, {name: named[name][..., -1:, :] if last else named[name] for name in show}

    if not last:
        return jax.lax.scan(step, tokens, blocks)
    tokens, shown = jax.lax.scan(step, tokens, jax.tree.map(lambda leaf: leaf[:-1], blocks))
    tokens, shown_last = step(tokens, jax.tree.map(lambda leaf: leaf[-1], blocks), last_block=True)
    return tokens, {name: jnp.concatenate([shown[name], shown_last[name][None]]) for name in show}
