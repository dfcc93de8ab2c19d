"""Out of distribution (T4 to T7, row B): what the exact student loses on other inputs and other responses.

The student is on its pattern, so that its outputs follow from two sums per entry, u_in over the support of column i
and u_out over the rest: TF = σ(C_1 (p u_in + δ u_out / (D - K))), f* = σ(u_in / K). The same inputs serve all times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.lab import setting as lab
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.theories.teacher_student import reduced
from lemmata.theories.teacher_student.bounds import epsilon_at, gap_bound, teacher_gap_bound
from lemmata.theories.teacher_student.data import LAWS, draw_inputs, moments
from lemmata.theories.teacher_student.dynamics import task_of
from lemmata.theories.teacher_student.network import activate, half_mean_square
from lemmata.theories.teacher_student.plan import Plan, make_plan
from lemmata.theories.teacher_student.reduced import Pattern, Scalars, Task
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.training import EVENTS, events_of

RESPONSES = ("teacher", "independent", "worst", "worst_printed", "exact")
LATE = (1e2, 1e4)
"""The window of the late laws, in units of T*."""
MIDDLE, PROMISED = 1e3, 2e3
"""Where the noise of a batch is measured, and the T_ε for which ε is chosen, in units of T*."""
EARLY_RECORDS, LATE_RECORDS = 30, 20
ROOM = EARLY_RECORDS + LATE_RECORDS + 7
"""For both windows, the start, t_1, T*, and four multiples of it."""
BLOCK = 500
"""Samples that are looked at together, so that they stay in the cache."""


class TransferSetting(Setting):
    """A student of the exact dynamics, tested on other data."""

    law: str = lab.choice("exponential", "law of the entries of the test inputs", *LAWS)
    response: str = lab.choice(
        "teacher", "test responses: the teacher's with noise, independent of the inputs, the worst case of the proof "
        "with its sign corrected or as printed, or the exact worst case",
        *RESPONSES,
    )  # fmt: skip
    inputs: int = lab.size(50_000, "", "frozen test inputs", low=2)
    noise_draws: int = lab.size(400, "", "draws of the noise of a batch", low=2)
    budget: float = lab.number(100.0, "R", "root mean square of the exact worst case", low=0)
    whole_path: bool = lab.flag(True, "records along the whole path, or at T*, 10²T*, 10³T*, 2·10³T*, 10⁴T* only")

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if self.dynamics != "limit":
            yield f"dynamics = {self.dynamics} is not allowed here: the student follows dynamics=limit."
        if self.tokens <= 2 * self.support:
            yield f"tokens = {self.tokens} must be more than twice support = {self.support}: times are units of T*."
        if self.inputs < self.batch:
            yield f"inputs = {self.inputs} are fewer than batch = {self.batch}."


def plan_transfer(setting: TransferSetting, seed: int) -> Plan:
    """The exact student at the times that the claims look at."""

    def schedule(fitted: float, escape: float) -> Float[np.ndarray, " record"]:
        times = escape * np.asarray([1.0, LATE[0], MIDDLE, PROMISED, LATE[1]])
        if setting.whole_path:
            early = np.geomspace(fitted / 10, LATE[0] * escape, EARLY_RECORDS)
            times = np.concatenate([times, [fitted], early, escape * np.geomspace(*LATE, LATE_RECORDS)])
        # times that agree but for rounding are one
        times = np.unique(np.concatenate([[0.0], np.round(times, 6)]))
        return np.pad(times, (0, ROOM - len(times)), constant_values=-1)

    return make_plan(setting, seed, schedule)


class Frozen(NamedTuple):
    """Test data that are the same at all times: the two sums, the teacher's answers, noise and free responses."""

    inside: Float[Array, "output sample token"]
    outside: Float[Array, "output sample token"]
    target: Float[Array, "output sample token"]
    free: Float[Array, "output sample token"]
    input_moment: Float[Array, ""]


@piece("law", "inputs", once=True)
def draw_frozen(problem: TransferSetting, key: jax.Array, plan: Plan) -> Frozen:
    """Inputs of the law, reduced to what the student and the teacher see of them."""
    teacher = plan.teacher
    assert teacher is not None
    shape = (teacher.values.shape[1], problem.inputs, teacher.scores.shape[0])
    inputs = draw_inputs(stream(key, "test"), problem.law, shape)
    mapped = jnp.einsum("mf,fnt->mnt", teacher.values, inputs)
    inside = mapped @ (teacher.scores > 0).astype(mapped.dtype)
    outside = jnp.sum(mapped, axis=-1, keepdims=True) - inside
    target = activate(inside / problem.support_count, problem.negative_slope)
    free = jax.random.normal(stream(key, "noise"), target.shape)
    return Frozen(inside, outside, target, free, jnp.max(jnp.sum(jnp.mean(inputs**2, axis=1), axis=0)))


def student(task: Task, frozen: Frozen, value: Any, at: Pattern) -> Float[Array, "output sample token"]:
    """TF on the frozen inputs."""
    return activate(value * (at.score * frozen.inside + at.mass / task.rest * frozen.outside), task.slope)


def responses(
    problem: TransferSetting, task: Task, frozen: Frozen, value: Any, at: Pattern, difference: Array, distance: Any
) -> Float[Array, "output sample token"]:
    """Ỹ of the setting; `difference` is f* - TF and `distance` its root mean square Δ."""
    if problem.response == "independent":
        return frozen.free
    if problem.response == "teacher":
        return frozen.target + problem.noise * frozen.free
    if problem.response == "exact":
        return frozen.target + problem.budget * difference / distance
    # T5: ± sign(u_out) where u_out decides the sign of the difference; the printed sign is +
    ratio = jnp.abs(reduced.product_gap(task, value, at)) * task.rest / (value * at.mass)
    decided = jnp.abs(frozen.outside) >= jnp.maximum(2 * ratio * jnp.abs(frozen.inside), 1.0)
    sign = 1.0 if problem.response == "worst_printed" else -1.0
    return frozen.target + sign * jnp.sign(frozen.outside) * decided


@piece("response", "inputs")
def measure(problem: TransferSetting, plan: Plan, frozen: Frozen) -> dict[str, Array]:
    """Losses on the frozen data at every record."""
    task, path = task_of(problem, plan), plan.path
    assert path is not None
    count = problem.inputs
    # sums over blocks of samples that fit into the cache
    size = math.gcd(count, BLOCK)
    cut = lambda whole: jnp.moveaxis(whole.reshape(whole.shape[0], count // size, size, -1), 1, 0)  # noqa: E731
    fields = ("inside", "outside", "target", "free")
    blocks = {name: cut(getattr(frozen, name)) for name in fields}
    square = lambda values: jnp.sum(values**2, axis=(0, 2))  # noqa: E731

    def total(terms: Callable[[Frozen], dict[str, Array]]) -> dict[str, Array]:
        each = jax.lax.map(lambda block: terms(frozen._replace(**block)), blocks)
        return {name: jnp.sum(sums, axis=0) / count for name, sums in each.items()}

    def at_record(state: Scalars) -> dict[str, Array]:
        at = reduced.pattern(task, reduced.gap(task, state))

        def gap_of(block: Frozen) -> dict[str, Array]:
            return {"square": jnp.sum(square(block.target - student(task, block, state.value, at)))}

        # the exact worst case needs Δ before it is a response
        distance = jnp.sqrt(total(gap_of)["square"]) if problem.response == "exact" else None

        def losses(block: Frozen) -> dict[str, Array]:
            answer = student(task, block, state.value, at)
            difference = block.target - answer
            given = responses(problem, task, block, state.value, at, difference, distance)
            halves, off = square(difference) / 2, square(given - block.target)
            return {
                "half_gap": jnp.sum(halves),
                "half_gap_square": jnp.sum(halves**2),
                "ood_excess": jnp.sum(square(given - answer) - off) / 2,
                "teacher_gap": jnp.sum(off),
                "given": jnp.sum(given**2, axis=(0, 1)),
            }

        found = total(losses)
        moment = jnp.maximum(frozen.input_moment, jnp.max(found.pop("given")))
        variance = found.pop("half_gap_square") - found["half_gap"] ** 2
        return found | {
            "half_gap_error": jnp.sqrt(jnp.maximum(variance, 0.0) / count),
            "moment": moment,
            "gap_bound": gap_bound(task, moment, state.value, at),
            "teacher_gap_bound": teacher_gap_bound(task, moment),
            "promise": epsilon_at(task, moment, PROMISED * plan.escape),
        }

    empty = jax.eval_shape(at_record, jax.tree.map(lambda leaf: leaf[0], path))
    absent = lambda state: {name: jnp.full(s.shape, jnp.nan, s.dtype) for name, s in empty.items()}  # noqa: E731
    return jax.lax.map(lambda record: jax.lax.cond(record[0] >= 0, at_record, absent, record[1]), (plan.at, path))


@piece("batch", "noise_draws")
def measure_noise(problem: TransferSetting, key: jax.Array, plan: Plan, frozen: Frozen) -> Array:
    """At 10³T*: the spread over noise draws of a batch's excess loss, over σ_ξ Δ_N / √N (T7)."""
    N, task = problem.batch, task_of(problem, plan)
    middle = jnp.argmin(jnp.abs(plan.at / (MIDDLE * plan.escape) - 1))
    state = jax.tree.map(lambda path: path[middle], plan.path)
    batch = frozen._replace(inside=frozen.inside[:, :N], outside=frozen.outside[:, :N])
    given = student(task, batch, state.value, reduced.pattern(task, reduced.gap(task, state)))
    target = frozen.target[:, :N]

    def excess(key: jax.Array) -> Array:
        labels = target + problem.noise * jax.random.normal(key, target.shape)
        return half_mean_square(labels - given) - half_mean_square(labels - target)

    drawn = jax.vmap(excess)(jax.random.split(jax.random.fold_in(stream(key, "noise"), 1), problem.noise_draws))
    distance = jnp.sqrt(2 * half_mean_square(target - given))
    return jnp.std(drawn, ddof=1) / (problem.noise * distance / math.sqrt(N))


@piece("law", "features")
def formula(problem: TransferSetting, plan: Plan) -> Array:
    """½Δ² of T7 for κ = 1 and independent columns of mean μ and covariance Σ."""
    task, path, teacher = task_of(problem, plan), plan.path, plan.teacher
    assert path is not None
    assert teacher is not None
    mean, covariance = moments(problem.law, problem.features)
    at = reduced.pattern(task, reduced.gap(task, path))
    spread = jnp.einsum("mf,fg,mg->", teacher.values, covariance, teacher.values)
    shift = jnp.sum((teacher.values @ mean) ** 2)
    squares = task.support * reduced.product_gap(task, path.value, at) ** 2 + (path.value * at.mass) ** 2 / task.rest
    shifted = shift * (1 - path.value) ** 2
    return jnp.stack([task.tokens / 2 * (spread * squares + shifted), task.tokens / 2 * spread * squares], axis=-1)


R = ("record",)


@simulation(
    Variable("step", R, "t", "training step"),
    Variable("value", R, "C_1", "multiple of V*"),
    Variable("score", R, "p", "score on the supports"),
    Variable("mass", R, "δ", "mass of a column off its support"),
    Variable("ood_excess", R, "", "excess loss on the frozen data"),
    Variable("half_gap", R, "½Δ²", "half the mean squared distance of student and teacher"),
    Variable("half_gap_error", R, "", "standard error of ½Δ² over the inputs"),
    Variable("teacher_gap", R, "R²", "mean squared distance of responses and teacher"),
    Variable("moment", R, "ξ", "the larger of the second moments of inputs and responses"),
    Variable("gap_bound", R, "", "bound on Δ²"),
    Variable("teacher_gap_bound", R, "", "bound on R²"),
    Variable("promise", R, "ε", "the ε whose T_ε is 2·10³T*, at the second moments of this record"),
    Variable("formula", ("record", "terms"), "½Δ²", "its formula for κ = 1, with and without the term of the mean"),
    Variable("noise_ratio", (), "", "spread of a noisy batch's excess at 10³T* over σ_ξ Δ_N/√N"),
    *EVENTS,
    labels={"terms": ("all", "without_mean")},
    prepare=plan_transfer,
    precision="float64",
)
def transfer(problem: TransferSetting, key: jax.Array, prepared: Plan) -> dict[str, Array]:
    """The losses of the exact student on one law and response."""
    plan = jax.tree.map(jnp.asarray, prepared)
    task, path = task_of(problem, plan), plan.path
    assert path is not None
    at = reduced.pattern(task, reduced.gap(task, path))
    used = lambda values: jnp.where(plan.at >= 0, values, jnp.nan)  # noqa: E731
    frozen = draw_frozen(problem, key, plan)
    found = measure(problem, plan, frozen) | {"noise_ratio": measure_noise(problem, key, plan, frozen)}
    scalars = {"value": path.value, "score": at.score, "mass": at.mass, "formula": formula(problem, plan)}
    return found | scalars | events_of(problem, plan) | {"step": used(plan.at)}
