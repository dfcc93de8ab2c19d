"""The width that suffices, against the number of points and against λ (X4)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.exp_regression.measures import REACHED, frontier, successes


def points(data: xr.Dataset) -> Figure:
    """Success over the width for every number of points, and the width that suffices."""
    return _frontier(data, "samples", data.samples, "$n$ = {}", "points $n$")


def eigenvalue(data: xr.Dataset) -> Figure:
    """Success over the width for every angle of the pairs, and the width that suffices over 1/λ."""
    x = 1 / draw.positive(data.limit_least.mean(("variant", "seed")))
    return _frontier(data, "pair_angle", x, r"$\theta$ = {}", r"$1/\lambda$ (mean over seeds)")


def _frontier(data: xr.Dataset, along: str, x: xr.DataArray, label: str, words: str) -> Figure:
    figure, (left, right) = draw.panels(2, height=4.3)
    rates = successes(data).mean("seed")
    trained, frozen = (rates.isel(variant=np.flatnonzero(rates.trained == flag)) for flag in (1, 0))
    if trained.sizes["variant"]:
        draw.curves(left, trained.swap_dims(variant="neurons"), "neurons", along, label, spread="")
    for width in frozen.neurons.values:
        left.plot(
            np.full(frozen.size, width), frozen.values.ravel(), "x", color=draw.GREY, label="frozen weights (control)"
        )
    left.axhline(REACHED, label=f"wanted: {100 * REACHED:.0f} % of the seeds", **draw.CLAIMED)
    draw.numbers(left, trained.neurons.values)
    left.set_ylim(-0.03, 1.05)
    draw.finish(left, "success", r"share of seeds that reach $\varepsilon$ within $T$", "width $m$")
    _law(right, x.transpose(along), frontier(data).transpose(along))
    draw.finish(right, "width that suffices", "smallest sufficient width $m$", words)
    return figure


def _law(ax: Axes, x: xr.DataArray, edge: xr.DataArray) -> None:
    """The width that suffices beside the paper's second power, which is an upper bound."""
    along = str(edge.dims[0])
    slope = float(lm.log_slopes(edge, along, x))
    label = f"{100 * REACHED:.0f} % of the seeds" + (f": exponent {draw.signed(slope)}" if np.isfinite(slope) else "")
    draw.curves(ax, edge, along, label=label, x=x.values, linestyle="-")
    places = np.sort(x.values[np.isfinite(x.values)])
    if places.size:
        start = edge.values[np.nanargmin(x.values)]
        base = start if np.isfinite(start) else 1.0
        draw.predicted(ax, base * (places / places[0]) ** 2, "paper: exponent at most 2", x=places)
        draw.numbers(ax, np.round(places, 2))
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_formatter("{x:g}")
