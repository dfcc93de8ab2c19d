"""A trained network on testing prompts of other lengths and shares of decisive contexts (P4).

How it is tested (`test_fraction`, `test_contexts`, `test_mode`) are fields of the setting. The seed draws the same
prompts whatever they are, as far as they can be the same.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl import probes
from lemmata.theories.icl.data import UNSEEN, World, testing_prompts
from lemmata.theories.icl.network import run_forward
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import SEEN_HINGE, seen_hinge, train_network


@lm.piece("test_prompts", "test_capacity", "test_mode", "include_query", once=True)
def try_contexts(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """Errors on unseen tasks, with and without a match."""
    prompts = testing_prompts(problem, key, world, UNSEEN)
    scored = probes.scores(run_forward(network, signs, prompts, problem.include_query), prompts)
    tested = ("error", "hinge", "no_match", "error_match", "error_no_match")
    return {f"unseen_{name}": scored[name] for name in tested} | {"prompts": jnp.asarray(problem.test_prompts * 1.0)}


@lm.simulation(
    lm.Variable("unseen_error", (), "", "sign error on unseen tasks"),
    lm.Variable("unseen_hinge", (), "", "hinge loss on unseen tasks"),
    lm.Variable("unseen_no_match", (), "", "share of these prompts without a context of the query's pattern"),
    lm.Variable("unseen_error_match", (), "", "sign error on those with one", True),
    lm.Variable("unseen_error_no_match", (), "", "sign error on those without", True),
    lm.Variable("prompts", (), "", "testing prompts"),
    SEEN_HINGE,
)
def answer_prompts(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on unseen tasks (P4)."""
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    tested = try_contexts(problem, key, trained, signs, world)
    return tested | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}
