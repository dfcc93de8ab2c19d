"""The margins of the hand-made graph (Figure 3.2)."""

from __future__ import annotations

from functools import partial

from lemmata.lab.theory import make_experiment
from lemmata.theories.graph_transformer.hand_made import figures
from lemmata.theories.graph_transformer.hand_made.data import count_margins
from lemmata.theories.graph_transformer.hand_made.setting import HandSetting

experiment = partial(make_experiment, kind=HandSetting, simulation=count_margins, tiny={})

EXPERIMENTS = (
    experiment(
        "f32-margins", "Figure 3.2", "What is a winning margin?", figures.hand_margins, {}, {"label": [1, -1]}, 1,
        paper_seeds=1,
    ),
)  # fmt: skip
