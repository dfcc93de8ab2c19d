"""Evidence made by hand for the judges."""

from __future__ import annotations

import math
from typing import Any

import xarray as xr

from lemmata.lab.claims import INCONCLUSIVE, NotApplicable

LOW, HIGH = 7.5158625, 12.4841375
inf, nan = math.inf, math.nan


def seeds(*values: float) -> xr.DataArray:
    """One criterion, one value per seed."""
    return xr.DataArray(list(values), dims="seed")


def table(cells: dict[Any, list[float]], dim: str = "x") -> xr.DataArray:
    """One row of seeds per label."""
    return xr.DataArray(list(cells.values()), dims=(dim, "seed"), coords={dim: list(cells)})


NINE_TO_ELEVEN = seeds(9, 10, 11)


def judged(judge: Any, evidence: Any) -> str:
    """The outcome, where evidence that cannot be taken is inconclusive."""
    try:
        return judge(evidence).outcome
    except NotApplicable:
        return INCONCLUSIVE
