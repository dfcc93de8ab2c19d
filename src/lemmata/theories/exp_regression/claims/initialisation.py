"""Random networks: projections (Q2, part 1), initial outputs (Q7), what the coupled pairs contribute (X5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.intervals import Estimate
from lemmata.lab.judges import all_of, at_least, at_most, within
from lemmata.lab.measures import at_end
from lemmata.theories.exp_regression.bounds import projection_bound
from lemmata.theories.exp_regression.claims.common import all_runs
from lemmata.theories.exp_regression.measures import share

DELTA = 0.05


POINTS = 10


def _beyond(data: xr.Dataset, source: str, C: float = 10.0) -> xr.DataArray:
    """1 where some projection of an initialisation exceeds B."""
    B = np.broadcast_to(projection_bound(POINTS, data.neurons.values, DELTA, 1.0, C, source), data.neurons.shape)
    beyond = data.projection > xr.DataArray(B, coords={"neurons": data.neurons})
    return (beyond * 1.0).where(data.projection.notnull())


def _tails(source: str, C: float = 10.0) -> Evidence:
    """The share of initialisations beyond B, by width."""

    def evidence(datasets: Datasets) -> dict[str, Estimate]:
        beyond = _beyond(datasets["q2-tails"], source, C)
        return {f"m={m:g}": share(beyond.sel(neurons=m)) for m in beyond.neurons.values}

    return evidence


def _growing_tails(C: float) -> Evidence:
    """The share beyond B at the smallest width, and the low end of its interval at the largest."""

    def evidence(datasets: Datasets) -> dict[str, Any]:
        beyond = _beyond(datasets["q2-tails"], "paper", C)
        return {"narrow": share(beyond.isel(neurons=0)), "wide": share(beyond.isel(neurons=-1)).low}

    return evidence


def _zero(init: str) -> Evidence:
    return lambda datasets: abs(datasets["q7-initial"].outputs.sel(init=init)).max("point")


def _initial_loss(init: str) -> Evidence:
    def evidence(datasets: Datasets) -> dict[str, xr.DataArray]:
        data = datasets["q7-initial"].sel(init=init)
        return {"equal": abs(data.error_square - data.target_square), "bound": data.error_square / data.sizes["point"]}

    return evidence


def _output_variance(init: str) -> Evidence:
    """(mean over seeds of F_i(0)²/m - closed form) in sample standard errors, by point and width."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["q7-initial"].sel(init=init)
        squares = data.outputs**2 / data.neurons
        error = squares.std("seed", ddof=1) / math.sqrt(squares.sizes["seed"])
        with np.errstate(divide="ignore"):
            return (squares.mean("seed") - data.output_variance.isel(seed=0)) / error

    return evidence


def _initialisation(datasets: Datasets) -> xr.Dataset:
    return datasets["x5-initialisation"]


def _hits(datasets: Datasets) -> xr.DataArray:
    return all_runs(_initialisation(datasets).reached_step)


def _untrained_hits(datasets: Datasets) -> xr.DataArray:
    """The initial record in place of the last: reached at step 0 or never."""
    return all_runs(xr.where(_initialisation(datasets).square.isel(record=0) <= 1e-3, 0.0, np.inf))


def _drifts(init: str) -> Callable[[Datasets], xr.DataArray]:
    """The largest drift at the first hit of ε."""

    def drift(datasets: Datasets) -> xr.DataArray:
        return at_end(_initialisation(datasets).drift.sel(statistic="max", init=init))

    return drift


def _drift_ratio(above: str) -> Evidence:
    """Paired ratio to the coupled initialisation at the widths from 256 on."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        ratio = _drifts(above)(datasets) / _drifts("coupled")(datasets).values
        return ratio.isel(neurons=slice(1, None))

    return evidence


CLAIMS = (
    Claim(
        name="q2-projection-union",
        reference="Lemma 6.2, part 1; erratum 3",
        kind="bound",
        statement="With B from the union bound, the share of initialisations with some |<w_r, x_i>| > B is at most δ = "
        "0.05 at m = 64, 1024 and 16384.",
        formula="B = σ √(2 ln(2mn/δ))",
        reads=("q2-tails",),
        evidence=_tails("union"),
        judge=at_most(DELTA),
        controls=(Control("the paper's B with C = 1.5, which lacks ln m", _tails("paper", 1.5)),),
    ),
    Claim(
        name="q2-projection-paper",
        reference="Definition 6.1, Lemma 6.2, part 1",
        kind="bound",
        statement="With the paper's B, C = 10, no initialisation exceeds B at any of these widths.",
        formula="B = C σ √ln(n/δ)",
        reads=("q2-tails",),
        evidence=_tails("paper"),
        judge=at_most(0.0),
        controls=(Control("C = 1.5", _tails("paper", 1.5)),),
    ),
    Claim(
        name="q2-projection-constant",
        reference="Lemma 6.2, part 1; erratum 3",
        kind="ordering",
        statement="A B without ln m fails as the network widens: with C = 2 the share beyond B is at most δ at the "
        "smallest width and its interval lies above δ at the largest.",
        reads=("q2-tails",),
        evidence=_growing_tails(2.0),
        judge=all_of(narrow=at_most(DELTA), wide=at_least(DELTA, strict=True)),
        controls=(Control("C = 10", _growing_tails(10.0)),),
    ),
    Claim(
        name="q7-zero-output",
        reference="Claim 6.8",
        kind="identity",
        statement="With coupled initialisation the initial output is exactly zero, in every seed.",
        reads=("q7-initial",),
        evidence=_zero("coupled"),
        judge=at_most(0.0, by="every"),
        controls=(Control("independent initialisation", _zero("independent")),),
    ),
    Claim(
        name="q7-initial-loss",
        reference="Claim 6.8",
        kind="bound",
        statement="With coupled initialisation ‖y - F(0)‖² = ‖y‖² ≤ n, in every seed.",
        reads=("q7-initial",),
        evidence=_initial_loss("coupled"),
        judge=all_of(equal=at_most(0.0, by="every"), bound=at_most(1.0, by="every")),
        controls=(Control("independent initialisation", _initial_loss("independent")),),
    ),
    Claim(
        name="q7-independent-variance",
        reference="erratum 13",
        kind="identity",
        statement="With independent initialisation the mean of F_i(0)²/m is e^{2σ²‖x_i‖²} within 5 standard errors, at "
        "every point.",
        reads=("q7-initial",),
        evidence=_output_variance("independent"),
        judge=within(-5.0, 5.0, predicted=0.0),
        controls=(Control("coupled initialisation", _output_variance("coupled")),),
    ),
    Claim(
        name="x5-converge",
        reference="Definitions 4.2 and 4.3, experiment X5",
        kind="comparison",
        statement="Both initialisations reach ε within 5000 steps, in every seed and at every width.",
        reads=("x5-initialisation",),
        evidence=_hits,
        judge=at_most(5000.0, by="every"),
        controls=(Control("frozen weights: the initial record", _untrained_hits),),
    ),
    Claim(
        name="x5-drift-ratio",
        reference="Definitions 4.2 and 4.3, experiment X5",
        kind="comparison",
        statement="With independent initialisation the weights move more than ten times as far as with the coupled one "
        "(median over seeds of the paired ratio), at m = 256 and 1024.",
        reads=("x5-initialisation",),
        evidence=_drift_ratio("independent"),
        judge=at_least(10.0, by="median", strict=True),
        controls=(Control("coupled in both places", _drift_ratio("coupled")),),
    ),
    Claim(
        name="x5-not-lazy",
        reference="erratum 15, experiment X5",
        kind="comparison",
        statement="With independent initialisation training is not lazy: the median largest drift is at least 0.3 at "
        "every width.",
        reads=("x5-initialisation",),
        evidence=_drifts("independent"),
        judge=at_least(0.3, by="median"),
        controls=(Control("coupled initialisation", _drifts("coupled")),),
    ),
)
