"""What claims and figures of this theory read off the data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Evidence, NotApplicable
from lemmata.lab.measures import stack

CONFUSION = 0.05
"""ε_S of the default graph."""
SUCCESS = 1e-3
"""Full loss below which a run of a success map counts."""


def at_time(data: xr.Dataset, values: xr.DataArray, time: float) -> xr.DataArray:
    """The values at the record with this η t, in every run."""
    here = abs(data.time - time) < 1e-3 * max(time, 1.0)
    if not here.any("record").all():
        raise NotApplicable(f"no record at η t = {time:g} in some run")
    return values.where(here).max("record")


def up_to(data: xr.Dataset, values: xr.DataArray, time: float) -> xr.DataArray:
    """The values at records up to this η t, NaN elsewhere."""
    return values.where(data.time <= time * (1 + 1e-6))


def in_records(data: xr.Dataset, steps: xr.DataArray) -> xr.DataArray:
    """Steps as numbers of records, whose distance depends on the preset."""
    return steps / (data.step.isel(record=1) - data.step.isel(record=0))


def lead(encoding: xr.DataArray, bin: xr.DataArray | int, bins: xr.DataArray) -> xr.DataArray:
    """b at one bin less the largest b at any other bin z >= 1 of the Z that there are."""
    z = xr.DataArray(np.arange(encoding.sizes["bin"]), dims="bin")
    other = encoding.where((z >= 1) & (z < bins) & (z != bin)).max("bin")
    return encoding.where(z == bin).max("bin") - other


def largest_bin(margins: xr.DataArray, bins: xr.DataArray) -> xr.DataArray:
    """The bin z >= 1 with the largest margin."""
    z = xr.DataArray(np.arange(margins.sizes["bin"]), dims="bin")
    return margins.where((z >= 1) & (z < bins), -np.inf).argmax("bin")


def early_agreement(data: xr.Dataset, margins: xr.DataArray) -> xr.DataArray:
    """Share of bins, among those that are reached and whose margin exceeds 20 % of the largest, in which b has the
    margin's sign at the last record with training loss above .9."""
    early = (data.train_loss > 0.9).values
    if not early.any(axis=-1).all():
        raise NotApplicable("no record with training loss above .9 in some run")
    last = xr.DataArray(early.shape[-1] - 1 - early[..., ::-1].argmax(axis=-1), dims=data.train_loss.dims[:-1])
    encoding = data.distance_bias.isel(record=last)
    z = xr.DataArray(np.arange(margins.sizes["bin"]), dims="bin")
    reached = margins.where((data.reached_bins > 0) & (z >= 1), 0.0)
    asked = abs(reached) > 0.2 * abs(reached).max("bin")
    return (asked & (np.sign(encoding) == np.sign(margins))).sum("bin") / asked.sum("bin")


def minimal_counts(success: xr.DataArray) -> xr.DataArray:
    """The smallest labelled count from which on at least half of the runs succeed; inf: none. (labelled ascending.)"""
    enough = success.mean("seed") >= 0.5
    onwards = enough.isel(labelled=slice(None, None, -1)).astype(int).cumprod("labelled")
    return (
        enough.labelled.astype(float)
        .where(onwards.isel(labelled=slice(None, None, -1)) > 0)
        .min("labelled")
        .fillna(np.inf)
    )


def by_count(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The cells of f36-gcn-samples, without the permuted one, over `discriminative` and `labelled`."""
    cells: dict[float, dict[int, xr.DataArray]] = {}
    for case in map(str, data.variant.values):
        parts = case.split(", ")
        if len(parts) == 2:
            cells.setdefault(float(parts[0]), {})[int(parts[1])] = values.sel(variant=case, drop=True)
    rows = [xr.concat(list(row.values()), "labelled").assign_coords(labelled=list(row)) for row in cells.values()]
    return xr.concat(rows, "discriminative").assign_coords(discriminative=list(cells))


def uncensored(times: xr.DataArray, along: str, cap: xr.DataArray) -> xr.DataArray:
    """First-passage times, the cap in the place of runs that did not arrive; refused for more than one such cell."""
    arrived = times < np.inf
    missing = int((~arrived).any("seed").sum())
    if missing > 1:
        raise NotApplicable(f"censored: runs of {missing} values of {along} did not arrive")
    return times.where(arrived, cap)


def straight_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and R² of the least-squares line; R² is 0 where y does not vary."""
    slope, intercept = np.polyfit(x, y, 1)
    total = float(np.sum((y - y.mean()) ** 2))
    rest = float(np.sum((y - slope * x - intercept) ** 2))
    return float(slope), 1 - rest / total if total > 0 else 0.0


def of(experiment: str, take: Callable[[xr.Dataset], Any], **cell: Any) -> Evidence:
    """What `take` makes of one cell of an experiment."""
    return lambda datasets: take(datasets[experiment].sel(cell, drop=True))


def value_at(experiment: str, name: str, time: float, **cell: Any) -> Evidence:
    """A variable at some η t, in one cell of an experiment."""
    return of(experiment, lambda data: at_time(data, data[name], time), **cell)


def each(evidences: dict[str, Evidence], dim: str) -> Evidence:
    """The evidence of several cells as criteria along one named dimension."""
    return lambda datasets: stack({name: take(datasets) for name, take in evidences.items()}, dim)
