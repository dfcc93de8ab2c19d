"""Beyond the edge of stability (X6): peaks, ends, flatter kernels, the map of classes over step size and width."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lemmata.lab.figures import BLUE, GREEN, GREY, PALETTE, PREDICTED, RED, legend_below, log_y, panels
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, positive, word
from lemmata.theories.exp_regression.measures import CLASSES, classes

MARKERS = dict(zip(CLASSES, "o^Xs", strict=True))


CLASS_COLORS = dict(zip(CLASSES, (BLUE, GREEN, RED, PALETTE[4]), strict=True))


EDGE = 2.0
"""The linearised dynamics is stable below m η λ_max(H(0)) = 2."""


def stability(data: xr.Dataset) -> Figure:
    """Peak and final error and the final kernel over c, every run marked by its class; some errors along training."""
    figure, axes = panels(4, rows=2, width=5.6, height=3.9)
    peaks, ends, flat, paths = axes
    c = data.step_constant.values
    kind = classes(data)
    shown = (
        (peaks, data.peak_ratio),
        (ends, data.final_ratio),
        (flat, data.end_largest / data.start_largest),
    )
    widths = data.neurons.values
    for ax, values in shown:
        for (m, color), shift in zip(
            coloured(widths), 1 + 0.02 * (np.arange(len(widths)) - (len(widths) - 1) / 2), strict=True
        ):
            part, mine = positive(values.sel(neurons=m)), kind.sel(neurons=m)
            if ax is flat:  # a diverged run has no final kernel
                part = part.where(mine != CLASSES.index("diverged"))
            for k, name in enumerate(CLASSES):
                chosen = part.where(mine == k).transpose("seed", "step_constant")
                for row in chosen.values:
                    ax.plot(c * shift, row, MARKERS[name], color=color, markersize=4.5, alpha=0.65)
            median = common.centre(part.transpose("seed", "step_constant").values)
            ax.plot(c * shift, median, color=color, linewidth=1, alpha=0.7)
    for ax in (peaks, ends):
        log_y(ax)
    grid = np.linspace(c.min(), max(c.max(), EDGE + 0.5), 200)
    flat.plot(grid, np.minimum(1.0, EDGE / grid), **PREDICTED)
    flat.set_ylim(bottom=0)
    # the linearised error falls to 0 below the edge and grows without bound beyond it
    peaks.plot([min(c.min(), EDGE), EDGE], [1.0, 1.0], **PREDICTED)
    for ax in (peaks, ends):
        ax.axvline(EDGE, **PREDICTED)
    peaks.set_ylabel(r"$\max_t\|e(t)\|^2/\|e(0)\|^2$")
    peaks.set_title("peak", fontsize=10)
    ends.set_ylabel(r"$\|e(T)\|^2/\|e(0)\|^2$")
    ends.set_title("end", fontsize=10)
    flat.set_ylabel(r"$\lambda_\max(H(T))/\lambda_\max(H(0))$")
    flat.set_title("final kernel (without diverged runs)", fontsize=10)
    for ax in (peaks, ends, flat):
        ax.set_xlabel(r"step constant $c=m\eta\lambda_\max(H(0))$")
    _paths(paths, data)
    legend_below(paths, 4)
    for m, color in coloured(widths):
        flat.plot([], [], color=color, label=f"$m$ = {m:g}, median")
    for name, marker in MARKERS.items():
        flat.plot([], [], marker, color=GREY, markersize=5, label=name)
    flat.plot([], [], label="linearised: unbounded beyond $c$ = 2; below: $2/c$", **PREDICTED)
    legend_below(flat, 3)
    return figure


def _paths(ax: Axes, data: xr.Dataset) -> None:
    """The first seed of the widest network along training, for every c."""
    part = data.isel(neurons=int(np.argmax(data.neurons.values)), seed=0)
    for c, color in coloured(data.step_constant.values):
        run = part.sel(step_constant=c)
        style = "-" if c < EDGE else "--"
        steps = run.step.where(run.step > 0)
        ax.plot(
            steps, common.relative_square(run), color=color, linestyle=style, linewidth=1.2, label=f"$c$ = {c:g}"
        )  # fmt: skip
    ax.axhline(1.0, color="black", linewidth=0.6)
    if np.isfinite(ax.dataLim.x1) and ax.dataLim.x1 > 0:
        ax.set_xscale("log")
    log_y(ax)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel(r"$\|e(t)\|^2/\|e(0)\|^2$")
    ax.set_title(f"$m$ = {float(part.neurons):g}, first seed (dashed: $c>2$)", fontsize=10)


def phase_map(data: xr.Dataset) -> Figure:
    """The classes of the runs over step constant and width, and the share that does not converge."""
    figure, (left, right) = panels(2, width=6.0, height=4.4)
    c, widths = data.step_constant.values, data.neurons.values
    known = data.peak_ratio.notnull()
    kind = classes(data)
    shares = np.stack(
        [((kind == k) & known).mean("seed").transpose("neurons", "step_constant") for k in range(len(CLASSES))]
    )
    colors = np.array([to_rgb(CLASS_COLORS[name]) for name in CLASSES])
    absent = 1 - shares.sum(axis=0)
    image = np.einsum("kmc,kr->mcr", shares, colors) + absent[..., None]
    left.grid(False)
    left.imshow(np.clip(image, 0, 1), origin="lower", aspect="auto")
    if c.min() < EDGE < c.max():
        left.axvline(float(np.interp(EDGE, c, np.arange(len(c)))), **{**PREDICTED, "linewidth": 1.6})
    left.set_xticks(range(len(c)), [word(value) for value in c], fontsize=7)
    left.set_yticks(range(len(widths)), [word(m) for m in widths], fontsize=8)
    left.set_xlabel(r"step constant $c=m\eta\lambda_\max(H(0))$")
    left.set_ylabel("width $m$")
    left.set_title("classes of the runs, mixed by their shares", fontsize=10)
    handles = [Patch(color=CLASS_COLORS[name], label=name) for name in CLASSES]
    handles += left.plot([], [], label="linearised: stable to the left of $c$ = 2", **PREDICTED)
    legend_below(left, 3, handles=handles)
    lost = shares[CLASSES.index("diverged")] + shares[CLASSES.index("unfinished")]
    shades = colormaps["viridis"](np.linspace(0, 0.9, len(widths)))
    for m, color, row in zip(widths, shades, lost, strict=True):
        right.plot(c, row, "o-", color=color, markersize=4, linewidth=1.2, label=f"$m$ = {m:g}")
    right.step([min(0.0, c.min()), EDGE, max(c.max(), EDGE + 0.5)], [0, 0, 1], label="linearised dynamics", **PREDICTED)
    right.set_ylim(-0.03, 1.05)
    right.set_xlabel(r"step constant $c=m\eta\lambda_\max(H(0))$")
    right.set_ylabel("share of seeds, diverged or unfinished")
    right.set_title("runs that do not converge", fontsize=10)
    legend_below(right, 4)
    return figure
