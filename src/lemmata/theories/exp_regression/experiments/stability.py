"""Beyond the edge of stability (X6)."""

from __future__ import annotations

import numpy as np

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import stability as figures

_CONSTANTS = [0.5, 1.0, 1.5, 1.9, 2.1, 2.5, 3.0, 4.0]


EXPERIMENTS = (
    experiment(
        "x6-stability",
        "linearised dynamics, m η λ_max < 2",
        "What happens beyond the edge of stability?",
        figures.stability,
        {"stop": "rounding", "track": "bounds", "steps": 2000, "neuron_room": 1024},
        {"neurons": [64, 1024], "step_constant": _CONSTANTS},
        6,
        smoke={"neurons": [16, 64]},
    ),
    experiment(
        "x6-phase-map",
        "linearised dynamics, m η λ_max < 2",
        "Where do convergence, catapult and divergence lie, by step size and width?",
        figures.phase_map,
        {"stop": "rounding", "steps": 1000, "neuron_room": 1024},
        {
            "neurons": [16, 32, 64, 128, 256, 512, 1024],
            "step_constant": [round(float(c), 2) for c in np.arange(0.4, 6.01, 0.4)],
        },
        10,
        smoke={"neurons": [16, 64], "step_constant": [0.5, 2.5, 8.0]},
    ),
)
