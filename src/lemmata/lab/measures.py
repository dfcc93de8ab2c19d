"""What evidence and figures of any theory read off labelled data: cells, moments, exponents, ratios, other laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from lemmata.lab.claims import NotApplicable
from lemmata.lab.fits import put_on_law

Data = TypeVar("Data", xr.Dataset, xr.DataArray)

CENTRES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "geometric": lambda seeds: np.exp(np.log(seeds).mean(0)),
    "median": lambda seeds: np.median(seeds, 0),
    "rms": lambda seeds: np.sqrt(np.mean(seeds**2, 0)),
}
"""How the seeds of a cell are summed up: geometric mean, median, root mean square."""


def cells(data: Data, **where: Any) -> Data:
    """The cells with these labels, or with these values of a field that a named axis sets.

        lm.cells(data, attention="trained", samples=[16, 32])

    One label of an axis drops that axis, a list keeps it. A preset that lacks a label leaves nothing to decide.
    """
    for name, wanted in where.items():
        labels = np.asarray(data[name])
        axis = str(data[name].dims[0])
        single = np.ndim(wanted) == 0
        chosen = np.flatnonzero(np.isin(labels, wanted))
        if set(np.atleast_1d(wanted).tolist()) - set(labels[chosen].tolist()):
            raise NotApplicable(f"not in this preset: {name} = {', '.join(map(str, np.atleast_1d(wanted)))}")
        if axis == name:  # in the order that was asked for
            data = data.sel({name: wanted if single else list(wanted)}, drop=single)
        else:
            data = data.isel({axis: chosen})
    return data


def at_end(values: xr.DataArray, step: xr.DataArray | None = None) -> xr.DataArray:
    """The value at the last used record of every run.

        lm.at_end(data.train_loss)
        lm.at_end(data.error / data.norm, data.step)

    `step`: the clock of the runs, which says where each has ended; a value that is absent there is absent. Without it
    the last record that has a value counts. That is the same for what a training records, since a run whose recorded
    value is no longer a number ends there; not for what evidence computes and for what is declared optional.
    """
    used = values if step is None else step
    numbers = xr.DataArray(np.arange(values.sizes["record"]), dims="record")
    return values.isel(record=numbers.where(used.notnull(), 0).max("record").astype(int))


def at(values: xr.DataArray, clock: xr.DataArray, moment: float) -> xr.DataArray:
    """The value at the record at which the clock (a step, η t, a multiple of T*) shows this moment, in every run.

    lm.at(data.train_loss, data.step, 100)
    """
    off = abs(clock - moment).fillna(np.inf)
    if not bool((off.min("record") <= 1e-3 * max(abs(moment), 1e-9)).all()):
        raise NotApplicable(f"no record at {clock.name or 'time'} = {moment:g} in some run")
    return values.isel(record=off.argmin("record")).drop_vars("record", errors="ignore")


def log_slopes(
    values: xr.DataArray, along: str, x: xr.DataArray | None = None, where: xr.DataArray | None = None
) -> xr.DataArray:
    """The exponent of `values` in `x` (the coordinate `along` if not given), one per seed: least squares on logarithms.

        lm.log_slopes(data.reached_step, "step_size")

    `where` chooses places along the dimension. A seed with a value there that is not positive and finite (never
    reached) has none: NaN.
    """
    x = values[along] if x is None else x
    used: xr.DataArray = xr.ones_like(values, bool) if where is None else where
    usable: xr.DataArray = np.isfinite(values) & (values > 0)  # pyright: ignore[reportAssignmentType]
    logs: xr.DataArray = np.log(values.where(used & usable))  # pyright: ignore[reportAssignmentType]
    places: xr.DataArray = np.log(x.where(used & (x > 0)))  # pyright: ignore[reportAssignmentType]
    centred = places - places.mean(along)
    return ((centred * logs).sum(along) / (centred**2).sum(along)).where((usable | ~used).all(along))


def log_slope(values: xr.DataArray, along: str, centre: str = "geometric") -> float:
    """The exponent in `along` of the geometric mean, the median or the root mean square over seeds.

    lm.log_slope(data.reached_step, "step_size")
    """
    with np.errstate(divide="ignore"):
        y = CENTRES[centre](values.transpose("seed", along).values)
    if not np.all(np.isfinite(y) & (y > 0)):
        raise NotApplicable("no exponent: a value is not positive and finite")
    return float(np.polyfit(np.log(values[along].values), np.log(y), 1)[0])


def ratio_of_means(above: xr.DataArray, below: xr.DataArray) -> xr.DataArray:
    """One value per seed whose mean is exactly mean(above) / mean(below), with its linearised spread.

    lm.ratio_of_means(data.test_error, data.untrained_test_error)
    """
    ratio = above.mean("seed") / below.mean("seed")
    return ratio + (above - ratio * below) / below.mean("seed")


def on_law(values: xr.DataArray, along: str, exponent: float) -> xr.DataArray:
    """Residuals put on a law: the fitted power of `along` divided out and the given one multiplied in.

    lm.on_law(data.reached_step, "step_size", -1.0)
    """
    ordered = values.transpose("seed", along)
    return ordered.copy(data=put_on_law(ordered[along].values, ordered.values, exponent))


def stack(parts: Mapping[str, xr.DataArray], dim: str) -> xr.DataArray:
    """Several criteria along one named dimension.

    lm.stack({"seen": data.seen_error, "unseen": data.unseen_error}, "tasks")
    """
    return xr.concat(list(parts.values()), dim, coords="minimal", compat="override").assign_coords({dim: list(parts)})
