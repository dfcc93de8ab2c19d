"""Attention along training (Figure 2.4, other losses) and its bounds before it."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PREDICTED,
    RED,
    dodge,
    legend_below,
    panels,
    strip,
    trajectory,
)
from lemmata.theories.vit.figures import VARIANT_NAMES


def attention_curves(data: xr.Dataset) -> Figure:
    """Concentration by type of query along training, with its complement, T_0 and the paper's limit."""
    figure, axes = panels(data.sizes["variant"], sharey=True)
    for ax, variant in zip(axes, data.variant.values, strict=True):
        part = data.sel(variant=variant, attention="trained")
        frozen = data.sel(variant=variant, attention="frozen")
        for query, color in zip(part["query"].values, (BLUE, GREEN, RED, GREY), strict=True):
            trajectory(ax, part.step, part.concentration.sel(query=query), f"on relevant, {query} queries", color)
        trajectory(ax, part.step, part.complement.sel(query="all"), "on all others, all queries", BLUE, linestyle=":")
        trajectory(ax, frozen.step, frozen.concentration.sel(query="all"), "frozen attention", ORANGE)
        ax.axhline(1.0, color="black", linestyle="--", label="paper: limit 1")
        reached = float(part.reached_step.mean("seed"))
        if np.isfinite(reached):
            ax.axvline(reached, color="black", linewidth=0.8, linestyle="-.", label="$T_0$: training loss 0 (mean)")
        ax.set_xlabel("training step $t$")
        ax.set_title(VARIANT_NAMES[str(variant)])
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
    ax.axhline(1.0, color="black", linestyle="--", label="paper: limit 1")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("training step $t$")
    ax.set_ylabel("attention on label-relevant tokens, all queries")
    ax.legend(fontsize=7)
    return figure


def initial_attention(data: xr.Dataset) -> Figure:
    """By how much the attention of relevant queries exceeds its lower bounds, and how often it does not, by case."""
    figure, axes = panels(2, width=6.6, height=4.4)
    words = {
        "paper": r"paper: $p_n$ (A.15)", "theorem": "theorem: with $D$ (corrected)",
        "theorem, δ = 0": r"control: theorem with $\delta=0$",
    }  # fmt: skip
    colors = dict(zip(words, (BLUE, GREEN, GREY), strict=True))
    cases = [str(case) for case in data.variant.values]
    bounds = [str(bound) for bound in data.bound.values]
    for ax, name in zip(axes, ("attention_excess", "attention_broken"), strict=True):
        for i, case in enumerate(cases):
            for bound, x in zip(bounds, dodge(len(bounds)), strict=True):
                values = data[name].sel(variant=case, bound=bound)
                strip(ax, i + x, values, colors[bound], words[bound] if i == 0 else None, width=0.08, markersize=3.5)
        ax.set_xticks(range(len(cases)), [_case(case) for case in cases], fontsize=8.5)
    left, right = axes
    left.axhline(0.0, label="prediction: at or above 0", **PREDICTED)
    lowest = min(left.get_ylim()[0], -0.05)
    left.axhspan(lowest, 0.0, color=RED, alpha=0.08, linewidth=0, label="bound violated")
    left.set_ylim(bottom=lowest)
    left.set_ylabel("smallest attention minus bound")
    left.set_title("attention of relevant queries on relevant tokens, $t=0$", fontsize=10)
    right.axhline(0.0, label="prediction: none", **PREDICTED)
    right.set_ylim(-0.05, 1.05)
    right.set_ylabel("share of relevant queries below the bound")
    right.set_title("violations", fontsize=10)
    for ax in axes:
        legend_below(ax)
    return figure


def _case(case: str) -> str:
    directions, _, delta = case.partition(" ")
    return f"{directions}\n$\\delta={delta}$" if delta else case.replace("-", "-\n")
