"""The dynamics rows step by step, the lucky sets and the initial attention."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import PALETTE, panels, trajectory
from lemmata.theories.vit.figures.names import MODE_NAMES


def dynamics(data: xr.Dataset) -> Figure:
    """Training loss and concentration, step by step, for every mode."""
    figure, (left, right) = panels(2)
    for mode, color in zip(data.mode.values, PALETTE, strict=False):
        part = data.sel(mode=mode, attention="trained")
        frozen = data.sel(mode=mode, attention="frozen")
        name = MODE_NAMES[str(mode)]
        trajectory(left, part.step, part.train_loss, name, color)
        trajectory(left, frozen.step, frozen.train_loss, f"{name}, frozen", color, linestyle=":")
        trajectory(right, part.step, part.concentration.sel(query="relevant"), f"{name}, relevant queries", color)
        trajectory(right, part.step, part.concentration.sel(query="all"), f"{name}, all queries", color, linestyle="--")
    right.axhline(1.0, color="black", linestyle="--", label="document: limit 1 for every query")
    left.set_ylabel("training hinge loss")
    right.set_ylabel("attention on label-relevant tokens")
    right.set_ylim(0, 1.05)
    for ax in (left, right):
        ax.set_xlabel("training step $t$ (up to $T_0$)")
        ax.legend(fontsize=7)
    return figure


def lucky_sets(data: xr.Dataset) -> Figure:
    return panels(1)[0]


def initial_attention(data: xr.Dataset) -> Figure:
    return panels(1)[0]
