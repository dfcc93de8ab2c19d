"""What the number of patterns changes: entries of task partners, and attention (no claim reads them)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, ORANGE, PREDICTED, dodge, legend_below, panels, strip


def patterns(data: xr.Dataset) -> Figure:
    """Partner over own entry of G^Q and G^K beside 1/M_1; attention on matches; the exponent C of 1 - M_1^-C."""
    figure, (left, middle, right) = panels(3, width=4.6, height=3.8)
    counts = data.relevant_patterns.values
    for i, m in enumerate(counts):
        part = data.sel(relevant_patterns=m)
        for name, color, x in zip(("query", "key"), (BLUE, ORANGE), dodge(2), strict=True):
            label = {"query": "$G^Q$", "key": "$G^K$"}[name] if i == 0 else None
            strip(left, i + x, part.partner_ratio.sel(map=name), color, label, width=0.06)
        left.plot(
            [i - 0.4, i + 0.4], [-1 / m] * 2, label=r"document: $|\cdot| \leq 1/M_1$" if i == 0 else None, **PREDICTED
        )
        strip(middle, i, part.concentration.isel(head=0), GREEN, "trained" if i == 0 else None)
        strip(middle, i, part.initial_concentration.isel(head=0), BLUE, "at the start" if i == 0 else None)
        strip(right, i, -part.concentration_exponent, GREEN, "measured" if i == 0 else None)
    left.axhline(0, color="black", linewidth=0.6)
    left.set_ylabel("entry of a task partner / own entry")
    left.set_title("task partners (6.18)", fontsize=10)
    middle.axhline(1, label="document: tends to 1", **PREDICTED)
    middle.set_ylim(0, 1.05)
    middle.set_ylabel("attention on contexts\nwith the query's pattern")
    middle.set_title("attention concentration", fontsize=10)
    right.set_ylim(bottom=0)
    right.set_ylabel(r"$C = -\log(1 - \mathrm{attention}) / \log M_1$")
    right.set_title(r"the document's $1 - \Theta(M_1^{-C})$", fontsize=10)
    for ax in (left, middle, right):
        ax.set_xticks(range(len(counts)), [f"{m:g}" for m in counts])
        ax.set_xlim(-0.6, len(counts) - 0.4)
        ax.set_xlabel("relevant patterns $M_1$")
        legend_below(ax)
    return figure
