"""Layer norm, the user's own samples, statistics of the data (5.10); samples depend on seed and number alone."""

import functools
import itertools
import math
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vit_general_cases import FOUR, LAYER, MANY, RANDOM, drawn, few, own, resized, seeds

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.networks.shallow import Network
from lemmata.theories.vit import data as vit_data
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import initialise
from lemmata.theories.vit.probes import attention_by_query, pattern_distance, similarities, token_shares
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import simulate

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
