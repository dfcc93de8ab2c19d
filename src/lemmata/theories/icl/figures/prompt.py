"""One short prompt and what the trained network makes of it (figure 6.1)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

from lemmata.lab.figures import BLUE, GREY, ORANGE, panels
from lemmata.theories.icl.figures import DEFAULT

TOP = 0.95
"""Where arrows begin and end: just above the boxes."""
LABEL_COLORS = {1: BLUE, -1: ORANGE}


def prompt(data: xr.Dataset) -> Figure:
    """Contexts and query as boxes, arrows from the query to every context as wide as its attention, and the output."""
    part = data.isel(seed=0)
    figure, (ax,) = panels(1, width=10.0, height=4.6)
    inputs = part.coefficients.values
    labels, attention = part.context_label.values, part.attention.values
    count = len(labels)
    places = np.arange(count + 1) * 2.4
    query = decompose(inputs[-1])
    for i in range(count):
        same = _relevant(inputs[i]) == _relevant(inputs[-1])
        title = f"context {i + 1}" + (": the query's pattern" if same else "")
        color = LABEL_COLORS.get(_sign(labels[i]), GREY)
        _box(ax, places[i], title, decompose(inputs[i]), f"label $f(x_{i + 1})$ = {_word(labels[i])}", color)
        away = count - i
        _arrow(ax, places[-1] - 0.25 * (count - away), places[i], 0.15 + 0.42 * away, float(attention[i]))
    _box(ax, places[-1], "query", query, "label: asked for", GREY)
    output, z = float(part.output), float(part.label)
    right = np.isfinite(output) and _sign(output) == _sign(z)
    verdict = "right" if right else "wrong"
    ax.text(
        places[-1], -0.75, f"output $F$ = {output:+.2f}".replace("-", "−") + f"\ntruth $z$ = {_word(z)}: {verdict}",
        ha="center", va="top", fontsize=11, color=LABEL_COLORS.get(_sign(output), GREY), fontweight="bold",
    )  # fmt: skip
    ax.text(
        places[:-1].mean(), -0.75,
        "paper: attention concentrates on contexts with the query's pattern\n"
        r"($\mu$: relevant, $\nu$: irrelevant patterns); their label decides the output",
        ha="center", va="top", fontsize=9, color="black",
    )  # fmt: skip
    ax.set_xlim(-1.25, places[-1] + 1.25)
    ax.set_ylim(-1.4, TOP + 0.3 + 0.42 * count)
    ax.set_axis_off()
    ax.set_title("a prompt of an unseen task, and the attention of a trained network (first seed)", fontsize=11)
    return figure


def decompose(row: np.ndarray, patterns: int = DEFAULT.patterns, least: float = 5e-3) -> str:
    """An input as a combination of relevant and irrelevant patterns, in mathematical type."""
    terms = []
    for k in sorted(np.flatnonzero(np.abs(row) > least), key=lambda k: (k >= patterns, k)):
        name = rf"\mu_{{{k + 1}}}" if k < patterns else rf"\nu_{{{k + 1 - patterns}}}"
        size = abs(float(row[k]))
        factor = "" if abs(size - 1) < least else f"{size:.2f}\\,"
        sign = "-" if row[k] < 0 else "+" if terms else ""
        terms.append(f"{sign}{factor}{name}")
    return f"${''.join(terms)}$" if terms else "$0$"


def _relevant(row: np.ndarray) -> int:
    return int(np.argmax(np.nan_to_num(row[: DEFAULT.patterns])))


def _sign(value: float) -> int:
    return int(np.sign(value)) if np.isfinite(value) else 0


def _word(value: float) -> str:
    return {1: "+1", -1: "−1"}.get(_sign(value), "0")


def _box(ax: Axes, x: float, title: str, content: str, label: str, color: str) -> None:
    how = {"boxstyle": "round,pad=0.08", "facecolor": color, "alpha": 0.12, "edgecolor": color, "linewidth": 1.5}
    ax.add_patch(FancyBboxPatch((x - 0.95, -0.5), 1.9, 1.3, **how))
    ax.text(x, 0.68, title, ha="center", va="center", fontsize=9)
    ax.text(x, 0.2, content, ha="center", va="center", fontsize=14)
    ax.text(x, -0.3, label, ha="center", va="center", fontsize=10, color=color)


def _arrow(ax: Axes, start: float, end: float, height: float, attention: float) -> None:
    """An arc from the query to a context; its width is the attention, and the number stands beside its head."""
    share = attention if np.isfinite(attention) else 0.0
    middle = (start + end) / 2
    arc = Path([(start, TOP), (middle, TOP + 2 * height), (end, TOP)], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    arrow = FancyArrowPatch(
        path=arc, arrowstyle="-|>", mutation_scale=12 + 8 * share, linewidth=0.8 + 6 * share, color="black",
        alpha=0.35 + 0.55 * share,
    )  # fmt: skip
    ax.add_patch(arrow)
    ax.text(end - 0.15, TOP + 0.08, f"attention\n{attention:.3f}", ha="right", va="bottom", fontsize=10)
