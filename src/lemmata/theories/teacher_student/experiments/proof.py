"""The recursion against the lemmas of the proof (P3 to P16), and its way through (p, C_1)."""

from __future__ import annotations

import math

from lemmata.theories.teacher_student.experiments import REDUCED, SLOPES, experiment, sized
from lemmata.theories.teacher_student.figures import proof as figures
from lemmata.theories.teacher_student.studies.proof import check_run

RUNS = {
    "R1": sized(20, 1, 2.0, 0.05),
    "R2": sized(64, 2, 4.0, 0.02),
    "R3": sized(36, 4, 10.0, 0.05),
    "wide": sized(64, 2, 819.2, 0.02),
    "fast": sized(64, 2, 160.0, 0.02),
    # started at δ = 0.01 with a step of twice the limit of stability: c = ln((D - K)(1 - δ)/(Kδ))
    "unstable": sized(20, 1, 2.0, 0.2, start_gap=math.log(19 * 0.99 / 0.01), escapes=0.0, steps=200),
    "frozen": sized(20, 1, 2.0, 0.05, train_attention=0.0),
    "twin": sized(20, 1, 2.0, 0.05, dynamics="population"),
}
"""The reference runs of 6.2, the broken ones, and the full-matrix twin of R1."""
SMALL_RUNS = {
    name: {**run, "tokens": 12, "strength": 20.0 * run["strength"]}
    for name, run in RUNS.items()
    if name not in ("wide", "fast")
}

EXPERIMENTS = (
    experiment(
        "p3-along-run",
        reference="Lemmas C.2 to C.18",
        question="Do the inequalities of the proof hold at every step from 0 to 3T*?",
        plot=figures.along_run,
        setting={**REDUCED, "dynamics": "recursion", "escapes": 3.0, "records": 60},
        axes={"variant": RUNS, "negative_slope": SLOPES},
        seeds=1,
        smoke={"variant": SMALL_RUNS},
        paper={"records": 200},
        paper_seeds=1,
        simulation=check_run,
    ),
    experiment(
        "c2-portrait",
        reference="extra: phase portrait",
        question="Which way do C_1 and p take, when phases are separated and when they are not?",
        plot=figures.portrait,
        setting={**REDUCED, "dynamics": "recursion", "escapes": 30.0, "records": 200, "tokens": 36, "support": 4},
        axes={
            "chi": {f"χ={chi:g}": {"strength": chi * 4 * 36**2} for chi in (0.0025, 0.025, 0.25, 1.0)},
            "negative_slope": SLOPES,
        },
        seeds=1,
        smoke={"negative_slope": [1.0]},
        paper={"records": 500},
        paper_seeds=1,
    ),
)
