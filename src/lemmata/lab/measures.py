"""What evidence and figures of any theory read off labelled data: end values, exponents, ratios, other laws."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lemmata.lab.fits import put_on_law


def at_end(values: xr.DataArray) -> xr.DataArray:
    """The value at the last used record of every run."""
    return values.isel(record=values.notnull().sum("record") - 1)


def log_slopes(values: xr.DataArray, along: str) -> xr.DataArray:
    """The exponent of `values` in the coordinate `along`, one per seed: least squares on logarithms.

    A seed with a value that is not positive and finite (never reached) has none: NaN.
    """
    logs = np.log(values.where(np.isfinite(values) & (values > 0)))
    x = np.log(values[along])
    centred = x - x.mean()
    return (centred * logs).sum(along, skipna=False) / (centred**2).sum()


def ratio_of_means(above: xr.DataArray, below: xr.DataArray) -> xr.DataArray:
    """One value per seed whose mean is exactly mean(above) / mean(below), with its linearised spread."""
    ratio = above.mean("seed") / below.mean("seed")
    return ratio + (above - ratio * below) / below.mean("seed")


def on_law(values: xr.DataArray, along: str, exponent: float) -> xr.DataArray:
    """Residuals put on a law: the fitted power of `along` divided out and the given one multiplied in."""
    ordered = values.transpose("seed", along)
    return ordered.copy(data=put_on_law(ordered[along].values, ordered.values, exponent))


def stack(parts: dict[str, xr.DataArray], dim: str) -> xr.DataArray:
    """Several criteria along one named dimension."""
    return xr.concat(list(parts.values()), dim, coords="minimal", compat="override").assign_coords({dim: list(parts)})
