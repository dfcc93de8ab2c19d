"""Along training: convergence (X2), drift (X3), initialisation (X5), stability (X6), and the runs that Q16 adds."""

from __future__ import annotations

import numpy as np

from lemmata.theories.exp_regression.experiments.common import SCALES, experiment
from lemmata.theories.exp_regression.figures import stability, training

_LONG = {"horizon": "predicted", "least_steps": 600, "steps": 20_000}
_CONSTANTS = [0.5, 1.0, 1.5, 1.9, 2.1, 2.5, 3.0, 4.0]

EXPERIMENTS = (
    experiment(
        "x2-convergence",
        "Lemma 9.2, Theorem 7.1",
        "Does the error decay at the claimed rate, and does training stay linear?",
        training.convergence,
        {"stop": "rounding", "track": "bounds"},
        {
            "problem": {f"n={n}, d={d}": {"samples": n, "dimension": d} for n, d in ((6, 6), (10, 5), (20, 20))},
            "neurons": [64, 256, 1024, 4096],
            # the control of Q18 needs only the step at which it is compared
            "init": {
                "coupled": {"init": "coupled", **_LONG},
                "independent": {"init": "independent", **_LONG, "least_steps": 20, "steps": 20},
            },
        },
        10,
        smoke={
            "problem": {f"n={n}, d=4": {"samples": n, "dimension": 4} for n in (2, 3)},
            "neurons": [16, 64],
            "init": {"coupled": {"init": "coupled"}, "independent": {"init": "independent"}},
        },
    ),
    experiment(
        "x2-orthonormal",
        "Lemma 9.2, orthonormal data",
        "Do orthonormal points train at one common rate, each on its own?",
        training.orthonormal,
        {"stop": "never", "track": "bounds", "compare": "separate"},
        {"sampler": ["orthonormal", "sphere"], "step_constant": [0.05, 0.5]},
        10,
    ),
    experiment(
        "x2-modes",
        "linearised dynamics",
        "Does every eigenvector of the initial kernel converge at its own rate?",
        training.modes,
        {"stop": "never", "track": "points", "steps": 300},
        {"neurons": [64, 1024]},
        3,
        smoke={"neurons": [16, 64]},
    ),
    experiment(
        "x3-drift",
        "Lemma 7.2",
        "How far do the weights move, and how does that shrink with the width?",
        training.drift,
        {"stop": "never", "track": "bounds", "steps": 300},
        {"neurons": [128, 512, 2048, 8192], "output": SCALES},
        5,
        smoke={"neurons": [16, 32, 64]},
    ),
    experiment(
        "x5-initialisation",
        "Definitions 4.2 and 4.3",
        "What does the coupled initialisation contribute?",
        training.initialisation,
        {"steps": 5000, "track": "bounds"},
        {"neurons": [64, 256, 1024], "init": ["coupled", "independent"]},
        10,
        smoke={"neurons": [16, 32, 64]},
    ),
    experiment(
        "x6-stability",
        "linearised dynamics, m η λ_max < 2",
        "What happens beyond the edge of stability?",
        stability.stability,
        {"stop": "rounding", "track": "bounds", "steps": 2000, "room": 1024},
        {"neurons": [64, 1024], "step_constant": _CONSTANTS},
        6,
        smoke={"neurons": [16, 64]},
    ),
    experiment(
        "x6-phase-map",
        "linearised dynamics, m η λ_max < 2",
        "Where do convergence, catapult and divergence lie, by step size and width?",
        stability.phase_map,
        {"stop": "rounding", "steps": 1000, "room": 1024},
        {
            "neurons": [16, 32, 64, 128, 256, 512, 1024],
            "step_constant": [round(float(c), 2) for c in np.arange(0.4, 6.01, 0.4)],
        },
        10,
        smoke={"neurons": [16, 64], "step_constant": [0.5, 2.5, 8.0]},
    ),
    experiment(
        "q16-samplers",
        "Lemma 9.2",
        "Does the rate hold on other data?",
        training.samplers,
        {"stop": "rounding", "track": "bounds"},
        {"sampler": ["ball", "random_labels", "teacher"]},
        5,
    ),
    experiment(
        "q16-theory",
        "Lemmas 7.4 and 9.2",
        "Does the document's step size keep its promises?",
        training.theory_step,
        {"stop": "never", "track": "bounds", "steps": 1000, "step": "theory", "source": "empirical"},
        {},
        5,
    ),
)
