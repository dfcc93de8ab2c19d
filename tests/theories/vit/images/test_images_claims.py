"""The claims of F6 on hand-made accuracies: what the register declares, and that every judge tells true from false."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, Finding, examine
from lemmata.theories.vit.images.claims import CLAIMS

BY_NAME = {claim.name: claim for claim in CLAIMS}
REGISTER = [
    ("f6a-samples", "ordering", "f6a-images", HOLDS, FAILS),
    ("f6a-fraction", "comparison", "f6a-images", HOLDS, FAILS),
    ("f6c-initial", "comparison", "f6c-spurious", HOLDS, FAILS),
    ("f6c-background", "comparison", "f6c-spurious", HOLDS, FAILS),
    ("f6c-shortcut", "comparison", "f6c-spurious", HOLDS, FAILS),
]
JITTER = np.array([-0.02, 0.03, -0.01, 0.01, -0.03])


def data(axes: dict[str, list[Any]], accuracy: Any, chance: float, seeds: int = 3, spread: Any = 0.0) -> xr.Dataset:
    """Seed means `accuracy` [axes], with the same jitter in every cell, and `spread` [axes] times another one."""
    accuracy = np.asarray(accuracy, float)[..., None]
    jitter = JITTER[:seeds] - JITTER[:seeds].mean()
    values = accuracy + jitter + np.asarray(spread, float)[..., None] * jitter[::-1]
    dims = (*axes, "seed")
    return xr.Dataset(
        {"test_accuracy": (dims, values), "chance": (dims, np.full(values.shape, chance))},
        {**axes, "seed": np.arange(seeds)},
    )


def images(accuracy: Any, **more: Any) -> dict[str, xr.Dataset]:
    axes = {"samples": [150.0, 600.0], "relevant_fraction": [0.656, 1.0]}
    return {"f6a-images": data(axes, accuracy, 0.1, **more)}


def spurious(accuracy: Any, **more: Any) -> dict[str, xr.Dataset]:
    axes = {"relevant_fraction": [0.656, 1.0], "variant": ["good", "poor", "poor, balanced"]}
    return {"f6c-spurious": data(axes, accuracy, 0.5, **more)}


WORLD = images([[0.48, 0.50], [0.68, 0.70]]) | spurious([[0.83, 0.58, 0.90], [0.89, 0.78, 0.93]])


def found(name: str, change: dict[str, xr.Dataset] | None = None) -> Finding:
    return examine(BY_NAME[name], WORLD | (change or {}))


@pytest.mark.parametrize(("name", "kind", "reads", "expected", "control"), REGISTER)
def test_a_claim_is_declared_as_the_register_says_and_comes_out_so_in_its_world(name, kind, reads, expected, control):
    claim = BY_NAME[name]
    assert (claim.kind, claim.reads, claim.expected) == (kind, (reads,), expected)
    assert [claim.expected_of(c) for c in claim.controls] == [control]
    finding = found(name)
    assert finding.verdict.outcome == expected
    assert [verdict.outcome for _, verdict in finding.controls] == [control]
    assert finding.as_expected


def test_there_are_no_other_claims():
    assert [claim.name for claim in CLAIMS] == [row[0] for row in REGISTER]


@pytest.mark.parametrize("name", BY_NAME)
def test_every_verdict_states_the_accuracies_and_the_level_of_chance(name):
    note = found(name).verdict.note
    assert "seed-mean accuracies 0." in note
    assert f"chance {0.1 if name.startswith('f6a') else 0.5}" in note


@pytest.mark.parametrize("name", ["f6a-samples", "f6a-fraction"])
def test_ten_classes_below_twice_chance_decide_nothing(name):
    finding = found(name, images([[0.12, 0.13], [0.15, 0.19]]))
    assert finding.verdict.outcome == INCONCLUSIVE
    assert "not learned" in finding.verdict.note
    assert "less than twice as many images as guessing" in finding.verdict.note
    assert finding.controls[0][1].outcome == INCONCLUSIVE
    assert "not learned" not in found(name, images([[0.12, 0.13], [0.15, 0.21]])).verdict.note


@pytest.mark.parametrize("name", ["f6c-initial", "f6c-background", "f6c-shortcut"])
def test_two_classes_below_three_quarters_decide_nothing(name):
    finding = found(name, spurious([[0.6, 0.5, 0.73], [0.7, 0.6, 0.74]]))
    assert finding.verdict.outcome == INCONCLUSIVE
    assert "half-way between chance and 1" in finding.verdict.note
    assert found(name, spurious([[0.6, 0.5, 0.73], [0.7, 0.6, 0.76]])).verdict.outcome == HOLDS


def test_accuracy_must_rise_with_the_samples_at_each_fraction():
    assert found("f6a-samples", images([[0.48, 0.50], [0.68, 0.49]])).verdict.outcome == FAILS


def test_a_gain_of_the_fraction_is_decided_by_its_sign_where_seeds_agree():
    assert found("f6a-fraction", images([[0.48, 0.52], [0.68, 0.72]])).verdict.outcome == HOLDS
    assert found("f6a-fraction", images([[0.52, 0.48], [0.72, 0.68]])).verdict.outcome == FAILS


@pytest.mark.parametrize(("gain", "outcome"), [(0.031, HOLDS), (-0.031, FAILS), (0.025, INCONCLUSIVE)])
def test_a_gain_of_the_fraction_is_decided_by_its_interval_whatever_the_seeds(gain, outcome):
    # the standard error of the paired difference is std(JITTER) / sqrt(5) = 0.0108; the t interval reaches 2.78 of them
    noisy = images([[0.48, 0.48 + gain], [0.68, 0.68 + gain]], seeds=5, spread=[[0, 1], [0, 1]])
    verdict = found("f6a-fraction", noisy).verdict
    assert verdict.outcome == outcome
    assert verdict.low is not None
    assert verdict.high is not None
    assert (verdict.low < 0 < verdict.high) == (outcome == INCONCLUSIVE)


def test_the_good_model_must_be_better_at_each_fraction():
    assert found("f6c-initial", spurious([[0.83, 0.58, 0.9], [0.77, 0.78, 0.9]])).verdict.outcome == FAILS


def test_dropping_the_background_must_help_the_two_models_on_average():
    mixed = [[0.83, 0.58, 0.9], [0.80, 0.78, 0.9]]
    assert found("f6c-background", spurious(mixed)).verdict.outcome == HOLDS
    assert found("f6c-background", spurious([[0.83, 0.78, 0.9], [0.8, 0.58, 0.9]])).verdict.outcome == FAILS


def test_balanced_backgrounds_must_add_a_tenth_to_whole_images_of_the_poor_model():
    assert found("f6c-shortcut", spurious([[0.83, 0.58, 0.69], [0.89, 0.5, 0.6]])).verdict.outcome == HOLDS
    assert found("f6c-shortcut", spurious([[0.83, 0.58, 0.67], [0.89, 0.5, 0.9]])).verdict.outcome == FAILS
