"""Large steps and small ones: beyond the edge of stability (X6): peaks, ends, flatter kernels, the map of classes over
step size and width; and one point against gradient flow in closed form (Q21)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression.measures import classes, relative_square

EDGE = 2.0
"""The linearised dynamics is stable below m η λ_max(H(0)) = 2."""
CONSTANT = r"step constant $c=m\eta\lambda_\max(H(0))$"


def edge(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Peak and final error and the final kernel over c, in every run; the errors of one seed along training."""
    figure, (peaks, ends, flat, runs) = draw.panels(4, rows=2, width=5.6, height=4.0)
    # a diverged run has no final kernel
    final = (data.step_constant * data.end_largest / data.start_largest).where(data.diverged == 0)
    for ax, values in ((peaks, data.peak_ratio), (ends, data.final_ratio), (flat, final)):
        draw.curves(ax, draw.positive(values), "step_constant", "neurons", "$m$ = {}: seeds, median", middle="median")
        ax.axvline(EDGE, label="linearised: stable to the left", **draw.PREDICTED)
    draw.claimed(flat, claims["x6-flattening"], words="claimed for 2.1 ≤ $c$ ≤ 3")
    for ax in (peaks, ends):
        draw.log_y(ax)
    draw.from_zero(flat)
    draw.finish(peaks, "largest error", r"$\max_t\|e(t)\|^2/\|e(0)\|^2$", CONSTANT)
    draw.finish(ends, "final error", r"$\|e(T)\|^2/\|e(0)\|^2$", CONSTANT)
    draw.finish(flat, "final kernel (without diverged runs)", r"$m\eta\lambda_\max(H(T))$", CONSTANT)
    count = data.sizes["step_constant"]
    some = [0, *range(max(1, count - 5), count)]
    wide = data.isel(neurons=int(np.argmax(data.neurons.values)), seed=0, step_constant=some)
    clock = wide.step.where(wide.step > 0)
    draw.paths(runs, wide, relative_square(wide), "step_constant", "$c$ = {}", clock=clock, spread="")
    draw.log_x(runs)
    draw.log_y(runs)
    title = f"$m$ = {float(wide.neurons):g}, first seed"
    draw.finish(runs, title, r"$\|e(t)\|^2/\|e(0)\|^2$", "training step $t$", legend=4)
    return figure


def phase_map(data: xr.Dataset) -> Figure:
    """The share of seeds of every class over step constant and width."""
    kind = classes(data).where(data.peak_ratio.notnull())
    shown = {"monotone": kind == 0, "catapult": kind == 1, "diverged or unfinished": kind >= 2}
    figure, axes = draw.panels(len(shown), width=5.6, height=4.2)
    c = data.step_constant.values
    for ax, (name, inside) in zip(axes, shown.items(), strict=True):
        draw.success_map(ax, inside * 1.0, "step_constant", "neurons", "share of seeds")
        if c.min() < EDGE < c.max():
            place = float(np.interp(EDGE, c, np.arange(len(c))))
            label = "linearised: stable to the left of $c$ = 2"
            ax.axvline(place, color=draw.RED, linestyle="--", linewidth=2, label=label)
        draw.finish(ax, name, "width $m$", CONSTANT)
    return figure


def one_point(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Where descent on one point ends against gradient flow, over the step constant, and the line it moves on."""
    figure, (left, right) = draw.panels(2, height=4.2)
    single = data.isel(variant=np.flatnonzero(data.samples == 1)).swap_dims(variant="step_constant")
    errors = draw.positive(single.flow_error)
    if errors.size:
        named = errors.assign_coords(formula=["closed form", "control: sign dropped"])
        draw.curves(left, named, "step_constant", "formula", middle="median")
    c, exact = errors.step_constant.values, errors.sel(formula="exact").transpose("seed", "step_constant").values
    draw.law(left, c, exact, c, r"exact: $\propto c$", **draw.CORRECTED)
    draw.claimed(left, claims["q21-limit"], words="claimed at $c=10^{-3}$")
    draw.numbers(left, c)
    draw.log_y(left)
    quantity = r"largest error of $\langle w_r,x\rangle$ at the end"
    draw.finish(left, "end of descent against gradient flow", quantity, CONSTANT)
    across = data.flow_across.clip(1e-18)
    draw.groups(right, across, "variant", label="seeds and median (two points: control)", middle="median")
    draw.claimed(right, claims["q21-line"], words="claimed, one point (exact: 0)")
    draw.log_y(right)
    draw.finish(right, "weights move along the point", "largest part of a path orthogonal to $x$", legend=1)
    return figure
