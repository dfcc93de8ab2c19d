"""What experiments, claims and figures share: sweeps, windows of time, late exponents, reduced problems of the data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student import bounds
from lemmata.theories.teacher_student.dynamics.reduced import Pattern, Task, at_score

Labels = Sequence[str]
Slopes = Sequence[float]
SLOPES = [1.0, 0.1, 0.0]
"""κ of identity, leaky ReLU and ReLU."""


def sized(tokens: int, support: int, strength: float, step_size: float, **more: Any) -> dict[str, Any]:
    """The fields of a cell by D, K, ‖V*‖² and η."""
    return {"tokens": tokens, "support": support, "strength": strength, "step_size": step_size, **more}


UNIT_ROWS = {"dimension": 4, "value_law": "gaussian", "normalise_rows": True}
SWEEPS: dict[str, dict[str, dict[str, Any]]] = {
    "norm": {f"λ={factor:g}": sized(64, 2, 40 * factor**2, 0.05) for factor in (0.25, 0.5, 1.0)},
    "step": {f"η={step:g}": sized(64, 2, 4.0, step) for step in (0.0125, 0.025, 0.05)},
    "rows": {f"M={count}": sized(64, 2, 0.0, 0.05, outputs=count, **UNIT_ROWS) for count in (1, 2, 4)},
    "ratio": {f"D={D}, K=D/20": sized(D, D // 20, 2.0, 0.05) for D in (20, 40, 80, 160)},
    # K = 1: η below 2K/(a_κD), the limit of stability, for every D
    "dimension": {f"D={D}, K=1": sized(D, 1, 4.0, 0.001) for D in (40, 100, 320, 1000)},
}
"""What T* depends on (P17), by sweep; the labels of all sweeps make one axis."""


def around(centre: float, width: float) -> Callable[[Any], lm.Verdict]:
    """The judge of what lies in `centre` ± `width` in every cell and seed."""
    return lm.within(centre - width, centre + width, by="every", predicted=centre)


def task_of(data: xr.Dataset) -> Task:
    """The reduced problem of every run."""
    return Task(data.token_count, data.support_count, data.squared_norm, data.slope, data.eta)


def pattern_of(data: xr.Dataset) -> Pattern:
    """The two values of S at every record."""
    return at_score(task_of(data), data.score, data.mass)


def multiples(data: xr.Dataset) -> xr.DataArray:
    """t / T*."""
    return (data.step / data.escape_step).rename("T/T*")


def window_of(data: xr.Dataset, low: float = 1e2, high: float = 1e4) -> xr.DataArray:
    """Where a record lies in [low, high] T*."""
    times = multiples(data)
    return (times >= low * (1 - 1e-6)) & (times <= high * (1 + 1e-6))


def late_slope(values: xr.DataArray, data: xr.Dataset, low: float = 1e2, high: float = 1e4) -> xr.DataArray:
    """The exponent in t over [low, high] T*; NaN where a value is not positive."""
    window = window_of(data, low, high)
    if not bool((window.sum("record") >= 3).all()):
        raise lm.NotApplicable(f"there are no records over [{low:g}, {high:g}] T*")
    return lm.log_slopes(values, "record", x=data.step, where=window)


def product_gap(data: xr.Dataset) -> xr.DataArray:
    """1/K - pC_1, from Kp = 1 - δ."""
    return (1 - data.value + data.value * data.mass) / data.support_count


def late_mass(data: xr.Dataset) -> xr.DataArray:
    """The derived law of δ after the start: (D - K)√(K/(2a_κη‖V*‖²T))."""
    return bounds.late_mass(task_of(data), data.step.where(data.step > 0))


def score_law(data: xr.Dataset) -> xr.DataArray:
    """That of ‖S - S*‖: D√((D - K)/(2a_κη‖V*‖²T)) = Dδ/√(K(D - K)) with the late δ."""
    D, K = data.token_count, data.support_count
    return D * late_mass(data) / np.sqrt(K * (D - K))


def excess_law(data: xr.Dataset) -> xr.DataArray:
    """That of the excess loss: KD(D - K)/(4ηT)."""
    D, K = data.token_count, data.support_count
    return K * D * (D - K) / (4 * data.eta * data.step.where(data.step > 0))


def over_slopes(values: xr.DataArray) -> xr.DataArray:
    """The largest over the activations; what is absent in one of them is absent."""
    return values.max("negative_slope", skipna=False)


def extremes(values: xr.DataArray, dim: str = "cell") -> xr.DataArray:
    """The least and the largest over all cells, by seed."""
    dims = [each for each in values.dims if each != "seed"]
    return lm.stack({"least": values.min(dims, skipna=False), "largest": values.max(dims, skipna=False)}, dim)


QUANTITIES: dict[str, Callable[[xr.Dataset], xr.DataArray]] = {
    "off_support": lambda data: data.mass / data.support_count,
    "score_error": lambda data: data.score_error,
    "value_error": lambda data: data.value_error,
    "excess": lambda data: data.excess,
    "product": lambda data: abs(product_gap(data)),
}
"""What is followed late: 1/K - p = δ/K, ‖S - S*‖, ‖W_V - V*‖/‖V*‖, the excess loss, |1/K - pC_1|."""
READ_AT = 1e9
"""ηT at which the powers of D are read."""
MOMENT, EPSILON = 10.0, 50.0
"""ξ and ε of the first passage of T4."""


def nearest(data: xr.Dataset, clock: xr.DataArray, moment: float) -> xr.Dataset:
    """The data at the record at which the clock is nearest to a moment."""
    off: xr.DataArray = np.log(clock.where(clock > 0) / moment)  # pyright: ignore[reportAssignmentType]
    return data.isel(record=abs(off).fillna(np.inf).argmin("record"))


def at_fixed_time(data: xr.Dataset) -> xr.Dataset:
    """The data at ηT = 10⁹."""
    return nearest(data, data.eta * data.step, READ_AT)


def passage(data: xr.Dataset) -> xr.DataArray:
    """The first T at which the right side of B is at most ε."""
    right = bounds.right_side(task_of(data), MOMENT, data.value, pattern_of(data))
    core = [["record"], ["record"], []]
    return xr.apply_ufunc(crossing, data.step, right, EPSILON, input_core_dims=core, vectorize=True)


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


SIDES: dict[str, Callable[[xr.Dataset], tuple[xr.DataArray, xr.DataArray]]] = {
    "cross_term": lambda data: (data.ood_excess, data.half_gap + np.sqrt(2 * data.half_gap * data.teacher_gap)),
    "student": lambda data: (2 * data.half_gap, data.gap_bound),
    "teacher": lambda data: (data.teacher_gap, data.teacher_gap_bound),
}
"""Both sides of the parts of row B: the excess and ½Δ² + ΔR of the sample, Δ² and R² and their bounds."""
