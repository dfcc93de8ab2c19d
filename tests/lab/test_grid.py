"""Grids: axes become cells, every cell is validated before anything runs, labels become coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lemmata as lm
from lemmata.lab.grid import make_grid


class Fractions(lm.Setting):
    """Two fractions that may not exceed 1 together."""

    good: float = lm.number(0.4, "α", "good fraction", low=0, high=1)
    bad: float = lm.number(0.1, "β", "bad fraction", low=0, high=1)
    samples: int = lm.number(10, "N", "samples", low=1, integer=True)
    batch: int = lm.size(0, "B", "batch", low=0)
    loss: str = lm.choice("hinge", "loss", "hinge", "logistic")
    shuffle: bool = lm.flag(True, "shuffled")
    weights: Any = lm.array("W", "weights")

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.good + self.bad > 1 + 1e-12:
            yield f"good + bad = {self.good + self.bad:g} is not allowed: together they are at most 1."
        if "batch" in given and self.batch > self.samples:
            yield f"batch = {self.batch} is not allowed: it must not exceed samples = {self.samples}."


calls: list[tuple[float, int]] = []


@lm.simulation(lm.Variable("total", (), "", "sum of the fractions"), host=True)
def total(setting: Fractions, seed: int) -> dict[str, Any]:
    calls.append((setting.good, seed))
    return {"total": np.asarray(setting.good + setting.bad)}


def test_without_axes_there_is_one_cell():
    grid = make_grid(Fractions(), {})
    assert grid.shape == ()
    assert grid.cells == {(): Fractions()}
    assert grid.describe(()) == "the only cell"


def test_field_axes_give_the_full_product_in_order():
    grid = make_grid(Fractions(samples=7), {"good": [0.1, 0.2, 0.3], "loss": ["hinge", "logistic"]})
    assert grid.shape == (3, 2)
    assert list(grid.cells) == [(i, j) for i in range(3) for j in range(2)]
    assert grid.cells[2, 1] == Fractions(samples=7, good=0.3, loss="logistic")
    assert grid.describe((2, 1)) == "good=0.3, loss=logistic"


def test_a_named_axis_sets_several_fields_at_once():
    grid = make_grid(Fractions(), {"split": {a: {"good": a, "bad": 1 - a} for a in (0.25, 0.75)}, "samples": [4, 8]})
    assert grid.cells[1, 0] == Fractions(good=0.75, bad=0.25, samples=4)
    assert grid.describe((1, 0)) == "split=0.75, samples=4"


def test_a_named_axis_may_bear_the_name_of_a_field_it_sets():
    grid = make_grid(Fractions(), {"samples": {4: {"samples": 4, "batch": 0}, 64: {"samples": 64, "batch": 16}}})
    assert [(cell.samples, cell.batch) for cell in grid.cells.values()] == [(4, 0), (64, 16)]


@given(
    st.lists(st.floats(0, 0.5), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True),
    st.permutations(["good", "samples"]),
)
def test_every_cell_holds_the_labels_of_its_place(fractions, counts, order):
    axes = {name: {"good": fractions, "samples": counts}[name] for name in order}
    grid = make_grid(Fractions(), axes)
    assert len(grid.cells) == len(fractions) * len(counts)
    for place, cell in grid.cells.items():
        labels = {name: axes[name][i] for name, i in zip(order, place, strict=True)}
        assert (cell.good, cell.samples) == (labels["good"], labels["samples"])


def test_an_invalid_cell_in_the_far_corner_is_refused_before_anything_runs():
    calls.clear()
    axes = {"good": [0.1, 0.5, 0.9], "bad": [0.05, 0.1, 0.2]}
    with pytest.raises(lm.UserError, match=r"good \+ bad = 1\.1 is not allowed"):
        lm.sweep(total, Fractions(), axes, seeds=2)
    assert calls == []
    lm.sweep(total, Fractions(), axes | {"bad": [0.05, 0.1]}, seeds=2)
    assert calls


def test_cross_field_rules_see_what_the_axes_set():
    assert make_grid(Fractions(samples=64, batch=32), {"samples": [8, 64]}).cells[0,].batch == 32
    with pytest.raises(lm.UserError, match="batch = 32 is not allowed"):
        make_grid(Fractions(), {"batch": [0, 32]})


def test_two_axes_may_not_set_one_field():
    with pytest.raises(lm.UserError, match=r"^Two axes set the field good\.$"):
        make_grid(Fractions(), {"good": [0.1], "split": {"a": {"bad": 0.1, "good": 0.2}}})


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"godo": [0.1]}, "There is no field 'godo'; did you mean 'good'?"),
        ({"split": {"a": {"godo": 0.1}}}, "There is no field 'godo'; did you mean 'good'?"),
        ({"good": []}, "The axis good has no values."),
        ({"split": {}}, "The axis split has no values."),
        ({"weights": [1, 2]}, "weights is an array and cannot be an axis."),
        ({"samples": [2, 2.5]}, "samples = 2.5 is not allowed: samples (samples) is an integer at least 1."),
    ],
)
def test_a_bad_axis_is_refused_with_a_sentence(axes, said):
    with pytest.raises(lm.UserError) as caught:
        make_grid(Fractions(), axes)
    assert str(caught.value) == said


def test_coordinates_are_numbers_where_all_labels_are_and_strings_elsewhere():
    axes = {
        "good": [0.1, 0.25], "samples": [4, 16], "loss": ["logistic", "hinge"], "shuffle": [False, True],
        "run": {"plain": {"bad": 0.0}, 0.5: {"bad": 0.5}},
    }  # fmt: skip
    coordinates = make_grid(Fractions(), axes).coordinates()
    assert {name: values.dtype.kind for name, values in coordinates.items()} == {
        "good": "f", "samples": "f", "loss": "U", "shuffle": "U", "run": "U",
    }  # fmt: skip
    assert coordinates["good"].tolist() == [0.1, 0.25]
    assert coordinates["samples"].tolist() == [4, 16]
    assert coordinates["loss"].tolist() == ["logistic", "hinge"]
    assert coordinates["shuffle"].tolist() == ["false", "true"]
    assert coordinates["run"].tolist() == ["plain", "0.5"]


@pytest.mark.parametrize("values", [np.arange(2, 5), np.linspace(2, 4, 3), np.asarray([2, 3, 4], np.float32)])
def test_an_axis_of_numpy_values_has_numeric_coordinates(values):
    grid = make_grid(Fractions(), {"samples": values})
    assert [cell.samples for cell in grid.cells.values()] == [2, 3, 4]
    np.testing.assert_array_equal(grid.coordinates()["samples"], [2.0, 3.0, 4.0])


def test_the_data_set_of_a_sweep_is_selected_by_its_labels():
    data = lm.sweep(total, Fractions(), {"good": [0.1, 0.3], "run": {"a": {"bad": 0.5}, "b": {"bad": 0.6}}}, seeds=2)
    assert data.total.dims == ("good", "run", "seed")
    np.testing.assert_allclose(data.total.sel(good=0.3, run="b"), 0.9, rtol=1e-6)
    np.testing.assert_allclose(data.total.sel(good=0.1, run="a"), 0.6, rtol=1e-6)
