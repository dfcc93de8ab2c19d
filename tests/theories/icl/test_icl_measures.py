"""What claims and figures read off the data: lengths, growth records, task sets, gates."""

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

import lemmata as lm
from lemmata.lab.claims import NotApplicable
from lemmata.theories.icl import measures
from lemmata.theories.icl.claims.testing import length_ratio
from lemmata.theories.icl.claims.training import of_the_cycle
from lemmata.theories.icl.measures import setting_of

inf, nan = float("inf"), float("nan")
STEPS = [0.0, 60, 100, 110, 120, 200, 300, nan]


def path(**records: Any) -> xr.Dataset:
    """Values along the records of one seed, or of several: one row each."""
    found = {name: np.atleast_2d(np.asarray(values, float)) for name, values in records.items()}
    count = max(len(values) for values in found.values())
    return xr.Dataset({name: (("seed", "record"), np.resize(v, (count, v.shape[1]))) for name, v in found.items()})


def curve(lengths: Any, values: Any) -> xr.DataArray:
    return xr.DataArray(np.asarray(values, float), dims="test_contexts", coords={"test_contexts": lengths})


def test_criteria_are_written_in_the_numbers_of_the_setting_that_the_data_are_of() -> None:
    default = setting_of(xr.Dataset())
    assert (default.initial_scale, default.pattern_norm, default.patterns, default.irrelevant) == (0.1, 3, 6, 24)
    assert (default.batch, default.fraction, default.test_fraction, default.neurons) == (120, 0.8, 0.8, 200)
    named = xr.Dataset(attrs={"setting": json.dumps({"batch": 24, "fraction": 0.5, "odr": {"shape": [3, 30]}})})
    assert (setting_of(named).batch, setting_of(named).fraction, setting_of(named).odr) == (24, 0.5, None)


def test_the_data_of_an_experiment_name_their_setting(smoke: Any) -> None:
    setting = setting_of(lm.run("icl/p1-default", preset="smoke", out=smoke("icl").folder))
    assert (setting.neurons, setting.batch, setting.irrelevant, setting.steps) == (16, 24, 6, 12)


# Lengths


def test_the_crossing_of_a_log_linear_curve_is_exact() -> None:
    lengths = np.array([1, 2, 3, 5, 10, 20, 40])
    for rate in (0.07, 0.3, 0.9):
        errors = curve(lengths, 0.8 * np.exp(-rate * lengths))
        assert float(measures.crossing(errors)) == pytest.approx(np.log(0.8 / 0.05) / rate, rel=1e-12)
        assert float(measures.crossing(errors, 0.2)) == pytest.approx(np.log(0.8 / 0.2) / rate, rel=1e-12)


def test_the_crossing_lies_between_the_last_length_above_and_the_first_at_or_below_the_level() -> None:
    assert float(measures.crossing(curve([5, 10, 20], [0.5, 0.05, 0.01]))) == pytest.approx(10)
    # half way in logarithms
    assert float(measures.crossing(curve([5, 10], [0.1, 0.025]))) == pytest.approx(7.5)
    # an error of 0 counts as one in a million
    assert float(measures.crossing(curve([10, 20], [0.5, 0.0]))) == pytest.approx(10 + 10 * np.log(10) / np.log(5e5))
    # what happens after the first passage does not matter
    assert float(measures.crossing(curve([5, 10, 20], [0.1, 0.025, 0.9]))) == pytest.approx(7.5)


def test_a_curve_that_never_falls_or_starts_below_the_level_has_no_crossing() -> None:
    errors = xr.concat([curve([1, 2], [0.5, 0.06]), curve([1, 2], [0.05, 0.01]), curve([1, 2], [0.5, 0.01])], "seed")
    found = measures.crossing(errors)
    assert found.dims == ("seed",)
    assert np.isnan(found.values[:2]).all()
    assert 1 < found.values[2] < 2


def contexts(budgets: Any, lengths: Any, hinge: Any) -> xr.Dataset:
    rows = np.asarray(hinge, float)
    scales = [0.2 if budget == "short" else 0.1 for budget in budgets]
    labels = [f"{budget}, {length}" for budget, length in zip(budgets, lengths, strict=True)]
    fields = {"variant": labels, "initial_scale": ("variant", scales), "contexts": ("variant", lengths)}
    return xr.Dataset({"last_watch_hinge": (("variant", "seed"), rows)}, fields)


def test_the_required_length_is_the_smallest_that_suffices_and_none_if_none_does() -> None:
    budgets, lengths = ["short", "short", "short", "long"], [1, 3, 12, 2]
    hinge = [[0.1, 0.9, 0.9, 0.2], [0.9, 0.19, 0.9, 0.2], [0.1, 0.1, 0.9, 0.2], [0.9, 0.9, 0.1, 0.1]]
    data = contexts(budgets, lengths, hinge)
    found = measures.required_length(data, "short")
    assert found.dims == ("seed",)
    assert found.values.tolist() == [1, 3, inf, inf]
    assert measures.required_length(data, "long").values.tolist() == [inf, inf, 2, 2]
    with pytest.raises(NotApplicable, match="not in this preset"):
        measures.required_length(data.isel(variant=slice(3)), "long")


def test_where_no_length_is_enough_one_more_than_the_longest_counts() -> None:
    rows = [[[0.9], [0.1]], [[0.9], [0.9]]]
    data = contexts(["short", "short"], [2, 6], np.zeros((2, 1))).drop_vars("last_watch_hinge")
    data = data.assign(last_watch_hinge=(("fraction", "variant", "seed"), rows), fraction=[0.8, 0.2])
    assert length_ratio.function(data).values.tolist() == [7 / 6]


def test_the_cells_of_one_budget_are_ordered_by_length() -> None:
    data = contexts(["short", "long", "short", "long"], [1, 1, 12, 4], [[1.0], [2.0], [3.0], [4.0]])
    found = measures.by_length(data.last_watch_hinge, "short")
    assert found.contexts.values.tolist() == [1, 12]
    assert found.values[:, 0].tolist() == [1, 3]
    assert measures.by_length(data.last_watch_hinge, "long").values[:, 0].tolist() == [2, 4]


def test_task_sets_are_found_by_the_number_of_tasks() -> None:
    sizes = [(m, n) for m in (4, 6, 10) for n in (m // 2, m - 1, m)] + [(6, 6), (6, 6)]

    def made(sizes: list[tuple[int, int]], tasks: list[str]) -> xr.Dataset:
        fields = {"patterns": [m for m, _ in sizes], "task_count": [n for _, n in sizes], "tasks": tasks}
        values = np.arange(2.0 * len(sizes)).reshape(-1, 2)
        coordinates = {name: ("task_set", list) for name, list in fields.items()}
        return xr.Dataset({"hinge": (("task_set", "seed"), values)}, {"task_set": range(len(sizes)), **coordinates})

    data = made(sizes, ["subsampled"] * 9 + ["swaps", "triangles"])
    for tasks, first in (("M_1/2", [0, 6, 12]), ("M_1 - 1", [2, 8, 14]), ("M_1", [4, 10, 16])):
        found = of_the_cycle.function(data, tasks, "hinge")
        assert found.dims == ("patterns", "seed")
        assert found.patterns.values.tolist() == [4, 6, 10]
        assert found.values[:, 0].tolist() == first
    # with M_1 = 4 tasks of 5 patterns n is M_1 - 1, not M_1
    odd = made([(5, 4), (4, 4)], ["subsampled"] * 2)
    assert of_the_cycle.function(odd, "M_1", "hinge").patterns.values.tolist() == [4]
    assert of_the_cycle.function(odd, "M_1 - 1", "hinge").patterns.values.tolist() == [5]


# Records


def test_training_is_done_at_the_first_record_below_a_fifth() -> None:
    hinge = [[1, 0.9, 0.2, 0.19, 0.3, 0.1, 0, nan], [1, 1, 1, 1, 1, 1, 0.2, nan]]
    found = measures.solved_step(path(step=STEPS, unseen_hinge_path=hinge))
    assert found.values.tolist() == [110, inf]


def growth(reached: float, active: Any) -> list[bool]:
    hinge = [0.1 if step >= reached else 1.0 for step in STEPS]
    data = path(step=STEPS, unseen_hinge_path=hinge, active_hinge=active)
    return measures.growth_records(data).values[0].tolist()


def test_growth_records_have_loss_on_half_of_the_prompts_and_are_late_enough() -> None:
    active = [1, 1, 1, 1, 1, 1, 1, nan]
    # T*/3 = 40: step 100 decides
    assert growth(120, active) == [False, False, True, True, True, True, True, False]
    # T*/3 = 100 exactly
    assert growth(300, active) == [False, False, True, True, True, True, True, False]
    half = [1, 1, 1, 0.5, 0.49, 1, 0, nan]
    assert growth(120, half) == [False, False, True, True, False, True, False, False]
    assert growth(1000, active) == [False] * 8


def test_a_late_end_of_training_moves_the_growth_records() -> None:
    steps = [0.0, 100, 150, 200, 360, 600]
    data = path(step=steps, unseen_hinge_path=[1, 1, 1, 1, 1, 0.1], active_hinge=np.ones(6))
    assert measures.growth_records(data).values[0].tolist() == [False, False, False, True, True, True]


def test_values_at_growth_records_need_one_in_every_seed() -> None:
    data = path(step=[0, 100, 200], unseen_hinge_path=[[1, 1, 0.1], [1, 0.1, 0.1]], active_hinge=[1, 1, 0])
    values = path(x=[[1, 2, 3], [4, 5, 6]]).x
    np.testing.assert_array_equal(measures.at_growth(data, values), [[nan, 2, nan], [nan, 5, nan]])
    late = path(step=[0, 100, 200], unseen_hinge_path=[[1, 1, 0.1], [1, 1, 1]], active_hinge=[1, 1, 0])
    with pytest.raises(NotApplicable, match="no growth record"):
        measures.at_growth(late, values)


def test_a_run_counts_as_trained_up_to_a_seen_hinge_of_five_hundredths() -> None:
    for hinge, passes in (([0.0, 0.05], True), ([0.0, 0.0501], False), ([0.0, nan], False)):
        # the runs of a control need not have learnt anything
        rows = xr.DataArray([hinge, [1.0, 1.0]], {"variant": ["intact", "frozen"]}, ["variant", "seed"])
        data = xr.Dataset({"seen_hinge": rows})
        if passes:
            measures.LEARNT.check(data)
        else:
            with pytest.raises(NotApplicable, match="not converged"):
                measures.LEARNT.check(data)


# Blocks of G


MATRIX = xr.DataArray(np.arange(16.0).reshape(4, 4), dims=("pattern", "other"))
PARTNER = xr.DataArray(
    np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], float), dims=("pattern", "other")
)


def test_own_entries_are_the_diagonal() -> None:
    assert measures.own_entries(MATRIX).values.tolist() == [0, 5, 10, 15]
    seeds = xr.concat([MATRIX, 2 * MATRIX], "seed")
    assert measures.own_entries(seeds).transpose("seed", "pattern").values.tolist() == [[0, 5, 10, 15], [0, 10, 20, 30]]


def test_the_other_entries_are_those_of_partners_or_of_strangers_and_never_the_diagonal() -> None:
    partners, strangers = (measures.other_entries(MATRIX, PARTNER, partners=flag) for flag in (True, False))
    assert partners.values[~np.isnan(partners.values)].tolist() == [1, 3, 4, 6, 9, 11, 12, 14]
    assert strangers.values[~np.isnan(strangers.values)].tolist() == [2, 7, 8, 13]
    assert float(strangers.mean(["pattern", "other"])) == 7.5
    assert float(partners.mean(["pattern", "other"])) == 7.5


def test_both_maps_stand_side_by_side() -> None:
    data = xr.Dataset({"query_patterns": MATRIX, "key_patterns": -MATRIX})
    found = measures.both_maps(data)
    np.testing.assert_array_equal(found.sel(map="query"), MATRIX)
    np.testing.assert_array_equal(found.sel(map="key"), -MATRIX)
