"""The theorem where every one of its explicit conditions is met (X9)."""

from __future__ import annotations

import math
from typing import Any

from lemmata.theories.exp_regression.bounds import explicit_width
from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import theorem as figures


def _theorem(n: int, sigma: float) -> dict[str, Any]:
    """Orthonormal points, and the width that meets every explicit condition of the proof."""
    found = explicit_width(n, math.exp(2 * sigma**2), 0.05, sigma, projection_source="union")
    width = round(math.exp(found.ln_m))
    return {"samples": n, "dimension": n, "weight_scale": sigma, "neurons": width, "neuron_room": width}


EXPERIMENTS = (
    experiment(
        "x9-theorem",
        "Theorem 7.1",
        "Does the theorem hold where every one of its explicit conditions is met?",
        figures.theorem,
        {
            "data_law": "orthonormal",
            "step": "theory",
            "projection_source": "union",
            "track": "bounds",
            "horizon": "predicted",
            "steps": 100_000,
            "least_target": 0.1,
        },
        {"problem": {"n=2, σ=0.05": _theorem(2, 0.05), "n=1, σ=0.2": _theorem(1, 0.2)}},
        5,
        smoke={
            "problem": {
                "n=2, σ=0.05": {"samples": 2, "weight_scale": 0.05},
                "n=1, σ=0.2": {"samples": 1, "weight_scale": 0.2},
            },
        },
    ),
)
