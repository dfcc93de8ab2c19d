"""Every step of a run against the inequalities and identities of the proof (rows P3 to P18'', T3a, C2).

A check compares a step with the next: it gives a number that the claim bounds from above, once in the claimed form and
once in a form broken on purpose (the control). Along the run only the largest number is kept, with the first step at
which it is above what is allowed.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

import lemmata as lm
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.descent import population, recursion
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, task_of
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import EVENTS, SCALARS, Prepared, prepare

SLACK, STARTED = 1e-12, 1e-6
"""How far an inequality may be missed (relative, 6.2); rows that divide by Dp - 1 look at steps where it is larger."""
CHECKS = {
    "score_range": (SLACK, "C.2: $1/D\\leq p\\leq1/K$"),
    "score_rise": (-1e-300, "C.2: $p$ rises"),
    "logit_sign": (SLACK, "C.2: $C_2,C_3\\geq0$"),
    "logit_rise": (SLACK, "C.2: $C_2,C_3$ never fall"),
    "value_sign": (SLACK, "C.2: $C_1\\geq0$"),
    "value_bound": (SLACK, "C.4: $C_1\\leq\\sqrt{(D+1)/K}$"),
    "deviation": (0.8 + SLACK, "C.5: $C_1-C_1^*$ from above"),
    "early": (SLACK, "C.5: $C_1\\leq C_1^*$ at small $p$"),
    "increment": (1e-9, "C.7: logits grow by the formula"),
    "quotient_high": (9 * (4 * math.pi + 1) / 10, "(C.33): logits grow at most"),
    "quotient_low": (-19 / 200, "(C.33): logits grow at least"),
    "increment_upper": (SLACK, "C.9: $p$ grows at most"),
    "increment_lower": (SLACK, "C.9: $p$ grows at least"),
    "increment_exact": (SLACK, "C.9: $p$ follows the gap exactly"),
    "logit_step": (SLACK, "C.9: a step of the logits"),
    "value_drop": (SLACK, "C.11: $C_1^*$ falls at most"),
    "width_drop": (SLACK, "C.12: its unit $h$ falls at most"),
    "value_path": (0.01, "C.13: $C_1$ in phase 1, to 1 %"),
    "plateau": (SLACK, "C.13: $p$ stays near $1/D$"),
    "scale_high": (math.inf, ""),
    "scale_low": (math.inf, ""),
    "value_lower": (SLACK, "C.15: $C_1$ near $C_1^*$ from $t_1$ on"),
    "value_rise": (SLACK, "C.16: $C_1^*$ rises at most"),
    "product": (SLACK, "(C.35): $pC_1$ near $1/K$"),
    "upper": (1e-9, "3.1: excess, upper bound"),
    "upper_equal": (1e-9, "3.1: equal for the identity"),
    "lower": (1e-9, "3.1: excess, lower bound"),
    "slow": (0.02, "6.1: $p$ on the slow manifold, to 2 %"),
    "largest_value": (math.inf, ""),
}
"""Of every check the largest number that it allows, and in words what it is, by lemma (none: it has no limit)."""
ALLOWED = {name: most for name, (most, _) in CHECKS.items()}
FORMS = ("claimed", "broken")
FAR = 1e300
"""Stands for infinity in what is kept: a training state must be finite."""
C = ("check", "form")


class Check(NamedTuple):
    """What one check says of a step: whether it applies, and its number in both forms."""

    applies: Any
    claimed: Any
    broken: Any


class Extremes(NamedTuple):
    """Of every check along a run: the largest numbers, the first step above what is allowed, the steps it looked at."""

    worst: Float[Array, "check form"]
    violated_step: Float[Array, " check"]
    counted: Float[Array, " check"]
    lost: Float[Array, "check form"]
    """steps after the first at which a number was none"""


def checks_of(
    task: Task, row_norms: Any, fitted_step: Any, escape_step: Any, t: Any, now: Scalars, then: Scalars
) -> dict[str, Check]:
    """All checks on the step from `now`, at time t, to `then`. `row_norms` is the printed Σ‖v_m*‖."""
    D, K, M, eta = task.tokens, task.support, task.strength, task.step_size
    at, after = (reduced.pattern(task, reduced.gap(task, state)) for state in (now, then))
    p, delta, Q, over_uniform = at
    rise = after.score - p
    grown = (then.support - now.support) + (then.rest - now.rest)
    x = grown / task.scale
    scale, next_scale = reduced.quasi_scale(task, at), reduced.quasi_scale(task, after)
    A, B = reduced.f3_parts(task, at)
    h, next_h = reduced.deviation_unit(task, at), reduced.deviation_unit(task, after)
    alpha = reduced.deviation(task, now.value, at)
    started, fit, escaped = over_uniform > STARTED, t >= fitted_step, t >= escape_step
    always, moved = t >= 0, t >= 1  # C_1 = 0 at the start, so that the first step moves nothing but C_1
    checks: dict[str, Check] = {}

    def same(name: str, applies: Any, number: Any) -> None:
        checks[name] = Check(applies, number, number)

    def beyond(number: Any, bound: Any) -> Any:
        """How far a number is above its bound, relative to that."""
        return (number - bound) / jnp.abs(bound)

    # P3, P5
    same("score_range", always, jnp.maximum(1 - D * p, -delta))
    same("score_rise", moved, -rise / p)
    same("logit_sign", moved, jnp.maximum(-then.support, -then.rest))
    logits = zip(now[1:], then[1:], strict=True)
    same("logit_rise", moved, jnp.maximum(*((old - new) / jnp.maximum(jnp.abs(new), 1e-300) for old, new in logits)))
    same("value_sign", moved, -now.value)
    same("value_bound", always, now.value / jnp.sqrt((D + 1) / K) - 1)
    # P6: the control doubles the recorded C_1
    checks["deviation"] = Check(started, alpha, reduced.deviation(task, 2 * now.value, at))
    early = p <= 1 / (2 * jnp.sqrt(math.pi * D * K))
    checks["early"] = Check(early, now.value / scale - 1, 2 * now.value / scale - 1)
    # P8, P8b: the control has the printed sum of norms in the place of ‖V*‖²
    expected = eta * now.value * M * (D / task.scale) * delta**2 * (1 - alpha) * A / (K * (D - K) * K * p * Q)
    error, broken_error = (jnp.abs(grown / (factor * expected) - 1) for factor in (1.0, row_norms / M))
    checks["increment"] = Check(started, error, broken_error)
    quotient = grown * K * (D - K) * Q / (eta * M * (D / task.scale) * p * delta**2 * scale)
    checks["quotient_high"] = Check(fit, quotient, quotient * M / row_norms)
    checks["quotient_low"] = Check(fit, -quotient, -quotient * M / row_norms)
    # P9, P9b
    small, share = (x <= D**-2.0) & (x != 0), rise / p
    upper, half = D**2 / (D**2 - 1) * delta * x, delta * x / 2
    checks["increment_upper"] = Check(small, beyond(share, upper), beyond(share, half))
    same("increment_lower", small, beyond(-share, -half))
    exact, undivided = (jnp.abs(rise + delta * after.score * jnp.expm1(-gap)) / p for gap in (x, grown))
    checks["increment_exact"] = Check(always, exact, undivided)
    most = eta * M * D / (K**2 * (D - K)) * jnp.sqrt((D + 1) / (D * K))
    checks["logit_step"] = Check(now.value <= jnp.sqrt((D + 1) / K), grown / most - 1, grown / (0.01 * most) - 1)
    # P11, P12, P16: the control leaves the correction out
    drop, lost, rising = 1 - next_scale / scale, 1 - next_h / h, rise != 0
    checks["value_drop"] = Check(rising, beyond(drop, 3 * D * K * p * rise / Q), drop)
    allowed = A / (A + B) * 2 * D * K * p * rise / (K * p * over_uniform) ** 2 / h
    checks["width_drop"] = Check(started & (rise <= 1 / D) & rising, beyond(lost, allowed), lost)
    allowed = 1.5 * (D - K + K * scale) / (Q - K * rise) * rise / scale
    checks["value_rise"] = Check(rising, beyond(-drop, allowed), -drop)
    # P13 to P15
    decay = jnp.exp(t * jnp.log1p(-eta * mean_square_slope(task.slope)))
    path = reduced.start_scale(task) * (1 - decay)
    same("value_path", (t >= 1) & (t <= fitted_step), jnp.abs(now.value / path - 1))
    same("plateau", t <= fitted_step, D * p / (1 + D**-0.25) - 1)
    same("scale_high", t <= fitted_step, scale)
    same("scale_low", t <= fitted_step, -scale)
    same("value_lower", fit, jnp.maximum(0.95, 1 - 0.8 * h) - now.value / scale)
    # P18''
    limit = 2 * delta / D + delta**2 / K
    missed = jnp.abs(reduced.product_gap(task, now.value, at)) / limit
    checks["product"] = Check(escaped, missed - 1, missed / 0.05 - 1)
    # T3a
    excess = reduced.plain_excess(task, now.value, at)
    square = D * K * M / 2 * reduced.product_gap(task, now.value, at) ** 2
    upper = square + D * now.value**2 * delta**2 * M / (2 * (D - K))
    lower = M * D * delta**2 / (16 * (D - K))
    checks["upper"] = Check(always, excess / upper - 1, excess / (0.99 * upper) - 1)
    same("upper_equal", always, jnp.abs(excess / upper - 1))
    checks["lower"] = Check(escaped, lower / excess - 1, 16 * lower / excess - 1)
    # C2: the control leaves δ³ out
    slow = reduced.slow_rate(task, p)
    checks["slow"] = Check(fit & (p >= 1.1 / D), jnp.abs(rise / slow - 1), jnp.abs(rise * delta**3 / slow - 1))
    same("largest_value", always, now.value)
    return checks


def extended(extremes: Extremes, t: Any, checks: dict[str, Check]) -> Extremes:
    """The extremes with those of one more step."""
    applies: Bool[Array, " check"] = jnp.stack([jnp.asarray(checks[name].applies) for name in ALLOWED])
    numbers = jnp.stack([jnp.stack([checks[name].claimed, checks[name].broken]) for name in ALLOWED])
    # 0/0, before anything has moved, violates nothing; later it would be a check that says nothing
    lost = applies[:, None] & jnp.isnan(numbers) & (t > 0)
    numbers = jnp.where(applies[:, None] & ~jnp.isnan(numbers), jnp.clip(numbers, -FAR, FAR), -FAR)
    above = numbers[:, 0] > jnp.asarray(list(ALLOWED.values()))
    return Extremes(
        jnp.maximum(extremes.worst, numbers),
        jnp.minimum(extremes.violated_step, jnp.where(above, t, FAR)),
        extremes.counted + applies,
        extremes.lost + lost,
    )


@lm.piece("dynamics")
def examine(problem: Setting, prepared: Prepared) -> dict[str, Array]:
    """The records of a run and the extremes of every check."""
    events, teacher = prepared.events, prepared.teacher
    task = task_of(problem, events["squared_norm"])
    if problem.dynamics == "population":
        assert teacher is not None
        moving = population(problem, task, teacher)
    else:
        moving = recursion(problem, task)
    known = (task, events["row_norms"], events["fitted_step"], events["escape_step"])

    def step(t: Any, state: tuple[Any, Extremes]) -> tuple[Any, Extremes]:
        now, extremes = state
        then = moving.step(t, now)
        return then, extended(extremes, t, checks_of(*known, t, moving.scalars(now), moving.scalars(then)))

    zero = jnp.zeros(len(ALLOWED))
    by_form = zero[:, None] * jnp.zeros(len(FORMS))
    nothing = Extremes(by_form - FAR, zero + FAR, zero, by_form)
    at = prepared.at.astype(jnp.int32)
    run = lm.loop(step, (moving.start, nothing), lambda state, previous: moving.probe(state[0]), at)
    # the last state is looked at too
    _, extremes = step(jnp.max(at), run.state)
    return run.results() | {
        "worst": jnp.where((extremes.worst > -FAR) & (extremes.lost == 0), extremes.worst, jnp.nan),
        "violated_step": jnp.where(extremes.violated_step < FAR, extremes.violated_step, jnp.inf),
        "counted": extremes.counted,
    }


@lm.simulation(
    *lm.RUN,
    *SCALARS,
    *EVENTS,
    lm.Variable("worst", C, "", "largest number of a check along the run (absent: never looked at, or lost)", True),
    lm.Variable("violated_step", C[:1], "", "first step at which a check is above what is allowed (inf: never)"),
    lm.Variable("counted", C[:1], "", "steps that a check looked at"),
    labels={"check": tuple(ALLOWED), "form": FORMS},
    prepare=prepare,
    precision="float64",
)
def check_run(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """One run with every check of the proof at every step."""
    return examine(problem, prepared) | prepared.events
