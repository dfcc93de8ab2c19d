"""What the distance encoding learns: on the paper's graph (P10) and on graphs with planted core distances (P9)."""

from collections.abc import Mapping

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import TIME, finish_distances, over_distance
from lemmata.theories.graph_transformer.measures import rank_correlation, settled_time

MODELS = {
    "GT+PE": "GT with encoding",
    "GT core": "GT on the core",
    "no PE": "GT without encoding",
    "GCN core": "GCN on the core",
    "GCN": "GCN, distances 1 and 2",
    "permuted": "GT with encoding, distances permuted",
}
GRAPHS = {name: f"cycle {name}" for name in ("+-+-", "++--++--", "+++---+++---")}
GRAPHS |= {"G2": "planted blocks G2", "G2, heterophilous": "heterophilous G2"}
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
    draw.finish(axes[0], "paper: with encoding as good as on the core", "test loss (hinge)", TIME)
    draw.finish(axes[1], "paper: without it other nodes stay at chance", "test loss of other nodes (hinge)", TIME)
    intact, permuted = data.sel(variant="GT+PE"), data.sel(variant="permuted")
    encoding = over_distance(intact.distance_bias, intact.bins_used).dropna("bin", how="all")
    draw.paths(axes[2], intact, encoding, "bin", "$b_z$, $z$ = {}", clock=intact.time)
    shuffled = permuted.distance_bias.isel(bin=slice(1, None))
    draw.paths(axes[2], permuted, shuffled, label="distances permuted", color=draw.GREY, clock=permuted.time)
    core = f"$z_m$ = {float(intact.core_distance.max()):g}"
    title = f"paper: $b_z$ is largest at the core distance {core}\n{_ranks(intact)}"
    draw.finish(axes[2], title, "distance encoding $b_z$", TIME)
    gap = abs(intact.loss - data.loss.sel(variant="GT core"))
    draw.paths(axes[3], intact, gap, label="|GT with encoding − GT on the core|", clock=intact.time)
    draw.predicted(axes[3], 0, "paper: no difference at the end")
    draw.claimed(axes[3], claims["p10-known-core"], words="claimed at the end")
    draw.finish(axes[3], "how far from knowing the core distance", "difference of the test losses", TIME)
    return figure


def cores(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """b at the end over distance beside the margins that it should follow, a panel a graph; and losses by model."""
    figure, (*axes, last) = draw.panels(len(GRAPHS) + 1, rows=3, height=3.9)
    for place, (ax, (graph, words)) in enumerate(zip(axes, GRAPHS.items(), strict=True)):
        _profile(ax, data.sel(variant=f"{graph} GT+PE"), data.sel(variant=f"{graph} permuted"), words)
        for i, kind in enumerate(KINDS):
            if f"{graph} {kind}" in data.variant:
                runs, look = lm.at_end(data.other_loss.sel(variant=f"{graph} {kind}")), draw.look(i)
                at, label = place + draw.dodge(len(KINDS), 0.8)[i], None if place else KINDS[kind]
                draw.strip(last, at, runs, look.color, label, width=0.05, markersize=4, marker=look.marker)
        if f"{graph} no PE" in data.variant:
            draw.claimed(last, claims["p10-no-pe-g3"], words="claimed without encoding", at=place)
    draw.names(last, [graph.replace(", ", ",\n") for graph in GRAPHS])
    draw.from_zero(last, 1.15)
    draw.finish(last, "nodes that are not discriminative", "test loss of other nodes at the end")
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
    finish_distances(ax, f"{title}\n{_ranks(intact)}", "distance encoding $b_z$")


def _ranks(data: xr.Dataset) -> str:
    """How the early encoding ranks the distances, and since when it is largest at the same one."""
    rank, since = (float(values.mean()) for values in (rank_correlation(data), settled_time(data)))
    return (
        rf"early rank correlation with $\bar\Delta$: {draw.signed(rank)}, same $z$ largest from $\eta t$ = {since:.3g}"
    )
