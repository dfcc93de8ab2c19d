"""Labels of whole graphs (P21), with a coin for the other layer and where counting says nothing."""

from __future__ import annotations

from functools import partial

import lemmata as lm
from lemmata.theories.graph_transformer.experiments.presets import TINY as CHAPTER
from lemmata.theories.graph_transformer.whole_graphs import figures
from lemmata.theories.graph_transformer.whole_graphs.setting import GraphSetting
from lemmata.theories.graph_transformer.whole_graphs.training import simulate

TINY = {name: size for name, size in CHAPTER.items() if name in GraphSetting.declarations()}
TINY |= {"samples": 20, "test_samples": 10}

experiment = partial(lm.experiment, kind=GraphSetting, simulation=simulate, tiny=TINY)

EXPERIMENTS = (
    experiment(
        "p21-graph",
        reference="(B.224)",
        question="Can whole graphs be classified?",
        plot=figures.graph_labels,
        axes={"train_encoding": [1, 0]},
        seeds=3,
        paper={"step_size": 0.05, "steps": 4000, "record_every": 200},
        paper_seeds=10,
    ),
    experiment(
        "p21-graph-strict",
        reference="(B.224)",
        question="Can whole graphs be classified where counting says nothing?",
        plot=figures.graph_labels,
        setting={"layer_balance": "strict", "step_size": 1.0, "steps": 3000, "record_every": 150},
        axes={"train_encoding": [1, 0]},
        seeds=3,
        paper_seeds=10,
    ),
)
