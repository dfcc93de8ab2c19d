"""The samplers of prompts (2.1 to 2.3, 3.3) against their distributions.

Seeds are fixed, so no test is flaky; a p-value must exceed one in ten thousand. Patterns are canonical unless the basis
itself is in question, so that every pattern index and amplitude can be read off an input.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import math
from typing import Any

import jax
import numpy as np
import pytest
from icl_prompts import BETA, COUNT, ROOM, SMALL, UNLIKELY, draw, drawn, goodness, haar, parts, roles_of, world_of
from scipy import stats

from lemmata.theories.icl import data as sampler
from lemmata.theories.icl.data import (
    draw_basis,
)

# Patterns


def test_random_patterns_are_orthogonal_and_have_norm_beta() -> None:
    basis = np.asarray(draw_basis(SMALL.replace(basis="random", pattern_norm=2.5).problem(), jax.random.key(0)))
    np.testing.assert_allclose(basis.T @ basis, 2.5**2 * np.eye(10), atol=1e-5)
    assert np.max(np.abs(basis - 2.5 * np.eye(10))) > 1
    other = np.asarray(draw_basis(SMALL.replace(basis="random", pattern_norm=2.5).problem(), jax.random.key(1)))
    assert np.max(np.abs(basis - other)) > 1


def test_canonical_patterns_are_multiples_of_unit_vectors_the_relevant_ones_first() -> None:
    world = world_of(SMALL)
    np.testing.assert_array_equal(world.basis, BETA * np.eye(10))
    np.testing.assert_array_equal(world.patterns.relevant, BETA * np.eye(10)[:, :6])
    np.testing.assert_array_equal(world.patterns.irrelevant, BETA * np.eye(10)[:, 6:])
    assert world.patterns.amplitude == 0.5


def test_random_patterns_are_haar_distributed() -> None:
    problem = SMALL.replace(basis="random", pattern_norm=1.0).problem()
    keys = jax.random.split(jax.random.key(0), 300)
    basis = np.asarray(haar(problem, keys))
    # entries have variance 1/10; without the sign fix of QR the diagonal would lean to one side
    assert np.max(np.abs(basis.mean(0))) < 4.5 * math.sqrt(0.1 / 300)
    second = np.einsum("kdm,kem->mde", basis, basis) / 300
    assert np.max(np.abs(second - np.eye(10) / 10)) < 4.5 * 0.13 / math.sqrt(300)
    reflections = int(np.sum(np.linalg.det(basis) < 0))
    assert stats.binomtest(reflections, 300).pvalue > UNLIKELY
    # the marginal law of a coordinate of a uniform unit vector in ten dimensions
    for row, column in ((0, 0), (9, 9), (0, 9)):
        assert stats.kstest(basis[:, row, column] ** 2, stats.beta(0.5, 4.5).cdf).pvalue > UNLIKELY


# Contexts


@pytest.mark.parametrize("fraction", [0.2, 0.8])
def test_contexts_hold_decisive_patterns_with_probability_alpha(fraction: float) -> None:
    prompts = drawn(fraction=fraction)
    role = prompts.role
    counts = [np.sum(role > 0), np.sum(role < 0), np.sum(role == 0)]
    assert goodness(counts, [fraction / 2, fraction / 2, 1 - fraction]) > UNLIKELY
    # the others are equally likely: the rank of a pattern among the four that are not decisive
    rank = np.cumsum(roles_of(prompts) == 0, axis=1) - 1
    others = np.take_along_axis(rank, prompts.pattern, axis=1)[role == 0]
    assert goodness(np.bincount(others, minlength=4), [0.25] * 4) > UNLIKELY


def test_contexts_of_a_prompt_are_independent_of_each_other_and_of_the_query() -> None:
    prompts = drawn()
    role = prompts.role
    decisive = np.bincount(np.sum(role != 0, axis=1), minlength=ROOM + 1)[6:]
    law = stats.binom.pmf(np.arange(ROOM + 1), ROOM, 0.8)
    rest = 1 - law[6:].sum()
    observed, expected = [COUNT - decisive.sum(), *decisive], [rest, *law[6:]]
    assert goodness(observed, expected) > UNLIKELY
    matching = np.sum(prompts.pattern == prompts.query_pattern[:, None], axis=1)
    found = np.bincount(np.clip(matching, 1, 9), minlength=10)[1:]
    law = stats.binom.pmf(np.arange(ROOM + 1), ROOM, 0.4)
    assert goodness(found, [law[:2].sum(), *law[2:9], law[9:].sum()]) > UNLIKELY
    pairs = np.mean((role[:, :-1] > 0) & (role[:, 1:] > 0))
    assert abs(pairs - 0.16) < 4 * math.sqrt(0.16 / (COUNT * (ROOM - 1)))


def test_with_alpha_one_no_other_pattern_is_ever_drawn() -> None:
    assert np.all(drawn(fraction=1.0).role != 0)
    assert np.any(drawn(fraction=0.8).role == 0)


def test_labels_follow_the_task_and_are_fair_coins_elsewhere() -> None:
    prompts = drawn()
    role, label = prompts.role, prompts.context_label
    np.testing.assert_array_equal(label[role != 0], role[role != 0])
    coins = label[role == 0]
    assert set(coins) == {-1.0, 1.0}
    assert stats.binomtest(int(np.sum(coins > 0)), coins.size).pvalue > UNLIKELY


def test_coins_are_new_for_every_occurrence_of_a_pattern() -> None:
    prompts = drawn(fraction=0.2)
    role = prompts.role
    same = (prompts.pattern[:, 0] == prompts.pattern[:, 1]) & (role[:, 0] == 0)
    assert same.sum() > 150
    differ = prompts.context_label[same, 0] != prompts.context_label[same, 1]
    assert stats.binomtest(int(differ.sum()), int(same.sum())).pvalue > UNLIKELY


def test_tokens_are_made_of_the_recorded_patterns_and_labels() -> None:
    prompts = drawn()
    np.testing.assert_array_equal(parts(prompts.contexts)[0], prompts.pattern)
    np.testing.assert_array_equal(parts(prompts.query)[0], prompts.query_pattern)
    np.testing.assert_array_equal(prompts.contexts[..., 10], prompts.context_label)
    np.testing.assert_array_equal(prompts.contexts[..., 11], 0)
    np.testing.assert_array_equal(prompts.query[:, 10:], 0)
    np.testing.assert_array_equal(prompts.matches(), prompts.pattern == prompts.query_pattern[:, None])
    np.testing.assert_array_equal(prompts.role, np.take_along_axis(roles_of(prompts), prompts.pattern, axis=1))


def test_irrelevant_parts_are_uniform_and_independent() -> None:
    prompts = drawn()
    tokens = np.concatenate([prompts.contexts, prompts.query[:, None]], axis=1)
    pattern, which, kappa = parts(tokens)
    assert stats.kstest(kappa.ravel(), stats.uniform(-0.5, 1.0).cdf).pvalue > UNLIKELY
    assert stats.kstest(kappa[:, -1], stats.uniform(-0.5, 1.0).cdf).pvalue > UNLIKELY
    assert np.abs(kappa).max() <= 0.5
    assert goodness(np.bincount(which.ravel()), [0.25] * 4) > UNLIKELY
    assert goodness(np.bincount(which[:, -1]), [0.25] * 4) > UNLIKELY
    # of the pattern, of the amplitude, and of the query's own part
    table = [[np.sum((pattern == j) & (which == k)) for k in range(4)] for j in range(6)]
    independence: Any = stats.chi2_contingency(table)
    assert independence.pvalue > UNLIKELY
    assert stats.kruskal(*(kappa[which == k] for k in range(4))).pvalue > UNLIKELY
    coincide = int(np.sum(which[:, :-1] == which[:, -1:]))
    assert abs(coincide / (COUNT * ROOM) - 0.25) < 4 * math.sqrt(0.25 * 0.75 / (COUNT * ROOM))
    assert abs(np.corrcoef(kappa[:, 0], kappa[:, -1])[0, 1]) < 4 / math.sqrt(COUNT)


def test_without_amplitude_inputs_are_the_patterns() -> None:
    world = world_of(SMALL.replace(amplitude=0.0))
    tasks = sampler.seen(SMALL.problem(), world.roles)
    prompts = draw(jax.random.key(1), world.patterns, world.q, tasks, 0.8, ROOM, count=COUNT, room=ROOM)
    np.testing.assert_array_equal(prompts.contexts[..., :10], BETA * np.eye(10)[np.asarray(prompts.pattern)])
    np.testing.assert_array_equal(prompts.query[:, :10], BETA * np.eye(10)[np.asarray(prompts.query_pattern)])


def test_a_given_label_embedding_is_used_for_the_contexts() -> None:
    world = world_of(SMALL.replace(label_embedding=[0.5, -2.0]))
    tasks = sampler.unseen(SMALL.problem(), world.roles)
    prompts = draw(jax.random.key(1), world.patterns, world.q, tasks, 0.8, ROOM, count=COUNT, room=ROOM)
    usual = drawn()
    np.testing.assert_array_equal(prompts.contexts[..., 10:], usual.context_label[..., None] * np.array([0.5, -2.0]))
    np.testing.assert_array_equal(prompts.query, usual.query)
