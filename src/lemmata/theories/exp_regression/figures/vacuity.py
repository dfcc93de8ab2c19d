"""The numbers that the paper asks for beside those one would run (X8)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw
from lemmata.theories.exp_regression.bounds import RUNNABLE


def asked(data: xr.Dataset) -> Figure:
    """Width and steps that the paper asks for, in powers of ten, beside those one would run."""
    scales = data.weight_scale.values
    figure, axes = draw.panels(2 * len(scales), rows=2, width=4.6, height=3.6)
    n = data.samples.values
    rows = (
        ("width $m$", data.log_width, data.practical_width),
        ("steps $T$", data.log_iterations, data.practical_iterations),
    )
    for k, (what, printed, practical) in enumerate(rows):
        printed = printed.where(np.isfinite(printed)).mean("seed")
        for i, sigma in enumerate(scales):
            ax = axes[k * len(scales) + i]
            # every δ a faint point
            draw.curves(
                ax,
                printed.sel(weight_scale=sigma).transpose("failure_probability", ...),
                "samples",
                "tail_constant",
                "paper, $C$ = {}",
                middle="median",
            )
            usable = practical.sel(weight_scale=sigma).isel(failure_probability=0, tail_constant=0)
            draw.curves(ax, np.log10(draw.positive(usable)), "samples", label="practical", color="black", marker="s")
            draw.predicted(ax, np.log10(RUNNABLE), "what can be run: $10^7$", color=draw.GREY, linestyle=":")
            draw.numbers(ax, n)
            ax.set_ylim(-1, 1.05 * max(float(printed.max().fillna(1.0)), 1.0))
            draw.finish(
                ax,
                rf"{what}, $\sigma$ = {sigma:g}",
                rf"$\log_{{10}}$ of the {what}",
                "points $n$",
                legend=2 if k else 0,
            )
    return figure
