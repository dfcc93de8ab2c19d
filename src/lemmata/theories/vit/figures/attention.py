"""Attention along training (Figure 2.4, other losses) and its bounds before it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.vit.figures import TIME, VARIANT_NAMES

BOUNDS = {
    "paper": "paper: $p_n$ (A.15)",
    "theorem": "corrected: the theorem with $D$",
    "theorem, δ = 0": r"control: the theorem with $\delta=0$",
}
ERRORS = r"directions of the errors of keys and queries, and $\delta$"
BOUND_COLORS = dict(zip(BOUNDS, (draw.BLUE, draw.GREEN, draw.GREY), strict=True))


def concentration(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Attention on relevant tokens by type of query along training, its complement, T_0 and the paper's limit."""
    figure, axes = draw.panels(data.sizes["variant"], sharey=True, width=5.8, height=4.2)
    for ax, variant in zip(axes, draw.labels_of(data, "variant"), strict=True):
        runs = data.sel(variant=variant)
        trained, frozen = (runs.sel(attention=kind) for kind in ("trained", "frozen"))
        draw.paths(ax, trained, "concentration", "query", "on relevant tokens, {} queries")
        others = trained.complement.sel(query="all")
        draw.paths(ax, trained, others, label="on all others, all queries", color=draw.GREY, linestyle=":")
        frozen_path = frozen.concentration.sel(query="all")
        draw.paths(ax, frozen, frozen_path, label="on relevant tokens, attention frozen", color=draw.PURPLE, spread="")
        draw.predicted(ax, 1.0, "paper: limit 1, every query")
        draw.claimed(ax, claims["f4-below-one"], words="claimed, all queries")
        draw.moment(ax, float(trained.reached_step.mean("seed")), "$T_0$: training loss 0")
        ax.set_ylim(0, 1.05)
        draw.finish(ax, VARIANT_NAMES.get(variant, variant), "mean attention", f"{TIME} (lines: mean and seeds)")
    return figure


def losses(data: xr.Dataset) -> Figure:
    """All-query concentration for losses that saturate and losses that do not."""
    figure, (ax,) = draw.panels(1, width=6.4)
    trained, frozen = (data.sel(attention=kind, query="all") for kind in ("trained", "frozen"))
    draw.paths(ax, trained, "concentration", "loss")
    still = frozen.isel(loss=0)
    draw.paths(ax, still, "concentration", label="any loss, attention frozen", color=draw.GREY, linestyle=":")
    draw.predicted(ax, 1.0, "paper: limit 1")
    ax.set_ylim(0, 1.05)
    draw.finish(ax, "concentration under other losses", "attention on relevant tokens,\nall queries", TIME)
    return figure


def initial_bounds(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """By how much the attention of relevant queries exceeds its lower bounds, and how often it does not."""
    figure, axes = draw.panels(2, width=6.6, height=4.4)
    words = {str(variant): re.sub("[ -]", "\n", str(variant)) for variant in data.variant.values}
    shown = data.assign_coords(bound=[BOUNDS[str(bound)] for bound in data.bound.values])
    colors = {BOUNDS[bound]: color for bound, color in BOUND_COLORS.items()}
    for ax, name in zip(axes, ("attention_excess", "attention_broken"), strict=True):
        draw.groups(ax, shown[name], "variant", "bound", color=colors, words=words, markersize=3.5)
    left, right = axes
    draw.claimed(left, claims["v24-attention-pn"], words="respected")
    title, y = "attention of relevant queries on relevant tokens, $t=0$", "smallest attention minus bound"
    draw.finish(left, title, y, ERRORS, legend=1)
    draw.predicted(right, 0.0, "paper: none")
    right.set_ylim(-0.05, 1.05)
    draw.finish(right, "violations", "share of relevant queries below the bound", ERRORS, legend=1)
    return figure
