"""What the distance encoding learns: on the chapter's graph (P10) and on graphs with planted core distances (P9)."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import TIME, finish_distances, over_distance

MODELS = {
    "GT+PE": "GT with encoding",
    "GT core": "GT on the core",
    "no PE": "GT without encoding",
    "GCN core": "GCN on the core",
    "GCN": "GCN, distances 1 and 2",
    "permuted": "GT with encoding, distances permuted",
}
GRAPHS = {
    "+-+-": "cycle +-+-",
    "++--++--": "cycle ++--++--",
    "+++---+++---": "cycle +++---+++---",
    "G2": "planted blocks G2",
    "G2, heterophilous": "heterophilous G2",
}
KINDS = {
    "GT+PE": "with encoding",
    "core": "core only",
    "no PE": "without encoding",
    "z=1": "distance 1 only",
    "permuted": "distances permuted",
}


def known_core(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Test losses of all models, of other nodes alone, the encoding, and how far it is from knowing the core."""
    figure, axes = draw.panels(4, rows=2, height=4.1)
    models = lm.cells(data, variant=list(MODELS)).assign_coords(variant=list(MODELS.values()))
    for ax, name in zip(axes, ("loss", "other_loss"), strict=False):
        draw.paths(ax, models, name, "variant", clock=models.time)
        ax.set_ylim(-0.03, 1.15)
    draw.claimed(axes[1], claims["p10-no-pe-g1"], words="claimed without encoding")
    intact, permuted = data.sel(variant="GT+PE"), data.sel(variant="permuted")
    encoding = over_distance(intact.distance_bias, intact.bins_used).isel(bin=slice(1, None)).dropna("bin", how="all")
    draw.paths(axes[2], intact, encoding, "bin", "$b_z$, $z$ = {}", clock=intact.time)
    shuffled = permuted.distance_bias.isel(bin=slice(1, None))
    draw.paths(axes[2], permuted, shuffled, label="distances permuted", color=draw.GREY, clock=permuted.time)
    gap = abs(intact.loss - data.loss.sel(variant="GT core"))
    draw.paths(axes[3], intact, gap, label="|GT with encoding − GT on the core|", clock=intact.time)
    draw.predicted(axes[3], 0, "paper: no difference at the end")
    draw.claimed(axes[3], claims["p10-known-core"], words="claimed at the end")
    core = float(intact.core_distance.max())
    for ax, title, y in zip(
        axes,
        (
            "paper: with encoding as good as on the core",
            "paper: without it other nodes stay at chance",
            f"paper: $b_z$ is largest at the core distance $z_m$ = {core:g}",
            "how far from knowing the core distance",
        ),
        (
            "test loss (hinge)",
            "test loss of other nodes (hinge)",
            "distance encoding $b_z$",
            "difference of the test losses",
        ),
        strict=True,
    ):
        draw.finish(ax, title, y, TIME)
    return figure


def cores(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """b at the end over distance beside the margins that it should follow, a panel a graph; and losses by model."""
    figure, axes = draw.panels(len(GRAPHS) + 1, rows=3, height=3.9)
    for ax, (graph, words) in zip(axes, GRAPHS.items(), strict=False):
        _profile(ax, data.sel(variant=f"{graph} GT+PE"), data.sel(variant=f"{graph} permuted"), words)
    losses = {
        (graph, kind): lm.at_end(data.other_loss.sel(variant=f"{graph} {kind}", drop=True))
        for graph in GRAPHS
        for kind in KINDS
        if f"{graph} {kind}" in data.variant
    }
    said = set()
    for (graph, kind), runs in losses.items():
        place, look = list(GRAPHS).index(graph), draw.look(list(KINDS).index(kind))
        shift = draw.dodge(len(KINDS), 0.8)[list(KINDS).index(kind)]
        label = None if kind in said else KINDS[kind]
        draw.strip(axes[-1], place + shift, runs, look.color, label, width=0.05, markersize=4, marker=look.marker)
        said.add(kind)
    for place in range(3):
        draw.claimed(axes[-1], claims["p10-no-pe-g3"], words="claimed without encoding", at=place)
    draw.names(axes[-1], [graph.replace(", ", ",\n") for graph in GRAPHS])
    draw.from_zero(axes[-1], 1.15)
    draw.finish(
        axes[-1],
        "nodes that are not discriminative",
        "test loss of other nodes at the end",
        bbox_to_anchor=(0.5, -0.19),
    )
    return figure


def _profile(ax: Axes, intact: xr.Dataset, permuted: xr.Dataset, words: str) -> None:
    """The encoding at the end over distance, and both kinds of margin scaled to its largest value."""
    encoding = over_distance(lm.at_end(intact.distance_bias), intact.bins_used)
    draw.curves(ax, encoding, "bin", label="$b_z$ with encoding")
    shuffled = over_distance(lm.at_end(permuted.distance_bias), permuted.bins_used)
    draw.curves(ax, shuffled, "bin", label="distances permuted", color=draw.GREY, marker="x", linestyle=":")
    for name, label, tell in (
        ("count_margin", r"paper: as the margin $\bar\Delta(z)$, scaled", draw.predicted),
        ("normalised_margin", r"corrected: as a share of the shell, scaled", draw.corrected),
    ):
        margin = over_distance(intact[name], intact.bins_used).mean("seed")
        tell(ax, margin * float(encoding.max() / margin.max()), label, margin.bin)
    core, end = float(intact.core_distance.max()), float(intact.time.max())
    title = rf"{words}: largest count margin at $z$ = {core:g}, $\eta t$ = {end:g}"
    finish_distances(ax, title, "distance encoding $b_z$")
