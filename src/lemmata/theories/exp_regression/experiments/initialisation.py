"""Initial projections (Q2) and outputs (Q7), and training from both initialisations (X5)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import initialisation as figures
from lemmata.theories.exp_regression.studies.initial import measure_initial

INITS = ["coupled", "independent"]


EXPERIMENTS = (
    experiment(
        "q2-tails",
        "Definition 6.1, Lemma 6.2",
        "Does the paper's B, which does not contain the width, bound every projection?",
        figures.tails,
        {},
        {"neurons": [64, 1024, 16384]},
        200,
        smoke={"neurons": [16, 32, 64]},
        paper_seeds=1000,
        simulation=measure_initial,
    ),
    experiment(
        "q7-initial",
        "Claim 6.8",
        "Is the initial output zero in pairs, and of variance m e^{2σ²‖x‖²} without?",
        figures.outputs,
        {"weight_scale": 0.5, "data_seed": 0},
        {"neurons": [64, 1024], "init": INITS},
        2000,
        smoke={"neurons": [16, 32]},
        paper_seeds=2000,
        simulation=measure_initial,
    ),
    experiment(
        "x5-initialisation",
        "Definitions 4.2 and 4.3",
        "What does the coupled initialisation contribute?",
        figures.initialisation,
        {"steps": 5000, "track": "bounds"},
        {"neurons": [64, 256, 1024], "init": ["coupled", "independent"]},
        10,
        smoke={"neurons": [16, 32, 64]},
    ),
)
