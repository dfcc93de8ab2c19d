"""The pattern of 6.1 in full matrices: one recursion for all teachers and bases, what breaks it, and temperature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.teacher_student.figures import named

TEACHERS = {"cnn": "CNN", "regular": "regular graph", "sts": "token selection", "supports": "random supports"}
"""Teachers with equal ‖V*‖²."""
RECURSION, OTHER = "recursion", "equal_sum"
POINTS: dict[str, Any] = {"linestyle": "none", "markersize": 5, "markerfacecolor": "none"}
TINY = 1e-17


def pattern(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """C_1 and p of every teacher and basis on the recursion, and the distance of all variants from it."""
    figure, (value, score, off) = draw.panels(3, width=4.6, height=4.4)
    data = named(data)
    for ax, name in ((value, "value"), (score, "score")):
        intact = data.sel(variant=draw.present(data, "variant", list(TEACHERS)))
        if intact.sizes["variant"]:
            draw.paths(ax, intact, name, "activation", clock=draw.positive(intact.step), marker="o", **POINTS)
        for variant in draw.present(data, "variant", [OTHER]):
            cells = data.sel(variant=variant).isel(activation=-1)
            words = f"control: other $\\|V^*\\|_F^2$, {cells.activation.item()}"
            draw.paths(ax, cells, name, "", words, draw.GREY, clock=draw.positive(cells.step), marker="x", **POINTS)
        for variant in draw.present(data, "variant", [RECURSION]):
            _recursions(ax, data.sel(variant=variant).isel(positions=0), name, "activation")
        draw.log_x(ax)
        bases = " and ".join(draw.labels_of(data, "positions"))
        title = f"{intact.sizes['variant']} teachers, bases {bases}: one recursion"
        symbol = "$C_1$ in $W_V=C_1V^*$" if name == "value" else "score $p$ on the supports"
        draw.finish(ax, title, symbol, "training step $t$")
    kept = [variant for variant in draw.labels_of(data, "variant") if variant not in (RECURSION, OTHER)]
    worst = np.maximum(data.worst_values, data.worst_scores).clip(TINY).sel(variant=kept)
    draw.groups(
        off, worst, "variant", label="every run", words=TEACHERS, sideways=True, middle="median", markersize=3.5
    )
    draw.claimed(off, claims["p1-pattern"], words="paper: teachers keep it; claimed", across=True)
    off.invert_yaxis()
    draw.log_x(off)
    words = r"largest $|W_V-C_1V^*|$ or $|S-$pattern$|$ at any step"
    draw.finish(off, "what keeps the pattern, and what breaks it", "", words)
    return figure


def _recursions(ax: Axes, data: xr.Dataset, name: str, by: str, pace: Any = 1.0) -> None:
    """The recursion of the first seed at every label of an axis, over t / pace."""
    for i, label in enumerate(data[by].values):
        cell = data.sel({by: label}).isel(seed=0)
        x = draw.positive(cell.step) / (pace.sel({by: label}) if isinstance(pace, xr.DataArray) else pace)
        draw.predicted(ax, cell[name], None if i else "paper: the recursion", x)


def temperature(data: xr.Dataset) -> Figure:
    """Scores over steps and over steps by temperature squared: full matrices on the recursion at every temperature."""
    figure, (plain, scaled) = draw.panels(2, width=5.2, height=4.2)
    for ax, pace, words in (
        (plain, xr.ones_like(data.temperature), "training step $t$"),
        (scaled, data.temperature**2, r"steps over squared temperature, $t/τ^2$"),
    ):
        for kind in draw.present(data, "dynamics", ["population"]):
            cells = data.sel(dynamics=kind)
            times = draw.positive(cells.step) / pace
            draw.paths(ax, cells, "score", "temperature", "full matrices, τ = {}", clock=times, marker="o", **POINTS)
        for kind in draw.present(data, "dynamics", [RECURSION]):
            _recursions(ax, data.sel(dynamics=kind), "score", "temperature", pace)
        draw.predicted(ax, float(1 / data.support_count.max()), "target $1/K$", **draw.CLAIMED)
        draw.log_x(ax)
        title = r"softmax of logits / (τ$\sqrt{D}$)" if ax is plain else "in its own time: phase 2 collapses"
        draw.finish(ax, title, "score $p$ on the supports", words)
    return figure
