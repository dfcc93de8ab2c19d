"""What claims and figures of this theory read off the data sets: successes, thresholds, the step-size sweep."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.fits import Threshold, threshold
from lemmata.theories.vit.training import SMALL_LOSS


def success(data: xr.Dataset) -> xr.DataArray:
    """1 where the document calls a run a success: test hinge below 0.001."""
    return (data.test_hinge < SMALL_LOSS) * 1.0


def half_thresholds(data: xr.Dataset) -> dict[float, Threshold]:
    """N_50 for every relevant fraction."""
    rates = success(data).transpose("relevant_fraction", "seed", "samples")
    found = {}
    for alpha in data.relevant_fraction.values:
        found[float(alpha)] = threshold(data.samples.values, rates.sel(relevant_fraction=alpha).values)
    return found


def split_runs(data: xr.Dataset, variable: str) -> dict[str, xr.DataArray]:
    """The step-size sweep by output mode: mode -> values over (seed, step_size)."""
    found = {}
    names = [str(name) for name in data.run.values]
    for mode in dict.fromkeys(name.split()[0] for name in names):
        chosen = [name for name in names if name.split()[0] == mode]
        part = data[variable].sel(run=chosen).rename(run="step_size")
        found[mode] = part.assign_coords(step_size=[float(name.split()[1]) for name in chosen])
    return found
