"""Classical predictors (3.5): batches agree with scikit-learn's estimators, the oracle has its exact error."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import math
from typing import Any

import jax
import numpy as np
import pytest

from lemmata.theories.icl import data as sampler
from lemmata.theories.icl.data import Prompts, all_tasks, draw_prompts, draw_world, out_of_domain
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.studies.predictors import BASELINES, consult_oracle, fit_estimators, predict

SETTING = Setting()
DIMENSION, ROOM, COUNT = 30, 20, 4000
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
consult = jax.jit(consult_oracle, **FAST)
draw = jax.jit(draw_prompts, static_argnames=("count", "room"), **FAST)


@functools.cache
def drawn(shifted: bool, fraction: float, length: int) -> Prompts:
    """Prompts of unseen tasks in domain or of all tasks out of it, cut to their length."""
    problem = SETTING.problem()
    world = draw_world(problem, jax.random.key(0))
    patterns, tasks = world.patterns, sampler.unseen(problem, world.roles)
    if shifted:
        patterns = out_of_domain(world.basis, problem.shift_relevant, problem.shift_irrelevant, 5.0)
        tasks = all_tasks(3)
    key = jax.random.fold_in(jax.random.key(1), length)
    prompts = jax.device_get(draw(key, patterns, world.q, tasks, fraction, length, count=COUNT, room=ROOM))
    per_context = ("contexts", "weight", "pattern", "context_label", "role")
    return prompts._replace(**{name: getattr(prompts, name)[:, :length] for name in per_context})


def points(prompts: Prompts, count: int = COUNT) -> tuple[Any, Any, Any]:
    return (
        prompts.contexts[:count, :, :DIMENSION],
        prompts.context_label[:count],
        prompts.query[:count, :DIMENSION],
    )


@pytest.mark.parametrize("length", [2, 5, 20])
@pytest.mark.parametrize("shifted", [False, True])
def test_every_baseline_answers_as_scikit_learns_estimator(shifted: bool, length: int) -> None:
    prompts = drawn(shifted, 0.6, length)
    ours = predict(*points(prompts, 50))
    theirs = fit_estimators(*points(prompts, 50))
    assert tuple(ours) == tuple(theirs) == BASELINES
    for name in BASELINES:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
        assert set(ours[name]) == {-1.0, 1.0}


def test_the_baselines_are_five_different_predictors() -> None:
    answers = predict(*points(drawn(True, 0.6, 20), 400))
    for i, one in enumerate(BASELINES):
        for two in BASELINES[:i]:
            assert np.any(answers[one] != answers[two]), (one, two)


def test_where_all_labels_agree_that_label_is_the_answer() -> None:
    x, y, query = points(drawn(False, 0.6, 5), 60)
    y = np.repeat(np.where(np.arange(60) % 2, 1.0, -1.0)[:, None], 5, axis=1)
    y[::3] = points(drawn(False, 0.6, 5), 60)[1][::3]
    agree = np.all(y == y[:, :1], axis=1)
    assert 0 < agree.sum() < 60
    for name, answer in predict(x, y, query).items():
        np.testing.assert_array_equal(answer[agree], y[agree, 0], err_msg=name)
    for name, answer in predict(x[agree], y[agree], query[agree]).items():
        np.testing.assert_array_equal(answer, y[agree, 0], err_msg=name)


@pytest.mark.parametrize("length", [1, 2])
def test_three_neighbours_of_fewer_contexts_are_all_of_them_with_ties_broken_by_the_nearest(length: int) -> None:
    x, y, query = points(drawn(False, 0.6, 5), 300)
    x, y = x[:, :length], y[:, :length]
    nearest = np.argmin(np.linalg.norm(x - query[:, None], axis=2), axis=1)
    # of two contexts either both agree or they tie
    expected = np.take_along_axis(y, nearest[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(predict(x, y, query)["3-NN"], expected)
    if length == 2:
        assert set(expected[y[:, 0] != y[:, 1]]) == {-1.0, 1.0}


def test_three_neighbours_take_the_majority_of_the_nearest_three() -> None:
    x = np.array([[[1.0], [2.0], [-3.0], [0.1], [50.0]]])
    for labels, one, three in (([-1, 1, -1, 1, -1], 1, 1), ([-1, -1, 1, 1, 1], 1, -1), ([1, 1, -1, -1, -1], -1, 1)):
        answers = predict(x, np.array([labels], float), np.zeros((1, 1)))
        assert (answers["1-NN"], answers["3-NN"]) == (one, three)


@pytest.mark.parametrize("length", [2, 5, 20])
def test_the_nearest_neighbour_in_domain_never_errs_where_a_context_holds_the_querys_pattern(length: int) -> None:
    prompts = drawn(False, 0.6, length)
    x, y, query = points(prompts)
    same = prompts.pattern == prompts.query_pattern[:, None]
    distance = np.sum((np.asarray(x, np.float64) - query[:, None]) ** 2, axis=2)
    assert distance[same].max() <= 9 * (1 + 1e-5)
    assert distance[~same].min() >= 18 * (1 - 1e-5)
    nearest = np.take_along_axis(y, np.argmin(distance, axis=1)[:, None], axis=1)[:, 0]
    matched = same.any(axis=1)
    assert np.all(nearest[matched] == prompts.label[matched])
    few = slice(0, 500)
    answer = predict(x[few], y[few], query[few])["1-NN"]
    np.testing.assert_array_equal(answer, nearest[few])
    if length == 2:
        assert np.any(nearest[~matched] != prompts.label[~matched])


def test_the_nearest_neighbour_errs_out_of_domain() -> None:
    prompts = drawn(True, 0.6, 20)
    wrong = predict(*points(prompts, 300))["1-NN"] != prompts.label[:300]
    assert np.any(wrong & np.any(prompts.matches()[:300], axis=1))


def ask(prompts: Prompts) -> np.ndarray:
    return np.asarray(consult(prompts, np.random.default_rng(0).choice([-1.0, 1.0], size=len(prompts.label))))


@pytest.mark.parametrize("fraction", [0.2, 0.4, 0.6])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_oracle_errs_with_half_the_probability_that_no_context_is_decisive(fraction: float, length: int) -> None:
    prompts = drawn(False, fraction, length)
    law = (1 - fraction) ** length / 2
    error = np.mean(ask(prompts) != prompts.label)
    assert abs(error - law) < 4 * math.sqrt(law * (1 - law) / COUNT)
    # never where a context is decisive
    informed = np.any(prompts.role != 0, axis=1)
    np.testing.assert_array_equal(ask(prompts)[informed], prompts.label[informed])


def test_the_oracle_reads_matches_first_then_the_other_class_then_a_coin() -> None:
    pattern = np.array([[2, 0, 1], [1, 3, 1], [3, 2, 1], [2, 2, 3]])
    # labels that no task could give show which context was read
    labels = np.array([[1.0, -1, 1], [1, -1, 1], [1, 1, -1], [1, 1, 1]])
    tokens, z = np.zeros((4, 3, 1)), np.ones(4)
    role, first = np.array([1.0, -1.0, 0.0, 0.0])[pattern], np.zeros(4, int)
    prompts = Prompts(tokens, tokens[:, 0], np.ones((4, 3)), z, pattern, first, labels, role, first)
    for coin in (-z, z):
        np.testing.assert_array_equal(consult(prompts, coin), [-1, -1, 1, coin[3]])
    # room that is not used is not read
    shorter = prompts._replace(weight=np.broadcast_to(np.arange(3) < 1, (4, 3)) * 1.0)
    np.testing.assert_array_equal(consult(shorter, z), [1, -1, 1, 1])
