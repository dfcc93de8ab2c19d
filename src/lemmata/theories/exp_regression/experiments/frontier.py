"""The width that suffices, against the number of points and against λ (X4)."""

from __future__ import annotations

from typing import Any

from lemmata.theories.exp_regression.experiments.common import experiment
from lemmata.theories.exp_regression.figures import frontier as figures


def _widths(most: int) -> dict[str, dict[str, Any]]:
    """m = 2, 4, ..., and frozen weights at the largest of them (the control)."""
    widths = [2**k for k in range(1, most.bit_length())]
    return {str(m): {"neurons": m} for m in widths} | {f"{most} frozen": {"neurons": most, "trained": 0}}


_FRONTIER = {"horizon": "predicted", "steps": 20_000, "neurons": 512, "neuron_room": 512}


_SMOKE_WIDTHS = {"variant": _widths(64)}


EXPERIMENTS = (
    experiment(
        "x4-frontier-n",
        "Theorem 1.1",
        "How does the width that suffices grow with the number of points?",
        figures.frontier_points,
        {**_FRONTIER, "dimension": 20},
        {"samples": [5, 10, 20], "variant": _widths(512)},
        20,
        smoke={"samples": [2, 3], **_SMOKE_WIDTHS, "steps": 100},
    ),
    experiment(
        "x4-frontier-lambda",
        "Theorem 1.1",
        "How does the width that suffices grow as the kernel becomes singular?",
        figures.frontier_lambda,
        {**_FRONTIER, "samples": 8, "dimension": 10, "data_law": "clustered"},
        {"pair_angle": [1.0, 0.5, 0.25], "variant": _widths(512)},
        20,
        smoke={**_SMOKE_WIDTHS, "samples": 2, "steps": 100},
    ),
)
