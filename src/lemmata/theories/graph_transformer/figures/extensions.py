"""The extensions (P21): absolute encodings, GAT."""

from __future__ import annotations

from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, RED, colour, labels_of, panels, strip
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import (
    between,
    claim,
    end_words,
    legend,
    loss_scale,
    names,
    over_time,
    path,
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


def _encoding_case(case: str) -> tuple[str, str]:
    """Encoding and way of a case of p21-absolute or p21-encodings."""
    if ", " in case:
        name, way = case.split(", ", 1)
        return name, way
    return "laplacian", next((way for way in WAYS if way in case), case)


def absolute(data: xr.Dataset) -> Figure:
    """Accuracy on other nodes of structures that were never labelled: along training, and at the end."""
    figure, (left, right) = panels(2, height=4.6)
    cells = {case: _encoding_case(case) for case in labels_of(data, "variant")}
    kinds = list(dict.fromkeys(name for name, _ in cells.values()))
    ways = [way for way in WAYS if any(way == found for _, found in cells.values())]
    for case, (name, way) in cells.items():
        part = data.sel(variant=case)
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
        between(right, i, 0.8, "paper: the encoding carries the label (claimed: at least 0.8)" if said else None)
        between(right, i, 0.6, "paper: controls at chance (at most 0.6)" if said else None, color=GREY, linestyle=":")
    over_time(left, data)
    left.set_title("along training", fontsize=10)
    names(right, [ENCODINGS.get(kind, kind) for kind in kinds])
    right.set_title(end_words(data), fontsize=10)
    legend(left, 3 if len(kinds) > 1 else 2)
    legend(right, 1)
    return figure


def gat(data: xr.Dataset) -> Figure:
    """Losses of other nodes along training, and loss and accuracy at the end, by graph and kind of scores."""
    figure, axes = panels(3, width=3.55, height=5.1)
    cases = labels_of(data, "variant")
    graphs = list(dict.fromkeys(case.split(", ")[0] for case in cases))
    styles: dict[str, tuple[str, str, dict[str, Any]]] = {
        "dot": ("products", "-", {"marker": "o"}), "additive": ("additive", "--", {"marker": "s"}),
    }  # fmt: skip
    said = set()
    for case in cases:
        graph, kind = case.split(", ", 1)
        words, line, mark = styles.get(kind, (f"products, {kind}", ":", {"marker": "^"}))
        color = RED if kind not in styles else colour(graphs.index(graph))
        part = data.sel(variant=case)
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
    axes[0].set_title("paper: chance if the margin\nat distance 1 is zero", fontsize=9.5)
    loss_scale(axes[1], 1e-3, 3.0)
    axes[1].set_ylabel("test loss at the end")
    axes[1].set_title("paper: small where $z_m$ = 1", fontsize=9.5)
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
