"""Attention on class-relevant nodes along training (Figure 3.5)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import TIME

COLORS = {"discriminative": draw.GREEN, "other": draw.ORANGE, "all": draw.BLUE}
GRAPHS = {-1: "default graph", 0: "graph as printed"}


def attention(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Attention on class-relevant keys and on all others, one panel for a margin of the loss and a graph."""
    rows, columns = data.sizes["intra_degree"], data.sizes["margin"]
    figure, axes = draw.panels(rows * columns, rows=rows, height=4.1)
    cells = itertools.product(data.intra_degree.values, data.margin.values)
    for ax, (intra, margin) in zip(axes, cells, strict=True):
        part = data.sel(intra_degree=intra, margin=margin)
        rest = 1 - part.relevant_mass.sel(group="all")
        draw.paths(ax, part, "relevant_mass", "group", "{} nodes", COLORS, clock=part.time)
        draw.paths(ax, part, rest, label="all nodes, every other key", color=draw.GREY, clock=part.time)
        draw.predicted(ax, 1.0, "paper: close to 1, others to 0")
        draw.predicted(ax, 0.0, None)
        draw.claimed(ax, claims["f35-close-to-one"], words="claimed, all nodes")
        ax.set_ylim(-0.04, 1.06)
        graph = GRAPHS.get(int(intra), f"{intra:g} edges inside a pattern")
        draw.finish(ax, f"margin {margin:g} of the training loss, {graph}", "attention on class-relevant keys", TIME)
    return figure
