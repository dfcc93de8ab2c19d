"""How many training tasks it takes (Condition 6.3.2, figure E.2)."""

from __future__ import annotations

from typing import Any

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import tasks as figures


def _tasks(values: tuple[int, ...], dimension: int = 30) -> dict[str, dict[str, Any]]:
    """M_1/2, M_1 - 1 and M_1 tasks of the cycle, and at M_1 = 6 the two disconnected sets."""
    task_sets: dict[str, dict[str, Any]] = {}
    for m in values:
        for n in (m // 2, m - 1, m):
            sizes = {"patterns": m, "irrelevant": dimension - m}
            task_sets[f"M_1={m}, n={n}"] = {**sizes, "tasks": "subsampled", "task_count": n}
    return task_sets | {"swaps": {"tasks": "swaps"}, "triangles": {"tasks": "triangles"}}


EXPERIMENTS = (
    experiment(
        "e2-tasks",
        "Condition 6.3.2, Figure E.2",
        "How many training tasks does it take to solve all of them?",
        figures.tasks,
        {"fraction": 0.6, "steps": 1000},
        {"task_set": _tasks((4, 6, 8))},
        8,
        smoke={"task_set": _tasks((4, 6), 12)},
        paper={"task_set": _tasks((4, 6, 8, 10))},
    ),
)
