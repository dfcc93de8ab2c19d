"""ResNet-9 (section 3): eight convolutions with batch norm and ReLU, two residual blocks, global max pool, one logit.

The layout is the common one; `width` is 64 there. Batch norm takes the statistics of its batch while training, and
those of a batch of training images when it is tested.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.group_imbalance.images.setting import ImageSetting

CHANNELS = ((0, 1), (1, 2), (2, 2), (2, 2), (2, 4), (4, 8), (8, 8), (8, 8))
"""Channels in and out of each convolution in units of the width (0: the image's three)."""
POOLED = (1, 4, 5)
"""Convolutions that a max pool over 2 x 2 pixels follows."""
RESIDUAL = {3: 1, 7: 5}
"""The second convolution of a residual block, and after which one its skip connection starts."""
EPSILON = 1e-5
Statistics = list[tuple[Array, Array]]
"""Mean and variance of every channel after each convolution."""


class Convolution(NamedTuple):
    """A convolution without bias, and the scale and shift of its batch norm."""

    filters: eqx.nn.Conv2d
    scale: Float[Array, " channels"]
    shift: Float[Array, " channels"]


class ResNet9(NamedTuple):
    """All trained parameters."""

    convolutions: tuple[Convolution, ...]
    head: eqx.nn.Linear


@lm.piece("width", once=True)
def draw_network(problem: ImageSetting, key: jax.Array) -> ResNet9:
    """A random initial network, by equinox's own scales."""
    keys = jax.random.split(key, len(CHANNELS) + 1)
    layers = []
    for (inner, outer), one in zip(CHANNELS, keys[:-1], strict=True):
        channels = outer * problem.width
        filters = eqx.nn.Conv2d(inner * problem.width or 3, channels, 3, padding=1, use_bias=False, key=one)
        layers.append(Convolution(filters, jnp.ones(channels), jnp.zeros(channels)))
    return ResNet9(tuple(layers), eqx.nn.Linear(8 * problem.width, 1, key=keys[-1]))


def classify(
    network: ResNet9, pixels: Float[Array, "images side side colours"], known: Statistics | None = None
) -> tuple[Float[Array, " images"], Float[Array, "images features"], Statistics]:
    """Logits, penultimate features, and the statistics that batch norm used: of these images unless they are known."""
    x = jnp.moveaxis(pixels - 0.5, -1, 1)
    used: Statistics = []
    after: dict[int, Array] = {}
    for index, layer in enumerate(network.convolutions):
        x = jax.vmap(layer.filters)(x)
        mean, variance = known[index] if known else (x.mean((0, 2, 3)), x.var((0, 2, 3)))
        used.append((mean, variance))
        scale = layer.scale / jnp.sqrt(variance + EPSILON)
        x = jax.nn.relu((x - mean[:, None, None]) * scale[:, None, None] + layer.shift[:, None, None])
        if index in POOLED:
            x = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2).max((3, 5))
        if index in RESIDUAL:
            x = x + after[RESIDUAL[index]]
        after[index] = x
    features = x.max((2, 3))
    return jax.vmap(network.head)(features)[:, 0], features, used
