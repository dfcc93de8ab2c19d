"""What the claims share: values of one case of an experiment at some time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import xarray as xr

from lemmata.lab.claims import Evidence
from lemmata.lab.measures import stack
from lemmata.theories.graph_transformer.measures import at_time

CONFUSION = 0.05
"""ε_S of the default graph."""


def of(experiment: str, take: Callable[[xr.Dataset], Any], **case: Any) -> Evidence:
    """What `take` makes of one cell of an experiment."""
    return lambda datasets: take(datasets[experiment].sel(case, drop=True))


def value_at(experiment: str, name: str, time: float, **case: Any) -> Evidence:
    """A variable at some η t, in one cell of an experiment."""
    return of(experiment, lambda data: at_time(data, data[name], time), **case)


def each(evidences: dict[str, Evidence], dim: str) -> Evidence:
    """The evidence of several cells as criteria along one named dimension."""
    return lambda datasets: stack({name: take(datasets) for name, take in evidences.items()}, dim)
