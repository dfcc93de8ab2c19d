"""How far the weights move: the bound D, the lazy prediction (Q15), and slopes over the width (X3)."""

from __future__ import annotations

import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.intervals import Estimate
from lemmata.lab.judges import at_most, within
from lemmata.lab.measures import at_end
from lemmata.theories.exp_regression.claims.common import LIMIT, SLACK, contraction
from lemmata.theories.exp_regression.measures import gated, geometric_slope, resampled, runs_where


def _coupled(datasets: Datasets) -> xr.Dataset:
    return datasets["x2-convergence"].sel(init="coupled")


def _drift_bound(factor: float = 1.0) -> Evidence:
    """Drift / D in gated runs in which the contraction holds; the right side divided by `factor`."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        parts = [_coupled(datasets), datasets["x3-drift"].sel(scale="one")]
        found: list[xr.DataArray] = []
        for data in parts:
            sound = gated(data) & (contraction(data, LIMIT) <= SLACK)
            found.append(runs_where(factor * data.drift_ratio, sound, "the kernel keeps λ/2 and the error contracts"))
        return xr.concat(found, "seed")

    return evidence


def _lazy(scale: str) -> Evidence:
    """Relative error of the lazy drift at the smallest width."""
    return lambda datasets: datasets["x3-drift"].lazy_error.sel(scale=scale).isel(neurons=0)


def _lazy_slope(scale: str) -> Evidence:
    def evidence(datasets: Datasets) -> Estimate:
        return resampled(lambda v: geometric_slope(v, "neurons"), datasets["x3-drift"].lazy_error.sel(scale=scale))

    return evidence


def _drift_slope(statistic: str, scale: str = "one") -> Evidence:
    """Slope over m of the geometric mean over seeds of the drift at the end."""

    def evidence(datasets: Datasets) -> Estimate:
        drift = at_end(datasets["x3-drift"].drift.sel(statistic=statistic, scale=scale))
        return resampled(lambda v: geometric_slope(v, "neurons"), drift)

    return evidence


def _slope_claim(statistic: str, low: float, high: float) -> Claim:
    return Claim(
        name=f"x3-{statistic}",
        reference="Lemma 7.2, experiment X3",
        kind="scaling",
        statement=f"The {'largest' if statistic == 'max' else statistic} drift falls with the width: exponent of its "
        f"geometric mean over seeds in [{low}, {high}].",
        reads=("x3-drift",),
        evidence=_drift_slope(statistic),
        judge=within(low, high),
        controls=(Control("output scale 1/√m", _drift_slope(statistic, "inv_sqrt_m")),),
    )


CLAIMS = (
    Claim(
        name="q15-drift-bound",
        reference="Lemma 7.2, erratum 6",
        kind="bound",
        statement="‖w_r(t) - w_r(0)‖ ≤ D = 8λ^-1 e^{B+R} √n/m ‖y‖ at every step, in runs that keep λ/2 and contract.",
        reads=("x2-convergence", "x3-drift"),
        evidence=_drift_bound(),
        judge=at_most(SLACK, by="every"),
        controls=(Control("D/1000", _drift_bound(1000.0)),),
    ),
    Claim(
        name="q15-lazy-drift",
        reference="Lemma 7.2, sharpened",
        kind="identity",
        statement="The weights end where the linearised dynamics takes them: relative Frobenius error below 2 % at the "
        "smallest width, m = 128, in every seed.",
        formula="1/m a_r Σ_i (H(0)^-1 (y - F(0)))_i x_i e^{<w_r(0), x_i>}",
        reads=("x3-drift",),
        evidence=_lazy("one"),
        judge=at_most(0.02, by="every", strict=True),
        controls=(Control("output scale 1/√m", _lazy("inv_sqrt_m")),),
    ),
    Claim(
        name="q15-lazy-drift-width",
        reference="Lemma 7.2, sharpened",
        kind="scaling",
        statement="That error falls nearly like 1/m: exponent of its geometric mean in [-1.1, -0.75].",
        reads=("x3-drift",),
        evidence=_lazy_slope("one"),
        judge=within(-1.1, -0.75),
        controls=(Control("output scale 1/√m", _lazy_slope("inv_sqrt_m")),),
    ),
    _slope_claim("mean", -1.2, -0.9),
    _slope_claim("median", -1.2, -0.9),
    _slope_claim("max", -0.9, -0.55),
)
