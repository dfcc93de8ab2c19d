"""A trained network on testing prompts of one kind: context lengths (P4), shifted patterns (P5), pruning (6.5).

How it is tested (`test_fraction`, `test_contexts`, `test_mode`, `angle`, `defect`) are fields of the setting. The seed
draws the same prompts whatever they are, as far as they can be the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array

from lemmata.lab.errors import UserError
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.networks.shallow import Network
from lemmata.theories.icl import probes
from lemmata.theories.icl.data import World, draw_prompts, seen
from lemmata.theories.icl.network import neurons, run_forward
from lemmata.theories.icl.neurons import ORDERS, RATES, prune
from lemmata.theories.icl.prompts import PRUNE, SEEN, UNSEEN, shifted_patterns, shifted_prompts, testing_prompts
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.shift import require_shift
from lemmata.theories.icl.training import train_network

MOMENTS = ("start", "end")


def words(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value:g}" for value in values)


def require_outside(problem: Setting) -> None:
    """Refuse a setting that has no prompts out of domain."""
    if not problem.shiftable:
        require_shift(problem.patterns, problem.irrelevant)
        raise UserError(
            f"class_size = {problem.class_size} is not allowed here: out of domain classes have one pattern."
        )


@piece("test_prompts", "context_room", "include_query", once=True)
def seen_hinge(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> Array:
    """The hinge loss on seen tasks with the contexts of training: a run counts as trained however it is tested."""
    prompts = draw_prompts(
        jax.random.fold_in(stream(key, "test"), SEEN),
        world.patterns, world.q, seen(problem, world.roles), problem.fraction, problem.contexts,
        count=problem.test_prompts, room=problem.context_room,
    )  # fmt: skip
    return probes.scores(run_forward(network, signs, prompts, problem.include_query), prompts)["hinge"]


SEEN_HINGE = Variable("seen_hinge", (), "", "hinge loss on seen tasks, with the contexts of training")


@piece("test_prompts", "test_context_room", "test_mode", "include_query", once=True)
def try_contexts(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """Errors on unseen tasks, with and without a match."""
    prompts = testing_prompts(problem, key, world, UNSEEN)
    found = probes.scores(run_forward(network, signs, prompts, problem.include_query), prompts)
    tested = ("error", "hinge", "no_match", "error_match", "error_no_match")
    return {f"unseen_{name}": found[name] for name in tested} | {"prompts": jnp.asarray(problem.test_prompts * 1.0)}


@simulation(
    Variable("unseen_error", (), "", "sign error on unseen tasks"),
    Variable("unseen_hinge", (), "", "hinge loss on unseen tasks"),
    Variable("unseen_no_match", (), "", "share of these prompts without a context of the query's pattern"),
    Variable("unseen_error_match", (), "", "sign error on those with one", True),
    Variable("unseen_error_no_match", (), "", "sign error on those without", True),
    Variable("prompts", (), "", "testing prompts"),
    SEEN_HINGE,
)
def answer_prompts(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on unseen tasks (P4)."""
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    found = try_contexts(problem, key, trained, signs, world)
    return found | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}


@piece("test_prompts", "test_context_room", "test_mode", "include_query", once=True)
def try_shift(
    problem: Setting, key: jax.Array, before: Network, after: Network, signs: Array, world: World
) -> dict[str, Array]:
    """Error, hinge and concentration out of domain, in total and by the query's pattern, before and after training."""
    patterns = shifted_patterns(problem, world)
    prompts = shifted_prompts(problem, key, world, patterns)
    found: dict[str, list[Array]] = {}
    for network in (before, after):
        run = run_forward(network, signs, prompts, problem.include_query)
        total, each = probes.scores(run, prompts), probes.scores_by_query(run, prompts, patterns.relevant.shape[1])
        for name in each:
            found.setdefault(f"shift_{name}", []).append(total[name].reshape(()))
            found.setdefault(f"query_{name}", []).append(each[name])
    return {name: jnp.stack(values) for name, values in found.items()}


@piece(once=True)
def describe_attention(problem: Setting, network: Network, world: World) -> dict[str, Array]:
    """G^Q and G^K, and which patterns are partners."""
    blocks = probes.pattern_blocks(network, world)
    found = {name: blocks[name] for name in ("query_patterns", "key_patterns")}
    return found | {"partner": probes.partners(world.roles, problem.seen)}


@simulation(
    Variable("shift_error", ("moment",), "", "sign error out of domain"),
    Variable("shift_hinge", ("moment",), "", "hinge loss out of domain"),
    Variable("shift_concentration", ("moment",), "", "attention on contexts with the query's pattern, out of domain"),
    Variable("query_error", ("moment", "odr"), "", "sign error by the query's pattern"),
    Variable("query_hinge", ("moment", "odr"), "", "hinge loss by the query's pattern"),
    Variable("query_concentration", ("moment", "odr"), "", "attention by the query's pattern"),
    Variable("query_patterns", ("pattern", "other"), "G^Q", "query map on relevant patterns"),
    Variable("key_patterns", ("pattern", "other"), "G^K", "key map on relevant patterns"),
    Variable("partner", ("pattern", "other"), "", "1 where two patterns form a training task"),
    SEEN_HINGE,
    labels={"moment": MOMENTS},
)
def shift_patterns(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, and test on shifted patterns (P5)."""
    require_outside(problem)
    world, network, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    return {
        **try_shift(problem, key, network, trained, signs, world),
        **describe_attention(problem, trained, world),
        "seen_hinge": seen_hinge(problem, key, trained, signs, world),
    }


@piece("test_prompts", "test_context_room", "test_mode", "include_query", once=True)
def try_pruning(problem: Setting, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """Pruned by the row norms of W_O, out of domain."""
    prompts = shifted_prompts(problem, key, world, shifted_patterns(problem, world))
    run = run_forward(network, signs, prompts, problem.include_query)
    norms = jnp.linalg.norm(network.output, axis=1)
    found = prune(jax.random.fold_in(stream(key, "test"), PRUNE), neurons(network), norms, signs, run, prompts)
    return {name: found[name] for name in ("pruned_hinge", "pruned_error")} | {"output_norm": jnp.sort(norms)}


@simulation(
    Variable("pruned_hinge", ("order", "rate"), "", "hinge loss after pruning, out of domain", True),
    Variable("pruned_error", ("order", "rate"), "", "sign error after pruning, out of domain", True),
    Variable("output_norm", ("neuron",), "‖W_O,i‖", "norms of the rows of W_O, sorted"),
    SEEN_HINGE,
    labels={"order": ORDERS, "rate": words(RATES)},
)
def prune_neurons(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train, prune in every order and rate, and test out of domain (figure 6.5)."""
    require_outside(problem)
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    found = try_pruning(problem, key, trained, signs, world)
    return found | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}
