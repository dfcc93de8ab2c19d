"""Other inputs and other responses: the laws of 2.4 and the adversarial responses of T5 and T6."""

from __future__ import annotations

from typing import Any

from lemmata.theories.teacher_student.experiments import TINY_MATRICES, experiment
from lemmata.theories.teacher_student.measures import SLOPES
from lemmata.theories.teacher_student.transfer import figures
from lemmata.theories.teacher_student.transfer.setting import TransferSetting
from lemmata.theories.teacher_student.transfer.training import simulate

SHORT = {"whole_path": False}
TEST_DATA: dict[str, dict[str, Any]] = {
    "exponential": {"test_law": "exponential"},
    "gaussian": {"test_law": "gaussian"},
    "worst": {"test_law": "gaussian", "response": "worst"},
    "worst_printed": {"test_law": "gaussian", "response": "worst_printed"},
    "exact": {"test_law": "exponential", "response": "exact"},
    "uniform": {"test_law": "uniform", **SHORT},
    "student_t": {"test_law": "student_t", **SHORT},
    "rademacher": {"test_law": "rademacher", **SHORT},
    "correlated": {"test_law": "correlated", **SHORT},
    "independent": {"test_law": "gaussian", "response": "independent", **SHORT},
}
"""Laws of the inputs with the teacher's noisy responses, the responses of T5 with both signs and of T6, and (c)."""

EXPERIMENTS = (
    experiment(
        "t5-ood",
        reference="Theorem 3.2, Section D",
        question="How much does the student lose on other data, and at which rate?",
        plot=figures.shifted,
        setting={"dynamics": "limit", "teacher": "cnn", "tokens": 12, "support": 2, "dimension": 4, "outputs": 3}
        | {"value_law": "positive", "strength": 10.0},
        axes={"test_data": TEST_DATA, "negative_slope": SLOPES},
        seeds=3,
        smoke={**TINY_MATRICES, "batch": 100, "test_inputs": 1000, "noise_draws": 150, "negative_slope": [1.0, 0.0]},
        paper={"test_inputs": 200_000},
        paper_seeds=10,
        kind=TransferSetting,
        simulation=simulate,
    ),
)
