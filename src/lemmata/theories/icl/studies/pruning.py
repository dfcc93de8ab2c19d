"""A trained network without some of its neurons, on patterns out of domain (figure 6.5)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import PRUNE, World, require_shiftable, shifted_patterns, shifted_prompts
from lemmata.theories.icl.network import neurons, run_forward
from lemmata.theories.icl.neurons import ORDERS, RATE_LABELS, prune
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import SEEN_HINGE, seen_hinge, train_network


@lm.piece("test_prompts", "test_capacity", "test_mode", "include_query", once=True)
def try_pruning(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """Pruned by the row norms of W_O, out of domain."""
    prompts = shifted_prompts(problem, key, world, shifted_patterns(problem, world))
    run = run_forward(network, signs, prompts, problem.include_query)
    norms = jnp.linalg.norm(network.output, axis=1)
    pruned = prune(jax.random.fold_in(lm.stream(key, "test"), PRUNE), neurons(network), norms, signs, run, prompts)
    return {name: pruned[name] for name in ("pruned_hinge", "pruned_error")} | {"output_norm": jnp.sort(norms)}


@lm.simulation(
    lm.Variable("pruned_hinge", ("order", "rate"), "", "hinge loss after pruning, out of domain", True),
    lm.Variable("pruned_error", ("order", "rate"), "", "sign error after pruning, out of domain", True),
    lm.Variable("output_norm", ("neuron",), "‖W_O,i‖", "norms of the rows of W_O, sorted"),
    SEEN_HINGE,
    labels={"order": ORDERS, "rate": RATE_LABELS},
)
def prune_neurons(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, prune in every order and rate, and test out of domain (figure 6.5)."""
    require_shiftable(problem)
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    tested = try_pruning(problem, key, trained, signs, world)
    return tested | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}
