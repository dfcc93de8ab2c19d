"""The decision rule of every judge, at data made by hand.

The 95 % t interval of n seeds is mean +- t s / sqrt(n): for [9, 10, 11] it is 10 +- 4.303 / sqrt(3) = [7.516, 12.484].
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from judge_cases import HIGH, LOW, NINE_TO_ELEVEN, inf, nan, seeds, table

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, rule_of
from lemmata.lab.errors import UserError
from lemmata.lab.intervals import Estimate, mean_interval, median_interval, share_interval
from lemmata.lab.judges import (
    all_of,
    at_least,
    at_most,
    equal,
    increasing,
    level_of,
    stating,
    within,
)
from lemmata.lab.regions import RULES, Uncertain

# The interval decides


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [
        (at_least(LOW - 0.001), HOLDS),
        (at_least(LOW + 0.001), INCONCLUSIVE),
        (at_least(10), INCONCLUSIVE),
        (at_least(HIGH - 0.001), INCONCLUSIVE),
        (at_least(HIGH + 0.001), FAILS),
        (at_most(HIGH + 0.001), HOLDS),
        (at_most(HIGH - 0.001), INCONCLUSIVE),
        (at_most(LOW + 0.001), INCONCLUSIVE),
        (at_most(LOW - 0.001), FAILS),
        (within(LOW - 0.001, HIGH + 0.001), HOLDS),
        (within(LOW + 0.001, 20), INCONCLUSIVE),
        (within(0, HIGH - 0.001), INCONCLUSIVE),
        (within(9.9, 10.1), INCONCLUSIVE),
        (within(HIGH + 0.001, 20), FAILS),
        (within(0, LOW - 0.001), FAILS),
    ],
)
def test_all_of_the_interval_holds_none_of_it_fails_and_else_it_is_inconclusive(judge, outcome):
    verdict = judge(NINE_TO_ELEVEN)
    assert verdict.outcome == outcome
    assert verdict.measured == 10
    assert (verdict.low, verdict.high) == (pytest.approx(LOW), pytest.approx(HIGH))


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=8), st.floats(-100, 100), st.floats(0, 50), st.booleans())
def test_the_rule_is_the_interval_against_the_condition(values, bound, width, strict):
    interval = mean_interval(values)
    for judge, (low, high) in (
        (at_least(bound, strict=strict), (bound, inf)),
        (at_most(bound, strict=strict), (-inf, bound)),
        (within(bound, bound + width), (bound, bound + width)),
    ):
        verdict = judge(seeds(*values))
        if strict and inf in (-low, high):
            inside, outside = low < interval.low and interval.high < high, interval.high <= low or interval.low >= high
        else:
            inside, outside = low <= interval.low and interval.high <= high, interval.high < low or interval.low > high
        assert verdict.outcome == (HOLDS if inside else FAILS if outside else INCONCLUSIVE)


def test_one_seed_decides_nothing_by_its_interval():
    assert at_least(0)(seeds(100)).outcome == INCONCLUSIVE
    assert at_least(0, by="mean")(seeds(100)).outcome == HOLDS


def test_a_value_without_seeds_decides_by_itself():
    assert at_least(3)(3.0).outcome == HOLDS
    assert at_least(3)(np.float64(2.9)).outcome == FAILS
    assert within(1, 2)(1.5).outcome == HOLDS
    verdict = at_most(3)(xr.DataArray(4.0))
    assert (verdict.outcome, verdict.measured, verdict.low, verdict.high) == (FAILS, 4, None, None)


# Who decides


@pytest.mark.parametrize(
    ("by", "values", "outcome", "measured"),
    [
        ("mean", (0, 0, 33), HOLDS, 11),
        ("median", (0, 0, 33), FAILS, 0),
        ("every", (0, 0, 33), FAILS, 0),
        ("interval", (0, 0, 33), INCONCLUSIVE, 11),
        ("mean", (0, 11, 12), FAILS, 23 / 3),
        ("median", (0, 11, 12), HOLDS, 11),
        ("every", (11, 10, 12), HOLDS, 10),
        ("every", (11, 9.99, 12), FAILS, 9.99),
        ("mean", (10, 10, 10), HOLDS, 10),
    ],
)
def test_the_named_statistic_decides_and_is_reported(by, values, outcome, measured):
    verdict = at_least(10, by=by)(seeds(*values))
    assert (verdict.outcome, verdict.measured) == (outcome, pytest.approx(measured))
    interval = median_interval(values) if by == "median" else mean_interval(values)
    ends = (min(values), max(values)) if by == "every" else (interval.low, interval.high)
    assert (verdict.low, verdict.high, verdict.seeds) == (*ends, len(values))
    assert verdict.statistic == {"every": "worst seed", "median": "median"}.get(by, "mean")
    assert verdict.rule == RULES[by]


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=8),
    st.floats(-100, 100),
    st.sampled_from(sorted(set(RULES) - {"value"})),
    st.sampled_from([at_least, at_most, lambda bound, by: within(bound, bound + 1, by)]),
)
def test_the_number_shown_lies_in_its_own_interval(values, bound, by, judge):
    verdict = judge(bound, by=by)(seeds(*values))
    if verdict.low is not None:
        assert verdict.low <= verdict.measured <= verdict.high
    assert (verdict.low is None) == (verdict.high is None) == (len(values) == 1)


def test_an_estimate_and_a_share_have_their_own_interval():
    verdict = at_least(0)(Estimate(1, 0.5, 2))
    assert (verdict.statistic, verdict.low, verdict.high, verdict.seeds) == ("mean", 0.5, 2, None)
    assert at_least(0)(share_interval(3, 4)).statistic == "share"
    open_above = at_least(0)(Estimate(1, 0.5, inf))
    assert (open_above.low, open_above.high) == (0.5, None)


def test_a_rule_is_said_in_words_whatever_the_judge():
    judges = (
        at_least(1, by="every"),
        within(0, 1),
        increasing("x"),
        equal(0),
        stating(at_most(1, by="mean")),
        at_most(1, se=3),
    )
    assert [rule_of(judge) for judge in judges] == [
        "every seed", "95 % t interval over seeds", "the smallest step: 95 % t interval over seeds",
        "largest difference over all values", "mean over seeds", "3 standard errors to spare",
    ]  # fmt: skip
    assert rule_of(all_of(error=at_most(1), share=at_least(0, by="every"))) == (
        "error: 95 % t interval over seeds; share: every seed"
    )


def test_the_worst_seed_is_the_one_nearest_to_or_furthest_past_the_bound():
    assert at_most(10, by="every")(seeds(1, 9, 5)).measured == 9
    assert at_least(0, by="every")(seeds(1, 9, 5)).measured == 1
    assert within(0, 10, by="every")(seeds(3, 9, 5)).measured == 9
    assert within(0, 10, by="every")(seeds(-4, 12, 5)).measured == -4


@pytest.mark.parametrize("by", ["mean", "median", "every", "interval"])
def test_a_value_on_the_bound_meets_it_unless_the_judge_is_strict(by):
    touching = seeds(2, 2, 2)
    assert at_least(2, by=by)(touching).outcome == HOLDS
    assert at_most(2, by=by)(touching).outcome == HOLDS
    assert at_least(2, by=by, strict=True)(touching).outcome == FAILS
    assert at_most(2, by=by, strict=True)(touching).outcome == FAILS
    assert at_least(2, by=by, strict=True)(seeds(2.1, 2.1, 2.1)).outcome == HOLDS
    assert at_most(2, by=by, strict=True)(seeds(1.9, 1.9, 1.9)).outcome == HOLDS


def test_an_unknown_statistic_is_refused():
    for judge in (at_least, increasing):
        with pytest.raises(UserError, match="decides by 'mode'; allowed: interval, mean"):
            judge("x" if judge is increasing else 1, by="mode")


# Limits, estimates, standard errors


@pytest.mark.parametrize(
    "make", [lambda: within(2, 1), lambda: at_least(nan), lambda: at_most(nan), lambda: within(0, nan)]
)
def test_reversed_limits_and_limits_that_are_no_numbers_are_refused(make):
    with pytest.raises(UserError, match="limits"):
        make()


def test_a_range_by_label_and_a_missing_end():
    judge = within({"early": (0.9, 1.1), "late": (0.99, 1.01)})
    cells = table({"early": [1.05, 1.05, 1.05], "late": [1.0, 1.0, 1.0]}, "time")
    assert judge(cells).outcome == HOLDS
    assert judge(cells + 0.02).outcome == FAILS
    with pytest.raises(UserError, match="both ends"):
        within(1.0)
    with pytest.raises(UserError, match="limits"):
        within({"early": (1.1, 0.9)})


@pytest.mark.parametrize(("by", "outcome"), [("value", HOLDS), ("interval", INCONCLUSIVE)])
def test_an_estimate_is_decided_by_what_the_judge_names(by, outcome):
    slope = Estimate(2.0, 0.5, 3.5)
    for evidence in (slope, {"first": slope, "second": slope}):
        verdict = at_least(1.0, by=by)(evidence)
        assert (verdict.outcome, verdict.measured, verdict.low, verdict.high) == (outcome, 2.0, 0.5, 3.5)
    assert at_least(4.0, by=by)(slope).outcome == FAILS
    assert at_least(0.1, by=by)(slope).outcome == HOLDS
    with pytest.raises(AssertionError, match="interval or its value"):
        at_least(1.0, by="every")(slope)


def test_runs_of_several_seeds_have_no_single_value():
    with pytest.raises(AssertionError, match="no single value"):
        at_least(1.0, by="value")(NINE_TO_ELEVEN)


def uncertain(values: list[float], errors: list[float]) -> Uncertain:
    cells = {"cell": [f"c{i}" for i in range(len(values))]}
    return Uncertain(xr.DataArray(values, coords=cells), xr.DataArray(errors, coords=cells))


@pytest.mark.parametrize(
    ("judge", "values", "outcome"),
    [
        (at_most(0.5, se=3), [0.4, 0.529], HOLDS),
        (at_most(0.5, se=3), [0.4, 0.531], FAILS),
        (at_least(0.5, se=3), [0.471, 0.9], HOLDS),
        (at_least(0.5, se=3), [0.469, 0.9], FAILS),
        (within(0.4, 0.5, se=3), [0.371, 0.529], HOLDS),
        (within(0.4, 0.5, se=3), [0.45, 0.531], FAILS),
        (within(0.0, 0.0, se=3, floor=0.05), [0.049, -0.049], HOLDS),
        (within(0.0, 0.0, se=3, floor=0.05), [0.051, 0.0], FAILS),
        (at_most(0.5, se=3), [0.4, nan], INCONCLUSIVE),
    ],
)
def test_a_value_may_lie_beyond_a_limit_by_so_many_of_its_standard_errors(judge, values, outcome):
    verdict = judge(uncertain(values, [0.01, 0.01]))
    assert verdict.outcome == outcome
    if outcome != INCONCLUSIVE:
        assert verdict.measured in values
        assert verdict.low == pytest.approx(verdict.measured - 0.03)
        assert "standard errors of 0.01" in verdict.note


def test_a_criterion_in_standard_errors_needs_them():
    with pytest.raises(AssertionError, match="Uncertain"):
        at_most(0.5, se=3)(NINE_TO_ELEVEN)
    one = uncertain([0.4], [0.01])
    assert at_most(0.5, se=3)(Uncertain(one.value.assign_coords(seed=3), one.error)).outcome == HOLDS
    broken = at_most(0.5, se=3)(uncertain([0.4], [nan]))
    assert broken.outcome == INCONCLUSIVE


def test_a_judge_tells_its_level():
    assert level_of(at_least(0.8)) == (0.8, inf)
    assert level_of(stating(within(1, 2))) == (1, 2)
    assert level_of(all_of(total=at_most(3), order=increasing("x")), "total") == (-inf, 3)
    assert level_of(at_least({"shared": 0.03, "per_token": 0.1}), label="per_token") == (0.1, inf)
    assert level_of(within({"a": (1, 2)}), label="a") == (1, 2)
    with pytest.raises(TypeError, match="no level"):
        level_of(increasing("x"))


def test_words_of_the_evidence_stand_in_the_note() -> None:
    evidence = xr.DataArray([1.0, 2.0], dims="seed")
    plain, stated = at_least(0.5, "every")(evidence), stating(at_least(0.5, "every"))((evidence, "two seeds"))
    assert stated.note == f"{plain.note}; two seeds"
    assert (stated.outcome, stated.measured, stated.predicted) == (plain.outcome, plain.measured, plain.predicted)
    assert stating(at_least(3.0, "every"))((evidence, "")).outcome == "fails"
