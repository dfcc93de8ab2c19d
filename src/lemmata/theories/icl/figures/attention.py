"""Attention: task partners by the number of patterns (6.18), and panels of the default run: maps and updates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PREDICTED, RED, dodge, legend_below, panels, strip
from lemmata.lab.measures import at_end
from lemmata.theories.icl.figures import CLAIM, between, centre, claim, path, predict
from lemmata.theories.icl.measures import growth_records, mean_entry, other_entries, own_entries

MAPS = {"G^Q": "query_patterns", "G^K": "key_patterns"}
COLORS = {"G^Q": BLUE, "G^K": ORANGE}


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
            [i - 0.4, i + 0.4], [-1 / m] * 2, label=r"paper: $|\cdot| \leq 1/M_1$" if i == 0 else None, **PREDICTED
        )
        strip(middle, i, part.concentration.isel(head=0), GREEN, "trained" if i == 0 else None)
        strip(middle, i, part.initial_concentration.isel(head=0), BLUE, "at the start" if i == 0 else None)
        strip(right, i, -part.concentration_exponent, GREEN, "measured" if i == 0 else None)
    left.axhline(0, color="black", linewidth=0.6)
    left.set_ylabel("entry of a task partner / own entry")
    left.set_title("task partners (6.18)", fontsize=10)
    middle.axhline(1, label="paper: tends to 1", **PREDICTED)
    middle.set_ylim(0, 1.05)
    middle.set_ylabel("attention on contexts\nwith the query's pattern")
    middle.set_title("attention concentration", fontsize=10)
    right.set_ylim(bottom=0)
    right.set_ylabel(r"$C = -\log(1 - \mathrm{attention}) / \log M_1$")
    right.set_title(r"the paper's $1 - \Theta(M_1^{-C})$", fontsize=10)
    for ax in (left, middle, right):
        ax.set_xticks(range(len(counts)), [f"{m:g}" for m in counts])
        ax.set_xlim(-0.6, len(counts) - 0.4)
        ax.set_xlabel("relevant patterns $M_1$")
        legend_below(ax)
    return figure


def entries(ax: Axes, data: xr.Dataset) -> None:
    """The entries of G^Q and G^K at the end, by how two patterns are related, beside what is claimed of each."""
    delta = centre(own_entries(data.key_patterns.isel(record=0)))
    groups = (r"own: $G_{jj}$", "task\npartners", "non-\npartners", r"irrelevant:" "\n" r"$\nu$ block $-\,\delta I$")
    own = []
    for (name, variable), x in zip(MAPS.items(), dodge(len(MAPS)), strict=True):
        block, partner = at_end(data[variable]), data.partner
        own.append(centre(own_entries(block)))
        foreign = at_end(data[variable.replace("patterns", "irrelevant")])
        rest = foreign - delta * xr.DataArray(np.eye(foreign.sizes["idi"]), dims=("idi", "other_idi"))
        extremes = [getattr(rest, end)(["idi", "other_idi"], skipna=False).values for end in ("min", "max")]
        values = (
            own_entries(block), other_entries(block, partner, True), other_entries(block, partner, False),
            np.concatenate(extremes),
        )  # fmt: skip
        for i, group in enumerate(values):
            flat = np.ravel(group)
            label = rf"${name}$, every entry, all seeds" if i == 0 else None
            strip(ax, i + x, flat[np.isfinite(flat)], COLORS[name], label, width=0.11, markersize=2.5, alpha=0.5)
    m1 = data.sizes["pattern"]
    between(ax, 0, 3 * delta, rf"paper: grows (claimed: $\geq 3\delta$ = {3 * delta:.2g})")
    for sign in (1, -1):
        words = r"paper (6.18): $|\cdot|\leq G_{jj}/M_1$" if sign > 0 else None
        between(ax, 1, sign * float(np.mean(own)) / m1, words, color=RED)
        between(
            ax, 2, 0.08 * sign, r"claimed: $|\cdot|\leq$ 0.08, $\nu$ block $\leq$ 0.005" if sign > 0 else None, **CLAIM
        )
        between(ax, 3, 0.005 * sign, **CLAIM)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_xticks(range(len(groups)), groups, fontsize=8)
    ax.set_ylabel(r"entries of $G^Q$, $G^K$ at the end")
    ax.set_title("attention maps by how two patterns are related")


def updates(ax: Axes, data: xr.Dataset) -> None:
    """The own update over its largest value, and what other patterns get relative to it while attention grows."""
    of = data.map_update
    own = own_entries(of).mean(["map", "pattern"], skipna=False)
    largest = abs(own).max("record")
    largest = largest.where(largest > 0)
    path(ax, data.step, own / largest, "own update / its largest", BLUE)
    others = (
        ("task partners / own", mean_entry(other_entries(of, data.partner, True)).mean("map"), RED),
        ("non-partners / own", mean_entry(other_entries(of, data.partner, False)).mean("map"), GREEN),
        (r"irrelevant $\nu_k$, size / own ($\leq1/M_2$)", data.irrelevant_update.mean("map"), GREY),
    )
    growing = growth_records(data)
    for words, values, color in others:
        path(ax, data.step, (values / own).where(growing), words, color)
    for sign in (1, -1):
        predict(ax, 0.1 * sign, "paper (E.7): partners suppressed ($\\leq$ 0.1)" if sign > 0 else "_")
        claim(ax, sign / data.sizes["pattern"], "claimed: non-partners within $1/M_1$" if sign > 0 else None)
    ax.axhspan(-0.7, -0.3, color=RED, alpha=0.07, linewidth=0, label="corrected: partners in [−0.7, −0.3]")
    ax.set_ylim(-1.05, 1.1)
    ax.set_xlabel("training step $t$ (ratios: records at which attention grows)")
    ax.set_ylabel(r"$-\nabla W_Q,\,-\nabla W_K$ on patterns, relative")
    ax.set_title("updates of the attention maps, relative to the own pattern")
