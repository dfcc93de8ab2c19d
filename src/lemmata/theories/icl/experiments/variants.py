"""Variants of network and tasks: two heads (P17), classes of two patterns (P18)."""

from __future__ import annotations

from lemmata.theories.icl.experiments import ATTENTION, experiment
from lemmata.theories.icl.figures import variants as figures

_LENGTHS = {"20": {"test_contexts": 20, "test_prompts": 10_000}, "60": {"test_contexts": 60, "test_prompts": 2400}}

EXPERIMENTS = (
    experiment(
        "p17-heads",
        "E.2.2",
        "Does every one of two heads concentrate?",
        figures.heads,
        {"steps": 600, "heads": 2},
        {
            "variant": {
                "independent": {},
                "equal": {"equal_heads": True},
                "frozen": {"train_attention": 0},
            }
        },
        8,
        paper={"steps": 1500},
    ),
    experiment(
        "p18-classes",
        "E.2.3",
        "Does the mechanism work with two patterns in each class?",
        figures.classes,
        {"steps": 1000, "class_size": 2},
        {"attention": ATTENTION, "test_length": _LENGTHS},
        8,
        smoke={"test_length": {"20": {"test_contexts": 6}, "60": {"test_contexts": 8}}},
        paper={"steps": 1500},
    ),
)
