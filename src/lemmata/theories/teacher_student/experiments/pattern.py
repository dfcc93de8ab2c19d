"""The pattern in full matrices: all teachers and bases of positions, broken assumptions, another temperature."""

from __future__ import annotations

from typing import Any

from lemmata.theories.teacher_student.experiments import SLOPES, TINY_MATRICES, experiment
from lemmata.theories.teacher_student.figures import pattern as figures

PATTERN = {"tokens": 24, "support": 3, "dimension": 5, "outputs": 3, "value_law": "scaled_rows", "strength": 26.0}
"""The sizes of p1-pattern."""
VARIANTS: dict[str, dict[str, Any]] = {
    "cnn": {"teacher": "cnn"},
    "regular": {"teacher": "gcn", "graph": "regular"},
    "sts": {"teacher": "sts"},
    "supports": {"teacher": "supports"},
    "recursion": {"teacher": "cnn", "dynamics": "recursion"},
    "equal_sum": {"teacher": "cnn", "value_law": "equal_rows"},
    "row_softmax": {"teacher": "sts", "defect": "row_softmax"},
    **{
        name: {"teacher": "supports", "defect": name}
        for name in ("skew_positions", "extra_support", "uneven_weights", "coloured_inputs")
    },
}

EXPERIMENTS = (
    experiment(
        "p1-pattern",
        reference="Lemmas C.2, C.4, C.8",
        question="Do the matrices keep the two-scalar pattern, for every teacher and every basis of positions?",
        plot=figures.pattern,
        setting={**PATTERN, "steps": 3000, "records": 30},
        axes={"variant": VARIANTS, "negative_slope": SLOPES, "positions": ["haar", "dct"]},
        seeds=2,
        smoke={**TINY_MATRICES, "negative_slope": [1.0, 0.0]},
        paper={"steps": 20_000},
        paper_seeds=5,
    ),
    experiment(
        "p1-temperature",
        reference="extra: another softmax temperature",
        question="Does another temperature only change how fast attention moves?",
        plot=figures.temperature,
        setting={**PATTERN, "teacher": "cnn", "negative_slope": 0.0, "steps": 20_000, "records": 60},
        axes={"temperature": [0.5, 1.0, 2.0], "dynamics": ["population", "recursion"]},
        seeds=1,
        smoke=TINY_MATRICES,
        paper={"steps": 100_000},
        paper_seeds=1,
    ),
)
