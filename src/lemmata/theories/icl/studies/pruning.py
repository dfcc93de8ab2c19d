"""A trained network without some of its neurons, on patterns out of domain (figure 6.5)."""

from __future__ import annotations

import jax
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import draw_shifted, require_shiftable
from lemmata.theories.icl.neurons import ORDERS, RATE_LABELS
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import SEEN_HINGE, prune_network, seen_hinge, train_network


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
    pruned = prune_network(problem, key, trained, signs, draw_shifted(problem, key, world)[0], 1)
    tested = {name: pruned[name] for name in ("pruned_hinge", "pruned_error", "output_norm")}
    return tested | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}
