"""A causal transformer in the style of GPT-2 that reads a sequence of real vectors and answers after each of them.

    x = u W_in + b_in + position;  every block: x + A(norm(x)), then x + gelu(norm(x) W + b) W' + b';
    answer = norm(x) W_out + b_out.

A is multi-head causal softmax attention with logits q k / sqrt(width of a head). The GELU is the exact one, x Phi(x),
as `torch.nn.GELU()` has it; the released GPT-2 has its tanh approximation, and token embeddings for W_in and W_out.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.networks.transformer import Block, Dense, Norm, dense, draw_norm, layer_norm, transform

POSITIONS = ("learned", "sinusoidal", "none")
SCALE = 0.02


class Causal(NamedTuple):
    """All trained parameters; `positions` is there where positions are learned only."""

    embedding: Dense
    positions: Float[Array, "row width"] | None
    blocks: Block
    last_norm: Norm
    unembedding: Dense


def draw_causal(
    key: jax.Array,
    *,
    inputs: int,
    outputs: int,
    width: int,
    blocks: int,
    rows: int,
    positions: str = "learned",
    mlp: int | None = None,
) -> Causal:
    """A random initial network as GPT-2 draws it: biases 0, norms the identity, all else N(0, 0.02²).

    The two layers of a block that write into the residual stream are smaller by 1/sqrt(2 blocks), so that the sum over
    all of them does not grow with the depth. rows: the length of the longest sequence, for learned positions;
    mlp: its hidden width, 4 `width` by default.
    """
    assert positions in POSITIONS, f"positions are one of {', '.join(POSITIONS)}, not {positions}"
    hidden = 4 * width if mlp is None else mlp
    residual = SCALE / math.sqrt(2 * blocks)

    def draw(key: jax.Array, *shape: int, scale: float = SCALE) -> Dense:
        return Dense(scale * jax.random.normal(key, shape), jnp.zeros((*shape[:-2], shape[-1])))

    embedding, table, query_key_value, attention_output, first, second, unembedding = jax.random.split(key, 7)
    return Causal(
        draw(embedding, inputs, width),
        SCALE * jax.random.normal(table, (rows, width)) if positions == "learned" else None,
        Block(
            draw_norm(blocks, width),
            draw(query_key_value, blocks, width, 3 * width),
            draw(attention_output, blocks, width, width, scale=residual),
            draw_norm(blocks, width),
            draw(first, blocks, width, hidden),
            draw(second, blocks, hidden, width, scale=residual),
        ),
        draw_norm(width),
        draw(unembedding, width, outputs),
    )


def sinusoidal(rows: int, width: int) -> Float[Array, "row width"]:
    """sin(p / 10000^{2i/width}) in column 2i of row p, and its cosine in column 2i + 1."""
    assert width % 2 == 0, f"sinusoidal positions need an even width, not {width}"
    angle = np.arange(rows)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return jnp.asarray(np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(rows, width))


def forward(
    network: Causal,
    inputs: Float[Array, "*batch token inputs"],
    *,
    heads: int,
    positions: str = "learned",
    mask: Float[Array, "*batch token"] | None = None,
    show: Collection[str] = (),
) -> tuple[Float[Array, "*batch token outputs"], dict[str, Array]]:
    """The answer after every token, and what `transform` shows.

    mask: 0 on padding, wherever it stands. Positions count the other tokens only, so that masking a token equals
    deleting it; the answers after masked tokens mean nothing.
    """
    tokens = dense(network.embedding, inputs)
    count, width = tokens.shape[-2:]
    assert positions in POSITIONS, f"positions are one of {', '.join(POSITIONS)}, not {positions}"
    assert (positions == "learned") == (network.positions is not None), f"not drawn with {positions} positions"
    table = sinusoidal(count, width) if positions == "sinusoidal" else network.positions
    if table is not None:
        assert count <= len(table), f"{count} tokens, but positions for {len(table)}"
        tokens = tokens + (table[:count] if mask is None else table[_tokens_before(mask)])
    tokens, shown = transform(
        network.blocks,
        tokens,
        jnp.ones(count, tokens.dtype) if mask is None else mask,
        heads=heads,
        causal=True,
        activation=partial(jax.nn.gelu, approximate=False),
        show=show,
    )
    return dense(network.unembedding, layer_norm(network.last_norm, tokens)), shown


def _tokens_before(mask: Float[Array, "*batch token"]) -> Array:
    present = (mask > 0).astype(int)
    return jnp.cumsum(present, axis=-1) - present
