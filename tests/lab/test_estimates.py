"""Judges on estimates by their value: it decides, and its interval is reported beside it."""

from __future__ import annotations

import functools
import math

import pytest

from lemmata.lab import judges
from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, NotApplicable
from lemmata.lab.intervals import Estimate

at_least, at_most, within = (
    functools.partial(judge, by="value") for judge in (judges.at_least, judges.at_most, judges.within)
)
SLOPE = Estimate(-0.5, -1.25, 0.25)
"""An interval so wide that it could never decide."""
UNKNOWN = Estimate(math.nan, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [
        (within(-0.55, -0.45), HOLDS),
        (within(-1.05, -0.95), FAILS),
        (at_most(-0.5), HOLDS),
        (at_most(-0.5, strict=True), FAILS),
        (at_most(-0.6), FAILS),
        (at_least(-0.5), HOLDS),
        (at_least(-0.5, strict=True), FAILS),
        (at_least(-0.4), FAILS),
    ],
)
def test_the_value_of_an_estimate_decides_and_its_interval_is_reported(judge, outcome):
    verdict = judge(SLOPE)
    assert verdict.outcome == outcome
    assert (verdict.measured, verdict.low, verdict.high) == (-0.5, -1.25, 0.25)
    assert "value -0.5 [-1.25, 0.25]" in verdict.note


def test_the_interval_of_an_estimate_does_not_decide():
    assert within(-0.55, -0.45)(Estimate(-0.4, -0.5, -0.5)).outcome == FAILS
    assert within(-0.55, -0.45)(Estimate(-0.5, 7.0, 8.0)).outcome == HOLDS


def test_an_estimate_of_nothing_is_inconclusive():
    for judge in (within(-1, 1), at_least(0), at_most(0)):
        verdict = judge(UNKNOWN)
        assert verdict.outcome == INCONCLUSIVE
        assert math.isnan(verdict.measured)
        assert "not measured" in verdict.note


def test_every_estimate_of_a_mapping_must_meet_the_condition():
    good, bad = Estimate(0.1, 0.0, 0.2), Estimate(0.3, 0.2, 0.4)
    both = at_most(0.2)({"first": good, "second": good})
    assert both.outcome == HOLDS
    verdict = at_most(0.2)({"first": good, "second": bad})
    assert verdict.outcome == FAILS
    # the one that fails is reported, and all are named
    assert (verdict.measured, verdict.low, verdict.high) == (0.3, 0.2, 0.4)
    assert "first: value 0.1" in verdict.note
    assert "second: value 0.3" in verdict.note


def test_one_estimate_that_is_not_known_makes_the_mapping_inconclusive_unless_another_fails():
    good, bad = Estimate(0.1, 0.0, 0.2), Estimate(0.3, 0.2, 0.4)
    assert at_most(0.2)({"a": good, "b": UNKNOWN}).outcome == INCONCLUSIVE
    assert at_most(0.2)({"a": UNKNOWN, "b": bad}).outcome == FAILS


def test_bounds_may_differ_by_label():
    evidence = {"narrow": Estimate(0.1, 0.0, 0.2), "wide": Estimate(0.9, 0.8, 1.0)}
    assert at_most({"narrow": 0.2, "wide": 1.0})(evidence).outcome == HOLDS
    assert at_most({"narrow": 1.0, "wide": 0.2})(evidence).outcome == FAILS
    with pytest.raises(KeyError, match="wide"):
        at_most({"narrow": 0.2})(evidence)


def test_only_the_failure_of_all_fails_where_that_is_asked():
    good, bad = Estimate(0.1, 0.0, 0.2), Estimate(0.3, 0.2, 0.4)
    judge = at_most(0.2, fails_if="all")
    assert judge({"a": good, "b": bad}).outcome == INCONCLUSIVE
    assert judge({"a": bad, "b": bad}).outcome == FAILS


def test_no_estimates_at_all_are_not_applicable():
    with pytest.raises(NotApplicable, match="nothing to compare"):
        at_most(0.2)({})
