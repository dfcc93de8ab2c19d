"""Attention along training: Figure 2.4 and other losses."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PALETTE, RED, panels, trajectory
from lemmata.theories.vit.figures.common import MODE_NAMES


def attention_curves(data: xr.Dataset) -> Figure:
    """Concentration by type of query along training, with its complement, T_0 and the document's limit."""
    figure, axes = panels(data.sizes["mode"], sharey=True)
    for ax, mode in zip(axes, data.mode.values, strict=True):
        part = data.sel(mode=mode, attention="trained")
        frozen = data.sel(mode=mode, attention="frozen")
        for query, color in zip(part["query"].values, (BLUE, GREEN, RED, GREY), strict=True):
            trajectory(ax, part.step, part.concentration.sel(query=query), f"on relevant, {query} queries", color)
        trajectory(ax, part.step, part.complement.sel(query="all"), "on all others, all queries", BLUE, linestyle=":")
        trajectory(ax, frozen.step, frozen.concentration.sel(query="all"), "frozen attention", ORANGE)
        ax.axhline(1.0, color="black", linestyle="--", label="document: limit 1")
        reached = float(part.zero_loss_step.mean("seed"))
        if np.isfinite(reached):
            ax.axvline(reached, color="black", linewidth=0.8, linestyle="-.", label="$T_0$: training loss 0 (mean)")
        ax.set_xlabel("training step $t$")
        ax.set_title(MODE_NAMES[str(mode)])
        ax.set_ylim(0, 1.05)
    axes[0].set_ylabel("mean attention mass")
    axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def losses(data: xr.Dataset) -> Figure:
    """All-query concentration for losses that saturate and losses that do not."""
    figure, (ax,) = panels(1, width=6.4)
    for loss, color in zip(data.loss.values, PALETTE, strict=False):
        for attention, style in (("trained", "-"), ("frozen", ":")):
            part = data.sel(loss=loss, attention=attention)
            trajectory(
                ax, part.step, part.concentration.sel(query="all"), f"{loss}, {attention}", color, linestyle=style
            )
    ax.axhline(1.0, color="black", linestyle="--", label="document: limit 1")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("attention on label-relevant tokens, all queries")
    ax.legend(fontsize=7)
    return figure
