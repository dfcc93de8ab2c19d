"""Tasks and training task sets (2.2 to 2.4, 3.3): Condition 6.3.2, cycles, random subsets and classes of patterns."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lemmata.lab.errors import UserError
from lemmata.theories.icl.tasks import (
    SWAPS,
    TRIANGLES,
    Task,
    check_condition,
    count_tasks,
    cyclic_tasks,
    seen_first,
    set_tasks,
    subsampled_tasks,
    task_roles,
)

UNLIKELY = 1e-4


def every_pair(patterns: int) -> set[Task]:
    return set(itertools.permutations(range(1, patterns + 1), 2))


# Condition 6.3.2


def test_the_smallest_cycles_are_those_of_the_specification() -> None:
    assert cyclic_tasks(4, 1) == [(1, 2), (2, 3), (3, 4), (4, 1)]
    plus, minus, satisfied = check_condition(cyclic_tasks(4, 1), 4)
    np.testing.assert_array_equal(plus, [1, 1, 1, 1])
    np.testing.assert_array_equal(minus, [1, 1, 1, 1])
    assert satisfied
    assert len(cyclic_tasks(6, 5)) == 30
    assert set(cyclic_tasks(6, 5)) == every_pair(6)


@pytest.mark.parametrize("patterns", range(3, 9))
def test_cyclic_sets_satisfy_the_condition_for_every_number_of_rounds(patterns: int) -> None:
    for rounds in range(1, patterns):
        tasks = cyclic_tasks(patterns, rounds)
        assert len(set(tasks)) == len(tasks) == rounds * patterns
        assert set(tasks) <= every_pair(patterns)
        plus, minus, satisfied = check_condition(tasks, patterns)
        np.testing.assert_array_equal(plus, rounds)
        np.testing.assert_array_equal(minus, rounds)
        assert satisfied
        # one task fewer, and the condition is broken
        assert not check_condition(tasks[:-1], patterns).satisfied


def test_task_number_k_minus_1_times_m_plus_j_is_j_against_its_kth_successor() -> None:
    tasks = cyclic_tasks(5, 3)
    for k, j in itertools.product((1, 2, 3), range(1, 6)):
        successor = j + k if j + k <= 5 else j + k - 5
        assert tasks[(k - 1) * 5 + j - 1] == (j, successor)


@pytest.mark.parametrize(("tasks", "components"), [(SWAPS, 3), (TRIANGLES, 2), (cyclic_tasks(6, 1), 1)])
def test_disconnected_sets_satisfy_the_condition_too(tasks: list[Task], components: int) -> None:
    assert len(tasks) == 6
    assert check_condition(tasks, 6).satisfied
    group = dict(zip(range(1, 7), range(1, 7), strict=True))
    for a, b in tasks:
        group = {j: group[a] if own == group[b] else own for j, own in group.items()}
    assert len(set(group.values())) == components


def test_the_counts_are_the_tasks_that_map_a_pattern_to_a_sign() -> None:
    plus, minus, satisfied = check_condition([(1, 2), (1, 3), (4, 1)], 4)
    np.testing.assert_array_equal(plus, [2, 0, 0, 1])
    np.testing.assert_array_equal(minus, [1, 1, 1, 0])
    assert not satisfied


@pytest.mark.parametrize(
    "tasks",
    [
        [(1, 2), (2, 1), (3, 1)],
        [(2, 1), (1, 2), (1, 3)],
        [(1, 2), (2, 3)],
        [(1, 2), (2, 3), (3, 1), (1, 3)],
        [],
    ],
    ids=["minus uneven", "plus uneven", "a pattern left out", "no multiple of the patterns", "no task"],
)
def test_an_uneven_set_does_not_satisfy_the_condition(tasks: list[Task]) -> None:
    assert not check_condition(tasks, 3).satisfied


def test_a_task_is_a_row_of_roles() -> None:
    roles = task_roles([(2, 4), (4, 1), ((1, 3), (2, 4))], 4)
    np.testing.assert_array_equal(roles, [[0, 1, 0, -1], [-1, 0, 0, 1], [1, -1, 1, -1]])


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([(2, 2)], "must differ"),
        ([((1, 2), (2, 3))], "must differ"),
        ([(0, 1)], "from 1 to 4"),
        ([(1, 5)], "from 1 to 4"),
        ([(1.5, 2)], "integers"),
    ],
)
def test_a_task_of_impossible_patterns_is_refused(tasks: list[Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        task_roles(tasks, 4)


@pytest.mark.parametrize("rounds", [0, 6, -1])
def test_a_cycle_has_between_one_and_all_rounds(rounds: int) -> None:
    with pytest.raises(UserError, match=rf"rounds = {rounds} is not allowed: .* between 1 and 5\.$"):
        cyclic_tasks(6, rounds)


# Random subsets


@pytest.mark.parametrize("count", [1, 3, 5, 6])
def test_up_to_as_many_tasks_as_patterns_are_a_subset_of_the_cycle(count: int) -> None:
    cycle = set(cyclic_tasks(6, 1))
    for seed in range(5):
        chosen = subsampled_tasks(6, count, seed)
        assert len(chosen) == len(set(chosen)) == count
        assert set(chosen) <= cycle


@pytest.mark.parametrize("count", [7, 15, 29])
def test_more_tasks_than_patterns_contain_the_cycle(count: int) -> None:
    cycle = set(cyclic_tasks(6, 1))
    for seed in range(5):
        chosen = subsampled_tasks(6, count, seed)
        assert len(chosen) == len(set(chosen)) == count
        assert cycle < set(chosen) <= every_pair(6)
        # covered, with balance broken on purpose
        plus, minus, satisfied = check_condition(chosen, 6)
        assert min(plus.min(), minus.min()) >= 1
        assert satisfied == (len(set(plus)) == len(set(minus)) == 1)


def test_a_random_subset_is_a_function_of_its_seed() -> None:
    assert subsampled_tasks(6, 3, 4) == subsampled_tasks(6, 3, 4)
    assert len({frozenset(subsampled_tasks(6, 3, seed)) for seed in range(12)}) > 5
    assert len({frozenset(subsampled_tasks(6, 9, seed)) for seed in range(12)}) > 8


def test_every_task_of_the_cycle_and_every_other_task_is_equally_likely_to_be_chosen() -> None:
    order = cyclic_tasks(6, 5)
    chosen = [[order.index(task) for task in subsampled_tasks(6, 7, seed)] for seed in range(240)]
    first, last = (np.array([row[place] for row in chosen]) for place in (0, 6))
    assert stats.chisquare(np.bincount(first, minlength=6)).pvalue > UNLIKELY
    assert stats.chisquare(np.bincount(last - 6, minlength=24)).pvalue > UNLIKELY


@pytest.mark.parametrize("count", [0, -1, 30, 31])
def test_a_random_subset_has_at_least_one_task_and_leaves_at_least_one_unseen(count: int) -> None:
    with pytest.raises(UserError, match=rf"count = {count} is not allowed: .* between 1 and 29\.$"):
        subsampled_tasks(6, count)


# All tasks, the seen ones first


@pytest.mark.parametrize("seen", [SWAPS, TRIANGLES, [(3, 1)]])
def test_all_tasks_follow_the_seen_ones(seen: list[Task]) -> None:
    tasks = seen_first(seen, 6)
    assert tasks[: len(seen)] == seen
    assert len(tasks) == 30
    assert set(tasks) == every_pair(6)


def test_classes_of_two_patterns_have_ninety_tasks_of_which_the_first_six_are_trained() -> None:
    tasks = set_tasks(6, 2)
    assert len(tasks) == len(set(tasks)) == count_tasks(6, 2) == 90
    assert [(set(a), set(b)) for a, b in tasks[:6]] == [
        ({1, 2}, {3, 4}),
        ({2, 3}, {4, 5}),
        ({3, 4}, {5, 6}),
        ({4, 5}, {6, 1}),
        ({5, 6}, {1, 2}),
        ({6, 1}, {2, 3}),
    ]
    for a, b in tasks:
        assert len(set(a) | set(b)) == 4
    plus, minus, _ = check_condition(tasks[:6], 6)
    np.testing.assert_array_equal(plus, 2)
    np.testing.assert_array_equal(minus, 2)


def test_classes_of_one_pattern_are_the_pairs_in_cyclic_order() -> None:
    assert set_tasks(6, 1) == cyclic_tasks(6, 5)
    assert count_tasks(6) == 30
    assert count_tasks(4, 2) == 6
    assert len(set_tasks(4, 2)) == 6


def test_two_classes_need_enough_patterns() -> None:
    with pytest.raises(UserError, match=r"class_size = 3 is not allowed: two disjoint sets need 6 patterns\.$"):
        set_tasks(5, 3)
