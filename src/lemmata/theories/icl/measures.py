"""What claims and figures of this theory read off the data sets: gates, blocks of G, growth records, lengths, cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Datasets, Evidence, NotApplicable
from lemmata.theories.icl.setting import REACHED, Setting

TRAINED = 0.05
"""Seen hinge above which an intact run did not converge."""
ACTIVE, EARLY = 0.5, 100
"""Growth records have at least this share of prompts with loss, and are taken from this step and from T*/3 on."""
DEFAULT = Setting()
"""The setting whose numbers (δ, β, M_1, M_2, B, ...) the register's criteria are written in."""
NEVER = 13
"""The required training length where no length of the grid suffices (E.1)."""


def require_trained(hinge: xr.DataArray) -> None:
    """The convergence gate: refuse evidence of intact runs of which some did not learn the seen tasks."""
    if not (hinge <= TRAINED).all():
        raise NotApplicable(f"not converged: the seen hinge reaches {float(hinge.max()):.3g}, above {TRAINED}")


def own_entries(blocks: xr.DataArray) -> xr.DataArray:
    """The diagonal of G, along `pattern`."""
    index = xr.DataArray(np.arange(blocks.sizes["pattern"]), dims="pattern")
    return blocks.isel(pattern=index, other=index)


def other_entries(blocks: xr.DataArray, partner: xr.DataArray, partners: bool) -> xr.DataArray:
    """The entries of task partners, or of other patterns that are no partners; NaN elsewhere."""
    diagonal = xr.DataArray(np.eye(blocks.sizes["pattern"], dtype=bool), dims=("pattern", "other"))
    return blocks.where(partner > 0 if partners else (partner == 0) & ~diagonal)


def mean_entry(blocks: xr.DataArray) -> xr.DataArray:
    """The mean over the entries that are there."""
    return blocks.mean(["pattern", "other"], skipna=True)


def both_maps(data: xr.Dataset) -> xr.DataArray:
    """G^Q and G^K, along `map`."""
    return xr.concat([data.query_patterns, data.key_patterns], "map").assign_coords(map=["query", "key"])


def solved_step(data: xr.Dataset) -> xr.DataArray:
    """T* of the default run: the step of the first record with unseen hinge below 0.2; inf: never."""
    return data.step.where(data.unseen_hinge_path < REACHED).min("record").fillna(np.inf)


def growth_records(data: xr.Dataset) -> xr.DataArray:
    """True at the records at which attention grows: half of the prompts have loss, t ≥ max(100, T*/3)."""
    return (data.active_hinge >= ACTIVE) & (data.step >= np.maximum(EARLY, solved_step(data) / 3))


def at_growth(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The values at growth records, NaN elsewhere; every seed must have one."""
    chosen = growth_records(data)
    if not chosen.any("record").all():
        raise NotApplicable("no growth record in some seed: T* was not reached, or no prompt has loss so late")
    return values.where(chosen)


def last_known(values: xr.DataArray) -> xr.DataArray:
    """The last value along the records that is not NaN."""
    numbers = xr.DataArray(np.arange(values.sizes["record"]), dims="record")
    return values.isel(record=numbers.where(values.notnull(), 0).max("record").astype(int))


def at_step(data: xr.Dataset, values: xr.DataArray, step: float) -> xr.DataArray:
    """The value at the record of this step, in every seed."""
    found = values.where(data.step == step).max("record")
    if found.isnull().any():
        raise NotApplicable(f"no record at step {step:g} in some run")
    return found


def crossing(errors: xr.DataArray, level: float = 0.05) -> xr.DataArray:
    """The length at which the error, log-linear between the grid's lengths, falls to the level; NaN if it does not."""
    lengths = errors.test_contexts.values

    def one(values: np.ndarray) -> float:
        below = np.flatnonzero(values <= level)
        if not below.size or below[0] == 0:
            return np.nan
        i = below[0]
        high, low = np.log(values[i - 1]), np.log(max(values[i], 1e-6))
        return float(lengths[i - 1] + (high - np.log(level)) / (high - low) * (lengths[i] - lengths[i - 1]))

    return xr.apply_ufunc(one, errors, input_core_dims=[["test_contexts"]], vectorize=True)


def task_sets(data: xr.Dataset, values: xr.DataArray, which: str) -> xr.DataArray:
    """The cells of e2-tasks with M_1/2 (`half`), M_1 - 1 (`short`) or M_1 (`full`) tasks, along `patterns`."""
    by_patterns: dict[int, xr.DataArray] = {}
    for name in map(str, data.task_set.values):
        if not name.startswith("M_1="):
            continue
        m, n = (int(size.partition("=")[2]) for size in name.split(", "))
        if n == {"half": m // 2, "short": m - 1, "full": m}[which]:
            by_patterns[m] = values.sel(task_set=name, drop=True)
    return xr.concat(list(by_patterns.values()), "patterns").assign_coords(patterns=list(by_patterns))


def by_length(data: xr.Dataset, values: xr.DataArray, budget: str) -> xr.DataArray:
    """The cells of e1-context with one budget, along `length`."""
    chosen = [name for name in map(str, data.variant.values) if name.startswith(f"{budget}, ")]
    lengths = [int(name.partition(", ")[2]) for name in chosen]
    return values.sel(variant=chosen).rename(variant="length").assign_coords(length=lengths)


def required_length(data: xr.Dataset, budget: str) -> xr.DataArray:
    """The smallest training length whose final hinge on the watched prompts is below 0.2; 13 if none is."""
    hinge = by_length(data, data.last_watch_hinge, budget)
    return hinge.length.where(hinge < REACHED).min("length").fillna(NEVER)


Take = Callable[[xr.Dataset], object]


def of_default(take: Take, variant: str = "intact") -> Evidence:
    """What `take` makes of one variant of p1-default, if the intact runs converged."""

    def evidence(datasets: Datasets) -> object:
        data = datasets["p1-default"]
        require_trained(data.seen_hinge.sel(variant="intact"))
        return take(data.sel(variant=variant, drop=True))

    return evidence


def of_experiment(name: str, take: Take, intact: Mapping[str, str | list[str]] | None = None) -> Evidence:
    """What `take` makes of an experiment, if the runs of its intact cells converged."""

    def evidence(datasets: Datasets) -> object:
        data = datasets[name]
        require_trained(data.seen_hinge.sel(intact or {}))
        return take(data)

    return evidence


def cells(data: xr.Dataset, **where: Any) -> xr.Dataset:
    """The cells with these coordinates; nothing is decided where the preset lacks one of them."""
    for name, wanted in where.items():
        absent = np.setdiff1d(wanted, data[name].values)
        if absent.size:
            raise NotApplicable(f"not in this preset: {name} = {', '.join(map(str, absent))}")
    return data.sel(where, drop=True)
