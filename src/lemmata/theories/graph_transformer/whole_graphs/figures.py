"""Whole graphs with and without the encoding."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, panels
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import (
    bins_of,
    claim,
    distances,
    end_words,
    legend,
    over_time,
    path,
    predict,
    up_to,
)


def graph_labels(data: xr.Dataset) -> Figure:
    """Accuracy on test graphs with and without the encoding beside counting, the losses, and the encoding."""
    figure, axes = panels(3, width=3.55, height=4.5)
    ways = {1: ("with encoding", BLUE), 0: ("without encoding", ORANGE)}
    for i, trained in enumerate(data.train_encoding.values):
        part = data.isel(train_encoding=i)
        words, color = ways.get(int(trained), (f"encoding times {trained:g}", GREEN))
        path(axes[0], part, part.accuracy, words, color)
        path(axes[1], part, part.loss, f"{words}, test", color)
        path(axes[1], part, part.train_loss, f"{words}, training", color, linestyle=":")
        z = np.arange(bins_of(part))
        rows = at_end(part.distance_bias.transpose(..., "record")).transpose("seed", "bin").values[:, z]
        for seed, row in enumerate(rows):
            axes[2].plot(
                z, row, "o-", color=color, markersize=4, linewidth=0.9, alpha=0.7, label=words if seed == 0 else None
            )
    predict(axes[0], float(np.nanmean(data.counting_accuracy)), "paper without: counting the patterns")
    claim(axes[0], 0.95, "claimed with: at least 0.95")
    axes[0].set_ylim(0, 1.05)
    axes[0].set_ylabel("accuracy on test graphs")
    axes[0].set_title("are graphs classified?", fontsize=10)
    axes[1].axhline(0, label="paper with: 0", **PREDICTED)
    up_to(axes[1], 1.15)
    axes[1].set_ylabel("hinge loss")
    axes[1].set_title("losses", fontsize=10)
    for ax in axes[:2]:
        over_time(ax, data)
    axes[2].axhline(0, color=GREY, linewidth=0.8)
    distances(axes[2], bins_of(data) - 1, 0)
    axes[2].set_ylabel(f"$b_z$ {end_words(data)}, every seed a line")
    axes[2].set_title("encoding (label: layer 2 of the root)", fontsize=10)
    for ax in axes:
        legend(ax, 1)
    return figure
