"""Regimes of training: width frontier (X4), initialisation (X5), edge of stability (X6), activations (X7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_least, at_most, within
from lemmata.lab.measures import at_end
from lemmata.theories.exp_regression.claims.common import all_runs
from lemmata.theories.exp_regression.measures import FLOORS, classes, frontier, linear_classes, successes

MONOTONE, CATAPULT = 0, 1


def _exponent(name: str, along: str, x: Callable[[xr.Dataset], xr.DataArray]) -> Evidence:
    """The exponent of the frontier in x."""

    def evidence(datasets: Datasets) -> float:
        data = datasets[name]
        edge = frontier(data, along)
        if not np.isfinite(edge).all():
            raise NotApplicable(f"the frontier lies above the grid at some {along}")
        return float(np.polyfit(np.log(x(data).values), np.log(edge.values), 1)[0])

    return evidence


def _frozen(name: str, along: str) -> Evidence:
    """The same where the weights are frozen: a frontier exists only if they reach ε."""

    def evidence(datasets: Datasets) -> float:
        rates = successes(datasets[name].isel(network=-1)).mean("seed")
        if float(rates.min()) < 0.9:
            raise NotApplicable(f"the frontier lies above the grid at some {along}")
        return 0.0

    return evidence


def _frontier_claim(name: str, along: str, words: str, x: Callable[[xr.Dataset], xr.DataArray]) -> Claim:
    return Claim(
        name=name,
        reference="Theorem 1.1, experiment X4",
        kind="bound",
        statement=f"The width at which 90 % of the seeds reach ε within T grows at most like the square of {words}.",
        reads=(name,),
        evidence=_exponent(name, along, x),
        judge=at_most(2.0),
        controls=(Control("frozen weights", _frozen(name, along), INCONCLUSIVE),),
    )


def _initialisation(datasets: Datasets) -> xr.Dataset:
    return datasets["x5-initialisation"]


def _hits(datasets: Datasets) -> xr.DataArray:
    return all_runs(_initialisation(datasets).hit_step)


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


def _between(data: xr.Dataset, low: float, high: float) -> xr.Dataset:
    inside = (data.step_constant >= low) & (data.step_constant <= high)
    return data.sel(step_constant=data.step_constant[inside])


def _class(wanted: int, low: float, high: float, of: Callable[[xr.Dataset], xr.DataArray] = classes) -> Evidence:
    """1 where a run is of the wanted class, in every seed of c in [low, high]."""
    return lambda datasets: all_runs((of(_between(datasets["x6-stability"], low, high)) == wanted) * 1.0)


def _flattening(frozen: bool = False) -> Evidence:
    """c λ_max(H(T))/λ_max(H(0)) for 2.1 ≤ c ≤ 3; with a frozen kernel it is c."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = _between(datasets["x6-stability"], 2.1, 3)
        end = data.start_largest if frozen else data.end_largest
        return all_runs(data.step_constant * end / data.start_largest)

    return evidence


def _floor(activation: str, pair: str) -> Evidence:
    return lambda datasets: datasets["x7-activations"].final_square.sel(activation=activation, pair=pair)


def _floor_claim(pair: str, activation: str) -> Claim:
    floor = FLOORS[pair, activation]
    return Claim(
        name=f"x7-floor-{activation}",
        reference="experiment X7",
        kind="limit",
        statement=f"On {'two points of one direction' if pair == 'parallel' else 'an antipodal pair'} the loss of "
        f"{activation} cannot go below a closed form and converges to it: within 1 % of {floor:.3f} in every seed.",
        reads=("x7-activations",),
        evidence=_floor(activation, pair),
        judge=within(0.99 * floor, 1.01 * floor, by="every", predicted=floor),
        controls=(Control("generic data", _floor(activation, "generic")),),
    )


def _reaches(swap: bool = False) -> Evidence:
    """Steps to ε of exp on the three kinds of data; the control takes relu's cell on the parallel pair."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        hits = datasets["x7-activations"].hit_step
        exp = hits.sel(activation="exp", drop=True)
        if swap:
            exp = xr.where(exp.pair == "parallel", hits.sel(activation="relu", drop=True), exp)
        return exp

    return evidence


CLAIMS = (
    _frontier_claim("x4-frontier-n", "samples", "the number of points", lambda data: data.samples),
    _frontier_claim(
        "x4-frontier-lambda",
        "pair_angle",
        "1/λ",
        lambda data: 1 / data.limit_least.mean(("seed", "network")).transpose("pair_angle"),
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
    Claim(
        name="x6-monotone",
        reference="linearised dynamics, experiment X6",
        kind="ordering",
        statement="For mηλ_max ≤ 1.9 the error never exceeds 1.01 of its start, in every seed and at both widths.",
        reads=("x6-stability",),
        evidence=_class(MONOTONE, 0, 1.9),
        judge=at_least(1.0, by="every"),
        controls=(Control("c = 2.1", _class(MONOTONE, 2.1, 2.1)),),
    ),
    Claim(
        name="x6-catapult",
        reference="linearised dynamics, experiment X6",
        kind="ordering",
        statement="For 2.1 ≤ mηλ_max ≤ 3 the error first grows and then falls below 1e-3 of its start, in every seed "
        "and at both widths.",
        reads=("x6-stability",),
        evidence=_class(CATAPULT, 2.1, 3),
        judge=at_least(1.0, by="every"),
        controls=(Control("the linearised dynamics, which diverges", _class(CATAPULT, 2.1, 3, linear_classes)),),
    ),
    Claim(
        name="x6-flattening",
        reference="linearised dynamics, experiment X6",
        kind="bound",
        statement="A catapult ends where the step is stable: mηλ_max(H(T)) < 2 for 2.1 ≤ c ≤ 3, in every seed.",
        reads=("x6-stability",),
        evidence=_flattening(),
        judge=at_most(2.0, by="every", strict=True),
        controls=(Control("λ_max(H(0)) for λ_max(H(T)): a frozen kernel", _flattening(frozen=True)),),
    ),
    *(_floor_claim(pair, activation) for pair, activation in FLOORS),
    Claim(
        name="x7-exp",
        reference="experiment X7",
        kind="comparison",
        statement="The exponential network reaches ε on generic data, on the parallel and on the antipodal pair, in "
        "every seed.",
        reads=("x7-activations",),
        evidence=_reaches(),
        judge=at_most(4000.0, by="every"),
        controls=(Control("relu's cell on the parallel pair in place of exp's", _reaches(swap=True)),),
    ),
)
