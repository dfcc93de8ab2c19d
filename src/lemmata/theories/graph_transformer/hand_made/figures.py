"""The drawing of a winning margin (Figure 3.2): a node, the nodes at distance 1 and 2, and their margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from lemmata.lab.figures import BLUE, GREY, ORANGE, panels
from lemmata.theories.graph_transformer.hand_made.data import EDGES, PATTERN

KINDS = (
    (r"pattern $\mu_1$ (label $+1$)", BLUE),
    (r"pattern $\mu_2$ (label $-1$)", ORANGE),
    ("node $n$, other pattern", GREY),
)
PRINTED = {1: -2, 2: 3}
"""The margins of the paper at label +1."""


def positions() -> np.ndarray:
    """The node in the middle, its neighbours on the inner circle, theirs on the outer one, near those they hang on."""
    place = np.zeros((len(PATTERN), 2))
    near = EDGES[EDGES[:, 0] == 0][:, 1]
    for i, node in enumerate(near):
        angle = np.pi / 2 - 2 * np.pi * i / len(near)
        beyond = EDGES[EDGES[:, 0] == node][:, 1]
        place[node] = np.cos(angle), np.sin(angle)
        for j, leaf in enumerate(beyond):
            turn = angle + 0.5 * (j - (len(beyond) - 1) / 2)
            place[leaf] = 2 * np.cos(turn), 2 * np.sin(turn)
    return place


def hand_margins(data: xr.Dataset) -> Figure:
    """One drawing for every label of the node; measured margins beside the paper's."""
    labels = [int(value) for value in data.label.values]
    figure, axes = panels(len(labels), width=5.2, height=5.2)
    for ax, label in zip(axes, labels, strict=True):
        _draw(ax, label, data.margin.sel(label=label).isel(seed=0).values)
        ax.legend(
            loc="lower center", ncols=3, fontsize=7.5, frameon=False, markerscale=0.5,
            columnspacing=1.0, handletextpad=0.2,
        )  # fmt: skip
    return figure


def _draw(ax: Axes, label: int, margin: np.ndarray) -> None:
    place = positions()
    ax.grid(False)
    for z in (1, 2):
        ax.add_patch(Circle((0, 0), z, fill=False, edgecolor="#bdbdbd", linestyle="--", linewidth=1))
        words = rf"distance {z}: $\Delta_n({z})$ = {_whole(margin[z])}"
        if label == 1:
            words += f"  (paper: {_whole(PRINTED[z])})"
        ax.text(0, {1: -2.5, 2: -2.85}[z], words, ha="center", va="center", fontsize=10)
        box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        turn = z * np.sqrt(0.5)
        ax.text(turn, turn, f"distance {z}", ha="center", va="center", fontsize=8, color=GREY, bbox=box)
    for one, other in EDGES:
        ax.plot(*place[[one, other]].T, color="#8a8a8a", linewidth=1.2, zorder=1)
    for kind, (words, color) in enumerate(KINDS):
        mine = np.minimum(PATTERN, 2) == kind
        ax.plot(*place[mine].T, "o", color=color, markersize=17, markeredgecolor="white", label=words, zorder=2)
    for node in range(len(PATTERN)):
        name = "$n$" if node == 0 else rf"$\mu_{PATTERN[node] + 1}$"
        x, y = place[node]
        ax.text(x, y, name, color="white", ha="center", va="center", fontsize=9, zorder=3)
    relevant = 1 if label == 1 else 2
    sign = _whole(label, plus=True)
    words = rf"$y_n$ = {sign}: $\mu_{relevant}$ is class-relevant, $\mu_{3 - relevant}$ confuses"
    # inside, since panels with equal scales leave no room around them
    ax.set_title(words, fontsize=10, y=1.0, pad=-10)
    ax.set_xlim(-3.0, 3.0)
    ax.set_ylim(-3.35, 2.65)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


def _whole(value: float, plus: bool = False) -> str:
    return f"{value:{'+' if plus else ''}.0f}".replace("-", "−") if np.isfinite(value) else "none"
