"""How far the gradient of a batch lies from the mean one (P16)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import GREY, PREDICTED, colour, labels_of, log_numbers, panels
from lemmata.theories.graph_transformer.figures.common import law, legend, mean_of, runs
from lemmata.theories.graph_transformer.studies.batch_gradients import LIMIT

PARTS = {"W_O": "$W_O$", "W_V": "$W_V$", "W_K": "$W_K$", "W_Q": "$W_Q$", "b": "$b$"}
MOMENTS = {"start": "before training", "later": "after training"}


def batches(data: xr.Dataset) -> Figure:
    """Mean relative deviation of a batch gradient with its B^(-1/2), and how often it exceeds ε beside e^{-B ε²}."""
    moments = labels_of(data, "moment")
    figure, axes = panels(2 * len(moments), rows=2, height=4.0)
    size = np.array([float(value) for value in data["size"].values])
    for i, moment in enumerate(moments):
        part = data.sel(moment=moment)
        _deviations(axes[i], part, size)
        axes[i].set_title(f"deviation of a batch gradient, {MOMENTS.get(moment, moment)}", fontsize=10)
        _tails(axes[len(moments) + i], part, size)
        axes[len(moments) + i].set_title(rf"how often it exceeds $\epsilon$ = {LIMIT:g}", fontsize=10)
    for ax in axes:
        log_numbers(ax, size, "batch size $B$")
        legend(ax, 3)
    return figure


def _deviations(ax: Axes, part: xr.Dataset, size: np.ndarray) -> None:
    for i, name in enumerate(labels_of(part, "part")):
        values = part.deviation.sel(part=name).transpose("seed", "size")
        runs(ax, size, values.values, colour(i), None)
        ax.plot(size, mean_of(values), color=colour(i), linewidth=1.3, label=PARTS.get(name, name))
        law(ax, size, mean_of(values), size**-0.5, r"paper: $\propto B^{-1/2}$" if i == 0 else "_")
    copies = part.copies.isel(part=0).transpose("seed", "size")
    words = f"{PARTS.get(str(part.part.values[0]), '')}: $B$ copies of one node"
    ax.plot(size, mean_of(copies), color=GREY, linestyle=":", label=words)
    ax.set_yscale("log")
    ax.set_ylabel("mean relative deviation")


def _tails(ax: Axes, part: xr.Dataset, size: np.ndarray) -> None:
    least = 1e-3
    for i, name in enumerate(labels_of(part, "part")):
        values = part.exceeds.sel(part=name).transpose("seed", "size")
        runs(ax, size, values.values, colour(i), None)
        ax.plot(size, mean_of(values), color=colour(i), linewidth=1.3, label=PARTS.get(name, name))
    grid = np.geomspace(size.min(), size.max(), 60)
    ax.plot(grid, np.exp(-grid * LIMIT**2), label=r"paper: at most $e^{-B\epsilon^2}$", **PREDICTED)
    ax.set_yscale("symlog", linthresh=least, linscale=0.4)
    ax.set_ylim(-0.2 * least, 1.5)
    ax.set_yticks([0, 1e-3, 1e-2, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
    ax.set_ylabel(rf"share of batches beyond $\epsilon$ = {LIMIT:g}")
