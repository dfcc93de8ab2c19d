"""The register: every claim is declared as the specification has it; settings refuse what section 2 refuses."""

from typing import Any

import numpy as np
import pytest
from latex2mathml.converter import convert

import lemmata as lm
from lemmata.lab.claims import FAILS, HOLDS
from lemmata.lab.grid import make_grid
from lemmata.theories import cot
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies import answer_trials as chains

REGISTER = {
    "c1-loss": "limit", "c1-fresh-tasks": "comparison", "c2-step-size": "comparison", "c2-loss-slope": "scaling",
    "c2-patterns": "scaling", "c2-alpha": "ordering", "c2-stage1-steps": "ordering", "c2-stage1-alpha": "ordering",
    "c3-signs": "ordering", "c3-values": "comparison", "c3-bounds": "bound", "c4-off-step": "limit",
    "c5-same-same": "bound", "c5-same-same-corrected": "bound", "c5-other-pattern": "bound", "c5-other-step": "bound",
    "c5-factor-two": "ordering", "c5-shared-block": "ordering", "c6-attention": "comparison",
    "c6-gain-slope": "scaling",
    "c7-error": "limit", "c7-length-order": "ordering", "c7-bound": "bound", "c8-clear": "comparison",
    "c8-reference": "bound", "c8-voter": "comparison", "c9-single": "limit", "c9-decrease": "ordering",
    "c10-agreement": "comparison", "c10-exponent-alpha": "scaling", "c10-exponent-rho": "scaling",
    "c10-exponent-tau": "scaling", "c11-concentration": "limit", "c11-formula": "comparison", "c11-voter": "comparison",
    "c12-noise": "comparison", "c13-outside-span": "limit", "c14-positions": "comparison", "c14-concentration": "limit",
    "c15-last-step": "comparison", "c16-blind-law": "identity", "c16-blind-query": "bound",
    "c16-concentration": "comparison", "c16-error": "comparison", "c16-theorem4": "limit",
    "c16-theorem4-corrected": "bound", "c16-gain": "comparison", "c17-law": "comparison",
    "c17-law-single-step": "comparison", "c17-free-of-steps": "comparison", "c17-free-of-examples": "comparison",
    "c18-label-block": "bound", "f71-example": "limit", "f73a-alpha": "ordering", "f73b-tau": "ordering",
    "f73c-rho": "ordering", "f74-order": "ordering", "f75-cot": "ordering", "f76-groups": "limit",
    "f77-heads": "comparison", "f1-layers": "comparison",
}  # fmt: skip
FALLING = {"c5-same-same", "c16-theorem4"}


def test_the_register_is_complete_and_every_claim_has_its_control() -> None:
    assert {name: claim.kind for name, claim in cot.theory.claims.items()} == REGISTER
    for name, claim in cot.theory.claims.items():
        assert claim.expected == (FAILS if name in FALLING else HOLDS), name
        assert [claim.expected_of(control) for control in claim.controls] == [HOLDS if name in FALLING else FAILS]
        assert (claim.corrects != "") == name.endswith("-corrected")


def test_every_claim_has_a_formula_that_browsers_can_show() -> None:
    for name, claim in cot.theory.claims.items():
        assert claim.formula, name
        assert "$" not in claim.formula
        assert "\\" not in convert(claim.formula), name  # no command is left over


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_every_cell_of_every_preset_is_a_valid_setting(preset: str) -> None:
    for experiment in cot.theory.experiments.values():
        chosen = experiment.preset(preset)
        assert make_grid(chosen.setting, chosen.axes).cells


def test_how_a_model_is_tested_does_not_train_it_again() -> None:
    base = cot.theory.experiments["f73a-alpha"].preset("smoke").setting
    cases: list[dict[str, Any]] = [
        {}, {"test_examples": 4}, {"test_fraction": 0.3}, {"transitions": "single"}, {"transitions": "pairs"},
        {"token_noise": 0.7}, {"moment": "50"}, {"pattern_law": "blind"}, {"queries": "first"},
        {"noise_law": "perp_tsr"},
    ]  # fmt: skip
    names = {chains.foresee(base.replace(**change), 0).trainings for change in cases}
    assert len(names) == 1
    assert {chains.foresee(base.replace(fraction=0.6), 0).trainings} != names


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dimension": 22}, "at least patterns \\+ reasoning_steps = 23"),
        ({"dimension": 23}, "no direction is left"),
        ({"patterns": 3, "test_patterns": 2}, "shift tasks need more than"),
        ({"test_patterns": 21}, "at most patterns = 20"),
        ({"test_patterns": 3}, "shift tasks need more than"),
        ({"pattern_law": "outside"}, "patterns outside the span need"),
        ({"primacy": 0.5}, "not feasible"),
        ({"trajectory": 0.05, "transitions": "single"}, "not feasible"),
        ({"transitions": "pairs", "reasoning_steps": 2}, "reasoning_steps = 3"),
        ({"transitions": "pairs", "first_right": 0.5}, "the right output does not lead"),
        ({"transitions": "example"}, "Example 1 has"),
        ({"transitions": "single", "wrong_step": 4}, "there are 3 reasoning steps"),
        ({"transitions": "given"}, "go together"),
        ({"transitions": "given", "given_matrices": np.full((3, 10, 10), 0.1)}, "given_maps is missing"),
        ({"given_maps": np.zeros((3, 10))}, "permutations"),
        ({"given_patterns": np.eye(10, 20)}, "go together"),
        ({"given_patterns": np.ones((10, 20)), "pattern_law": "given"}, "orthonormal"),
        ({"step_weights": np.array([0.5, 0.2, 0.2]), "transitions": "weighted"}, "with sum 1"),
        ({"token_noise": 0.8}, "token_noise"),
        ({"fraction": 0.0}, "fraction"),
        ({"test_room": 5}, "must hold test_examples"),
        ({"example_room": 5}, "must hold examples"),
        ({"factored": True, "key_width": 60}, "key_width above"),
        ({"factored": True, "initial_scale": 0.0}, "saddle"),
        ({"moment": "500", "steps": 100}, "no record at that"),
        ({"measure_prompts": 1500}, "multiple of chunk"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_in_one_sentence(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(lm.UserError, match=words):
        Setting(**fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, []),
        ({"fraction": 1.0}, ["only positions are learnt"]),
        ({"examples": 2, "test_examples": 2}, ["below 1/fraction"]),
        ({"step_size": 10.0}, ["asks for less"]),
        ({"test_examples": 40}, ["at most as many"]),
    ],
)
def test_what_the_theory_does_not_cover_is_said_and_allowed(fields: dict[str, Any], words: list[str]) -> None:
    said = Setting(**fields).warnings()
    assert len(said) == len(words)
    assert all(word in sentence for word, sentence in zip(words, said, strict=True))
