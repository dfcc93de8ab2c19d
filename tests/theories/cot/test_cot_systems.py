"""Tasks, transition systems and ideal voters: the oracles O1, O9 to O11, O13, and voters against direct simulation."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmata as lm
from lemmata.theories.cot import transitions, voters
from lemmata.theories.cot.bounds import even_row
from lemmata.theories.cot.data import draw_system
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.transitions import images, shift_maps

M = 10


def shifts(order: Any, steps: int = 3) -> np.ndarray:
    return shift_maps(np.asarray(order), steps)


def even(maps: np.ndarray, constructor: str, tau: float, rho: float, which: int = 1) -> np.ndarray:
    p = transitions.step_probabilities(constructor, tau, len(maps), which)
    return transitions.even_matrices(maps, p, rho, np.ones_like(maps))


def random_system(rng: np.random.Generator, steps: int = 3, patterns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Random bijections, and random rows whose right entry is the largest."""
    maps = np.stack([rng.permutation(patterns) for _ in range(steps)])
    matrices = rng.dirichlet(np.full(patterns, 0.8), size=(steps, patterns))
    rows = np.arange(patterns)
    for matrix, step in zip(matrices, maps, strict=True):
        best = matrix.argmax(axis=1)
        matrix[rows, step], matrix[rows, best] = matrix[rows, best].copy(), matrix[rows, step].copy()
    return maps, matrices


def test_composed_shifts_move_by_three_and_by_six_along_the_permutation() -> None:
    order = np.random.default_rng(0).permutation(M)
    reached = images(shifts(order))
    assert [list(r) for r in reached] == [list(order[(order.argsort() + k) % M]) for k in (0, 1, 3, 6)]


def test_example_one_has_the_numbers_of_the_paper() -> None:
    numbers = transitions.describe(transitions.EXAMPLE, transitions.EXAMPLE_MAPS)
    np.testing.assert_allclose(transitions.compose(transitions.EXAMPLE), [[0.56, 0.44], [0.64, 0.36]])
    np.testing.assert_allclose(numbers[:4], [0.36, 1 / 3, 0.56, 3 / 14])
    assert numbers.condition.tolist() == [False, True]


def test_uniform_errors_compose_as_the_oracle_says() -> None:
    maps = shifts(np.arange(M))
    matrices = even(maps, "uniform", 0.5, 0.8)
    np.testing.assert_allclose(np.sort(matrices[0, 0])[-3:], [0.005945, 0.158740, 0.793701], atol=1e-6)
    numbers = transitions.describe(matrices, maps)
    np.testing.assert_allclose(numbers[:4], [0.5, 0.8, 0.505644, 0.404224], atol=1e-6)
    assert numbers.condition.all()
    found = []
    for seed in range(300):
        maps = shifts(np.random.default_rng(seed).permutation(M))
        found.append(transitions.describe(even(maps, "uniform", 0.5, 0.8), maps))
    lead, chance = (np.array([getattr(n, name) for n in found]) for name in ("label_primacy", "label_probability"))
    assert all(n.condition.all() for n in found)
    assert 0.40 < lead.min() < 0.45
    assert 0.70 < lead.max() < 0.76
    assert abs(np.median(lead) - 0.592) < 0.03
    assert chance.min() > 0.5055
    assert chance.max() < 0.5245


@pytest.mark.parametrize("which", [1, 2, 3])
def test_errors_in_a_single_step_compose_to_their_own_numbers(which: int) -> None:
    maps = shifts(np.random.default_rng(which).permutation(M))
    numbers = transitions.describe(even(maps, "single", 0.5, 0.3, which), maps)
    np.testing.assert_allclose(numbers[:4], [0.5, 0.3, 0.5, 0.3], atol=1e-9)
    assert numbers.condition.all()


@pytest.mark.parametrize("runner_up", ["next", "random"])
def test_a_weighted_system_has_its_share_of_the_error_in_every_step_and_one_runner_up(runner_up: str) -> None:
    shares: Any = {"step_weights": np.array([0.7, 0.3, 0.0]), "transitions": "weighted"}
    maps, matrices = draw_system(Setting(**shares, primacy=0.8, runner_up=runner_up), np.random.default_rng(0))
    right, rows = 0.5 ** shares["step_weights"], np.arange(M)
    runners = []
    for k, (matrix, step) in enumerate(zip(matrices, maps, strict=True)):
        np.testing.assert_allclose(matrix[rows, step], right[k])
        if right[k] < 1:
            ordered = np.sort(matrix, axis=1)
            np.testing.assert_allclose(ordered[:, -2], 0.2 * right[k])
            np.testing.assert_allclose(ordered[:, :-2], (1 - 1.2 * right[k]) / (M - 2))
            runners += ((matrix.argsort(axis=1)[:, -2] - step) % M).tolist()
    assert (set(runners) == {1}) == (runner_up == "next")
    numbers = transitions.describe(matrices, maps)
    np.testing.assert_allclose(numbers[:2], [0.5, 0.8])


@pytest.mark.parametrize(
    ("chances", "expected", "share"),
    [
        ((0.6, 0.55, 0.6407895, 0.76), [0.2508, 0.1818, 0.4, 0.1], 0.5),
        ((0.6, 0.6315789, 0.6315789, 0.76), [0.2880, 0.3333, 0.4, 0.1], 1.0),
        ((0.6, 0.6, 0.8, 1.0), [0.36, 1 / 3, 0.56, 3 / 14], 0.5),
    ],
)
def test_pairs_have_the_numbers_of_the_reference(chances: Any, expected: Any, share: float) -> None:
    maps = shifts(np.random.default_rng(1).permutation(M))
    matrices = transitions.pair_matrices(maps, *chances)
    np.testing.assert_allclose(matrices.sum(axis=2), 1)
    numbers = transitions.describe(matrices, maps)
    np.testing.assert_allclose(numbers[:4], expected, atol=1e-4)
    assert numbers.condition.mean() == share
    a, b_u, b_s, c = chances
    whole, unsure = transitions.compose(matrices), maps[0] % 2 == 0
    right = whole[np.arange(M), transitions.answers(maps)]
    np.testing.assert_allclose(right[unsure], c * (a * b_u + (1 - a) * (1 - b_s)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_trajectory_and_label_probability_bound_the_right_entries(seed: int) -> None:
    maps, matrices = random_system(np.random.default_rng(seed))
    numbers = transitions.describe(matrices, maps)
    right = transitions.compose(matrices)[np.arange(5), transitions.answers(maps)]
    assert numbers.trajectory <= right.min() + 1e-12
    assert numbers.label_probability >= right.min() - 1e-12
    single = transitions.describe(matrices[:1], maps[:1])
    np.testing.assert_allclose(single.trajectory, single.label_probability)
    np.testing.assert_allclose(single.primacy, single.label_primacy)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda A: A.__setitem__((1, 2), A[1, 2] * 1.01), "Row 3 of step 2 sums to 1.01"),
        (lambda A: A.__setitem__((0, 0, slice(0, 2)), [-0.1, A[0, 0, 0] + A[0, 0, 1] + 0.1]), "negative entry -0.1"),
        (lambda A: A.__setitem__((2, 1, 1), np.nan), "not a finite number"),
    ],
)
def test_a_matrix_that_is_none_of_a_chain_is_refused_in_one_sentence(change: Any, words: str) -> None:
    _, matrices = random_system(np.random.default_rng(0))
    change(matrices)
    with pytest.raises(lm.UserError, match=words):
        transitions.check_rows(matrices)


def test_a_step_without_a_lead_is_refused() -> None:
    with pytest.raises(lm.UserError, match="primacy must be positive"):
        transitions.check_primacy(np.full((1, 2, 2), 0.5), np.array([[0, 1]]))


@pytest.mark.parametrize(
    ("p", "rho", "n", "patterns", "exact", "gaussian"),
    [
        (0.5, 0.8, 16, 10, 0.019008, 0.007931),
        (0.5, 0.2, 16, 10, 0.336375, 0.335783),
        (0.5, 0.5, 64, 10, 0.008961, 0.007931),
        (2 ** (-1 / 3), 0.8, 8, 10, 0.018595, 0.007691),
        (0.6, 1 / 3, 20, 2, 0.186092, 0.180655),
    ],
)
def test_plurality_errors_are_the_oracles(
    p: float, rho: float, n: int, patterns: int, exact: float, gaussian: float
) -> None:
    assert voters.plurality_error(even_row(p, rho, patterns), n) == pytest.approx(exact, abs=6e-7)
    assert voters.pairwise_error(p, rho, n) == pytest.approx(gaussian, abs=6e-7)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 30))
def test_exact_plurality_errors_are_what_simulation_gives(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(4))
    counts = rng.multinomial(n, chances, size=40_000)
    rate = np.mean(voters.plurality(rng, counts) != 1)
    exact = voters.plurality_error(chances, n, right=1)
    assert abs(rate - exact) < 5 * np.sqrt(max(exact * (1 - exact), 1e-4) / 40_000)


def vote_by_examples(rng: np.random.Generator, matrices: Any, maps: Any, length: int, matching: int, query: int) -> Any:
    """One prompt, example by example: the definition of both voters."""
    patterns = matrices.shape[1]
    others = rng.choice([i for i in range(patterns) if i != query], size=length - matching)
    chain = [np.concatenate([np.full(matching, query), others])]
    for matrix in matrices:
        chain.append(np.array([rng.choice(patterns, p=matrix[i]) for i in chain[-1]]))

    def plurality(votes: Any) -> int:
        return int(voters.plurality(rng, np.bincount(votes, minlength=patterns)))

    current, right, wrong = query, query, []
    for k, step in enumerate(maps):
        current, right = plurality(chain[k + 1][chain[k] == current]), step[right]
        wrong.append(current != right)
    return wrong, plurality(chain[-1][chain[0] == query]) != right


def test_votes_by_counts_are_distributed_like_votes_by_examples() -> None:
    maps, matrices = random_system(np.random.default_rng(3), patterns=4)
    length, matching, query, many = 9, 4, 1, 3000
    rng = np.random.default_rng(0)
    slow = [vote_by_examples(rng, matrices, maps, length, matching, query) for _ in range(many)]
    fast, fast_last = voters.vote(rng, (matrices, maps), length, matching, np.full(40_000, query))
    steps, last = np.array([w for w, _ in slow]), np.array([w for _, w in slow])
    for slow_rate, fast_rate in ((steps.mean(0), fast.mean(0)), (last.mean(), fast_last.mean())):
        np.testing.assert_allclose(slow_rate, fast_rate, atol=4 * np.sqrt(0.25 / many))


def test_required_lengths_are_interpolated_in_logarithms() -> None:
    lengths, errors = np.array([10.0, 20.0, 40.0]), np.array([0.1, 0.05, 0.025])
    assert voters.crossing(lengths, errors, 0.025 * 2**0.5) == pytest.approx(20 * 2**0.5)
    assert voters.crossing(lengths, errors, 0.01) == np.inf
    assert np.isnan(voters.crossing(lengths, errors, 0.2))
