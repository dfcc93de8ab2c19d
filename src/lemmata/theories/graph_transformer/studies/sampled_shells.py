"""Whether a sample of nodes shows every shell as it is (B.182, P19)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.sampling import SAMPLER, draw_tokens
from lemmata.theories.graph_transformer.setting import Setting


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
