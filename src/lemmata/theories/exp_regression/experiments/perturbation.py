"""Weights moved by at most R (Q6)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import perturbation as figures
from lemmata.theories.exp_regression.studies.perturbation import perturb_weights

EXPERIMENTS = (
    experiment(
        "q6-perturbation",
        "Lemmas 6.2 and 6.7",
        "How much can the kernel change when every weight moves by at most R?",
        figures.perturbation,
        {"neurons": 256},
        {"radius": [1e-4, 9e-4, 9e-3], "shift": ["random", "point", "pair"], "factor": [1.0, 1.1, 1.6, 2.1]},
        5,
        smoke={"neurons": 16},
        simulation=perturb_weights,
    ),
)
