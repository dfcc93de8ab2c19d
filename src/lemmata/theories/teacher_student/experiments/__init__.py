"""The experiments of the claims register and of section 7, by topic; here what the topics share."""

from __future__ import annotations

from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import simulate

SLOPES = [1.0, 0.1, 0.0]
"""κ of identity, leaky ReLU and ReLU."""
TINY = {"steps": 40, "records": 14}
"""What every smoke preset has in common."""
TINY_MATRICES = {"tokens": 12, "support": 3, "dimension": 3, "outputs": 3, "batch": 5}
"""And those with matrices: one set of sizes, so that they share their programs."""
REDUCED: dict[str, Any] = {"outputs": 2, "dimension": 2, "value_law": "two_rows", "teacher": "supports"}
"""Two orthogonal rows of V* with 0.9 and 0.1 of ‖V*‖²; the recursion needs no S*."""

experiment = partial(lm.experiment, kind=Setting, simulation=simulate, tiny=TINY)


def sized(tokens: int, support: int, strength: float, step_size: float, **more: Any) -> dict[str, Any]:
    """The fields of a cell by D, K, ‖V*‖² and η."""
    return {"tokens": tokens, "support": support, "strength": strength, "step_size": step_size, **more}


UNIT_ROWS = {"dimension": 4, "value_law": "gaussian", "normalise_rows": True}
SWEEPS: dict[str, dict[str, dict[str, Any]]] = {
    "norm": {f"λ={factor:g}": sized(64, 2, 40 * factor**2, 0.05) for factor in (0.25, 0.5, 1.0)},
    "step": {f"η={step:g}": sized(64, 2, 4.0, step) for step in (0.0125, 0.025, 0.05)},
    "rows": {f"M={count}": sized(64, 2, 0.0, 0.05, outputs=count, **UNIT_ROWS) for count in (1, 2, 4)},
    "ratio": {f"D={D}, K=D/20": sized(D, D // 20, 2.0, 0.05) for D in (20, 40, 80, 160)},
    # K = 1: η below 2K/(a_κD), the limit of stability, for every D
    "dimension": {f"D={D}, K=1": sized(D, 1, 4.0, 0.001) for D in (40, 100, 320, 1000)},
}
"""What T* depends on (P17), by sweep; the labels of all sweeps make one axis."""
