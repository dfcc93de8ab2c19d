"""How fast the score grows on its way from 1/D to 1/K (rows C2, P17): rates of the continuous limit at levels of p."""

import numpy as np

import lemmata as lm
from lemmata.theories.teacher_student.dynamics.limit import escape_integral, follow_limit, gap_at
from lemmata.theories.teacher_student.dynamics.reduced import pattern, rates, task_of
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import value_matrix
from lemmata.theories.teacher_student.training import EVENTS

LEVELS = ("1.1/D", "1.4/D", "1.9/D", "2.1/D", "3/D", "5/D", "0.1/K", "0.2/K", "0.4/K")
"""Where the rates are taken; the claims look just after the start, on both sides of 2/D, and late in the escape."""

SIZES = ("token_count", "support_count", "squared_norm", "eta", "separation")
L = ("level",)


@lm.simulation(
    lm.Variable("score", L, "p", "score on the supports"),
    lm.Variable("value", L, "C_1", "multiple of V* there"),
    lm.Variable("rate", L, "dp/dt", "growth of the score per step there"),
    *(event for event in EVENTS if event.name in SIZES),
    labels={"level": LEVELS},
    host=True,
    precision="float64",
)
def escape_rates(setting: Setting, seed: int) -> dict[str, np.ndarray]:
    """Rates along the continuous limit."""
    strength = float(np.sum(value_matrix(setting, seed) ** 2))
    task = task_of(setting, strength)
    units = {"D": task.tokens, "K": task.support}
    score = np.asarray([float(level[:-2]) / units[level[-1]] for level in LEVELS])
    gaps = [gap_at(task, p) for p in score]
    past = 2 * (escape_integral(task) + 10) / task.step_size
    value = follow_limit(task, [past], gaps=gaps).value_at
    _, by_gap = rates(task, value, np.asarray(gaps))
    at = pattern(task, np.asarray(gaps))
    return {"score": score, "value": value, "rate": task.step_size * by_gap * at.score * at.mass} | dict(
        zip(SIZES, map(np.asarray, (*task[:3], task.step_size, task.separation)), strict=True)
    )
