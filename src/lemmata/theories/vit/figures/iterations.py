"""Steps to small loss (Figure 2.2, the step-size sweep) and to zero loss (the initial model)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    PALETTE,
    RED,
    curve,
    panels,
)
from lemmata.lab.fits import line
from lemmata.lab.intervals import CannotFit
from lemmata.theories.vit.figures import ATTENTION_COLORS, VARIANT_NAMES
from lemmata.theories.vit.measures import split_runs


def iterations(data: xr.Dataset) -> Figure:
    """Mean T_ε against 1/α with straight-line fits, trained and frozen attention."""
    figure, axes = panels(data.sizes["variant"])
    x = 1 / data.relevant_fraction.values
    for ax, variant in zip(axes, data.variant.values, strict=True):
        for attention in data.attention.values:
            times = data.small_loss_step.sel(variant=variant, attention=attention)
            color = ATTENTION_COLORS[str(attention)]
            curve(ax, times, x, f"attention {attention}", color, linestyle="none")
            _straight(ax, x, times.transpose("seed", "relevant_fraction").values, color)
        ax.set_xlabel(r"$1/\alpha_*$")
        ax.set_ylabel(r"steps $T_\varepsilon$ to training loss 0.001")
        ax.set_title(VARIANT_NAMES[str(variant)])
        ax.set_ylim(bottom=0)
        ax.legend()
    return figure


def _straight(ax: Axes, x: np.ndarray, times: np.ndarray, color: str) -> None:
    try:
        fit = line(x, times)
    except CannotFit:
        return
    grid = np.linspace(x.min(), x.max(), 2)
    label = f"paper: linear (fit, $R^2$ = {fit.r_squared:.3f})"
    ax.plot(grid, fit.intercept.value + fit.slope.value * grid, "--", color=color, label=label)


def step_size(data: xr.Dataset) -> Figure:
    """T_ε against the step size, with the paper's exponent and gradient flow's."""
    found = split_runs(data, "small_loss_step")
    figure, axes = panels(len(found))
    for ax, (variant, times) in zip(axes, found.items(), strict=True):
        x = times.step_size.values
        curve(ax, times, x, "measured", BLUE, linestyle="none")
        start = float(times.isel(step_size=0).mean("seed"))
        ax.plot(x, start * (x / x[0]) ** -0.6, "--", color=RED, label=r"paper: $\eta^{-3/5}$")
        ax.plot(x, start * (x / x[0]) ** -1.0, "-", color=GREEN, label=r"gradient flow: $\eta^{-1}$")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(x, [f"{eta:g}" for eta in x])
        ax.minorticks_off()
        ax.set_yticks([t for t in (20, 50, 100, 200, 500, 1000) if t < 1.3 * start])
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xlabel(r"step size $\eta$")
        ax.set_ylabel(r"steps $T_\varepsilon$ to training loss 0.001")
        ax.set_title(VARIANT_NAMES[variant])
        ax.legend()
    return figure


def initial_model(data: xr.Dataset) -> Figure:
    """T_0 against σ for both error variants and every δ."""
    figure, axes = panels(data.sizes["value_error_law"], sharey=True)
    for ax, error in zip(axes, data.value_error_law.values, strict=True):
        for delta, color in zip(sorted(data.attention_error.values), PALETTE, strict=False):
            times = data.reached_step.sel(value_error_law=error, attention_error=delta)
            curve(ax, times, data.value_error.values, rf"$\delta$ = {delta:g}", color)
        ax.set_xlabel(r"initial value error $\sigma$")
        ax.set_title(f"error directions: {error}")
        ax.legend(title="paper: rises")
    axes[0].set_ylabel("steps $T_0$ to training loss 0")
    return figure
