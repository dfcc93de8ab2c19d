"""What several rooms of claims and figures read off the data sets of this theory."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.graph_transformer.setting import SUCCESS, Setting

GIVEN = ("confusion", "value_error", "discriminative")
CONFUSION, SIGMA, SHARE = (float(Setting.declaration(name).default) for name in GIVEN)
"""ε_S and γ_d of the default graph, σ of the default initial weights."""
SAMPLER_CONFUSION = 0.2
"""ε_S of the graph on which samplers are compared."""
LEARNED = 0.05
"""Sampled test loss that counts as learned."""
COMMON = {"step_size": 0.2, "label_noise": 0.0, "key_error": 0.2}
"""The cell that the three sweeps of p2-step share."""
above, below = partial(lm.at_least, by="every", strict=True), partial(lm.at_most, by="every", strict=True)
"""More, or less, than this in every seed."""
clearly_below = partial(lm.at_most, by="clear", strict=True)
CHANCE, SQUARE = lm.at_least(0.9, "clear"), lm.within(-2.2, -1.8, predicted=-2.0)
"""The loss of a network that has learnt nothing; the exponent -2."""


def up_to(values: xr.DataArray, clock: xr.DataArray, moment: float) -> xr.DataArray:
    """The values at records up to this moment of the clock, NaN elsewhere."""
    return values.where(clock <= moment * (1 + 1e-6))


def in_records(data: xr.Dataset, steps: xr.DataArray) -> xr.DataArray:
    """Steps as numbers of records, whose distance depends on the preset."""
    return steps / (data.step.isel(record=1) - data.step.isel(record=0))


def lead(encoding: xr.DataArray, bin: xr.DataArray | int, bins: xr.DataArray) -> xr.DataArray:
    """b at one bin less the largest b at any other bin z >= 1 of the Z that there are."""
    z = xr.DataArray(np.arange(encoding.sizes["bin"]), dims="bin")
    other = encoding.where((z >= 1) & (z < bins) & (z != bin)).max("bin")
    return encoding.where(z == bin).max("bin") - other


def rank_correlation(data: xr.Dataset) -> xr.DataArray:
    """Spearman's correlation of the early b with the count margins over the reached bins z >= 1, NaN without order."""

    def of_run(loss: np.ndarray, b: np.ndarray, margin: np.ndarray, reached: np.ndarray) -> float:
        known = (reached > 0) & (np.arange(len(margin)) >= 1)
        try:
            return lm.spearman(b[loss > 0.9][-1][known], margin[known])
        except (IndexError, lm.CannotFit):
            return np.nan

    given = (data.train_loss, data.distance_bias, data.count_margin, data.reached_bins)
    dims = [["record"], ["record", "bin"], ["bin"], ["bin"]]
    return xr.apply_ufunc(of_run, *given, input_core_dims=dims, vectorize=True)


def settled_time(data: xr.Dataset) -> xr.DataArray:
    """η t from which on b is largest at the same distance z >= 1."""
    largest = data.distance_bias.isel(bin=slice(1, None)).fillna(-np.inf).argmax("bin")
    stays = (largest == largest.isel(record=-1)).isel(record=slice(None, None, -1)).cumprod("record")
    return data.time.where(stays.isel(record=slice(None, None, -1)) > 0).min("record")


def small_leads(data: xr.Dataset) -> xr.DataArray:
    """b at the core distance less the largest other one at η t = 5: a power of 1 - 2 ε_0 by (B.24), (9.33)."""
    return lead(lm.at_end(up_to(data.distance_bias, data.time, 5)), data.core_distance, data.bins_used)


def approach(data: xr.Dataset, group: str, limit: float) -> xr.DataArray:
    """The exponent in t of how far the relevant mass is below its limit, from η t = 10 on: -1 by Lemma 3.4.5."""
    rest = limit - data.relevant_mass.sel(group=group, drop=True)
    return lm.log_slopes(rest, "record", x=data.time, where=(data.time >= 10) & (rest > 0))


def explained(x: np.ndarray, counts: np.ndarray) -> float:
    """R² of the line of the minimal counts that are on the grid against x; NaN for fewer than three."""
    known = np.isfinite(counts)
    return lm.line(x[known], counts[known]).r_squared if known.sum() > 2 else np.nan


def succeeds(loss: xr.DataArray) -> xr.DataArray:
    """1 where the full loss is below 1e-3."""
    return (loss < SUCCESS).astype(float)


def minimal_counts(success: xr.DataArray) -> xr.DataArray:
    """The smallest labelled count from which on at least half of the runs succeed; inf: none. (labelled ascending.)"""
    enough = success.mean("seed") >= 0.5
    onwards = enough.isel(labelled=slice(None, None, -1)).cumprod("labelled").isel(labelled=slice(None, None, -1))
    return enough.labelled.astype(float).where(onwards > 0).min("labelled").fillna(np.inf)


def by_count(values: xr.DataArray) -> xr.DataArray:
    """The intact cells of f36-gcn-samples over `discriminative` and `labelled`."""
    intact = lm.cells(values, defect="none").drop_vars("defect")
    return intact.set_index(variant=["discriminative", "labelled"]).unstack("variant")


def step_cells(data: xr.Dataset, along: str) -> xr.Dataset:
    """The cells of p2-step along one field, the others as in the common cell."""
    rest = {field: value for field, value in COMMON.items() if field != along}
    return lm.cells(data, **rest).swap_dims(variant=along).sortby(along)


def power_base(along: str, values: xr.DataArray) -> xr.DataArray:
    """What (3.8) has a power of: η, 1 - 2 ε_0 or 1 - δ."""
    return {"step_size": values, "label_noise": 1 - 2 * values, "key_error": 1 - values}[along]


@lm.evidence("p7-training")
def value_at(
    data: xr.Dataset, name: str, time: float | None = None, variant: Any = "intact", axis: str = "variant"
) -> xr.DataArray:
    """A variable in the cells of one label of an axis, at this η t; None: at the end of the run."""
    cell = lm.cells(data, **{axis: variant})
    if time is not None:
        return lm.at(cell[name], cell.time, time)
    return lm.at_end(cell[name]) if "record" in cell[name].dims else cell[name]
