"""The extensions (P21): absolute encodings, labels of whole graphs, four classes, GAT."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, colour, labels_of, panels, strip
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import (
    between,
    bins_of,
    claim,
    distances,
    end_words,
    legend,
    loss_scale,
    mean_of,
    names,
    over_time,
    path,
    predict,
    runs,
    up_to,
)

CHANCE = 0.5
WAYS: dict[str, tuple[str, str, str]] = {
    "with": ("with", BLUE, "-"), "zeroed": ("encoding zeroed", ORANGE, "--"),
    "permuted": ("patterns permuted", GREY, ":"),
}  # fmt: skip
ENCODINGS = {
    "laplacian": "Laplacian\neigenvectors",
    "walk": "return\nprobabilities",
    "degree": "degree",
    "centroid": "distance to\nthe centroid",
}
FOUR = {
    "per coordinate": ("loss of each coordinate", BLUE),
    "joint": ("joint loss, as printed", ORANGE),
    "permuted": ("distances permuted", GREY),
}
COORDINATES = {"first": (4, "o"), "second": (2, "s")}
"""The core distance of each coordinate's sequence."""


def _encoding_case(case: str) -> tuple[str, str]:
    """Encoding and way of a case of p21-absolute or p21-encodings."""
    if ", " in case:
        name, way = case.split(", ", 1)
        return name, way
    return "laplacian", next((way for way in WAYS if way in case), case)


def absolute(data: xr.Dataset) -> Figure:
    """Accuracy on other nodes of structures that were never labelled: along training, and at the end."""
    figure, (left, right) = panels(2, height=4.6)
    cells = {case: _encoding_case(case) for case in labels_of(data, "case")}
    kinds = list(dict.fromkeys(name for name, _ in cells.values()))
    ways = [way for way in WAYS if any(way == found for _, found in cells.values())]
    for case, (name, way) in cells.items():
        part = data.sel(case=case)
        words, tone, style = WAYS.get(way, (way, GREEN, "-."))
        color = tone if len(kinds) == 1 else colour(kinds.index(name))
        label = f"{words} encoding" if way == "with" else words
        path(left, part, part.other_accuracy, label if len(kinds) == 1 else f"{name}, {words}", color, linestyle=style)
        x = (ways.index(way) - (len(ways) - 1) / 2) * 0.26 if way in ways else 0.0
        strip(
            right, kinds.index(name) + x, at_end(part.other_accuracy), tone, label if name == kinds[0] else None,
            width=0.05,
        )  # fmt: skip
    for ax in (left, right):
        ax.axhline(CHANCE, color=GREY, linewidth=0.8)
        ax.set_ylim(0, 1.05)
        ax.set_ylabel("accuracy on held-out other nodes")
    for i in range(len(kinds)):
        said = i == 0
        between(right, i, 0.8, "document: the encoding carries the label (claimed: at least 0.8)" if said else None)
        between(
            right, i, 0.6, "document: controls at chance (at most 0.6)" if said else None, color=GREY, linestyle=":"
        )
    over_time(left, data)
    left.set_title("along training", fontsize=10)
    names(right, [ENCODINGS.get(kind, kind) for kind in kinds])
    right.set_title(end_words(data), fontsize=10)
    legend(left, 3 if len(kinds) > 1 else 2)
    legend(right, 1)
    return figure


def graph_labels(data: xr.Dataset) -> Figure:
    """Accuracy on test graphs with and without the encoding beside counting, the losses, and the encoding."""
    figure, axes = panels(3, width=3.55, height=4.5)
    ways = {1: ("with encoding", BLUE), 0: ("without encoding", ORANGE)}
    for i, trained in enumerate(data.train_b.values):
        part = data.isel(train_b=i)
        words, color = ways.get(int(trained), (f"encoding times {trained:g}", GREEN))
        path(axes[0], part, part.accuracy, words, color)
        path(axes[1], part, part.loss, f"{words}, test", color)
        path(axes[1], part, part.train_loss, f"{words}, training", color, linestyle=":")
        z = np.arange(bins_of(part))
        rows = at_end(part.distance_bias.transpose(..., "record")).transpose("seed", "bin").values[:, z]
        for seed, row in enumerate(rows):
            axes[2].plot(
                z, row, "o-", color=color, markersize=4, linewidth=0.9, alpha=0.7, label=words if seed == 0 else None
            )
    predict(axes[0], float(np.nanmean(data.counting_accuracy)), "document without: counting the patterns")
    claim(axes[0], 0.95, "claimed with: at least 0.95")
    axes[0].set_ylim(0, 1.05)
    axes[0].set_ylabel("accuracy on test graphs")
    axes[0].set_title("are graphs classified?", fontsize=10)
    axes[1].axhline(0, label="document with: 0", **PREDICTED)
    up_to(axes[1], 1.15)
    axes[1].set_ylabel("hinge loss")
    axes[1].set_title("losses", fontsize=10)
    for ax in axes[:2]:
        over_time(ax, data)
    axes[2].axhline(0, color=GREY, linewidth=0.8)
    distances(axes[2], bins_of(data) - 1, 0)
    axes[2].set_ylabel(f"$b_z$ {end_words(data)}, every seed a line")
    axes[2].set_title("encoding (label: layer 2 of the root)", fontsize=10)
    for ax in axes:
        legend(ax, 1)
    return figure


def four_classes(data: xr.Dataset) -> Figure:
    """Class accuracy, the two losses, and the encodings of both networks beside their core distances."""
    figure, axes = panels(4, rows=2, height=4.0)
    for i, case in enumerate(labels_of(data, "case")):
        part = data.sel(case=case)
        words, color = FOUR.get(case, (case, colour(i + 3)))
        path(axes[0], part, part.accuracy, words, color)
        path(axes[1], part, part.joint_loss, f"{words}: joint", color)
        path(axes[1], part, part.coordinate_loss, f"{words}: sum of both", color, linestyle=":")
        for ax, coordinate in zip(axes[2:], COORDINATES, strict=True):
            if coordinate in data.coordinate.values:
                _both(ax, part, coordinate, words, color)
    claim(axes[0], 0.93, "claimed: at least 0.93")
    axes[0].axhline(1, label="document: all classes right", **PREDICTED)
    axes[0].set_ylim(0, 1.06)
    axes[0].set_ylabel("class accuracy on test nodes")
    axes[0].set_title("both signs right", fontsize=10)
    claim(axes[1], 0.02, "claimed, joint: below 0.02")
    loss_scale(axes[1], 1e-3, 4.0)
    axes[1].set_ylabel("test loss")
    axes[1].set_title(r"joint loss max{1 − $y^\top F$, 0} and sum of both hinges", fontsize=10)
    for ax in axes[:2]:
        over_time(ax, data)
    for ax, (coordinate, (core, _)) in zip(axes[2:], COORDINATES.items(), strict=True):
        ax.axvline(core, label=f"document: largest at $z_m$ = {core}", **PREDICTED)
        ax.axhline(0, color=GREY, linewidth=0.8)
        distances(ax, bins_of(data) - 1)
        ax.set_ylabel(f"$b_z$ {end_words(data)}")
        ax.set_title(f"encoding of the {coordinate} coordinate's network", fontsize=10)
    for ax in axes:
        legend(ax)
    return figure


def _both(ax: Axes, part: xr.Dataset, coordinate: str, words: str, color: str) -> None:
    bias = part.distance_bias.sel(coordinate=coordinate)
    z = np.arange(1, bins_of(part))
    rows = at_end(bias.transpose(..., "record")).transpose("seed", "bin").values[:, z]
    runs(ax, z, rows, color, None)
    ax.plot(z, mean_of(xr.DataArray(rows, dims=("seed", "bin"))), color=color, linewidth=1.3, label=words)


def gat(data: xr.Dataset) -> Figure:
    """Losses of other nodes along training, and loss and accuracy at the end, by graph and kind of scores."""
    figure, axes = panels(3, width=3.55, height=5.1)
    cases = labels_of(data, "case")
    graphs = list(dict.fromkeys(case.split(", ")[0] for case in cases))
    styles: dict[str, tuple[str, str, dict[str, Any]]] = {
        "dot": ("products", "-", {"marker": "o"}), "additive": ("additive", "--", {"marker": "s"}),
    }  # fmt: skip
    said = set()
    for case in cases:
        graph, kind = case.split(", ", 1)
        words, line, mark = styles.get(kind, (f"products, {kind}", ":", {"marker": "^"}))
        color = RED if kind not in styles else colour(graphs.index(graph))
        part = data.sel(case=case)
        path(axes[0], part, part.other_loss, f"{_graph(graph)}, {words}", color, linestyle=line)
        place = graphs.index(graph) + {"dot": -0.24, "additive": 0.0}.get(kind, 0.24)
        tone = {"dot": BLUE, "additive": ORANGE}.get(kind, RED)
        label = None if kind in said else f"scores: {words}"
        said.add(kind)
        strip(axes[1], place, at_end(part.loss), tone, label, width=0.06, **mark)
        strip(axes[2], place, at_end(part.accuracy), tone, label, width=0.06, **mark)
    claim(axes[0], 0.9, f"claimed on {ZERO}: at least 0.9")
    up_to(axes[0], 1.15)
    over_time(axes[0], data)
    axes[0].set_ylabel("test loss of other nodes")
    axes[0].set_title("document: chance if the margin\nat distance 1 is zero", fontsize=9.5)
    loss_scale(axes[1], 1e-3, 3.0)
    axes[1].set_ylabel("test loss at the end")
    axes[1].set_title("document: small where $z_m$ = 1", fontsize=9.5)
    axes[2].set_ylim(0, 1.05)
    axes[2].axhline(CHANCE, color=GREY, linewidth=0.8)
    axes[2].set_ylabel("test accuracy at the end")
    axes[2].set_title("corrected: a negative margin\nis as good (+-+-)", fontsize=9.5)
    if "G1" in graphs:
        between(axes[1], graphs.index("G1"), 0.05, "claimed: below 0.05")
    if OPPOSITE in graphs:
        between(axes[2], graphs.index(OPPOSITE), 0.95, "claimed: at least 0.95")
    for ax in axes[1:]:
        names(ax, [_graph(graph) for graph in graphs])
    for ax in axes:
        legend(ax, 1)
    return figure


ZERO, OPPOSITE = "++--++--", "+-+-"


def _graph(graph: str) -> str:
    return "chapter's" if graph == "G1" else graph
