"""Other inputs and other responses: the laws of 2.4 and the adversarial responses of T5 and T6."""

from __future__ import annotations

from typing import Any

from lemmata.theories.teacher_student.experiments.common import SLOPES, experiment
from lemmata.theories.teacher_student.figures import transfer as figures
from lemmata.theories.teacher_student.transfer import TransferSetting, transfer

SHORT = {"whole_path": False}
DATA: dict[str, dict[str, Any]] = {
    "exponential": {"law": "exponential"},
    "gaussian": {"law": "gaussian"},
    "worst": {"law": "gaussian", "response": "worst"},
    "worst_printed": {"law": "gaussian", "response": "worst_printed"},
    "exact": {"law": "exponential", "response": "exact"},
    "uniform": {"law": "uniform", **SHORT},
    "student_t": {"law": "student_t", **SHORT},
    "rademacher": {"law": "rademacher", **SHORT},
    "correlated": {"law": "correlated", **SHORT},
    "independent": {"law": "gaussian", "response": "independent", **SHORT},
}
"""Laws of the inputs with the teacher's noisy responses, the responses of T5 with both signs and of T6, and (c)."""

EXPERIMENTS = (
    experiment(
        "t5-ood",
        "Theorem 3.2, Section D",
        "How much does the student lose on other data, and at which rate?",
        figures.shifted,
        {
            "dynamics": "limit", "teacher": "cnn", "tokens": 12, "support": 2, "features": 4, "outputs": 3,
            "value_law": "positive", "strength": 10.0,
        },
        {"data": DATA, "negative_slope": SLOPES},
        3,
        smoke={"inputs": 400, "noise_draws": 20, "negative_slope": [1.0, 0.0]},
        paper={"inputs": 200_000},
        paper_seeds=10,
        kind=TransferSetting,
        simulation=transfer,
    ),
)  # fmt: skip
