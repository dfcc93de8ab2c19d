"""The figures, by topic; here what the topics share: names of activations, the clock T/T*, exponents in T."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.measures import multiples, task_of, window_of

IN_TIME = "time $T/T^*$"
EXCESS = r"excess loss $\mathcal{L}-\mathcal{L}_{opt}$"


def named(data: xr.Dataset) -> xr.Dataset:
    """The data along `activation`, the names of identity, leaky ReLU and ReLU, instead of κ."""
    names = {1.0: "identity", 0.0: "ReLU"}
    words = [names.get(kappa, f"leaky, $\\kappa$ = {kappa:g}") for kappa in data.negative_slope.values.tolist()]
    return data.assign_coords(activation=("negative_slope", words)).swap_dims(negative_slope="activation")


def loglog(ax: Axes) -> None:
    draw.log_x(ax)
    draw.log_y(ax)


def clock(data: xr.Dataset) -> xr.DataArray:
    """t/T* at every record after the start."""
    return draw.positive(multiples(data))


def plain_task(cell: xr.Dataset) -> Task:
    """The reduced problem of one run, of the first seed, as plain numbers."""
    first = cell.isel(seed=0) if "seed" in cell.dims else cell
    return Task(*(float(field) for field in task_of(first)[:5]))


def exponents(values: xr.DataArray, data: xr.Dataset, low: float = 1e2, high: float = 1e4) -> str:
    """The exponents in T over [low, high] T* of all runs, from the largest to the least; nothing without any."""
    slopes = lm.log_slopes(values, "record", data.step, window_of(data, low, high)).values
    slopes = slopes[np.isfinite(slopes)]
    ends = [draw.signed(end) for end in (slopes.max(), slopes.min())] if slopes.size else []
    return " to ".join(dict.fromkeys(ends))
