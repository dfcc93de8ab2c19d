"""What a setting of in-context learning refuses and warns of, and the patterns out of domain (2.2, 2.3, 3.1, 4)."""

import math
from typing import Any

import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.theories.icl.setting import PromptSetting, Setting
from lemmata.theories.icl.tasks import (
    SWAPS,
    TRIANGLES,
    coefficient_sum,
    cyclic_tasks,
    irrelevant_family,
    reference_family,
    require_family,
    set_tasks,
)

ODR, ODI = reference_family(6, 30, 45.0)
TWO = {"patterns": 2, "irrelevant": 28, "fraction": 1.0, "test_fraction": 1.0}


def refusal(**fields: Any) -> str:
    with pytest.raises(UserError) as caught:
        Setting(**fields)
    return str(caught.value)


def changed(rows: np.ndarray, row: int, column: int, value: float) -> np.ndarray:
    rows = rows.copy()
    rows[row, column] = value
    return rows


TILTED = np.stack([ODR[0], ODR[1], (ODR[1] + ODR[2]) / math.sqrt(2)])
SPREAD_ODI = np.stack([ODI[0], ODI[1], (ODI[1] + ODI[2]) / math.sqrt(2)])
FOREIGN = np.stack([ODR[0], ODR[1], ODI[0]])
BROKEN: dict[str, Any] = {"defect": "irrelevant span"}
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"fraction": 0.0}, "fraction = 0", "greater than 0 and at most 1"),
    ({"fraction": 1.01}, "fraction = 1.01", "greater than 0 and at most 1"),
    ({"fraction": -0.2}, "fraction = -0.2", "greater than 0 and at most 1"),
    ({"fraction": math.nan}, "fraction = nan", "greater than 0 and at most 1"),
    ({"test_fraction": 0.0}, "test_fraction = 0", "greater than 0 and at most 1"),
    ({"test_fraction": 1.2}, "test_fraction = 1.2", "greater than 0 and at most 1"),
    ({**TWO, "fraction": 0.8}, "fraction = 0.8", "it must be 1"),
    ({**TWO, "test_fraction": 0.8}, "test_fraction = 0.8", "it must be 1"),
    ({"patterns": 1, "irrelevant": 29}, "patterns = 1", "at least 2"),
    ({"patterns": 7}, "patterns + irrelevant = 31", "add up to dimension = 30"),
    ({"irrelevant": 20}, "patterns + irrelevant = 26", "add up to dimension = 30"),
    ({"dimension": 29}, "patterns + irrelevant = 30", "add up to dimension = 29"),
    ({"dimension": 2, "patterns": 2, "irrelevant": 0}, "dimension = 2", "at least 3"),
    ({"irrelevant": 0}, "irrelevant = 0", "at least 1"),
    ({"label_dimension": 0}, "label_dimension = 0", "at least 1"),
    ({"pattern_norm": 0.99}, "pattern_norm = 0.99", "at least 1"),
    ({"amplitude": 0.51}, "amplitude = 0.51", "at most 1/2"),
    ({"amplitude": -0.1}, "amplitude = -0.1", "at least 0"),
    ({"amplitude": -0.1, "strict": False}, "amplitude = -0.1", "at least 0"),
    ({"shift_amplitude": -1.0}, "shift_amplitude = -1", "at least 0"),
    ({"initial_scale": 0.0}, "initial_scale = 0", "greater than 0 and at most 0.2"),
    ({"initial_scale": 0.21}, "initial_scale = 0.21", "greater than 0 and at most 0.2"),
    ({"initial_scale": -0.1, "strict": False}, "initial_scale = -0.1", "greater than 0 and at most 0.2"),
    ({"step_size": 0.0}, "step_size = 0", "greater than 0"),
    ({"step_size": -1.0}, "step_size = -1", "greater than 0"),
    ({"contexts": 0}, "contexts = 0", "at least 1"),
    ({"test_contexts": 0}, "test_contexts = 0", "at least 1"),
    ({"batch": 0}, "batch = 0", "at least 1"),
    ({"context_room": 19}, "context_room = 19", "must hold contexts = 20"),
    ({"test_context_room": 19}, "test_context_room = 19", "must hold test_contexts = 20"),
    ({"test_context_room": 40, "test_contexts": 41}, "test_context_room = 40", "must hold test_contexts = 41"),
    ({"defect": "other"}, "defect = other", "one of none, irrelevant span"),
    ({**BROKEN, "odr": ODR}, "defect = irrelevant span", "no odr of your own"),
    ({**BROKEN, "class_size": 2}, "defect = irrelevant span", "class_size = 1"),
    ({**BROKEN, "patterns": 25, "irrelevant": 5}, "defect = irrelevant span", "6 irrelevant patterns"),
    ({"a_scale": "1"}, "a_scale = 1", "one of 1/m, 1/sqrt(m)"),
    ({"heads": 0}, "heads = 0", "at least 1"),
    ({"equal_heads": True}, "equal_heads = true", "one head only"),
    ({"train_attention": 2}, "train_attention = 2", "at most 1"),
    ({"label_embedding": np.zeros(30)}, "label_embedding", "must not be zero"),
    ({"label_embedding": np.ones(29)}, "label_embedding has shape (29,)", "allowed is (30,)"),
    ({"rounds": 6}, "rounds = 6", "less than patterns = 6"),
    ({"rounds": 0}, "rounds = 0", "at least 1"),
    ({"tasks": "subsampled", "task_count": 30}, "task_count = 30", "less than the number of all tasks, 30"),
    ({"tasks": "subsampled", "task_count": 0}, "task_count = 0", "at least 1"),
    ({"tasks": "swaps", "patterns": 4, "irrelevant": 26}, "tasks = swaps", "patterns = 6"),
    ({"tasks": "triangles", "patterns": 8, "irrelevant": 22}, "tasks = triangles", "patterns = 6"),
    ({"tasks": "given"}, "given_tasks", "pairs, (n, 2)"),
    ({"tasks": "given", "given_tasks": [[1, 2, 3]]}, "given_tasks has shape (1, 3)", "pairs, (n, 2)"),
    ({"tasks": "given", "given_tasks": [1, 2]}, "given_tasks has shape (2,)", "pairs, (n, 2)"),
    ({"tasks": "given", "given_tasks": np.zeros((0, 2))}, "given_tasks has shape (0, 2)", "pairs, (n, 2)"),
    ({"tasks": "given", "given_tasks": [[1, 2], [3, 3]]}, "task (3, 3)", "must differ"),
    ({"tasks": "given", "given_tasks": [[1, 2], [6, 7]]}, "task (6, 7)", "from 1 to 6"),
    ({"tasks": "given", "given_tasks": [[0, 2]]}, "task (0, 2)", "from 1 to 6"),
    ({"tasks": "given", "given_tasks": [[1, 2], [2, 3], [1, 2]]}, "given_tasks", "occurs twice"),
    ({"class_size": 4}, "class_size = 4", "need 8 patterns"),
    ({"class_size": 3}, "fraction = 0.8", "it must be 1"),
    ({"class_size": 2, "rounds": 2}, "class_size", "rounds=1 only"),
    ({"class_size": 2, "tasks": "swaps"}, "class_size", "tasks=cyclic"),
    ({"odr": TILTED}, "odr", "orthogonal to each other"),
    ({"odr": ODR * (1 + 2e-6)}, "odr", "norm β"),
    ({"odr": changed(ODR, 0, 4, 0.64)}, "odr", "norm β"),
    ({"odr": FOREIGN}, "odr", "in the span of the relevant patterns"),
    ({"odi": SPREAD_ODI}, "odi", "orthogonal to each other"),
    ({"odi": 0.9 * ODI}, "odi", "norm β"),
    ({"odi": ODR}, "odi", "in the span of the irrelevant patterns"),
    ({"odr": ODR[:, :29]}, "odr has shape (3, 29)", "30 coefficients"),
    ({"odr": ODR[:, :29], "strict": False}, "odr has shape (3, 29)", "30 coefficients"),
    ({"odr": ODR[0], "strict": False}, "odr has shape (30,)", "30 coefficients"),
    ({"odi": ODI[:, 1:], "strict": False}, "odi has shape (3, 29)", "30 coefficients"),
    ({"odr": np.eye(30)[:7], "strict": False}, "odr has shape (7, 30)", "at most 6 rows"),
    ({"odi": np.eye(30)[:25], "strict": False}, "odi has shape (25, 30)", "at most 24 rows"),
    ({"odr": ODR[:2]}, "odr has 2 patterns", "at least 3 (2 with test_fraction = 1)"),
    ({"odr": ODR[:1], "test_fraction": 1.0}, "odr has 1 patterns", "at least 3 (2 with test_fraction = 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "given", "allowed"), REFUSED)
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
        {"fraction": 1.0, "test_fraction": 1.0},
        {"fraction": 1e-3},
        TWO,
        {"patterns": 3, "irrelevant": 27},
        {"pattern_norm": 1.0},
        {"amplitude": 0.5},
        {"amplitude": 0.0, "shift_amplitude": 0.0},
        {"amplitude": 0.9, "strict": False},
        {"initial_scale": 0.2},
        {"contexts": 1, "test_contexts": 1},
        {"context_room": 20},
        {"test_context_room": 20},
        {"test_context_room": 40, "test_contexts": 40},
        BROKEN,
        {"heads": 2, "equal_heads": True},
        {"label_embedding": -2 * np.eye(30)[3]},
        {"rounds": 5},
        {"tasks": "subsampled", "task_count": 29},
        {"tasks": "given", "given_tasks": SWAPS},
        {"class_size": 2},
        {"class_size": 3, "fraction": 1.0, "test_fraction": 1.0},
        {"odr": ODR, "odi": ODI},
        {"odr": ODR * (1 + 5e-7)},
        {"odr": np.eye(30)[:6], "odi": np.eye(30)[6:]},
        {"odr": ODR[:2], "test_fraction": 1.0},
        {"odr": TILTED, "strict": False},
        {"odr": FOREIGN, "strict": False},
        {"odr": 2 * ODR, "odi": ODR, "strict": False},
    ],
)  # fmt: skip
def test_the_ends_of_the_allowed_region_are_accepted(fields: dict[str, Any]) -> None:
    setting = Setting(**fields)
    for name, value in fields.items():
        np.testing.assert_array_equal(getattr(setting, name), value)


def test_the_prompts_of_another_network_are_refused_alike() -> None:
    with pytest.raises(UserError, match=r"amplitude = 0\.6 is not allowed"):
        PromptSetting(amplitude=0.6)


def test_the_defaults_are_those_of_the_specification_and_warn_of_nothing() -> None:
    setting = Setting()
    assert setting.warnings() == []
    sizes = (setting.dimension, setting.label_dimension, setting.patterns, setting.irrelevant, setting.batch)
    assert sizes == (30, 30, 6, 24, 120)
    assert (setting.contexts, setting.test_contexts, setting.neurons, setting.steps) == (20, 20, 200, 1500)
    assert (setting.key_width, setting.value_width, setting.heads, setting.rounds) == (60, 60, 1, 1)
    assert (setting.pattern_norm, setting.amplitude, setting.shift_amplitude) == (3, 0.5, 5)
    assert (setting.fraction, setting.test_fraction) == (0.8, 0.8)
    assert (setting.initial_scale, setting.step_size, setting.a_scale) == (0.1, 1, "1/m")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"step_size": 1.01}, "step_size = 1.01 is above 1"),
        ({"odr": reference_family(6, 30, 0.0)[0]}, "coefficient sum 0.905539"),
        ({"tasks": "subsampled", "task_count": 5}, "Condition 6.3.2"),
        ({"tasks": "subsampled", "task_count": 12}, "Condition 6.3.2"),
        ({"tasks": "given", "given_tasks": [[1, 2], [2, 3]]}, "Condition 6.3.2"),
    ],
)
def test_each_broken_assumption_gives_its_own_warning(fields: dict[str, Any], words: str) -> None:
    found = Setting(**fields).warnings()
    assert [words in sentence for sentence in found] == [True], found


@pytest.mark.parametrize(
    "fields",
    [
        {"step_size": 1.0},
        {"rounds": 3},
        {"tasks": "swaps"},
        {"tasks": "triangles"},
        {"tasks": "subsampled", "task_count": 6},
        {"tasks": "given", "given_tasks": cyclic_tasks(6, 2)},
        {"odr": ODR},
        {"class_size": 2},
    ],
)
def test_what_meets_the_assumptions_gives_no_warning(fields: dict[str, Any]) -> None:
    assert Setting(**fields).warnings() == []


# What is derived for compiled code


@pytest.mark.parametrize(
    ("fields", "seen", "total"),
    [
        ({}, cyclic_tasks(6, 1), 30),
        ({"rounds": 4}, cyclic_tasks(6, 4), 30),
        ({"tasks": "swaps"}, SWAPS, 30),
        ({"tasks": "triangles"}, TRIANGLES, 30),
        ({"tasks": "given", "given_tasks": [[6, 1], [2, 4]]}, [(6, 1), (2, 4)], 30),
        ({"class_size": 2}, set_tasks(6, 2)[:6], 90),
        (TWO, [(1, 2), (2, 1)], 2),
    ],
)
def test_the_training_tasks_stand_first_among_all(fields: dict[str, Any], seen: list[Any], total: int) -> None:
    setting = Setting(**fields)
    assert setting.seen == len(seen)
    assert setting.ordered_tasks()[: len(seen)] == seen
    roles = setting.roles
    assert len({tuple(row) for row in roles}) == len(roles) == total
    for row, (a, b) in zip(roles, seen, strict=False):
        np.testing.assert_array_equal(np.flatnonzero(row > 0) + 1, np.sort(np.atleast_1d(a)))
        np.testing.assert_array_equal(np.flatnonzero(row < 0) + 1, np.sort(np.atleast_1d(b)))


def test_the_output_layer_and_the_label_embedding_have_their_sizes() -> None:
    assert Setting().output_size == 1 / 200
    assert Setting(a_scale="1/sqrt(m)").output_size == 1 / math.sqrt(200)
    np.testing.assert_array_equal(Setting().q, np.eye(30)[0])
    np.testing.assert_array_equal(Setting(label_embedding=np.arange(30.0)).q, np.arange(30.0))


def test_shifted_patterns_are_the_reference_family_unless_they_are_given() -> None:
    setting = Setting(angle=20.0)
    np.testing.assert_array_equal(setting.shift_relevant, reference_family(6, 30, 20.0)[0])
    np.testing.assert_array_equal(setting.shift_irrelevant, ODI)
    np.testing.assert_array_equal(Setting(odr=np.eye(30)[:4]).shift_relevant, np.eye(30)[:4])
    assert not np.any(Setting(patterns=5, irrelevant=25).shift_relevant)


# The reference family out of domain


@pytest.mark.parametrize("angle", [45, 20, 6.35, 0, -45, -90, -135, 70, 83.65, 135, 180, 225, 1e4])
def test_the_reference_family_is_orthogonal_and_has_its_coefficient_sums(angle: float) -> None:
    odr, odi = reference_family(6, 30, angle)
    beta, basis = 3.0, np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    relevant, irrelevant = beta * odr @ basis.T, beta * odi @ basis.T
    np.testing.assert_allclose(relevant @ relevant.T, beta**2 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(irrelevant @ irrelevant.T, beta**2 * np.eye(3), atol=1e-12)
    theta = math.radians(angle)
    first = math.sqrt(0.82) * (math.cos(theta) + math.sin(theta))
    np.testing.assert_allclose(odr.sum(axis=1), [first, math.sqrt(2), math.sqrt(2)], rtol=1e-12, atol=1e-12)
    assert coefficient_sum(angle) == pytest.approx(first, abs=1e-12)
    Setting(odr=odr, odi=odi)


def test_the_reference_family_is_that_of_the_paper() -> None:
    odr, odi = reference_family(7, 12, 30.0)
    a, b = math.sqrt(0.82) * math.sqrt(3) / 2, math.sqrt(0.82) / 2
    half = math.sqrt(2) / 2
    np.testing.assert_allclose(odr[0], [0.3, -0.3, 0, 0, a, b, *[0] * 6], rtol=1e-12)
    np.testing.assert_allclose(odr[1], [half, half, *[0] * 10], rtol=1e-12)
    np.testing.assert_allclose(odr[2], [0, 0, half, half, *[0] * 8], rtol=1e-12)
    np.testing.assert_array_equal(odi, np.eye(12)[7:10])


def test_the_branches_begin_and_end_at_the_largest_coefficient_sum() -> None:
    largest = math.sqrt(1.64)
    assert coefficient_sum(45) == pytest.approx(largest)
    assert coefficient_sum(-135) == pytest.approx(-largest)
    assert coefficient_sum(225) == pytest.approx(-largest)
    for away in (10.0, 90.0, 130.0):
        assert (
            coefficient_sum(45 - away)
            == pytest.approx(coefficient_sum(45 + away))
            == pytest.approx(reference_family(6, 30, 45 - away)[0][0, 4:6].sum())
        )


def test_too_few_patterns_for_the_reference_family_are_refused_where_it_is_needed() -> None:
    require_family(6, 3)
    for patterns, irrelevant in ((5, 25), (6, 2)):
        with pytest.raises(UserError, match="least 6 relevant and 3 irrelevant"):
            require_family(patterns, irrelevant)
        np.testing.assert_array_equal(reference_family(patterns, patterns + irrelevant, 45.0)[0], 0)


def test_the_deliberate_break_lies_in_the_span_of_the_irrelevant_patterns() -> None:
    rows = irrelevant_family(6, 30)
    np.testing.assert_array_equal(rows, np.eye(30)[9:12])
    assert "span of the relevant patterns" in refusal(odr=rows)
    Setting(odr=rows, strict=False)
    for angle in (45.0, -90.0):
        broken = Setting(**BROKEN, angle=angle).problem()
        np.testing.assert_array_equal(broken.shift_relevant, rows)
        np.testing.assert_array_equal(broken.shift_irrelevant, np.eye(30)[6:9])
