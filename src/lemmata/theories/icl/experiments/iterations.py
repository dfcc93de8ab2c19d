"""What training needs: iterations (P2 and figure E.1, right), tasks (figure E.2), contexts (figure E.1, left)."""

from __future__ import annotations

from typing import Any

from lemmata.theories.icl.experiments.common import experiment
from lemmata.theories.icl.figures import iterations as figures

_UNTIL = {"steps": 6000, "record_every": 5, "records": 1201, "stop": "reached"}
_SOON = {"records": 3}


def _patterns(values: tuple[int, ...], dimension: int = 30) -> dict[int, dict[str, Any]]:
    """M_1 at a fixed dimension, with B = 20 M_1."""
    return {m: {"patterns": m, "irrelevant": dimension - m, "batch": 20 * m} for m in values}


def _tasks(values: tuple[int, ...], dimension: int = 30) -> dict[str, dict[str, Any]]:
    """M_1/2, M_1 - 1 and M_1 tasks of the cycle, and at M_1 = 6 the two disconnected sets."""
    cases: dict[str, dict[str, Any]] = {}
    for m in values:
        for n in (m // 2, m - 1, m):
            sizes = {"patterns": m, "irrelevant": dimension - m}
            cases[f"M_1={m}, n={n}"] = {**sizes, "tasks": "subsampled", "task_count": n}
    return cases | {"swaps": {"tasks": "swaps"}, "triangles": {"tasks": "triangles"}}


def _budgets(short: tuple[int, ...], long: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Two budgets of training, each with its context lengths."""
    small = {"initial_scale": 0.2, "steps": 600}
    large = {"initial_scale": 0.1, "neurons": 100, "steps": 1500}
    found = {f"short, {length}": {**small, "contexts": length} for length in short}
    return found | {f"long, {length}": {**large, "contexts": length} for length in long}


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
    experiment(
        "e2-tasks",
        "Condition 6.3.2, Figure E.2",
        "How many training tasks does it take to solve all of them?",
        figures.tasks,
        {"fraction": 0.6, "steps": 1000},
        {"case": _tasks((4, 6, 8))},
        8,
        smoke={"case": _tasks((4, 6), 12)},
        paper={"case": _tasks((4, 6, 8, 10))},
    ),
    experiment(
        "e1-context",
        "(6.9), Figure E.1",
        "How long must training prompts be, by the share of decisive contexts?",
        figures.contexts,
        {"room": 12, "contexts": 12},
        {"case": _budgets((1, 2, 3, 4, 6, 8, 12), (1, 2, 3)), "fraction": [0.2, 0.4, 0.8]},
        3,
        smoke={
            "case": {f"{budget}, {n}": {"contexts": n} for budget in ("short", "long") for n in (1, 2)},
            "fraction": [0.2, 0.8],
        },
        paper={
            "case": _budgets(tuple(range(1, 13)), (1, 2, 3, 4)),
            "fraction": [0.2, 0.3, 0.4, 0.6, 0.8, 1.0],
        },
        paper_seeds=5,
    ),
)  # fmt: skip
