"""What a setting of exponential regression refuses, what it warns of, and what it derives on the host."""

import math
import sys
from typing import Any

import numpy as np
import pytest

from lemmata import cli
from lemmata.lab.errors import UserError
from lemmata.theories.exp_regression.setting import Setting

X, Y = np.eye(3)[:2], np.array([0.5, -0.25])
USER = {"data_law": "given", "samples": 2, "dimension": 3, "inputs": X, "targets": Y}
NETWORK = {"init": "given", "neurons": 3, "dimension": 2, "weights": np.zeros((3, 2)), "output_signs": [1.0, -1.0, 1.0]}


def refusal(**fields: Any) -> str:
    with pytest.raises(UserError) as caught:
        Setting(**fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "given", "allowed"),
    [
        ({"samples": 0}, "samples = 0", "at least 1"),
        ({"dimension": 0}, "dimension = 0", "at least 1"),
        ({"samples": 2.5}, "samples = 2.5", "an integer"),
        ({"data_law": "orthonormal", "samples": 11}, "samples = 11", "at most dimension = 10"),
        ({"data_law": "clustered", "samples": 9}, "samples = 9", "even"),
        ({"data_law": "clustered", "dimension": 1}, "dimension = 1", "at least 2"),
        ({"data_law": "cube"}, "data_law = cube", "one of sphere, ball, orthonormal, random_labels, teacher"),
        ({"pair_angle": 0.0}, "pair_angle = 0", "greater than 0 and less than 3.14159"),
        ({"pair_angle": math.pi}, "pair_angle = 3.14159", "less than 3.14159"),
        ({"pair_angle": -0.5}, "pair_angle = -0.5", "greater than 0"),
        ({"pair_ratio": 0.0}, "pair_ratio = 0", "greater than 0 and at most 1"),
        ({"pair_ratio": 1.5}, "pair_ratio = 1.5", "at most 1"),
        ({"pair": "parallel", "samples": 1}, "pair = parallel", "two random points"),
        ({**USER, "pair": "antipodal"}, "pair = antipodal", "two random points"),
        ({"least_target": 1.5}, "least_target = 1.5", "at most 1"),
        ({"teacher_neurons": 0}, "teacher_neurons = 0", "at least 1"),
        ({"data_seed": -2}, "data_seed = -2", "at least -1"),
        ({"weight_scale": 0.0}, "weight_scale = 0", "greater than 0"),
        ({"weight_scale": -1.0}, "weight_scale = -1", "greater than 0"),
        ({"weight_scale": math.nan}, "weight_scale = nan", "greater than 0"),
        ({"failure_probability": 0.0}, "failure_probability = 0", "greater than 0 and at most 0.1"),
        ({"failure_probability": 0.11}, "failure_probability = 0.11", "at most 0.1"),
        ({"tolerance": 0.0}, "tolerance = 0", "greater than 0 and less than 0.1"),
        ({"tolerance": 0.1}, "tolerance = 0.1", "less than 0.1"),
        ({"tail_constant": 0.0}, "tail_constant = 0", "greater than 0"),
        ({"step_constant": 0.0}, "step_constant = 0", "greater than 0"),
        ({"step_size": 0.0}, "step_size = 0", "greater than 0"),
        ({"steps": -1}, "steps = -1", "at least 0"),
        ({"neurons": 0}, "neurons = 0", "at least 1"),
        ({"neurons": 3}, "neurons = 3", "init = coupled needs an even width"),
        ({"neurons": 2**20 + 2}, "neurons = 1048578", "at most 1048576"),
        ({"neurons": 64, "neuron_room": 32}, "neuron_room = 32", "not be less than neurons = 64"),
        ({"weight_samples": 10**4 + 1}, "weight_samples = 10001", "multiple of 10000"),
        ({"activation": "tanh"}, "activation = tanh", "one of exp, cosh, sinh, relu"),
        ({"scale": "half"}, "scale = half", "one of one, inv_sqrt_m"),
        ({"projection_source": "guess"}, "projection_source = guess", "one of paper, union, empirical"),
        ({"step": "theory", "activation": "relu"}, "step = theory", "activation = exp and scale = one"),
        ({"step": "theory", "scale": "inv_sqrt_m"}, "step = theory", "activation = exp and scale = one"),
        ({"track": "bounds", "activation": "cosh"}, "track = bounds", "those of exp"),
        ({"compare": "flow", "activation": "sinh"}, "compare = flow", "activation = exp and scale = one"),
        ({"compare": "separate", "scale": "inv_sqrt_m"}, "compare = separate", "activation = exp and scale = one"),
        ({"horizon": "predicted", "least_steps": 601}, "least_steps = 601", "not exceed steps = 600"),
        ({"radius": 0.5}, "radius = 0.5", "at most 0.38"),
        ({"trained": 2}, "trained = 2", "at most 1"),
        ({"data_law": "given", "samples": 2, "dimension": 3}, "inputs is missing", "(2, 3)"),
        ({**USER, "targets": None}, "targets is missing", "(2,)"),
        ({**USER, "inputs": np.eye(3)}, "inputs has shape (3, 3)", "allowed is (2, 3)"),
        ({**USER, "inputs": X.T}, "inputs has shape (3, 2)", "allowed is (2, 3)"),
        ({**USER, "targets": Y[:, None]}, "targets has shape (2, 1)", "allowed is (2,)"),
        ({**USER, "inputs": X * np.nan}, "inputs", "finite numbers"),
        ({**USER, "targets": [0.5, np.inf]}, "targets", "finite numbers"),
        ({**USER, "inputs": 1.5 * X}, "inputs has a row of norm 1.5", "normalise=True"),
        ({**USER, "inputs": (1 + 1e-11) * X}, "inputs has a row of norm 1", "at most 1"),
        ({**USER, "inputs": 1.5 * X, "rescale": True}, "inputs has a row of norm 1.5", "normalise=True"),
        ({**USER, "targets": [0.5, -2.5]}, "targets has an entry of size 2.5", "rescale=True"),
        ({**USER, "targets": [0.5, -2.5], "normalise": True}, "targets has an entry of size 2.5", "rescale=True"),
        ({**USER, "inputs": X[[0, 0]], "step": "theory"}, "step = theory", "singular"),
        ({**USER, "inputs": X * [[1], [0]], "step": "theory"}, "step = theory", "singular"),
        ({**NETWORK, "weights": None}, "weights is missing", "(3, 2)"),
        ({**NETWORK, "output_signs": None}, "output_signs is missing", "(3,)"),
        ({**NETWORK, "weights": np.zeros((2, 3))}, "weights has shape (2, 3)", "allowed is (3, 2)"),
        ({**NETWORK, "output_signs": [1.0, 0.5, 1.0]}, "output_signs", "1 or -1"),
        ({**NETWORK, "output_signs": [1.0, 0.0, 1.0]}, "output_signs", "1 or -1"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused_in_one_sentence(fields, given, allowed) -> None:
    said = refusal(**fields)
    assert said.startswith(given)
    assert allowed in said
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.parametrize(
    "fields",
    [
        {"samples": 1, "dimension": 1},
        {"data_law": "orthonormal", "samples": 10},
        {"data_law": "clustered", "samples": 2, "dimension": 2, "pair_angle": 3.14},
        {"failure_probability": 0.1},
        {"tail_constant": 0.01},
        {"neurons": 3, "init": "independent"},
        {"neurons": 64, "neuron_room": 64},
        {"pair_ratio": 0.99, "pair": "parallel", "samples": 2},
        {"pair_ratio": 1.0},
        {**USER, "inputs": (1 + 1e-13) * X},
        {**USER, "targets": [1.0, -1.0]},
        {**USER, "step": "theory"},
        NETWORK,
    ],
)
def test_the_ends_of_what_is_allowed_are_accepted_without_a_warning(fields) -> None:
    assert Setting(**fields).warnings() == []


def test_the_defaults_are_those_of_the_specification() -> None:
    plain = Setting()
    assert (plain.samples, plain.dimension, plain.neurons, plain.weight_scale) == (10, 10, 1024, 1.0)
    assert (plain.failure_probability, plain.tolerance, plain.tail_constant) == (0.05, 1e-3, 10.0)
    assert (plain.data_law, plain.init, plain.activation, plain.scale) == ("sphere", "coupled", "exp", "one")
    assert (plain.step, plain.step_constant, plain.pair_angle, plain.teacher_neurons) == ("practical", 0.5, 0.5, 4)
    assert plain.warnings() == []


def test_a_step_beyond_the_edge_of_stability_is_a_warning() -> None:
    (said,) = Setting(step_constant=2.0).warnings()
    assert said.startswith("step_constant is at least 2")
    assert Setting(step_constant=1.99).warnings() == []
    assert Setting(step_constant=2.5, step="given").warnings() == []


def test_repeated_and_zero_rows_are_a_warning() -> None:
    for rows in (X[[1, 1]], X * [[0], [1]]):
        (said,) = Setting(**{**USER, "inputs": rows}).warnings()
        assert "zero or a repeated row" in said
        assert "λ = 0" in said
    assert Setting(**{**USER, "inputs": [[1.0, 0, 0], [-1.0, 0, 0]]}).warnings() == []


def test_a_parallel_pair_of_ratio_one_is_a_repeated_point_and_a_warning() -> None:
    (said,) = Setting(pair="parallel", pair_ratio=1.0).warnings()
    assert "λ = 0" in said


def test_an_odd_width_becomes_even_only_by_the_users_hand() -> None:
    assert refusal(neurons=5).startswith("neurons = 5")
    with pytest.raises(UserError, match="neurons = 5"):
        Setting(neurons=5, init="independent").replace(init="coupled")


def test_the_output_scale_is_one_or_the_root_of_the_width() -> None:
    assert Setting(neurons=64).output_scale == 1.0
    assert Setting(neurons=64, scale="inv_sqrt_m").output_scale == 0.125


@pytest.mark.parametrize(
    ("neurons", "neuron_room", "capacity"),
    [
        (2, 0, 1024),
        (1024, 0, 1024),
        (1026, 0, 2048),
        (2048, 0, 2048),
        (10_000, 0, 16384),
        (4, 4, 4),
        (3, 3, 4),
        (1, 1, 2),
        (4, 512, 512),
        (5, 7, 8),
    ],
)
def test_networks_share_a_capacity_which_is_even_and_at_least_their_width(neurons, neuron_room, capacity) -> None:
    assert Setting(neurons=neurons, neuron_room=neuron_room, init="independent").capacity == capacity


def test_widths_of_one_capacity_share_their_static_fields_and_others_do_not() -> None:
    narrow, wide = (Setting(neurons=m, neuron_room=512).problem() for m in (2, 512))
    assert narrow.static == wide.static
    assert Setting(neurons=2, neuron_room=256).problem().static != narrow.static


def test_given_arrays_are_divided_by_their_largest_value_only_if_it_exceeds_one() -> None:
    both = {"normalise": True, "rescale": True}
    large = Setting(**{**USER, "inputs": [[3.0, 4, 0], [0, 0, 2.5]], "targets": [2.0, -4.0]}, **both)
    np.testing.assert_allclose(large.given_inputs, [[0.6, 0.8, 0], [0, 0, 0.5]], rtol=1e-15)
    np.testing.assert_allclose(large.given_targets, [0.5, -1], rtol=1e-15)
    small = Setting(**{**USER, "inputs": 0.5 * X, "targets": 0.1 * Y}, **both)
    np.testing.assert_array_equal(small.given_inputs, 0.5 * X)
    np.testing.assert_array_equal(small.given_targets, 0.1 * Y)


def test_assignments_are_read_as_the_declared_kinds() -> None:
    parsed = Setting.parse(["neurons=64", "weight_scale=.25", "data_law=ball", "normalise=true", "samples=1e1"])
    assert parsed == {"neurons": 64, "weight_scale": 0.25, "data_law": "ball", "normalise": True, "samples": 10}
    for wrong, said in (
        ("inputs=1", "inputs is an array and can only be given from Python."),
        ("neurons=many", "neurons = many is not allowed"),
        ("spread=1", "There is no field 'spread'"),
    ):
        with pytest.raises(UserError) as caught:
            Setting.parse([wrong])
        assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("neurons=3", "neurons = 3 is not allowed: init = coupled needs an even width."),
        ("tolerance=0.5", "tolerance = 0.5 is not allowed"),
        ("data_law=cube", "data_law = cube is not allowed"),
    ],
)
def test_the_command_line_leaves_with_two_and_one_sentence(change, said, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["lemmata", "run", "exp_regression/q16-theory", "--set", change])
    with pytest.raises(SystemExit) as left:
        cli.main()
    streams = capsys.readouterr()
    assert left.value.code == 2
    assert said in streams.err
    assert "Traceback" not in streams.err + streams.out
    assert streams.out == ""
