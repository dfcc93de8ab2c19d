"""What claims and figures of this theory read off the data sets: times at a level, errors, required lengths, gates."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import xarray as xr

import lemmata as lm
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.voters import crossing

DEFAULT = Setting()
"""The setting whose numbers (M, K, α, l_tr, M') the register's criteria are written in."""
SWEEPS = {"α'": ("α'=0.2", "α'=0.4", "α'=0.8"), "ρ": ("ρ=0.15", "ρ=0.3", "ρ=0.6"), "τ": ("τ=0.25", "τ=0.4", "τ=0.62")}
FIELDS = {"α'": "test_fraction", "ρ": "primacy", "τ": "trajectory"}
"""The three sweeps of c10-voter, and the field that each of them varies."""
STAGE = 0.05
"""Off-step attention at the boundary of the two stages (Lemma F.3.6)."""
FIRST_STAGE = lm.Gate(
    f"attention on other steps is still above {STAGE:g} at the end of some intact run",
    lambda data: lm.at_end(off_step(data)) <= STAGE,
    intact={"variant": "intact"},
)
CONCENTRATED = lm.Gate(
    "attention is not concentrated: at most 0.85 on the matching columns of the first step in some intact run",
    lambda data: first_concentration(data) > 0.85,
    intact={"moment": "end", "cell": SWEEPS["α'"]},
)
late = functools.partial(lm.Claim, gate=FIRST_STAGE)
"""A claim about the second stage of training."""
tested = functools.partial(lm.Claim, gate=CONCENTRATED)
"""A claim about errors of models whose attention is concentrated."""
above, below, between, falling = (
    functools.partial(judge, by="mean") for judge in (lm.at_least, lm.at_most, lm.within, lm.decreasing)
)
"""Judges of the mean over seeds."""


def near(gap: float) -> Any:
    """Judge: the mean over seeds is 0 within so much."""
    return between(-gap, gap, predicted=0.0)


def reading(name: str, experiment: str, words: str, quantity: Callable[[xr.Dataset], Any], **cells: Any) -> Any:
    """Evidence of one quantity of an experiment's cells; which cells are its arguments."""

    def function(data: xr.Dataset, **chosen: Any) -> Any:
        return quantity(lm.cells(data, **{**cells, **chosen}))

    of = inspect.Parameter
    arguments = [of(at, of.KEYWORD_ONLY, default=value) for at, value in cells.items()]
    function.__name__, function.__doc__ = name, words
    vars(function)["__signature__"] = inspect.Signature([of("data", of.POSITIONAL_OR_KEYWORD), *arguments])
    return lm.evidence(experiment)(function)


def first_concentration(data: xr.Dataset) -> xr.DataArray:
    """Attention on S_1*."""
    return data.concentration.isel(reasoning_step=0, drop=True)


def off_step(data: xr.Dataset, which: str = "train_groups") -> xr.DataArray:
    """The attention on both groups of other steps, along `record`."""
    return data[which].isel(group=[2, 3]).sum("group", skipna=False)


def crossed(places: xr.DataArray, values: xr.DataArray, along: str, level: float, logs: bool = True) -> xr.DataArray:
    """Where values that fall along a dimension reach a level, run by run (`voters.crossing`)."""
    reach = functools.partial(crossing, level=level, logs=logs)
    return xr.apply_ufunc(reach, places, values, input_core_dims=[[along], [along]], vectorize=True)


def loss_time(data: xr.Dataset, level: float) -> xr.DataArray:
    """η t at which the loss on fresh tasks is at a level: log loss on log time between records."""
    return crossed(data.time, data.train_loss, "record", level)


def stage_time(data: xr.Dataset, level: float, which: str = "train_groups") -> xr.DataArray:
    """η t at which attention on other steps has fallen to a level, linearly between records."""
    return crossed(data.time, off_step(data, which), "record", level, logs=False)


def error(data: xr.Dataset, who: str = "cot") -> xr.DataArray:
    """CoT error as the mean over steps (of model or voter), its last step, or the ICL error."""
    if who in ("icl", "icl_voter"):
        return data[f"{who}_error"]
    if who == "last":
        return data.cot_error.isel(reasoning_step=-1, drop=True)
    return data[f"{who}_error"].mean("reasoning_step")


def required_length(data: xr.Dataset, who: str = "voter", level: float = 0.05) -> xr.DataArray:
    """l*: the length at which the error falls to the level; inf: never."""
    return crossed(data.lengths, data[f"{who}_error"], "length_number", level)


def bare(values: xr.DataArray) -> xr.DataArray:
    """Without the fields that the labels of an axis set."""
    return values.drop_vars([name for name in values.coords if name not in values.dims])


def moment_of(data: xr.Dataset, name: str, moment: Any) -> xr.DataArray:
    """A quantity of the weights of a moment, an η t or the end; what was not reached leaves nothing to decide."""
    found = data[name].sel(moment_read=str(moment), drop=True)
    if bool(found.isnull().all()):
        raise lm.NotApplicable(f"not reached in this preset: η t = {moment}")
    return found
