"""What a training step of the shallow vision transformer must move and compute, and how fast this device can."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp

from lemmata.theories.vit import Setting

MEMORY, SINGLE, TENSOR, HALF = "memory", "products in float32", "products in tf32", "products of float16 parts"
SIDE, COPIED, CALLS, ROUNDS = 8192, 2**29, 5, 5
"""Side of the matrices that are multiplied, entries that are copied; the best of the rounds of so many calls counts."""


def work(setting: Setting) -> dict[str, tuple[float, str]]:
    """Bytes and operations of one run and step, from the sizes.

    The network is read and written, the batch read. Head: A xbar, A^T u and u xbar^T; attention: logits, mixtures,
    scores and tilts, x^T G and dG; weights: A = W_O W_V, G = W_K^T W_Q and their chain rule. The kernels make three
    products of parts for one, two where a factor is a gate, and those of A xbar twice.
    """
    n, length, m = setting.batch or setting.samples, setting.tokens, setting.neurons
    d, v, k = setting.dimension, setting.value_width, setting.key_width
    moved = 4 * (2 * (m * v + v * d + 2 * k * d) + n * length * (d + 1) + n)
    layer = 2 * n * length * m * d
    attention = 2 * n * length * (4 * length * d + 2 * d * d)
    weights = 3 * 2 * (m * v * d + k * d * d)
    operations = 3 * layer + attention + weights
    parts = (2 * 3 + 2 + 2) * layer + 3 * attention
    return {MEMORY: (moved, "B"), SINGLE: (operations, "FLOP"), TENSOR: (operations, "FLOP"), HALF: (parts, "FLOP")}


def ceilings() -> dict[str, float]:
    """Bytes per second of a large copy, read and written, and operations per second of large products, measured."""
    left, right = jax.random.normal(jax.random.key(0), (2, SIDE, SIDE), jnp.float32)
    source = jax.random.normal(jax.random.key(1), (COPIED,), jnp.float32)
    presets = {SINGLE: jax.lax.Precision.HIGHEST, TENSOR: jax.lax.DotAlgorithmPreset.TF32_TF32_F32}
    rates = {MEMORY: 2 * source.nbytes / _seconds(jax.jit(lambda x: x + 1), source)}
    for name, precision in presets.items():
        rates[name] = 2 * SIDE**3 / _seconds(jax.jit(lambda a, b, p=precision: jnp.dot(a, b, precision=p)), left, right)
    halves = left.astype(jnp.float16), right.astype(jnp.float16)
    product = jax.jit(lambda a, b: jnp.dot(a, b, preferred_element_type=jnp.float32))
    return rates | {HALF: 2 * SIDE**3 / _seconds(product, *halves)}


def _seconds(function: Callable[..., jax.Array], *arguments: jax.Array) -> float:
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        jax.block_until_ready([function(*arguments) for _ in range(CALLS)])
        times.append((time.perf_counter() - began) / CALLS)
    return min(times)
