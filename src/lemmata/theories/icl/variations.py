"""One trained network on many kinds of testing prompts: context lengths (P4), shifted patterns (P5), pruning (6.5)."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lemmata.lab.setting import Problem
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.networks.shallow import Network
from lemmata.theories.icl import probes
from lemmata.theories.icl.data import World, draw_prompts, out_of_domain, unseen
from lemmata.theories.icl.network import neurons, run_forward
from lemmata.theories.icl.neurons import ORDERS, RATES, prune
from lemmata.theories.icl.prompts import PRUNE, SEEN, UNSEEN, shifted_patterns, shifted_prompts, testing_prompts
from lemmata.theories.icl.shift import irrelevant_family, reference_family, require_shift
from lemmata.theories.icl.training import train_network

FRACTIONS = (0.2, 0.4, 0.8, 1.0)
LENGTHS = (1, 2, 3, 5, 10, 20, 40)
EXACT_FRACTION = 0.2
BRANCH_A = (45.0, 20.0, 6.35, 0.0, -45.0, -90.0, -135.0)
BRANCH_B = (70.0, 83.65, 135.0, 180.0)
DEFECT = "defect"
"""The shift whose relevant patterns lie in the span of the irrelevant ones."""
SHIFTS = (*(f"{angle:g}" for angle in (*BRANCH_A, *BRANCH_B)), DEFECT)
MOMENTS = ("start", "end")
PRUNED_FRACTIONS = (0.2, 0.4, 0.6, 0.8)


def words(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value:g}" for value in values)


@piece("test_prompts", "include_query", once=True)
def try_contexts(problem: Problem, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """Unseen tasks at every fraction and length; prompts of all lengths fill the same room."""
    key = jax.random.fold_in(stream(key, "test"), UNSEEN)

    def shares(number: Array, fraction: Array, length: Array, mode: str) -> dict[str, Array]:
        prompts = draw_prompts(
            jax.random.fold_in(key, number), world.patterns, world.q, unseen(problem, world.roles), fraction, length,
            count=problem.test_prompts, room=max(LENGTHS), mode=mode,
        )  # fmt: skip
        wrong = prompts.label * run_forward(network, signs, prompts, problem.include_query).output <= 0
        matched = jnp.any(prompts.matches(), axis=1)
        share = lambda chosen: jnp.mean(chosen * 1.0)  # noqa: E731
        return {
            "error": share(wrong),
            "no_match": share(~matched),
            "error_match": share(wrong & matched),
            "error_no_match": share(wrong & ~matched),
        }

    lengths = jnp.asarray(LENGTHS)
    cells = jnp.asarray([[fraction, length] for fraction in FRACTIONS for length in LENGTHS])
    iid = jax.lax.map(lambda c: shares(c[0], c[1][0], c[1][1], "iid"), (jnp.arange(len(cells)), cells))
    exact = jax.lax.map(
        lambda c: shares(c[0], jnp.asarray(EXACT_FRACTION), c[1], "exact"),
        (len(cells) + jnp.arange(len(LENGTHS)), lengths),
    )
    found = {f"iid_{name}": value.reshape(len(FRACTIONS), len(LENGTHS)) for name, value in iid.items()}
    return found | {"exact_error": exact["error"], "prompts": jnp.asarray(problem.test_prompts * 1.0)}


@piece("test_prompts", "test_contexts", "test_mode", "include_query", once=True)
def seen_hinge(problem: Problem, key: jax.Array, network: Network, signs: Array, world: World) -> Array:
    """The hinge loss on seen tasks, by which a run counts as trained."""
    prompts = testing_prompts(problem, key, world, SEEN)
    return probes.scores(run_forward(network, signs, prompts, problem.include_query), prompts)["hinge"]


_SEEN = Variable("seen_hinge", (), "", "hinge loss on seen tasks")
_CELL = ("test_alpha", "length")


@simulation(
    Variable("iid_error", _CELL, "", "sign error on unseen tasks, independent contexts"),
    Variable("iid_no_match", _CELL, "", "share of prompts without a context of the query's pattern"),
    Variable("iid_error_match", _CELL, "", "share of prompts that have a match and the wrong sign"),
    Variable("iid_error_no_match", _CELL, "", "share of prompts that have none and the wrong sign"),
    Variable("exact_error", ("length",), "", "sign error on exact prompts with α' = 0.2"),
    Variable("prompts", (), "", "testing prompts of every cell"),
    _SEEN,
    labels={"test_alpha": words(FRACTIONS), "length": words(LENGTHS)},
)
def vary_contexts(problem: Problem, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train once, test at every context length (P4)."""
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    found = try_contexts(problem, key, trained, signs, world)
    return found | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}


@piece("test_prompts", "test_contexts", "test_mode", "patterns", "dimension", "include_query", once=True)
def try_shifts(
    problem: Problem, key: jax.Array, before: Network, after: Network, signs: Array, world: World
) -> dict[str, Array]:
    """The same draws at every shift: error, hinge and concentration, in total and by the query's pattern."""
    m, dimension = problem.patterns, problem.dimension
    require_shift(m, dimension - m, least=6)
    families = [reference_family(m, dimension, angle) for angle in (*BRANCH_A, *BRANCH_B)]
    odi = families[0][1]
    odr = jnp.asarray(np.stack([odr for odr, _ in families] + [irrelevant_family(m, dimension)]))

    def one(coefficients: Array) -> dict[str, Array]:
        patterns = out_of_domain(world.basis, coefficients, odi, problem.shift_amplitude)
        prompts = shifted_prompts(problem, key, world, patterns)
        found: dict[str, list[Array]] = {}
        for network in (before, after):
            run = run_forward(network, signs, prompts, problem.include_query)
            total, each = probes.scores(run, prompts), probes.scores_by_query(run, prompts, 3)
            for name in each:
                found.setdefault(f"shift_{name}", []).append(total[name].reshape(()))
                found.setdefault(f"query_{name}", []).append(each[name])
        return {name: jnp.stack(values) for name, values in found.items()}

    return {name: jnp.moveaxis(value, 1, 0) for name, value in jax.lax.map(one, odr).items()}


@piece(once=True)
def describe_attention(problem: Problem, network: Network, world: World) -> dict[str, Array]:
    """G^Q and G^K, and which patterns are partners."""
    blocks = probes.pattern_blocks(network, world)
    found = {name: blocks[name] for name in ("query_patterns", "key_patterns")}
    return found | {"partner": probes.partners(world.roles, problem.seen)}


_SHIFT, _QUERY = ("moment", "shift"), ("moment", "shift", "odr")


@simulation(
    Variable("shift_error", _SHIFT, "", "sign error out of domain"),
    Variable("shift_hinge", _SHIFT, "", "hinge loss out of domain"),
    Variable("shift_concentration", _SHIFT, "", "attention on contexts with the query's pattern, out of domain"),
    Variable("query_error", _QUERY, "", "sign error by the query's pattern"),
    Variable("query_hinge", _QUERY, "", "hinge loss by the query's pattern"),
    Variable("query_concentration", _QUERY, "", "attention by the query's pattern"),
    Variable("query_patterns", ("pattern", "other"), "G^Q", "query map on relevant patterns"),
    Variable("key_patterns", ("pattern", "other"), "G^K", "key map on relevant patterns"),
    Variable("partner", ("pattern", "other"), "", "1 where two patterns form a training task"),
    _SEEN,
    labels={"moment": MOMENTS, "shift": SHIFTS, "odr": ("μ'_1", "μ'_2", "μ'_3")},
)
def vary_shift(problem: Problem, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train once, test at every shift of the patterns (P5)."""
    world, network, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    return {
        **try_shifts(problem, key, network, trained, signs, world),
        **describe_attention(problem, trained, world),
        "seen_hinge": seen_hinge(problem, key, trained, signs, world),
    }


@piece("test_prompts", "test_contexts", "test_mode", "include_query", "patterns", "irrelevant", once=True)
def try_pruning(problem: Problem, key: jax.Array, network: Network, signs: Array, world: World) -> dict[str, Array]:
    """Pruned by the row norms of W_O, out of domain, at every fraction (the same neurons everywhere)."""
    require_shift(problem.patterns, problem.irrelevant)
    patterns = shifted_patterns(problem, world)
    norms = jnp.linalg.norm(network.output, axis=1)

    def one(fraction: Array) -> dict[str, Array]:
        prompts = shifted_prompts(problem, key, world, patterns, fraction)
        run = run_forward(network, signs, prompts, problem.include_query)
        return prune(jax.random.fold_in(stream(key, "test"), PRUNE), neurons(network), norms, signs, run, prompts)

    found = jax.lax.map(one, jnp.asarray(PRUNED_FRACTIONS))
    return {name: found[name] for name in ("pruned_hinge", "pruned_error")} | {"output_norm": jnp.sort(norms)}


_PRUNED = ("test_alpha", "order", "rate")


@simulation(
    Variable("pruned_hinge", _PRUNED, "", "hinge loss after pruning, out of domain", True),
    Variable("pruned_error", _PRUNED, "", "sign error after pruning, out of domain", True),
    Variable("output_norm", ("neuron",), "‖W_O,i‖", "norms of the rows of W_O, sorted"),
    _SEEN,
    labels={"test_alpha": words(PRUNED_FRACTIONS), "order": ORDERS, "rate": words(RATES)},
)
def vary_pruning(problem: Problem, key: jax.Array, prepared: None = None) -> dict[str, Array]:
    """Train once, prune in every order and rate, test out of domain (figure 6.5)."""
    world, _, signs, run = train_network(problem, key)
    trained: Network = run.state.parameters
    found = try_pruning(problem, key, trained, signs, world)
    return found | {"seen_hinge": seen_hinge(problem, key, trained, signs, world)}
