"""The quantities of the proof along training (Lemmas 3.4.5, B.3.1 - B.3.6); attention on nodes (Figure 3.5)."""

import itertools
from collections.abc import Mapping

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lemmata.theories.graph_transformer.figures import TIME
from lemmata.theories.graph_transformer.measures import CONFUSION, approach

COLORS = {"discriminative": GREEN, "other": ORANGE, "all": BLUE}
GRAPHS = {-1: "default graph", 0: "graph as printed"}
SHOWN = {
    "intact": "margin 1",
    "margin 10": "margin 10",
    "frozen": "attention frozen",
    "frozen values": "$W_V$ frozen",
    "permuted": "labels permuted",
    "literal init": "initial weights as printed",
}
"""The variants whose attention is drawn; that of the others is as frozen."""
OTHERS = slice(2, None)
"""The patterns that are not discriminative."""


def attention(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Attention on class-relevant keys and on all others, one panel for a margin of the loss and a graph."""
    cells = [*itertools.product(data.intra_degree.values, data.margin.values)]
    figure, axes = draw.panels(len(cells), rows=data.sizes["intra_degree"], height=4.1)
    for ax, (intra, margin) in zip(axes, cells, strict=True):
        cell = data.sel(intra_degree=intra, margin=margin)
        rest = 1 - cell.relevant_mass.sel(group="all")
        draw.paths(ax, cell, "relevant_mass", "group", "{} nodes", COLORS, clock=cell.time)
        draw.paths(ax, cell, rest, label="all nodes, every other key", color=draw.GREY, clock=cell.time)
        draw.predicted(ax, 1.0, "paper: close to 1, others to 0")
        draw.predicted(ax, 0.0, None)
        draw.claimed(ax, claims["f35-close-to-one"], words="claimed, all nodes")
        ax.set_ylim(-0.04, 1.06)
        graph = GRAPHS.get(int(intra), f"{intra:g} edges inside a pattern")
        draw.finish(ax, f"margin {margin:g} of the training loss, {graph}", "attention on class-relevant keys", TIME)
    return figure


def training(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Relevant masses by variant, norms of keys, alignment and activity of lucky neurons, movement of values."""
    figure, axes = draw.panels(6, rows=3, height=4.1)
    shown = lm.cells(data, variant=list(SHOWN)).assign_coords(variant=list(SHOWN.values()))
    for ax, group, limit in zip(axes, ("discriminative", "other"), (1, 1 - CONFUSION), strict=False):
        draw.paths(ax, shown, shown.relevant_mass.sel(group=group), "variant", clock=shown.time)
        draw.predicted(ax, limit, f"paper: to {limit:g}")
        draw.claimed(ax, claims["p7-limit"], group)
        ax.set_ylim(-0.03, 1.06)
        power = draw.stated(approach(data.sel(variant="margin 10"), group, limit))
        title = f"attention of {group} nodes\nexponent in $t$ below the limit, margin 10: {power} (paper: −1)"
        draw.finish(ax, title, "attention on class-relevant keys", TIME)
    intact = data.sel(variant="intact")
    _keys(axes[2], intact, data.sel(variant="frozen"), claims)
    _neurons(axes[3], intact)
    _activity(axes[4], intact, claims)
    _values(axes[5], intact, data.sel(variant="frozen values"), claims)
    return figure


def _draw(ax: Axes, data: xr.Dataset, *lines: tuple[str, xr.DataArray, str, str]) -> None:
    for words, values, color, linestyle in lines:
        draw.paths(ax, data, values, label=words, color=color, linestyle=linestyle, clock=data.time)


def _keys(ax: Axes, data: xr.Dataset, frozen: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """How much more the keys and queries of the discriminative patterns have grown than those of the others."""

    def lead(norms: xr.DataArray, pattern: int) -> xr.DataArray:
        growth = norms / norms.isel(record=0)
        return growth.isel(pattern=pattern) - growth.isel(pattern=OTHERS).mean("pattern", skipna=False)

    for letter, norms, dash in (("q", data.key_norm, "-"), ("r", data.query_norm, "--")):
        _draw(ax, data, *((rf"$\|{letter}_{j + 1}\|$", lead(norms, j), (BLUE, RED)[j], dash) for j in (0, 1)))
    _draw(ax, frozen, (r"$\|q_1\|$, attention frozen", lead(frozen.key_norm, 0), GREY, "-"))
    draw.claimed(ax, claims["p12-disc-exceeds"])
    y = r"growth factor less that of $j\geq3$"
    draw.finish(ax, "paper: keys $q_1$, $q_2$ and queries $r_1$, $r_2$ outgrow others", y, TIME)


def _neurons(ax: Axes, data: xr.Dataset) -> None:
    """Means of W_O,i p̂_j over the lucky neurons, and over those of the wrong sign."""
    along, size = data.lucky_along, data.lucky_along_size
    for crowd, own, color in (("W", 0, BLUE), ("U", 1, RED)):
        name = rf"$\mathcal{{{crowd}}}$"
        mine = along.sel(crowd=crowd)
        rest = size.sel(crowd=crowd).isel(pattern=OTHERS).mean("pattern", skipna=False)
        _draw(
            ax,
            data,
            (rf"{name} along $\hat p_{own + 1}$", mine.isel(pattern=own), color, "-"),
            (rf"{name} along $\hat p_{2 - own}$", mine.isel(pattern=1 - own), color, "-."),
            (rf"{name}: size along $\hat p_j$, $j\geq3$", rest, color, ":"),
        )
    wrong = along.sel(crowd="wrong W").isel(pattern=0)
    _draw(ax, data, (r"control: $a_i<0$, active on $D_1$, along $\hat p_1$", wrong, GREY, "-"))
    y = r"mean of $W_{O,i}\,\hat p_j$ over neurons"
    draw.finish(ax, "paper: lucky neurons grow along their own pattern", y, TIME)


def _activity(ax: Axes, data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """Shares of active pairs, norms of unlucky neurons, and the share of relevant attention in the core shell."""
    active = data.persistence
    _draw(
        ax,
        data,
        (r"$\mathcal{W}$ active on $D_1$", active.sel(crowd="W"), BLUE, "-"),
        (r"$\mathcal{U}$ active on $D_2$", active.sel(crowd="U"), RED, "--"),
        (r"control: $a_i<0$ on $D_1$", active.sel(crowd="wrong W"), GREY, "-"),
        (r"$\|W_{O,i}\|^2$, unlucky / lucky", data.norm_ratio, PURPLE, "-"),
        ("relevant / decisive attention, core shell", data.core_ratio, GREEN, "-"),
    )
    draw.predicted(ax, 1 - CONFUSION, r"paper: $1-\epsilon_S$ in the core shell", color=GREEN)
    draw.claimed(ax, claims["p15-persistence"], words="claimed, lucky active")
    draw.claimed(ax, claims["p11-unlucky-norms"], words="claimed, unlucky / lucky")
    ax.set_ylim(-0.03, 1.08)
    draw.finish(ax, "paper: lucky neurons stay active and outgrow the unlucky", "share, ratio", TIME)


def _values(ax: Axes, data: xr.Dataset, frozen: xr.Dataset, claims: Mapping[str, lm.Claim]) -> None:
    """How far the values of the patterns have moved."""
    moved, lucky = data.value_moved, data.lucky_value
    _draw(
        ax,
        data,
        (r"$\|dV_1\|$", moved.isel(pattern=0), BLUE, "-"),
        (r"$\|dV_2\|$", moved.isel(pattern=1), RED, "--"),
        (r"largest $\|dV_j\|$, $j\geq3$", moved.isel(pattern=OTHERS).max("pattern", skipna=False), GREY, "-"),
        (r"$\langle dV_1,dV_2\rangle$", data.value_opposition, PURPLE, "-"),
        (r"mean $W_{O,i}dV_1$ over $\mathcal{W}$", lucky.sel(label="+1"), GREEN, "-"),
        (r"mean $W_{O,i}dV_2$ over $\mathcal{U}$", lucky.sel(label="-1"), ORANGE, "--"),
    )
    _draw(ax, frozen, (r"$\|dV_1\|$, $W_V$ frozen", frozen.value_moved.isel(pattern=0), BLUE, ":"))
    draw.claimed(ax, claims["p14-opposition"], words=r"claimed, $\langle dV_1,dV_2\rangle$")
    y = r"$dV_j=(W_V^{(t)}-W_V^{(0)})\mu_j$"
    draw.finish(ax, "paper: $dV_1$ and $dV_2$ grow against each other", y, TIME)
