"""The numbers that the paper asks for beside those one would run (X8)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import vacuity as figures
from lemmata.theories.exp_regression.studies.vacuity import calculate

EXPERIMENTS = (
    experiment(
        "x8-vacuity",
        "Theorem 7.1",
        "How large are the width, step size and iterations that the paper asks for?",
        figures.vacuity,
        {"data_law": "orthonormal", "dimension": 1000},
        {
            "samples": [10, 100, 1000],
            "failure_probability": [0.1, 0.05, 0.01],
            "tail_constant": [1.0, 2.0, 10.0],
            "weight_scale": [1.0, 0.25, 0.05],
        },
        1,
        smoke={"samples": [10, 100], "dimension": 1000},
        paper_seeds=1,
        simulation=calculate,
    ),
)
