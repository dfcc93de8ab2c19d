"""The calculators (end of 6.2): event times, late-time laws, and what may be lost out of distribution."""

from functools import partial
from typing import Any

import lemmata as lm
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.limit import escape_integral, follow_limit
from lemmata.theories.teacher_student.dynamics.reduced import Pattern, Task
from lemmata.theories.teacher_student.gaussian import mean_square_slope, xp

TOKENS = lm.parameter(36, "D", "tokens", low=2, integer=True)
SUPPORT = lm.parameter(4, "K", "tokens that an output column averages", low=1, integer=True)
STRENGTH = lm.parameter(10.0, "‖V*‖²", "squared norm of the teacher's values", low=0, high=1e9, open_ends="low")
SLOPE = lm.parameter(0.0, "κ", "slope of σ below 0: identity 1, ReLU 0", low=0, high=1)
STEP = lm.parameter(0.05, "η", "step size", low=1e-12, high=1e3)
STEPS = lm.parameter(1e6, "T", "training steps", low=1, high=1e18)
MOMENT = lm.parameter(10.0, "ξ", "largest second moment of a test input or response", low=0, open_ends="low")
TASK: dict[str, Any] = {"tokens": TOKENS, "support": SUPPORT, "strength": STRENGTH, "slope": SLOPE, "step_size": STEP}
LEARNS: Any = {"D - K": lambda tokens, support, **_: tokens - support}
"""with K ≥ D attention has nothing to learn"""
QUANTITY = lm.option("excess", "what to return", "excess", "value", "score", "mass", "score_error")
EPSILON = lm.parameter(1.0, "ε", "excess loss that may remain", low=0, open_ends="low")
LATE = "for T far beyond T*; independent of κ, M and V*"
STABLE: Any = {"1 - η a_κ": lambda slope, step_size, **_: 1 - step_size * mean_square_slope(slope)}


def gap_bound(task: Task, moment: Any, value: Any, at: Pattern) -> Any:
    """Δ² ≤ 2Dξ‖V*‖² [K²(1/K - C_1p)² + C_1²δ²] (the safe constant)."""
    miss = (task.support * reduced.product_gap(task, value, at)) ** 2 + (value * at.mass) ** 2
    return 2 * task.tokens * moment * task.strength * miss


def teacher_gap_bound(task: Task, moment: Any) -> Any:
    """R² ≤ 2Dξ(1 + ‖V*‖²)."""
    return 2 * task.tokens * moment * (1 + task.strength)


def right_side(task: Task, moment: Any, value: Any, at: Pattern) -> Any:
    """½Δ² + ΔR with both at their bounds: the right side of B."""
    square = gap_bound(task, moment, value, at)
    return square / 2 + xp.sqrt(square * teacher_gap_bound(task, moment))


def epsilon_at(task: Task, moment: Any, steps: Any) -> Any:
    """The ε with T_ε = `steps`: the inverse of `T_epsilon`."""
    R = xp.sqrt(teacher_gap_bound(task, moment))
    distance = xp.sqrt(_pace(task, moment) / steps)
    return distance**2 / 2 + distance * R


def steps_for(task: Task, moment: Any, epsilon: Any) -> Any:
    """T_ε = KD(D - K)²ξ / (a_κη(√(R² + 2ε) - R)²) (T4)."""
    R = xp.sqrt(teacher_gap_bound(task, moment))
    # √(R² + 2ε) - R without cancellation
    distance = 2 * epsilon / (xp.sqrt(R**2 + 2 * epsilon) + R)
    return _pace(task, moment) / distance**2


def _pace(task: Task, moment: Any) -> Any:
    free = task.tokens - task.support
    return task.support * task.tokens * free**2 * moment / (mean_square_slope(task.slope) * task.step_size)


def _task(tokens: float, support: float, strength: float = 1.0, slope: float = 1.0, step_size: float = 1.0) -> Task:
    """The reduced problem; with K ≥ D attention has nothing to learn, and every bound is vacuous."""
    if support >= tokens:
        raise ZeroDivisionError
    return Task(float(tokens), float(support), float(strength), float(slope), float(step_size))


learned = partial(lm.bound, positive=LEARNS)


@learned("6.1", "by the continuous limit of the recursion", steps=STEPS, quantity=QUANTITY, **TASK)
def reduced_run(steps: float, quantity: str = "excess", **given: float) -> float:
    """The exact dynamics after T steps: excess loss, C_1, p, δ or ‖S - S*‖."""
    task = _task(**given)
    path = follow_limit(task, [steps])
    value, at = path.value[0], reduced.pattern(task, path.gap[0])
    computed = {"excess": reduced.excess(task, value, at), "score_error": reduced.score_error(task, at)}
    return float((computed | {"value": value, "score": at.score, "mass": at.mass})[quantity])


@lm.bound("Lemma C.13, derived", "for χ = ‖V*‖²/(KD²) up to 0.005", positive=STABLE, slope=SLOPE, step_size=STEP)
def t1_estimate(slope: float, step_size: float) -> float:
    """Steps until C_1 reaches 0.95 C_1*: ln 0.05 / ln(1 - ηa_κ)."""
    if step_size * mean_square_slope(slope) >= 1:
        raise ZeroDivisionError  # unstable
    return float(reduced.first_phase(Task(2.0, 1.0, 1.0, slope, step_size)))


@learned("Lemma C.17, derived", "of order KD²/(η‖V*‖²); phase 1 adds 2 to 6 over η", **TASK)
def T_star_estimate(**given: float) -> float:
    """Steps until p = 1/(2K), by quadrature on the slow manifold; 0 for D ≤ 2K."""
    task = _task(**given)
    return escape_integral(task) / task.step_size


@learned("Theorem 3.1, derived", LATE, tokens=TOKENS, support=SUPPORT, step_size=STEP, steps=STEPS)
def excess_asymptote(tokens: float, support: float, step_size: float, steps: float) -> float:
    """The excess loss KD(D - K) / (4ηT)."""
    task = _task(tokens, support)
    return task.support * task.tokens * task.rest / (4 * step_size * steps)


@learned("Lemma C.18, derived", "for T far beyond T*", steps=STEPS, **TASK)
def delta_asymptote(steps: float, **given: float) -> float:
    """The mass off the support, (D - K) √(K / (2a_κη‖V*‖²T))."""
    return float(late_mass(_task(**given), steps))


def late_mass(task: Task, steps: Any) -> Any:
    """δ(T) of the late phase (P18')."""
    pace = 2 * mean_square_slope(task.slope) * task.step_size * task.strength * steps
    return (task.tokens - task.support) * xp.sqrt(task.support / pace)


@learned("Theorem 3.2, corrected", moment=MOMENT, epsilon=EPSILON, **TASK)
def T_epsilon(moment: float, epsilon: float, **given: float) -> float:
    """Steps after which the excess loss on any data with second moments ξ is at most ε."""
    return float(steps_for(_task(**given), moment, epsilon))


@learned("proof of Theorem 3.2", "by the continuous limit of the recursion", moment=MOMENT, steps=STEPS, **TASK)
def ood_bound(moment: float, steps: float, **given: float) -> float:
    """The largest excess loss after T steps on any data with second moments ξ."""
    task = _task(**given)
    path = follow_limit(task, [steps])
    return float(right_side(task, moment, path.value[0], reduced.pattern(task, path.gap[0])))


@lm.bound(
    "6.2, derived",
    "a linearised argument at the optimum, not a theorem",
    outputs=lm.parameter(10, "M", "outputs of a token", low=1, integer=True),
    dimension=lm.parameter(10, "d", "feature dimension", low=1, integer=True),
    batch=lm.parameter(100, "N", "samples of a step", low=1, integer=True),
    label_noise=lm.parameter(1.0, "σ_ξ", "standard deviation of the label noise", low=0),
    **TASK,
)
def noise_floor(outputs: Any, dimension: Any, batch: Any, label_noise: Any, **given: Any) -> Any:
    """The excess loss that online SGD settles at: ηMdDa_κσ²/(4NK) + ηa_κσ²‖V*‖²(K - 1)/(4NK²)."""
    D, K = given["tokens"], given["support"]
    pace = given["step_size"] * mean_square_slope(given["slope"]) * label_noise**2 / (4 * batch * K)
    return pace * (outputs * dimension * D + given["strength"] * (K - 1) / K)


LATE_TIMES = (excess_asymptote, delta_asymptote, T_epsilon, ood_bound, noise_floor)
BOUNDS = (reduced_run, t1_estimate, T_star_estimate, *LATE_TIMES)
