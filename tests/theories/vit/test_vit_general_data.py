"""More general data (2.3, 2.4): classes, pattern sets, layer norm, the user's own samples, and their statistics (5.10).

Seeds are fixed, so no test is flaky; thresholds are four standard errors or a p-value of one in a thousand. Drawing
compiles slowly, so few programs are drawn from: numbers (noise, fractions, spreads) vary freely within one.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem
from lemmata.networks.shallow import Network
from lemmata.theories.vit import data as vit_data
from lemmata.theories.vit.data import Data, class_of, draw, draw_members, draw_patterns, label_of
from lemmata.theories.vit.network import initialise
from lemmata.theories.vit.probes import attention_by_query, pattern_distance, similarities, token_shares
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import simulate

SMALL = Setting(tokens=10, neurons=16, samples=9, test_samples=16, steps=3, records=4)
LAYER = SMALL.replace(normalise="layer", token_noise=0.1)
SHARES = np.array([[0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.9, 0.1], [0.5, 0.5], [1.0, 0.0], [0.1, 0.9]])
FOUR = SMALL.replace(
    classes=4, patterns=7, tokens=40, dimension=21, members=2, member_shares=SHARES, noise_law="sphere", normalise="no"
)
"""The counts of V19 (16 tokens of the class, 4 confusion tokens, 20 others) with pattern sets, and no noise."""
RANDOM = SMALL.replace(
    classes=4, patterns=5, dimension=20, members=3, token_noise=0.0, fractions="random", label_balance="bernoulli",
    relevant_fraction=0.3, confusion_fraction=0.24,
)  # fmt: skip
EIGHT = SMALL.replace(classes=8, patterns=11, dimension=11, value_width=11, key_width=11)
EIGHT_RANDOM = EIGHT.replace(fractions="random", relevant_fraction=0.3, confusion_fraction=0.24)
MANY = {FOUR.classes: 1024, EIGHT.classes: 256, SMALL.classes: 256}
UNLIKELY = 1e-3

seeds = st.integers(0, 2**31 - 1)
few = settings(deadline=None, max_examples=15)


@functools.cache
def drawn(setting: Setting, count: int = 0, seed: int = 0) -> tuple[Data, np.ndarray]:
    """Samples and the members [dimension, patterns, members] of their patterns, as NumPy arrays."""
    key, problem = jax.random.key(seed), setting.problem()
    members = draw_members(problem, key, draw_patterns(problem, key))
    return jax.device_get((draw(problem, key, members, count=count or MANY[setting.classes]), members))


def counts(data: Data, patterns: int) -> np.ndarray:
    return np.stack([np.bincount(row, minlength=patterns) for row in data.pattern])


def own(data: Data) -> np.ndarray:
    """The class of every sample, read off its label by hand."""
    vote = data.vote if data.vote.ndim == 2 else data.vote[:, None]
    return np.array([int("".join("0" if y > 0 else "1" for y in row), 2) for row in vote])


def chosen_member(data: Data, members: np.ndarray) -> np.ndarray:
    """Which member of its set every token is nearest to."""
    candidates = np.moveaxis(members, 0, -1)[data.pattern]
    return np.argmin(np.linalg.norm(data.tokens[:, :, None] - candidates, axis=-1), axis=-1)


def resized(setting: Setting, **sizes: int) -> Problem:
    """The problem with other static capacities."""
    leaves, (names, static) = setting.problem().tree_flatten()
    return Problem.tree_unflatten((names, tuple((dict(static) | sizes).items())), leaves)


# Labels of 2^k classes


def test_the_four_classes_are_coded_by_two_signs() -> None:
    coded = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    np.testing.assert_array_equal(label_of(jnp.arange(4), 2), coded)
    np.testing.assert_array_equal(class_of(jnp.array(coded, float)), [0, 1, 2, 3])


def test_two_classes_have_scalar_labels() -> None:
    np.testing.assert_array_equal(label_of(jnp.arange(2), 1), [1, -1])
    np.testing.assert_array_equal(class_of(jnp.array([-1.0, 1.0, 1.0])), [1, 0, 0])


@pytest.mark.parametrize("outputs", [1, 2, 3, 6])
def test_labels_and_classes_are_inverse_to_each_other(outputs: int) -> None:
    classes = np.arange(2**outputs)
    labels = np.asarray(label_of(jnp.asarray(classes), outputs)).reshape(len(classes), outputs)
    assert set(labels.ravel()) == {-1.0, 1.0}
    assert len({tuple(row) for row in labels}) == len(classes)
    np.testing.assert_array_equal(class_of(label_of(jnp.asarray(classes), outputs)), classes)
    # the first sign tells the lower half of the classes from the upper one
    np.testing.assert_array_equal(labels[:, 0] > 0, classes < len(classes) // 2)


@pytest.mark.parametrize(
    "setting",
    [
        FOUR,
        FOUR.replace(relevant_fraction=0.3, confusion_fraction=0.275),
        RANDOM,
        RANDOM.replace(fraction_concentration=2.0),
        EIGHT,
        EIGHT_RANDOM,
        EIGHT_RANDOM.replace(fraction_concentration=3.0),
    ],
)
def test_the_class_is_the_strict_plurality_of_the_discriminative_patterns(setting: Setting) -> None:
    data, _ = drawn(setting)
    assert data.vote.shape == (len(data.pattern), int(math.log2(setting.classes)))
    np.testing.assert_array_equal(data.label, data.vote)
    votes = counts(data, setting.patterns)[:, : setting.classes]
    ranked = np.sort(votes, axis=1)
    assert np.all(ranked[:, -1] > ranked[:, -2])
    np.testing.assert_array_equal(np.argmax(votes, axis=1), own(data))
    np.testing.assert_array_equal(data.own(), own(data))


@pytest.mark.parametrize("setting", [FOUR, EIGHT, EIGHT_RANDOM])
def test_classes_are_balanced_in_every_prefix_of_whole_groups(setting: Setting) -> None:
    groups = own(drawn(setting)[0]).reshape(-1, setting.classes)
    np.testing.assert_array_equal(np.sort(groups, axis=1), [range(setting.classes)] * len(groups))


def test_every_order_inside_a_group_of_classes_is_equally_likely() -> None:
    orders = Counter(tuple(row) for row in own(drawn(FOUR)[0]).reshape(-1, 4))
    assert len(orders) == 24
    assert stats.chisquare(list(orders.values())).pvalue > UNLIKELY


def test_bernoulli_classes_are_independent_and_uniform() -> None:
    found = own(drawn(RANDOM)[0])
    assert stats.chisquare(np.bincount(found, minlength=4)).pvalue > UNLIKELY
    pairs = np.bincount(4 * found[::2] + found[1::2], minlength=16)
    assert stats.chisquare(pairs).pvalue > UNLIKELY


def test_shuffled_classes_are_balanced_and_independent_of_the_tokens() -> None:
    true, _ = drawn(FOUR)
    data, _ = drawn(FOUR.replace(label_order="shuffled"))
    for name in ("tokens", "vote", "pattern", "weight", "noise"):
        np.testing.assert_array_equal(getattr(data, name), getattr(true, name))
    label = np.asarray(class_of(jnp.asarray(data.label)))
    np.testing.assert_array_equal(np.sort(label.reshape(-1, 4), axis=1), [range(4)] * 256)
    table = np.zeros((4, 4))
    # the samples of a group depend on each other, the first ones of all groups do not
    np.add.at(table, (label[::4], own(data)[::4]), 1)
    assert stats.chi2_contingency(table).pvalue > UNLIKELY
    np.testing.assert_array_equal(data.relevant(), data.pattern == own(data)[:, None])


# Token counts


def test_every_sample_has_16_tokens_of_its_class_4_confusion_tokens_and_an_even_rest() -> None:
    data, _ = drawn(FOUR)
    found, classes = counts(data, 7), own(data)
    np.testing.assert_array_equal(found[np.arange(1024), classes], 16)
    np.testing.assert_array_equal(found[:, :4].sum(1), 20)
    np.testing.assert_array_equal(found[:, 4:], [[7, 7, 6]] * 1024)
    np.testing.assert_array_equal(np.sum(data.relevant(), axis=1), 16)
    np.testing.assert_array_equal(np.sum(data.confusion(), axis=1), 4)
    np.testing.assert_array_equal(np.sum(data.neutral(), axis=1), 20)
    np.testing.assert_array_equal(data.relevant() + data.confusion() + data.neutral(), 1)
    np.testing.assert_array_equal(data.discriminative(), data.relevant() + data.confusion())


def test_left_over_tokens_go_to_the_lowest_neutral_patterns() -> None:
    found = counts(drawn(EIGHT)[0], 11)
    np.testing.assert_array_equal(np.sort(found[:, :8], axis=1), [[0] * 6 + [1, 4]] * 256)
    np.testing.assert_array_equal(found[:, 8:], [[2, 2, 1]] * 256)
    full = counts(drawn(EIGHT.replace(confusion_fraction=0.2))[0], 11)
    np.testing.assert_array_equal(full[:, 8:], [[2, 1, 1]] * 256)


def test_every_confusion_token_has_one_of_the_other_classes_with_equal_chances() -> None:
    data, _ = drawn(FOUR)
    found, classes = counts(data, 7), own(data)
    for class_ in range(4):
        others = [k for k in range(4) if k != class_]
        assert stats.chisquare(found[classes == class_].sum(0)[others]).pvalue > UNLIKELY, class_
    # token by token: the four of a sample agree in one of 27 samples
    agree = np.sum(np.sort(found[:, :4], axis=1)[:, 2] == 4)
    assert stats.binomtest(int(agree), 1024, 1 / 27).pvalue > UNLIKELY


def test_positions_of_confusion_tokens_are_uniform_and_independent_of_their_class() -> None:
    data, _ = drawn(FOUR)
    confusion = np.asarray(data.confusion()) > 0
    statistic = np.sum((confusion.sum(0) - 102.4) ** 2) / (102.4 * 0.9) * 39 / 40
    assert stats.chi2(39).sf(statistic) > UNLIKELY
    offset = (data.pattern - own(data)[:, None]) % 4
    first, second = offset[confusion].reshape(1024, 4)[:, :2].T
    table = np.bincount(3 * (first - 1) + second - 1, minlength=9)
    assert stats.chisquare(table).pvalue > UNLIKELY


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield first, *rest


def plurality_law(setting: Setting) -> np.ndarray:
    """The law of the numbers of relevant and of confusion tokens, given that the class is the strict plurality."""
    others = setting.classes - 1
    rest = 1 - setting.relevant_fraction - setting.confusion_fraction
    mean = np.array([setting.relevant_fraction, *[setting.confusion_fraction / others] * others, rest])
    table = np.array([cell for cell in compositions(setting.tokens, others + 2) if cell[0] > max(cell[1:-1])])
    law: Any = stats.multinomial(setting.tokens, mean)
    if setting.fraction_concentration:
        law = stats.dirichlet_multinomial(setting.fraction_concentration * mean, setting.tokens)
    mass = np.zeros((setting.tokens + 1, setting.tokens + 1))
    np.add.at(mass, (table[:, 0], table[:, 1:-1].sum(1)), law.pmf(table))
    return mass / mass.sum()


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_random_counts_are_multinomial_given_the_strict_plurality(spread: float) -> None:
    setting = RANDOM.replace(fraction_concentration=spread)
    data, _ = drawn(setting)
    observed = np.zeros((11, 11))
    np.add.at(observed, tuple(np.asarray(kind).sum(1).astype(int) for kind in (data.relevant(), data.confusion())), 1)

    def p_value(setting: Setting) -> float:
        expected = 1024 * plurality_law(setting)
        common = expected >= 5
        pooled = ([*table[common], table[~common].sum()] for table in (observed, expected))
        return stats.chisquare(*pooled).pvalue

    assert p_value(setting) > UNLIKELY
    assert p_value(setting.replace(fraction_concentration=2.0 - spread)) < 1e-9, "the two laws must be told apart"
    assert p_value(setting.replace(confusion_fraction=0.18)) < UNLIKELY


def test_random_confusion_tokens_are_spread_evenly_over_the_other_classes() -> None:
    data, _ = drawn(RANDOM)
    offset = (data.pattern - own(data)[:, None]) % 4
    assert stats.chisquare([np.sum((offset == k) * data.confusion()) for k in (1, 2, 3)]).pvalue > UNLIKELY
    assert stats.chisquare(counts(drawn(EIGHT_RANDOM)[0], 11).sum(0)[8:]).pvalue > UNLIKELY


def test_two_class_samples_are_those_drawn_before_there_were_more_classes() -> None:
    """Numbers of the first version of the sampler: what was computed with it stays reproducible."""
    key = jax.random.key(0)
    basis = draw_patterns(SMALL.problem(), key)
    data, random = (
        jax.device_get(draw(SMALL.replace(fractions=how).problem(), key, basis, count=256))
        for how in ("fixed", "random")
    )
    np.testing.assert_array_equal(data.label[:8], [-1, 1, -1, 1, -1, 1, 1, -1])
    expected = [[1, 2, 1, 0, 1, 4, 3, 2, 1, 3], [0, 0, 3, 2, 0, 2, 1, 3, 0, 4], [4, 0, 1, 1, 3, 1, 1, 2, 3, 2]]
    np.testing.assert_array_equal(data.pattern[:3], expected)
    assert np.sum(np.arange(256)[:, None] * data.pattern) == 538551
    np.testing.assert_allclose(data.tokens[0, 0, :3], [0.15300702, -0.2411572, -0.2092988], rtol=1e-5)
    assert np.sum(data.noise) == pytest.approx(78.93457, rel=1e-5)
    np.testing.assert_array_equal(random.label, data.label)
    expected = [[3, 1, 3, 1, 2, 3, 1, 0, 1, 1], [2, 0, 3, 3, 4, 3, 1, 0, 4, 0], [1, 1, 4, 2, 2, 1, 4, 1, 1, 4]]
    np.testing.assert_array_equal(random.pattern[:3], expected)
    assert np.sum(np.arange(256)[:, None] * random.pattern) == 548612
    for one in (data, random):
        votes = np.sum(one.pattern == 0, axis=1) - np.sum(one.pattern == 1, axis=1)
        np.testing.assert_array_equal(np.sign(votes), one.vote)


# Pattern sets


@pytest.mark.parametrize("setting", [FOUR, RANDOM])
def test_members_of_a_set_are_close_unit_vectors_and_orthogonal_to_all_other_sets(setting: Setting) -> None:
    members = drawn(setting)[1].astype(float)
    basis = np.asarray(draw_patterns(setting.problem(), jax.random.key(0)))
    sets, size = setting.patterns, setting.members
    assert members.shape == (setting.dimension, sets, size)
    flat, of = members.reshape(setting.dimension, -1), np.repeat(np.arange(sets), size)
    expected = np.where(of[:, None] == of, 1 / 1.09, 0.0)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(flat.T @ flat, expected, atol=1e-6)
    np.testing.assert_allclose(basis.T @ flat, (np.arange(sets)[:, None] == of) / math.sqrt(1.09), atol=1e-6)
    for one, two in itertools.combinations(range(size), 2):
        delta = np.linalg.norm(members[:, :, one] - members[:, :, two], axis=0)
        np.testing.assert_allclose(delta, 0.40637, atol=6e-6)
        np.testing.assert_allclose(delta, setting.member_distance, rtol=1e-5)
    assert pattern_distance(jnp.asarray(members)) == pytest.approx(math.sqrt(2), rel=1e-6)


def test_the_spread_moves_members_away_from_their_centre_in_fixed_directions() -> None:
    key = jax.random.key(0)
    basis = draw_patterns(FOUR.problem(), key)
    still, one, two = (
        np.asarray(draw_members(FOUR.replace(member_spread=spread).problem(), key, basis)) for spread in (0.0, 0.3, 0.9)
    )
    np.testing.assert_allclose(still, np.repeat(np.asarray(basis)[:, :, None], 2, axis=2), atol=1e-6)
    direction = (one * math.sqrt(1.09) - still) / 0.3
    np.testing.assert_allclose((two * math.sqrt(1.81) - still) / 0.9, direction, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(direction, axis=0), 1, rtol=1e-5)


def test_directions_of_members_are_uniform() -> None:
    problem = FOUR.problem()
    basis = jnp.eye(21, 7)
    members = np.stack([draw_members(problem, key, basis) for key in jax.random.split(jax.random.key(0), 200)])
    directions = (members[:, :, 1, 1] * math.sqrt(1.09) - np.asarray(basis)[:, 1]) / 0.3
    # a uniform unit vector in the 14 dimensions that the patterns leave
    np.testing.assert_allclose(directions[:, :7], 0, atol=1e-5)
    assert np.max(np.abs(directions.mean(0))) < 4 * math.sqrt(1 / 14 / 200)
    assert stats.kstest(directions[:, 9] ** 2, stats.beta(0.5, 6.5).cdf).pvalue > UNLIKELY


def test_a_plain_pattern_is_its_only_member() -> None:
    problem, key = SMALL.problem(), jax.random.key(0)
    data, members = drawn(SMALL)
    basis = draw_patterns(problem, key)
    np.testing.assert_array_equal(members, np.asarray(basis)[:, :, None])
    for name, one, two in zip(Data._fields, data, draw(problem, key, basis, count=256), strict=True):
        np.testing.assert_array_equal(one, two, err_msg=name)


@pytest.mark.parametrize("setting", [FOUR, RANDOM])
def test_tokens_without_noise_are_members_of_their_set(setting: Setting) -> None:
    data, members = drawn(setting)
    expected = np.moveaxis(members, 0, -1)[data.pattern, chosen_member(data, members)]
    np.testing.assert_allclose(data.tokens, expected, atol=1e-6)
    np.testing.assert_allclose(data.noise, 0, atol=1e-6)


def test_members_are_mixed_evenly_by_default() -> None:
    data, members = drawn(RANDOM)
    member = chosen_member(data, members)
    for pattern in range(5):
        found = np.bincount(member[data.pattern == pattern], minlength=3)
        assert stats.chisquare(found).pvalue > UNLIKELY, pattern


def test_members_are_mixed_with_the_users_shares_set_by_set() -> None:
    data, members = drawn(FOUR)
    first, confusion = chosen_member(data, members) == 0, np.asarray(data.confusion()) > 0
    for pattern, share in enumerate(SHARES[:, 0]):
        of = data.pattern == pattern
        # a set has its shares also in the samples in which it confuses
        for chosen in (first[of & ~confusion], first[of & confusion]):
            if chosen.size:
                assert stats.binomtest(int(chosen.sum()), chosen.size, share).pvalue > UNLIKELY, pattern
    np.testing.assert_array_equal(first[data.pattern == 5], True)


def test_members_of_the_tokens_of_a_sample_are_independent() -> None:
    data, members = drawn(FOUR)
    # the seven tokens of mu_5 in every sample, each of either member with probability a half
    member = chosen_member(data, members)[data.pattern == 4].reshape(1024, 7)
    patterns = np.bincount(member @ 2 ** np.arange(7), minlength=128)
    assert stats.chisquare(patterns).pvalue > UNLIKELY


def test_noise_is_measured_from_the_member() -> None:
    data, members = drawn(FOUR.replace(noise_radius=0.1))
    near = np.moveaxis(members, 0, -1)[data.pattern, chosen_member(data, members)]
    np.testing.assert_allclose(np.linalg.norm(data.tokens - near, axis=-1), 0.1, rtol=1e-4)
    np.testing.assert_allclose(data.noise, 0.1, rtol=1e-4)


def test_the_largest_noise_that_is_accepted_keeps_the_sets_apart() -> None:
    """2 tau + Delta < kappa, with Delta the largest distance of two tokens of a set."""
    largest = (math.sqrt(2) - 0.40637) / 4
    with pytest.raises(UserError, match="2τ"):
        FOUR.replace(noise_radius=largest + 1e-4)
    data, members = drawn(FOUR.replace(noise_radius=largest - 1e-4))
    tokens, pattern = data.tokens.reshape(-1, 21)[:2000], data.pattern.ravel()[:2000]
    gram = tokens @ tokens.T
    distance = np.sqrt(np.maximum(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram, 0))
    delta = distance[pattern[:, None] == pattern].max()
    assert delta > 0.40637, "noise adds to the distance of the members"
    assert 2 * data.noise.max() + delta < float(pattern_distance(jnp.asarray(members)))


def test_the_initial_maps_see_all_members_of_a_set_alike() -> None:
    problem, key = FOUR.problem(), jax.random.key(5)
    basis = draw_patterns(problem, key)
    members = np.asarray(draw_members(problem, key, basis))
    network, features = jax.device_get(initialise(problem, key, basis))
    maps = (network.value, network.key, network.query)
    for matrix, feature, error in zip(maps, features, (0.1, 0.2, 0.2), strict=True):
        seen = np.einsum("wd,dmb->bwm", matrix, members) * math.sqrt(1.09)
        np.testing.assert_allclose(seen[0], seen[1], atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(seen[0] - feature, axis=0), error, rtol=1e-4)


# Layer norm


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_layer_norm_makes_centred_unit_tokens_and_patterns(noise: float) -> None:
    data, members = drawn(LAYER.replace(token_noise=noise))
    patterns = members[:, :, 0].T
    for vectors in (data.tokens, patterns):
        np.testing.assert_allclose(vectors.mean(-1), 0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1, rtol=1e-5)
    distance = np.linalg.norm(data.tokens - patterns[data.pattern], axis=-1)
    np.testing.assert_allclose(data.noise, distance, rtol=1e-4, atol=1e-6)
    if noise == 0:
        np.testing.assert_allclose(distance, 0, atol=1e-6)
    else:
        # nine directions remain for the noise, one of which the norm takes
        assert np.mean(distance**2) == pytest.approx(8 * noise**2, rel=0.1)


def test_layer_norm_keeps_ball_noise_within_its_radius() -> None:
    problem, key = (
        LAYER.replace(noise_law="ball", noise_radius=0.3, label_balance="bernoulli").problem(),
        jax.random.key(0),
    )
    data = draw(problem, key, draw_patterns(problem, key), count=256)
    assert 0.28 < np.max(data.noise) <= 0.3 * (1 + 1e-5)


def test_layer_norm_acts_on_the_orthonormal_patterns_and_on_the_tokens_around_them() -> None:
    data, members = drawn(LAYER)
    raw, plain = drawn(LAYER.replace(normalise="no"))
    np.testing.assert_allclose(plain[:, :, 0].T @ plain[:, :, 0], np.eye(5), atol=1e-6)
    centred = plain - plain.mean(0)
    np.testing.assert_allclose(members, centred / np.linalg.norm(centred, axis=0), atol=1e-6)
    shifted = raw.tokens - plain[:, :, 0].T[raw.pattern] + members[:, :, 0].T[raw.pattern]
    shifted = shifted - shifted.mean(-1, keepdims=True)
    np.testing.assert_array_equal(data.pattern, raw.pattern)
    np.testing.assert_allclose(data.tokens, shifted / np.linalg.norm(shifted, axis=-1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize(
    "change", [{"skip": True}, {"value_error_law": "confuse", "free_queries": True, "dimension": 6}]
)
def test_the_initial_maps_meet_their_errors_exactly_on_patterns_bent_by_layer_norm(change: dict[str, Any]) -> None:
    setting = LAYER.replace(value_error=0.3, attention_error=0.4, **change)
    with numerics("float64"):
        problem, key = setting.problem(), jax.random.key(2)
        basis = draw_patterns(problem, key)
        network, features = jax.device_get(initialise(problem, key, basis))
    basis = np.asarray(basis)
    assert np.max(np.abs(basis.T @ basis - np.eye(5))) > 0.01, "the patterns are not orthonormal any more"
    value = network.value @ basis + (basis if setting.skip else 0)
    np.testing.assert_allclose(np.linalg.norm(value - features.value, axis=0), 0.3, rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(network.key @ basis - features.key, axis=0), 0.4, rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(network.query @ basis - features.query, axis=0), 0.4, rtol=1e-10)
    for feature in features:
        np.testing.assert_allclose(feature.T @ feature, np.eye(5), atol=1e-12)


# Sample i depends on the seed and on i alone, and outputs on the samples alone


@pytest.mark.parametrize("setting", [FOUR.replace(label_order="shuffled", noise_radius=0.1), RANDOM, LAYER])
def test_a_sample_does_not_depend_on_how_many_are_drawn(setting: Setting) -> None:
    some, many = drawn(setting, count=64)[0], drawn(setting)[0]
    for name, one, two in zip(Data._fields, some, many, strict=True):
        if name in ("tokens", "noise"):  # the order of the sums in a norm may differ
            np.testing.assert_allclose(one, two[:64], rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(one, two[:64], err_msg=name)


@functools.cache
def simulated(setting: Setting, loose: bool) -> dict[str, np.ndarray]:
    """A run with room for exactly its samples, or for more."""
    room = {"sample_room": 13, "drawn_room": MANY[setting.classes], "drawn_test_room": MANY[setting.classes]}
    problem = resized(setting, **(room if loose else {"sample_room": 9, "drawn_room": 64, "drawn_test_room": 64}))
    return jax.device_get(simulate(problem, jax.random.key(0)))


@pytest.mark.parametrize("setting", [FOUR, LAYER])
def test_no_output_depends_on_the_room(setting: Setting) -> None:
    tight, loose = simulated(setting, False), simulated(setting, True)
    assert tight.keys() == loose.keys()
    for name in tight:
        np.testing.assert_allclose(tight[name], loose[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_run_reports_the_shares_distances_and_errors_of_its_data() -> None:
    four, layer = simulated(FOUR, True), simulated(LAYER, True)
    shares = {"relevant_share": 0.4, "confusion_share": 0.1, "neutral_share": 0.5}
    geometry = {"pattern_distance": math.sqrt(2), "own_similarity": 1 / 1.09, "similarity": 0.0, "noise_norm": 0.0}
    errors = {"initial_value_error": 0.1, "initial_attention_error": 0.2}
    for name, expected in (shares | geometry | errors).items():
        assert four[name] == pytest.approx(expected, rel=1e-4, abs=1e-5), name
    for name, expected in (shares | errors).items():
        assert layer[name] == pytest.approx(expected, rel=1e-4), name
    assert 0.1 < layer["noise_norm"] < 1
    assert abs(layer["pattern_distance"] - math.sqrt(2)) > 1e-3


# The user's own samples


TOKENS, PATTERN = np.random.default_rng(0).normal(size=(3, 4, 5)), np.array([[0, 1, 2, 0], [1, 1, 0, 2], [2, 0, 3, 0]])


def own_samples(**change: Any) -> Data:
    parts: dict[str, Any] = {"tokens": TOKENS, "label": [1, -1, 1], "pattern": PATTERN}
    return vit_data.given(**(parts | change))


def test_own_samples_are_taken_as_they_are() -> None:
    data = own_samples()
    np.testing.assert_allclose(data.tokens, TOKENS, rtol=1e-6)
    np.testing.assert_array_equal(data.pattern, PATTERN)
    np.testing.assert_array_equal(data.label, [1, -1, 1])
    np.testing.assert_array_equal(data.vote, data.label)
    np.testing.assert_array_equal(data.weight, np.ones((3, 4)))
    np.testing.assert_array_equal(data.noise, np.zeros((3, 4)))
    np.testing.assert_array_equal(data.relevant(), data.pattern == np.array([[0], [1], [0]]))
    with numerics("float64"):
        np.testing.assert_array_equal(own_samples().tokens, TOKENS)


def test_own_samples_may_be_masked_noisy_and_of_four_classes() -> None:
    mask, noise = [[0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 2]], np.arange(12.0).reshape(3, 4)
    data = own_samples(label=[[1, 1], [-1, 1], [-1, -1]], mask=mask, noise=noise)
    np.testing.assert_array_equal(data.weight, mask)
    np.testing.assert_array_equal(data.noise, noise)
    np.testing.assert_array_equal(data.own(), [0, 2, 3])
    assert data.classes() == 4
    np.testing.assert_array_equal(data.neutral(), 0)
    np.testing.assert_array_equal(data.discriminative(), np.array(mask) > 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": [1, 0, 1]}, "label = 0 is not allowed: a label is +1 or -1"),
        ({"label": [1, -1, 2]}, "label = 2"),
        ({"label": [1, -1, -0.5]}, "label = -0.5"),
        ({"label": [1, math.nan, 1]}, "label = nan"),
        ({"label": [[1, 1], [1, 0], [1, 1]]}, "label = 0"),
        ({"label": [1, -1]}, "label (2,)"),
        ({"label": 1}, "label ()"),
        ({"label": np.ones((3, 2, 2))}, "label (3, 2, 2)"),
        ({"tokens": np.ones((3, 4))}, "tokens (3, 4)"),
        ({"tokens": np.ones((2, 4, 5))}, "tokens (2, 4, 5)"),
        ({"tokens": np.full((3, 4, 5), math.inf)}, "tokens"),
        ({"pattern": np.zeros((3, 5), int)}, "pattern (3, 5)"),
        ({"pattern": np.zeros(3, int)}, "pattern (3,)"),
        ({"pattern": PATTERN - 1}, "pattern = -1"),
        ({"pattern": PATTERN + 0.5}, "pattern = 0.5"),
        ({"mask": np.ones((3, 5))}, "mask has shape (3, 5)"),
        ({"mask": [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]]}, "mask is not allowed: it keeps no token of sample 1"),
        ({"mask": [[1, 1, 1, 1], [1, 1, 1, -1], [1, 0, 0, 0]]}, "mask = -1"),
        ({"noise": np.zeros(3)}, "noise has shape (3,)"),
    ],
)  # fmt: skip
def test_own_samples_that_make_no_sense_are_refused_in_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError) as caught:
        own_samples(**change)
    message = str(caught.value)
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message


# Statistics of the data


jitted_shares, jitted_similarities = jax.jit(token_shares), jax.jit(similarities)
jitted_attention, jitted_distance = jax.jit(attention_by_query), jax.jit(pattern_distance)


class Statistics:
    """Random samples of two or four classes with masked and repeated tokens, two of them unused."""

    def __init__(self, seed: int, four: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.classes = 4 if four else 2
        self.weight = rng.choice([0.0, 1.0, 1.0, 3.0], (5, 6))
        self.weight[:, 0] = 1.0
        self.sample_weight = np.array([0.5, 0.2, 0.3, 0.0, 0.0])
        self.tokens = rng.normal(size=(5, 6, 4))
        self.pattern = rng.integers(0, 6, (5, 6))
        label = rng.choice([-1.0, 1.0], (5, 2) if four else 5)
        self.data = Data(self.tokens, label, label, self.pattern, self.weight, np.zeros((5, 6)))
        self.network = Network(*rng.normal(size=(4, 4, 4)))

    def kinds(self, n: int) -> dict[str, np.ndarray]:
        z = self.pattern[n]
        relevant = z == own(self.data)[n]
        return {"relevant": relevant, "confusion": (z < self.classes) & ~relevant, "neutral": z >= self.classes}

    def attention(self, n: int) -> np.ndarray:
        """Softmax over as many equal tokens as the multiplicity says, none for masked ones."""
        x = self.tokens[n]
        keys = np.repeat(x, self.weight[n].astype(int), axis=0)
        logits = x @ self.network.query.T @ self.network.key @ keys.T
        mass = np.exp(logits - logits.max(-1, keepdims=True))
        return mass / mass.sum(-1, keepdims=True)


@few
@given(seed=seeds, four=st.booleans())
def test_token_shares_are_counts_of_kept_tokens(seed: int, four: bool) -> None:
    case = Statistics(seed, four)
    with numerics("float64"):
        found = jax.device_get(jitted_shares(case.data, case.sample_weight))
    for kind in ("relevant", "confusion", "neutral"):
        shares = [case.weight[n][case.kinds(n)[kind]].sum() / case.weight[n].sum() for n in range(5)]
        assert found[f"{kind}_share"] == pytest.approx(case.sample_weight @ shares, rel=1e-12)
    assert sum(found.values()) == pytest.approx(1, rel=1e-12)


@few
@given(seed=seeds)
def test_similarities_are_extreme_inner_products_of_kept_tokens_of_used_samples(seed: int) -> None:
    case = Statistics(seed)
    with numerics("float64"):
        found = jax.device_get(jitted_similarities(case.data, case.sample_weight))
    between, within = [-1.0], []
    for n in range(3):
        kept = np.flatnonzero(case.weight[n])
        for i, j in itertools.product(kept, kept):
            same = case.pattern[n, i] == case.pattern[n, j]
            (within if same else between).append(case.tokens[n, i] @ case.tokens[n, j])
    assert found["similarity"] == pytest.approx(max(between), rel=1e-12)
    assert found["own_similarity"] == pytest.approx(min(within), rel=1e-12)


@few
@given(seed=seeds)
def test_the_pattern_distance_is_the_smallest_between_members_of_different_sets(seed: int) -> None:
    members = np.random.default_rng(seed).normal(size=(4, 3, 2))
    # two members of one set are as close as can be
    members[:, 0, 1] = members[:, 0, 0] + 1e-3
    every = list(itertools.product(range(3), range(2)))
    expected = min(
        np.linalg.norm(members[:, i, b] - members[:, j, c])
        for (i, b), (j, c) in itertools.product(every, every)
        if i != j
    )
    with numerics("float64"):
        assert jitted_distance(members) == pytest.approx(expected, rel=1e-12)


@few
@given(seed=seeds, four=st.booleans())
def test_entropy_and_attended_tokens_equal_their_definitions_by_type_of_query(seed: int, four: bool) -> None:
    case = Statistics(seed, four)
    with numerics("float64"):
        found = jax.device_get(jitted_attention(case.network, case.data, case.sample_weight))
    rows: dict[str, list[tuple[float, float]]] = {kind: [] for kind in ("all", "relevant", "confusion", "neutral")}
    for n in range(3):
        w = case.attention(n)
        entropy = -np.sum(w * np.log(np.maximum(w, 1e-300)), axis=1)
        for position in range(6):
            kind = next(name for name, chosen in case.kinds(n).items() if chosen[position])
            for name in ("all", kind):
                rows[name].append((case.sample_weight[n] * case.weight[n, position], entropy[position]))
    for index, table in enumerate(np.array(row).reshape(-1, 2) for row in rows.values()):
        if table[:, 0].sum() == 0:
            assert np.isnan(found["entropy"][index])
            assert np.isnan(found["attended"][index])
        else:
            mean = functools.partial(np.average, weights=table[:, 0])
            assert found["entropy"][index] == pytest.approx(mean(table[:, 1]), rel=1e-9, abs=1e-12)
            assert found["attended"][index] == pytest.approx(mean(np.exp(table[:, 1])), rel=1e-9)


@few
@given(seed=seeds)
def test_uniform_attention_attends_to_all_kept_tokens(seed: int) -> None:
    case = Statistics(seed)
    even = case.network._replace(key=np.zeros((4, 4)))
    with numerics("float64"):
        for kept in (np.minimum(case.weight, 1.0), case.weight):
            for n, total in enumerate(kept.sum(1)):
                found = jitted_attention(even, case.data._replace(weight=kept), np.eye(5)[n])
                assert found["attended"][0] == pytest.approx(total, rel=1e-12)
                assert found["entropy"][0] == pytest.approx(math.log(total), rel=1e-12, abs=1e-12)


def test_attention_that_has_picked_one_token_has_no_entropy() -> None:
    case = Statistics(1)
    sharp = case.network._replace(key=1e4 * case.network.key)
    with numerics("float64"):
        found = jitted_attention(sharp, case.data._replace(weight=np.ones((5, 6))), np.eye(5)[0])
    assert found["attended"][0] == pytest.approx(1, rel=1e-9)
    assert found["entropy"][0] == pytest.approx(0, abs=1e-9)
