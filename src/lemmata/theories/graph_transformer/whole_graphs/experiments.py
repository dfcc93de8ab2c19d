"""Labels of whole graphs (P21), with a coin for the other layer and where counting says nothing."""

from __future__ import annotations

from functools import partial

from lemmata.lab.theory import make_experiment
from lemmata.theories.graph_transformer.experiments.presets import TINY as CHAPTER
from lemmata.theories.graph_transformer.whole_graphs import figures
from lemmata.theories.graph_transformer.whole_graphs.setting import GraphSetting
from lemmata.theories.graph_transformer.whole_graphs.training import simulate

TINY = {
    **{
        name: CHAPTER[name]
        for name in ("neurons", "key_width", "value_width", "dimension", "batch", "steps", "record_every", "records")
    },
    "patterns": 5,
    "samples": 20,
    "test_samples": 10,
}

experiment = partial(make_experiment, kind=GraphSetting, simulation=simulate, tiny=TINY)

EXPERIMENTS = (
    experiment(
        "p21-graph", "(B.224)", "Can whole graphs be classified?", figures.graph_labels, {},
        {"train_encoding": [1, 0]}, 3, paper={"step_size": 0.05, "steps": 4000, "record_every": 200}, paper_seeds=10,
    ),
    experiment(
        "p21-graph-strict", "(B.224)", "Can whole graphs be classified where counting says nothing?",
        figures.graph_labels, {"layer_balance": "strict", "step_size": 1.0, "steps": 3000, "record_every": 150},
        {"train_encoding": [1, 0]}, 3, paper_seeds=10,
    ),
)  # fmt: skip
