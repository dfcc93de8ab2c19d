"""How far the gradient of a batch lies from the mean one (P16)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw
from lemmata.theories.graph_transformer.studies.batch_gradients import LIMIT

PARTS = {"W_O": "$W_O$", "W_V": "$W_V$", "W_K": "$W_K$", "W_Q": "$W_Q$", "b": "$b$"}
MOMENTS = {"start": "before training", "later": "after training"}
SIZE = "batch size $B$"


def batches(data: xr.Dataset) -> Figure:
    """Mean relative deviation of a batch gradient with its B^(-1/2), and how often it exceeds ε beside e^{-B ε²}."""
    figure, axes = draw.panels(4, rows=2, height=4.0)
    size = data["size"].values.astype(float)
    data = data.assign_coords(size=size, part=[PARTS[part] for part in draw.labels_of(data, "part")])
    grid = np.geomspace(size.min(), size.max(), 60)
    for (moment, words), above, below in zip(MOMENTS.items(), axes[:2], axes[2:], strict=True):
        cell = data.sel(moment=moment)
        draw.curves(above, cell.deviation, "size", "part")
        for i, part in enumerate(cell.part.values):
            mean = cell.deviation.sel(part=part).mean("seed")
            draw.law(above, size, mean, size**-0.5, r"paper: $\propto B^{-1/2}$" if i == 0 else None)
        copies = cell.copies.isel(part=0)
        draw.curves(above, copies, "size", label="$W_O$: $B$ copies of one node", color=draw.GREY, spread="", marker="")
        draw.log_y(above)
        draw.finish(above, f"deviation of a batch gradient, {words}", "mean relative deviation", SIZE, legend=3)
        draw.curves(below, cell.exceeds, "size", "part")
        draw.predicted(below, np.exp(-grid * LIMIT**2), r"paper: at most $e^{-B\epsilon^2}$", grid)
        draw.loss_scale(below)
        y = rf"share of batches beyond $\epsilon$ = {LIMIT:g}"
        draw.finish(below, f"how often it exceeds ε, {words}", y, SIZE, legend=3)
        draw.numbers(above, size)
        draw.numbers(below, size)
    return figure
