"""The width that suffices, against the number of points and against λ (X4)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, legend_below, panels
from lemmata.theories.exp_regression.figures import common
from lemmata.theories.exp_regression.figures.common import coloured, positive, word
from lemmata.theories.exp_regression.measures import REACHED, frontier, successes, widths


def frontier_points(data: xr.Dataset) -> Figure:
    """Success over the width for every number of points, and the width that suffices."""
    return _frontier(data, "samples", data.samples.values, "n", "points $n$")


def frontier_lambda(data: xr.Dataset) -> Figure:
    """Success over the width for every angle of the pairs, and the width that suffices over 1/λ."""
    lam = data.limit_least.mean(["variant", "seed"]).transpose("pair_angle").values
    return _frontier(data, "pair_angle", 1 / positive(lam), r"\theta", r"$1/\lambda$ (mean over seeds)")


def _frontier(data: xr.Dataset, along: str, x: np.ndarray, symbol: str, xlabel: str) -> Figure:
    figure, (left, right) = panels(2, height=4.3)
    labels, m = widths(data)
    rates = successes(data).mean("seed")
    frozen = [str(label) for label in data.variant.values if str(label) not in labels]
    for value, color in coloured(data[along].values):
        mine = rates.sel({along: value})
        if labels:
            left.plot(m, mine.sel(variant=labels), "o-", color=color, markersize=5, label=f"${symbol}$ = {word(value)}")
        for label in frozen:
            width = float(label.split()[0])
            left.plot(width, float(mine.sel(variant=label)), "x", color=color, markersize=7)
    if frozen:
        left.plot([], [], "x", color=GREY, label="frozen weights (control)")
    left.axhline(REACHED, label=f"wanted: {100 * REACHED:.0f} % of the seeds", color=GREY, linestyle=":", linewidth=1)
    if m.size:
        common.width_axis(left, m)
    left.set_ylim(-0.03, 1.05)
    left.set_ylabel(r"share of seeds that reach $\varepsilon$ within $T$")
    left.set_title("success", fontsize=10)
    found = frontier(data, along).values if labels else np.full(len(x), np.inf)
    _frontier_law(right, x, found, xlabel)
    for ax in (left, right):
        legend_below(ax)
    return figure


def _frontier_law(ax: Axes, x: np.ndarray, found: np.ndarray, xlabel: str) -> None:
    """The width that suffices beside the paper's second power, which is an upper bound."""
    known = np.isfinite(found) & np.isfinite(x)
    words = f"{100 * REACHED:.0f} % of the seeds"
    if known.sum() > 1 and len(np.unique(x[known])) > 1:
        words += f" (exponent {common.signed(np.polyfit(np.log(x[known]), np.log(found[known]), 1)[0])})"
    ax.plot(x[known], found[known], "o-", color=BLUE, label=words)
    beyond = np.isposinf(found) & np.isfinite(x)
    if beyond.any():
        ax.plot(
            x[beyond], np.full(beyond.sum(), 0.97), "^", color=BLUE, clip_on=False, transform=ax.get_xaxis_transform(),
            label="wider than the grid",
        )  # fmt: skip
    if np.isfinite(x).any():
        order = np.sort(x[np.isfinite(x)])
        base = found[known][np.argmin(x[known])] if known.any() else 1.0
        common.predicted(ax, order, base * (order / order[0]) ** 2, "paper: exponent at most 2")
        common.number_axis(ax, np.round(order, 2), xlabel)
        ax.set_yscale("log", base=2)
        low, high = ax.get_ylim()
        ax.set_ylim(low / 1.5, high * 1.5)
        ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel(xlabel)
    ax.set_ylabel("smallest sufficient width $m$")
    ax.set_title("over-parameterisation frontier", fontsize=10)
