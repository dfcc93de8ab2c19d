"""Patterns out of domain by their coefficient sum S_1 (P5, figure 6.3(A) for the one-layer network)."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREY, ORANGE, RED, dodge, legend_below, panels, strip
from lemmata.theories.icl.figures import along, chosen, claim, error_scale, names, predict
from lemmata.theories.icl.measures import mean_entry, other_entries, own_entries
from lemmata.theories.icl.patterns import BRANCH_A, BRANCH_B, coefficient_sum

VARIANTS = {"U=1": ("$U$ = 1 (6 tasks)", BLUE), "U=5": ("$U$ = 5 (all tasks)", ORANGE), "3 tasks": ("3 tasks", GREY)}
OUTSIDE = 1.62
"""Where the shift that has no coefficient sum stands on the axis."""


def shift(data: xr.Dataset) -> Figure:
    """Errors, hinge and attention over S_1 on both branches for every training, and the partner entries behind them."""
    figure, axes = panels(6, rows=2, width=5.8, height=4.3)
    end = data.sel(moment="end")
    _over(axes[0], end, end.shift_error, "sign error", "all queries: sign error")
    _over(axes[1], end, end.shift_hinge, "hinge loss", "all queries: hinge loss")
    _over(axes[2], end, end.shift_concentration, r"attention on $\mathcal{N}_*$", "all queries: attention")
    first = end.isel(odr_pattern=0)
    _over(axes[3], end, first.query_error, "sign error", r"queries with $\mu_1'$: sign error")
    _over(axes[4], end, first.query_hinge, "hinge loss", r"queries with $\mu_1'$: hinge loss")
    for ax in (axes[0], axes[3]):
        predict(ax, 0.01, r"paper: $O(\epsilon)$ for $S_1\geq1$ (claimed: $\leq$ 0.01)")
        error_scale(ax)
    for ax in (axes[1], axes[4]):
        predict(ax, 0.05, r"paper: $O(\epsilon)$ for $S_1\geq1$ (claimed: $\leq$ 0.05)")
        ax.set_ylim(-0.03, 1.2)
    start = chosen(data, "variant", "U=1").shift_concentration.sel(moment="start")
    _branch(axes[2], start, "before training", "black", BRANCH_A, linestyle=":", marker="")
    predict(axes[2], 0.8, r"paper: $\to1$ (claimed, $S_1\geq1$: $U$=1 $\geq$ 0.8")
    claim(axes[2], 0.97, r"and $U$=5 $\geq$ 0.97)")
    axes[2].set_ylim(0, 1.05)
    _partners(axes[5], data)
    for ax in axes:
        ax.title.set_fontsize(10)
        legend_below(ax)
    return figure


def _over(ax: Axes, data: xr.Dataset, values: xr.DataArray, words: str, title: str) -> None:
    """Values over S_1: branch A joined by lines, branch B dotted with open marks, the defect beside them."""
    kinds = [str(name) for name in data.variant.values]
    for name, aside in zip(kinds, dodge(len(kinds), 0.3), strict=True):
        label, color = VARIANTS.get(name, (name, RED))
        part = values.sel(variant=name)
        _branch(ax, part, f"{label}, branch A", color, BRANCH_A)
        _branch(ax, part, f"{label}, branch B", color, (BRANCH_A[0], *BRANCH_B), linestyle=":", markerfacecolor="white")
        if "defect" in part["shift"].values:
            along(ax, [OUTSIDE + aside], part.sel(shift=["defect"]), None, color, marker="*", markersize=9)
    ax.axvspan(1.0, 1.35, color="black", alpha=0.06, linewidth=0)
    ax.set_xlim(-1.4, 1.85)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1, OUTSIDE], ["−1", "−0.5", "0", "0.5", "1", r"in span($\nu$)"])
    ax.set_xlabel(r"coefficient sum $S_1$ of $\mu_1'$ (shaded: $\geq1$)")
    ax.set_ylabel(f"{words}, out of domain")
    ax.set_title(title)


def _branch(ax: Axes, values: xr.DataArray, label: str, color: str, angles: tuple[float, ...], **style: object) -> None:
    there = [angle for angle in angles if f"{angle:g}" in values["shift"].values]
    sums = [coefficient_sum(angle) for angle in there]
    along(ax, sums, values.sel(shift=[f"{angle:g}" for angle in there]), label, color, **style)


def _partners(ax: Axes, data: xr.Dataset) -> None:
    """Mean entry of task partners over the mean own entry, by training."""
    kinds = [str(name) for name in data.variant.values]
    for i, kind in enumerate(kinds):
        part = data.sel(variant=kind).isel(shift=0)  # the same network at every shift
        pairs = (("G^Q", part.query_patterns, BLUE), ("G^K", part.key_patterns, ORANGE))
        for (name, block, color), x in zip(pairs, dodge(2), strict=True):
            ratio = mean_entry(other_entries(block, part.partner, True)) / own_entries(block).mean("pattern")
            strip(ax, i + x, ratio, color, f"${name}$, every seed" if i == 0 else None)
    m1 = data.sizes["pattern"]
    for sign in (1, -1):
        predict(ax, sign / m1, r"paper (6.18): $|\cdot|\leq1/M_1$" if sign > 0 else "_")
    ax.axhspan(-0.55, -0.35, color=RED, alpha=0.08, linewidth=0, label=r"corrected, $U$ = 1: in [−0.55, −0.35]")
    ax.axhline(0, color=GREY, linewidth=0.8)
    names(ax, [VARIANTS.get(kind, (kind, ""))[0] for kind in kinds])
    ax.set_ylabel("mean partner entry / own entry")
    ax.set_title("attention maps: task partners, by training tasks")
