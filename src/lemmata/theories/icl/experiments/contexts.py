"""How long prompts must be: in testing (P4), in training (figure E.1, left).

Cells of p4-contexts differ in how a network is tested and share its training; all lengths fill the same room.
"""

from __future__ import annotations

from typing import Any

from lemmata.theories.icl.experiments import ATTENTION, experiment
from lemmata.theories.icl.figures import contexts as figures
from lemmata.theories.icl.studies.contexts import answer_prompts


def _budgets(short: tuple[int, ...], long: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Two budgets of training, each with its context lengths."""
    small = {"initial_scale": 0.2, "steps": 600}
    large = {"initial_scale": 0.1, "neurons": 100, "steps": 1500}
    variants = {f"short, {length}": {**small, "contexts": length} for length in short}
    return variants | {f"long, {length}": {**large, "contexts": length} for length in long}


EXPERIMENTS = (
    experiment(
        "p4-contexts",
        "Theorem 6.3.3, l_ts ≥ 1/α'",
        "How long must a testing prompt be?",
        figures.contexts,
        {"steps": 600, "test_context_room": 40},
        {
            "attention": ATTENTION,
            "test_mode": ["iid", "exact"],
            "test_fraction": [0.2, 0.4, 0.8, 1.0],
            "test_contexts": [1, 2, 3, 5, 10, 20, 40],
        },
        8,
        smoke={"test_fraction": [0.4, 1.0], "test_contexts": [1, 2, 3, 5], "test_context_room": 6},
        simulation=answer_prompts,
    ),
    experiment(
        "e1-context",
        "(6.9), Figure E.1",
        "How long must training prompts be, by the share of decisive contexts?",
        figures.training_contexts,
        {"context_room": 12, "contexts": 12},
        {"variant": _budgets((1, 2, 3, 4, 6, 8, 12), (1, 2, 3)), "fraction": [0.2, 0.4, 0.8]},
        3,
        smoke={
            "variant": {f"{budget}, {n}": {"contexts": n} for budget in ("short", "long") for n in (1, 2)},
            "fraction": [0.2, 0.8],
        },
        paper={
            "variant": _budgets(tuple(range(1, 13)), (1, 2, 3, 4)),
            "fraction": [0.2, 0.3, 0.4, 0.6, 0.8, 1.0],
        },
        paper_seeds=5,
    ),
)
