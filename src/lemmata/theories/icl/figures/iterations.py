"""Iterations by the axis of every sweep, and the claimed law (P2; over α figure E.1, right)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    ORANGE,
    PREDICTED,
    from_zero,
    log_numbers,
    log_times,
    panels,
)
from lemmata.lab.fits import line, power_law
from lemmata.lab.intervals import CannotFit
from lemmata.theories.icl.figures import legend, runs, signed
from lemmata.theories.icl.setting import REACHED

AXES: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray]]] = {
    "step_size": (r"step size $\eta$", r"\eta^{-1}", lambda x: x**-1.0),
    "fraction": (r"decisive share $\alpha$", r"\alpha^{-2/3}", lambda x: x ** (-2 / 3)),
    "pattern_norm": (r"pattern norm $\beta$", r"\beta^{-2/3}", lambda x: x ** (-2 / 3)),
    "relevant_patterns": (r"relevant patterns $M_1$", r"M_1\sqrt{\log M_1}", lambda x: x * np.sqrt(np.log(x))),
    "neurons": (r"neurons $m$", "1", np.ones_like),
    "initial_scale": (r"initial scale $\delta$", r"\delta^{-2/3}\ \mathrm{(E.62)}", lambda x: x ** (-2 / 3)),
}
"""The axis of every sweep: its words, and the claimed law of T* in it."""


def iterations(data: xr.Dataset) -> Figure:
    """T* over the axis of a sweep, its power law, and the claimed law through the centre of the runs."""
    axis = next(name for name in AXES if name in data.reached_step.dims)
    x = data[axis].values.astype(float)
    times = data.reached_step.transpose("seed", axis).values
    figure, axes = panels(2 if axis == "fraction" else 1, width=6.2, height=4.4)
    words, formula, law = AXES[axis]
    ax = axes[0]
    runs(ax, x, times, BLUE, "every run")
    centre = _centre(times)
    if np.isfinite(centre).any():
        ax.plot(x, centre, "o", color=BLUE, markersize=6, label="geometric mean")
        claimed = law(x)
        ax.plot(
            x,
            claimed * np.exp(np.nanmean(np.log(centre / claimed))),
            label=rf"paper: $\propto {formula}$",
            **PREDICTED,
        )
    _power(ax, x, times)
    log_numbers(ax, x, words)
    log_times(ax)
    ax.set_ylabel(rf"steps $T*$ to hinge < {REACHED:g} on unseen tasks")
    ax.set_title(f"iterations by {words}", fontsize=10)
    if axis == "fraction":
        _linear(axes[1], x, times)
    for ax in axes:
        legend(ax)
    return figure


def _centre(times: np.ndarray) -> np.ndarray:
    """Geometric mean over seeds where every run arrives."""
    arrives = np.isfinite(times).all(axis=0) & (times > 0).all(axis=0)
    return np.where(arrives, np.exp(np.log(np.where(arrives, times, 1.0)).mean(axis=0)), np.nan)


def _power(ax: Axes, x: np.ndarray, times: np.ndarray) -> None:
    try:
        fit = power_law(x, times)
    except CannotFit:
        return
    low, high = (signed(end) if np.isfinite(end) else "?" for end in (fit.exponent.low, fit.exponent.high))
    label = f"fit: exponent {signed(fit.exponent.value)} [{low}, {high}]"
    ax.plot(x, fit.prefactor * x**fit.exponent.value, color=ORANGE, linewidth=1.3, label=label)


def _linear(ax: Axes, alpha: np.ndarray, times: np.ndarray) -> None:
    """Figure E.1, right: T* against α^(-2/3)."""
    x = alpha ** (-2 / 3)
    runs(ax, x, times, BLUE, "every run")
    try:
        fit = line(x, times)
    except CannotFit:
        ax.set_yticks([])
    else:
        grid = np.array([x.min(), x.max()])
        label = f"paper: a straight line (fit, $R^2$ = {fit.r_squared:.3f})"
        ax.plot(grid, fit.intercept.value + fit.slope.value * grid, label=label, **PREDICTED)
        from_zero(ax)
    ax.set_xticks(x, [f"{value:.2f}" for value in x], fontsize=8)
    ax.set_xlabel(rf"$\alpha^{{-2/3}}$ ($\alpha$ from {alpha.max():g} to {alpha.min():g})")
    ax.set_ylabel(rf"steps $T*$ to hinge < {REACHED:g}")
    ax.set_title("required iterations (Figure E.1, right)", fontsize=10)
