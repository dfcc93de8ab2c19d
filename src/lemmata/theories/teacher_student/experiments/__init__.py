"""The experiments of the claims register and of section 7, by topic; here what the topics share."""

from __future__ import annotations

from functools import partial
from typing import Any

from lemmata.lab.theory import make_experiment
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import simulate

SLOPES = [1.0, 0.1, 0.0]
"""κ of identity, leaky ReLU and ReLU."""
TINY = {"steps": 40, "records": 8}
"""What every smoke preset has in common."""
REDUCED: dict[str, Any] = {"outputs": 2, "dimension": 2, "value_law": "two_rows", "teacher": "supports"}
"""Two orthogonal rows of V* with 0.9 and 0.1 of ‖V*‖²; the recursion needs no S*."""

experiment = partial(make_experiment, kind=Setting, simulation=simulate, tiny=TINY)


def sized(tokens: int, support: int, strength: float, step_size: float, **more: Any) -> dict[str, Any]:
    """The fields of a cell by D, K, ‖V*‖² and η."""
    return {"tokens": tokens, "support": support, "strength": strength, "step_size": step_size, **more}
