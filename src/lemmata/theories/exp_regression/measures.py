"""What claims and figures of this theory read off the data sets: gates, classes, frontiers, slopes of seed means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import NotApplicable
from lemmata.lab.intervals import Estimate, share_interval
from lemmata.theories.exp_regression.data import PAIR_TARGETS

CLASSES = ("monotone", "catapult", "diverged", "unfinished")
REACHED = 0.9
"""The share of seeds that must reach ε for a width to count (X4)."""


RATIO = 0.5
"""ρ of X7's parallel pair."""
FLOORS = {
    ("parallel", "relu"): (PAIR_TARGETS[1] - RATIO * PAIR_TARGETS[0]) ** 2 / (1 + RATIO**2),
    ("antipodal", "cosh"): (PAIR_TARGETS[0] - PAIR_TARGETS[1]) ** 2 / 2,
    ("antipodal", "sinh"): (PAIR_TARGETS[0] + PAIR_TARGETS[1]) ** 2 / 2,
}
"""The squared error that remains where the kernel is singular, by pair and activation."""


def gated(data: xr.Dataset) -> xr.DataArray:
    """Runs whose kernel keeps half of λ at every step: λ_min(H(t)) ≥ λ/2, λ of the infinite-width kernel."""
    return data.kernel_kept >= 0.5


def runs_where(values: xr.DataArray, gate: xr.DataArray, reason: str) -> xr.DataArray:
    """The values of the runs that pass a gate, cells and seeds in one dimension `seed`."""
    values, gate = xr.broadcast(values, gate)
    passed = values.values[gate.transpose(*values.dims).values.astype(bool)]
    if passed.size == 0:
        raise NotApplicable(f"not applicable: no run in which {reason}")
    return xr.DataArray(passed, dims="seed")


def stability_class(peak: xr.DataArray, final: xr.DataArray, diverged: xr.DataArray) -> xr.DataArray:
    """X6: 0 monotone (peak ≤ 1.01), 1 catapult (then below 1e-3 of the start), 2 diverged, 3 unfinished."""
    settled = xr.where(peak <= 1.01, 0, xr.where(final < 1e-3, 1, 3))
    return xr.where(diverged > 0, 2, settled)


def classes(data: xr.Dataset) -> xr.DataArray:
    """The class of every run."""
    return stability_class(data.peak_ratio, data.final_ratio, data.diverged)


def linear_classes(data: xr.Dataset) -> xr.DataArray:
    """The class of the linearised dynamics beside every run: a sum of geometric terms, so its peak is at an end."""
    final = data.linear_final_ratio
    return stability_class(np.maximum(final, 1.0), final, (final > 1e8) * 1.0)


def geometric_slope(values: xr.DataArray, along: str) -> float:
    """The exponent in `along` of the geometric mean over seeds."""
    return _log_slope(values, along, lambda seeds: np.exp(np.log(seeds).mean(0)))


def median_slope(values: xr.DataArray, along: str) -> float:
    """The exponent in `along` of the median over seeds."""
    return _log_slope(values, along, lambda seeds: np.median(seeds, 0))


def rms_slope(values: xr.DataArray, along: str) -> float:
    """The exponent in `along` of the root mean square over seeds."""
    return _log_slope(values, along, lambda seeds: np.sqrt(np.mean(seeds**2, 0)))


def _log_slope(values: xr.DataArray, along: str, centre: Callable[[np.ndarray], np.ndarray]) -> float:
    with np.errstate(divide="ignore"):
        y = centre(values.transpose("seed", along).values)
    if not np.all(np.isfinite(y) & (y > 0)):
        raise NotApplicable("no exponent: a value is not positive and finite")
    return float(np.polyfit(np.log(values[along].values), np.log(y), 1)[0])


def resampled(statistic: Callable[[xr.DataArray], float], values: xr.DataArray, draws: int = 400) -> Estimate:
    """The statistic with its bootstrap interval over seeds, by percentiles, as the specification has it for slopes."""
    rng = np.random.default_rng(0)
    count = values.sizes["seed"]
    found = [statistic(values.isel(seed=rng.integers(0, count, count))) for _ in range(draws)]
    low, high = np.quantile(found, [0.025, 0.975])
    return Estimate(statistic(values), float(low), float(high))


def successes(data: xr.Dataset) -> xr.DataArray:
    """1 where a run reached ε within the predicted number of steps (and the cap)."""
    # a singular kernel has an infinite T, within which a run that never arrives does not succeed
    return (np.isfinite(data.reached_step) & (data.reached_step <= data.predicted_steps)) * 1.0


def widths(data: xr.Dataset) -> tuple[list[str], np.ndarray]:
    """The labels of the trained networks of X4 and their widths."""
    labels = [str(label) for label in data.variant.values if "frozen" not in str(label)]
    return labels, np.asarray([float(label) for label in labels])


def frontier(data: xr.Dataset, along: str) -> xr.DataArray:
    """X4: the smallest width at which at least 90 % of the seeds succeed, by `along`; inf beyond the grid."""
    labels, m = widths(data)
    rates = successes(data).sel(variant=labels).mean("seed").transpose(along, "variant").values
    enough = rates >= REACHED
    return xr.DataArray(np.where(enough.any(axis=1), m[np.argmax(enough, axis=1)], np.inf), coords={along: data[along]})


def share(values: xr.DataArray) -> Estimate:
    """The share of seeds with a true value, with Wilson's interval."""
    if values.isnull().any():
        raise NotApplicable("not measured in every seed")
    return share_interval(float(values.sum()), values.size)
