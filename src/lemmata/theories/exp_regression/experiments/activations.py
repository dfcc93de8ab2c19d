"""Four activations on generic, parallel and antipodal points (X7)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import activations as figures

EXPERIMENTS = (
    experiment(
        "x7-activations",
        "variants of the network",
        "Which activations can tell parallel and antipodal points apart?",
        figures.activations,
        {"stop": "rounding", "steps": 4000},
        {
            "pair": {"generic": {"pair": "none"}, "parallel": {"pair": "parallel"}, "antipodal": {"pair": "antipodal"}},
            "activation": ["exp", "cosh", "sinh", "relu"],
        },
        5,
    ),
)
