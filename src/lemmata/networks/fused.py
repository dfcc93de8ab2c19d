"""The gradient of `lemmata.networks.shallow` on a GPU in two kernels, with no hidden layer in memory.

For one head whose queries are the tokens: with c_l the share of token l, v_l = c_l xbar_l and signs a_(l), one program
per sample computes, the neurons in tiles that never leave the chip,

    w_l = softmax_s(x_s^T G x_l),   xbar_l = sum_s w_ls x_s,   u_l = a_(l) 1[A v_l > 0],   p_l = A^T u_l,
    F = sum_l p_l^T v_l,   dF/dG = sum_l c_l h_l x_l^T,   h_l = sum_s w_ls (x_s^T p_l - xbar_l^T p_l) x_s,

and one program per tile of neurons dL/dA = sum_n slope_n(F) sum_l u_l v_l^T, with the gates computed once more. A gate
does not change when its token is scaled, so v_l, all that the second kernel needs, gives it too; tokens without a share
have none, and so have neurons and tokens that only fill a tile.

Products have the accuracy of float32 on units for float16: a matrix, scaled by a power of two, is the sum of two
float16 matrices (11 bits each, and a sign) up to 2^-23 of an entry, a unit in its last place, or 2^-38 of the largest;
of the four products of such parts that of the two small ones, at most 2^-22, is left out. A gate without its sign is 0
or 1, exact in float16.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.lab import devices

LONGEST, WIDEST = 128, 64
"""Tokens and dimension whose tiles fit into the shared memory of a program."""

SHORTEST = 8
"""Shorter sequences leave most of a tile of 16 tokens empty: on an H200, 200 runs at L = 5, m = 100, n = 100 take 1.92
microseconds a step and run against 0.78 of plain JAX; at L = 8, m = 1000, n = 20 it is 1.56 against 1.78."""

CAPABILITIES = ("9.0", "10.0")
"""CUDA devices with 227 KiB of shared memory for a program; measured on the first."""

LARGEST = 2.0**13
"""What the largest entry of a matrix is scaled to, up to a factor of two: the small part then keeps its bits."""

WARPS, STAGES = 4, 3
"""On an H200 at m = 1000, L = 50, d = 10 a step takes 1.6 microseconds; with eight warps 4.3, with two stages 1.9, with
four 1.7."""

route = jax.make_user_context("auto")
"""`with route(...)`: "auto" (fused where it is faster), "plain" (never), "fused" (anywhere), "interpret" (emulated)."""


class Pair(NamedTuple):
    """scale (high + low), two float16 matrices."""

    high: Any
    low: Any
    scale: Any


def applies(output: Array, signs: Array, tokens: Array) -> bool:
    """Whether the kernels take the place of plain JAX, for one head without skip connection or other queries."""
    _, length, dimension = tokens.shape
    fits = signs.shape[:-1] in ((), (length,)) and length <= LONGEST and dimension <= WIDEST
    single = all(array.dtype == jnp.float32 for array in (output, signs, tokens))
    if route.value != "auto":
        return route.value != "plain" and fits and single
    able = getattr(devices.device(), "compute_capability", "") in CAPABILITIES
    return fits and single and able and length >= SHORTEST


def split(matrix: Array, by_row: bool = False) -> Pair:
    """A float32 matrix as a pair, with one scale or one for each row."""
    largest = jnp.max(jnp.abs(matrix), axis=-1)
    largest = jnp.maximum(largest[:, None] if by_row else jnp.max(largest, axis=-1), 2.0**-100)
    power = _float(_bits(largest) & 0x7F800000)
    scaled = matrix * (LARGEST / power)
    # the nearest number of 11 bits; a conversion to float16 and back would be optimised away outside of the kernels
    high = _float((_bits(scaled) + 0x1000) & -0x2000)
    return Pair(high.astype(jnp.float16), (scaled - high).astype(jnp.float16), power / LARGEST)


def _bits(array: Array) -> Array:
    return jax.lax.bitcast_convert_type(array, jnp.int32)


def _float(bits: Array) -> Array:
    return jax.lax.bitcast_convert_type(bits, jnp.float32)


def _dot(left: Array, right: Array, axes: tuple[int, int]) -> Array:
    return jax.lax.dot_general(left, right, ((axes[:1], axes[1:]), ((), ())), preferred_element_type=jnp.float32)


def _unscaled(left: Pair, right: Pair, axes: tuple[int, int]) -> Array:
    small = _dot(left.low, right.high, axes) + _dot(left.high, right.low, axes)
    return small + _dot(left.high, right.high, axes)


def _product(left: Pair, right: Pair, axes: tuple[int, int] = (1, 0)) -> Array:
    """The product of two pairs over the given axes, in float32."""
    return _unscaled(left, right, axes) * (left.scale * right.scale)


def _gated(hidden: Array, signs: Pair | None, values: Pair) -> Array:
    """sum_j a_ij 1[hidden_ij > 0] value_j without its scale; signs None: without a_ij."""
    on = hidden > 0
    if signs is None:
        gate = jnp.where(on, 1.0, 0.0).astype(jnp.float16)
        return _dot(gate, values.low, (1, 0)) + _dot(gate, values.high, (1, 0))
    high, low = (jnp.where(on, part, jnp.zeros_like(part)) for part in signs[:2])
    return _unscaled(Pair(high, low, None), values, (1, 0))


def _sample(
    tile: int, x_ref: Any, weight_ref: Any, g_ref: Any, a: Pair, b: Pair | None, signs: Pair | None, scale: Any,
    f_ref: Any, v_ref: Pair, dg_ref: Any,
) -> None:  # fmt: skip
    """The forward pass of a sample and its dF/dG; either `b` has the neurons with their signs, or `signs` has these."""
    from jax.experimental import pallas as pl

    weight = weight_ref[...]
    present, share = weight > 0, weight / jnp.sum(weight, axis=0)
    x = split(jnp.where(present[:, None], x_ref[...], 0.0))  # a masked token has no part in the scale
    inner = _product(split(_product(x, split(g_ref[...]), (1, 1)), by_row=True), x, (1, 1))  # x_s^T G x_l
    logits = jnp.where(present[None, :], inner, -jnp.inf)
    mass = weight[None, :] * jnp.exp(logits - jnp.max(logits, axis=1)[:, None])
    w = mass / jnp.sum(mass, axis=1)[:, None]
    value = share[:, None] * _product(split(w, by_row=True), x)  # v_l
    v = split(value)

    def add(index: Array, pull: Array) -> Array:
        here = pl.ds(index * tile, tile)
        near = Pair(a.high[here, :], a.low[here, :], None)
        gate = None if signs is None else Pair(signs.high[:, here], signs.low[:, here], None)
        aimed = near if b is None else Pair(b.high[here, :], b.low[here, :], None)
        return pull + scale[0] * _gated(_unscaled(v, near, (1, 1)), gate, aimed)

    pull = jax.lax.fori_loop(0, a.high.shape[0] // tile, add, jnp.zeros_like(value))  # p_l
    f_ref[...] = jnp.sum(pull * value, axis=1)
    v_ref.high[...], v_ref.low[...], v_ref.scale[0] = v
    scores = _product(split(pull, by_row=True), x, (1, 1))  # x_s^T p_l
    tilted = w * (scores - jnp.sum(w * scores, axis=1)[:, None])
    h = share[:, None] * _product(split(tilted, by_row=True), x)  # c_l h_l
    dg_ref[...] = _product(split(h), x, (0, 0))


def _neurons(a: Pair, v: Pair, signs: Pair | None, push_ref: Any, da_ref: Any) -> None:
    """dL/dA of a tile of neurons, without their signs unless `signs` has them; push: slope_n, times the scale of v."""
    rows = Pair(a.high[...], a.low[...], None)
    gate = None if signs is None else Pair(signs.high[...].T, signs.low[...].T, None)

    def add(sample: Array, total: Array) -> Array:
        value = Pair(v.high[sample], v.low[sample], None)
        return total + push_ref[sample] * _gated(_unscaled(rows, value, (1, 1)), gate, value)

    da_ref[...] = jax.lax.fori_loop(0, v.high.shape[0], add, jnp.zeros(da_ref.shape, jnp.float32))


def _room(size: int) -> int:
    """A tile's side: a power of two, and what a product on the matrix units needs at least."""
    return max(16, 1 << (size - 1).bit_length())


def _padded(array: Array, *shape: int) -> Array:
    return jnp.pad(array, [(0, size - own) for size, own in zip(shape, array.shape, strict=True)])


def gradient(
    a: Float[Array, "neurons dimension"],
    g: Float[Array, "dimension dimension"],
    signs: Float[Array, "*tokens neurons"],
    tokens: Float[Array, "samples tokens dimension"],
    weight: Float[Array, "samples tokens"],
    slope: Callable[[Float[Array, " samples"]], Float[Array, " samples"]],
) -> tuple[Float[Array, "neurons dimension"], Float[Array, "dimension dimension"]]:
    """sum_n slope_n(F) dF(X_n)/dA and sum_n slope_n(F) dF(X_n)/dG."""
    from jax.experimental import pallas as pl  # here, since it takes 0.4 s to import and a CPU does without
    from jax.experimental.pallas import triton

    (samples, length, dimension), neurons = tokens.shape, a.shape[0]
    rows, columns = _room(length), _room(dimension)
    shared = signs.ndim == 1
    # three stages of the larger tile do not fit at d = 64, nor beside the signs of 128 tokens
    forward_tile = min(128 if shared and columns < WIDEST else 64, _room(neurons))
    tile = min(64, _room(neurons))
    width = -(-neurons // forward_tile) * forward_tile

    maps = split(_padded(a, width, columns))
    signed, layer = None, None
    if shared:
        signed = split(_padded(signs[:, None] * a, width, columns))
        scale = signed.scale
    else:
        layer = split(_padded(signs, rows, width))
        scale = maps.scale * layer.scale

    def whole(*shape: int) -> pl.BlockSpec:
        return pl.BlockSpec(shape, lambda _: (0,) * len(shape))

    def each(*shape: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, *shape), lambda n: (n,) + (0,) * len(shape))

    def parts(pair: Pair | None) -> Pair | None:
        return pair and pair._replace(scale=None)

    def array(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype)

    compiler = triton.CompilerParams(num_warps=WARPS, num_stages=STAGES)
    call = functools.partial(pl.pallas_call, compiler_params=compiler, interpret=route.value == "interpret")
    half = array(samples, rows, columns, dtype=jnp.float16)
    strip, number = whole(width, columns), pl.BlockSpec((1,), lambda n: (n,))
    f, v, d_g = call(
        functools.partial(_sample, forward_tile),
        name="shallow_sample",
        grid=(samples,),
        in_specs=(each(rows, columns), each(rows), whole(columns, columns), Pair(strip, strip, None),
                  signed and Pair(strip, strip, None),
                  layer and Pair(whole(rows, width), whole(rows, width), None), whole(1)),
        out_specs=(each(rows), Pair(each(rows, columns), each(rows, columns), number), each(columns, columns)),
        out_shape=(array(samples, rows), Pair(half, half, array(samples)), array(samples, columns, columns)),
    )(_padded(tokens, samples, rows, columns), _padded(weight, samples, rows), _padded(g, columns, columns),
      parts(maps), parts(signed), parts(layer), scale[None])  # fmt: skip

    push = slope(jnp.sum(f, axis=-1))
    strip, everything = pl.BlockSpec((tile, columns), lambda i: (i, 0)), whole(samples, rows, columns)
    signs_tile = pl.BlockSpec((rows, tile), lambda i: (0, i))
    d_a = call(
        _neurons,
        name="shallow_neurons",
        grid=(width // tile,),
        in_specs=(Pair(strip, strip, None), Pair(everything, everything, None),
                  layer and Pair(signs_tile, signs_tile, None), whole(samples)),
        out_specs=strip,
        out_shape=array(width, columns),
    )(parts(maps), parts(v), parts(layer), push * v.scale * (1.0 if layer is None else layer.scale))  # fmt: skip
    d_a = d_a[:neurons, :dimension]
    return signs[:, None] * d_a if shared else d_a, jnp.sum(push[:, None, None] * d_g, axis=0)[:dimension, :dimension]
