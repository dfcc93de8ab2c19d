"""The late phase: rates and constants (Theorem 3.1), and their powers of D."""

from __future__ import annotations

from lemmata.theories.teacher_student.experiments import REDUCED, SLOPES, experiment
from lemmata.theories.teacher_student.figures import late as figures

FROZEN = {"none": {}, "attention": {"train_attention": 0.0}, "values": {"train_values": 0.0, "start_scale": 1.0}}
LATE = {
    f"D={D}, K={K}, ‖V*‖²={strength}": {"tokens": D, "support": K, "strength": float(strength)}
    for D, K, strength in ((20, 1, 10), (20, 4, 10), (36, 4, 40), (64, 2, 40), (160, 2, 40), (30, 12, 10))
}

EXPERIMENTS = (
    experiment(
        "t3-late",
        reference="Theorem 3.1",
        question="At which rates, and with which constants, are teacher and loss approached?",
        plot=figures.late,
        setting={**REDUCED, "dynamics": "limit", "escapes": 1e4, "first_escape": 1e2, "records": 42},
        axes={"size": LATE, "negative_slope": SLOPES, "frozen": FROZEN},
        seeds=1,
        smoke={"size": dict(list(LATE.items())[:2])},
        paper={"escapes": 1e8, "records": 122},
        paper_seeds=1,
    ),
    experiment(
        "t3-dimension",
        reference="Theorems 3.1 and 3.2",
        question="Which powers of D do the late laws have?",
        plot=figures.dimension,
        setting={
            **REDUCED,
            "support": 2,
            "strength": 4.0,
            "dynamics": "limit",
            "step_size": 1e-3,
            "steps": 10**15,
            "spacing": "decades",
            "records": 135,
        },
        axes={"tokens": [40, 80, 160, 320], "negative_slope": SLOPES},
        seeds=1,
        smoke={"steps": 10**16, "spacing": "log", "tokens": [40, 80], "negative_slope": [1.0]},
        paper={"tokens": [40, 80, 160, 320, 640, 1280]},
        paper_seeds=1,
    ),
)
