"""Every step of a run against the inequalities and identities of the proof (rows P3 to P18'', T3a, C2).

A check compares a step with the next: it gives a number that the claim bounds from above, once as claimed and once
broken on purpose (the control). Along the run only the largest is kept, with the first step above what is allowed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.lab.simulation import Variable, piece, simulation
from lemmata.lab.training import loop
from lemmata.theories.teacher_student import reduced
from lemmata.theories.teacher_student.dynamics import population, recursion, task_of
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.plan import Plan, make_plan
from lemmata.theories.teacher_student.reduced import Scalars, Task
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import DIVERGED, EVENTS, SCALARS, events_of

SLACK = 1e-12
"""How far an inequality may be missed, relative to what is compared (6.2)."""
STARTED = 1e-6
"""Rows that divide by Dp - 1 look at steps where it is above this."""
ALLOWED = {
    "score_range": SLACK, "score_rise": -1e-300, "logit_sign": SLACK, "logit_rise": SLACK, "value_sign": SLACK,
    "value_bound": SLACK, "deviation": 0.8, "early": SLACK, "increment": 1e-9, "quotient_high": 9 * (4 * math.pi + 1)
    / 10, "quotient_low": -19 / 200, "increment_upper": SLACK, "increment_lower": SLACK, "increment_exact": SLACK,
    "logit_step": SLACK, "value_drop": SLACK, "width_drop": SLACK, "value_path": 0.01, "plateau": SLACK,
    "scale_high": math.inf, "scale_low": math.inf, "value_lower": SLACK, "value_rise": SLACK, "product": SLACK,
    "upper": 1e-9, "upper_equal": 1e-9, "lower": 1e-9, "slow": 0.02, "largest_value": math.inf,
}  # fmt: skip
"""The checks, and the largest number that each allows."""
CASES = ("claimed", "broken")


class Seen(NamedTuple):
    """What a check says of a step: whether it applies, and its number as claimed and as broken."""

    applies: Any
    claimed: Any
    broken: Any


class Kept(NamedTuple):
    """Along a run: the largest numbers, the first step above what is allowed, how many steps a check looked at."""

    worst: Float[Array, "check case"]
    first: Float[Array, " check"]
    counted: Float[Array, " check"]


def look(task: Task, norms: Any, fitted: Any, escape: Any, t: Any, now: Scalars, then: Scalars) -> dict[str, Seen]:
    """All checks on the step from `now`, at time t, to `then`. `norms` is the printed Σ‖v_m*‖."""
    D, K, M, eta = task.tokens, task.support, task.strength, task.step_size
    at, after = (reduced.pattern(task, reduced.gap(task, state)) for state in (now, then))
    p, delta, Q, lead = at
    rise = after.score - p
    grown = (then.support - now.support) + (then.rest - now.rest)
    x = grown / task.scale
    scale, next_scale = reduced.quasi_scale(task, at), reduced.quasi_scale(task, after)
    A, B = reduced.parts(task, at)
    h, next_h = reduced.half_width(task, at), reduced.half_width(task, after)
    alpha = reduced.deviation(task, now.value, at)
    started, fit, escaped = lead > STARTED, t >= fitted, t >= escape
    always = t >= 0
    found: dict[str, Seen] = {}

    def same(name: str, applies: Any, number: Any) -> None:
        found[name] = Seen(applies, number, number)

    # P3, P5
    same("score_range", always, jnp.maximum(1 - D * p, -delta))
    same("score_rise", t >= 1, -rise / p)
    same("logit_sign", always, jnp.maximum(-then.support, -then.rest))
    fall = lambda before, then: (before - then) / jnp.maximum(jnp.abs(then), 1e-300)  # noqa: E731
    same("logit_rise", always, jnp.maximum(fall(now.support, then.support), fall(now.rest, then.rest)))
    same("value_sign", always, -now.value)
    same("value_bound", always, now.value / jnp.sqrt((D + 1) / K) - 1)
    # P6: the control doubles the recorded C_1
    found["deviation"] = Seen(started, alpha, reduced.deviation(task, 2 * now.value, at))
    early = p <= 1 / (2 * jnp.sqrt(math.pi * D * K))
    found["early"] = Seen(early, now.value / scale - 1, 2 * now.value / scale - 1)
    # P8, P8b: the control has the printed sum of norms in the place of ‖V*‖²
    expected = eta * now.value * M * (D / task.scale) * delta**2 * (1 - alpha) * A / (K * (D - K) * K * p * Q)
    error = lambda factor: jnp.abs(grown / (factor * expected) - 1)  # noqa: E731
    found["increment"] = Seen(started, error(1.0), error(norms / M))
    quotient = grown * K * (D - K) * Q / (eta * M * (D / task.scale) * p * delta**2 * scale)
    found["quotient_high"] = Seen(fit, quotient, quotient * M / norms)
    found["quotient_low"] = Seen(fit, -quotient, -quotient * M / norms)
    # P9, P9b
    small = x <= D**-2.0
    share = rise / p
    found["increment_upper"] = Seen(small, share - D**2 / (D**2 - 1) * delta * x, share - delta * x / 2)
    same("increment_lower", small, delta * x / 2 - share)
    exact = lambda x: jnp.abs(rise + delta * after.score * jnp.expm1(-x)) / p  # noqa: E731
    found["increment_exact"] = Seen(always, exact(x), exact(grown))
    most = eta * M * D / (K**2 * (D - K)) * jnp.sqrt((D + 1) / (D * K))
    found["logit_step"] = Seen(now.value <= jnp.sqrt((D + 1) / K), grown / most - 1, grown / (0.01 * most) - 1)
    # P11, P12, P16: the control leaves the correction out
    drop = 1 - next_scale / scale
    found["value_drop"] = Seen(always, drop - 3 * D * K * p * rise / Q, drop)
    lost = 1 - next_h / h
    allowed = A / (A + B) * 2 * D * K * p * rise / (K * p * lead) ** 2 / h
    found["width_drop"] = Seen(started & (rise <= 1 / D), lost - allowed, lost)
    found["value_rise"] = Seen(always, -drop - 1.5 * (D - K + K * scale) / (Q - K * rise) * rise / scale, -drop)
    # P13 to P15
    decay = jnp.exp(t * jnp.log1p(-eta * mean_square_slope(task.slope)))
    path = reduced.start_scale(task) * (1 - decay)
    same("value_path", (t >= 1) & (t <= fitted), jnp.abs(now.value / path - 1))
    same("plateau", t <= fitted, D * p / (1 + D**-0.25) - 1)
    same("scale_high", t <= fitted, scale)
    same("scale_low", t <= fitted, -scale)
    same("value_lower", fit, jnp.maximum(0.95, 1 - 0.8 * h) - now.value / scale)
    # P18''
    limit = 2 * delta / D + delta**2 / K
    missed = jnp.abs(reduced.product_gap(task, now.value, at)) / limit
    found["product"] = Seen(escaped, missed - 1, missed / 0.05 - 1)
    # T3a
    excess = reduced.plain_excess(task, now.value, at)
    square = D * K * M / 2 * reduced.product_gap(task, now.value, at) ** 2
    upper = square + D * now.value**2 * delta**2 * M / (2 * (D - K))
    lower = M * D * delta**2 / (16 * (D - K))
    found["upper"] = Seen(always, excess / upper - 1, excess / (0.99 * upper) - 1)
    same("upper_equal", always, jnp.abs(excess / upper - 1))
    found["lower"] = Seen(escaped, lower / excess - 1, 16 * lower / excess - 1)
    # C2: the control leaves δ³ out
    slow = reduced.slow_rate(task, p)
    found["slow"] = Seen(fit & (p >= 1.1 / D), jnp.abs(rise / slow - 1), jnp.abs(rise * delta**3 / slow - 1))
    same("largest_value", always, now.value)
    return found


FAR = 1e300
"""Stands for infinity in what is kept: a training state must be finite."""


def nothing_kept() -> Kept:
    count = len(ALLOWED)
    return Kept(jnp.full((count, len(CASES)), -FAR), jnp.full(count, FAR), jnp.zeros(count))


def keep(kept: Kept, t: Any, seen: dict[str, Seen]) -> Kept:
    """The largest numbers with those of one more step."""
    applies: Bool[Array, " check"] = jnp.stack([jnp.asarray(seen[name].applies) for name in ALLOWED])
    numbers = jnp.stack([jnp.stack([seen[name].claimed, seen[name].broken]) for name in ALLOWED])
    # a number that is not one (0/0 before anything has moved) says nothing
    numbers = jnp.where(applies[:, None] & ~jnp.isnan(numbers), jnp.clip(numbers, -FAR, FAR), -FAR)
    above = numbers[:, 0] > jnp.asarray(list(ALLOWED.values()))
    return Kept(
        jnp.maximum(kept.worst, numbers),
        jnp.minimum(kept.first, jnp.where(above, t, FAR)),
        kept.counted + applies,
    )


@piece("dynamics", "start", "softmax_rows")
def examine(problem: Setting, plan: Plan) -> dict[str, Array]:
    """The records of a run and the largest number of every check."""
    task = task_of(problem, plan)
    moving = population(problem, plan) if problem.dynamics == "population" else recursion(problem, plan)

    def step(t: Any, state: tuple[Any, Kept]) -> tuple[Any, Kept]:
        now, kept = state
        then = moving.step(t, now)
        seen = look(task, plan.norms, plan.fitted, plan.escape, t, moving.scalars(now), moving.scalars(then))
        return then, keep(kept, t, seen)

    at = plan.at.astype(jnp.int32)
    run = loop(step, (moving.start, nothing_kept()), lambda state, previous: moving.probe(state[0]), at)
    # the last state is looked at too
    _, kept = step(jnp.max(at), run.state)
    return run.records | {
        "step": run.step,
        "diverged": run.diverged,
        "worst": jnp.where(kept.worst > -FAR, kept.worst, jnp.nan),
        "first_above": jnp.where(kept.first < FAR, kept.first, jnp.inf),
        "counted": kept.counted,
    }


@simulation(
    *SCALARS,
    *EVENTS,
    DIVERGED,
    Variable("worst", ("check", "case"), "", "largest number of a check along the run (absent: never looked at)", True),
    Variable("first_above", ("check",), "", "first step at which a check is above what is allowed (inf: never)"),
    Variable("counted", ("check",), "", "steps that a check looked at"),
    labels={"check": tuple(ALLOWED), "case": CASES},
    prepare=make_plan,
    precision="float64",
)
def check_run(problem: Setting, key: jax.Array, prepared: Plan) -> dict[str, Array]:
    """One run with every check of the proof at every step."""
    plan = jax.tree.map(jnp.asarray, prepared)
    return examine(problem, plan) | events_of(problem, plan)
