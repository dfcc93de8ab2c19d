"""One point against gradient flow in closed form (Q21)."""

from __future__ import annotations

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import flow as figures

EXPERIMENTS = (
    experiment(
        "q21-flow",
        "n = 1 gradient flow",
        "Does gradient descent on one point end where gradient flow does?",
        figures.flow,
        {"dimension": 5, "neurons": 40, "stop": "never", "compare": "flow"},
        {
            "variant": {
                **{f"c={c:g}": {"samples": 1, "step_constant": c, "steps": round(25 / c)} for c in (0.1, 0.01, 0.001)},
                "two points": {"samples": 2, "step_constant": 0.1, "steps": 250},
            }
        },
        5,
        smoke={
            "variant": {
                **{f"c={c:g}": {"samples": 1, "step_constant": c, "steps": round(25 / c)} for c in (0.1, 0.01)},
                "two points": {"samples": 2, "step_constant": 0.1, "steps": 250},
            },
        },
    ),
)
