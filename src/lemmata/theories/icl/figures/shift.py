"""Patterns out of domain by their coefficient sum S_1 (P5, figure 6.3(A) for the one-layer network)."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.measures import both_maps, mean_entry, other_entries, own_entries
from lemmata.theories.icl.patterns import coefficient_sum

OUTSIDE = 1.62
"""Where the shift that has no coefficient sum stands on the axis."""
SMALL = r"paper: $O(\epsilon)$ for $S_1\geq1$; claimed"


def shift(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Errors, hinge and attention over S_1 on both branches for every training, and the partner entries behind them."""
    figure, axes = draw.panels(6, rows=3, height=4.5)
    end = data.sel(moment="end")
    first = end.isel(odr_pattern=0)
    _over(axes[0], end.shift_error, "all queries: sign error", "sign error")
    _over(axes[1], first.query_error, r"queries with $\mu_1'$: sign error", "sign error")
    _over(axes[2], end.shift_hinge, "all queries: hinge loss", "hinge loss")
    _over(axes[3], first.query_hinge, r"queries with $\mu_1'$: hinge loss", "hinge loss")
    _over(axes[4], end.shift_concentration, "all queries: attention", r"attention on $\mathcal{N}_*$")
    draw.claimed(axes[0], claims["p5-sign"], words=SMALL)
    draw.claimed(axes[1], claims["p5-sign-unneeded"], words="claimed also at $S_1=0$")
    draw.claimed(axes[2], claims["p5-hinge"], words=SMALL)
    draw.predicted(axes[3], 0.0, r"paper: $O(\epsilon)$ for $S_1\geq1$")
    before = data.shift_concentration.sel(moment="start").mean()
    draw.predicted(axes[4], 1.0, r"paper: tends to 1 for $S_1\geq1$")
    draw.predicted(axes[4], before, "before training", color="black", linestyle=":")
    draw.claimed(axes[4], claims["p7-concentration-shifted"], part="value", words="claimed, U=1")
    draw.claimed(axes[4], claims["p7-concentration-spread"], words="claimed, U=5")
    for ax in axes[:2]:
        draw.loss_scale(ax)
    for ax in axes[2:5]:
        draw.from_zero(ax, 1.05)
    for ax in axes[:5]:
        draw.finish(ax)
    _partners(axes[5], data.isel(shift=0), claims)  # the same network at every shift
    return figure


def _over(ax: Axes, values: xr.DataArray, title: str, words: str) -> None:
    """Values over S_1: branch A joined by lines, branch B dotted with open marks, the defect beside them."""
    angle, inside = values.angle, values.defect == "none"
    a, b = values.isel(shift=inside & (angle <= 45)), values.isel(shift=inside & (angle >= 45))
    for part, branch, how in ((a, "A", {"linestyle": "-"}), (b, "B", {"linestyle": ":", "markerfacecolor": "white"})):
        sums = [coefficient_sum(float(degrees)) for degrees in part.angle]
        draw.curves(ax, part, "shift", "variant", f"{{}}, branch {branch}", x=sums, **how)
    outside = values.isel(shift=~inside)
    for i, (variant, aside) in enumerate(
        zip(values.variant.values, draw.dodge(values.sizes["variant"], 0.3), strict=True)
    ):
        label = r"control: $\mu'$ in span($\nu$)" if i == 0 else None
        how = {"marker": "*", "markersize": 9, "width": 0.02}
        draw.strip(ax, OUTSIDE + aside, outside.sel(variant=variant), draw.look(i).color, label, **how)
    ax.axvspan(1.0, 1.35, color=draw.GREY, alpha=0.12, linewidth=0)
    ax.set_xlim(-1.4, 1.85)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1, OUTSIDE], ["−1", "−0.5", "0", "0.5", "1", r"in span($\nu$)"])
    draw.finish(ax, title, f"{words}, out of domain", r"coefficient sum $S_1$ of $\mu_1'$ (shaded: $\geq1$)", legend=0)


def _partners(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Mean entry of task partners over the mean own entry, by training."""
    maps = both_maps(data)
    ratio = mean_entry(other_entries(maps, data.partner, True)) / own_entries(maps).mean("pattern")
    draw.groups(ax, ratio, "variant", "map", "{} map (points: seeds)")
    for sign, words in ((1, r"paper (6.18): $|\cdot|\leq1/M_1$"), (-1, None)):
        draw.predicted(ax, sign / data.sizes["pattern"], words)
    draw.claimed(ax, claims["p6-partners-corrected"], words="corrected, U=1")
    draw.finish(ax, "attention maps: task partners, by training", "mean partner entry / own entry")
