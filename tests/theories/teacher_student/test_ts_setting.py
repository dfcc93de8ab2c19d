"""What a setting of the teacher-student theory refuses and warns of (section 2.5), and how assignments are read."""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.theories.teacher_student.setting import Setting

RING = np.roll(np.eye(7), 1, axis=0) + np.roll(np.eye(7), -1, axis=0)
GRAPH: dict[str, Any] = {"graph": "given", "tokens": 7, "support": 3, "adjacency": RING}
SUPPORTS = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
LISTED: dict[str, Any] = {"teacher": "supports", "tokens": 4, "support": 2, "supports": SUPPORTS}
HALVES = np.kron(np.eye(2), np.full((2, 2), 0.5))
SCORED: dict[str, Any] = {"teacher": "scores", "tokens": 4, "support": 2, "given_scores": HALVES}
ROWS = np.array([[1.0, 0, 2], [0, 3, 0]])
VALUED: dict[str, Any] = {"value_law": "given", "outputs": 2, "dimension": 3, "given_values": ROWS}
PLACED: dict[str, Any] = {
    "teacher": "layer", "tokens": 4, "support": 1, "positions": "given", "given_positions": np.eye(4)[::-1],
}  # fmt: skip
GRID: dict[str, Any] = {"teacher": "cnn_2d", "tokens": 24, "height": 4, "support": 4}


def changed(array: np.ndarray, place: Any, value: Any) -> np.ndarray:
    array = np.array(array, float)
    array[place] = value
    return array


REFUSED: list[tuple[dict[str, Any], str]] = [
    # ranges
    ({"support": 0},
     "support = 0 is not allowed: support (tokens that an output column averages) is an integer at least 1"),
    ({"support": -1}, "support = -1 is not allowed"),
    ({"support": 21}, "support = 21 is not allowed: at most tokens = 20."),
    ({"support": 2.5}, "support = 2.5 is not allowed"),
    ({"tokens": 1}, "tokens = 1 is not allowed: tokens (tokens (patches, nodes, groups)) is an integer at least 2"),
    ({"dimension": 0}, "dimension = 0 is not allowed"),
    ({"outputs": 0}, "outputs = 0 is not allowed"),
    ({"negative_slope": -0.01}, "negative_slope = -0.01 is not allowed"),
    ({"negative_slope": 1.01}, "negative_slope = 1.01 is not allowed"),
    ({"negative_slope": math.nan}, "negative_slope = nan is not allowed"),
    ({"label_noise": -1.0}, "label_noise = -1 is not allowed"),
    ({"label_noise": math.inf}, "label_noise = inf is not allowed"),
    ({"batch": 0}, "batch = 0 is not allowed"),
    ({"test_samples": 1}, "test_samples = 1 is not allowed"),
    ({"step_size": 0.0}, "step_size = 0 is not allowed: step_size (step size) is a number greater than 0"),
    ({"step_size": -0.1}, "step_size = -0.1 is not allowed"),
    ({"step_size": math.nan}, "step_size = nan is not allowed"),
    ({"steps": -1}, "steps = -1 is not allowed"),
    ({"strength": -1.0}, "strength = -1 is not allowed"),
    ({"kink": 1.5}, "kink = 1.5 is not allowed"),
    ({"kink": -0.5}, "kink = -0.5 is not allowed"),
    ({"initial_scale": -1.0}, "initial_scale = -1 is not allowed"),
    ({"dynamics": "limit", "start": "slope"}, "start = slope is a convention of the first step"),
    ({"start_gap": -1.0}, "start_gap = -1 is not allowed"),
    ({"temperature": 0.0}, "temperature = 0 is not allowed"),
    ({"train_attention": 2.0}, "train_attention = 2 is not allowed"),
    ({"train_values": -1.0}, "train_values = -1 is not allowed"),
    ({"records": 1}, "records = 1 is not allowed"),
    ({"height": -1}, "height = -1 is not allowed"),
    ({"teacher": "rnn"},
     "teacher = rnn is not allowed: teacher (which scores S*) is one of cnn, cnn_2d, gcn, sts, gslp"),
    ({"graph": "tree"}, "graph = tree is not allowed"),
    ({"positions": "random"}, "positions = random is not allowed"),
    ({"defect": "tired"}, "defect = tired is not allowed"),
    # convolution
    ({"teacher": "cnn"}, "tokens = 20 is not a multiple of support = 3, the pooling group."),
    ({**GRID, "support": 3}, "support = 3 is not allowed: a square window has 1, 4, 9, ... patches."),
    ({**GRID, "height": 5}, "tokens = 24 do not fill a grid of 5 rows; set height to a divisor of tokens."),
    ({**GRID, "tokens": 20, "height": 0}, "a grid of 4 x 5 patches is not divisible into windows of 2 x 2."),
    ({**GRID, "height": 30}, "tokens = 24 do not fill a grid of 30 rows"),
    ({**GRID, "height": 3}, "a grid of 3 x 8 patches is not divisible into windows of 2 x 2."),
    ({**GRID, "height": 8}, "a grid of 8 x 3 patches is not divisible into windows of 2 x 2."),
    # graphs
    ({"support": 4}, "a cycle has support = 3 and at least 3 tokens, not support = 4 and tokens = 20."),
    ({"graph": "blocks", "support": 3}, "tokens = 20 is not a multiple of support = 3, the size of a block."),
    ({"graph": "regular", "tokens": 7, "support": 4},
     "no graph on 7 nodes has degree 3 everywhere: (support - 1) x tokens must be even."),
    ({"graph": "circulant", "tokens": 9, "support": 2}, "no graph on 9 nodes has degree 1 everywhere"),
    ({"graph": "regular", "tokens": 6, "support": 7}, "support = 7 is not allowed: at most tokens = 6."),
    ({**GRAPH, "adjacency": None}, "adjacency is missing: it must be given from Python as an array of shape (7, 7)."),
    ({**GRAPH, "adjacency": RING[:5]}, "adjacency has shape (5, 7); allowed is (7, 7)."),
    ({**GRAPH, "adjacency": changed(RING, (0, 1), 0)},
     "adjacency is not allowed: it must be symmetric, of zeros and ones, with a zero diagonal."),
    ({**GRAPH, "adjacency": 2 * RING}, "adjacency is not allowed: it must be symmetric, of zeros and ones"),
    ({**GRAPH, "adjacency": -RING}, "adjacency is not allowed: it must be symmetric, of zeros and ones"),
    ({**GRAPH, "adjacency": changed(RING, (2, 2), 1)},
     "adjacency is not allowed: it must be symmetric, of zeros and ones"),
    ({**GRAPH, "adjacency": changed(RING, ([0, 3], [3, 0]), 1)},
     "adjacency is not allowed: every node must have support - 1 = 2 neighbours."),
    ({**GRAPH, "support": 4}, "adjacency is not allowed: every node must have support - 1 = 3 neighbours."),
    ({**GRAPH, "adjacency": RING * np.nan},
     "adjacency (adjacency matrix for graph=given) must be an array of finite numbers."),
    # rank one
    ({"teacher": "gslp", "outputs": 1, "support": 2}, "support = 2 is not allowed: teacher=gslp has support 1."),
    ({"teacher": "gslp", "support": 1}, "outputs = 10 is not allowed: teacher=gslp has one output."),
    ({"teacher": "layer"}, "support = 3 is not allowed: teacher=layer has support 1."),
    ({"teacher": "sts", "outputs": 4}, "outputs = 4 is not allowed: with V* the identity it equals dimension = 10."),
    # supports
    ({**LISTED, "supports": SUPPORTS[:3]}, "supports has shape (3, 2); allowed is (4, 2)."),
    ({**LISTED, "supports": SUPPORTS[:, :1]}, "supports has shape (4, 1); allowed is (4, 2)."),
    ({**LISTED, "supports": [[0, 1], [0, 2], [1], [2, 3]]},
     "supports (support of every column, D rows of K indices, for teacher=supports) must be an array"),
    ({**LISTED, "supports": changed(SUPPORTS, (1, 1), 0)},
     "supports is not allowed: every column needs 2 different indices."),
    ({**LISTED, "supports": changed(SUPPORTS, (1, 1), 4)},
     "supports is not allowed: indices are whole numbers from 0 to 3."),
    ({**LISTED, "supports": changed(SUPPORTS, (1, 1), -1)},
     "supports is not allowed: indices are whole numbers from 0 to 3."),
    ({**LISTED, "supports": changed(SUPPORTS, (1, 1), 1.5)},
     "supports is not allowed: indices are whole numbers from 0 to 3."),
    # scores
    ({**SCORED, "given_scores": None}, "given_scores is missing"),
    ({**SCORED, "given_scores": HALVES[:3]}, "given_scores has shape (3, 4); allowed is (4, 4)."),
    ({**SCORED, "given_scores": changed(HALVES, ([0, 1], 0), [0.6, 0.4])},
     "given_scores is not allowed: every column must have exactly 2 entries 1/2 and the rest 0."),
    ({**SCORED, "given_scores": changed(HALVES, (2, 0), 0.5)},
     "given_scores is not allowed: every column must have exactly 2 entries 1/2"),
    ({**SCORED, "given_scores": changed(HALVES, ([0, 1], 0), [1.0, 0.0])},
     "given_scores is not allowed: every column must have"),
    ({**SCORED, "given_scores": changed(HALVES, (2, 0), -0.5)}, "given_scores is not allowed: every column must have"),
    ({**SCORED, "given_scores": 2 * HALVES}, "given_scores is not allowed: every column must have"),
    ({**SCORED, "given_scores": changed(HALVES, (0, 0), math.inf)},
     "given_scores (score matrix for teacher=scores) must be an array of finite numbers."),
    # values
    ({"value_law": "identity", "outputs": 4},
     "outputs = 4 is not allowed: with V* the identity it equals dimension = 10."),
    ({"value_law": "two_rows"}, "value_law = two_rows has outputs = 2 and at least as many features, not 10 and 10."),
    ({"value_law": "two_rows", "outputs": 2, "dimension": 1},
     "value_law = two_rows has outputs = 2 and at least as many features, not 2 and 1."),
    ({**VALUED, "given_values": None}, "given_values is missing"),
    ({**VALUED, "given_values": ROWS.T}, "given_values has shape (3, 2); allowed is (2, 3)."),
    ({**VALUED, "given_values": ROWS * [[1], [0]]}, "given_values is not allowed: a row of V* is zero."),
    ({**VALUED, "given_values": changed(ROWS, (0, 0), math.nan)},
     "given_values (value matrix for value_law=given) must be an array of finite numbers."),
    # positions
    ({"positions": "hadamard"}, "tokens = 20 is not allowed: positions=hadamard needs a power of two."),
    ({**PLACED, "given_positions": None}, "given_positions is missing"),
    ({**PLACED, "given_positions": np.eye(4)[:3]}, "given_positions has shape (3, 4); allowed is (4, 4)."),
    ({**PLACED, "given_positions": np.eye(4) * (1 + 1e-6)}, "given_positions is not orthogonal to 1e-06."),
    ({**PLACED, "given_positions": changed(np.eye(4), (0, 1), 2e-6)}, "given_positions is not orthogonal to 1e-06."),
    # defects
    ({"defect": "uneven_weights", "teacher": "cnn", "support": 4}, "defect = uneven_weights needs support = 3, not 4."),
    ({"defect": "extra_support", "teacher": "cnn", "support": 20}, "defect = extra_support needs support < tokens."),
    # dynamics
    ({"student": "full"}, "dynamics = population is exact for student=position only, not for student = full."),
    ({"student": "factored", "dynamics": "recursion"},
     "dynamics = recursion is exact for student=position only, not for student = factored."),
    ({"student": "standard", "dynamics": "limit"},
     "dynamics = limit is exact for student=position only, not for student = standard."),
    ({"initial_scale": 0.01}, "initial_scale = 0.01 needs dynamics=online; the exact dynamics start at C_1 V*."),
    ({"initial_scale": 0.01, "dynamics": "limit"}, "initial_scale = 0.01 needs dynamics=online"),
    ({"defect": "row_softmax", "dynamics": "recursion"},
     "dynamics = recursion has no defect = row_softmax: its pattern would not be kept."),
    ({"defect": "coloured_inputs", "dynamics": "limit"}, "dynamics = limit has no defect = coloured_inputs"),
    ({"defect": "row_softmax", "dynamics": "online"},
     "dynamics = online has no defect = row_softmax; use dynamics=population."),
    ({"start_gap": 0.1, "dynamics": "online", "student": "full"},
     "start_gap and start_scale need student=position, not full."),
    ({"start_scale": -0.1, "dynamics": "online", "student": "standard"},
     "start_gap and start_scale need student=position, not standard."),
    ({"steps": 2**31}, "steps = 2147483648 are too many to be taken one by one; use dynamics=limit."),
    ({"steps": 2**31, "dynamics": "recursion"}, "steps = 2147483648 are too many to be taken one by one"),
    ({"first_escape": 1.0, "escapes": 1.0}, "first_escape = 1.0 must be less than escapes = 1.0."),
    ({"first_escape": 1.0}, "first_escape = 1.0 must be less than escapes = 0.0."),
    ({"teacher": "cnn", "support": 20, "dynamics": "limit"},
     "support = tokens leaves attention nothing to learn and no T*; use dynamics=recursion and steps."),
    ({"teacher": "cnn", "support": 20, "escapes": 2.0}, "support = tokens leaves attention nothing to learn and no T*"),
    ({"token_room": 19}, "token_room = 19 is less than tokens = 20."),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "said"), REFUSED)
def test_a_setting_that_is_not_allowed_is_refused_in_one_sentence(fields, said) -> None:
    with pytest.raises(UserError, match="^" + re.escape(said)) as caught:
        Setting(**fields)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        GRAPH,
        {**GRAPH, "adjacency": RING.astype(bool)},
        LISTED | {"tokens": 5, "supports": [[0, 1], [0, 1], [0, 1], [4, 3], [3, 4]]},
        SCORED | {"tokens": 6, "given_scores": np.kron(np.eye(3), np.full((2, 2), 0.5))},
        VALUED,
        PLACED,
        {**PLACED, "given_positions": np.eye(4) + 1e-7},
        GRID,
        {"graph": "circulant", "tokens": 9, "support": 3},
        {"graph": "regular", "tokens": 7, "support": 3},
        {"positions": "hadamard", "tokens": 32},
        {"negative_slope": 0.0},
        {"value_law": "two_rows", "outputs": 2, "dimension": 2},
        {"teacher": "gslp", "support": 1, "outputs": 1},
        {"teacher": "sts", "support": 4},
        {"teacher": "sts", "outputs": 4, "value_law": "gaussian"},
        {"initial_scale": 0.01, "dynamics": "online", "student": "full"},
        {"start_gap": 0.1, "start_scale": 1.0, "dynamics": "online"},
        {"defect": "coloured_inputs", "dynamics": "online"},
        {"steps": 2**31 - 1},
        {"steps": 10**16, "dynamics": "limit"},
        {"steps": 2**31, "escapes": 2.0, "first_escape": 1.0},
        {"label_noise": 0.0, "batch": 1},
    ],
)
def test_the_ends_of_what_is_allowed_are_accepted_without_a_warning(fields) -> None:
    assert Setting(**fields).warnings() == []


def test_the_defaults_are_those_of_the_specification() -> None:
    plain = Setting()
    assert (plain.dimension, plain.outputs, plain.label_noise, plain.batch) == (10, 10, 1.0, 100)
    assert (plain.value_law, plain.normalise_rows, plain.positions, plain.start) == ("teacher", False, "haar", "limit")
    assert (plain.initial_scale, plain.start_scale, plain.start_gap, plain.kink) == (0, 0, 0, 1)


WARNED: list[tuple[dict[str, Any], str]] = [
    ({"teacher": "cnn", "support": 20}, "support = tokens: uniform attention is already optimal."),
    ({"teacher": "cnn", "support": 10}, "tokens ≤ 2 support, so T* = 0"),
    ({"teacher": "sts", "tokens": 7, "support": 6}, "tokens ≤ 2 support, so T* = 0"),
    ({"step_size": 0.31}, "step_size is above 2K/(a_κ D) = 0.3: the values are unstable."),
    ({"step_size": 0.61, "negative_slope": 0.0}, "step_size is above 2K/(a_κ D) = 0.6: the values are unstable."),
    ({"strength": 7201.0}, "step_size is above 2DK²/(a_κ‖V*‖²) = 0.05: equal scores in a support are unstable."),
    ({"strength": 7200.0 * 2.01, "negative_slope": 0.0, "dynamics": "recursion"}, "step_size is above 2DK²/(a_κ‖V*‖²)"),
    ({"kink": 0.0, "negative_slope": 0.0, "dynamics": "online"}, "σ'(0) = 0 and W_V = 0: the student never moves."),
    ({"kink": 0.0, "negative_slope": 1.0, "dynamics": "online"}, "σ'(0) = 0 and W_V = 0: the student never moves."),
    ({"kink": 0.0, "negative_slope": 0.1, "start": "slope"}, "σ'(0) = 0 and W_V = 0: the student never moves."),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "said"), WARNED)
def test_a_violated_assumption_is_one_warning(fields, said) -> None:
    (sentence,) = Setting(**fields).warnings()
    assert sentence.startswith(said)
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    "fields",
    [
        {"teacher": "gslp", "outputs": 1, "tokens": 3, "support": 1},
        {"step_size": 0.3},
        {"step_size": 0.6, "negative_slope": 0.0},
        {"step_size": 0.31, "dynamics": "limit"},
        {"strength": 7200.0},
        {"strength": 7200.0 * 1.99, "negative_slope": 0.0},
        {"strength": 9000.0, "dynamics": "limit"},
        {"kink": 0.0, "negative_slope": 0.0},
        {"kink": 0.0, "negative_slope": 0.0, "dynamics": "limit"},
        {"kink": 0.1, "negative_slope": 0.0, "dynamics": "online"},
        {"kink": 0.0, "negative_slope": 0.0, "dynamics": "online", "initial_scale": 0.01},
        {"kink": 0.0, "negative_slope": 0.0, "start": "slope", "start_scale": 0.5},
    ],
)
def test_a_warning_is_not_given_on_the_other_side_of_its_limit(fields) -> None:
    assert Setting(**fields).warnings() == []


def test_settings_are_equal_when_their_fields_are() -> None:
    assert Setting(**VALUED) == Setting(**VALUED)
    assert Setting(**VALUED) != Setting(**{**VALUED, "given_values": 2 * ROWS})
    assert len({Setting(), Setting(), Setting(tokens=21)}) == 2


def test_no_field_hides_a_method_of_settings() -> None:
    mine = {field.name for field in dataclasses.fields(Setting)}  # pyright: ignore[reportArgumentType]
    assert not mine & set(dir(Setting.__mro__[1]))


def test_a_change_is_validated_against_the_other_fields() -> None:
    with pytest.raises(UserError, match="tokens = 20 is not a multiple of support = 3"):
        Setting().replace(teacher="cnn")
    assert Setting(teacher="cnn", support=4).replace(support=5).support == 5


def test_assignments_are_read_as_the_declared_kinds() -> None:
    words = ["negative_slope=.1", "tokens=64", "steps=1e12", "normalise_rows=true", "teacher=cnn_2d", "dynamics=limit"]
    parsed = Setting.parse(words)
    assert parsed == {
        "negative_slope": 0.1, "tokens": 64, "steps": 10**12, "normalise_rows": True, "teacher": "cnn_2d",
        "dynamics": "limit",
    }  # fmt: skip
    assert type(parsed["steps"]) is int
    for wrong, said in (
        ("adjacency=1", "adjacency is an array and can only be given from Python."),
        ("support=few", "support = few is not allowed"),
        ("support=2.5", "support = 2.5 is not allowed"),
        ("negative_slope=2", "negative_slope = 2 is not allowed"),
        ("slope=0", "There is no field 'slope'"),
        ("tokens", "'tokens' is not of the form name=value."),
    ):
        with pytest.raises(UserError, match=re.escape(said)):
            Setting.parse([wrong])
