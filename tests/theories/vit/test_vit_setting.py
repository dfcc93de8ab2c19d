"""What a setting of the shallow vision transformer refuses, what it warns of, and what it derives on the host."""

import math
from typing import Any

import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.theories.vit.setting import Setting, token_count

SQUARE = np.eye(10)
UNIT = np.eye(10)[:, 5:]
SETS = {"members": 2, "dimension": 15}
MAPS = {"init": "given", "value_map": SQUARE, "query_map": SQUARE, "key_map": SQUARE}
GIVEN = {"value_error_law": "given"}


def refusal(**fields: Any) -> str:
    with pytest.raises(UserError) as caught:
        Setting(**fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "given", "allowed"),
    [
        ({"patterns": 2}, "patterns = 2", "at least 3"),
        ({"dimension": 4}, "dimension = 4", "at least patterns = 5"),
        ({"noise_law": "ball", "noise_radius": 0.36}, "noise_radius = 0.36", "less than κ/4 = 0.3536"),
        ({"noise_law": "sphere", "noise_radius": 0.36}, "noise_radius = 0.36", "less than κ/4 = 0.3536"),
        (
            {"relevant_fraction": 0.8, "confusion_fraction": 0.3},
            "relevant_fraction + confusion_fraction = 1.1",
            "at most 1",
        ),
        ({"relevant_fraction": 0.1}, "relevant_fraction = 0.1", "must exceed confusion_fraction = 0.1"),
        ({"relevant_fraction": 0.05}, "relevant_fraction = 0.05", "must exceed confusion_fraction = 0.1"),
        ({"relevant_fraction": 0.12, "tokens": 10}, "relevant_fraction = 0.12", "must be more"),
        ({"relevant_fraction": 0.0}, "relevant_fraction = 0", "greater than 0"),
        ({"relevant_fraction": 1.1, "confusion_fraction": 0.0}, "relevant_fraction = 1.1", "at most 1"),
        ({"confusion_fraction": -0.1}, "confusion_fraction = -0.1", "at least 0"),
        ({"token_noise": -0.01}, "token_noise = -0.01", "at least 0"),
        ({"noise_law": "ball", "noise_radius": -0.1}, "noise_radius = -0.1", "at least 0"),
        ({"noisy_level": -0.3}, "noisy_level = -0.3", "at least 0"),
        ({"noisy_fraction": 1.5}, "noisy_fraction = 1.5", "at most 1"),
        ({"value_error": -0.1}, "value_error = -0.1", "at least 0"),
        ({"attention_error": -0.1}, "attention_error = -0.1", "at least 0"),
        ({"tokens": 0}, "tokens = 0", "at least 1"),
        ({"step_size": 0.0}, "step_size = 0", "greater than 0"),
        ({"step_size": -0.1}, "step_size = -0.1", "greater than 0"),
        ({"step_size": math.nan}, "step_size = nan", "greater than 0"),
        ({"step_size": math.inf}, "step_size = inf", "greater than 0"),
        ({"batch": 101}, "batch = 101", "must not exceed samples = 100"),
        ({"batch": -1}, "batch = -1", "at least 0"),
        ({"samples": 0}, "samples = 0", "at least 1"),
        ({"samples": 5000}, "samples = 5000", "at most 4096"),
        ({"samples": 2.5}, "samples = 2.5", "an integer"),
        ({"test_samples": 5000}, "test_samples = 5000", "at most 4096"),
        ({"steps": -1}, "steps = -1", "at least 0"),
        ({"margin": 0.0}, "margin = 0", "greater than 0"),
        ({"train_attention": 2}, "train_attention = 2", "at most 1"),
        ({"neurons": "many"}, "neurons = many", "an integer at least 1"),
        ({"patterns": 6, "value_width": 5}, "patterns = 6", "must not exceed value_width = 5"),
        ({"patterns": 6, "key_width": 5}, "patterns = 6", "key_width = 5"),
        ({"noise_law": "uniform"}, "noise_law = uniform", "one of gaussian, ball, sphere"),
        ({"shuffle": "maybe"}, "shuffle = maybe", "one of false, true"),
        ({"init": "literal", "key_width": 12}, "init = literal", "value_width = key_width = dimension"),
        ({"init": "literal", "token_noise": 0.0}, "token_noise = 0", "init = literal"),
        ({"init": "given", "value_map": SQUARE, "query_map": SQUARE}, "key_map is missing", "(10, 10)"),
        (
            {"init": "given", "value_map": SQUARE[:4], "query_map": SQUARE, "key_map": SQUARE},
            "value_map has shape (4, 10)",
            "allowed is (10, 10)",
        ),
        (
            {"init": "given", "value_map": SQUARE, "query_map": SQUARE * np.nan, "key_map": SQUARE},
            "query_map",
            "finite numbers",
        ),
        ({"value_error_law": "given"}, "value_error_directions is missing", "(10, 5)"),
        ({"relevant_fraction": 0.7, "confusion_fraction": 0.3, "tokens": 5}, "tokens = 5", "exceed"),
        ({"classes": 1}, "classes = 1", "at least 2"),
        ({"classes": 3}, "classes = 3", "a power of two"),
        ({"classes": 6, "patterns": 10}, "classes = 6", "a power of two"),
        ({"classes": 128}, "classes = 128", "at most 64"),
        ({"classes": 4, "patterns": 4}, "patterns = 4", "besides the 4 discriminative patterns"),
        ({"classes": 8}, "patterns = 5", "besides the 8 discriminative patterns"),
        ({"members": 0}, "members = 0", "at least 1"),
        ({"members": 2}, "dimension = 10", "at least 15"),
        ({"members": 2, "dimension": 14}, "dimension = 14", "at least 15"),
        ({"members": 4, "dimension": 24}, "dimension = 24", "at least 25"),
        ({"member_spread": -0.1}, "member_spread = -0.1", "at least 0"),
        (
            {"members": 2, "dimension": 15, "noise_law": "ball", "noise_radius": 0.253},
            "member_spread = 0.3",
            "2τ + Δ must be less than κ",
        ),
        ({"members": 2, "dimension": 16, "token_noise": 0.064}, "member_spread = 0.3", "2τ + Δ must be less than κ"),
        (
            {"members": 2, "dimension": 16, "token_noise": 0.05, "member_spread": 0.6},
            "member_spread = 0.6",
            "2τ + Δ must be less than κ",
        ),
        ({"members": 2, "dimension": 15, "normalise": "layer"}, "normalise = layer", "members"),
        ({**SETS, "member_shares": [[0.7, 0.3]] * 4}, "member_shares has shape (4, 2)", "allowed is (5, 2)"),
        ({**SETS, "member_shares": [0.7, 0.3]}, "member_shares has shape (2,)", "allowed is (5, 2)"),
        ({"member_shares": [[0.7, 0.3]] * 5}, "member_shares has shape (5, 2)", "allowed is (5, 1)"),
        ({**SETS, "member_shares": [[0.7, 0.2]] * 5}, "member_shares", "non-negative and add up to 1"),
        ({**SETS, "member_shares": [[1.0, 0.0]] * 4 + [[1.2, -0.2]]}, "member_shares", "non-negative and add up to 1"),
        ({**SETS, "member_shares": [[0.5, math.nan]] * 5}, "member_shares", "finite numbers"),
        ({**SETS, "member_shares": "even"}, "member_shares", "finite numbers"),
        ({"keep": 0.0}, "keep = 0", "greater than 0"),
        ({"keep": -0.5}, "keep = -0.5", "greater than 0"),
        ({"keep": 1.01}, "keep = 1.01", "at most 1"),
        ({"keep": 0.01}, "keep = 0.01", "of 50 tokens it keeps none"),
        ({"keep": 0.05, "tokens": 10}, "keep = 0.05", "of 10 tokens it keeps none"),
        ({"strategy": "best"}, "strategy = best", "one of random, irrelevant, nondiscriminative, noisy"),
        ({"strategy": "spurious"}, "strategy = spurious", "one of random"),
        ({"normalise": "layer", "dimension": 5}, "dimension = 5", "must exceed patterns = 5"),
        ({"heads": 0}, "heads = 0", "at least 1"),
        ({**MAPS, "heads": 2}, "heads = 2", "need init = assumption"),
        ({"heads": 2, "init": "literal"}, "heads = 2", "need init = assumption"),
        ({"heads": 2, "skip": True}, "heads = 2", "skip = false"),
        ({"heads": 2, "defect": "shifted"}, "defect = shifted", "several heads"),
        ({"skip": True, "value_width": 12}, "skip = true", "value_width = dimension = 10"),
        ({"skip": True, "init": "literal"}, "skip = true", "init = literal"),
        ({"balanced_signs": True, "classes": 4}, "balanced_signs = true", "two classes"),
        ({**GIVEN, "value_error_directions": UNIT * 1.01}, "value_error_directions", "unit vectors"),
        ({**GIVEN, "value_error_directions": 0 * UNIT}, "value_error_directions", "unit vectors"),
        (
            {**GIVEN, "value_error_directions": UNIT.T},
            "value_error_directions has shape (5, 10)",
            "allowed is (10, 5)",
        ),
    ],
)  # fmt: skip
def test_a_refusal_is_one_sentence_with_the_field_its_value_and_what_is_allowed(
    fields: dict[str, Any], given: str, allowed: str
) -> None:
    message = refusal(**fields)
    assert given in message
    assert allowed in message
    assert message.endswith(".")
    assert ". " not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "fields",
    [
        {"noise_law": "ball", "noise_radius": 0.35},
        {"noise_law": "sphere", "noise_radius": 0.35},
        {"noise_law": "gaussian", "noise_radius": 0.36},
        {"noise_law": "gaussian", "token_noise": 0.3},
        {"relevant_fraction": 0.6, "confusion_fraction": 0.4},
        {"relevant_fraction": 1.0, "confusion_fraction": 0.0},
        {"dimension": 5},
        {"patterns": 10},
        {"batch": 100},
        MAPS,
        {"classes": 4},
        {"classes": 64, "patterns": 65, "dimension": 65, "value_width": 65, "key_width": 65},
        SETS,
        {**SETS, "noise_law": "ball", "noise_radius": 0.251},
        {"members": 2, "dimension": 16, "token_noise": 0.062},
        {**SETS, "member_spread": 0.0},
        {**SETS, "member_shares": [[1, 0]] * 5},
        {"member_shares": [[1.0]] * 5},
        {"keep": 0.02},
        {"keep": 1.0, "strategy": "attention"},
        {"normalise": "layer", "dimension": 6},
        {"heads": 2},
        {"heads": 1, "defect": "shifted"},
        {**MAPS, "skip": True},
        {"skip": True, "dimension": 12, "value_width": 12},
        {**GIVEN, "value_error_directions": -UNIT},
    ],
)  # fmt: skip
def test_the_ends_of_the_allowed_region_are_accepted(fields: dict[str, Any]) -> None:
    Setting(**fields)


def test_a_batch_above_the_samples_is_refused_only_where_the_user_set_it() -> None:
    small = Setting(batch=64).replace(samples=10)
    assert (small.batch, small.samples) == (64, 10)
    with pytest.raises(UserError, match=r"batch = 32 .* samples = 10"):
        small.replace(batch=32)
    with pytest.raises(UserError, match=r"batch = 64 .* samples = 10"):
        Setting(batch=64, samples=10)


EXACT = {"reduction": "patterns", "token_noise": 0.0, "samples": 8}


@pytest.mark.parametrize(
    "change",
    [
        {"token_noise": 0.01},
        {"noisy_fraction": 0.1},
        {"noise_law": "ball", "noise_radius": 0.1},
        {"output": "per_token"},
        {"fractions": "random"},
        {"label_balance": "bernoulli"},
        {"label_order": "shuffled"},
        {"batch": 4},
        {"samples": 7},
        {"keep": 0.8},
        {"classes": 4},
        {"members": 2, "dimension": 15},
    ],
)  # fmt: skip
def test_the_pattern_reduction_is_refused_where_it_is_not_exact(change: dict[str, Any]) -> None:
    Setting(**EXACT)
    assert "reduction = patterns" in refusal(**(EXACT | change))


def test_a_misspelt_field_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match="relevant_fraction"):
        Setting().replace(relevant_fracton=0.3)


def test_the_default_setting_meets_every_assumption() -> None:
    assert Setting().warnings() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"dimension": 12, "value_width": 12, "key_width": 12, "patterns": 7, "classes": 4, "neurons": 400},
        {"dimension": 20, "members": 2, "member_shares": [[0.7, 0.3]] * 5, "tokens": 40},
        {"heads": 4, "tokens": 40},
        {"skip": True, "tokens": 40},
    ],
)  # fmt: skip
def test_the_settings_of_the_general_data_and_networks_meet_every_assumption(fields: dict[str, Any]) -> None:
    assert Setting(**fields).warnings() == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"relevant_fraction": 0.3, "confusion_fraction": 0.2, "value_error": 0.19}, "(2.8)"),
        ({"value_error": 0.25}, "σ exceeds 1/M"),
        ({"attention_error": 0.5}, "δ is not below 1/2"),
        ({"noise_law": "ball", "noise_radius": 0.15}, "τ exceeds min(σ, δ)"),
        ({"token_noise": 0.033}, "τ exceeds min(σ, δ)"),
        ({"neurons": 115}, "m is below M² log N"),
        ({"patterns": 10, "neurons": 1000}, "M is not below the widths"),
        ({"value_width": 5}, "M is not below the widths"),
        ({"key_width": 5}, "M is not below the widths"),
        ({"noisy_fraction": 0.3, "noisy_level": 0.3}, "κ/4"),
    ],
)  # fmt: skip
def test_each_violated_assumption_gives_its_own_warning(fields: dict[str, Any], words: str) -> None:
    found = Setting(**fields).warnings()
    assert [words in sentence for sentence in found] == [True], found


def test_assumptions_met_with_equality_or_little_to_spare_give_no_warning() -> None:
    assert Setting(value_error=0.2).warnings() == []
    assert Setting(attention_error=0.49).warnings() == []
    assert Setting(noise_law="ball", noise_radius=0.1).warnings() == []
    # 25 log 100 = 115.1
    assert Setting(neurons=116).warnings() == []


def test_gaussian_noise_that_reaches_a_quarter_of_the_pattern_distance_is_warned_of() -> None:
    assert any("κ/4" in sentence for sentence in Setting(token_noise=0.1).warnings())
    # the largest of 5000 norms of ten coordinates is about 5.7 standard deviations
    assert not any("κ/4" in sentence for sentence in Setting(token_noise=0.05).warnings())
    assert any("κ/4" in sentence for sentence in Setting(token_noise=0.07).warnings())


@pytest.mark.parametrize(
    ("fraction", "tokens", "count"),
    [(0.05, 50, 2), (0.15, 50, 8), (0.59, 50, 30), (0.25, 10, 2), (0.35, 10, 4), (0.1, 5, 0), (0.3, 5, 2), (1.0, 7, 7)],
)
def test_token_counts_round_half_to_even(fraction: float, tokens: int, count: int) -> None:
    assert token_count(fraction, tokens) == count


def test_the_slack_of_condition_2_8_uses_the_realised_fractions() -> None:
    setting = Setting(relevant_fraction=0.4, confusion_fraction=0.05, tokens=50, noise_law="ball", noise_radius=0.03)
    assert setting.condition_slack == pytest.approx(0.4 * math.exp(-0.23) * 0.87 - 2 / 50, rel=1e-12)
    gaussian = Setting()
    tau = 0.01 * math.sqrt(10)
    assert gaussian.condition_slack == pytest.approx(0.4 * math.exp(-0.2 - tau) * (0.9 - tau) - 0.1, rel=1e-12)


@pytest.mark.parametrize(
    ("fields", "unit"),
    [
        ({"token_noise": 0.05}, False),
        ({"token_noise": 0.06}, True),
        ({"token_noise": 0.06, "normalise": "no"}, False),
        ({"token_noise": 0.0, "normalise": "yes"}, True),
        ({"noisy_fraction": 0.3, "noisy_level": 0.3}, True),
        ({"noisy_fraction": 0.0, "noisy_level": 0.3}, False),
        ({"noise_law": "ball", "noise_radius": 0.1, "token_noise": 0.0}, True),
        ({"noise_law": "ball", "noise_radius": 0.01, "token_noise": 0.3}, False),
        ({"normalise": "layer", "token_noise": 0.0}, True),
    ],
)  # fmt: skip
def test_tokens_are_normalised_by_default_where_the_noise_is_large(fields: dict[str, Any], unit: bool) -> None:
    assert Setting(**fields).unit_tokens == unit


def test_the_output_scale_follows_its_rule() -> None:
    scale = lambda **fields: Setting(neurons=64, **fields).output_std  # noqa: E731
    assert scale() == 0.01
    assert scale(output_scale=0.5) == 0.5
    assert scale(output_rule="inv_sqrt_m") == 0.125
    assert scale(output_rule="inv_sqrt_M") == pytest.approx(5**-0.5)


def test_labels_have_one_sign_for_each_halving_of_the_classes() -> None:
    wide = Setting(dimension=65, patterns=65, value_width=65, key_width=65)
    assert [wide.replace(classes=2**k).outputs for k in range(1, 7)] == [1, 2, 3, 4, 5, 6]


def test_two_members_of_a_set_are_apart_by_the_spread() -> None:
    assert Setting(**SETS).member_distance == pytest.approx(0.40637, abs=5e-6)
    assert Setting(**SETS, member_spread=1.0).member_distance == pytest.approx(1.0, rel=1e-12)
    assert Setting(**SETS, member_spread=0.0).member_distance == 0
    assert Setting(member_spread=0.3).member_distance == 0, "a plain pattern has no other member"
