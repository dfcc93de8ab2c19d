"""What random samples show: how far a batch gradient lies from the mean one (B.63, P16), by Monte Carlo over nodes;
the oracle sampler of Remark 2 (P6); whether a sample shows every shell as it is (B.182, P19)."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, tokens_of
from lemmata.theories.graph_transformer.probes import Watched
from lemmata.theories.graph_transformer.sampling import SAMPLER, draw_tokens
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import simulate, train_network

BATCHES = (25, 50, 100, 200, 400)
DRAWS = 200
LIMIT = 0.5
"""ε: the relative deviation whose frequency is compared with e^{-B ε²}."""
PARTS = ("W_O", "W_V", "W_K", "W_Q", "b")
MOMENTS = ("start", "later")
COUNT = 200
"""Non-discriminative nodes on which the ratio is measured."""
DIMS = ("moment", "part", "size")


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
    parts = (*each.network, each.encoding)
    return {name: part.reshape(part.shape[0], -1) for name, part in zip(PARTS, parts, strict=True)}


@lm.piece("test_draws")
def deviate(
    problem: Setting, key: jax.Array, moments: list[Parameters], signs: Array, world: World, watched: Watched
) -> dict[str, Float[Array, "moment part batch"]]:
    """Mean relative deviation of batches drawn with replacement, how often it exceeds ε; that of B copies of a node."""
    keys = jax.vmap(partial(jax.random.fold_in, lm.stream(key, "sampler")))(jnp.arange(len(moments)))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *moments)
    return jax.lax.map(lambda now: deviate_now(problem, now[0], now[1], signs, world, watched), (keys, stacked))


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


def preferred_ratio(confusion: float, preference: float) -> float:
    """ε_S' = ε_S / (ε_S + β (1 - ε_S)), exact for sampling with replacement."""
    return confusion / (confusion + preference * (1 - confusion))


@lm.piece(*SAMPLER, "bin_room", once=True)
def sampled_ratios(problem: Setting, key: jax.Array, world: World) -> Float[Array, " watched"]:
    """|S_# ∩ N_zm| / |(S_* ∪ S_#) ∩ N_zm| of one sample of every node (3.7); NaN without a decisive node."""
    last = jnp.argsort(world.pattern[world.order] < 2, stable=True)
    rows = world.order[last[: min(COUNT, last.shape[0])]]
    keys, weight = draw_tokens(problem, lm.stream(key, "sampler"), world, rows, jnp.zeros(problem.bin_room))
    core = weight * (world.table[rows[:, None], keys] == world.core)
    own = ((1 - world.label[rows]) / 2).astype(jnp.int32)[:, None]
    relevant, confusing = (jnp.sum(core * (world.pattern[keys] == kind), axis=1) for kind in (own, 1 - own))
    return jnp.where(world.pattern[rows] >= 2, confusing / (relevant + confusing), jnp.nan)


@lm.simulation(
    *simulate.variables,
    lm.Variable("node_ratio", ("watched",), "ε_S'", "confusion ratio of one sample of a node", True),
    labels=simulate.labels,
    prepare=prepare,
)
def simulate_sampler(problem: Setting, key: jax.Array, world: World) -> dict[str, Array]:
    """One run, and the confusion ratios of its sampler."""
    return {**simulate.run(problem, key, world), "node_ratio": sampled_ratios(problem, key, world)}


@lm.piece(*SAMPLER, "patterns", once=True)
def violations(problem: Setting, key: jax.Array, world: World) -> Float[Array, ""]:
    """The share of (node, pattern, z in {1, 2}) with | |S_i ∩ N_z|/|S| - |D_i ∩ N_z|/N | > √(log|S|/|S|) (B.182)."""
    nodes = world.order.shape[0]
    rows = jnp.arange(nodes)
    keys, weight = draw_tokens(problem, lm.stream(key, "sampler"), world, rows, jnp.zeros(1))
    limit = jnp.sqrt(jnp.log(problem.sample) / problem.sample)
    kind = jax.nn.one_hot(world.pattern, problem.patterns)
    outside = []
    for z in (1, 2):
        sampled = jnp.einsum("nk,nkp->np", weight * (world.table[rows[:, None], keys] == z), kind[keys])
        outside.append(jnp.abs(sampled / problem.sample - (world.table == z) @ kind / nodes) > limit)
    return jnp.mean(jnp.stack(outside))


@lm.simulation(
    lm.Variable("violating_share", (), "", "share of (node, pattern, distance) outside (B.182)"), prepare=prepare
)
def sample_shells(problem: Setting, key: jax.Array, world: World) -> dict[str, Array]:
    return {"violating_share": violations(problem, key, world)}
