"""The pattern of 6.1 in full matrices: one recursion for all teachers and bases, what breaks it, and temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.figures import DASHED, EXCESS, POINTS, SCORE, STEP, activations

TEACHERS = {"cnn": "CNN", "regular": "regular graph", "sts": "token selection", "supports": "random supports"}
"""Teachers with equal ‖V*‖²."""
RECURSION, OTHER = "recursion", "equal_sum"
TRACKED = (("value", "$C_1$ in $W_V=C_1V^*$", "values"), ("score", SCORE, "scores"), ("excess", EXCESS, "excess loss"))
LEAST = 1e-17


def pattern(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """C_1, p and excess of every teacher and basis on the recursion, and the distances of all variants from it."""
    figure, axes = draw.panels(4, rows=2, width=6.0, height=4.4)
    named, known = activations(data), draw.labels_of(data, "variant")
    for ax, (name, symbol, title) in zip(axes, TRACKED, strict=False):
        for i, teacher in enumerate(draw.present(data, "variant", list(TEACHERS))):
            marker = draw.look(i).marker
            draw.paths(ax, named.sel(variant=teacher), name, "activation", "", marker=marker, **POINTS)
            ax.plot([], [], color=draw.GREY, marker=marker, label=TEACHERS[teacher], linestyle="none")
        if OTHER in known:
            words = r"control: other $\|V^*\|_F^2$, equal $\sum\|v_m^*\|$"
            draw.paths(
                ax,
                data.sel(variant=OTHER, negative_slope=data.negative_slope[-1]),
                name,
                label=words,
                color=draw.GREY,
                marker="x",
                **POINTS,
            )
        if RECURSION in known:
            draw.paths(ax, named.sel(variant=RECURSION), name, "activation", "", **DASHED)
            draw.predicted(ax, [], "paper: the recursion", [])
        for i, words in enumerate(named.activation.values):
            ax.plot([], [], color=draw.look(i).color, linewidth=5, alpha=0.6, label=str(words))
        draw.log_x(ax)
        bases = " and ".join(draw.labels_of(data, "positions"))
        draw.finish(ax, f"{title} of all teachers, bases {bases}", symbol, STEP, legend=3)
    draw.log_y(axes[2])
    _distances(axes[3], data, claims)
    return figure


def _distances(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """The largest distance of values and scores from the pattern at any step, by variant."""
    known = [name for name in draw.labels_of(data, "variant") if name not in (RECURSION, OTHER)]
    known.sort(key=lambda name: name not in TEACHERS)
    worst = np.maximum(np.maximum(data.worst_values, data.worst_scores), LEAST)
    for i, name in enumerate(known):
        color, words = (draw.BLUE, "intact, every run") if name in TEACHERS else (draw.RED, "broken on purpose")
        shown = None if words in ax.get_legend_handles_labels()[1] else words
        draw.strip(ax, i, worst.sel(variant=name), color, shown, sideways=True, middle="median", markersize=3.5)
    draw.claimed(ax, claims["p1-pattern"], words="paper: kept; claimed", across=True)
    draw.names(ax, [TEACHERS.get(name, draw.word(name)) for name in known], sideways=True)
    ax.invert_yaxis()
    ax.set_xscale("log")
    draw.finish(
        ax,
        "distance of full matrices from the two-scalar pattern",
        "teacher or broken assumption",
        r"largest entry of $|W_V-C_1V^*|$ or $|S-$pattern$|$ at any step",
    )


def temperature(data: xr.Dataset) -> Figure:
    """Scores over steps and over steps by temperature squared, and the excess, full matrices on the recursion."""
    figure, axes = draw.panels(3, width=5.2, height=4.4)
    kinds = {kind: data.sel(dynamics=kind) for kind in draw.labels_of(data, "dynamics")}
    scaled = r"training step over temperature squared, $t/τ^2$"
    panels = (
        ("score", 0, SCORE, r"softmax of logits / (τ$\sqrt{D}$)", STEP),
        ("score", 2, SCORE, "the same in its own time: phase 2 collapses", scaled),
        ("excess", 0, EXCESS, "excess loss", STEP),
    )
    for ax, (name, power, symbol, title, x) in zip(axes, panels, strict=True):
        for kind, cells in kinds.items():
            clock = draw.positive(cells.step) / cells.temperature**power
            if kind == "population":
                draw.paths(ax, cells, name, "temperature", "τ = {}", clock=clock, marker="o", **POINTS)
            else:
                draw.paths(ax, cells, name, "temperature", "", clock=clock, **DASHED)
                draw.predicted(ax, [], "paper: the recursion at τ", [])
        if name == "score":
            draw.predicted(ax, float(1 / data.support_count.max()), "paper: $1/K$ at the end", color=draw.GREY)
        else:
            draw.log_y(ax)
        draw.log_x(ax)
        draw.finish(ax, title, symbol, x, legend=3)
    return figure
