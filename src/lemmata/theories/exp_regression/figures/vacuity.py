"""The numbers that the paper asks for beside those one would run (X8)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import GREY, panels
from lemmata.theories.exp_regression.bounds import RUNNABLE
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, positive


def vacuity(data: xr.Dataset) -> Figure:
    """Width and steps that the paper asks for, in powers of ten, beside those one would run."""
    scales = data.weight_scale.values
    figure, axes = panels(2 * len(scales), rows=2, width=4.6, height=3.5)
    n = data.samples.values
    rows = (
        (axes[: len(scales)], data.log_width, data.practical_width, "width $m$"),
        (axes[len(scales) :], data.log_iterations, data.practical_iterations, "steps $T$"),
    )
    data_top = 1.0
    for row, paper, practical, what in rows:
        finite = paper.where(np.isfinite(paper))
        top = max(float(finite.max().fillna(1.0)), data_top)
        for ax, sigma in zip(row, scales, strict=True):
            for C, color in coloured(data.tail_constant.values):
                values = finite.sel(weight_scale=sigma, tail_constant=C).mean("seed")
                values = values.transpose("failure_probability", "samples").values
                ax.fill_between(n, values.min(axis=0), values.max(axis=0), color=color, alpha=0.25, linewidth=0)
                ax.plot(
                    n,
                    np.median(values, axis=0),
                    color=color,
                    linestyle="--",
                    marker=".",
                    label=f"paper, $C$ = {C:g}",
                )
            usable = np.log10(positive(practical.sel(weight_scale=sigma).isel(failure_probability=0, tail_constant=0)))
            ax.plot(n, usable.mean("seed").transpose("samples"), "o-", color="black", markersize=4, label="practical")
            ax.axhline(np.log10(RUNNABLE), color=GREY, linestyle=":", linewidth=1, label="what can be run: $10^7$")
            common.number_axis(ax, n, "points $n$")
            ax.set_ylim(-1, 1.05 * top)
            ax.set_ylabel(rf"$\log_{{10}}$ of the {what}")
            ax.set_title(rf"{what}, $\sigma$ = {sigma:g}", fontsize=10)
    axes[0].fill_between([], [], [], color=GREY, alpha=0.3, label=r"range over $\delta$")
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=min(6, 2 * len(scales)), fontsize=8, frameon=False)
    return figure
