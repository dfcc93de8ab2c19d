"""Four classes with two core distances (P21)."""

from __future__ import annotations

from functools import partial

import lemmata as lm
from lemmata.theories.graph_transformer.experiments.presets import TINY as CHAPTER
from lemmata.theories.graph_transformer.four_classes import figures
from lemmata.theories.graph_transformer.four_classes.setting import FourSetting
from lemmata.theories.graph_transformer.four_classes.training import simulate

TINY = {name: size for name, size in CHAPTER.items() if name in FourSetting.declarations()}
SEEDS = 10
"""Seeds of p21-four, more than the register's three: accuracies vary by .012 between seeds, .027 above the limit."""
VARIANTS = {
    "per coordinate": {"loss": "coordinates"},
    "joint": {"loss": "joint"},
    "permuted": {"loss": "coordinates", "defect": "distances"},
}

experiment = partial(lm.experiment, kind=FourSetting, simulation=simulate, tiny=TINY)

EXPERIMENTS = (
    experiment(
        "p21-four",
        reference="(B.225) - (B.232)",
        question="Can two networks learn four classes with two core distances?",
        plot=figures.four_classes,
        axes={"variant": VARIANTS},
        seeds=SEEDS,
        paper={"step_size": 0.01, "steps": 10000, "record_every": 500},
        paper_seeds=10,
    ),
)
