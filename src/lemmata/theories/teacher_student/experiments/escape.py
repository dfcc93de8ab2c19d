"""The second phase: how its end T* scales (P17), and how fast the score escapes from 1/D (C2)."""

from __future__ import annotations

from typing import Any

from lemmata.theories.teacher_student.experiments import REDUCED, SLOPES, experiment, sized
from lemmata.theories.teacher_student.figures import escape as figures
from lemmata.theories.teacher_student.studies.escape import escape_rates

SWEEPS: dict[str, dict[str, dict[str, Any]]] = {
    "norm": {f"λ={factor:g}": sized(64, 2, 40 * factor**2, 0.05) for factor in (0.25, 0.5, 1.0)},
    "step": {f"η={step:g}": sized(64, 2, 4.0, step) for step in (0.0125, 0.025, 0.05)},
    "rows": {
        f"M={count}": sized(64, 2, 0.0, 0.05, outputs=count, dimension=4, value_law="gaussian", normalise_rows=True)
        for count in (1, 2, 4)
    },
    "ratio": {f"D={D}, K=D/20": sized(D, D // 20, 2.0, 0.05) for D in (20, 40, 80, 160)},
    # K = 1: η below 2K/(a_κD), the limit of stability, for every D
    "dimension": {f"D={D}, K=1": sized(D, 1, 4.0, 0.001) for D in (40, 100, 320, 1000)},
}
"""What T* depends on (P17), by sweep; the labels of all sweeps make one axis."""

EXPERIMENTS = (
    experiment(
        "p17-escape",
        "Lemma C.17",
        "How does the end T* of the second phase scale?",
        figures.escape,
        {**REDUCED, "dynamics": "recursion", "steps": 0, "records": 2},
        {
            "variant": {label: cell for cells in SWEEPS.values() for label, cell in cells.items()},
            "negative_slope": SLOPES,
        },
        1,
        smoke={"records": 2, "steps": 0, "negative_slope": [1.0]},
        paper_seeds=1,
    ),
    experiment(
        "c2-phases",
        "proof of Theorem 3.1; 9.9",
        "How fast does the score escape from 1/D: cubically, as printed?",
        figures.phases,
        {**REDUCED, "support": 1, "dynamics": "limit"},
        {
            "size": {
                "D=400": {"tokens": 400, "strength": 160.0},
                "D=10000": {"tokens": 10_000, "strength": 1e5},
            },
            "negative_slope": SLOPES,
        },
        1,
        paper_seeds=1,
        simulation=escape_rates,
    ),
)  # fmt: skip
