"""The exact dynamics followed on the host: their continuous limit, t_1 and T*, and the steps of the records.

In s = ηt the limit is an ordinary differential equation of (C_1, c), soon stiff. It reaches any number of steps (10^12
and more) at the same cost; against the recursion it is off by O(η).
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, gap, pattern, quasi_scale
from lemmata.theories.teacher_student.setting import Setting

TOLERANCE = 1e-11
FITTED = 0.95
"""t_1 is the first time with C_1 ≥ 0.95 C_1*."""
Pair = tuple[float, float]
LONGEST, BLOCK = 10**7, 4096
"""Steps up to which event times are found by the recursion (beyond, by its limit), skipped so many at a time."""


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


@jax.jit
def follow_recursion(
    task: Task, at: Int[Array, " record"], start: Scalars, trained: tuple[Any, Any] = (1.0, 1.0), kink: Any = None
) -> lm.Run:
    """The recursion, step by step, with C_1, C_2, C_3 at the records."""
    first = Scalars(*(jnp.asarray(scalar, float) for scalar in start))
    return lm.loop(
        lambda t, state: reduced.step(task, state, trained, kink), first, lambda state, previous: state._asdict(), at
    )


@functools.lru_cache(maxsize=4096)
def event_steps(task: Task) -> tuple[float, float]:
    """t_1 and T* of the intact run from zero: by the recursion, or by its limit beyond `LONGEST` steps."""
    expected = (escape_integral(task) + 10) / task.step_size
    if expected > LONGEST:
        path = follow_limit(task, [2 * expected])
        return path.fitted_step, path.escape_step
    with lm.numerics("float64"):
        fitted, escape = _first_passages(Task(*map(float, task)))
        return float(fitted), float(escape)


@jax.jit
def _first_passages(task: Task) -> tuple[jax.Array, jax.Array]:
    """First steps with C_1 ≥ 0.95 C_1* and with p ≥ 1/(2K); inf if not within twice `LONGEST`."""

    def fits(state: Scalars) -> jax.Array:
        return state.value >= FITTED * quasi_scale(task, pattern(task, gap(task, state)))

    def escapes(state: Scalars) -> jax.Array:
        return 2 * task.support * pattern(task, gap(task, state)).score >= 1

    zero = jnp.asarray(0.0)
    start = jnp.asarray(0), Scalars(zero, zero, zero)
    near = _until(task, escapes, start, BLOCK)  # p only grows, so blocks of steps can be skipped
    steps = jnp.stack([_until(task, fits, start)[0], _until(task, escapes, near)[0]])
    return tuple(jnp.where(steps < 2 * LONGEST, steps, jnp.inf))


def _until(task: Task, done: Callable[[Scalars], jax.Array], start: Any, block: int = 1) -> tuple[jax.Array, Scalars]:
    """The first step at which a state is `done`, or the last multiple of `block` steps before it, with the state."""

    def ahead(state: Scalars) -> Scalars:
        return jax.lax.fori_loop(0, block, lambda t, state: reduced.step(task, state), state)

    def going(carry: Any) -> jax.Array:
        t, state, following = carry
        return ~done(state if block == 1 else following) & (t < 2 * LONGEST)

    def advance(carry: Any) -> Any:
        t, _, following = carry
        return t + block, following, ahead(following)

    t, state, _ = jax.lax.while_loop(going, advance, (*start, ahead(start[1])))
    return t, state


def record_steps(setting: Setting, task: Task, escape_step: float) -> Int[np.ndarray, " record"]:
    """The steps of the records: 0, increasing, the last step, and -1 for room that is not used.

    log: geometric; even: arithmetic; decades: ten a decade from 100, and T*; tenths: 1, 3, 6 and 10 % of the steps,
    then every tenth.
    """
    unit = escape_step if escape_step > 0 else task.unit
    last = math.ceil(setting.escapes * unit) if setting.escapes > 0 else setting.steps
    room = setting.records
    match setting.spacing:
        case "log":
            first = min(max(setting.first_escape * unit, 1.0), max(last, 1))
            marks = np.geomspace(first, max(last, 1), room - 1)[0 if room > 2 else 1 :]
        case "even":
            marks = np.linspace(0, last, room)
        case "decades":
            marks = 100 * 10 ** (np.arange(0, 200) / 10)
            marks = np.append(marks[marks < last], escape_step)
        case _:
            marks = last * np.asarray([0.01, 0.03, 0.06, *(k / 10 for k in range(1, 11))])
    marks = np.round(marks[np.isfinite(marks)]).astype(np.int64)
    at = np.unique(np.concatenate([[0], marks[marks < last], [last]]))
    if len(at) > room:
        raise lm.UserError(f"records = {room} has no room for the {len(at)} records of spacing={setting.spacing}.")
    if setting.dynamics != "limit" and last >= 2**31:
        raise lm.UserError(f"{last} steps are too many to be taken one by one; use dynamics=limit.")
    return np.pad(at, (0, room - len(at)), constant_values=-1)
