"""Several criteria, absent and infinite values, and judges of several parts, at data made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judge_cases import NINE_TO_ELEVEN, inf, judged, nan, seeds, table

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE
from lemmata.lab.judges import (
    all_of,
    at_least,
    at_most,
    equal,
    increasing,
    within,
)

# Several criteria


def test_all_criteria_must_be_met_and_the_one_with_the_least_margin_is_reported():
    judge = at_least(10, by="mean")
    assert judge(table({"a": [20, 20], "b": [11, 11], "c": [30, 30]})).measured == 11
    failing = judge(table({"a": [20, 20], "b": [9, 9], "c": [1, 1]}))
    assert (failing.outcome, failing.measured) == (FAILS, 1)
    assert all(f"x={label}: mean" in failing.note for label in "abc")


def test_a_failing_criterion_is_reported_before_an_undecided_one_with_less_margin():
    verdict = at_least(10)(table({"wide": [-500, 20], "fails": [9.9, 9.9]}))
    assert (verdict.outcome, verdict.measured) == (FAILS, pytest.approx(9.9))


def test_an_undecided_criterion_leaves_the_whole_undecided():
    verdict = at_least(10)(table({"sure": [20, 20.1], "wide": [0, 40]}))
    assert (verdict.outcome, verdict.measured) == (INCONCLUSIVE, 20)


def test_where_only_all_failing_fails_a_mixture_is_inconclusive():
    judge = at_least(10, by="mean", fails_if="all")
    assert judge(table({"a": [20, 20], "b": [9, 9]})).outcome == INCONCLUSIVE
    assert judge(table({"a": [9, 9], "b": [8, 8]})).outcome == FAILS
    assert judge(table({"a": [20, 20], "b": [10, 10]})).outcome == HOLDS
    assert at_most(10, by="mean", fails_if="all")(table({"a": [20, 20], "b": [9, 9]})).outcome == INCONCLUSIVE


def test_every_dimension_but_the_seed_is_a_criterion():
    values = xr.DataArray(np.full((2, 3, 4), 5.0), dims=("x", "seed", "y"), coords={"x": [0.5, 1.0], "y": list("abcd")})
    values[1, :, 2] = 3
    verdict = at_least(4, by="mean")(values)
    assert (verdict.outcome, verdict.measured) == (FAILS, 3)
    assert "x=1, y=c: mean 3" in verdict.note
    assert verdict.note.count(";") == 7


def test_a_dimension_without_labels_is_counted():
    verdict = at_least(4, by="mean")(xr.DataArray([[5.0, 5], [3, 3]], dims=("x", "seed")))
    assert (verdict.outcome, verdict.measured) == (FAILS, 3)


def test_a_dimension_may_have_any_name():
    for dim in ("entry", "criterion", "stack"):
        verdict = at_least(4, by="every")(table({"a": [5, 5], "b": [3, 5]}, dim))
        assert (verdict.outcome, verdict.measured) == (FAILS, 3)
        assert f"{dim}=b: worst seed 3" in verdict.note
        assert at_least(3, by="every")(xr.DataArray([[5.0, 5], [3, 5]], dims=(dim, "seed"))).outcome == HOLDS


def test_a_single_labelled_criterion_keeps_its_label():
    verdict = at_least(4, by="mean")(table({"only": [5, 5]}))
    assert verdict.outcome == HOLDS
    assert verdict.note.startswith("x=only: mean 5")


def test_a_mapping_gives_every_label_its_own_bound():
    judge = at_least({"a": 10, "b": 100}, by="mean")
    assert judge(table({"a": [11, 11], "b": [101, 101]})).outcome == HOLDS
    verdict = judge(table({"a": [11, 11], "b": [50, 50]}))
    assert (verdict.outcome, verdict.predicted, verdict.measured) == (FAILS, 100, 50)
    verdict = at_most({"0.5": 1, "16": 2}, by="mean")(table({0.5: [3, 3], 16.0: [2, 2]}))
    assert (verdict.outcome, verdict.predicted, verdict.measured) == (FAILS, 1, 3)


def test_a_mapping_reads_labels_that_contain_an_equals_sign():
    judge = at_least({"N=4": 10, "N=8": 100}, by="mean")
    assert judge(table({"N=4": [11, 11], "N=8": [50, 50]})).outcome == FAILS


def test_a_label_without_a_bound_is_an_error_that_names_it():
    with pytest.raises(KeyError, match="c"):
        at_least({"a": 10}, by="mean")(table({"a": [1, 1], "c": [2, 2]}))


def test_the_relation_and_the_accepted_range_are_reported():
    verdict = within(8, 12, by="mean", predicted=10)(NINE_TO_ELEVEN)
    assert (verdict.relation, verdict.predicted, verdict.accept_low, verdict.accept_high) == ("in", 10, 8, 12)
    assert within(8, 12)(NINE_TO_ELEVEN).predicted is None
    verdict = at_least(8)(NINE_TO_ELEVEN)
    assert (verdict.relation, verdict.predicted, verdict.accept_low, verdict.accept_high) == (">=", 8, None, None)
    verdict = at_most(8)(NINE_TO_ELEVEN)
    assert (verdict.relation, verdict.predicted) == ("<=", 8)


def test_the_least_margin_of_a_range_is_to_its_nearer_end():
    verdict = within(10, 20, by="mean")(table({"low": [11, 11], "middle": [15, 15], "high": [19.5, 19.5]}))
    assert verdict.measured == 19.5


# Absent and infinite evidence


@pytest.mark.parametrize("by", ["interval", "mean", "median", "every"])
@pytest.mark.parametrize("bound", [0, 1000])
def test_evidence_with_a_nan_is_inconclusive(by, bound):
    for judge in (at_least(bound, by=by), at_most(bound, by=by), within(bound, bound + 1, by=by)):
        assert judge(seeds(9, nan, 11)).outcome == INCONCLUSIVE
    assert at_least(0, by=by)(nan).outcome == INCONCLUSIVE


def test_a_nan_in_one_criterion_does_not_hide_a_failing_one():
    judge = at_least(10, by="mean")
    assert judge(table({"a": [nan, 20], "b": [20, 20]})).outcome == INCONCLUSIVE
    assert judge(table({"a": [nan, 20], "b": [5, 5]})).outcome == FAILS


@pytest.mark.parametrize("by", ["mean", "median", "every"])
@pytest.mark.parametrize("strict", [False, True])
def test_never_is_larger_than_every_bound(by, strict):
    assert at_least(1e9, by=by, strict=strict)(seeds(inf, inf, inf)).outcome == HOLDS
    assert at_most(1e9, by=by, strict=strict)(seeds(inf, inf, inf)).outcome == FAILS
    assert at_least(1e9, by=by, strict=strict)(seeds(2e9, inf, 3e9)).outcome == HOLDS
    assert within(0, 1e9, by=by)(seeds(inf, inf, inf)).outcome == FAILS


def test_the_worst_seed_is_found_beside_seeds_that_never_arrive():
    assert at_least(5, by="every")(seeds(9, inf, 6)).measured == 6
    assert at_least(5, by="every")(seeds(9, inf, 4)).outcome == FAILS
    assert at_most(5, by="every")(seeds(1, inf, 2)).measured == inf


def test_a_value_that_is_never_reached_is_larger_than_every_bound():
    assert at_least(5, strict=True)(inf).outcome == HOLDS
    assert at_most(5, strict=True)(inf).outcome == FAILS


def test_an_interval_with_infinite_seeds_decides_nothing():
    assert at_least(5)(seeds(9, 9, inf)).outcome == INCONCLUSIVE


@pytest.mark.parametrize("by", ["interval", "mean", "median", "every"])
def test_no_seeds_at_all_are_inconclusive(by):
    assert judged(at_least(5, by=by), seeds()) == INCONCLUSIVE
    assert judged(at_most(5, by=by), seeds()) == INCONCLUSIVE


# Combinations


BOTH = all_of(size=at_least(10, by="mean"), spread=at_most(1))


def test_every_part_must_hold():
    assert BOTH({"size": seeds(20, 20), "spread": seeds(0.5, 0.5)}).outcome == HOLDS
    assert BOTH({"size": seeds(9, 9), "spread": seeds(0.5, 0.5)}).outcome == FAILS
    assert BOTH({"size": seeds(20, 20), "spread": seeds(2, 2)}).outcome == FAILS


def test_any_failing_part_fails_even_beside_an_inconclusive_one():
    assert BOTH({"size": seeds(9, 9), "spread": seeds(0, 5)}).outcome == FAILS
    assert BOTH({"size": seeds(20, 20), "spread": seeds(0, 5)}).outcome == INCONCLUSIVE
    assert BOTH({"size": seeds(nan, 20), "spread": seeds(0.5, 0.5)}).outcome == INCONCLUSIVE


def test_the_part_with_the_least_margin_is_reported_and_the_others_are_noted():
    verdict = BOTH({"size": seeds(20, 20), "spread": seeds(0.9, 0.9)})
    assert (verdict.relation, verdict.measured, verdict.predicted) == ("<=", pytest.approx(0.9), 1)
    assert verdict.note.startswith("size: mean 20")
    assert "; spread: mean 0.9" in verdict.note
    verdict = BOTH({"size": seeds(10.1, 10.1), "spread": seeds(0.5, 0.5)})
    assert (verdict.relation, verdict.measured) == (">=", pytest.approx(10.1))


def test_parts_may_be_of_any_kind():
    judge = all_of(order=increasing("x"), same=equal(0), size=within(0, 1, by="mean"))
    evidence = {
        "order": table({0: [1, 1, 1], 1: [2, 2, 2]}),
        "same": {"measured": 1.0, "predicted": 1.0},
        "size": seeds(0.5, 0.5),
    }
    assert judge(evidence).outcome == HOLDS
    assert judge(evidence | {"order": table({0: [2, 2, 2], 1: [1, 1, 1]})}).outcome == FAILS
    assert judge(evidence | {"same": {"measured": 1.0, "predicted": 2.0}}).outcome == FAILS
    assert judge(evidence | {"size": seeds(2, 2)}).outcome == FAILS
