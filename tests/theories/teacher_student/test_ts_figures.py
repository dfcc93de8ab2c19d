"""The figures of teacher and student: no warnings, labels, and the predictions at the right values."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import lemmata as lm
from lemmata.lab.figures import NEVER
from lemmata.lab.grid import make_grid
from lemmata.theories.teacher_student.experiments import exact, online, transfer
from lemmata.theories.teacher_student.figures import common
from lemmata.theories.teacher_student.limit import escape_integral
from lemmata.theories.teacher_student.reduced import Task, at_score, quasi_scale

EXPERIMENTS = {e.name: e for e in (*exact.EXPERIMENTS, *online.EXPERIMENTS, *transfer.EXPERIMENTS)}
PANELS = {
    "p1-pattern": 4, "p3-along-run": 5, "p17-escape": 6, "t3-late": 6, "t3-dimension": 6, "c2-phases": 4,
    "c2-portrait": 1, "p1-temperature": 3, "exp-e1-blocks": 8, "exp-e2-curves": 10, "exp-e2-floor": 3, "t5-ood": 6,
}  # fmt: skip
"""Panels of a smoke preset."""
NAMES = list(PANELS)
CHEAP = ("c2-portrait", "c2-phases", "t3-late")
"""What is simulated here; the others have made-up numbers in the shape of their smoke preset."""
SIZES = {"record": 9, "key_token": 36, "query_token": 36}
ESCAPE, FITTED = 50.0, 5.0


def made_up(name: str) -> xr.Dataset:
    """Runs with the variables, axes and labels of a smoke preset and plausible numbers, without a simulation."""
    preset, simulation = EXPERIMENTS[name].preset("smoke"), EXPERIMENTS[name].simulation
    grid = make_grid(preset.setting, preset.axes)
    coordinates = {**grid.coordinates(), "seed": np.arange(2)}
    labels = {dim: np.asarray(values) for dim, values in simulation.labels.items()}
    sizes = {**SIZES, **{dim: len(v) for dim, v in labels.items()}}
    runs = [len(values) for values in coordinates.values()]
    rng = np.random.default_rng(0)
    data = xr.Dataset(
        {
            variable.name: (
                (*coordinates, *variable.dims),
                rng.uniform(0.05, 0.9, [*runs, *(sizes[dim] for dim in variable.dims)]),
            )
            for variable in simulation.variables
        },
        coords={**coordinates, **labels},
    )
    fields: dict[str, Callable[[Any], float]] = {
        "token_count": lambda s: s.tokens,
        "support_count": lambda s: s.support,
        "slope": lambda s: s.negative_slope,
        "eta": lambda s: s.step_size,
        "squared_norm": lambda s: s.strength or 4.0,
        "row_norms": lambda s: s.outputs,
        "separation": lambda s: (s.strength or 4.0) / (s.support * s.tokens**2),
    }
    for variable in fields.keys() & set(data):
        for cell, setting in grid.cells.items():
            data[variable].values[cell] = fields[variable](setting)
    steps = np.array([0, FITTED, ESCAPE, *(ESCAPE * 10.0 ** np.array([1, 2, 2.5, 3, 4])), np.nan])
    fixed = {
        "step": xr.DataArray(steps, dims="record"), "escape": ESCAPE, "fitted": FITTED, "diverged": 0.0, "floor": 0.05,
        "first_above": np.inf, "counted": 3.0, "worst_values": 1e-14, "worst_scores": 1e-14,
    }  # fmt: skip
    data = data.assign({key: 0 * data[key] + value for key, value in fixed.items() if key in data})
    late = data.step.where(data.step > 0, 1.0) if "step" in data else None
    for key, power in (("half_gap", -1.0), ("ood_excess", -0.5), ("ood_clean", -1.0), ("score_error", -0.5)):
        if key in data:
            data[key] = 0.5 * late**power
    if "score_map" in data:
        used = (data.key_token_range() if hasattr(data, "key_token_range") else np.arange(36)) < data.token_count
        row, column = (used.rename(dim) if hasattr(used, "rename") else used for dim in ("key_token", "query_token"))
        del row, column
        inside = xr.DataArray(np.arange(36), dims="key_token") < data.token_count
        inside = inside & (xr.DataArray(np.arange(36), dims="query_token") < data.token_count)
        support = xr.DataArray(np.eye(36), dims=("key_token", "query_token")) / data.support_count
        data["target_map"] = support.where(inside).transpose(*data.target_map.dims)
        data["score_map"] = (0.6 * support + 0.01).where(inside).transpose(*data.score_map.dims)
    return data
