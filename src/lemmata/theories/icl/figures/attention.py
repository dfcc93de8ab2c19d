"""Attention: task partners by the number of patterns (6.18), and panels of the default run: maps and updates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.icl.measures import both_maps, growth_records, mean_updates, other_entries

UPDATES = {"partners": draw.RED, "non-partners": draw.GREEN, "irrelevant": draw.ORANGE}


def patterns(data: xr.Dataset) -> Figure:
    """Partner over own entry of G^Q and G^K beside 1/M_1; attention on matches; the exponent C of 1 - M_1^-C."""
    figure, axes = draw.panels(3, width=4.3)
    m = data.relevant_patterns.values
    draw.curves(axes[0], data.partner_ratio, "relevant_patterns", "map", "{} map")
    for sign, words in ((1, r"paper: $|\cdot|\leq1/M_1$"), (-1, None)):
        draw.predicted(axes[0], sign / m, words, m)
    moments = {"trained": data.concentration, "at the start": data.initial_concentration}
    attention = lm.stack({when: values.isel(head=0) for when, values in moments.items()}, "moment")
    draw.curves(axes[1], attention, "relevant_patterns", "moment")
    draw.predicted(axes[1], 1.0, "paper: tends to 1")
    draw.curves(axes[2], -data.concentration_exponent, "relevant_patterns", label="measured; paper: a constant")
    words = (
        ("task partners (6.18)", "entry of a task partner / own entry"),
        ("attention concentration", r"attention on $\mathcal{N}_*$, unseen tasks"),
        (r"paper: attention $1-\Theta(M_1^{-C})$", r"$C = -\log(1 - \mathrm{attention}) / \log M_1$"),
    )
    for ax, (title, quantity) in zip(axes, words, strict=True):
        draw.from_zero(ax)
        draw.numbers(ax, m)
        draw.finish(ax, title, quantity, "relevant patterns $M_1$")
    return figure


def entries(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """The entries of G^Q and G^K at the end, by how two patterns are related, beside what is claimed of each."""
    maps = lm.at_end(both_maps(data))
    size = maps.sizes["pattern"]
    kinds = {
        "own": maps.where(xr.DataArray(np.eye(size, dtype=bool), dims=("pattern", "other"))),
        "task partners": other_entries(maps, data.partner, True),
        "non-partners": other_entries(maps, data.partner, False),
    }
    draw.groups(ax, lm.stack(kinds, "kind"), "kind", "map", "{} map, all entries", markersize=2.5, alpha=0.5)
    draw.claimed(ax, claims["p6-own"], words="claimed, own", at=0)
    for sign, words in ((1, r"paper (6.18): $|\cdot|\leq G_{jj}/M_1$"), (-1, None)):
        draw.predicted(ax, sign * float(kinds["own"].mean()) / size, words, at=1)
    draw.claimed(ax, claims["p6-non-partners"], "largest", words="claimed, non-partners", at=2)
    draw.finish(ax, "attention maps by how two patterns are related", "entries of $G^Q$, $G^K$ at the end")


def updates(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """The own update over its largest value, and what other patterns get relative to it while attention grows."""
    means = {kind: values.mean("map") for kind, values in mean_updates(data).items()}
    own = means.pop("own")
    draw.paths(ax, data, own / abs(own).max("record"), label="own / its largest")
    ratios = (lm.stack(means, "kind") / own).where(growth_records(data))
    draw.paths(ax, data, ratios, "kind", "{} / own", UPDATES)
    draw.claimed(ax, claims["p13-partners"], words="paper (E.7), partners")
    draw.claimed(ax, claims["p13-partners-corrected"], words="corrected, partners")
    draw.claimed(ax, claims["p13-non-partners"], words="claimed, non-partners")
    ax.set_ylim(-1.05, 1.1)
    title = "updates of the attention maps (ratios: while attention grows)"
    draw.finish(ax, title, r"$-\nabla W_Q,\,-\nabla W_K$ on patterns, relative", "training step $t$")
