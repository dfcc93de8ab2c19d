"""What the figures of this theory share: activations by name, plain reduced problems, exponents in words, late laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.measures import late_slope, task_of

STEP, EXCESS, SCORE = "training step $t$", r"excess loss $\mathcal{L}-\mathcal{L}_{opt}$", "score $p$ on the supports"
POINTS: dict[str, Any] = {"linestyle": "none", "markersize": 4, "markerfacecolor": "none", "spread": ""}
DASHED: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2, "spread": ""}
"""How the exact theory is drawn along training."""


def activations(data: xr.Dataset) -> xr.Dataset:
    """The data with the activations by name, a dimension `activation` in the place of κ."""
    names = [{1.0: "identity", 0.0: "ReLU"}.get(kappa, f"leaky, κ = {kappa:g}") for kappa in data.negative_slope.values]
    return data.assign_coords(activation=("negative_slope", names)).swap_dims(negative_slope="activation")


def scalar_task(cell: xr.Dataset) -> Task:
    """The reduced problem of one run as plain numbers; of the first seed if there are several."""
    first = cell.isel(seed=0) if "seed" in cell.dims else cell
    return Task(*(float(field) for field in task_of(first)[:5]))


def late_excess(data: xr.Dataset, first: float = 0.0) -> xr.DataArray:
    """The derived late law KD(D - K)/(4ηT) at every record from `first` T* on."""
    D, K = data.token_count, data.support_count
    time = data.step.where((data.step > 0) & (data.step >= first * data.escape_step))
    return K * D * (D - K) / (4 * data.eta * time)


def exponent_of(values: xr.DataArray, data: xr.Dataset, low: float = 1e2, high: float = 1e4) -> str:
    """The exponent in T over [low, high] T* in words, its range over cells and seeds; "none" if there is none."""
    try:
        slopes = late_slope(values, data, low, high).values.ravel()
    except lm.NotApplicable:
        return "none"
    if not np.isfinite(slopes).all():
        return "none"
    first, last = draw.signed(slopes.max()), draw.signed(slopes.min())
    return first if first == last else f"{first} to {last}"


def extent(values: Any) -> tuple[float, float] | None:
    """The least and the largest positive finite value; None without any."""
    flat = np.ravel(draw.positive(values))
    flat = flat[np.isfinite(flat)]
    return (float(flat.min()), float(flat.max())) if flat.size else None


def slope_beside(ax: Axes, x: Any, start: float, power: float, words: str, **style: Any) -> None:
    """A power law that begins at `start`: a slope to compare with."""
    x = np.asarray(x, float)
    draw.predicted(ax, start * (x / x[0]) ** power, words, x, **style)
