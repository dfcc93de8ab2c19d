"""The deep vision transformer of experiment F6: patches embedded with learned positions, pre-norm blocks, mean pooling.

Five blocks of 4-head self-attention and a one-layer ReLU MLP with skip connections and layer norm; the paper
gives no other size and no initial scale: the widths are those of the scaled-down profile, the scale is `draw_dense`'s.
Only kept tokens come in, so that dropped ones are neither keys nor pooled.
"""

from collections.abc import Collection
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.networks import transformer
from lemmata.networks.transformer import Block, Dense, Norm, dense, draw_dense
from lemmata.theories.vit.images.setting import ImageSetting

POSITION_SCALE = 0.02
ABSENT = -1e9
"""Bias of an output that stands for no class: its softmax is 0 to the bit, so it is never trained and never wins."""


class DeepTransformer(NamedTuple):
    """All trained parameters."""

    embedding: Dense
    positions: Float[Array, "place width"]
    blocks: Block
    norm: Norm
    head: Dense


@lm.piece("width", "blocks", "tokens", "token_values", "source_classes", once=True)
def draw_network(problem: ImageSetting, key: jax.Array, *, classes: int) -> DeepTransformer:
    """A random initial network with an output layer for so many classes; the rest does not depend on their number."""
    embedding, positions, blocks, head = jax.random.split(key, 4)
    matrix, bias = draw_dense(head, problem.width, classes)
    absent = (0, problem.source_classes - classes)
    return DeepTransformer(
        draw_dense(embedding, problem.token_values, problem.width),
        POSITION_SCALE * jax.random.normal(positions, (problem.tokens, problem.width)),
        transformer.draw_blocks(blocks, blocks=problem.blocks, width=problem.width),
        transformer.draw_norm(problem.width),
        Dense(jnp.pad(matrix, ((0, 0), absent)), jnp.pad(bias, absent, constant_values=ABSENT)),
    )


def classify(
    network: DeepTransformer,
    patches: Float[Array, "image token values"],
    places: Int[Array, "image token"],
    *,
    heads: int,
    mask: Float[Array, "image token"] | None = None,
    show: Collection[str] = (),
) -> tuple[Float[Array, "image class"], dict[str, Array]]:
    """The output of every class, and what `transform` shows. `mask`: 0 on tokens that are there but do not count."""
    tokens = dense(network.embedding, patches) + network.positions[places]
    weight = jnp.ones(tokens.shape[:-1], tokens.dtype) if mask is None else mask
    tokens, shown = transformer.transform(network.blocks, tokens, weight, heads=heads, show=show)
    share = weight / jnp.sum(weight, axis=-1, keepdims=True)
    pooled = jnp.einsum("nt,ntw->nw", share, transformer.layer_norm(network.norm, tokens))
    return dense(network.head, pooled), shown
