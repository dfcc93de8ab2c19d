"""Single steps of the proof: batch gradients (P16); graphs and samples without training: masses (P17), shares (P18),
samples (P19), exchanges (P20), margins (9.5)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.figures import finish_distances, straight
from lemmata.theories.graph_transformer.figures.encoding import GRAPHS
from lemmata.theories.graph_transformer.measures import CONFUSION
from lemmata.theories.graph_transformer.studies.random_samples import LIMIT

MOMENTS = {"start": "before training", "later": "after training"}
SIZE = "batch size $B$"
GENERATORS = {"chapter": "paper's graph", "ring": "ring"}
INTRA = {0: "as printed (no edges inside a pattern)", -1: "$D$ edges inside a pattern"}
SAMPLED = {"whole": "sample of the whole graph", "single": "sample of the core shell (control)"}


def batches(data: xr.Dataset) -> Figure:
    """Mean relative deviation of a batch gradient with its B^(-1/2), and how often it exceeds ε beside e^{-B ε²}."""
    figure, axes = draw.panels(4, rows=2, height=4.0)
    size = data["size"].values.astype(float)
    data = data.assign_coords(size=size, part=[f"${name}$" for name in draw.labels_of(data, "part")])
    grid = np.geomspace(size.min(), size.max(), 60)
    for (moment, words), above, below in zip(MOMENTS.items(), axes[:2], axes[2:], strict=True):
        cell = data.sel(moment=moment)
        draw.curves(above, cell.deviation, "size", "part")
        for i, mean in enumerate(cell.deviation.mean("seed").transpose("part", "size")):
            draw.law(above, size, mean, size**-0.5, None if i else r"paper: $\propto B^{-1/2}$")
        copies = cell.copies.isel(part=0)
        draw.curves(above, copies, "size", label="$W_O$: $B$ copies of one node", color=draw.GREY, spread="", marker="")
        draw.log_y(above)
        draw.finish(above, f"deviation of a batch gradient, {words}", "mean relative deviation", SIZE, legend=3)
        draw.curves(below, cell.exceeds, "size", "part")
        draw.predicted(below, np.exp(-grid * LIMIT**2), r"paper: at most $e^{-B\epsilon^2}$", grid)
        draw.loss_scale(below)
        y = rf"share of batches beyond $\epsilon$ = {LIMIT:g}"
        draw.finish(below, f"how often it exceeds ε, {words}", y, SIZE, legend=3)
        draw.numbers(above, size)
        draw.numbers(below, size)
    return figure


def variance(data: xr.Dataset) -> Figure:
    """The variance of the mean of p_n(0) over redraws beside the bound of (B.49)."""
    figure, (ax,) = draw.panels(1, width=6.4, height=4.4)
    means = lm.stack({"$p_n(0)$": data.mass_mean, "one common coin (control)": data.coin_mean}, "law")
    draw.groups(ax, means.var("redraw", ddof=1), "generator", "law", words=GENERATORS)
    for place, bound in enumerate(data.bound.max("seed").values):
        draw.predicted(ax, bound, None if place else r"paper: at most $2(1+\sum_z\delta_z^2)/|L|$", at=place)
    ax.axhline(0.25, color=draw.GREY, linewidth=1, label=r"1/4: always so, since $0\leq p_n\leq1$")
    draw.log_y(ax)
    draw.finish(ax, "variance and bound", "variance of the mean of $p_n(0)$ over redraws")
    return figure


def shares(data: xr.Dataset) -> Figure:
    """The share of class-relevant neighbours by γ_d beside (1 - ε_S) γ_d, on planted blocks and the paper's graph."""
    figure, (ax,) = draw.panels(1, width=6.4, height=4.4)
    graphs = {"blocks": "planted blocks (G2)", "chapter": "the paper's graph (G1, control)"}
    for i, (generator, words) in enumerate(graphs.items()):
        shown = lm.cells(data, generator=generator).sortby("discriminative").relevant_share.transpose("seed", "variant")
        x, color = shown.discriminative.values, draw.look(i).color
        draw.curves(ax, shown, "variant", x=x, label=words, color=color, marker=draw.look(i).marker, linestyle="none")
        straight(ax, x, shown.values, color, through_origin=True)
    draw.predicted(ax, [0, 1 - CONFUSION], rf"paper: $(1-\epsilon_S)\,\gamma_d$, $\epsilon_S$ = {CONFUSION:g}", [0, 1])
    ax.set(xlim=(0, 1), ylim=(0, 1))
    draw.finish(ax, "mean over nodes", "class-relevant share at distance 1", r"discriminative fraction $\gamma_d$")
    return figure


def exchanges(data: xr.Dataset) -> Figure:
    """(B.199) at z_m less its value at z: the smallest over nodes and patterns, and the mean, one panel a graph."""
    figure, axes = draw.panels(data.sizes["graph"], width=3.55, height=4.6)
    kinds = {"mean over nodes and patterns": data.mean_exchange, "smallest of all": data.least_exchange}
    both = lm.stack(kinds, "kind").assign_coords(bin=np.arange(data.sizes["bin"]))
    both = both.where(abs(data.least_exchange).max("seed") > 0).isel(bin=slice(1, None))
    for ax, graph in zip(axes, draw.labels_of(data, "graph"), strict=True):
        of_graph = data.sel(graph=graph)
        core = float(of_graph.core_distance.max())
        draw.curves(ax, both.sel(graph=graph), "bin", "kind")
        draw.predicted(ax, 0.0, "paper (B.200): never negative")
        draw.moment(ax, core, f"$z_m$ = {core:g}", left=True, height=0.93)
        error = float(of_graph.marked_share_error.isel(bin=slice(1, None)).mean("seed").max())
        title = f"{GRAPHS.get(graph, graph)}\nshares of $D_1\\cup D_2$ within {error:.1g} of $\\gamma_d$"
        finish_distances(ax, title, "(B.199) at $z_m$ minus (B.199) at $z$", legend=1)
    return figure


def literal_graph(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Mean margins of the paper's graph with and without edges inside a pattern, and where they are positive."""
    figure, (left, right) = draw.panels(2, height=4.4)
    words = [INTRA.get(int(value), f"{value:g} edges inside a pattern") for value in data.intra_degree.values]
    data = data.assign_coords(intra_degree=words, bin=np.arange(data.sizes["bin"])).isel(bin=slice(1, None))
    margin = data.count_margin.where(abs(data.count_margin).max(("seed", "intra_degree")) > 0)
    draw.curves(left, margin, "bin", "intra_degree")
    finish_distances(left, "margins of the paper's graph", r"mean winning margin $\bar\Delta(z)$ (nodes)", legend=1)
    short = {name: name.replace(" (", "\n(") for name in words}
    draw.groups(right, data.positive_first, "intra_degree", label="every seed", words=short)
    draw.claimed(right, claims["e5-literal-graph"], words="paper (Assumption 3.4.2): all nodes, claimed")
    right.set_ylim(0, 1.08)
    draw.finish(right, "is the margin at distance 1 positive?", r"share of nodes with $\Delta_n(1)>0$", legend=1)
    return figure


def sampling(data: xr.Dataset) -> Figure:
    """The share of (node, pattern, distance) outside the interval of (B.182), beside Hoeffding's 2/|S|²."""
    figure, (ax,) = draw.panels(1, width=6.6, height=4.2)
    for place, (where, size) in enumerate(zip(data.shells.values, data["sample"].values, strict=True)):
        runs = data.violating_share.isel(variant=place)
        i = list(SAMPLED).index(where)
        label = SAMPLED[where] if where not in data.shells.values[:place] else None
        draw.strip(ax, place, runs, draw.look(i).color, label, marker=draw.look(i).marker)
        draw.predicted(ax, 2 / size**2, None if place else "paper: at most $2/|S|^2$", at=place)
    draw.loss_scale(ax, 1e-4)
    draw.names(ax, [f"$|S|$ = {size:g}" for size in data["sample"].values])
    y = r"share outside $\pm\sqrt{\log|S|/|S|}$ of (B.182)"
    draw.finish(ax, "samples of shells 1 and 2, every node and pattern", y)
    return figure


def norms(data: xr.Dataset) -> lm.Table:
    """Spectral norms of the initial matrices, which the theory wants to be at most 1, and κ and λ of the patterns."""
    cells = {init: data.sel(init=init).mean("seed") for init in draw.labels_of(data, "init")}
    patterns = {init: [float(cell.pattern_distance), float(cell.pattern_product)] for init, cell in cells.items()}
    rows = [[init, *cell.spectral_norm.values.tolist(), *patterns[init]] for init, cell in cells.items()]
    return lm.Table("Initial weights and patterns", ("init", "‖W_K‖", "‖W_Q‖", "‖W_V‖", "κ", "λ"), rows)
