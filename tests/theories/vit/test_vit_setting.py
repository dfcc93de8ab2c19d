"""What a setting of the shallow vision transformer refuses, what it warns of, and what it derives on the host."""

import math
from typing import Any

import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.theories.vit.setting import Setting, token_count

SQUARE = np.eye(10)


def refusal(**fields: Any) -> str:
    with pytest.raises(UserError) as caught:
        Setting(**fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "given", "allowed"),
    [
        ({"patterns": 2}, "patterns = 2", "at least 3"),
        ({"dimension": 4}, "dimension = 4", "at least patterns = 5"),
        ({"noise": "ball", "noise_radius": 0.36}, "noise_radius = 0.36", "less than κ/4 = 0.3536"),
        ({"noise": "sphere", "noise_radius": 0.36}, "noise_radius = 0.36", "less than κ/4 = 0.3536"),
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
        ({"noise": "ball", "noise_radius": -0.1}, "noise_radius = -0.1", "at least 0"),
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
        ({"noise": "uniform"}, "noise = uniform", "one of gaussian, ball, sphere"),
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
        ({"error": "given"}, "value_error_directions is missing", "(10, 5)"),
        ({"relevant_fraction": 0.7, "confusion_fraction": 0.3, "tokens": 5}, "tokens = 5", "exceed"),
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
        {"noise": "ball", "noise_radius": 0.35},
        {"noise": "sphere", "noise_radius": 0.35},
        {"noise": "gaussian", "noise_radius": 0.36},
        {"noise": "gaussian", "token_noise": 0.3},
        {"relevant_fraction": 0.6, "confusion_fraction": 0.4},
        {"relevant_fraction": 1.0, "confusion_fraction": 0.0},
        {"dimension": 5},
        {"patterns": 10},
        {"batch": 100},
        {"init": "given", "value_map": SQUARE, "query_map": SQUARE, "key_map": SQUARE},
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
        {"noise": "ball", "noise_radius": 0.1},
        {"output": "per_token"},
        {"fractions": "random"},
        {"balance": "bernoulli"},
        {"labels": "shuffled"},
        {"batch": 4},
        {"samples": 7},
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
    ("fields", "words"),
    [
        ({"relevant_fraction": 0.3, "confusion_fraction": 0.2, "value_error": 0.19}, "(2.8)"),
        ({"value_error": 0.25}, "σ exceeds 1/M"),
        ({"attention_error": 0.5}, "δ is not below 1/2"),
        ({"noise": "ball", "noise_radius": 0.15}, "τ exceeds min(σ, δ)"),
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
    assert Setting(noise="ball", noise_radius=0.1).warnings() == []
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
    setting = Setting(relevant_fraction=0.4, confusion_fraction=0.05, tokens=50, noise="ball", noise_radius=0.03)
    assert setting.slack == pytest.approx(0.4 * math.exp(-0.23) * 0.87 - 2 / 50, rel=1e-12)
    gaussian = Setting()
    tau = 0.01 * math.sqrt(10)
    assert gaussian.slack == pytest.approx(0.4 * math.exp(-0.2 - tau) * (0.9 - tau) - 0.1, rel=1e-12)


@pytest.mark.parametrize(
    ("fields", "unit"),
    [
        ({"token_noise": 0.05}, False),
        ({"token_noise": 0.06}, True),
        ({"token_noise": 0.06, "normalize": "no"}, False),
        ({"token_noise": 0.0, "normalize": "yes"}, True),
        ({"noisy_fraction": 0.3, "noisy_level": 0.3}, True),
        ({"noisy_fraction": 0.0, "noisy_level": 0.3}, False),
        ({"noise": "ball", "noise_radius": 0.1, "token_noise": 0.0}, True),
        ({"noise": "ball", "noise_radius": 0.01, "token_noise": 0.3}, False),
    ],
)  # fmt: skip
def test_tokens_are_normalised_by_default_where_the_noise_is_large(fields: dict[str, Any], unit: bool) -> None:
    assert Setting(**fields).unit_tokens is unit


def test_the_output_scale_follows_its_rule() -> None:
    scale = lambda **fields: Setting(neurons=64, **fields).derived()["output_std"]  # noqa: E731
    assert scale() == 0.01
    assert scale(output_scale=0.5) == 0.5
    assert scale(output_rule="inv_sqrt_m") == 0.125
    assert scale(output_rule="inv_sqrt_M") == pytest.approx(5**-0.5)
