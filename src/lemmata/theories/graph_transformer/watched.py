"""What training is watched on: the nodes to evaluate, their fixed samples, and losses and accuracies (probe 8)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lemmata.lab.simulation import piece, stream
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Pass
from lemmata.theories.graph_transformer.data import World
from lemmata.theories.graph_transformer.network import Parameters, Tokens, run_full, run_sampled
from lemmata.theories.graph_transformer.sampling import draw_tokens
from lemmata.theories.graph_transformer.setting import Setting

LOSS = hinge()
"""All reported losses have margin 1, whatever the training loss."""


class Watched(NamedTuple):
    """Evaluated nodes (the order from `test_from` on), which of them are labelled or tested, and their samples."""

    node: Int[Array, " rows"]
    labelled: Bool[Array, " rows"]
    tested: Bool[Array, " rows"]
    keys: Int[Array, "draws rows keys"]
    weight: Float[Array, "draws rows keys"]


@piece("test_from", "test_draws", "sample", "draw", "include_self", "per_shell", "extra", "bin_room", once=True)
def draw_watched(problem: Setting, key: jax.Array, world: World, encoding: Array | None = None) -> Watched:
    """The nodes and their samples; the seed of the samples is the test's own. `encoding`: b, where it is sampled by."""
    place = jnp.arange(problem.test_from, world.order.shape[0])
    node = world.order[problem.test_from :]
    b = jnp.zeros(problem.bin_room) if encoding is None else encoding
    keys = jax.random.split(stream(key, "test"), problem.test_draws)
    drawn = [draw_tokens(problem, k, world, node, b) for k in keys]
    labelled = place < problem.labelled
    return Watched(node, labelled, ~labelled, *(jnp.stack(parts) for parts in zip(*drawn, strict=True)))


def tokens_of(world: Any, rows: Array, keys: Array, weight: Array, bins: Any) -> Tokens:
    """Rows of nodes with their keys as the network reads them; `world` has features and a table, `bins` is Z."""
    far = jnp.minimum(world.table[rows[:, None], keys].astype(jnp.int32), bins - 1)
    return Tokens(world.features[rows], world.features[keys], weight, far)


def all_tokens(problem: Setting, world: World, watched: Watched) -> Tokens:
    """Every draw of every watched node as a row, draw after draw."""
    draws, _, width = watched.keys.shape
    nodes = jnp.tile(watched.node, draws)
    return tokens_of(world, nodes, watched.keys.reshape(-1, width), watched.weight.reshape(-1, width), problem.bins)


def sampled(problem: Setting, parameters: Parameters, signs: Array, tokens: Tokens) -> Pass:
    return run_sampled(parameters, signs, tokens, problem.scores)


def full(problem: Setting, parameters: Parameters, signs: Array, world: World, watched: Watched) -> Pass:
    """All nodes of the sampler's shells as keys, and the node itself."""
    distance = world.table[watched.node].astype(jnp.int32)
    allowed = (distance >= world.nearest) & (distance <= world.farthest)
    alone = (world.count[watched.node] == 0)[:, None] | problem.include_self
    allowed = jnp.where(jnp.arange(distance.shape[1]) == watched.node[:, None], alone, allowed)
    bins = jnp.minimum(distance, problem.bins - 1)
    return run_full(parameters, signs, world.features[watched.node], world.features, bins, allowed, problem.scores)


def mean_over(
    values: Float[Array, "draws rows"] | Bool[Array, "draws rows"], chosen: Bool[Array, " rows"]
) -> Float[Array, ""]:
    """The mean over draws and chosen rows; NaN without any."""
    return jnp.sum(jnp.where(chosen, values, 0.0)) / (jnp.sum(chosen) * values.shape[0])


def losses(world: World, watched: Watched, answer: Float[Array, "draws rows"]) -> dict[str, Array]:
    """Hinge losses and accuracies; `other`: on nodes that are not discriminative. F = 0 counts as wrong."""
    label, clean = world.label[watched.node], world.clean[watched.node]
    other = world.pattern[watched.node] >= 2
    loss, right = LOSS.value(label * answer), (label * answer > 0).astype(answer.dtype)
    clean_loss = LOSS.value(clean * answer)
    return {
        "loss": mean_over(loss, watched.tested),
        "other_loss": mean_over(loss, watched.tested & other),
        "marked_loss": mean_over(loss, watched.tested & ~other),
        "clean_loss": mean_over(clean_loss, watched.tested),
        "accuracy": mean_over(right, watched.tested),
        "other_accuracy": mean_over(right, watched.tested & other),
        "train_loss": mean_over(loss, watched.labelled),
        "train_clean_loss": mean_over(clean_loss, watched.labelled),
    }
