"""The margins of Figure 3.2."""

from __future__ import annotations

from typing import Any

import xarray as xr

import lemmata as lm


@lm.evidence("f32-margins")
def drawn_margins(data: xr.Dataset, label: int = 1) -> dict[str, Any]:
    """Δ_n(1) and Δ_n(2) of the node."""
    return {"measured": lm.cells(data, label=label).margin.isel(distance=[1, 2]), "predicted": [-2.0, 3.0]}


CLAIMS = (
    lm.Claim(
        "f32-margins",
        "Figure 3.2",
        "identity",
        "The node of Figure 3.2 has winning margins -2 at distance 1 and 3 at distance 2.",
        drawn_margins(),
        lm.equal(0.0),
        lm.Control("y = -1", label=-1),
        source="figure",
    ),
)
