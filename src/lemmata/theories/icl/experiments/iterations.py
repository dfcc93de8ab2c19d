"""How many iterations training needs (P2; over α figure E.1, right)."""

from __future__ import annotations

from typing import Any

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import iterations as figures

_UNTIL = {"steps": 6000, "record_every": 5, "records": 1201, "stop": "reached"}
_SOON = {"records": 3}


def _patterns(values: tuple[int, ...], dimension: int = 30) -> dict[int, dict[str, Any]]:
    """M_1 at a fixed dimension, with B = 20 M_1."""
    return {m: {"patterns": m, "irrelevant": dimension - m, "batch": 20 * m} for m in values}


def _sweep(
    name: str, symbol: str, claimed: str, axis: dict[str, Any], smoke: dict[str, Any], paper: dict[str, Any]
) -> Any:
    return experiment(
        name,
        "(6.10)",
        f"How does the number of iterations depend on {symbol}{claimed}?",
        figures.iterations,
        _UNTIL,
        axis,
        3,
        smoke={**_SOON, **smoke},
        paper=paper,
        paper_seeds=10,
    )


EXPERIMENTS = (
    _sweep("p2-eta", "η", " (claimed: η^-1)", {"step_size": [0.25, 0.5, 1.0]}, {},
           {"step_size": [0.125, 0.25, 0.5, 1.0]}),
    _sweep("p2-alpha", "α", " (claimed: α^(-2/3))", {"fraction": [0.2, 0.4, 0.6, 0.8, 1.0]}, {}, {}),
    _sweep("p2-beta", "β", " (claimed: β^(-2/3))", {"pattern_norm": [1.5, 2.0, 3.0, 4.0]}, {}, {}),
    _sweep("p2-patterns", "M_1", " (claimed: M_1 √log M_1)", {"relevant_patterns": _patterns((4, 6, 8, 12, 16))},
           {"relevant_patterns": {m: {"patterns": m, "irrelevant": 12 - m} for m in (4, 6)}}, {}),
    _sweep("p2-width", "m", " (claimed: not at all)", {"neurons": [50, 200, 800]}, {"neurons": [8, 16]},
           {"neurons": [50, 100, 200, 400, 800]}),
    _sweep("p2-delta", "δ", " (proof: δ^(-2/3))", {"initial_scale": [0.05, 0.1, 0.2]}, {},
           {"initial_scale": [0.05, 0.1, 0.15, 0.2]}),
)  # fmt: skip
