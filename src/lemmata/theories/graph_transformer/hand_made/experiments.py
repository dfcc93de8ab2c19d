"""The drawing of a winning margin (Figure 3.2), and the claim that the margins are those of the paper."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.hand_made.data import EDGES, PATTERN, HandSetting, count_margins

KINDS = (r"pattern $\mu_1$ (label $+1$)", r"pattern $\mu_2$ (label $-1$)", "node $n$, other pattern")
PRINTED = {1: -2, 2: 3}
"""The margins of the paper at label +1."""


def positions() -> np.ndarray:
    """The node in the middle, its neighbours on the inner circle, theirs on the outer one, near those they hang on."""
    turn = np.pi / 2 * np.array([1, 0, -1, -2, 1, 0, -1, -2, -2]) + np.array([0, 0, 0, 0, 0, 0, 0, -0.25, 0.25])
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.repeat([1, 2], [4, 5])[:, None] * around])


def hand_margins(data: xr.Dataset) -> Figure:
    """One drawing for every label of the node; measured margins beside the paper's."""
    figure, axes = draw.panels(data.sizes["label"], height=4.9)
    for ax, label in zip(axes, data.label.values, strict=True):
        _draw(ax, int(label), data.margin.sel(label=label).isel(seed=0).values)
    return figure


def _draw(ax: Axes, label: int, margin: np.ndarray) -> None:
    place = positions()
    ax.grid(False)
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    for z in (1, 2):
        ax.add_patch(Circle((0, 0), z, fill=False, edgecolor="#bdbdbd", linestyle="--", linewidth=1))
        words = rf"distance {z}: $\Delta_n({z})$ = {_whole(margin[z])}"
        words += f"  (paper: {_whole(PRINTED[z])})" if label == 1 else ""
        ax.text(0, -2.15 - 0.35 * z, words, fontsize=10, **centred)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        turn = z * np.sqrt(0.5)
        ax.text(turn, turn, f"distance {z}", fontsize=8, color=draw.GREY, bbox=box, **centred)
    for edge in EDGES:
        ax.plot(*place[edge].T, color="#8a8a8a", linewidth=1.2, zorder=1)
    for kind, (words, color) in enumerate(zip(KINDS, (draw.BLUE, draw.RED, draw.GREY), strict=True)):
        mine = place[np.minimum(PATTERN, 2) == kind]
        ax.plot(*mine.T, "o", color=color, markersize=17, markeredgecolor="white", label=words, zorder=2)
    for node, (x, y) in enumerate(place):
        name = "$n$" if node == 0 else rf"$\mu_{PATTERN[node] + 1}$"
        ax.text(x, y, name, color="white", fontsize=9, zorder=3, **centred)
    relevant = 1 if label == 1 else 2
    ax.set(xlim=(-3.0, 3.0), ylim=(-3.0, 2.5), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    title = rf"$y_n$ = {'+' if label > 0 else '−'}1: $\mu_{relevant}$ is class-relevant, $\mu_{3 - relevant}$ confuses"
    draw.finish(ax, title, legend=3, markerscale=0.5)


def _whole(value: float) -> str:
    return f"{value:.0f}".replace("-", "−") if np.isfinite(value) else "none"


@lm.evidence("f32-margins")
def drawn_margins(data: xr.Dataset, label: int = 1) -> dict[str, Any]:
    """Δ_n(1) and Δ_n(2) of the node."""
    return {"measured": lm.cells(data, label=label).margin.isel(distance=[1, 2]), "predicted": [-2.0, 3.0]}


CLAIMS = (
    lm.Claim("f32-margins", "Figure 3.2", "identity", source="figure")
    .states("The node of Figure 3.2 has winning margins -2 at distance 1 and 3 at distance 2.")
    .in_symbols(r"\Delta_n(1) = -2,\ \Delta_n(2) = 3")
    .judged(drawn_margins(), lm.equal(0.0), lm.Control("y = -1", label=-1)),
)

asks = lm.asking({"f32-margins": "Figure 3.2: What is a winning margin?"}, kind=HandSetting, simulation=count_margins)
EXPERIMENTS = (asks("f32-margins", hand_margins, seeds=1, paper_seeds=1)(label=[1, -1]),)
