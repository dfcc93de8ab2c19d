"""What is sampled: the oracle sampler of Remark 2 (P6); whether a sample shows every shell as it is (B.182, P19)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.sampling import SAMPLER, draw_tokens
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import simulate

COUNT = 200
"""Non-discriminative nodes on which the ratio is measured."""


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
    ratios = sampled_ratios(problem, key, world)
    return {**simulate.run(problem, key, world), "node_ratio": ratios}


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
    lm.Variable("violating_share", (), "", "share of (node, pattern, distance) outside the interval of (B.182)"),
    prepare=prepare,
)
def sample_shells(problem: Setting, key: jax.Array, world: World) -> dict[str, Array]:
    return {"violating_share": violations(problem, key, world)}
