"""What claims and figures of this theory read off the data sets: windows of time, late slopes, reduced problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import NotApplicable
from lemmata.theories.teacher_student.bounds import right_side
from lemmata.theories.teacher_student.dynamics.reduced import Pattern, Task, at_score
from lemmata.theories.teacher_student.setting import SEPARATED


def task_of(data: xr.Dataset) -> Task:
    """The reduced problem of every run."""
    return Task(data.token_count, data.support_count, data.squared_norm, data.slope, data.eta)


def pattern_of(data: xr.Dataset) -> Pattern:
    """p, δ and Q at every record."""
    return at_score(task_of(data), data.score, data.mass)


def separated(data: xr.Dataset) -> xr.Dataset:
    """The data, if phases 1 and 2 are separated in all of them: χ ≤ 0.005."""
    largest = float(data.separation.max())
    if largest > SEPARATED:
        raise NotApplicable(f"conditions not met: χ = {largest:.3g}, and phases are separated up to {SEPARATED:g}")
    return data


def multiples(data: xr.Dataset) -> xr.DataArray:
    """t / T*."""
    return data.step / data.escape_step


def at_multiple(values: xr.DataArray, data: xr.Dataset, multiple: float) -> xr.DataArray:
    """The value at this multiple of T*, which must be a record."""
    off = abs(multiples(data) / multiple - 1)
    if not bool((off.min("record") < 1e-3).all()):
        raise NotApplicable(f"there is no record at {multiple:g} T*")
    return values.isel(record=off.fillna(np.inf).argmin("record")).drop_vars("record", errors="ignore")


def late_slope(values: xr.DataArray, data: xr.Dataset, low: float = 1e2, high: float = 1e4) -> xr.DataArray:
    """The exponent in t over [low, high] T*: least squares of logarithms; NaN where a value is not positive."""
    times = multiples(data)
    window = (times >= low * (1 - 1e-6)) & (times <= high * (1 + 1e-6))
    if not bool((window.sum("record") >= 3).all()):
        raise NotApplicable(f"there are no records over [{low:g}, {high:g}] T*")
    sound = ((values > 0) | ~window).all("record")
    x = np.log(data.step.where(window & (data.step > 0)))
    y = np.log(values.where(window & (values > 0)))
    centred = x - x.mean("record")
    return ((centred * y).sum("record") / (centred**2).sum("record")).where(sound)


def product_gap(data: xr.Dataset) -> xr.DataArray:
    """1/K - pC_1, from Kp = 1 - δ."""
    return (1 - data.value + data.value * data.mass) / data.support_count


def over_slopes(values: xr.DataArray, reduce: str = "max") -> xr.DataArray:
    """The worst over the activations."""
    return getattr(values, reduce)("negative_slope", skipna=False)


READ_AT = 1e9
"""ηT at which the powers of D are read."""
MOMENT, EPSILON = 10.0, 50.0
"""ξ and ε of the first passage of T4."""


def at_fixed_time(data: xr.Dataset) -> xr.Dataset:
    """The data at ηT = 10⁹."""
    return data.isel(record=abs(data.eta * data.step / READ_AT - 1).fillna(np.inf).argmin("record"))


def passage(data: xr.Dataset) -> xr.DataArray:
    """The first T at which the right side of B is at most ε."""
    right = right_side(task_of(data), MOMENT, data.value, pattern_of(data))
    return xr.apply_ufunc(
        lambda t, v: crossing(t, v, EPSILON), data.step, right, input_core_dims=[["record"]] * 2, vectorize=True
    )


def crossing(times: Any, values: Any, level: float) -> float:
    """When falling values pass a level, by interpolation of logarithms; inf if they do not."""
    sound = np.isfinite(times) & np.isfinite(values) & (np.asarray(times) > 0)
    t, v = np.log(np.asarray(times)[sound]), np.log(np.asarray(values)[sound])
    above = np.flatnonzero(v > np.log(level))
    if above.size == 0 or above[-1] == len(v) - 1:
        return np.inf
    i = above[-1]
    share = (v[i] - np.log(level)) / (v[i] - v[i + 1])
    return float(np.exp(t[i] + share * (t[i + 1] - t[i])))
