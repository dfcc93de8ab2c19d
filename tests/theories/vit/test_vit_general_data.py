"""More general data (2.3, 2.4): classes, token counts and pattern sets.

Seeds are fixed, so no test is flaky; thresholds are four standard errors or a p-value of one in a thousand. Drawing
compiles slowly, so few programs are drawn from: numbers (noise, fractions, spreads) vary freely within one.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from vit_general_cases import (
    EIGHT,
    EIGHT_RANDOM,
    FOUR,
    RANDOM,
    SHARES,
    SMALL,
    UNLIKELY,
    chosen_member,
    counts,
    drawn,
    own,
)

from lemmata.lab.errors import UserError
from lemmata.theories.vit.data import Data, class_of, draw, draw_members, draw_patterns, label_of
from lemmata.theories.vit.network import initialise
from lemmata.theories.vit.probes import pattern_distance
from lemmata.theories.vit.setting import Setting

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
