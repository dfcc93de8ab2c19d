"""Numbers on the page: integers look like integers, and what is shown lies where it was measured."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_cases import row

from lemmata.lab.page.numbers import claimed, decided_by, duration, in_words, measured, number
from lemmata.lab.rows import Row


@pytest.mark.parametrize(("value", "said"), [
    (10300.0, "10\u202f300"), (2708.0, "2708"), (-3.0, "−3"), (0.0, "0"), (1e6, "1\u202f000\u202f000"),
    (0.25, "0.25"), (1.50004, "1.5"), (12345.6, "12\u202f346"), (0.00123456, "0.001235"), (123.456, "123.5"),
    (1.03e-5, "1.03·10⁻⁵"), (1e-6, "10⁻⁶"), (-1e-6, "−10⁻⁶"), (2.5e12, "2.5·10¹²"), (None, ""), (float("inf"), ""),
])  # fmt: skip
def test_a_number_is_written_as_a_reader_wants_it(value: float | None, said: str) -> None:
    assert number(value) == said


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_every_number_can_be_read_back_to_four_digits(value: float) -> None:
    plain = number(value).replace("\u202f", "").replace("−", "-")
    found = re.fullmatch(r"(-?)(?:(\d+(?:\.\d+)?)·?)??(?:10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", plain)
    assert found, plain
    sign, mantissa, power = found.groups()
    raised = (power or "⁰").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    assert float(f"{sign}{mantissa or 1}e{raised}") == pytest.approx(value, rel=1e-3, abs=0)


def shown(**changes: Any) -> Row:
    return Row.read(row(**changes))


def test_what_is_claimed_and_measured_is_said_in_short() -> None:
    assert claimed(shown()) == "≥ 1"
    assert claimed(shown(relation="<=", predicted=10300.0)) == "≤ 10\u202f300"
    assert claimed(shown(relation="in", accept_low=1.0, accept_high=1.6)) == "in [1, 1.6]"
    assert claimed(shown(relation="in", accept_low=0.0, accept_high=0.0)) == "= 0"
    assert claimed(shown(relation="==", accept_high=1e-6)) == "equal within 10⁻⁶"
    assert claimed(shown(relation="==", accept_high=0.0)) == "exactly equal"
    assert claimed(shown(relation="increasing")) == "increasing"
    assert measured(shown(measured=2.0034, low=1.9421, high=2.0034)) == "2.003 [1.942, 2.003]"
    assert measured(shown(measured=3.0, low=None, high=None)) == "3"
    assert measured(shown(measured=None)) == ""


def test_the_statistic_and_the_rule_are_said_once() -> None:
    assert decided_by(shown(statistic="worst seed", rule="every seed")) == "worst of 5 seeds; rule: every seed"
    assert decided_by(shown(statistic="mean", rule="mean over seeds")) == "mean over 5 seeds"
    assert decided_by(shown(statistic="value", rule="value", seeds=0)) == "a single value"
    assert decided_by(shown(statistic="none", rule="every seed", measured=None)) == "every seed"
    assert decided_by(shown(statistic="largest difference", rule="largest difference over all values")) == (
        "largest difference over all values"
    )


def test_numbers_that_a_program_wrote_are_written_anew_in_sentences() -> None:
    assert (
        in_words("mean 1.03e+04 [1e+04, 2.5e-07], below 1e-3.")
        == "mean 10\u202f300 [10\u202f000, 2.5·10⁻⁷], below 0.001."
    )
    assert in_words("seed1e-3x and v1e+05") == "seed1e-3x and v1e+05", "names stay names"


def test_negative_numbers_have_a_minus_and_nothing_else_has() -> None:
    said = in_words("mean -0.99 [-1, -.5], x-1, 10-20, v3-2, (1-2ε), t^-1, k = -2")
    assert said == "mean −0.99 [−1, −.5], x-1, 10-20, v3-2, (1-2ε), t^−1, k = −2"


def test_durations_are_short() -> None:
    said = [duration(seconds).replace("\u202f", " ") for seconds in (0.001, 4.21, 179, 4800)]
    assert said == ["under 0.1 s", "4.2 s", "3 min", "1 h 20 min"]
