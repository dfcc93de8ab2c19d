"""What the claims share: selected data of an experiment, behind the convergence gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.claims import Datasets, Evidence, NotApplicable
from lemmata.theories.icl.measures import require_trained

Take = Callable[[xr.Dataset], object]


def of_default(take: Take, variant: str = "intact") -> Evidence:
    """What `take` makes of one variant of p1-default, if the intact runs converged."""

    def evidence(datasets: Datasets) -> object:
        data = datasets["p1-default"]
        require_trained(data.seen_hinge.sel(variant="intact"))
        return take(data.sel(variant=variant, drop=True))

    return evidence


def of_experiment(name: str, take: Take, intact: Mapping[str, str | list[str]] | None = None) -> Evidence:
    """What `take` makes of an experiment, if the runs of its intact cells converged."""

    def evidence(datasets: Datasets) -> object:
        data = datasets[name]
        require_trained(data.seen_hinge.sel(intact or {}))
        return take(data)

    return evidence


def cells(data: xr.Dataset, **where: Any) -> xr.Dataset:
    """The cells with these coordinates; nothing is decided where the preset lacks one of them."""
    for name, wanted in where.items():
        absent = np.setdiff1d(wanted, data[name].values)
        if absent.size:
            raise NotApplicable(f"not in this preset: {name} = {', '.join(map(str, absent))}")
    return data.sel(where, drop=True)
