"""The continuous limit of the exact dynamics, on the host: t_1, T*, and the state at any number of steps.

In s = ηt the limit is an ordinary differential equation of (C_1, c), soon stiff. It reaches any number of steps (10^12
and more) at the same cost; against the recursion it is off by O(η). It needs no JAX: calculators answer at once.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.reduced import Task, pattern, quasi_scale

TOLERANCE = 1e-11
FITTED = 0.95
"""t_1 is the first time with C_1 ≥ 0.95 C_1*."""
Pair = tuple[float, float]


class Path(NamedTuple):
    """C_1 and c at the times asked for, t_1 and T* in steps (inf: not reached), C_1 at the gaps asked for."""

    value: Float[np.ndarray, " time"]
    gap: Float[np.ndarray, " time"]
    fitted_step: float
    escape_step: float
    value_at: Float[np.ndarray, " gap"]


def follow_limit(
    task: Task, times: Any, start: Pair = (0.0, 0.0), trained: Pair = (1.0, 1.0), gaps: Sequence[float] = ()
) -> Path:
    """The continuous limit at these times (in steps, increasing), and where it passes these gaps c.

    `start` has C_1 and c, `trained` multiplies the steps of values and attention.
    """
    return _follow(Task(*map(float, task)), tuple(map(float, times)), start, trained, tuple(gaps))


@functools.lru_cache(maxsize=256)
def _follow(task: Task, times: tuple[float, ...], start: Pair, trained: Pair, gaps: tuple[float, ...]) -> Path:
    """Kept: it is the same for every law of test data and every seed with the same ‖V*‖²."""
    from scipy.integrate import solve_ivp

    def moving(s: float, state: np.ndarray) -> list[float]:
        by_value, by_gap = reduced.rates(task, *state.tolist())
        return [trained[0] * by_value, trained[1] * by_gap]

    def fitting(s: float, state: np.ndarray) -> float:
        return state[0] - FITTED * quasi_scale(task, pattern(task, float(state[1])))

    def passing(level: float) -> Callable[[float, np.ndarray], float]:
        return lambda s, state: state[1] - level

    events = [fitting, passing(escape_gap(task)), *map(passing, gaps)]
    for event in events:
        setattr(event, "direction", 1)  # noqa: B010
    ends = task.step_size * np.asarray(times, float)
    limits: Any = {"rtol": TOLERANCE, "atol": TOLERANCE}
    solution = solve_ivp(moving, (0.0, ends[-1]), start, "LSODA", t_eval=ends, events=events, **limits)
    assert solution.success, solution.message
    fitted, escape = (passed[0] / task.step_size if len(passed) else math.inf for passed in solution.t_events[:2])
    if escape_gap(task) <= start[1]:
        escape = 0.0
    values = [state[0, 0] if len(state) else math.nan for state in solution.y_events[2:]]
    return Path(solution.y[0], solution.y[1], fitted, escape, np.asarray(values))


def escape_gap(task: Task) -> float:
    """The gap at which p = 1/(2K)."""
    return gap_at(task, 1 / (2 * task.support))


def gap_at(task: Task, p: float) -> float:
    """The gap of a score p."""
    return math.log((task.tokens - task.support) * p / (1 - task.support * p))


def escape_integral(task: Task, slow: bool = True) -> float:
    """ηT* ≈ ∫ dp / (dp/ds) over p in [1/D, 1/(2K)] on the slow manifold (P17); `slow=False` puts C_1* = 1."""
    if task.tokens <= 2 * task.support:
        return 0.0
    # smooth in ln p over its whole range, so equal panels with twenty Gauss points each are exact to rounding
    edges = np.linspace(math.log(1 / task.tokens), math.log(1 / (2 * task.support)), 65)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    p = np.exp(edges[:-1, None] + half * (1 + nodes))
    return float(np.sum(half * weights * task.step_size * p / reduced.slow_rate(task, p, None if slow else 1.0)))
