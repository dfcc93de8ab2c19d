"""The edge of stability: monotone runs, catapults, flatter kernels (X6)."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_least, at_most
from lemmata.theories.exp_regression.claims.common import all_runs
from lemmata.theories.exp_regression.measures import classes, linear_classes

MONOTONE, CATAPULT = 0, 1


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


CLAIMS = (
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
)
