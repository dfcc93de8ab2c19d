"""Four classes: accuracies, losses, and the encodings of both networks."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, ORANGE, PREDICTED, colour, labels_of, panels
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import (
    bins_of,
    claim,
    distances,
    end_words,
    legend,
    loss_scale,
    mean_of,
    over_time,
    path,
    runs,
)

FOUR = {
    "per coordinate": ("loss of each coordinate", BLUE),
    "joint": ("joint loss, as printed", ORANGE),
    "permuted": ("distances permuted", GREY),
}
COORDINATES = {"first": (4, "o"), "second": (2, "s")}
"""The core distance of each coordinate's sequence."""


def four_classes(data: xr.Dataset) -> Figure:
    """Class accuracy, the two losses, and the encodings of both networks beside their core distances."""
    figure, axes = panels(4, rows=2, height=4.0)
    for i, case in enumerate(labels_of(data, "variant")):
        part = data.sel(variant=case)
        words, color = FOUR.get(case, (case, colour(i + 3)))
        path(axes[0], part, part.accuracy, words, color)
        path(axes[1], part, part.joint_loss, f"{words}: joint", color)
        path(axes[1], part, part.coordinate_loss, f"{words}: sum of both", color, linestyle=":")
        for ax, coordinate in zip(axes[2:], COORDINATES, strict=True):
            if coordinate in data.coordinate.values:
                _both(ax, part, coordinate, words, color)
    claim(axes[0], 0.93, "claimed: at least 0.93")
    axes[0].axhline(1, label="paper: all classes right", **PREDICTED)
    axes[0].set_ylim(0, 1.06)
    axes[0].set_ylabel("class accuracy on test nodes")
    axes[0].set_title("both signs right", fontsize=10)
    claim(axes[1], 0.02, "claimed, joint: below 0.02")
    loss_scale(axes[1], 1e-3, 4.0)
    axes[1].set_ylabel("test loss")
    axes[1].set_title(r"joint loss max{1 − $y^\top F$, 0} and sum of both hinges", fontsize=10)
    for ax in axes[:2]:
        over_time(ax, data)
    for ax, (coordinate, (core, _)) in zip(axes[2:], COORDINATES.items(), strict=True):
        ax.axvline(core, label=f"paper: largest at $z_m$ = {core}", **PREDICTED)
        ax.axhline(0, color=GREY, linewidth=0.8)
        distances(ax, bins_of(data) - 1)
        ax.set_ylabel(f"$b_z$ {end_words(data)}")
        ax.set_title(f"encoding of the {coordinate} coordinate's network", fontsize=10)
    for ax in axes:
        legend(ax)
    return figure


def _both(ax: Axes, part: xr.Dataset, coordinate: str, words: str, color: str) -> None:
    bias = part.distance_bias.sel(coordinate=coordinate)
    z = np.arange(1, bins_of(part))
    rows = at_end(bias.transpose(..., "record")).transpose("seed", "bin").values[:, z]
    runs(ax, z, rows, color, None)
    ax.plot(z, mean_of(xr.DataArray(rows, dims=("seed", "bin"))), color=color, linewidth=1.3, label=words)
