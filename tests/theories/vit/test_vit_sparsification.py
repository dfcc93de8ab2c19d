"""Token sparsification (2.5): what each strategy drops, and that a dropped token is gone.

Every sample has 4 tokens of its label's pattern, 1 of the other discriminative pattern and 5 others; three in ten are
noisy. Seeds are fixed; thresholds are p-values of one in a thousand.
"""

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import stream
from lemmata.networks.shallow import Network, attention, forward, gradient
from lemmata.theories.vit import data as vit_data
from lemmata.theories.vit.data import Data, draw, draw_members, draw_patterns, keep_best, score, sparsify
from lemmata.theories.vit.network import draw_signs, initialise
from lemmata.theories.vit.setting import STRATEGIES, Setting
from lemmata.theories.vit.training import simulate, train

SMALL = Setting(
    tokens=10, neurons=16, samples=9, test_samples=16, steps=3, records=4, noisy_fraction=0.3, output_scale=0.3
)
CERTAIN = {"irrelevant": 0.4, "nondiscriminative": 0.5, "noisy": 0.7, "attention": 0.7, "relevant": 0.6}
"""A share at which nothing is left to chance: the first tier is dropped entirely."""
MANY = 256
UNLIKELY = 1e-3

seeds = st.integers(0, 2**31 - 1)
few = settings(deadline=None, max_examples=15)


@functools.cache
def drawn(seed: int = 0) -> Data:
    """Samples before sparsification, as NumPy arrays."""
    key, problem = jax.random.key(seed), SMALL.problem()
    members = draw_members(problem, key, draw_patterns(problem, key))
    return jax.device_get(draw(problem, key, members, count=MANY))


@functools.cache
def some_attention() -> np.ndarray:
    """Attention maps that have nothing to do with the tokens: rows add up to one."""
    mass = np.random.default_rng(0).exponential(size=(MANY, 10, 10))
    return mass / mass.sum(-1, keepdims=True)


def masked(strategy: str, kept: int, data: Data | None = None, seed: int = 0, weights: Any = None) -> np.ndarray:
    """Which tokens are kept of every sample."""
    data = drawn() if data is None else data
    problem = SMALL.replace(strategy=strategy, keep=kept / 10).problem()
    weights = some_attention()[: len(data.pattern)] if weights is None else weights
    thinned = jax.device_get(sparsify(problem, jax.random.key(seed), data, weights))
    for name in ("tokens", "label", "vote", "pattern", "noise"):
        np.testing.assert_array_equal(getattr(thinned, name), getattr(data, name), err_msg=name)
    np.testing.assert_array_equal(thinned.weight, np.where(thinned.weight > 0, data.weight, 0))
    return thinned.weight > 0


def own(data: Data) -> np.ndarray:
    return np.where(data.vote > 0, 0, 1)[:, None]


def worth(strategy: str, data: Data, weights: np.ndarray) -> np.ndarray:
    """The tier of every token, or its rank where there are no ties: the lowest are dropped first."""
    return {
        "random": np.zeros(data.pattern.shape),
        "irrelevant": data.pattern == own(data),
        "nondiscriminative": data.pattern < 2,
        "noisy": -data.noise,
        "attention": weights.sum(1),
        "relevant": data.pattern != own(data),
    }[strategy]


def resized(setting: Setting, **sizes: int) -> Problem:
    """The problem with other static capacities."""
    leaves, (names, static) = setting.problem().tree_flatten()
    return Problem.tree_unflatten((names, tuple((dict(static) | sizes).items())), leaves)


# How many tokens are kept


@settings(deadline=None)
@given(thousandths=st.integers(1, 1000), tokens=st.integers(1, 200))
@example(thousandths=410, tokens=150)  # 61.49999999999999 in floating point, and 61.5 rounds to 62
def test_the_kept_count_is_rounded_half_to_even(thousandths: int, tokens: int) -> None:
    fields: dict[str, Any] = {"tokens": tokens, "keep": thousandths / 1000, "relevant_fraction": 1.0}
    expected = round(Fraction(thousandths, 1000) * tokens)
    if expected:
        setting = Setting(confusion_fraction=0.0, **fields)
        assert setting.kept_tokens == setting.problem().kept_tokens == expected
    else:
        with pytest.raises(UserError, match=f"keep = .* of {tokens} tokens it keeps none"):
            Setting(confusion_fraction=0.0, **fields)


@pytest.mark.parametrize(("keep", "kept"), [(0.25, 2), (0.35, 4), (0.65, 6), (0.07, 1), (0.95, 10), (1.0, 10)])
def test_the_kept_count_of_ten_tokens(keep: float, kept: int) -> None:
    assert SMALL.replace(keep=keep).kept_tokens == kept


@few
@given(seed=seeds, kept=st.integers(0, 8), ties=st.booleans())
def test_the_best_tokens_stay_and_of_equal_ones_the_first(seed: int, kept: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 3, (4, 8)) / 2.0 if ties else rng.normal(size=(4, 8))
    expected = np.zeros((4, 8))
    for row, mask in zip(value, expected, strict=True):
        mask[sorted(range(8), key=lambda s: (-row[s], s))[:kept]] = 1
    np.testing.assert_array_equal(keep_best(jnp.asarray(value), kept), expected)


# Which tokens are kept


@settings(deadline=None, max_examples=40)
@given(strategy=st.sampled_from(STRATEGIES), kept=st.integers(1, 10), seed=seeds)
def test_no_token_is_dropped_before_one_of_a_lower_tier(strategy: str, kept: int, seed: int) -> None:
    data = drawn()
    mask = masked(strategy, kept, seed=seed)
    np.testing.assert_array_equal(mask.sum(1), kept)
    value = worth(strategy, data, some_attention().astype(np.float32)).astype(float)
    lowest_kept = np.min(np.where(mask, value, np.inf), axis=1)
    highest_dropped = np.max(np.where(mask, -np.inf, value), axis=1)
    assert np.all(lowest_kept >= highest_dropped - 1e-6 * (strategy == "attention"))


def counts(mask: np.ndarray) -> list[list[int]]:
    """The different numbers of relevant, confusion and neutral tokens that are kept."""
    data = drawn()
    relevant, neutral = data.pattern == own(data), data.pattern >= 2
    kinds = [mask & relevant, mask & ~relevant & ~neutral, mask & neutral]
    return sorted(map(list, {tuple(int(kind[n].sum()) for kind in kinds) for n in range(MANY)}))


def test_irrelevant_tokens_go_first_and_relevant_ones_when_they_are_exhausted() -> None:
    assert counts(masked("irrelevant", 7)) == [[4, 0, 3], [4, 1, 2]]
    assert counts(masked("irrelevant", 4)) == [[4, 0, 0]]
    assert counts(masked("irrelevant", 3)) == [[3, 0, 0]]


def test_non_discriminative_tokens_go_first_and_confusion_and_relevant_ones_alike_after_them() -> None:
    assert counts(masked("nondiscriminative", 7)) == [[4, 1, 2]]
    assert counts(masked("nondiscriminative", 5)) == [[4, 1, 0]]
    assert counts(masked("nondiscriminative", 3)) == [[2, 1, 0], [3, 0, 0]]


def test_the_control_drops_relevant_tokens_first() -> None:
    assert counts(masked("relevant", 8)) == [[2, 1, 5]]
    assert counts(masked("relevant", 6)) == [[0, 1, 5]]
    assert counts(masked("relevant", 4)) == [[0, 0, 4], [0, 1, 3]]


def test_the_least_noisy_tokens_stay_in_every_sample() -> None:
    mask = masked("noisy", 7)
    for row, noise in zip(mask, drawn().noise, strict=True):
        assert set(np.flatnonzero(row)) == set(np.argsort(noise)[:7])


def test_the_tokens_that_attract_most_attention_stay() -> None:
    mask, weights = masked("attention", 7), some_attention()
    for row, w in zip(mask, weights, strict=True):
        attracted = [sum(w[query, key] for query in range(10)) for key in range(10)]
        assert set(np.flatnonzero(row)) == set(np.argsort(attracted)[3:])


def test_background_tokens_go_first_from_images() -> None:
    uniform, background = jnp.array([0.9, 0.1, 0.5, 0.2]), jnp.array([1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(keep_best(score("spurious", uniform, background=background), 2), [0, 1, 0, 1])
    np.testing.assert_array_equal(keep_best(score("spurious", uniform, background=background), 3), [1, 1, 0, 1])


def test_relevant_tokens_are_those_of_the_true_label_not_of_a_shuffled_one() -> None:
    data = drawn()
    np.testing.assert_array_equal(masked("irrelevant", 4, data._replace(label=-data.label)), data.pattern == own(data))


def test_with_four_classes_the_patterns_of_the_other_three_are_irrelevant_but_discriminative() -> None:
    pattern = np.tile([0, 1, 2, 3, 4, 5, 0, 1, 2, 3], (4, 1))
    label = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    data = jax.device_get(vit_data.given(np.ones((4, 10, 2)), label, pattern))
    np.testing.assert_array_equal(masked("irrelevant", 2, data), pattern == np.arange(4)[:, None])
    np.testing.assert_array_equal(masked("nondiscriminative", 8, data), pattern < 4)


def test_an_unknown_strategy_is_an_error() -> None:
    with pytest.raises(KeyError, match="best"):
        score("best", jnp.zeros(3))


@pytest.mark.parametrize(
    ("strategy", "kept", "tier", "size", "stay"),
    [
        ("random", 2, "all", 10, 2),
        ("irrelevant", 7, "irrelevant", 6, 3),
        ("irrelevant", 2, "relevant", 4, 2),
        ("nondiscriminative", 7, "neutral", 5, 2),
        ("nondiscriminative", 3, "discriminative", 5, 3),
        ("relevant", 8, "relevant", 4, 2),
        ("relevant", 4, "irrelevant", 6, 4),
    ],
)  # fmt: skip
def test_inside_a_tier_every_choice_is_equally_likely(
    strategy: str, kept: int, tier: str, size: int, stay: int
) -> None:
    data = drawn()
    inside = {
        "all": data.pattern >= 0,
        "relevant": data.pattern == own(data),
        "irrelevant": data.pattern != own(data),
        "neutral": data.pattern >= 2,
        "discriminative": data.pattern < 2,
    }[tier]
    found: Counter[tuple[int, ...]] = Counter()
    for seed in range(4):
        chosen = masked(strategy, kept, seed=seed)[inside].reshape(MANY, size)
        found.update(tuple(np.flatnonzero(row)) for row in chosen)
    choices = list(itertools.combinations(range(size), stay))
    assert found.total() == 4 * MANY
    assert stats.chisquare([found[choice] for choice in choices]).pvalue > UNLIKELY


@pytest.mark.parametrize(("strategy", "kept", "share"), [("irrelevant", 7, 3 / 6), ("nondiscriminative", 3, 3 / 5)])
def test_a_confusion_token_is_one_of_its_tier(strategy: str, kept: int, share: float) -> None:
    data = drawn()
    confusion = (data.pattern < 2) & (data.pattern != own(data))
    stayed = sum(int(masked(strategy, kept, seed=seed)[confusion].sum()) for seed in range(4))
    assert stats.binomtest(stayed, 4 * MANY, share).pvalue > UNLIKELY


def test_random_choices_of_two_samples_are_independent() -> None:
    mask = masked("random", 5)
    overlap = np.sum(mask[::2] & mask[1::2])
    assert abs(overlap - 128 * 2.5) < 4 * math.sqrt(128 * stats.hypergeom(10, 5, 5).var())
    assert len({row.tobytes() for row in mask}) > 100


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_mask_does_not_depend_on_how_many_samples_there_are(strategy: str) -> None:
    some = jax.tree.map(lambda leaf: leaf[:64], drawn())
    np.testing.assert_array_equal(masked(strategy, 7, some), masked(strategy, 7)[:64])


# Samples that were masked before


def premasked() -> Data:
    """Own samples of which every second token is masked already."""
    data = drawn()
    mask = np.tile([1.0, 0.0], (MANY, 5))
    return jax.device_get(vit_data.given(data.tokens, data.vote, data.pattern, mask=mask, noise=data.noise))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_token_that_was_masked_before_is_not_kept_in_place_of_another(strategy: str) -> None:
    data = premasked()
    np.testing.assert_array_equal(masked(strategy, 3, data).sum(1), 3)
    np.testing.assert_array_equal(masked(strategy, 7, data), data.weight > 0)


def test_the_attention_of_masked_queries_does_not_count() -> None:
    weights = np.zeros((MANY, 10, 10))
    weights[:, 0::2, 0] = 0.4
    weights[:, 0::2, 2] = 0.6
    weights[:, 1::2, 0] = 1.0
    np.testing.assert_array_equal(np.flatnonzero(masked("attention", 1, premasked(), weights=weights)[0]), [2])


# A dropped token is gone


@functools.cache
def pieces(setting: Setting) -> tuple[Network, Any, Data, Data]:
    """Initial network, signs, training and test samples of a run, before sparsification."""
    problem, key = setting.problem(), jax.random.key(0)
    basis = draw_patterns(problem, stream(key, "data"))
    members = draw_members(problem, stream(key, "data"), basis)
    data, test = (draw(problem, stream(key, name), members, count=MANY) for name in ("data", "test"))
    network, _ = initialise(problem, stream(key, "init"), basis)
    return jax.device_get((network, draw_signs(problem, stream(key, "init")), data, test))


def shortened(data: Data, mask: np.ndarray) -> Data:
    """Samples without the tokens that the mask drops."""
    count = len(mask)
    cut = {name: getattr(data, name)[mask].reshape(count, mask[0].sum(), -1) for name in ("tokens", "pattern", "noise")}
    return data._replace(
        tokens=cut["tokens"],
        pattern=cut["pattern"][..., 0],
        noise=cut["noise"][..., 0],
        weight=np.ones(cut["noise"].shape[:2]),
    )


def each(function: Any) -> Any:
    """A function of one sample (signs, tokens, weight), mapped over samples."""
    return jax.jit(jax.vmap(lambda a, x, c: function(a, x[None], c[None])))


@pytest.mark.parametrize("output", ["shared", "per_token"])
@pytest.mark.parametrize("strategy", ["random", "irrelevant"])
def test_a_sparsified_sample_is_the_shorter_sample(strategy: str, output: str) -> None:
    data = jax.tree.map(lambda leaf: leaf[:12].astype(float), drawn())
    mask = masked(strategy, 6)[:12]
    rng = np.random.default_rng(0)
    network = Network(*(rng.normal(size=shape) for shape in ((7, 4), (4, 10), (3, 10), (3, 10))))
    signs = rng.choice([-1.0, 1.0], (12, 10, 7))
    if output == "shared":
        signs = np.broadcast_to(signs[:, :1], signs.shape)
    short = shortened(data, mask)
    whole_input = signs, data.tokens, mask * 1.0
    short_input = signs[mask].reshape(12, 6, 7), short.tokens, short.weight
    with numerics("float64"):
        outputs = each(lambda a, x, c: forward(network, a, x, c))
        slopes = each(lambda a, x, c: gradient(network, a, x, c, lambda f: jnp.cos(f)))
        np.testing.assert_allclose(outputs(*whole_input), outputs(*short_input), rtol=1e-12, atol=1e-13)
        for name, one, two in zip(Network._fields, slopes(*whole_input), slopes(*short_input), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-12, err_msg=name)
        change = outputs(signs, data.tokens, np.ones((12, 10))) - outputs(*short_input)
    assert np.max(np.abs(change)) > 1e-2


def test_training_on_sparsified_samples_is_training_on_the_shorter_ones() -> None:
    network, signs, data, _ = pieces(SMALL)
    mask = masked("random", 6, data)
    key = jax.random.key(0)
    problem = SMALL.problem()
    thinned = data._replace(weight=mask.astype(np.float32))
    one, two, whole = (
        jax.device_get(train(problem, key, network, signs, samples))
        for samples in (thinned, shortened(data, mask)._replace(weight=np.ones((MANY, 6), np.float32)), data)
    )
    np.testing.assert_allclose(one.records["train_loss"], two.records["train_loss"], rtol=1e-5)
    for name, left, right in zip(Network._fields, one.state.parameters, two.state.parameters, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-6, err_msg=name)
    assert np.max(np.abs(one.records["train_loss"] - whole.records["train_loss"])) > 1e-3


# What a run reports


@functools.cache
def simulated(strategy: str, keep: float) -> dict[str, np.ndarray]:
    return jax.device_get(simulate(SMALL.replace(strategy=strategy, keep=keep), jax.random.key(0)))


def plain_attention(network: Network, x: np.ndarray) -> np.ndarray:
    mass = np.exp(x @ network.query.T @ network.key @ x.T)
    return mass / mass.sum(-1, keepdims=True)


def plain_hinge(network: Network, signs: np.ndarray, data: Data) -> float:
    losses = []
    for x, y in zip(data.tokens.astype(float), data.vote, strict=True):
        values = plain_attention(network, x) @ x @ network.value.T
        output = np.mean(np.maximum(values @ network.output.T, 0) @ signs)
        losses.append(max(0.0, 1 - y * output))
    return float(np.mean(losses))


@pytest.mark.parametrize(("strategy", "keep"), CERTAIN.items())
def test_training_and_test_samples_are_sparsified_alike_and_what_is_left_is_reported(
    strategy: str, keep: float
) -> None:
    network, signs, data, test = pieces(SMALL)
    kept = round(10 * keep)
    left = []
    for samples, count in ((data, 9), (test, 16)):
        part = jax.tree.map(lambda leaf, n=count: leaf[:n], samples)
        weights = np.stack([plain_attention(network, x) for x in part.tokens.astype(float)])
        value = worth(strategy, part, weights)
        mask = np.zeros(part.pattern.shape, bool)
        np.put_along_axis(mask, np.argsort(-value.astype(float), axis=1)[:, :kept], True, axis=1)
        left.append(shortened(part, mask))
    trained, tested = left
    found = simulated(strategy, keep)
    relevant = trained.pattern == own(trained)
    assert found["relevant_share"] == pytest.approx(relevant.mean(), rel=1e-5)
    assert found["confusion_share"] == pytest.approx(np.mean((trained.pattern < 2) & ~relevant), rel=1e-5)
    assert found["neutral_share"] == pytest.approx(np.mean(trained.pattern >= 2), rel=1e-5)
    assert found["noise_norm"] == pytest.approx(trained.noise.max(), rel=1e-5)
    assert found["train_loss"][0] == pytest.approx(plain_hinge(network, signs, trained), rel=1e-5)
    assert found["untrained_test_hinge"] == pytest.approx(plain_hinge(network, signs, tested), rel=1e-5)
    whole = simulated("random", 1.0)
    assert abs(found["train_loss"][0] - whole["train_loss"][0]) > 1e-4
    assert abs(found["untrained_test_hinge"] - whole["untrained_test_hinge"]) > 1e-4


def test_irrelevant_tokens_dropped_raise_the_relevant_share_and_noisy_ones_lower_the_noise() -> None:
    whole = simulated("random", 1.0)
    assert whole["relevant_share"] == pytest.approx(0.4, rel=1e-6)
    assert simulated("irrelevant", 0.4)["relevant_share"] == 1
    assert simulated("relevant", 0.6)["relevant_share"] == 0
    assert simulated("noisy", 0.7)["noise_norm"] < whole["noise_norm"]


def test_random_sparsification_leaves_the_relevant_share_to_chance() -> None:
    found = simulated("random", 0.5)
    kept = found["relevant_share"] * 45
    assert kept == pytest.approx(round(float(kept)), abs=1e-4)
    # nine samples, each the number of 4 relevant among 5 of 10 tokens
    assert abs(kept - 18) < 4 * math.sqrt(9 * stats.hypergeom(10, 4, 5).var())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_that_keeps_all_tokens_is_the_run_without_sparsification_to_the_bit(strategy: str) -> None:
    whole = simulated("random", 1.0)
    # 9.6 tokens of ten are ten
    for keep in (1.0, 0.96):
        found = simulated(strategy, keep)
        assert found.keys() == whole.keys()
        for name in whole:
            np.testing.assert_array_equal(found[name], whole[name], err_msg=f"{name} at {keep}")


@pytest.mark.parametrize("strategy", ["random", "attention"])
def test_no_output_of_a_sparsified_run_depends_on_the_room(strategy: str) -> None:
    setting = SMALL.replace(strategy=strategy, keep=0.5)
    tight = resized(setting, sample_room=9, drawn_room=64, drawn_test_room=64)
    one = jax.device_get(simulate(tight, jax.random.key(0)))
    two = jax.device_get(simulate(resized(setting, sample_room=13, drawn_room=MANY), jax.random.key(0)))
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_the_attention_strategy_reads_the_initial_network() -> None:
    """The practical method of Proposition 2: the mask is the one of the network's own attention."""
    network, _, data, _ = pieces(SMALL)
    weights = np.asarray(attention(network, data.tokens, data.weight))
    mask = masked("attention", 7, data, weights=weights)
    x = data.tokens[3].astype(float)
    kept = set(np.argsort(plain_attention(network, x).sum(0))[3:])
    assert set(np.flatnonzero(mask[3])) == kept
