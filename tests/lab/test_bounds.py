"""Calculators: declared parameters, plain answers, and what is said where a bound says nothing."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmata as lm
from lemmata.lab.bounds import bound, parameter
from lemmata.theories import vit


@bound(
    "(1)",
    "constants are 1",
    alpha=parameter(0.5, "α", "fraction", low=0, high=1, open_ends="low"),
    samples=parameter(100, "N", "samples", low=1, integer=True),
)
def width(alpha: Any, samples: Any) -> Any:
    return np.log(samples) / np.asarray(alpha, float)


@bound("(2)", logarithmic=True, size=parameter(10.0, "m", "size", low=0))
def volume(size: Any) -> Any:
    """log10 of 10^size."""
    return size


@bound("(3)", x=parameter(1.0, "x", "anything"))
def anything(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return {1.0: np.inf, 2.0: np.nan, 3.0: 0.0, 4.0: -5.0, 5.0: -np.inf, 6.0: 1e308}.get(x, x)


def test_a_calculator_is_called_like_its_function():
    assert width.name == "width"
    assert width(0.5, 10) == pytest.approx(2 * math.log(10))
    np.testing.assert_allclose(width(alpha=np.asarray([0.5, 1.0]), samples=10), [2 * math.log(10), math.log(10)])


def test_a_finite_answer_has_its_inputs_value_and_logarithm():
    answer = width.evaluate(alpha=0.25)
    assert answer == {
        "inputs": {"alpha": 0.25, "samples": 100},
        "value": pytest.approx(4 * math.log(100)),
        "log10": pytest.approx(math.log10(4 * math.log(100))),
        "vacuous": False,
        "note": "constants are 1",
    }
    assert type(answer["value"]) is float


def test_parameters_are_validated_like_fields():
    with pytest.raises(lm.UserError) as caught:
        width.evaluate(alpha=0)
    assert str(caught.value) == ("alpha = 0 is not allowed: alpha (fraction) is a number greater than 0 and at most 1.")
    for wrong in ({"samples": 0}, {"samples": 1.5}, {"alpha": math.nan}, {"alpha": "a"}, {"alpha": True}):
        with pytest.raises(lm.UserError, match=f"{next(iter(wrong))} = "):
            width.evaluate(**wrong)


def test_an_unknown_parameter_is_refused_with_the_nearest_name():
    with pytest.raises(lm.UserError, match=r"no parameter 'alhpa' in width; did you mean 'alpha'\?"):
        width.parse(["alhpa=.4"])
    with pytest.raises(lm.UserError, match="'alhpa'"):
        width.evaluate(alhpa=0.4)


def test_assignments_are_parsed_and_evaluated():
    inputs = width.parse(["alpha=.25", "samples=1e3"])
    assert inputs == {"alpha": 0.25, "samples": 1000}
    assert type(inputs["samples"]) is int
    assert width.evaluate(**inputs)["value"] == pytest.approx(4 * math.log(1000))
    for wrong, said in (
        ("alpha", "'alpha' is not of the form name=value."),
        ("alpha=x", "alpha = x is not allowed"),
        ("alpha=2", "alpha = 2 is not allowed"),
        ("alpha=nan", "alpha = nan is not allowed"),
        ("samples=2.5", "samples = 2.5 is not allowed"),
    ):
        with pytest.raises(lm.UserError) as caught:
            width.parse([wrong])
        assert str(caught.value).startswith(said)


@pytest.mark.parametrize("x", [1.0, 2.0], ids=["infinite", "nan"])
def test_a_bound_that_says_nothing_is_vacuous_and_says_so(x):
    answer = anything.evaluate(x=x)
    assert (answer["value"], answer["log10"], answer["vacuous"]) == (None, None, True)
    assert "vacuous here" in answer["note"]


def test_zero_and_negative_values_have_no_logarithm():
    for x, value in ((3.0, 0.0), (4.0, -5.0)):
        answer = anything.evaluate(x=x)
        assert (answer["value"], answer["log10"], answer["vacuous"]) == (value, None, False)


def test_a_value_beyond_floating_point_is_given_by_its_logarithm():
    answer = volume.evaluate(size=5000)
    assert (answer["value"], answer["log10"], answer["vacuous"]) == (None, 5000, False)
    assert "10^5000.0, beyond floating point" in answer["note"]
    answer = volume.evaluate(size=3)
    assert (answer["value"], answer["log10"], answer["note"]) == (pytest.approx(1000), 3, "")


def test_an_overflow_is_a_vacuous_bound_and_not_an_error():
    @bound("(4)", x=parameter(1.0, "x", "exponent"))
    def power(x: Any) -> Any:
        return 10.0**x

    @bound("(5)", x=parameter(1.0, "x", "base"))
    def inverse(x: Any) -> Any:
        return 1 / x

    for calculator, x in ((power, 400.0), (inverse, 0.0)):
        answer = calculator.evaluate(x=x)
        assert (answer["value"], answer["log10"], answer["vacuous"]) == (None, None, True)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_an_answer_is_json_without_nan_or_infinity(x):
    for calculator, inputs in ((anything, {"x": x}), (volume, {"size": abs(x)})):
        json.dumps(calculator.evaluate(**inputs), allow_nan=False)


@settings(deadline=None)  # the first case loads libraries
@given(st.sampled_from(vit.bounds.BOUNDS), st.data())
def test_every_calculator_of_the_vision_transformer_answers_in_plain_json(calculator, data):
    inputs = {}
    for name, declared in calculator.parameters.items():
        low = max(-1e3, declared.low if declared.low is not None else -1e3)
        high = min(1e3, declared.high if declared.high is not None else 1e3)
        if declared.integer:
            inputs[name] = data.draw(st.integers(int(low), int(high)), label=name)
        else:
            inputs[name] = data.draw(
                st.floats(low, high, exclude_min="low" in declared.open_ends, exclude_max="high" in declared.open_ends),
                label=name,
            )
    if "relevant" in inputs:
        inputs["relevant"] = min(inputs["relevant"], inputs["tokens"])
    answer = calculator.evaluate(**inputs)
    json.dumps(answer, allow_nan=False)
    assert answer["vacuous"] == (answer["value"] is None)


def test_a_bound_outside_its_domain_says_which_condition_is_not_met() -> None:
    said = {
        ("vit", "samples_vit", "sigma=0.5"): "α_* - c'(1-ζ) - c''(σ+τ) = -0.1 is not positive",
        ("vit", "alpha_threshold", "tau=1"): "1-σ-τ = -0.1 is not positive",
        ("graph_transformer", "gcn_samples", "sigma=0.9"): "γ_d² - σ = -0.74 is not positive",
        ("teacher_student", "T_epsilon", "support=40"): "D - K = -4 is not positive",
    }
    for (theory, name, change), reason in said.items():
        bound = lm.load(theory).bound(name)
        answer = bound.evaluate(**bound.parse([change]))
        assert answer["vacuous"]
        assert f"vacuous here: {reason}" in answer["note"]
        assert "vacuous here" not in bound.evaluate()["note"]


def test_what_is_positive_is_not_blamed() -> None:
    bound = lm.Bound("b", "(1)", lambda x, y: np.inf, {}, positive={"x": lambda x, y: x, "y - x": lambda x, y: y - x})
    answer = dataclasses.replace(bound, parameters={n: lm.parameter(1.0, n, n) for n in "xy"}).evaluate()
    assert answer["note"] == "vacuous here: y - x = 0 is not positive"
