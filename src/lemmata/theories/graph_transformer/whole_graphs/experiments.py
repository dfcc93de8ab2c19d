"""Whole graphs are classified with the encoding, and without it no better than by counting (P21)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw
from lemmata.theories.graph_transformer.experiments.presets import TINY as CHAPTER
from lemmata.theories.graph_transformer.figures import finish_distances
from lemmata.theories.graph_transformer.whole_graphs.setting import GraphSetting
from lemmata.theories.graph_transformer.whole_graphs.training import simulate

WORDS = {1.0: "with encoding", 0.0: "without encoding"}


def graph_labels(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Accuracy on test graphs with and without the encoding beside counting, the losses, and the encoding."""
    figure, axes = draw.panels(3, width=3.55, height=4.5)
    words = [WORDS.get(float(value), f"encoding times {value:g}") for value in data.train_encoding.values]
    data = data.assign_coords(train_encoding=words)
    draw.paths(axes[0], data, "accuracy", "train_encoding")
    draw.predicted(axes[0], float(data.counting_accuracy.mean()), "paper, without: counting the patterns")
    draw.claimed(axes[0], claims["p21-graph-pe"], words="claimed, with")
    axes[0].set_ylim(0, 1.05)
    draw.finish(axes[0], "are graphs classified?", "accuracy on test graphs", "training step $t$", legend=1)
    draw.paths(axes[1], data, "loss", "train_encoding", "{}, test")
    draw.paths(axes[1], data, "train_loss", "train_encoding", "{}, training", spread="", linestyle=":")
    draw.predicted(axes[1], 0, "paper, with: 0")
    draw.from_zero(axes[1], 1.15)
    draw.finish(axes[1], "losses", "hinge loss", "training step $t$", legend=1)
    z = xr.DataArray(np.arange(data.sizes["bin"]), dims="bin")
    encoding = lm.at_end(data.distance_bias).assign_coords(bin=z).where(z < data.bins_used)
    draw.curves(axes[2], encoding, "bin", "train_encoding")
    finish_distances(axes[2], "encoding (label: layer 2 of the root)", "$b_z$ at the end: mean, every seed", legend=1)
    return figure


TINY = {name: size for name, size in CHAPTER.items() if name in GraphSetting.declarations()}
TINY |= {"samples": 20, "test_samples": 10}

experiment = partial(lm.experiment, kind=GraphSetting, simulation=simulate, tiny=TINY)

EXPERIMENTS = (
    experiment(
        "p21-graph",
        reference="(B.224)",
        question="Can whole graphs be classified?",
        plot=graph_labels,
        axes={"train_encoding": [1, 0]},
        seeds=3,
        paper={"step_size": 0.05, "steps": 4000, "record_every": 200},
        paper_seeds=10,
    ),
    experiment(
        "p21-graph-strict",
        reference="(B.224)",
        question="Can whole graphs be classified where counting says nothing?",
        plot=graph_labels,
        setting={"layer_balance": "strict", "step_size": 1.0, "steps": 3000, "record_every": 150},
        axes={"train_encoding": [1, 0]},
        seeds=3,
        paper_seeds=10,
    ),
)


@lm.evidence("p21-graph")
def accuracy(data: xr.Dataset, train_encoding: int, beyond_counting: bool = False) -> xr.DataArray:
    """Accuracy at the end of training, or how far it exceeds that of counting on the same graphs."""
    data = lm.cells(data, train_encoding=train_encoding)
    end = lm.at_end(data.accuracy)
    return end - data.counting_accuracy if beyond_counting else end


CLAIMS = (
    lm.Claim(
        "p21-graph-pe",
        "(B.224)",
        "comparison",
        "Whole graphs are classified with the encoding: accuracy at least .95.",
        accuracy(1),
        lm.at_least(0.95, "clear"),
        lm.Control("without the encoding", train_encoding=0),
    ),
    lm.Claim(
        "p21-graph-without",
        "(B.224)",
        "comparison",
        "Without it nothing is learned beyond counting the patterns: accuracy at most that of counting plus .05.",
        accuracy(0, beyond_counting=True),
        lm.at_most(0.05, "clear"),
        lm.Control("with the encoding", train_encoding=1),
        source="derived",
    ),
)
