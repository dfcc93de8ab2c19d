"""The samplers (2.2) against their distributions.

Seeds are fixed, so no test is flaky; thresholds are four standard errors or a p-value of one in a thousand.
"""

import functools
import itertools
import math
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.setting import Setting

SMALL = Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=20, records=21)
BALL = SMALL.replace(noise_law="ball", label_balance="bernoulli", noise_radius=0.3, normalise="no")
SPHERE = SMALL.replace(noise_law="sphere", shuffle=False, noise_radius=0.3, normalise="no")
RANDOM = SMALL.replace(fractions="random")
UNLIKELY = 1e-3


@functools.cache
def drawn(setting: Setting, count: int = 256, seed: int = 0) -> tuple[Data, np.ndarray]:
    """Samples and their patterns (rows), as NumPy arrays."""
    key = jax.random.key(seed)
    basis = draw_patterns(setting.problem(), key)
    data = draw(setting.problem(), key, basis, count=count)
    return jax.device_get(data), np.asarray(basis).T


def displacement(data: Data, patterns: np.ndarray) -> np.ndarray:
    return data.tokens - patterns[data.pattern]


def counts(data: Data, patterns: int = 5) -> np.ndarray:
    return np.stack([np.bincount(row, minlength=patterns) for row in data.pattern])


def roles(data: Data) -> np.ndarray:
    """Pattern indices with the label's own pattern first."""
    swapped = np.where(data.pattern < 2, 1 - data.pattern, data.pattern)
    return np.where(data.vote[:, None] > 0, data.pattern, swapped)


# Patterns


def test_patterns_are_orthonormal_and_canonical_ones_unit_vectors() -> None:
    _, patterns = drawn(SMALL)
    np.testing.assert_allclose(patterns @ patterns.T, np.eye(5), atol=1e-6)
    canonical = draw_patterns(SMALL.replace(pattern_basis="canonical").problem(), jax.random.key(0))
    np.testing.assert_array_equal(canonical, np.eye(10)[:, :5])


def test_random_patterns_have_no_preferred_direction() -> None:
    problem = SMALL.problem()
    keys = jax.random.split(jax.random.key(0), 400)
    basis = np.asarray(jax.vmap(lambda key: draw_patterns(problem, key))(keys))
    # coordinates have variance 1/10
    assert np.max(np.abs(basis.mean(0))) < 4 * math.sqrt(0.1 / 400)
    second = np.einsum("kdm,kem->mde", basis, basis) / 400
    assert np.max(np.abs(second - np.eye(10) / 10)) < 0.04
    # the marginal law of a coordinate of a uniform unit vector in ten dimensions
    assert stats.kstest(basis[:, 0, 4] ** 2, stats.beta(0.5, 4.5).cdf).pvalue > UNLIKELY


# Token counts and positions


def test_every_sample_has_the_fixed_counts_with_left_overs_at_the_lowest_indices() -> None:
    data, _ = drawn(SMALL)
    expected = np.where(data.vote[:, None] > 0, [[4, 1, 2, 2, 1]], [[1, 4, 2, 2, 1]])
    np.testing.assert_array_equal(counts(data), expected)


def test_a_twentieth_of_fifty_tokens_is_two() -> None:
    data, _ = drawn(SMALL.replace(tokens=50, relevant_fraction=0.5, confusion_fraction=0.05), count=8)
    expected = np.where(data.vote[:, None] > 0, [[25, 2, 8, 8, 7]], [[2, 25, 8, 8, 7]])
    np.testing.assert_array_equal(counts(data), expected)


def test_without_neutral_tokens_only_the_discriminative_patterns_appear() -> None:
    data, _ = drawn(SMALL.replace(relevant_fraction=0.7, confusion_fraction=0.3))
    np.testing.assert_array_equal(np.sort(counts(data), axis=1), np.tile([0, 0, 0, 3, 7], (256, 1)))


def test_shuffled_positions_are_uniform_and_drawn_anew_in_every_sample() -> None:
    found = roles(drawn(SMALL)[0])
    assert len({tuple(row) for row in found}) > 200
    for role, share in ((0, 0.4), (1, 0.1), (2, 0.2), (3, 0.2), (4, 0.1)):
        per_position = np.sum(found == role, axis=0)
        statistic = np.sum((per_position - 256 * share) ** 2) / (256 * share * (1 - share)) * 0.9
        assert stats.chi2(9).sf(statistic) > UNLIKELY, role


def test_the_position_of_a_token_does_not_depend_on_the_label() -> None:
    data, _ = drawn(SMALL)
    first = roles(data)[:, 0] == 0
    table = [[np.sum(first & (data.vote == y)), np.sum(~first & (data.vote == y))] for y in (1, -1)]
    assert stats.chi2_contingency(table).pvalue > UNLIKELY


def test_unshuffled_samples_have_one_order() -> None:
    found = roles(drawn(SPHERE)[0])
    np.testing.assert_array_equal(found, np.tile(found[0], (256, 1)))
    assert sorted(found[0]) == [0, 0, 0, 0, 1, 2, 2, 3, 3, 4]


# Labels


def test_labels_are_balanced_in_every_even_prefix() -> None:
    labels = drawn(SMALL)[0].label
    assert set(labels) == {-1.0, 1.0}
    np.testing.assert_array_equal(np.cumsum(labels)[1::2], 0)


def test_which_label_of_a_pair_comes_first_is_a_fair_coin() -> None:
    first = drawn(SMALL)[0].label[::2] > 0
    assert abs(first.mean() - 0.5) < 4 * 0.5 / math.sqrt(128)
    assert stats.binomtest(int(np.sum(first[1:] != first[:-1])), 127).pvalue > UNLIKELY


def test_bernoulli_labels_are_independent_fair_coins() -> None:
    labels = drawn(BALL)[0].label
    assert set(labels) == {-1.0, 1.0}
    assert stats.binomtest(int(np.sum(labels > 0)), 256).pvalue > UNLIKELY
    pairs = np.abs(labels[::2] + labels[1::2]) > 0
    assert stats.binomtest(int(pairs.sum()), 128).pvalue > UNLIKELY


@pytest.mark.parametrize("setting", [SMALL, BALL, SPHERE, RANDOM, RANDOM.replace(fraction_concentration=2.0)])
def test_the_label_is_the_majority_vote(setting: Setting) -> None:
    data, _ = drawn(setting)
    votes = np.sum(data.pattern == 0, axis=1) - np.sum(data.pattern == 1, axis=1)
    np.testing.assert_array_equal(np.sign(votes), data.vote)
    np.testing.assert_array_equal(data.label, data.vote)


def test_shuffled_labels_exchange_exactly_half_of_the_pairs() -> None:
    true, _ = drawn(SMALL)
    shuffled, _ = drawn(SMALL.replace(label_order="shuffled"))
    for name in ("tokens", "vote", "pattern", "weight", "noise"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(true, name))
    np.testing.assert_array_equal(np.cumsum(shuffled.label)[1::2], 0)
    # of every two pairs exactly one is exchanged, by a coin which: no signal is left
    agreeing = (shuffled.label == shuffled.vote)[::2]
    np.testing.assert_array_equal(agreeing[::2], ~agreeing[1::2])
    assert stats.binomtest(int(agreeing[::2].sum()), 64).pvalue > UNLIKELY


def test_relevant_tokens_are_defined_by_the_vote_not_by_a_shuffled_label() -> None:
    data, _ = drawn(SMALL.replace(label_order="shuffled"))
    np.testing.assert_array_equal(data.relevant(), roles(data) == 0)
    np.testing.assert_array_equal(data.confusion(), roles(data) == 1)
    np.testing.assert_array_equal(data.neutral(), data.pattern >= 2)
    masked = data._replace(weight=data.weight * (np.arange(10) % 2))
    np.testing.assert_array_equal(masked.relevant(), (roles(data) == 0) * (np.arange(10) % 2))


# Noise


def test_gaussian_noise_has_its_standard_deviation_in_every_coordinate() -> None:
    data, patterns = drawn(SMALL.replace(token_noise=0.02))
    noise = displacement(data, patterns).reshape(-1, 10)
    np.testing.assert_allclose(noise.std(0), 0.02, rtol=4 / math.sqrt(2 * 2560))
    assert np.max(np.abs(noise.mean(0))) < 4 * 0.02 / math.sqrt(2560)
    assert stats.kstest(noise.ravel() / 0.02, "norm").pvalue > UNLIKELY
    correlation = np.corrcoef(noise.T) - np.eye(10)
    assert np.max(np.abs(correlation)) < 4.5 / math.sqrt(2560)
    np.testing.assert_allclose(data.noise.ravel(), np.linalg.norm(noise, axis=1), rtol=1e-4)


def test_without_noise_tokens_are_the_patterns() -> None:
    data, patterns = drawn(SMALL.replace(token_noise=0.0))
    np.testing.assert_array_equal(displacement(data, patterns), 0)
    np.testing.assert_array_equal(data.noise, 0)


def test_ball_noise_is_uniform_in_the_ball() -> None:
    data, patterns = drawn(BALL)
    noise = displacement(data, patterns).reshape(-1, 10)
    radius = np.linalg.norm(noise, axis=1)
    assert radius.max() <= 0.3 * (1 + 1e-5)
    assert stats.kstest((radius / 0.3) ** 10, "uniform").pvalue > UNLIKELY
    isotropic(noise / radius[:, None])
    assert abs(stats.spearmanr(radius, noise[:, 0] / radius).statistic) < 4 / math.sqrt(2560)


def test_sphere_noise_has_exactly_its_radius() -> None:
    data, patterns = drawn(SPHERE)
    noise = displacement(data, patterns).reshape(-1, 10)
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), 0.3, rtol=1e-5)
    isotropic(noise / 0.3)


def isotropic(directions: np.ndarray) -> None:
    count = len(directions)
    assert np.max(np.abs(directions.mean(0))) < 4 * math.sqrt(0.1 / count)
    assert np.max(np.abs(directions.T @ directions / count - np.eye(10) / 10)) < 4.5 * 0.13 / math.sqrt(count)


@pytest.mark.parametrize("setting", [BALL, SPHERE])
def test_unit_tokens_stay_within_the_noise_radius(setting: Setting) -> None:
    data, patterns = drawn(setting.replace(normalise="yes"))
    np.testing.assert_allclose(np.linalg.norm(data.tokens, axis=-1), 1, rtol=1e-5)
    distance = np.linalg.norm(displacement(data, patterns), axis=-1)
    np.testing.assert_allclose(data.noise, distance, rtol=1e-4, atol=1e-6)
    assert distance.max() <= 0.3 * (1 + 1e-5)
    assert distance.max() > 0.3 * 0.998, "the radius must not be shrunk more than needed"


def test_gaussian_tokens_are_rescaled_only_if_asked() -> None:
    loud = SMALL.replace(token_noise=0.3)
    unit, _ = drawn(loud)
    np.testing.assert_allclose(np.linalg.norm(unit.tokens, axis=-1), 1, rtol=1e-5)
    raw, _ = drawn(loud.replace(normalise="no"))
    norms = np.linalg.norm(raw.tokens, axis=-1)
    assert norms.std() > 0.1
    np.testing.assert_allclose(raw.tokens / norms[..., None], unit.tokens, atol=1e-5)


def test_the_noisy_fraction_of_tokens_has_the_large_noise() -> None:
    data, patterns = drawn(SMALL.replace(noisy_fraction=0.3, noisy_level=0.3, normalise="no"))
    noise = displacement(data, patterns)
    # ten coordinates: norms near 0.03 and near 0.95 do not overlap
    noisy = np.linalg.norm(noise, axis=-1) > 0.2
    assert stats.binomtest(int(noisy.sum()), 2560, 0.3).pvalue > UNLIKELY
    np.testing.assert_allclose(noise[noisy].std(), 0.3, rtol=4 / math.sqrt(2 * 7680))
    np.testing.assert_allclose(noise[~noisy].std(), 0.01, rtol=4 / math.sqrt(2 * 17920))
    shares = [noisy[roles(data) == role].mean() for role in (0, 2)]
    np.testing.assert_allclose(shares, 0.3, atol=0.08)


# Random fractions


def vote_table(probabilities: np.ndarray, concentration: float | None) -> dict[tuple[int, int], float]:
    """The law of (relevant, confusion) counts of ten tokens: ties left out, the larger count called relevant."""
    if concentration is None:
        law: Any = stats.multinomial(10, probabilities)
    else:
        law = stats.dirichlet_multinomial(concentration * probabilities, 10)
    table: dict[tuple[int, int], float] = {}
    for one, two in itertools.product(range(11), repeat=2):
        if one != two and one + two <= 10:
            cell = max(one, two), min(one, two)
            table[cell] = table.get(cell, 0.0) + float(law.pmf([one, two, 10 - one - two]))
    total = sum(table.values())
    return {cell: mass / total for cell, mass in table.items()}


@pytest.mark.parametrize("concentration", [None, 2.0])
def test_random_counts_are_multinomial_given_the_vote(concentration: float | None) -> None:
    setting = RANDOM.replace(
        relevant_fraction=0.35, confusion_fraction=0.25, fraction_concentration=concentration or 0.0
    )
    data, _ = drawn(setting, count=1024)
    found = roles(data)
    pairs = list(zip(np.sum(found == 0, axis=1), np.sum(found == 1, axis=1), strict=True))
    table = vote_table(np.array([0.35, 0.25, 0.4]), concentration)
    common = [cell for cell, mass in table.items() if 1024 * mass >= 8]
    observed = [sum(pair == cell for pair in pairs) for cell in common]
    expected = [1024 * table[cell] for cell in common]
    observed.append(1024 - sum(observed))
    expected.append(1024 - sum(expected))
    assert stats.chisquare(observed, expected).pvalue > UNLIKELY
    other = vote_table(np.array([0.35, 0.25, 0.4]), 2.0 if concentration is None else None)
    mismatch = [1024 * other[cell] for cell in common]
    mismatch.append(1024 - sum(mismatch))
    assert stats.chisquare(observed, mismatch).pvalue < 1e-9, "the two laws must be told apart"


def test_neutral_tokens_of_random_samples_are_spread_evenly() -> None:
    data, _ = drawn(RANDOM.replace(relevant_fraction=0.35, confusion_fraction=0.25), count=1024)
    assert stats.chisquare(counts(data).sum(0)[2:]).pvalue > UNLIKELY


def test_random_samples_without_confusion_have_none() -> None:
    data, _ = drawn(RANDOM.replace(relevant_fraction=0.5, confusion_fraction=0.0))
    assert np.sum(data.confusion()) == 0
    assert np.all(np.sum(data.relevant(), axis=1) >= 1)


def test_random_samples_keep_balanced_labels_and_random_positions() -> None:
    data, _ = drawn(RANDOM)
    np.testing.assert_array_equal(np.cumsum(data.label)[1::2], 0)
    per_position = np.sum(roles(data) == 0, axis=0)
    assert stats.chisquare(per_position).pvalue > UNLIKELY


# Sample i depends on the seed and on i alone


@pytest.mark.parametrize("setting", [SMALL, BALL, RANDOM, SMALL.replace(label_order="shuffled")])
def test_a_sample_does_not_depend_on_how_many_are_drawn(setting: Setting) -> None:
    few, many = drawn(setting, count=64)[0], drawn(setting, count=256)[0]
    for name, one, two in zip(Data._fields, few, many, strict=True):
        np.testing.assert_array_equal(one, two[:64], err_msg=name)


def test_samples_and_seeds_differ() -> None:
    data, patterns = drawn(SMALL)
    other, other_patterns = drawn(SMALL, seed=1)
    noise = displacement(data, patterns)
    assert len({row.tobytes() for row in noise}) == 256
    correlation = np.corrcoef(noise.ravel(), displacement(other, other_patterns).ravel())[0, 1]
    assert abs(correlation) < 4 / math.sqrt(25600)
    assert np.max(np.abs(patterns - other_patterns)) > 0.1


def test_noise_levels_scale_the_same_draw() -> None:
    one, patterns = drawn(SMALL)
    two, _ = drawn(SMALL.replace(token_noise=0.02))
    np.testing.assert_array_equal(one.pattern, two.pattern)
    np.testing.assert_allclose(displacement(two, patterns), 2 * displacement(one, patterns), rtol=1e-3, atol=1e-6)


def test_the_pattern_reduction_is_one_weighted_sample_per_label() -> None:
    setting = SMALL.replace(reduction="patterns", token_noise=0.0)
    data, patterns = drawn(setting, count=2)
    np.testing.assert_array_equal(data.label, [1, -1])
    np.testing.assert_array_equal(data.weight, [[4, 1, 2, 2, 1], [1, 4, 2, 2, 1]])
    np.testing.assert_array_equal(data.tokens, [patterns, patterns])
    np.testing.assert_array_equal(data.pattern, [np.arange(5)] * 2)
