"""Data sets made by hand for the tests of claims: one place changed, and the shape that an experiment leaves."""

import functools
from typing import Any

import xarray as xr

from lemmata.lab.grid import Grid, make_grid
from lemmata.theories import vit


def change(data: xr.Dataset, variable: str, value: Any, **where: Any) -> xr.Dataset:
    """A copy with one place of a variable set; labelled dimensions by label, the others by index."""
    data = data.copy(deep=True)
    index = tuple(
        slice(None) if dim not in where else data.get_index(dim).get_loc(where[dim]) if dim in data.coords
        else where[dim]
        for dim in data[variable].dims
    )  # fmt: skip
    data[variable].values[index] = value
    return data


def assert_shape_of(name: str, data: xr.Dataset) -> None:
    """The data have the dimensions, labels and seeds that this experiment leaves at `quick`."""
    experiment = vit.theory.experiments[name]
    quick, grid = experiment.preset("quick"), _grid(name)
    variables = {variable.name: variable for variable in experiment.simulation.variables}
    for variable, values in data.data_vars.items():
        assert values.dims == (*grid.labels, "seed", *variables[str(variable)].dims), variable
    labels = grid.labels | {dim: list(found) for dim, found in experiment.simulation.labels.items()}
    for dim in data.coords:
        assert dim == "seed" or data[dim].values.tolist() == labels[str(dim)]
    assert {*grid.labels, *(set(data.dims) & set(experiment.simulation.labels))} <= set(data.coords)
    assert data.sizes["seed"] == quick.seeds


@functools.cache
def _grid(name: str) -> Grid:
    quick = vit.theory.experiments[name].preset("quick")
    return make_grid(quick.setting, quick.axes)


def as_stored(name: str, data: xr.Dataset) -> xr.Dataset:
    """The data with the fields that the labels of its named axes set, which every stored data set carries."""
    for field, (axis, values) in _grid(name).fields().items():
        of = dict(zip(_grid(name).coordinates()[axis].tolist(), values.tolist(), strict=True))
        if axis in data.dims and set(data[axis].values.tolist()) <= set(of):
            data = data.assign_coords({field: (axis, [of[label] for label in data[axis].values.tolist()])})
    return data
