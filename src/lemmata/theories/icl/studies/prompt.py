"""One short prompt and what a trained network makes of it (figure 6.1)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import World, draw_prompts, unseen
from lemmata.theories.icl.network import run_forward
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import train_network

LENGTH, FRACTION = 3, 2 / 3


@lm.piece("include_query", once=True)
def show_prompt(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """An exact prompt of an unseen task: one context with the query's pattern, one with the other decisive one."""
    test, tasks = lm.stream(key, "test"), unseen(problem, world.roles)
    prompt = draw_prompts(test, world.patterns, world.q, tasks, FRACTION, LENGTH, count=1, room=LENGTH, mode="exact")
    run = run_forward(network, signs, prompt, problem.include_query)
    dimension = world.basis.shape[0]
    inputs = jnp.concatenate([prompt.contexts[0], prompt.query])[:, :dimension]
    return {
        "coefficients": inputs @ world.basis / problem.pattern_norm**2,
        "context_label": prompt.context_label[0],
        "attention": run.attention[0][0, 0, :LENGTH],
        "label": prompt.label[0],
        "output": run.output[0],
    }


@lm.simulation(
    lm.Variable(
        "coefficients", ("input", "basis_pattern"), "", "every input as a combination of all patterns, query last"
    ),
    lm.Variable("context_label", ("context",), "f(x_i)", "labels of the contexts"),
    lm.Variable("attention", ("context",), "attn_i", "attention of the query on the contexts"),
    lm.Variable("label", (), "z", "label of the query"),
    lm.Variable("output", (), "F", "output of the network"),
)
def illustrate(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and look at one prompt."""
    world, _, signs, run = train_network(problem, key)
    return show_prompt(problem, key, run.state.parameters, signs, world)
