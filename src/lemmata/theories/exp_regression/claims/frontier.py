"""The width that suffices, against the number of points and against λ (X4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lemmata.lab.claims import INCONCLUSIVE, Claim, Control, Datasets, Evidence, NotApplicable
from lemmata.lab.judges import at_most
from lemmata.theories.exp_regression.measures import frontier, successes


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
        rates = successes(datasets[name].isel(variant=-1)).mean("seed")
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


CLAIMS = (
    _frontier_claim("x4-frontier-n", "samples", "the number of points", lambda data: data.samples),
    _frontier_claim(
        "x4-frontier-lambda",
        "pair_angle",
        "1/λ",
        lambda data: 1 / data.limit_least.mean(("seed", "variant")).transpose("pair_angle"),
    ),
)
