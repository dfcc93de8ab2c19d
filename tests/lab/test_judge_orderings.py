"""Judges of orderings and of equal paths, at data made by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE, NotApplicable
from lemmata.lab.intervals import mean_interval
from lemmata.lab.judges import decreasing, equal, increasing

inf, nan = math.inf, math.nan


def seeds(*values: float) -> xr.DataArray:
    """One criterion, one value per seed."""
    return xr.DataArray(list(values), dims="seed")


def judged(judge: Any, evidence: Any) -> str:
    """The outcome, where evidence that cannot be taken is inconclusive."""
    try:
        return judge(evidence).outcome
    except NotApplicable:
        return INCONCLUSIVE


# Orderings


def path(*cells: Any) -> xr.DataArray:
    """Cells along x, each a list of seeds or one value for all three."""
    rows = [cell if isinstance(cell, list) else [cell] * 3 for cell in cells]
    return xr.DataArray(rows, dims=("x", "seed"), coords={"x": np.arange(len(rows)) * 1.0}).transpose("seed", "x")


@pytest.mark.parametrize("by", ["mean", "median", "every", "interval"])
def test_rising_and_falling_are_told_apart(by):
    rising, falling, bent = path(1, 2, 4), path(4, 2, 1), path(1, 3, 2)
    assert increasing("x", by=by)(rising).outcome == HOLDS
    assert increasing("x", by=by)(falling).outcome == FAILS
    assert increasing("x", by=by)(bent).outcome == FAILS
    assert decreasing("x", by=by)(falling).outcome == HOLDS
    assert decreasing("x", by=by)(rising).outcome == FAILS
    assert decreasing("x", by=by)(bent).outcome == FAILS


@pytest.mark.parametrize("by", ["mean", "median", "every", "interval"])
def test_a_flat_step_neither_rises_nor_falls_unless_there_is_slack(by):
    flat = path(1, 2, 2)
    assert increasing("x", by=by)(flat).outcome == FAILS
    assert increasing("x", by=by, slack=0.0)(flat).outcome == HOLDS
    assert decreasing("x", by=by)(path(2, 1, 1)).outcome == FAILS
    assert decreasing("x", by=by, slack=0.0)(path(2, 1, 1)).outcome == HOLDS


@pytest.mark.parametrize("by", ["mean", "median", "every"])
def test_a_step_back_is_forgiven_up_to_the_slack(by):
    assert increasing("x", by=by, slack=0.5)(path(1, 3, 2.5)).outcome == HOLDS
    assert increasing("x", by=by, slack=0.5)(path(1, 3, 2.4)).outcome == FAILS
    assert decreasing("x", by=by, slack=0.5)(path(3, 1, 1.5)).outcome == HOLDS
    assert decreasing("x", by=by, slack=0.5)(path(3, 1, 1.6)).outcome == FAILS


def test_who_decides_an_ordering():
    # steps of the seeds: 1, 1, -0.5; of the medians: 2 - 1
    values = path([0, 1, 3], [1, 2, 2.5])
    assert increasing("x", by="mean")(values).outcome == HOLDS
    assert increasing("x", by="median")(values).outcome == HOLDS
    assert increasing("x", by="every")(values).outcome == FAILS
    assert increasing("x", by="interval")(values).outcome == INCONCLUSIVE
    # every seed but one rises by 1; the medians are 2 and 1
    crossed = path([0, 1.9, 2, 2, 5], [1, 1, 1, 3, 6])
    assert increasing("x", by="mean")(crossed).outcome == HOLDS
    assert increasing("x", by="median")(crossed).outcome == FAILS


def test_the_smallest_step_is_reported_with_its_sign_and_interval():
    verdict = increasing("x")(path([0, 1, 2], [10, 12, 14], [11, 13, 15]))
    assert (verdict.relation, verdict.measured, verdict.predicted) == ("increasing", 1, 0)
    verdict = decreasing("x", slack=0.25)(path([20, 21, 22], [10, 12, 14], [9, 10, 14]))
    assert (verdict.relation, verdict.measured, verdict.predicted) == ("decreasing", -1, 0.25)
    interval = mean_interval([-1, -2, 0])
    assert (verdict.low, verdict.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert "21, 12, 11" in verdict.note


def test_an_ordering_must_hold_in_every_other_cell():
    both = xr.concat([path(1, 2, 3), path(1, 3, 2)], xr.Variable("mode", ["plain", "bent"]))
    assert increasing("x")(both).outcome == FAILS
    assert increasing("x")(both.isel(mode=[0, 0])).outcome == HOLDS


@pytest.mark.parametrize("by", ["mean", "median", "every", "interval"])
def test_an_ordering_without_seeds_decides_by_its_values(by):
    values = xr.DataArray([1.0, 2, 3], dims="x", coords={"x": [1, 2, 3]})
    assert increasing("x", by=by)(values).outcome == HOLDS
    assert decreasing("x", by=by)(values).outcome == FAILS


@pytest.mark.parametrize("by", ["mean", "median", "every", "interval"])
def test_an_ordering_with_a_nan_is_inconclusive(by):
    assert increasing("x", by=by)(path(1, [2, nan, 2], 3)).outcome == INCONCLUSIVE
    assert decreasing("x", by=by)(path(3, [2, nan, 2], 1)).outcome == INCONCLUSIVE


@pytest.mark.parametrize("by", ["mean", "median", "every"])
def test_never_reached_orders_as_the_largest(by):
    assert increasing("x", by=by)(path(1, 2, inf)).outcome == HOLDS
    assert increasing("x", by=by)(path(1, inf, 2)).outcome == FAILS
    assert decreasing("x", by=by)(path(inf, 2, 1)).outcome == HOLDS
    assert decreasing("x", by=by)(path(2, inf, 1)).outcome == FAILS


@pytest.mark.parametrize("by", ["mean", "median", "every"])
def test_two_cells_that_never_arrive_are_equal(by):
    assert increasing("x", by=by, slack=0.0)(path(1, inf, inf)).outcome == HOLDS
    assert increasing("x", by=by)(path(1, inf, inf)).outcome == FAILS
    assert decreasing("x", by=by, slack=0.0)(path(inf, inf, 1)).outcome == HOLDS


def test_an_ordering_of_a_single_cell_is_inconclusive():
    assert judged(increasing("x"), path(1)) == INCONCLUSIVE


# Equal paths


def test_two_paths_agree_within_the_absolute_tolerance():
    assert equal(0.1)({"measured": [1.0, 2.05], "predicted": [1.0, 2.0]}).outcome == HOLDS
    verdict = equal(0.1)({"measured": [1.0, 2.2, 3.0], "predicted": [1.05, 2.0, 3.0]})
    assert (verdict.outcome, verdict.relation, verdict.measured) == (FAILS, "==", pytest.approx(0.2))
    assert (verdict.predicted, verdict.accept_high, verdict.low, verdict.high) == (0, 0.1, None, None)
    assert verdict.statistic == "largest difference"
    assert "there 2.2 and 2" in verdict.note


def test_two_paths_agree_within_the_relative_tolerance():
    assert equal(0.1, relative=True)({"measured": [105.0, -1.05], "predicted": [100.0, -1.0]}).outcome == HOLDS
    assert equal(0.1, relative=True)({"measured": [100.0, 1.2], "predicted": [100.0, 1.0]}).outcome == FAILS
    assert equal(0.1, relative=True)({"measured": [1e-9], "predicted": [0.0]}).outcome == FAILS
    assert equal(0.1, relative=True)({"measured": [0.0, 1.0], "predicted": [0.0, 1.0]}).outcome == HOLDS


def test_zero_tolerance_means_to_the_bit():
    value = 0.1 + 0.2
    assert equal(0)({"measured": value, "predicted": value}).outcome == HOLDS
    assert equal(0)({"measured": value, "predicted": 0.3}).outcome == FAILS


def test_a_prediction_is_compared_with_every_measurement():
    assert equal(0)({"measured": xr.DataArray([[1.0, 1.0], [1.0, 2.0]]), "predicted": 1.0}).outcome == FAILS
    assert equal(0)({"measured": xr.DataArray([[1.0, 1.0], [1.0, 1.0]]), "predicted": 1.0}).outcome == HOLDS


def test_two_paths_that_never_arrive_agree():
    for relative in (False, True):
        assert equal(0, relative=relative)({"measured": [1.0, inf], "predicted": [1.0, inf]}).outcome == HOLDS
        assert equal(1, relative=relative)({"measured": [1.0, inf], "predicted": [1.0, 5.0]}).outcome == FAILS
        assert equal(1, relative=relative)({"measured": [1.0, 5.0], "predicted": [1.0, inf]}).outcome == FAILS


def test_a_path_that_was_not_measured_agrees_with_nothing_and_refutes_nothing():
    assert judged(equal(1), {"measured": [1.0, nan], "predicted": [1.0, 1.0]}) == INCONCLUSIVE
    assert judged(equal(1), {"measured": [1.0, 1.0], "predicted": [nan, 1.0]}) == INCONCLUSIVE
    with pytest.raises(NotApplicable, match="nothing to compare"):
        equal(1)({"measured": [], "predicted": []})
