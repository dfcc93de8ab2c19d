"""The margins of the hand-made graph (Figure 3.2)."""

from __future__ import annotations

from functools import partial

import lemmata as lm
from lemmata.theories.graph_transformer.hand_made import figures
from lemmata.theories.graph_transformer.hand_made.data import count_margins
from lemmata.theories.graph_transformer.hand_made.setting import HandSetting

experiment = partial(lm.experiment, kind=HandSetting, simulation=count_margins, tiny={})

EXPERIMENTS = (
    experiment(
        "f32-margins",
        reference="Figure 3.2",
        question="What is a winning margin?",
        plot=figures.hand_margins,
        axes={"label": [1, -1]},
        seeds=1,
        paper_seeds=1,
    ),
)
