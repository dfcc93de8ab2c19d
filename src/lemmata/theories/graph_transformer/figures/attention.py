"""Attention on class-relevant nodes along training (Figure 3.5)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, panels
from lemmata.theories.graph_transformer.figures.common import claim, legend, over_time, path, predict

GROUPS = {
    "discriminative": ("discriminative nodes", GREEN),
    "other": ("other nodes", ORANGE),
    "all": ("all labelled nodes", BLUE),
}
INTRA = {-1: "default graph", 0: "graph as printed"}


def attention(data: xr.Dataset) -> Figure:
    """Attention on class-relevant keys and on all others, one panel for a margin of the loss and a graph."""
    rows, columns = data.sizes["intra_degree"], data.sizes["margin"]
    figure, axes = panels(rows * columns, rows=rows, height=4.1)
    for i, intra in enumerate(data.intra_degree.values):
        for j, margin in enumerate(data.margin.values):
            ax = axes[i * columns + j]
            part = data.isel(intra_degree=i, margin=j)
            for group, (words, color) in GROUPS.items():
                if group in data.group.values:
                    path(ax, part, part.relevant_mass.sel(group=group), f"class-relevant: {words}", color)
            if "all" in data.group.values:
                path(ax, part, 1 - part.relevant_mass.sel(group="all"), "every other key: all labelled nodes", GREY)
            predict(ax, 1.0, r"paper: close to 1 and 0 ($\epsilon_S$ = 0)")
            predict(ax, 0.0, None)
            claim(ax, 0.9, "claimed: at least 0.9")
            ax.set_ylim(-0.04, 1.06)
            ax.set_yticks(np.linspace(0, 1, 6))
            ax.set_ylabel("attention")
            words = INTRA.get(int(intra), f"{intra:g} edges inside a pattern")
            ax.set_title(f"margin {margin:g} of the training loss, {words}", fontsize=10)
            over_time(ax, part)
            legend(ax)
    return figure
