"""The width that suffices, against the number of points and against λ (X4)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.measures import frontier


@lm.evidence("x4-frontier-n")
def exponent(data: xr.Dataset, along: str, trained: int = 1) -> xr.DataArray:
    """The exponent of the width that suffices, in n or, along the angle of the pairs, in 1/λ (mean over seeds)."""
    edge = frontier(data, trained)
    if not np.isfinite(edge).all():
        raise lm.NotApplicable(f"the frontier lies above the grid at some {along}")
    x = data.samples if along == "samples" else 1 / data.limit_least.mean(("seed", "variant"))
    return lm.log_slopes(edge, along, x)


def _claim(name: str, along: str, words: str) -> lm.Claim:
    return lm.Claim(
        name,
        "Theorem 1.1, experiment X4",
        "bound",
        f"The width at which 90 % of the seeds reach ε within T grows at most like the square of {words}.",
        exponent.of(name)(along),
        lm.at_most(2.0),
        lm.Control("frozen weights", trained=0, expected=lm.INCONCLUSIVE),
    )


CLAIMS = (_claim("x4-frontier-n", "samples", "the number of points"), _claim("x4-frontier-lambda", "pair_angle", "1/λ"))
