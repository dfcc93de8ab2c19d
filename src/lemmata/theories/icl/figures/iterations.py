"""Iterations by the axis of every sweep, and the claimed law (P2; over α figure E.1, right)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.setting import REACHED

AXES: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray]]] = {
    "step_size": (r"step size $\eta$", r"\eta^{-1}", lambda x: x**-1.0),
    "fraction": (r"decisive share $\alpha$", r"\alpha^{-2/3}", lambda x: x ** (-2 / 3)),
    "pattern_norm": (r"pattern norm $\beta$", r"\beta^{-2/3}", lambda x: x ** (-2 / 3)),
    "relevant_patterns": (r"relevant patterns $M_1$", r"M_1\sqrt{\log M_1}", lambda x: x * np.sqrt(np.log(x))),
    "neurons": (r"neurons $m$", "m^0", np.ones_like),
    "initial_scale": (r"initial scale $\delta$", r"\delta^{-2/3}\ \mathrm{(E.62)}", lambda x: x ** (-2 / 3)),
}
"""The axis of every sweep: its words, and the claimed law of T* in it."""
TIME = rf"steps $T*$ to hinge loss < {REACHED:g}, unseen tasks"


def iterations(data: xr.Dataset) -> Figure:
    """T* over the axis of a sweep, its power law, and the claimed law through the centre of the runs."""
    axis = next(name for name in AXES if name in data.reached_step.dims)
    words, formula, law = AXES[axis]
    x, times = data[axis].values.astype(float), data.reached_step.transpose("seed", axis)
    figure, axes = draw.panels(2 if axis == "fraction" else 1)
    draw.curves(axes[0], times, axis, label="geometric mean", middle="geometric", linestyle="none", markersize=7)
    draw.law(axes[0], x, times.values, law(x), rf"paper: $\propto {formula}$")
    draw.fit(axes[0], x, times.values, draw.ORANGE)
    draw.numbers(axes[0], x)
    draw.log_y(axes[0])
    draw.finish(axes[0], f"iterations by {words}", TIME, words)
    if axis == "fraction":
        _straight(axes[1], x, times)
    return figure


def _straight(ax: Axes, alpha: np.ndarray, times: xr.DataArray) -> None:
    """Figure E.1, right: T* against α^(-2/3), where the paper has a straight line."""
    x = alpha ** (-2 / 3)
    draw.curves(ax, times, "fraction", label="mean over seeds", x=x, linestyle="none", markersize=7)
    try:
        fit = lm.line(x, times.values)
    except lm.CannotFit:
        pass
    else:
        ends = np.array([x.min(), x.max()])
        label = f"paper: a straight line (fit, $R^2$ = {fit.r_squared:.3f})"
        draw.predicted(ax, fit.intercept.value + fit.slope.value * ends, label, ends)
    draw.from_zero(ax)
    ax.set_xticks(x, [f"{value:.2f}" for value in x], fontsize=8)
    across = rf"$\alpha^{{-2/3}}$ ($\alpha$ from {alpha.max():g} to {alpha.min():g})"
    draw.finish(ax, "required iterations (Figure E.1, right)", TIME, across)
