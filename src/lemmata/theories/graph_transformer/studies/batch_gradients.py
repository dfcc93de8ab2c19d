"""How far a batch gradient lies from the mean one (B.63, P16), by Monte Carlo over the per-node gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, tokens_of
from lemmata.theories.graph_transformer.probes import Watched
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import train_network

BATCHES = (25, 50, 100, 200, 400)
DRAWS = 200
LIMIT = 0.5
"""ε: the relative deviation whose frequency is compared with e^{-B ε²}."""
PARTS = ("W_O", "W_V", "W_K", "W_Q", "b")
MOMENTS = ("start", "later")


def node_gradients(
    problem: Setting, parameters: Parameters, signs: Array, world: World, watched: Watched
) -> dict[str, Float[Array, "nodes entries"]]:
    """The loss gradient of every watched node with its first sample, one row a node, by part."""
    tokens = tokens_of(world, watched.node, watched.keys[0], watched.weight[0], problem.bins)
    label = world.taught[watched.node]
    loss = hinge(problem.margin)

    def one(token: Tokens, y: Array) -> Parameters:
        alone = jax.tree.map(lambda leaf: leaf[None], token)
        return gradient(parameters, signs, alone, loss.push(y))

    each = jax.vmap(one)(tokens, label)
    network = each.network
    parts = (network.output, network.value, network.key, network.query, each.encoding)
    return {name: part.reshape(part.shape[0], -1) for name, part in zip(PARTS, parts, strict=True)}


@lm.piece("test_draws")
def deviate(
    problem: Setting, key: jax.Array, moments: list[Parameters], signs: Array, world: World, watched: Watched
) -> dict[str, Float[Array, "moment part batch"]]:
    """Mean relative deviation of batches drawn with replacement, how often it exceeds ε; that of B copies of a node."""
    sampler = lm.stream(key, "sampler")

    def one(moment: tuple[Array, Parameters]) -> dict[str, Array]:
        return deviate_now(problem, jax.random.fold_in(sampler, moment[0]), moment[1], signs, world, watched)

    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *moments)
    return jax.lax.map(one, (jnp.arange(len(moments)), stacked))


def deviate_now(
    problem: Setting, key: jax.Array, parameters: Parameters, signs: Array, world: World, watched: Watched
) -> dict[str, Float[Array, "part batch"]]:
    """The same of one network."""
    gradients = node_gradients(problem, parameters, signs, world, watched)
    nodes = watched.node.shape[0]
    known = watched.labelled / jnp.sum(watched.labelled)

    def spread(counts: Float[Array, "draws nodes"], g: Array) -> Array:
        mean = known @ g
        return jnp.linalg.norm(counts @ g - mean, axis=1) / jnp.linalg.norm(mean)

    measured: dict[str, list[Array]] = {"deviation": [], "exceeds": [], "copies": []}
    for size in BATCHES:
        chosen = jax.random.randint(jax.random.fold_in(key, size), (DRAWS, size), 0, problem.labelled)
        counts = jax.vmap(lambda rows: jnp.zeros(nodes).at[rows].add(1.0 / rows.shape[0]))(chosen)
        single = jax.nn.one_hot(chosen[:, 0], nodes)
        relative = jnp.stack([spread(counts, g) for g in gradients.values()])
        measured["deviation"].append(jnp.mean(relative, axis=1))
        measured["exceeds"].append(jnp.mean(relative > LIMIT, axis=1))
        measured["copies"].append(jnp.stack([jnp.mean(spread(single, g)) for g in gradients.values()]))
    return {name: jnp.stack(values, axis=1) for name, values in measured.items()}


DIMS = ("moment", "part", "size")


@lm.simulation(
    lm.Variable("deviation", DIMS, "", "mean relative deviation of a batch gradient"),
    lm.Variable("exceeds", DIMS, "", "share of batches that deviate by more than ε = .5"),
    lm.Variable("copies", DIMS, "", "the same mean deviation for B copies of one node"),
    labels={"moment": MOMENTS, "part": PARTS, "size": tuple(str(b) for b in BATCHES)},
    prepare=prepare,
)
def simulate_batches(problem: Setting, key: jax.Array, world: World) -> dict[str, Array]:
    """Before training and after it."""
    before, signs, watched, run = train_network(problem, key, world)
    return deviate(problem, key, [before, run.state.parameters], signs, world, watched)
