"""The presets of the experiments: their sizes are those of the specification."""

import math

import numpy as np
import pytest
from vit_experiment_table import CONSTANTS, EXPERIMENTS, IMAGES, NAMES, PRESETS, QUICK, TRAINED, grid, stride

from lemmata.theories import vit

# Presets


def test_every_experiment_read_by_a_claim_is_checked_here():
    assert set(NAMES) == set(QUICK)
    assert set(NAMES) <= set(EXPERIMENTS)
    read = {name for claim in vit.theory.claims.values() for name in claim.reads if not name.startswith(IMAGES)}
    assert read <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_three_presets_and_says_what_it_asks(name):
    experiment = EXPERIMENTS[name]
    assert set(experiment.presets) == set(PRESETS)
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert experiment.reference


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_preset_is_that_of_the_specification(name):
    seeds, fields, axes = QUICK[name]
    assert EXPERIMENTS[name].preset("quick").seeds == seeds
    found = grid(name, "quick")
    assert {axis: list(labels) for axis, labels in axes.items()} == found.labels
    for cell, setting in found.cells.items():
        expected = CONSTANTS | fields
        for labels, i in zip(axes.values(), cell, strict=True):
            expected |= list(labels.values())[i]
        actual = {field: getattr(setting, field) for field in expected}
        if (shares := actual.pop("member_shares")) is not None:
            assert shares.tolist() == expected["member_shares"]
            expected = {**expected, "member_shares": None}
        assert {**actual, "member_shares": None} == pytest.approx(expected), found.describe(cell)


def test_sixteen_tokens_name_one_of_four_classes_and_four_confuse():
    (setting,) = grid("v19-multiclass", "quick").cells.values()
    assert (setting.relevant_tokens, setting.confusion_tokens) == (16, 4)


def test_sparsification_keeps_thirty_five_of_fifty_tokens_of_unit_norm():
    settings = grid("f5-sparsification", "quick").cells.values()
    assert {setting.kept_tokens for setting in settings} == {50, 40, 35}
    assert all(setting.unit_tokens for setting in settings)


def test_the_counter_example_mixes_the_features_of_two_patterns():
    # W_Q mu_1 = q_1 + 0.4 q_3, W_K mu_3 = q_3 + 0.4 q_1, and nothing else
    setting = list(grid("v24-initial-attention", "quick").cells.values())[-1]
    expected = np.eye(10)
    expected[2, 0] = 0.4
    assert (setting.query_map == expected).all()
    assert (setting.key_map == expected.T).all()
    assert (setting.value_map == np.eye(10)).all()
    # half of the tokens are mu_1 where y = +1, all others mu_3
    assert (setting.relevant_tokens, setting.confusion_tokens, setting.patterns) == (25, 0, 3)


def test_token_noise_is_swept_on_unit_norm_tokens():
    assert all(setting.unit_tokens for setting in grid("v6-token-noise", "quick").cells.values())


def test_the_fractions_with_enough_slack_at_quick_are_those_of_the_register():
    found = grid("f1a-samples", "quick")
    slacks = {found.labels["relevant_fraction"][i]: setting.condition_slack for (i, _), setting in found.cells.items()}
    assert [alpha for alpha, slack in slacks.items() if slack >= 0.05] == [0.34, 0.36, 0.40, 0.48]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_valid_and_no_batch_exceeds_its_samples(name, preset):
    found = grid(name, preset)
    assert len(found.cells) == math.prod(found.shape) > 0
    assert EXPERIMENTS[name].preset(preset).seeds >= 2
    for cell, setting in found.cells.items():
        assert 0 <= setting.batch <= setting.samples, found.describe(cell)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", [name for name in TRAINED if name != "f5-sparsification"])
def test_first_passages_are_seen_at_every_step_of_full_batches_and_within_ten_of_mini_batches(name, preset):
    for setting in grid(name, preset).cells.values():
        assert stride(setting) <= (10 if setting.batch else 1)


def test_sparsified_training_runs_for_seventy_five_steps_without_a_stop():
    for preset in ("quick", "paper"):
        found = {(s.steps, s.stop, s.batch) for s in grid("f5-sparsification", preset).cells.values()}
        assert found == {(75, "never", 0)}


def test_figure_2_4_is_recorded_every_four_steps_and_the_dynamics_at_every_step():
    for preset in ("quick", "paper"):
        assert {stride(setting) for setting in grid("f4-attention", preset).cells.values()} == {4}
        assert {stride(setting) for setting in grid("dynamics", preset).cells.values()} == {1}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("f1")])
@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_batches_are_full_up_to_sixty_four_samples(name, preset):
    for setting in grid(name, preset).cells.values():
        assert setting.batch == (0 if setting.samples <= 64 else 64)


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_preset_is_at_least_as_large_as_quick(name):
    quick, paper = (EXPERIMENTS[name].preset(preset) for preset in ("quick", "paper"))
    assert paper.seeds >= quick.seeds
    for size in ("tokens", "neurons", "samples", "test_samples", "steps"):
        assert getattr(paper.setting, size) >= getattr(quick.setting, size)
    for axis, labels in grid(name, "quick").labels.items():
        assert set(labels) <= set(grid(name, "paper").labels[axis])


def test_all_smoke_presets_share_one_set_of_sizes():
    sizes = set()
    for name in NAMES:
        assert EXPERIMENTS[name].preset("smoke").seeds == 2
        for setting in grid(name, "smoke").cells.values():
            sizes.add((setting.tokens, setting.neurons, setting.records, setting.test_samples, setting.steps))
            assert setting.samples <= 16
    assert len(sizes) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_smoke_preset_asks_the_same_question_as_quick(name):
    smoke, quick = grid(name, "smoke"), grid(name, "quick")
    assert list(smoke.labels) == list(quick.labels)
    kept = ("stop", "loss", "normalise", "relevant_fraction", "confusion_fraction", "value_error")
    settings = [EXPERIMENTS[name].preset(preset).setting for preset in ("smoke", "quick")]
    assert len({tuple(getattr(setting, field) for field in kept) for setting in settings}) == 1
