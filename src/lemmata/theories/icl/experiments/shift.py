"""Patterns out of domain (P5, figure 6.3(A) for the one-layer network)."""

from __future__ import annotations

from lemmata.theories.icl.experiments import experiment
from lemmata.theories.icl.figures import shift as figures
from lemmata.theories.icl.patterns import SHIFTS
from lemmata.theories.icl.studies.shift import shift_patterns

EXPERIMENTS = (
    experiment(
        "p5-shift",
        "Theorem 6.3.4, Figure 6.3(A)",
        "Does the network work on new patterns that are combinations of the old ones?",
        figures.shift,
        {"steps": 600},
        {
            "variant": {
                "U=1": {"rounds": 1},
                "U=5": {"rounds": 5},
                "3 tasks": {"tasks": "subsampled", "task_count": 3},
            },
            "shift": SHIFTS,
        },
        8,
        smoke={"shift": {label: SHIFTS[label] for label in ("45", "20", "6.35", "-45", "135", "-135", "defect")}},
        simulation=shift_patterns,
    ),
)
