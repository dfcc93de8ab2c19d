"""The proof's quantities along training (Lemmas 3.4.5, B.3.1 - B.3.6): masses, keys, neurons, values."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, labels_of, panels, present
from lemmata.theories.graph_transformer.figures.common import claim, clock, legend, mean_of, over_time, path, predict

CONFUSION = 0.05
"""ε_S of the default graph."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "intact": ("intact (margin 1)", {"color": BLUE}),
    "margin 10": ("margin 10", {"color": GREEN}),
    "frozen values": ("$W_V$ frozen", {"color": "#7a5195"}),
    "frozen": ("attention frozen (both margins)", {"color": ORANGE}),
    "frozen, margin 10": ("_", {"color": ORANGE, "linestyle": ":"}),
    "only head": ("only $W_O$ trained", {"color": "#8c6d31", "linestyle": "-."}),
    "permuted": ("labels permuted", {"color": GREY}),
    "literal init": ("initial weights as printed", {"color": RED, "linestyle": "--"}),
}


def training(data: xr.Dataset) -> Figure:
    """Relevant masses by variant, norms of keys, alignment and activity of lucky neurons, movement of values."""
    figure, axes = panels(6, rows=3, height=4.1)
    for ax, group, words, limit in (
        (axes[0], "discriminative", "discriminative nodes", 1.0), (axes[1], "other", "other nodes", 1 - CONFUSION),
    ):  # fmt: skip
        _masses(ax, data, group, limit)
        ax.set_title(f"attention on class-relevant keys: {words}", fontsize=10)
    intact = _variant(data, "intact")
    _keys(axes[2], intact, _variant(data, "frozen"))
    _neurons(axes[3], intact)
    _activity(axes[4], intact)
    _values(axes[5], intact, data)
    for ax in axes:
        legend(ax)
    return figure


def _variant(data: xr.Dataset, name: str) -> xr.Dataset:
    """A variant, or the first one if the experiment was run without it."""
    known = labels_of(data, "variant")
    return data.isel(variant=known.index(name) if name in known else 0)


def _masses(ax: Axes, data: xr.Dataset, group: str, limit: float) -> None:
    for variant in present(data, "variant", list(VARIANTS)):
        words, style = VARIANTS[variant]
        part = data.sel(variant=variant)
        path(ax, part, part.relevant_mass.sel(group=group), words, **style)
    name = "1" if limit == 1 else r"1-\epsilon_S"
    predict(ax, limit, rf"paper: to ${name}$ = {limit:g}" if limit < 1 else "paper: to 1")
    if limit == 1:
        claim(ax, 0.9, "claimed: above 0.9")
    else:
        ax.axhspan(
            limit - 0.06, min(limit + 0.06, 1), color="black", alpha=0.07, linewidth=0, label="claimed: within 0.06"
        )
    ax.set_ylim(-0.03, 1.06)
    ax.set_ylabel("attention on class-relevant keys")
    over_time(ax, data)


def _keys(ax: Axes, data: xr.Dataset, frozen: xr.Dataset) -> None:
    """Norms of mean keys and queries over their initial ones."""
    for name, letter, style in (("key_norm", "q", "-"), ("query_norm", "r", "--")):
        factor = data[name] / data[name].isel(record=0)
        for j, color in ((0, BLUE), (1, ORANGE)):
            path(ax, data, factor.isel(pattern=j), rf"$\|{letter}_{j + 1}\|$", color, linestyle=style)
        rest = factor.isel(pattern=slice(2, None)).mean("pattern", skipna=False)
        path(ax, data, rest, rf"$\|{letter}_j\|$, mean of $j\geq3$", GREY, linestyle=style)
    if str(frozen.variant.values) == "frozen":
        norms = frozen.key_norm.isel(pattern=0) / frozen.key_norm.isel(record=0, pattern=0)
        path(ax, frozen, norms, r"$\|q_1\|$, attention frozen", RED, linestyle=":")
    ends = mean_of(
        (data.key_norm / data.key_norm.isel(record=0)).isel(pattern=slice(2, None)).mean("pattern", skipna=False)
    )
    ax.plot(mean_of(clock(data)[0]), ends + 0.1, label="paper: 1, 2 above others (claimed: by 0.1)", **PREDICTED)
    over_time(ax, data)
    ax.set_ylabel("norm over initial norm")
    ax.set_title("keys $q_j$ and queries $r_j$ of the patterns", fontsize=10)


def _neurons(ax: Axes, data: xr.Dataset) -> None:
    """Means of W_O,i p̂_j over the lucky neurons, and over those of the wrong sign."""
    along, size = data.lucky_along, data.lucky_along_size
    for crowd, own, color in (("W", 0, BLUE), ("U", 1, ORANGE)):
        name = rf"$\mathcal{{{crowd}}}$"
        path(ax, data, along.sel(crowd=crowd).isel(pattern=own), rf"{name} along $\hat p_{own + 1}$", color)
        path(
            ax,
            data,
            along.sel(crowd=crowd).isel(pattern=1 - own),
            rf"{name} along $\hat p_{2 - own}$",
            color,
            linestyle="-.",
        )
        rest = size.sel(crowd=crowd).isel(pattern=slice(2, None)).mean("pattern", skipna=False)
        path(ax, data, rest, rf"{name}: size along $\hat p_j$, $j\geq3$", color, linestyle=":")
    path(
        ax,
        data,
        along.sel(crowd="wrong W").isel(pattern=0),
        r"control: $a_i<0$, active on $D_1$, along $\hat p_1$",
        GREY,
    )
    least = 3 * mean_of(size.sel(crowd="W").isel(pattern=slice(2, None)).mean("pattern", skipna=False))
    ax.plot(mean_of(clock(data)[0]), least, label="paper: own direction largest (claimed: 3 times)", **PREDICTED)
    ax.axhline(0, color=GREY, linewidth=0.8)
    over_time(ax, data)
    ax.set_ylabel(r"mean of $W_{O,i}\,\hat p_j$ over neurons")
    ax.set_title("lucky neurons, intact training", fontsize=10)


def _activity(ax: Axes, data: xr.Dataset) -> None:
    """Shares of active pairs, norms of unlucky neurons, and the share of relevant attention in the core shell."""
    for crowd, words, color, style in (
        ("W", r"$\mathcal{W}$ active on $D_1$", BLUE, "-"), ("U", r"$\mathcal{U}$ active on $D_2$", ORANGE, "--"),
        ("wrong W", r"control: $a_i<0$ on $D_1$", GREY, "-"),
    ):  # fmt: skip
        path(ax, data, data.persistence.sel(crowd=crowd), words, color, linestyle=style)
    path(ax, data, data.norm_ratio, r"$\|W_{O,i}\|^2$, unlucky / lucky", RED)
    path(ax, data, data.core_ratio, "relevant / decisive attention, core shell", GREEN)
    predict(ax, 1.0, "paper: lucky ones stay active")
    claim(ax, 0.9, "claimed: at least 0.9")
    ax.axhline(1 - CONFUSION, **{**PREDICTED, "color": GREEN}, label=r"paper: $1-\epsilon_S$")
    ax.set_ylim(-0.03, 1.08)
    over_time(ax, data)
    ax.set_ylabel("share, ratio")
    ax.set_title("activity and size of neurons, intact training", fontsize=10)


def _values(ax: Axes, data: xr.Dataset, everything: xr.Dataset) -> None:
    """How far the values of the patterns have moved."""
    moved = data.value_moved
    path(ax, data, moved.isel(pattern=0), r"$\|dV_1\|$", BLUE)
    path(ax, data, moved.isel(pattern=1), r"$\|dV_2\|$", ORANGE)
    path(
        ax, data, moved.isel(pattern=slice(2, None)).max("pattern", skipna=False), r"largest $\|dV_j\|$, $j\geq3$", GREY
    )
    path(ax, data, data.value_opposition, r"$\langle dV_1,dV_2\rangle$", RED)
    for j, (label, color) in enumerate((("+1", BLUE), ("-1", ORANGE))):
        crowd = "WU"[j]
        path(
            ax,
            data,
            data.lucky_value.sel(label=label),
            rf"mean $W_{{O,i}}dV_{j + 1}$ over $\mathcal{{{crowd}}}$",
            color,
            linestyle=":",
        )
    if "frozen values" in labels_of(everything, "variant"):
        part = everything.sel(variant="frozen values")
        path(ax, part, part.value_moved.isel(pattern=0), r"$\|dV_1\|$, $W_V$ frozen", "#7a5195", linestyle="-.")
    ax.plot(
        mean_of(clock(data)[0]),
        0.2 * mean_of(moved.isel(pattern=0)),
        label=r"claimed for $j\geq3$: below $0.2\,\|dV_1\|$",
        **PREDICTED,
    )
    ax.axhline(0, color=GREY, linewidth=0.8)
    if np.isfinite(ax.dataLim.y1):
        ax.margins(y=0.08)
    over_time(ax, data)
    ax.set_ylabel(r"$dV_j=(W_V^{(t)}-W_V^{(0)})\mu_j$")
    ax.set_title("movement of the values, intact training", fontsize=10)
