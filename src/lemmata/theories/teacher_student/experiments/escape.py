"""The second phase: how its end T* scales (P17), and how fast the score escapes from 1/D (C2)."""

from __future__ import annotations

from lemmata.theories.teacher_student.experiments import REDUCED, SLOPES, SWEEPS, experiment
from lemmata.theories.teacher_student.figures import escape as figures
from lemmata.theories.teacher_student.studies.escape import escape_rates

EXPERIMENTS = (
    experiment(
        "p17-escape",
        reference="Lemma C.17",
        question="How does the end T* of the second phase scale?",
        plot=figures.escape,
        setting={**REDUCED, "dynamics": "recursion", "steps": 0, "records": 2},
        axes={
            "variant": {label: cell for cells in SWEEPS.values() for label, cell in cells.items()},
            "negative_slope": SLOPES,
        },
        seeds=1,
        smoke={"steps": 0, "negative_slope": [1.0]},
        paper_seeds=1,
    ),
    experiment(
        "c2-phases",
        reference="proof of Theorem 3.1; 9.9",
        question="How fast does the score escape from 1/D: cubically, as printed?",
        plot=figures.phases,
        setting={**REDUCED, "support": 1, "dynamics": "limit"},
        axes={
            "size": {"D=400": {"tokens": 400, "strength": 160.0}, "D=10000": {"tokens": 10_000, "strength": 1e5}},
            "negative_slope": SLOPES,
        },
        seeds=1,
        paper_seeds=1,
        simulation=escape_rates,
    ),
)
