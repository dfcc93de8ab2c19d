"""Steps to small loss (Figure 2.2, the step-size sweep) and to zero loss (the initial model)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.vit.figures import ATTENTION_COLORS, VARIANT_NAMES
from lemmata.theories.vit.measures import by_reading

STEPS = r"steps $T_\varepsilon$ to training loss 0.001"


def iterations(data: xr.Dataset) -> Figure:
    """Mean T_ε against 1/α_* beside the paper's proportionality and straight-line fits."""
    figure, axes = draw.panels(data.sizes["variant"])
    x = 1 / data.relevant_fraction.values
    for ax, variant in zip(axes, draw.labels_of(data, "variant"), strict=True):
        times = data.small_loss_step.sel(variant=variant)
        draw.curves(
            ax, times, "relevant_fraction", "attention", "attention {}", ATTENTION_COLORS, x=x, linestyle="none"
        )
        for attention in draw.labels_of(data, "attention"):
            _line_fit(ax, x, times.sel(attention=attention).transpose("seed", "relevant_fraction").values, attention)
        trained = draw.present(data, "attention", ["trained"])
        draw.law(
            ax, x, times.sel(attention=trained).transpose(..., "relevant_fraction"), x, r"paper: $T \propto 1/\alpha_*$"
        )
        draw.from_zero(ax)
        draw.finish(ax, VARIANT_NAMES.get(variant, variant), STEPS, r"$1/\alpha_*$")
    return figure


def _line_fit(ax: Axes, x: np.ndarray, times: np.ndarray, attention: str) -> None:
    try:
        line = lm.line(x, times)
    except lm.CannotFit:
        return
    ends = np.asarray([x.min(), x.max()])
    label = f"fit: straight line, $R^2$ = {line.r_squared:.3f}"
    how = {"color": ATTENTION_COLORS.get(attention, draw.GREY), "linewidth": 1.2}
    ax.plot(ends, line.intercept.value + line.slope.value * ends, label=label, **how)


def step_size(data: xr.Dataset) -> Figure:
    """T_ε against the step size, with the paper's exponent and gradient flow's through the smallest step."""
    sweeps = by_reading(data)
    figure, axes = draw.panels(len(sweeps))
    for ax, (reading, runs) in zip(axes, sweeps.items(), strict=True):
        x = runs.step_size.values
        draw.curves(ax, runs.small_loss_step, "step_size", label="measured", linestyle="none")
        first = float(runs.small_loss_step.isel(step_size=0).mean("seed"))
        draw.predicted(ax, first * (x / x[0]) ** -0.6, r"paper: $\eta^{-3/5}$", x)
        draw.corrected(ax, first * (x / x[0]) ** -1.0, r"gradient flow: $\eta^{-1}$", x)
        draw.numbers(ax, x)
        draw.log_y(ax)
        draw.finish(ax, VARIANT_NAMES.get(reading, reading), STEPS, r"step size $\eta$")
    return figure


def initial_model(data: xr.Dataset) -> Figure:
    """T_0 against σ for both directions of the error and every δ."""
    figure, axes = draw.panels(data.sizes["value_error_law"], sharey=True)
    for ax, law in zip(axes, draw.labels_of(data, "value_error_law"), strict=True):
        times = data.reached_step.sel(value_error_law=law).sortby("attention_error")
        draw.curves(ax, times, "value_error", "attention_error", r"$\delta$ = {}")
        title = f"{law} directions of the error (paper: rises)"
        draw.finish(ax, title, "steps $T_0$ to training loss 0", r"initial value error $\sigma$", legend=3)
    return figure
