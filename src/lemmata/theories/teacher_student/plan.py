"""Host work before a run: the teacher, the event times of the exact dynamics, and the steps of the records."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.lab.training import Run, loop
from lemmata.theories.teacher_student.limit import FITTED, Path, escape_integral, follow_limit
from lemmata.theories.teacher_student.reduced import Scalars, Task, from_gap, gap, pattern, quasi_scale, step
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher, make_teacher, value_matrix

LONGEST = 10**7
"""Steps up to which event times are found by the recursion; beyond, by its continuous limit."""
BLOCK = 4096
"""Steps that are skipped at a time on the way to T*."""
TENTHS = (0.01, 0.03, 0.06, *(k / 10 for k in range(1, 11)))
"""Where spacing=tenths records, as shares of the steps."""


Schedule = Callable[[float, float], np.ndarray]


class Plan(NamedTuple):
    """What a run starts from."""

    teacher: Teacher | None
    """absent where the exact dynamics need no matrices"""
    strength: Float[Any, ""]
    norms: Float[Any, ""]
    """the sum of the norms of the rows of V*, which the document prints in place of ‖V*‖²"""
    fitted: Float[Any, ""]
    escape: Float[Any, ""]
    at: Float[Any, " record"]
    """the steps of the records, -1 where one is not used"""
    path: Scalars | None
    """the records of the exact dynamics"""
    diverged: Float[Any, ""]
    """1 if the exact dynamics left the finite numbers"""


def task_of(setting: Setting, strength: float) -> Task:
    """The reduced problem of a setting, on the host."""
    return Task(
        float(setting.tokens),
        float(setting.support),
        strength,
        setting.negative_slope,
        setting.step_size,
        setting.temperature,
    )


def make_plan(setting: Setting, seed: int, schedule: Schedule | None = None) -> Plan:
    """The plan of one run. The exact dynamics are followed here, in float64 whatever the run is in.

    `schedule` gives the times of the records from t_1 and T*; without one they are those of the setting. Matrices of
    the teacher are made where something reads them: a reduced run of 10⁴ tokens has no room for them.
    """
    matrices = setting.dynamics in ("population", "online") or setting.track == "outputs" or schedule is not None
    values = value_matrix(setting, seed)
    strength = float(np.sum(values**2))
    task = task_of(setting, strength)
    fitted, escape = events(task)
    at = record_steps(setting, task, escape) if schedule is None else schedule(fitted, escape)
    path, diverged = None, 0.0
    if setting.dynamics == "limit":
        path = _limit_path(setting, task, at)
    elif setting.dynamics == "recursion":
        path, diverged = _recursion_path(setting, task, at)
    return Plan(
        make_teacher(setting, seed) if matrices else None,
        np.asarray(strength),
        np.sum(np.linalg.norm(values, axis=1)),
        np.asarray(fitted),
        np.asarray(escape),
        at.astype(float),
        path,
        np.asarray(diverged),
    )


def _limit_path(setting: Setting, task: Task, at: np.ndarray) -> Scalars:
    times = tuple(at[at >= 0])
    start, trained = (setting.start_scale, setting.start_gap), (setting.train_values, setting.train_attention)
    found = _followed(task, times, start, trained)
    room = (0, len(at) - len(times))
    padded = [np.pad(path, room, constant_values=np.nan) for path in (found.value, found.gap)]
    return from_gap(task, *padded)


@functools.lru_cache(maxsize=256)
def _followed(task: Task, times: tuple[float, ...], start: tuple[float, float], trained: tuple[float, float]) -> Path:
    """The limit is the same for every law of test data and every seed with the same ‖V*‖²."""
    value, gap = start
    train_values, train_attention = trained
    return follow_limit(task, times, value=value, gap=gap, train_values=train_values, train_attention=train_attention)


def _recursion_path(setting: Setting, task: Task, at: Int[np.ndarray, " record"]) -> tuple[Scalars, float]:
    with numerics("float64"):
        start = from_gap(task, setting.start_scale, setting.start_gap)
        trained = (setting.train_values, setting.train_attention)
        kink = setting.kink if setting.start == "slope" else None
        run = follow_recursion(task, at.astype(np.int32), start, trained, kink)
        return Scalars(**jax.device_get(run.records)), float(run.diverged)


@jax.jit
def follow_recursion(
    task: Task, at: Int[Array, " record"], start: Scalars, trained: tuple[Any, Any] = (1.0, 1.0), kink: Any = None
) -> Run:
    """The recursion, step by step, with C_1, C_2, C_3 at the records."""
    first = Scalars(*(jnp.asarray(scalar, float) for scalar in start))
    move = lambda t, state: step(task, state, trained, kink)  # noqa: E731
    return loop(move, first, lambda state, previous: state._asdict(), at)


@functools.lru_cache(maxsize=4096)
def events(task: Task) -> tuple[float, float]:
    """t_1 and T* of the intact run from zero: by the recursion, or by its limit beyond `LONGEST` steps."""
    expected = (escape_integral(task) + 10) / task.step_size
    if expected > LONGEST:
        path = follow_limit(task, [2 * expected])
        return path.fitted, path.escape
    with numerics("float64"):
        found = _passages(Task(*map(float, task)))
        return float(found[0]), float(found[1])


@jax.jit
def _passages(task: Task) -> tuple[jax.Array, jax.Array]:
    """First steps with C_1 ≥ 0.95 C_1* and with p ≥ 1/(2K); inf if not within twice `LONGEST`."""

    def fits(state: Scalars) -> jax.Array:
        return state.value >= FITTED * quasi_scale(task, pattern(task, gap(task, state)))

    def escapes(state: Scalars) -> jax.Array:
        return 2 * task.support * pattern(task, gap(task, state)).score >= 1

    zero = jnp.asarray(0.0)
    start = jnp.asarray(0), Scalars(zero, zero, zero)
    near = _until(task, escapes, start, BLOCK)  # p only grows, so blocks of steps can be skipped
    passed = lambda found: jnp.where(found[0] < 2 * LONGEST, found[0], jnp.inf)  # noqa: E731
    return passed(_until(task, fits, start)), passed(_until(task, escapes, near))


def _until(task: Task, done: Callable[[Scalars], jax.Array], start: Any, block: int = 1) -> tuple[jax.Array, Scalars]:
    """The first step at which a state is `done`, or the last multiple of `block` steps before it, with the state."""
    ahead = lambda state: jax.lax.fori_loop(0, block, lambda t, state: step(task, state), state)  # noqa: E731

    def going(carry: Any) -> jax.Array:
        t, state, following = carry
        return ~done(state if block == 1 else following) & (t < 2 * LONGEST)

    def advance(carry: Any) -> Any:
        t, _, following = carry
        return t + block, following, ahead(following)

    t, state, _ = jax.lax.while_loop(going, advance, (*start, ahead(start[1])))
    return t, state


def record_steps(setting: Setting, task: Task, escape: float) -> Int[np.ndarray, " record"]:
    """The steps of the records: 0, increasing, the last step, and -1 for room that is not used.

    log: geometric; even: arithmetic; decades: ten a decade from 100, and T*; tenths: 1, 3, 6 and 10 % of the steps,
    then every tenth.
    """
    unit = escape if escape > 0 else task.unit
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
            marks = np.append(marks[marks < last], escape)
        case _:
            marks = last * np.asarray(TENTHS)
    marks = np.round(marks[np.isfinite(marks)]).astype(np.int64)
    at = np.unique(np.concatenate([[0], marks[marks < last], [last]]))
    if len(at) > room:
        raise UserError(f"records = {room} has no room for the {len(at)} records of spacing={setting.spacing}.")
    if setting.dynamics != "limit" and last >= 2**31:
        raise UserError(f"{last} steps are too many to be taken one by one; use dynamics=limit.")
    return np.pad(at, (0, room - len(at)), constant_values=-1)
