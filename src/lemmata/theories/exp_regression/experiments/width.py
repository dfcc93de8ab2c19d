"""Widths and limits: the frontier (X4), activations (X7), vacuity (X8), the theorem in full (X9), one point (Q21)."""

from __future__ import annotations

import math
from typing import Any

from lemmata.theories.exp_regression.bounds import explicit_width
from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import width as figures
from lemmata.theories.exp_regression.vacuity import calculate


def _widths(most: int) -> dict[str, dict[str, Any]]:
    """m = 2, 4, ..., and frozen weights at the largest of them (the control)."""
    widths = [2**k for k in range(1, most.bit_length())]
    return {str(m): {"neurons": m} for m in widths} | {f"{most} frozen": {"neurons": most, "trained": 0}}


def _theorem(n: int, sigma: float) -> dict[str, Any]:
    """Orthonormal points, and the width that meets every explicit condition of the proof."""
    found = explicit_width(n, math.exp(2 * sigma**2), 0.05, sigma, source="union")
    width = round(math.exp(found.ln_m))
    return {"samples": n, "dimension": n, "weight_scale": sigma, "neurons": width, "room": width}


_FRONTIER = {"horizon": "predicted", "steps": 20_000, "neurons": 512, "room": 512}
_SMOKE_WIDTHS = {"network": _widths(64)}

EXPERIMENTS = (
    experiment(
        "x4-frontier-n",
        "Theorem 1.1",
        "How does the width that suffices grow with the number of points?",
        figures.frontier_points,
        {**_FRONTIER, "dimension": 20},
        {"samples": [5, 10, 20], "network": _widths(512)},
        20,
        smoke={"samples": [2, 3], **_SMOKE_WIDTHS, "steps": 100},
    ),
    experiment(
        "x4-frontier-lambda",
        "Theorem 1.1",
        "How does the width that suffices grow as the kernel becomes singular?",
        figures.frontier_lambda,
        {**_FRONTIER, "samples": 8, "dimension": 10, "sampler": "clustered"},
        {"pair_angle": [1.0, 0.5, 0.25], "network": _widths(512)},
        20,
        smoke={**_SMOKE_WIDTHS, "samples": 2, "steps": 100},
    ),
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
    experiment(
        "x8-vacuity",
        "Theorem 7.1",
        "How large are the width, step size and iterations that the document asks for?",
        figures.vacuity,
        {"sampler": "orthonormal", "dimension": 1000},
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
    experiment(
        "x9-theorem",
        "Theorem 7.1",
        "Does the theorem hold where every one of its explicit conditions is met?",
        figures.theorem,
        {
            "sampler": "orthonormal", "step": "theory", "source": "union", "track": "bounds", "horizon": "predicted",
            "steps": 100_000, "least_target": 0.1,
        },
        {"case": {"a": _theorem(2, 0.05), "b": _theorem(1, 0.2)}},
        5,
        smoke={
            "case": {
                "a": {"samples": 2, "weight_scale": 0.05},
                "b": {"samples": 1, "weight_scale": 0.2},
            },
        },
    ),
    experiment(
        "q21-flow",
        "n = 1 gradient flow",
        "Does gradient descent on one point end where gradient flow does?",
        figures.flow,
        {"dimension": 5, "neurons": 40, "stop": "never", "compare": "flow"},
        {
            "case": {
                **{f"c={c:g}": {"samples": 1, "step_constant": c, "steps": round(25 / c)} for c in (0.1, 0.01, 0.001)},
                "two points": {"samples": 2, "step_constant": 0.1, "steps": 250},
            }
        },
        5,
        smoke={
            "case": {
                **{f"c={c:g}": {"samples": 1, "step_constant": c, "steps": round(25 / c)} for c in (0.1, 0.01)},
                "two points": {"samples": 2, "step_constant": 0.1, "steps": 250},
            },
        },
    ),
)  # fmt: skip
