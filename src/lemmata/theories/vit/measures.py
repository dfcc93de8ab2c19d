"""What claims and figures of this theory read off the data sets: successes, thresholds, growth factors, the gate."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.vit.neurons import SIDES
from lemmata.theories.vit.training import SMALL_LOSS

SOME_LOSS = 0.25
"""The share of each class with loss at which value growth is read: with one class solved the other's sign may turn."""
READINGS = ["shared", "per_token"]
"""The two readings of the output signs, as variants of the experiments on training."""
POSITIVE, NEGATIVE = lm.at_least(0.0, by="every", strict=True), lm.at_most(0.0, by="every", strict=True)
UNTRAINED = lm.Control("untrained", untrained=True)
FROZEN = lm.Control("frozen attention", attention="frozen")


def success(data: xr.Dataset) -> xr.DataArray:
    """1 where the paper calls a run a success: test hinge below 0.001."""
    return (data.test_hinge < SMALL_LOSS) * 1.0


def share_of_runs(passed: xr.DataArray, measured: xr.DataArray) -> lm.Estimate:
    """The share of seeds that pass, with its interval; not a number where something was not measured."""
    if bool(measured.isnull().any()):
        return lm.Estimate(np.nan, -np.inf, np.inf, "share")
    return lm.share_interval(int(passed.sum()), passed.sizes["seed"])


def half_thresholds(data: xr.Dataset, along: str = "relevant_fraction") -> dict[float, lm.Threshold]:
    """N_50 for every relevant fraction, or along another axis."""
    counts, rates = data.samples.values, success(data).transpose(along, "seed", "samples").values
    return {each: lm.threshold(counts, rows) for each, rows in zip(data[along].values.tolist(), rates, strict=True)}


def by_reading(data: xr.Dataset) -> dict[str, xr.Dataset]:
    """The step-size sweep of either reading of the output signs, over `step_size`."""
    readings = dict.fromkeys(data.output.values.tolist())
    return {reading: lm.cells(data, output=reading).swap_dims(variant="step_size") for reading in readings}


def converged(**intact: Any) -> lm.Gate:
    """The convergence gate: in the intact cells training reached loss 0."""
    reason = "not converged: the training loss did not reach 0 in every run"
    return lm.Gate(reason, lambda data: np.isfinite(data.reached_step), intact)


def at_end_or_start(values: xr.DataArray, untrained: bool) -> xr.DataArray:
    """At T_0, the last record, or at t = 0."""
    return values.isel(record=0) if untrained else lm.at_end(values)


def own_coordinates(features: xr.DataArray) -> xr.DataArray:
    """<W μ_k, q_k> for the two discriminative patterns: the first two diagonal entries of C_Q, C_K or C_V."""
    return by_side([features.isel(feature=k, pattern=k) for k in (0, 1)])


def by_side(values: Sequence[xr.DataArray]) -> xr.DataArray:
    """What belongs to the class +1 and to the class -1, along the dimension side."""
    return lm.stack(dict(zip(SIDES, values, strict=True)), "side")
