"""Four classes: accuracies, losses, and the encodings of both networks."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import finish_distances, over_distance

WORDS = {
    "per coordinate": "loss of each coordinate",
    "joint": "joint loss, as printed",
    "permuted": "distances permuted",
}
CORES = {"first": 4, "second": 2}
"""The core distance of each coordinate's sequence."""


def four_classes(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Class accuracy, the joint loss, and the encodings of both networks beside their core distances."""
    figure, axes = draw.panels(4, rows=2, height=4.0)
    data = data.assign_coords(variant=[WORDS.get(label, label) for label in draw.labels_of(data, "variant")])
    draw.paths(axes[0], data, "accuracy", "variant")
    draw.predicted(axes[0], 1, "paper: all classes right")
    draw.claimed(axes[0], claims["p21-four-accuracy"])
    axes[0].set_ylim(0, 1.06)
    draw.finish(axes[0], "both signs right", "class accuracy on test nodes", "training step $t$")
    draw.paths(axes[1], data, "joint_loss", "variant")
    draw.claimed(axes[1], claims["p21-four-joint"], "loss")
    draw.loss_scale(axes[1])
    draw.finish(axes[1], r"paper: max{1 − $y^\top F$, 0} becomes small", "joint test loss", "training step $t$")
    encoding = over_distance(lm.at_end(data.distance_bias), data.bins_used)
    for ax, (coordinate, core) in zip(axes[2:], CORES.items(), strict=True):
        draw.curves(ax, encoding.sel(coordinate=coordinate), "bin", "variant")
        ax.axvline(core, label=f"paper: largest at $z_m$ = {core}", **draw.PREDICTED)
        finish_distances(ax, f"encoding of the {coordinate} coordinate's network", "$b_z$ at the end")
    return figure
