"""Lucky neurons of a random network (P11): one prompt of each label per draw, no training."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import World, draw_prompts, draw_world, seen
from lemmata.theories.icl.network import initialise, run_forward
from lemmata.theories.icl.neurons import SIGNS, find_lucky
from lemmata.theories.icl.setting import Setting


@lm.piece("context_capacity", "include_query", once=True)
def count_lucky(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """|W_n| of a +1 prompt and |U_n| of a -1 prompt, with and without the condition on the sign of a_i."""
    test, tasks, sizes = lm.stream(key, "test"), seen(problem, world.roles), (problem.fraction, problem.contexts)
    prompts = draw_prompts(test, world.patterns, world.q, tasks, *sizes, count=2, room=problem.context_capacity)
    run = run_forward(network, signs, prompts, problem.include_query)
    lucky = find_lucky(network, signs, prompts, run, world)
    return {
        "lucky": jnp.sum(lucky.own, axis=1) * 1.0,
        "unsigned_lucky": jnp.sum(lucky.unsigned, axis=1) * 1.0,
        "width": jnp.asarray(signs.shape[0] * 1.0),
    }


@lm.simulation(
    lm.Variable("lucky", ("sign",), "|W_n|, |U_n|", "lucky neurons of a +1 and of a -1 prompt"),
    lm.Variable("unsigned_lucky", ("sign",), "", "the same without the condition on the sign of a_i"),
    lm.Variable("width", (), "m", "hidden neurons"),
    labels={"sign": SIGNS},
)
def draw_lucky(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Lucky neurons at initialisation."""
    return count_lucky(problem, key, *initialise(problem, key), draw_world(problem, key))
