"""Which nodes a node attends to (section 4): uniform draws without replacement from ranges of distances, and others.

All nodes are listed once in the order of their distance from each node, so that a shell, several neighbouring ones or
the whole graph is a range of positions in a row of that list, and every sampler draws from ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8, UInt16

from lemmata.theories.graph_transformer.setting import STRATA, Setting

if TYPE_CHECKING:
    from lemmata.theories.graph_transformer.data import World

SAMPLER = ("sample", "draw", "include_self", "per_shell", "extra")
"""What a program knows of the sampler when it is compiled."""


class Ordered(NamedTuple):
    """Row n of `node` lists all nodes by their distance from n (n itself first); shell z begins at `start[n, z]`."""

    node: UInt16[Any, "nodes nodes"]
    start: Int[Any, "nodes distances_and_end"]


def order_by_distance(table: UInt8[np.ndarray, "nodes nodes"], cap: int) -> Ordered:
    """All nodes by distance, from a table of min(distance, cap); ties are in the order of the nodes."""
    nodes = len(table)
    assert nodes <= 2**16, nodes
    node = np.empty((nodes, nodes), np.uint16)
    start = np.zeros((nodes, cap + 2), np.int32)
    for n, row in enumerate(table):
        node[n] = np.argsort(row, kind="stable")
        start[n, 1:] = np.cumsum(np.bincount(row, minlength=cap + 1))
    return Ordered(node, start)


def draw_positions(
    key: jax.Array, count: Int[Array, " rows"], size: int
) -> tuple[Int[Array, "rows size"], Float[Array, "rows size"]]:
    """`size` different positions of 0 .. count - 1, uniformly, for every row; all of them where there are fewer.

    Floyd's method: for j = count - size .. count - 1 a uniform position up to j is taken, or j itself if that one is
    taken already. The weights are 1, and 0 for slots that are not used (whose position is 0).
    """
    few = (count <= size)[:, None]
    slots = jnp.arange(size)
    last = jnp.maximum(count[:, None] - size, 0) + slots
    uniform = jax.random.uniform(key, last.shape)
    wanted = jnp.minimum((uniform * (last + 1)).astype(jnp.int32), last)

    def take(i: jax.Array, taken: Array) -> Array:
        here = jax.lax.dynamic_slice_in_dim(wanted, i, 1, axis=1)
        again = jnp.any((taken == here) & (slots < i), axis=1, keepdims=True)
        here = jnp.where(again, jax.lax.dynamic_slice_in_dim(last, i, 1, axis=1), here)
        return jax.lax.dynamic_update_slice_in_dim(taken, here, i, axis=1)

    drawn = jax.lax.fori_loop(0, size, take, jnp.zeros_like(wanted))
    used = slots < count[:, None]
    positions = jnp.where(few, jnp.where(used, slots, 0), drawn)
    return positions, used.astype(uniform.dtype)


def draw_tokens(
    problem: Setting, key: jax.Array, world: World, rows: Int[Array, " rows"], encoding: Float[Array, " bins"]
) -> tuple[Int[Array, "rows keys"], Float[Array, "rows keys"]]:
    """The nodes that every row attends to, with weights (0: not used), by the setting's sampler.

    The node itself comes first; it is used if `include_self`, and wherever there is no candidate at all.
    """
    first, count = world.first[rows], world.count[rows]
    alone = (count == 0).astype(encoding.dtype)
    own = jnp.maximum(alone, 1.0 if problem.include_self else 0.0)[:, None]
    if problem.draw == "all":
        place = jnp.arange(world.node.shape[1])
        among = (place >= first[:, None]) & (place < (first + count)[:, None])
        weight = jnp.where(place == 0, own, among.astype(own.dtype))
        return world.node[rows].astype(jnp.int32), weight
    others, used = DRAWS[problem.draw](problem, key, world, rows, encoding)
    return jnp.concatenate([rows[:, None], others], axis=1), jnp.concatenate([own, used], axis=1)


def _listed(world: World, rows: Array, positions: Array) -> Array:
    return world.node[rows[:, None], positions].astype(jnp.int32)


def _uniform(problem: Setting, key: jax.Array, world: World, rows: Array, encoding: Array) -> tuple[Array, Array]:
    positions, used = draw_positions(key, world.count[rows], problem.sample)
    return _listed(world, rows, world.first[rows][:, None] + positions), used


def _stratified(problem: Setting, key: jax.Array, world: World, rows: Array, encoding: Array) -> tuple[Array, Array]:
    """`per_shell` nodes of each distance 1 .. reach, and `extra` of the whole graph that were not among them."""
    keys = jax.random.split(key, 1 + STRATA)
    start = world.shell[rows]
    nodes, weights = [], []
    for z in range(1, 1 + STRATA):
        first, count = start[:, z], start[:, z + 1] - start[:, z]
        positions, used = draw_positions(keys[z], jnp.where(z <= problem.reach, count, 0), problem.per_shell)
        nodes.append(_listed(world, rows, first[:, None] + positions))
        weights.append(used)
    if problem.extra:
        count = jnp.full(rows.shape, world.node.shape[1] - 1)
        positions, used = draw_positions(keys[0], count, problem.extra)
        more = _listed(world, rows, 1 + positions)
        drawn, kept = jnp.concatenate(nodes, axis=1), jnp.concatenate(weights, axis=1)
        again = jnp.any((more[:, :, None] == drawn[:, None]) & (kept[:, None] > 0), axis=2)
        nodes.append(more)
        weights.append(jnp.where(again, 0.0, used))
    return jnp.concatenate(nodes, axis=1), jnp.concatenate(weights, axis=1)


def _preferred(problem: Setting, world: World, rows: Array) -> tuple[Array, Array]:
    """All nodes in the order of their distance, and the log weight of each: log β if class-relevant, 0, -inf: none."""
    nodes = world.node[rows].astype(jnp.int32)
    relevant = world.pattern[nodes] == ((1 - world.label[rows]) / 2).astype(jnp.int32)[:, None]
    place = jnp.arange(nodes.shape[1])
    first = world.first[rows][:, None]
    among = (place >= first) & (place < first + world.count[rows][:, None])
    return nodes, jnp.where(among, jnp.where(relevant, jnp.log(problem.preference), 0.0), -jnp.inf)


def _biased(problem: Setting, key: jax.Array, world: World, rows: Array, encoding: Array) -> tuple[Array, Array]:
    """With replacement, class-relevant candidates weighted by β (Remark 2: an oracle)."""
    nodes, logits = _preferred(problem, world, rows)
    mass = jnp.cumsum(jnp.exp(logits), axis=1)
    uniform = jax.random.uniform(key, (rows.shape[0], problem.sample)) * mass[:, -1:]
    places = jax.vmap(lambda sums, u: jnp.searchsorted(sums, u, side="right"))(mass, uniform)
    used = jnp.broadcast_to((world.count[rows] > 0)[:, None], places.shape).astype(encoding.dtype)
    return jnp.take_along_axis(nodes, jnp.minimum(places, nodes.shape[1] - 1), axis=1), used


def _weighted_apart(key: jax.Array, nodes: Array, logits: Array, size: int) -> tuple[Array, Array]:
    """Without replacement, one after the other by weight: the largest of logit + Gumbel noise."""
    values, places = jax.lax.top_k(logits + jax.random.gumbel(key, logits.shape), min(size, logits.shape[1]))
    return jnp.take_along_axis(nodes, places, axis=1), jnp.isfinite(values).astype(logits.dtype)


def _biased_apart(problem: Setting, key: jax.Array, world: World, rows: Array, encoding: Array) -> tuple[Array, Array]:
    return _weighted_apart(key, *_preferred(problem, world, rows), problem.sample)


def _encoding(problem: Setting, key: jax.Array, world: World, rows: Array, encoding: Array) -> tuple[Array, Array]:
    """Without replacement, weights e^{b_z}: the encoding itself says which distances to sample."""
    nodes, logits = _preferred(problem, world, rows)
    bins = jnp.minimum(world.table[rows[:, None], nodes].astype(jnp.int32), problem.bins - 1)
    return _weighted_apart(key, nodes, jnp.where(jnp.isfinite(logits), encoding[bins], -jnp.inf), problem.sample)


SAMPLERS = (_uniform, _stratified, _biased, _biased_apart, _encoding)
DRAWS: dict[str, Callable[..., tuple[Array, Array]]] = {draw.__name__[1:]: draw for draw in SAMPLERS}
