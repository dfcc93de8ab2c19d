"""The pattern of 6.1 in full matrices: one recursion for all teachers and bases, what breaks it, and temperature."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from lemmata.lab.figures import BLUE, GREEN, GREY, PREDICTED, RED, colour, labels_of, log_y, panels, present, strip
from lemmata.theories.teacher_student.figures import (
    CLAIM,
    PURPLE,
    by_slope,
    ends,
    legend,
    level,
    log_x,
    positive,
)

TEACHERS = {
    "cnn": ("CNN", "o"), "regular": ("regular graph", "s"), "sts": ("token selection", "^"),
    "supports": ("random supports", "D"),
}  # fmt: skip
"""Teachers with equal ‖V*‖², and their markers."""
RECURSION, OTHER = "recursion", "equal_sum"
TRACKED = (
    ("value", "$C_1$", r"scale of the values, $W_V=C_1V^*$"),
    ("score", "$p$", "score $p$ on the supports"),
    ("excess", r"$\mathcal{L}-\mathcal{L}_{opt}$", "excess loss"),
)
KEPT, BROKEN = 1e-10, 1e-3
"""Residuals below which the pattern is kept, and above which it is broken."""
TINY = 1e-17


def pattern(data: xr.Dataset) -> Figure:
    """C_1, p and excess of every teacher and basis on the recursion, and the residuals of all variants."""
    figure, axes = panels(4, rows=2, width=6.0, height=4.5)
    teachers = present(data, "variant", list(TEACHERS))
    for ax, (name, symbol, title) in zip(axes, TRACKED, strict=False):
        for variant in teachers:
            words, marker = TEACHERS[variant]
            _points(ax, data.sel(variant=variant), name, words, marker)
        if OTHER in labels_of(data, "variant"):
            _points(
                ax, data.sel(variant=OTHER), name, r"control: other $\|V^*\|_F^2$, equal $\sum\|v_m^*\|$", "x", GREY
            )
        if RECURSION in labels_of(data, "variant"):
            exact = data.sel(variant=RECURSION).isel(positions=0, seed=0)
            for i, (cell, _, _) in enumerate(by_slope(exact)):
                label = "paper: the recursion" if i == 0 else None
                ax.plot(positive(cell.step), cell[name], label=label, **{**PREDICTED, "linewidth": 1.2})
        for _, words, color in by_slope(data):
            ax.plot([], [], color=color, linewidth=5, alpha=0.6, label=words)
        log_x(ax)
        ax.set_ylabel(symbol)
        bases = " and ".join(labels_of(data, "positions"))
        ax.set_title(f"{title}\n{len(teachers)} teachers, bases {bases}, {data.sizes['seed']} seeds", fontsize=10)
        legend(ax, 3)
    log_y(axes[2])
    _residuals(axes[3], data)
    return figure


def _points(ax: Axes, data: xr.Dataset, name: str, words: str, marker: str, color: str | None = None) -> None:
    """All runs of a variant as open points in the colours of the activations; every teacher has its marker."""
    for i, (cell, _, own) in enumerate(by_slope(data)):
        y = cell[name].stack(run=("positions", "seed")).transpose("record", "run")
        x = positive(cell.step).stack(run=("positions", "seed")).transpose("record", "run")  # pyright: ignore[reportAttributeAccessIssue]
        ax.plot(
            x, y, marker=marker, color=color or own, linestyle="none", markersize=5, markerfacecolor="none", alpha=0.7,
            label=None,
        )  # fmt: skip
        if i == 0:
            ax.plot([], [], marker=marker, color=color or GREY, linestyle="none", markerfacecolor="none", label=words)


def _residuals(ax: Axes, data: xr.Dataset) -> None:
    """The largest distance of values and scores from the pattern at any step, by variant."""
    variants = [variant for variant in labels_of(data, "variant") if variant not in (RECURSION, OTHER)]
    kept = [variant for variant in variants if variant in TEACHERS]
    variants = kept + [variant for variant in variants if variant not in kept]
    for i, variant in enumerate(variants):
        cell = data.sel(variant=variant)
        worst = np.maximum(np.maximum(cell.worst_values, cell.worst_scores), TINY)
        color = BLUE if variant in kept else RED
        label = {0: "intact: every run", len(kept): "a broken assumption: every run"}.get(i)
        strip(ax, i, worst.values, color, label, sideways=True, median=True, markersize=3.5, alpha=0.5, width=0.15)
    ax.axvline(KEPT, label=f"paper: kept (claimed: below {KEPT:.0e})", **PREDICTED)
    ax.axvline(BROKEN, label=f"controls must exceed {BROKEN:.0e}", **CLAIM)
    ax.set_yticks(range(len(variants)), [TEACHERS[c][0] if c in TEACHERS else c.replace("_", " ") for c in variants])
    ax.invert_yaxis()
    ax.set_xscale("log")
    found = ends(data.worst_scores)
    ax.set_xlim(TINY / 3, max(30.0, 3 * found[1]) if found else 30.0)
    ax.xaxis.set_major_locator(LogLocator(numticks=10))
    ax.set_xlabel(r"largest entry of $|W_V-C_1V^*|$ or $|S-$pattern$|$ at any step")
    ax.set_title("distance of full matrices from the two-scalar recursion", fontsize=10)
    legend(ax, 2)


def temperature(data: xr.Dataset) -> Figure:
    """Scores over steps and over steps by temperature squared, and the excess, full matrices on the recursion."""
    figure, (left, middle, right) = panels(3, width=5.2, height=4.5)
    for i, heat in enumerate(data.temperature.values):
        cells = data.sel(temperature=heat)
        color = (BLUE, GREEN, PURPLE)[i] if i < 3 else colour(i)
        square = float(heat) ** 2
        for ax, name, pace in ((left, "score", 1.0), (middle, "score", square), (right, "excess", 1.0)):
            for kind in labels_of(data, "dynamics"):
                cell = cells.sel(dynamics=kind).isel(seed=0)
                x = positive(cell.step) / pace
                if kind == "population":
                    style = {"marker": "o", "linestyle": "none", "markersize": 4, "markerfacecolor": "none"}
                    ax.plot(x, cell[name], color=color, label=f"τ = {heat:g}", **style)
                else:
                    ax.plot(x, cell[name], label="paper: the recursion, at τ" if i == 0 else None, **PREDICTED)
    support = ends(data.support_count)
    for ax in (left, middle):
        if support is not None:
            level(ax, 1 / support[1], f"target $1/K$ = {1 / support[1]:.3g}")
        ax.set_ylabel("score $p$ on the supports")
        ax.set_title(r"softmax of logits / (τ$\sqrt{D}$)")
    middle.set_title("the same in its own time: phase 2 collapses")
    right.set_title("excess loss")
    right.set_ylabel(r"$\mathcal{L}-\mathcal{L}_{opt}$")
    log_y(right)
    for ax in (left, middle, right):
        log_x(ax, "training step $t$" if ax is not middle else r"training step over temperature squared, $t/τ^2$")
        legend(ax, 3)
    return figure
