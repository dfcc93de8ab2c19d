"""The judge that wants two standard errors to spare: mean ± 2 s / √n against the limit.

For [9, 10, 11] the standard error is 1 / √3, so the range is 10 ± 1.1547 = [8.8453, 11.1547].
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE
from lemmata.lab.intervals import standard_error
from lemmata.lab.judges import at_least, at_most, increasing, within

LOW, HIGH = 10 - 2 / math.sqrt(3), 10 + 2 / math.sqrt(3)


def seeds(*values: float) -> xr.DataArray:
    return xr.DataArray(list(values), dims="seed")


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [
        (at_least(LOW - 0.001, "clear"), HOLDS), (at_least(LOW + 0.001, "clear"), INCONCLUSIVE),
        (at_least(10, "clear"), INCONCLUSIVE), (at_least(HIGH - 0.001, "clear"), INCONCLUSIVE),
        (at_least(HIGH + 0.001, "clear"), FAILS), (at_most(HIGH + 0.001, "clear"), HOLDS),
        (at_most(HIGH - 0.001, "clear"), INCONCLUSIVE), (at_most(LOW + 0.001, "clear"), INCONCLUSIVE),
        (at_most(LOW - 0.001, "clear"), FAILS), (within(LOW - 0.001, HIGH + 0.001, "clear"), HOLDS),
        (within(LOW + 0.001, 20, "clear"), INCONCLUSIVE), (within(0, HIGH - 0.001, "clear"), INCONCLUSIVE),
        (within(HIGH + 0.001, 20, "clear"), FAILS), (within(0, LOW - 0.001, "clear"), FAILS),
    ],
)  # fmt: skip
def test_two_standard_errors_to_spare_hold_none_fail_and_else_it_is_inconclusive(judge, outcome):
    verdict = judge(seeds(9, 10, 11))
    assert verdict.outcome == outcome
    assert verdict.measured == 10
    assert (verdict.low, verdict.high) == (pytest.approx(LOW), pytest.approx(HIGH))
    assert "twice the standard error 1.155" in verdict.note


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6), st.integers(-60, 60))
def test_the_rule_is_the_mean_and_its_standard_error(values, limit):
    half = 2 * np.std(values, ddof=1) / math.sqrt(len(values))
    mean = float(np.mean(values))
    if min(abs(mean - half - limit), abs(mean + half - limit)) < 1e-9:
        return
    expected = HOLDS if mean - half > limit else FAILS if mean + half < limit else INCONCLUSIVE
    assert at_least(limit, "clear")(seeds(*values)).outcome == expected
    mirrored = at_most(-limit, "clear")(seeds(*(-value for value in values)))
    assert mirrored.outcome == expected


def test_one_seed_is_never_clear():
    for value in (-1e9, 0.0, 1e9):
        assert at_least(0, "clear")(seeds(value)).outcome == INCONCLUSIVE
    assert standard_error([3.0]) == math.inf


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 2.0, -0.7])
def test_identical_seeds_decide_by_their_value(value):
    same = seeds(value, value, value)
    assert standard_error([value] * 3) == 0
    assert at_least(value, "clear")(same).outcome == HOLDS
    assert at_most(value, "clear")(same).outcome == HOLDS
    assert at_least(value, "clear", strict=True)(same).outcome == FAILS
    assert at_most(value, "clear", strict=True)(same).outcome == FAILS
    assert at_least(np.nextafter(value, 9), "clear")(same).outcome == FAILS
    assert within(value, value, "clear")(same).outcome == HOLDS


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
def test_seeds_without_a_number_are_never_clear(lost):
    assert at_least(0, "clear")(seeds(5, 5, lost)).outcome == INCONCLUSIVE
    assert standard_error([5, 5, lost]) == math.inf


def test_the_standard_error_is_that_of_the_mean():
    assert standard_error([9, 10, 11]) == pytest.approx(1 / math.sqrt(3))
    assert standard_error([0, 4]) == pytest.approx(2)


def test_a_value_without_seeds_decides_by_itself():
    assert at_least(3, "clear")(3.0).outcome == HOLDS
    assert at_least(3, "clear")(2.9).outcome == FAILS


def test_every_criterion_must_be_clear():
    table = xr.DataArray([[9, 10, 11], [99, 100, 101]], dims=("x", "seed"), coords={"x": ["a", "b"]})
    assert at_least(LOW - 0.1, "clear")(table).outcome == HOLDS
    assert at_least(9.5, "clear")(table).outcome == INCONCLUSIVE
    assert at_least(50, "clear")(table).outcome == FAILS


def test_steps_of_a_path_can_be_clear():
    path = xr.DataArray([[0.0, 0.1], [1.0, 1.1], [1.9, 2.2]], dims=("x", "seed"), coords={"x": [1, 2, 3]})
    assert increasing("x", "clear")(path).outcome == HOLDS
    noisy = xr.DataArray([[0.0, 0.1], [1.0, 1.1], [-1.0, 4.0]], dims=("x", "seed"), coords={"x": [1, 2, 3]})
    assert increasing("x", "clear")(noisy).outcome == INCONCLUSIVE
