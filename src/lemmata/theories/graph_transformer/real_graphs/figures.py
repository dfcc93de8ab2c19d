"""The figures of the tables of real graphs: computed numbers beside the printed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lemmata.lab.figures import BLUE, GREY, ORANGE, PALETTE, dodge, legend_below, panels
from lemmata.theories.graph_transformer.real_graphs.setting import NAMES

PRINTED: dict[str, Any] = {
    "color": "black", "marker": "_", "markersize": 16, "markeredgewidth": 1.8, "linestyle": "none",
    "label": "printed in the paper",
}  # fmt: skip
COLORS = (*PALETTE, "#2a9d9d", "#c45c9c", "#9a9a2e", "#4d4d4d")


def _known_classes(data: xr.Dataset) -> xr.Dataset:
    return data.isel(seed=0).dropna("class", subset=["class_size"])


def _class_names(data: xr.Dataset) -> list[str]:
    sizes = data.class_size.values.astype(int)
    return [f"{c}\n{size}" for c, size in zip(data["class"].values, sizes, strict=True)]


def spectrum(data: xr.Dataset) -> Figure:
    """The leading eigenvalues of every class, and which share of the whole the first three hold."""
    data = _known_classes(data)
    figure, (left, right) = panels(2)
    for i, c in enumerate(data["class"].values):
        values = data.eigenvalue.sel({"class": c}).values
        values = np.where(values > 0, values, np.nan)
        left.plot(
            np.arange(1, len(values) + 1), values, ".-", color=COLORS[i % len(COLORS)], linewidth=1, label=f"class {c}"
        )
    left.set_yscale("log")
    left.set_xlabel("rank of the eigenvalue")
    left.set_ylabel(r"eigenvalue of $X_c^\top X_c/n_c$")
    legend_below(left, 4)
    right.bar(range(data.sizes["class"]), 100 * data.leading_share, color=BLUE, alpha=0.8, width=0.6)
    right.set_xticks(range(data.sizes["class"]), _class_names(data), fontsize=8)
    right.set_ylim(0, 100)
    right.set_xlabel("class, and its number of nodes")
    right.set_ylabel("three largest eigenvalues, % of all")
    return figure


def discriminative(data: xr.Dataset) -> Figure:
    """Per cent of every class, at both thresholds, beside the printed number."""
    data = _known_classes(data)
    figure, (ax,) = panels(1, width=6.4, height=4.2)
    place = np.arange(data.sizes["class"])
    ax.plot(place - 0.12, data.computed, "o", color=BLUE, label="computed")
    ax.plot(place + 0.12, data.quarter, "D", color=ORANGE, markersize=5, label=r"computed, angle below $\pi/4$")
    ax.plot(place - 0.12, data.printed, **PRINTED)
    for x, value in zip(place, data.computed.values, strict=True):
        ax.annotate(f"{value:.2f}", (x - 0.12, value), (0, 8), textcoords="offset points", ha="center", fontsize=7.5)
    ax.margins(y=0.2)
    ax.set_xlim(-0.6, len(place) - 0.4)
    ax.set_xticks(place, _class_names(data), fontsize=8)
    ax.set_xlabel("class, and its number of nodes")
    ax.set_ylabel("discriminative nodes, % of the class")
    legend_below(ax, 3)
    return figure


def margins(data: xr.Dataset) -> Figure:
    """Mean and normalised margins over distance, a line a graph."""
    data = data.isel(seed=0)
    figure, axes = panels(2)
    names = ("normalised", "margin")
    labels = (r"normalised margin (share of the shell)", r"mean winning margin $\bar\Delta(z)$ (nodes)")
    for ax, name, label in zip(axes, names, labels, strict=True):
        for graph, color in zip(data.graph.values, PALETTE, strict=False):
            row = data.sel(graph=graph)
            z, values, often = row.distance_value.values, row[name].values, row.reached.values >= 0.05
            ax.plot(z, values, "-", color=color, linewidth=1, alpha=0.6)
            ax.plot(z[often], values[often], "o", color=color, markersize=5, label=NAMES[str(graph)])
            ax.plot(z[~often], values[~often], "o", color=color, markersize=5, markerfacecolor="white")
        ax.axhline(0, color="black", linewidth=0.7)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("distance z")
        ax.set_ylabel(label)
    axes[1].set_yscale("symlog", linthresh=1)
    axes[1].set_ylim(*(2 * end for end in axes[1].get_ylim()))
    axes[0].plot([], [], "o", color=GREY, markerfacecolor="white", label="fewer than 5 % of the nodes reach it")
    legend_below(axes[0], 4)
    return figure


def core(data: xr.Dataset) -> Figure:
    """Four readings of table B.5 for every graph; the nearest to the printed number is ringed."""
    data = data.isel(seed=0)
    figure, (ax,) = panels(1, width=7.0, height=4.6)
    place = np.arange(data.sizes["graph"])
    offsets = dodge(data.sizes["reading"])
    for reading, offset, color in zip(data.reading.values, offsets, PALETTE, strict=False):
        row = data.sel(reading=reading)
        ax.plot(place + offset, row.computed, "o", color=color, label=str(reading))
        for x, value, z in zip(place + offset, row.computed.values, row.core.values, strict=True):
            if np.isfinite(value):
                ax.annotate(f"z={z:.0f}", (x, value), (0, -14), textcoords="offset points", ha="center", fontsize=7)
        near = row.nearest.values > 0
        ax.plot(
            (place + offset)[near], row.computed.values[near], "o", color="black", markerfacecolor="none", markersize=11
        )
    ax.plot([], [], "o", color="black", markerfacecolor="none", markersize=11, label="nearest to the printed number")
    wide = np.array([-0.33, 0.33])
    for i, value in enumerate(data.printed.values):
        ax.plot(
            i + wide, [value, value], color="black", linewidth=1.6, label="printed in the paper" if i == 0 else None
        )
    ax.margins(x=0.1)
    ax.set_ylim(0, 105)
    ax.set_xticks(place, [NAMES[str(graph)] for graph in data.graph.values])
    ax.set_ylabel(r"nodes with $\Delta_n(z_m) > 0$, %")
    legend_below(ax, 2)
    return figure


def statistics(data: xr.Dataset) -> Figure:
    """Nodes, edges, classes and features, computed and printed."""
    data = data.isel(seed=0)
    header = ["graph", *(str(name) for name in data.statistic.values)]
    return _sheet(header, _beside(data, "statistic", "{:,.0f}"))


def balance(data: xr.Dataset) -> Figure:
    """The numbers of table B.8, and the classes they come from."""
    data = data.isel(seed=0)
    figure, axes = panels(max(2, data.sizes["graph"] + 1), width=4.4, height=3.8)
    for ax, graph in zip(axes, data.graph.values, strict=False):
        row = data.sel(graph=graph).dropna("class", subset=["class_size"])
        average, gap, limit = row.computed.values
        ax.bar(row["class"].values, row.class_size, color=BLUE, alpha=0.8, width=0.6)
        ax.axhline(average, color="black", linewidth=1, label=f"average {average:.2f}")
        ax.axhspan(
            max(average - limit, 0),
            average + limit,
            color=ORANGE,
            alpha=0.15,
            zorder=0,
            label=r"within $10\sqrt{N}$ of it",
        )
        ax.set_ylim(0, 1.08 * max(average + limit, row.class_size.max()))
        ax.set_title(f"{NAMES[str(graph)]}: largest gap {gap:.2f}", fontsize=10)
        ax.set_xlabel("class")
        ax.set_ylabel("nodes")
        legend_below(ax, 2)
    _fill(axes[-1], ["graph", *(str(name) for name in data["quantity"].values)], _beside(data, "quantity", "{:.2f}"))
    return figure


def _beside(data: xr.Dataset, dimension: str, form: str) -> list[list[str]]:
    """A row of computed numbers and a row of printed ones for every graph."""
    rows = []
    for graph in data.graph.values:
        for kind in ("computed", "printed"):
            values = data[kind].sel(graph=graph).transpose(dimension).values
            rows.append([f"{NAMES[str(graph)]}, {kind}", *(form.format(v) if np.isfinite(v) else "–" for v in values)])
    return rows


def _sheet(header: list[str], rows: list[list[str]]) -> Figure:
    figure, (ax,) = panels(1, width=1.5 * len(header), height=0.6 + 0.34 * (len(rows) + 1))
    _fill(ax, header, rows)
    return figure


def _fill(ax: Axes, header: list[str], rows: list[list[str]]) -> None:
    """A table in the place of a panel."""
    ax.axis("off")
    widths = [1.7, *([1.0] * (len(header) - 1))]
    table = ax.table(rows, colLabels=header, loc="center", cellLoc="right", colWidths=[w / sum(widths) for w in widths])
    table.auto_set_font_size(False)
    table.set_fontsize(7.5)
    table.scale(1, 1.45)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#d0d0d0")
        cell.visible_edges = "B" if row else "BT"
        cell.get_text().set_horizontalalignment("right" if column else "left")
        if row == 0:
            cell.get_text().set_fontweight("bold")
        elif row % 2 == 0:
            cell.get_text().set_color(GREY)
