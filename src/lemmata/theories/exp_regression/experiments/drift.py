"""How far the weights move, by width and output scale (X3)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import drift as figures

EXPERIMENTS = (
    experiment(
        "x3-drift",
        "Lemma 7.2",
        "How far do the weights move, and how does that shrink with the width?",
        figures.drift,
        {"stop": "never", "track": "bounds", "steps": 300},
        {"neurons": [128, 512, 2048, 8192], "scale": ["one", "inv_sqrt_m"]},
        5,
        smoke={"neurons": [16, 32, 64]},
    ),
)
