"""Figures 3.8 and 3.9, B.7 and B.8: what the distance encoding learns on real graphs, and what it is good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, RED, curve, dodge, legend_below, panels
from lemmata.lab.intervals import mean_interval, spearman

TITLES = {
    "standin": "stand-in: drawn citation graph", "cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed",
    "actor": "Actor", "pascal": "PascalVOC-SP, graph 1", "arxiv": "Ogbn-Arxiv",
}  # fmt: skip
SAMPLERS = {"stratified": ("near shells and some of the graph", ORANGE), "whole": ("whole graph (literal)", BLUE)}
STYLES: dict[str, dict[str, Any]] = {
    "GT+PE, stratified": {"color": ORANGE, "marker": "o"},
    "GT, stratified": {"color": ORANGE, "marker": "o", "linestyle": "--", "markerfacecolor": "white"},
    "GT+PE, whole": {"color": BLUE, "marker": "s"},
    "GT, whole": {"color": BLUE, "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    "GCN": {"color": GREEN, "marker": "^"},
}


def budgets(data: xr.Dataset) -> Figure:
    """Accuracy against the number of labelled nodes, one panel for each graph."""
    figure, axes = panels(data.sizes["graph"], width=5.6, height=4.4)
    names = [name for name in STYLES if name in data.variant.values]
    for ax, graph in zip(axes, data.graph.values, strict=True):
        part = data.sel(graph=graph)
        place = np.arange(part.sizes["budget"])
        for name, shift in zip(names, dodge(len(names), 0.4), strict=True):
            _means(ax, part.test_accuracy.sel(variant=name), place + shift, name)
        guess = part.chance.mean(("seed", "variant"))
        ax.plot(place, guess, color=GREY, linestyle=":", label="most frequent class")
        nodes = part.labelled_nodes.mean(("seed", "variant")).values
        labels = [f"{n:.0f} ({b})" for b, n in zip(part.budget.values, nodes, strict=True)]
        ax.set_xticks(place, labels, fontsize=7.5)
        ax.set_xlim(-0.4, len(place) - 0.6)
        ax.set_xlabel("labelled nodes")
        ax.set_title(f"{_title(data, graph)}\ndocument: GT+PE above GT and above GCN", fontsize=9)
        legend_below(ax, fontsize=8)
    axes[0].set_ylabel("accuracy on the other nodes, 95 % interval")
    return figure


def distances(data: xr.Dataset) -> Figure:
    """b_z of the last layer beside the accuracy of attending to distance z only, one row for each graph."""
    figure, axes = panels(2 * data.sizes["graph"], rows=data.sizes["graph"], width=5.6, height=4.2)
    single = [str(name) for name in data.variant.values if str(name).startswith("z=")]
    z = np.asarray([int(name[2:]) for name in single])
    inside = z < data.sizes["bin"]  # b has entries for z = 0 ... Z - 1
    for row, graph in enumerate(data.graph.values):
        left, right = axes[2 * row : 2 * row + 2]
        part = data.sel(graph=graph)
        alone = part.test_accuracy.sel(variant=single)
        curve(right, alone, z, "distance $z$ only", RED)
        shared = {}
        for sampler, (words, color) in SAMPLERS.items():
            chosen = part.sel(variant=f"GT+PE, {sampler}")
            bias = chosen.distance_bias.isel(bin=slice(1, None))
            curve(left, bias, np.arange(1, data.sizes["bin"]), f"keys: {words}", color, markersize=4)
            shared[sampler] = spearman(alone.mean("seed").values[inside], bias.mean("seed").values[z[inside] - 1])
            level = float(chosen.test_accuracy.mean())
            right.axhline(level, color=color, linestyle="--", linewidth=1, label=f"GT+PE, {sampler}: {level:.3f}")
        guess = float(part.chance.mean())
        right.axhline(guess, color=GREY, linestyle=":", label=f"most frequent class: {guess:.3f}")
        left.axhline(0, color=GREY, linewidth=0.8)
        left.set_ylabel("$b_z$ of the last layer, mean of heads")
        right.set_ylabel("accuracy on the nodes without label")
        left.set_title(f"{_title(data, graph)}\nthe last bin stands for all larger distances", fontsize=9)
        words = ", ".join(f"{value:.2f} ({sampler})" for sampler, value in shared.items())
        right.set_title(f"paper: the trend of $b_z$\nrank correlation with it: {words}", fontsize=9)
        for ax in (left, right):
            ax.set_xlabel("distance $z$")
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set_xlim(0.4, max(z.max(), data.sizes["bin"] - 1) + 0.6)
            legend_below(ax, fontsize=8)
    return figure


def _title(data: xr.Dataset, graph: str) -> str:
    """Which graph, and how long was trained."""
    return f"{TITLES[graph]}: {float(data.last_step.max()):g} steps, {data.sizes['seed']} splits"


def _means(ax: Axes, values: xr.DataArray, place: np.ndarray, name: str) -> None:
    """Every seed a faint point, their mean with its interval, joined by a line."""
    rows = values.transpose("seed", ...).values
    style = STYLES[name]
    known = [mean_interval(column) for column in rows.T]
    middle = np.asarray([estimate.value for estimate in known])
    ends = np.asarray([[e.value - e.low, e.high - e.value] for e in known]).T
    bars = np.where(np.isfinite(ends), ends, 0)  # one seed has no interval
    ax.errorbar(place, middle, bars, label=name, capsize=2.5, linewidth=1.2, markersize=5, **style)
    for row in rows:
        ax.plot(place, row, ".", color=style["color"], alpha=0.35, markersize=4)
