"""Whole graphs with and without the encoding."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import finish_distances

WORDS = {1.0: "with encoding", 0.0: "without encoding"}


def graph_labels(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Accuracy on test graphs with and without the encoding beside counting, the losses, and the encoding."""
    figure, axes = draw.panels(3, width=3.55, height=4.5)
    words = [WORDS.get(float(value), f"encoding times {value:g}") for value in data.train_encoding.values]
    data = data.assign_coords(train_encoding=words)
    draw.paths(axes[0], data, "accuracy", "train_encoding")
    draw.predicted(axes[0], float(data.counting_accuracy.mean()), "paper, without: counting the patterns")
    draw.claimed(axes[0], claims["p21-graph-pe"], words="claimed, with")
    axes[0].set_ylim(0, 1.05)
    draw.finish(axes[0], "are graphs classified?", "accuracy on test graphs", "training step $t$", legend=1)
    draw.paths(axes[1], data, "loss", "train_encoding", "{}, test")
    draw.paths(axes[1], data, "train_loss", "train_encoding", "{}, training", spread="", linestyle=":")
    draw.predicted(axes[1], 0, "paper, with: 0")
    draw.from_zero(axes[1], 1.15)
    draw.finish(axes[1], "losses", "hinge loss", "training step $t$", legend=1)
    z = xr.DataArray(np.arange(data.sizes["bin"]), dims="bin")
    encoding = lm.at_end(data.distance_bias).assign_coords(bin=z).where(z < data.bins_used)
    draw.curves(axes[2], encoding, "bin", "train_encoding")
    finish_distances(axes[2], "encoding (label: layer 2 of the root)", "$b_z$ at the end: mean, every seed", legend=1)
    return figure
