"""Readings of labelled data: cells by label or field, moments, exponents."""

import numpy as np
import pytest
import xarray as xr

import lemmata as lm

DATA = xr.Dataset(
    {"loss": (("variant", "x", "seed"), np.arange(12.0).reshape(3, 2, 2))},
    coords={
        "variant": ["a", "b", "c"],
        "output": ("variant", ["one", "two", "one"]),
        "step_size": ("variant", [0.1, 0.2, 0.3]),
        "x": [1.0, 2.0],
    },
)


def test_cells_are_chosen_by_label_or_by_a_field_that_an_axis_sets() -> None:
    assert lm.cells(DATA, variant="b").loss.dims == ("x", "seed")
    assert lm.cells(DATA, variant=["c", "a"]).variant.values.tolist() == ["c", "a"]
    assert lm.cells(DATA, output="one").variant.values.tolist() == ["a", "c"]
    assert lm.cells(DATA, output="one", step_size=[0.3], x=2.0).loss.values.tolist() == [[10.0, 11.0]]
    swept = lm.cells(DATA, output="one").swap_dims(variant="step_size")
    assert swept.loss.sel(step_size=0.3, x=1.0).values.tolist() == [8.0, 9.0]


@pytest.mark.parametrize("where", [{"variant": "d"}, {"variant": ["a", "d"]}, {"output": "three"}, {"x": 3.0}])
def test_a_preset_without_a_cell_leaves_nothing_to_decide(where: dict) -> None:
    with pytest.raises(lm.NotApplicable, match="not in this preset"):
        lm.cells(DATA, **where)


PATH = xr.DataArray([[np.nan, 2.0, 3.0, np.nan], [1.0, 2.0, 5.0, 7.0]], dims=("seed", "record"))
STEPS = xr.DataArray([[0.0, 10, 20, np.nan], [0.0, 10, 20, 40]], dims=("seed", "record"), name="step")


def test_the_end_is_the_last_used_record_also_where_the_first_is_absent() -> None:
    assert lm.at_end(PATH).values.tolist() == [3.0, 7.0]


def test_a_value_that_is_lost_at_the_end_of_a_run_is_not_replaced_by_an_earlier_one() -> None:
    ratio = PATH.where(PATH != 7)
    assert lm.at_end(ratio).values.tolist() == [3.0, 5.0], "nothing says here that the run went on"
    ended = lm.at_end(ratio, STEPS)
    assert ended.values[0] == 3.0, "this one has stopped there"
    assert np.isnan(ended.values[1])


def test_a_moment_is_a_record_of_every_run() -> None:
    assert lm.at(PATH, STEPS, 20).values.tolist() == [3.0, 5.0]
    assert lm.at(PATH, STEPS, 0).values.tolist()[1] == 1.0
    for absent in (15, 40):
        with pytest.raises(lm.NotApplicable, match=f"no record at step = {absent}"):
            lm.at(PATH, STEPS, absent)


def test_exponents_are_slopes_of_logarithms() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0])
    values = xr.DataArray([3 * x**-2, 5 * x**0.5], dims=("seed", "x"), coords={"x": x})
    assert lm.log_slopes(values, "x").values == pytest.approx([-2.0, 0.5])
    bent = values.where(values.x != 8, 1e9)
    assert lm.log_slopes(bent, "x", where=bent.x < 8).values == pytest.approx([-2.0, 0.5])
    assert lm.log_slopes(values, "x", x=values.x**2).values == pytest.approx([-1.0, 0.25])
    assert np.isnan(lm.log_slopes(values.where(values.x != 8, np.inf), "x")).all()
    for centre in ("geometric", "median", "rms"):
        same = xr.DataArray([3 * x**-2] * 3, dims=("seed", "x"), coords={"x": x})
        assert lm.log_slope(same, "x", centre) == pytest.approx(-2.0)
    mixed = xr.DataArray([x, 9 * x**3], dims=("seed", "x"), coords={"x": x})
    assert lm.log_slope(mixed, "x", "geometric") == pytest.approx(2.0)
    with pytest.raises(lm.NotApplicable, match="no exponent"):
        lm.log_slope(values * 0, "x")
