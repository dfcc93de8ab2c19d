"""Deep networks on real graphs, figures 3.8 and 3.9, and the same for Ogbn-Arxiv (B.7, B.8). No claim reads them."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.deep.data import DeepSetting
from lemmata.theories.graph_transformer.deep.training import simulate
from lemmata.theories.graph_transformer.real_graphs.tables import NAMES

SAMPLERS = {"stratified": "near shells and some of the graph", "whole": "whole graph, as printed"}
NETWORK = {"layers": 2, "heads": 2, "width": 8, "feedforward": 8, "bins": 6}
TINY = {**NETWORK, "sample": 6, "per_shell": 2, "steps": 4, "eval_samples": 2, "records": 3}
"""The one set of sizes of every smoke preset."""


def budgets(data: xr.Dataset) -> Figure:
    """Accuracy against the number of labelled nodes, one panel for each graph."""
    figure, axes = draw.panels(data.sizes["graph"], width=5.6, height=4.4)
    for ax, graph in zip(axes, data.graph.values, strict=True):
        of_graph = data.sel(graph=graph)
        nodes = of_graph.labelled_nodes.mean(("seed", "variant")).values
        words = {b: f"{n:.0f} ({b})" for b, n in zip(of_graph.budget.values.tolist(), nodes, strict=True)}
        draw.groups(ax, of_graph.test_accuracy, "budget", "variant", words=words, markersize=4)
        ax.plot(of_graph.chance.mean(("seed", "variant")), ":", color=draw.GREY, label="most frequent class")
        title = f"{_title(data, graph)}\npaper: GT+PE above GT and above GCN"
        draw.finish(ax, title, "accuracy on the other nodes", "labelled nodes")
    return figure


def distances(data: xr.Dataset) -> Figure:
    """b_z of the last layer beside the accuracy of attending to distance z only, one row for each graph."""
    figure, axes = draw.panels(2 * data.sizes["graph"], rows=data.sizes["graph"], height=4.2)
    bins = data.sizes["bin"]
    for left, right, graph in zip(axes[::2], axes[1::2], data.graph.values, strict=True):
        of_graph = data.sel(graph=graph).assign_coords(bin=np.arange(bins))
        alone = lm.cells(of_graph, sampler="single").test_accuracy
        z, words = alone.distance.values, "keys at distance $z$ only"
        draw.curves(right, alone, "variant", x=z, label=words, color=draw.GREEN)
        inside = alone.isel(variant=z < bins)  # b has entries for z = 0 ... Z - 1
        shared = {}
        for i, (sampler, words) in enumerate(SAMPLERS.items()):
            color = draw.look(i).color
            chosen = of_graph.isel(variant=of_graph.sampler.values == sampler)
            bias = chosen.distance_bias.isel(bin=slice(1, None))
            draw.curves(left, bias, "bin", label=f"keys: {words}", color=color, marker=draw.look(i).marker)
            at = bias.sel(bin=inside.distance.values.astype(int)).mean(("seed", "variant"))
            shared[sampler] = lm.spearman(inside.mean("seed").values, at.values)
            level = float(chosen.test_accuracy.mean())
            right.axhline(level, color=color, linestyle="--", linewidth=1, label=f"GT+PE, {sampler}: {level:.3f}")
        guess = float(of_graph.chance.mean())
        right.axhline(guess, color=draw.GREY, linestyle=":", label=f"most frequent class: {guess:.3f}")
        left.axhline(0, color=draw.GREY, linewidth=0.8)
        for ax in (left, right):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        title = f"{_title(data, graph)}\nthe last bin stands for all larger distances"
        draw.finish(left, title, "$b_z$ of the last layer, mean of heads", "distance $z$", legend=1)
        words = ", ".join(f"{value:.2f} ({sampler})" for sampler, value in shared.items())
        title = f"paper: the trend of $b_z$\nrank correlation with it: {words}"
        draw.finish(right, title, "accuracy on the nodes without label", "distance $z$")
    return figure


def _title(data: xr.Dataset, graph: str) -> str:
    """Which graph, and how long was trained."""
    return f"{NAMES[graph]}: {float(data.last_step.max()):g} steps, {data.sizes['seed']} splits"


def budgets_axis(shares: Iterable[float]) -> dict[str, dict[str, Any]]:
    """How many nodes are labelled: 20 of every class, or a share of it."""
    few = {"20 per class": {"labelled": 0.0, "per_class": 20}}
    return few | {f"{100 * share:g} %": {"labelled": share} for share in shares}


VARIANTS: dict[str, dict[str, Any]] = {"GCN": {"model": "gcn"}}
VARIANTS |= {
    f"{name}, {sampler}": {"model": "gt", "sampler": sampler, "train_encoding": encoding}
    for sampler in ("whole", "stratified")
    for name, encoding in (("GT+PE", 1), ("GT", 0))
}
"""The compared networks; the first is also run to learn the shapes of the results, and is the cheapest."""


def samplers_axis(distances: Iterable[int]) -> dict[str, dict[str, Any]]:
    """Keys of one shell only, and the transformers whose b is read."""
    single = {f"z={z}": {"sampler": "single", "distance": z} for z in distances}
    return single | {f"GT+PE, {sampler}": {"sampler": sampler} for sampler in ("stratified", "whole")}


experiment = partial(lm.experiment, kind=DeepSetting, simulation=simulate, tiny=TINY, paper_seeds=5)
by_distance, by_budget = partial(experiment, plot=distances, seeds=2), partial(experiment, plot=budgets, seeds=3)
GRAPHS = ["cora", "pubmed", "actor"]
SHARES, ARXIV = (0.2, 0.4, 0.6, 0.8), {"steps": 40, "bins": 5}
FEW_DISTANCES = samplers_axis((1, 3))

EXPERIMENTS = (
    by_distance(
        "f38-distances",
        reference="Figure 3.8",
        question="Does b_z of a deep graph transformer follow the accuracy of keys at distance z only?",
        setting={"steps": 40},
        axes={"graph": ["cora"], "variant": samplers_axis((1, 2, 3, 4, 6, 8, 12, 16, 19))},
        smoke={"graph": ["standin"], "variant": FEW_DISTANCES},
        paper={"steps": 200, "graph": GRAPHS, "variant": samplers_axis(range(1, 21))},
    ),
    by_budget(
        "f39-budgets",
        reference="Figure 3.9",
        question="Does a deep graph transformer with encoding beat one without, and a GCN, at every number of labels?",
        setting={"steps": 40},
        axes={"graph": ["cora"], "budget": budgets_axis((0.2,)), "variant": VARIANTS},
        smoke={"graph": ["standin"]},
        paper={"steps": 200, "graph": GRAPHS, "budget": budgets_axis(SHARES)},
    ),
    by_distance(
        "b7-distances",
        reference="Figure B.7",
        question="The question of f38-distances on Ogbn-Arxiv, read from $LEMMATA_DATA/graphs.",
        setting=ARXIV,
        axes={"graph": ["arxiv"], "variant": samplers_axis(range(1, 6))},
        smoke={"variant": FEW_DISTANCES},
        paper={"steps": 200},
    ),
    by_budget(
        "b8-budgets",
        reference="Figure B.8",
        question="The question of f39-budgets on Ogbn-Arxiv, read from $LEMMATA_DATA/graphs.",
        setting=ARXIV,
        axes={"graph": ["arxiv"], "budget": budgets_axis((0.2,)), "variant": VARIANTS},
        paper={"steps": 200, "budget": budgets_axis(SHARES)},
    ),
)
