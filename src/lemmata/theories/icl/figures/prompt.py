"""One short prompt and what the trained network makes of it (figure 6.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

from lemmata import figures as draw
from lemmata.theories.icl.measures import DEFAULT

TOP = 0.95
"""Where arrows begin and end: just above the boxes."""
COLORS = {1: draw.BLUE, -1: draw.RED, 0: draw.GREY}
SIGNS = {1: "+1", -1: "−1", 0: "0"}
PAPER = (
    "paper: attention concentrates on contexts with the query's pattern\n"
    r"($\mu$: relevant, $\nu$: irrelevant patterns); their label decides the output"
)


def prompt(data: xr.Dataset) -> Figure:
    """Contexts and query as boxes, arrows from the query to every context as wide as its attention, and the output."""
    first = data.isel(seed=0)
    figure, (ax,) = draw.panels(1, width=10.0, height=4.6)
    inputs, attention = first.coefficients.values, first.attention.values
    relevant = np.argmax(np.nan_to_num(inputs[:, : DEFAULT.patterns]), axis=1)
    count = len(attention)
    places = np.arange(count + 1) * 2.4
    for i, label in enumerate(map(_sign, first.context_label.values)):
        title = f"context {i + 1}" + (": the query's pattern" if relevant[i] == relevant[-1] else "")
        _box(ax, places[i], title, decompose(inputs[i]), f"label $f(x_{i + 1})$ = {SIGNS[label]}", COLORS[label])
        _arrow(ax, places[-1] - 0.25 * i, places[i], 0.15 + 0.42 * (count - i), float(attention[i]))
    _box(ax, places[-1], "query", decompose(inputs[-1]), "label: asked for", draw.GREY)
    output, truth = float(first.output), _sign(first.label)
    verdict = "right" if _sign(output) == truth else "wrong"
    words = f"output $F$ = {output:+.2f}\ntruth $z$ = {SIGNS[truth]}: {verdict}".replace("-", "−")
    how: dict[str, Any] = {"ha": "center", "va": "top"}
    ax.text(places[-1], -0.75, words, fontsize=11, color=COLORS[_sign(output)], fontweight="bold", **how)
    ax.text(places[:-1].mean(), -0.75, PAPER, fontsize=9, **how)
    ax.set_xlim(-1.25, places[-1] + 1.25)
    ax.set_ylim(-1.4, TOP + 0.3 + 0.42 * count)
    ax.set_axis_off()
    draw.finish(ax, "a prompt of an unseen task, and the attention of a trained network (first seed)")
    return figure


def decompose(row: np.ndarray, patterns: int = DEFAULT.patterns, least: float = 5e-3) -> str:
    """An input as a combination of relevant and irrelevant patterns, in mathematical type."""
    terms = ""
    for k in np.flatnonzero(np.abs(row) > least):
        name = rf"\mu_{{{k + 1}}}" if k < patterns else rf"\nu_{{{k + 1 - patterns}}}"
        size = abs(float(row[k]))
        factor = "" if abs(size - 1) < least else f"{size:.2f}\\,"
        terms += ("-" if row[k] < 0 else "+" if terms else "") + factor + name
    return f"${terms or 0}$"


def _sign(value: float) -> int:
    return int(np.sign(np.nan_to_num(value)))


def _box(ax: Axes, x: float, title: str, content: str, label: str, color: str) -> None:
    how = {"boxstyle": "round,pad=0.08", "facecolor": color, "alpha": 0.12, "edgecolor": color, "linewidth": 1.5}
    ax.add_patch(FancyBboxPatch((x - 0.95, -0.5), 1.9, 1.3, **how))
    for y, words, size, ink in ((0.68, title, 9, "black"), (0.2, content, 14, "black"), (-0.3, label, 10, color)):
        ax.text(x, y, words, ha="center", va="center", fontsize=size, color=ink)


def _arrow(ax: Axes, start: float, end: float, height: float, attention: float) -> None:
    """An arc from the query to a context; its width is the attention, and the number stands beside its head."""
    share = float(np.nan_to_num(attention))
    bend = [(start, TOP), ((start + end) / 2, TOP + 2 * height), (end, TOP)]
    arc = Path(bend, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    how: dict[str, Any] = {"mutation_scale": 12 + 8 * share, "linewidth": 0.8 + 6 * share, "alpha": 0.35 + 0.55 * share}
    ax.add_patch(FancyArrowPatch(path=arc, arrowstyle="-|>", color="black", **how))
    ax.text(end - 0.15, TOP + 0.08, f"attention\n{attention:.3f}", ha="right", va="bottom", fontsize=10)
