"""The experiments on real graphs: figures 3.8 and 3.9, and the same for Ogbn-Arxiv (B.7, B.8). No claim reads them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.graph_transformer.deep import figures
from lemmata.theories.graph_transformer.deep.setting import DeepSetting
from lemmata.theories.graph_transformer.deep.training import simulate

TINY = {
    "layers": 2,
    "heads": 2,
    "width": 8,
    "feedforward": 8,
    "bins": 6,
    "sample": 6,
    "per_shell": 2,
    "steps": 4,
    "eval_samples": 2,
    "records": 3,
}
"""The one set of sizes of every smoke preset."""


def budgets_axis(shares: Iterable[float]) -> dict[str, dict[str, Any]]:
    """How many nodes are labelled: 20 of every class, or a share of it."""
    few = {"20 per class": {"labelled": 0.0, "per_class": 20}}
    return few | {f"{100 * share:g} %": {"labelled": share} for share in shares}


def _transformer(sampler: str, encoding: int) -> dict[str, Any]:
    return {"model": "gt", "sampler": sampler, "train_encoding": encoding}


VARIANTS: dict[str, dict[str, Any]] = {
    "GCN": {"model": "gcn"},
    **{
        f"{name}, {sampler}": _transformer(sampler, encoding)
        for sampler in ("whole", "stratified")
        for name, encoding in (("GT+PE", 1), ("GT", 0))
    },
}
"""The compared networks; the first is also run to learn the shapes of the results, and is the cheapest."""


def samplers_axis(distances: Iterable[int]) -> dict[str, dict[str, Any]]:
    """Keys of one shell only, and the transformers whose b is read."""
    single = {f"z={z}": {"sampler": "single", "distance": z} for z in distances}
    return single | {f"GT+PE, {sampler}": {"sampler": sampler} for sampler in ("stratified", "whole")}


experiment = partial(lm.experiment, kind=DeepSetting, simulation=simulate, tiny=TINY, paper_seeds=5)
_GRAPHS = ["cora", "pubmed", "actor"]
_SHARES = (0.2, 0.4, 0.6, 0.8)
_TINY_DISTANCES = samplers_axis((1, 3))

EXPERIMENTS = (
    experiment(
        "f38-distances",
        reference="Figure 3.8",
        question="Does b_z of a deep graph transformer follow the accuracy of keys at distance z only?",
        plot=figures.distances,
        setting={"steps": 40},
        axes={"graph": ["cora"], "variant": samplers_axis((1, 2, 3, 4, 6, 8, 12, 16, 19))},
        seeds=2,
        smoke={"graph": ["standin"], "variant": _TINY_DISTANCES},
        paper={"steps": 200, "graph": _GRAPHS, "variant": samplers_axis(range(1, 21))},
    ),
    experiment(
        "f39-budgets",
        reference="Figure 3.9",
        question="Does a deep graph transformer with encoding beat one without, and a GCN, at every number of labels?",
        plot=figures.budgets,
        setting={"steps": 40},
        axes={"graph": ["cora"], "budget": budgets_axis((0.2,)), "variant": VARIANTS},
        seeds=3,
        smoke={"graph": ["standin"]},
        paper={"steps": 200, "graph": _GRAPHS, "budget": budgets_axis(_SHARES)},
    ),
    experiment(
        "b7-distances",
        reference="Figure B.7",
        question="The question of f38-distances on Ogbn-Arxiv, read from $LEMMATA_DATA/graphs.",
        plot=figures.distances,
        setting={"steps": 40, "bins": 5},
        axes={"graph": ["arxiv"], "variant": samplers_axis(range(1, 6))},
        seeds=2,
        smoke={"variant": _TINY_DISTANCES},
        paper={"steps": 200},
    ),
    experiment(
        "b8-budgets",
        reference="Figure B.8",
        question="The question of f39-budgets on Ogbn-Arxiv, read from $LEMMATA_DATA/graphs.",
        plot=figures.budgets,
        setting={"steps": 40, "bins": 5},
        axes={"graph": ["arxiv"], "budget": budgets_axis((0.2,)), "variant": VARIANTS},
        seeds=3,
        paper={"steps": 200, "budget": budgets_axis(_SHARES)},
    ),
)
