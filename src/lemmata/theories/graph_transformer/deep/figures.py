"""Figures 3.8 and 3.9, B.7 and B.8: what the distance encoding learns on real graphs, and what it is good for."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.real_graphs.setting import NAMES

SAMPLERS = {"stratified": "near shells and some of the graph", "whole": "whole graph, as printed"}


def budgets(data: xr.Dataset) -> Figure:
    """Accuracy against the number of labelled nodes, one panel for each graph."""
    figure, axes = draw.panels(data.sizes["graph"], width=5.6, height=4.4)
    for ax, graph in zip(axes, data.graph.values, strict=True):
        part = data.sel(graph=graph)
        nodes = part.labelled_nodes.mean(("seed", "variant")).values
        words = {b: f"{n:.0f} ({b})" for b, n in zip(part.budget.values.tolist(), nodes, strict=True)}
        draw.groups(ax, part.test_accuracy, "budget", "variant", words=words, markersize=4)
        ax.plot(part.chance.mean(("seed", "variant")), ":", color=draw.GREY, label="most frequent class")
        title = f"{_title(data, graph)}\npaper: GT+PE above GT and above GCN"
        draw.finish(ax, title, "accuracy on the other nodes", "labelled nodes")
    return figure


def distances(data: xr.Dataset) -> Figure:
    """b_z of the last layer beside the accuracy of attending to distance z only, one row for each graph."""
    figure, axes = draw.panels(2 * data.sizes["graph"], rows=data.sizes["graph"], height=4.2)
    bins = data.sizes["bin"]
    for left, right, graph in zip(axes[::2], axes[1::2], data.graph.values, strict=True):
        part = data.sel(graph=graph).assign_coords(bin=np.arange(bins))
        alone = lm.cells(part, sampler="single").test_accuracy
        draw.curves(
            right, alone, "variant", x=alone.distance.values, label="keys at distance $z$ only", color=draw.GREEN
        )
        inside = alone.isel(variant=alone.distance.values < bins)  # b has entries for z = 0 ... Z - 1
        shared = {}
        for i, (sampler, words) in enumerate(SAMPLERS.items()):
            color = draw.look(i).color
            chosen = part.isel(variant=part.sampler.values == sampler)
            bias = chosen.distance_bias.isel(bin=slice(1, None))
            draw.curves(left, bias, "bin", label=f"keys: {words}", color=color, marker=draw.look(i).marker)
            at = bias.sel(bin=inside.distance.values.astype(int)).mean(("seed", "variant"))
            shared[sampler] = lm.spearman(inside.mean("seed").values, at.values)
            level = float(chosen.test_accuracy.mean())
            right.axhline(level, color=color, linestyle="--", linewidth=1, label=f"GT+PE, {sampler}: {level:.3f}")
        guess = float(part.chance.mean())
        right.axhline(guess, color=draw.GREY, linestyle=":", label=f"most frequent class: {guess:.3f}")
        left.axhline(0, color=draw.GREY, linewidth=0.8)
        for ax in (left, right):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        title = f"{_title(data, graph)}\nthe last bin stands for all larger distances"
        draw.finish(left, title, "$b_z$ of the last layer, mean of heads", "distance $z$", legend=1)
        words = ", ".join(f"{value:.2f} ({sampler})" for sampler, value in shared.items())
        title = f"paper: the trend of $b_z$\nrank correlation with it: {words}"
        draw.finish(right, title, "accuracy on the nodes without label", "distance $z$")
    return figure


def _title(data: xr.Dataset, graph: str) -> str:
    """Which graph, and how long was trained."""
    return f"{NAMES[graph]}: {float(data.last_step.max()):g} steps, {data.sizes['seed']} splits"
