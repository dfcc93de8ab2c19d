"""The samplers of queries, tasks, exact counts and inputs out of domain (2.2, 2.3, 3.3), and room that is not used.

Seeds are fixed, so no test is flaky; a p-value must exceed one in ten thousand.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import itertools
import math

import jax
import numpy as np
import pytest
from icl_prompts import (
    BETA,
    CLASSES,
    COUNT,
    ROOM,
    SMALL,
    UNLIKELY,
    batch,
    draw,
    drawn,
    goodness,
    pairs_of,
    parts,
    roles_of,
    shifted,
    slots,
    world_of,
)
from scipy import stats

from lemmata.theories.icl import data as sampler
from lemmata.theories.icl.data import (
    Prompts,
    Tasks,
    shifted_patterns,
)
from lemmata.theories.icl.tasks import reference_family

# Queries and tasks


@pytest.mark.parametrize("mode", ["iid", "exact"])
def test_queries_are_decisive_and_balanced_and_test_tasks_uniform(mode: str) -> None:
    prompts = drawn(mode=mode)
    own = np.take_along_axis(roles_of(prompts), prompts.query_pattern[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(own, prompts.label)
    assert prompts.label.sum() == 0
    assert prompts.task.min() >= 6, "the six training tasks are not unseen"
    assert goodness(np.bincount(prompts.task - 6, minlength=24), [1 / 24] * 24) > UNLIKELY


def test_seen_test_tasks_are_the_training_tasks() -> None:
    assert set(drawn(unseen=False).task) == set(range(6))


def test_where_every_task_is_trained_all_count_as_unseen() -> None:
    setting = SMALL.replace(rounds=5)
    tasks = sampler.unseen(setting.problem(), world_of(setting).roles)
    assert (int(tasks.first), int(tasks.last)) == (0, 30)


def tasks_of(number: int) -> Tasks:
    roles = world_of(SMALL).roles
    return Tasks(roles, np.asarray(0), np.asarray(number))


def pair_counts(key: jax.Array, number: int, count: int) -> np.ndarray:
    """How often every (task, sign) occurs in a batch."""
    task, sign = slots(key, tasks_of(number), count=count)
    pair = 2 * np.asarray(task) + (np.asarray(sign) < 0)
    return np.bincount(pair, minlength=2 * number)


@pytest.mark.parametrize(("number", "each"), [(6, 5), (3, 10), (30, 1), (5, 6)])
def test_a_training_batch_has_every_task_and_sign_equally_often(number: int, each: int) -> None:
    for seed in range(3):
        np.testing.assert_array_equal(pair_counts(jax.random.key(seed), number, 60), each)


@pytest.mark.parametrize("number", [4, 7, 12, 29])
def test_left_over_slots_go_to_a_random_subset_that_is_new_in_every_step(number: int) -> None:
    key = jax.random.key(3)
    found = np.stack([pair_counts(jax.random.fold_in(key, step), number, 60) for step in range(120)])
    floor, left = divmod(60, 2 * number)
    assert set(np.unique(found)) <= {floor, floor + 1}
    np.testing.assert_array_equal(found.sum(axis=1), 60)
    subsets = {tuple(np.flatnonzero(row > floor)) for row in found}
    assert len(subsets) > 50
    extra = np.sum(found - floor, axis=0)
    share = left / (2 * number)
    # a subset without repetition: the variance of a sum over steps is n p (1 - p), correlated by -1/(pairs - 1)
    pairs = 2 * number
    statistic = np.sum((extra - 120 * share) ** 2) / (120 * share * (1 - share)) * (pairs - 1) / pairs
    assert stats.chi2(pairs - 1).sf(statistic) > UNLIKELY


def test_training_batches_are_balanced_prompts_of_training_tasks() -> None:
    world = world_of(SMALL)
    prompts = jax.device_get(batch(SMALL.problem(), jax.random.key(6), world))
    np.testing.assert_array_equal(np.bincount(2 * prompts.task + (prompts.label < 0)), 20)
    np.testing.assert_array_equal(np.bincount(prompts.query_pattern), 40)
    own = np.take_along_axis(roles_of(prompts), prompts.query_pattern[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(own, prompts.label)


def test_shuffled_query_labels_are_fair_coins_on_the_same_prompts() -> None:
    world = world_of(SMALL)
    true = jax.device_get(batch(SMALL.problem(), jax.random.key(6), world))
    shuffled = jax.device_get(batch(SMALL.replace(label_order="shuffled").problem(), jax.random.key(6), world))
    for name in set(Prompts._fields) - {"label"}:
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(true, name))
    assert set(shuffled.label) == {-1.0, 1.0}
    for of in (1.0, -1.0):
        agree = shuffled.label[true.label == of] == of
        assert stats.binomtest(int(agree.sum()), 120).pvalue > UNLIKELY


def test_shuffled_query_labels_do_not_depend_on_the_querys_pattern_within_its_class() -> None:
    setting = CLASSES.replace(label_order="shuffled")
    prompts = jax.device_get(batch(setting.problem(), jax.random.key(6), world_of(setting)))
    roles = roles_of(prompts, setting)
    own = np.take_along_axis(roles, prompts.query_pattern[:, None], axis=1)
    second = np.take_along_axis(np.cumsum(roles == own, axis=1), prompts.query_pattern[:, None], axis=1) == 2
    agree = (prompts.label > 0) == second[:, 0]
    assert stats.binomtest(int(agree.sum()), 240).pvalue > UNLIKELY


def test_subsampled_training_tasks_are_a_subset_of_the_cycle_that_differs_between_seeds() -> None:
    cycle = {tuple(row) for row in np.asarray(world_of(SMALL).roles)[:6]}
    setting = SMALL.replace(tasks="subsampled", task_count=3)
    chosen = [frozenset(tuple(row) for row in np.asarray(world_of(setting, seed).roles)[:3]) for seed in range(8)]
    assert all(len(tasks) == 3 and tasks <= cycle for tasks in chosen)
    assert len(set(chosen)) > 3
    assert np.unique(np.asarray(world_of(setting).roles), axis=0).shape == (30, 6)


@pytest.mark.parametrize("mode", ["iid", "exact"])
def test_draws_do_not_depend_on_the_room_for_contexts(mode: str) -> None:
    world, length = world_of(SMALL), 5
    tasks = sampler.seen(SMALL.problem(), world.roles)

    def prompts_in(room: int) -> Prompts:
        of = jax.random.key(2), world.patterns, world.q, tasks, 0.6, length
        return jax.device_get(draw(*of, count=40, room=room, mode=mode, training=True))

    tight, roomy = prompts_in(length), prompts_in(12)
    for name, values in tight._asdict().items():
        there = getattr(roomy, name)
        np.testing.assert_array_equal(there[:, :length] if values.shape != there.shape else there, values, name)
    assert roomy.contexts.shape[1] == 12
    assert not roomy.weight[:, length:].any()


def test_room_for_more_tasks_is_never_drawn_from() -> None:
    roomy = SMALL.replace(task_room=40, tasks="subsampled", task_count=3)
    padded, exact = (np.asarray(world_of(one).roles) for one in (roomy, roomy.replace(task_room=0)))
    np.testing.assert_array_equal(padded, np.concatenate([exact, np.zeros((10, 6))]))
    tasks = sampler.unseen(roomy.problem(), padded)
    assert (int(tasks.first), int(tasks.last)) == (3, 30)


# Exact counts


@pytest.mark.parametrize("fraction", [0.2, 0.8, 1.0])
@pytest.mark.parametrize("length", range(1, ROOM + 1))
def test_exact_prompts_have_their_counts_at_every_length(fraction: float, length: int) -> None:
    prompts = drawn(fraction=fraction, length=length, mode="exact")
    role, used = prompts.role, prompts.weight > 0
    matching = math.ceil(round(fraction * length / 2, 9))
    opposite = min(matching, length - matching)
    np.testing.assert_array_equal(np.sum(prompts.matches(), axis=1), matching)
    own = role == prompts.label[:, None]
    np.testing.assert_array_equal(np.sum(own & used, axis=1), matching)
    np.testing.assert_array_equal(np.sum((role == -prompts.label[:, None]) & used, axis=1), opposite)
    np.testing.assert_array_equal(np.sum((role == 0) & used, axis=1), length - matching - opposite)
    np.testing.assert_array_equal(np.where(role != 0, role, 1) == np.where(role != 0, prompts.context_label, 1), True)


def test_the_order_of_exact_prompts_is_shuffled_and_the_rest_uniform() -> None:
    prompts = drawn(fraction=0.8, length=10, mode="exact")
    role = prompts.role[:, :10]
    own = role * prompts.label[:, None]
    for kind, share in ((1, 0.4), (-1, 0.4), (0, 0.2)):
        per_place = np.sum(own == kind, axis=0)
        statistic = np.sum((per_place - COUNT * share) ** 2) / (COUNT * share * (1 - share)) * 0.9
        assert stats.chi2(9).sf(statistic) > UNLIKELY, kind
    rank = np.cumsum(roles_of(prompts) == 0, axis=1) - 1
    others = np.take_along_axis(rank, prompts.pattern, axis=1)[:, :10][role == 0]
    assert goodness(np.bincount(others, minlength=4), [0.25] * 4) > UNLIKELY


# Room that is not used


@pytest.mark.parametrize("mode", ["iid", "exact"])
def test_contexts_beyond_the_length_have_weight_zero_and_no_match(mode: str) -> None:
    prompts = drawn(length=5, mode=mode)
    np.testing.assert_array_equal(prompts.weight, np.tile(np.arange(ROOM) < 5, (COUNT, 1)))
    assert not np.any(prompts.matches()[:, 5:])
    if mode == "iid":
        assert np.any(prompts.pattern[:, 5:] == prompts.query_pattern[:, None])
    # what stands there is a context like any other
    np.testing.assert_array_equal(parts(prompts.contexts)[0], prompts.pattern)
    assert set(np.unique(prompts.context_label)) == {-1.0, 1.0}


def test_the_first_contexts_of_independent_prompts_do_not_depend_on_the_length() -> None:
    short, long = drawn(length=5), drawn(length=ROOM)
    for name in set(Prompts._fields) - {"weight"}:
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name))


# Out of domain


def test_inputs_out_of_domain_are_combinations_of_the_shifted_patterns() -> None:
    setting = SMALL.replace(basis="random", angle=-20.0)
    world = world_of(setting)
    patterns = shifted_patterns(setting.problem(), world)
    prompts = jax.device_get(shifted(setting.problem(), jax.random.key(2), world))
    basis = np.asarray(world.basis, np.float64)
    odr = reference_family(6, 10, -20.0)[0]
    np.testing.assert_allclose(patterns.relevant, basis @ odr.T, atol=1e-5)
    np.testing.assert_allclose(patterns.irrelevant, basis[:, 6:9], atol=1e-5)
    tokens = np.concatenate([prompts.contexts, prompts.query[:, None]], axis=1)[..., :10]
    index = np.concatenate([prompts.pattern, prompts.query_pattern[:, None]], axis=1)
    coordinates = tokens @ basis / BETA**2
    np.testing.assert_allclose(coordinates[..., :6], odr[index][..., :6], atol=1e-5)
    np.testing.assert_allclose(coordinates[..., 9], 0, atol=1e-5)
    amplitude = coordinates[..., 6:9]
    which = np.argmax(np.abs(amplitude), axis=-1)
    kappa = np.take_along_axis(amplitude, which[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(np.abs(amplitude).sum(axis=-1), np.abs(kappa), atol=2e-5)
    assert stats.kstest(kappa.ravel(), stats.uniform(-5, 10).cdf).pvalue > UNLIKELY
    assert goodness(np.bincount(which[np.abs(kappa) > 0.01]), [1 / 3] * 3) > UNLIKELY
    assert set(prompts.task) == set(range(6))
    roles = np.asarray(pairs_of(3).roles)[prompts.task]
    np.testing.assert_array_equal(prompts.role, np.take_along_axis(roles, prompts.pattern, axis=1))
    np.testing.assert_array_equal(prompts.contexts[..., 10], prompts.context_label)


def test_all_tasks_of_some_patterns_are_their_ordered_pairs() -> None:
    for relevant in (2, 4):
        tasks = pairs_of(relevant)
        pairs = {(int(np.argmax(row)), int(np.argmin(row))) for row in np.asarray(tasks.roles)}
        assert pairs == set(itertools.permutations(range(relevant), 2))
        assert (int(tasks.first), int(tasks.last)) == (0, relevant * (relevant - 1))
        np.testing.assert_array_equal(np.sum(np.abs(tasks.roles), axis=1), 2)


# Classes of several patterns


def test_each_decisive_pattern_of_a_class_has_its_share_of_the_contexts() -> None:
    prompts = drawn(CLASSES)
    role = prompts.role
    assert goodness([np.sum(role > 0), np.sum(role < 0), np.sum(role == 0)], [0.4, 0.4, 0.2]) > UNLIKELY
    for sign, share in ((1, 0.5), (-1, 0.5), (0, 0.5)):
        rank = np.cumsum(roles_of(prompts, CLASSES) == sign, axis=1) - 1
        found = np.take_along_axis(rank, prompts.pattern, axis=1)[role == sign]
        assert goodness(np.bincount(found, minlength=2), [share] * 2) > UNLIKELY


def test_queries_of_classes_are_balanced_and_uniform_on_their_class() -> None:
    prompts = drawn(CLASSES)
    assert prompts.label.sum() == 0
    own = np.take_along_axis(roles_of(prompts, CLASSES), prompts.query_pattern[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(own, prompts.label)
    for sign in (1, -1):
        rank = np.cumsum(roles_of(prompts, CLASSES) == sign, axis=1) - 1
        of = prompts.label == sign
        found = np.take_along_axis(rank, prompts.query_pattern[:, None], axis=1)[of, 0]
        assert stats.binomtest(int(found.sum()), int(of.sum())).pvalue > UNLIKELY
    # a context with another pattern of the query's class is no match
    assert np.any(prompts.role == prompts.label[:, None], where=~prompts.matches())
