"""Out of distribution (T4 to T7, row B): test inputs and responses, and what the exact student loses on them.

The student is on its pattern, so that its outputs follow from two sums per entry, u_in over the support of column i
and u_out over the rest: TF = σ(C_1 (p u_in + δ u_out / (D - K))), f* = σ(u_in / K).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.teacher_student.bounds import epsilon_at, gap_bound, teacher_gap_bound
from lemmata.theories.teacher_student.data import draw_inputs
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.reduced import Pattern, Scalars, Task, task_of
from lemmata.theories.teacher_student.network import activate, half_mean_square
from lemmata.theories.teacher_student.training import EVENTS, SCALARS, Prepared, prepare
from lemmata.theories.teacher_student.transfer.setting import RESPONSES, TransferSetting

LATE = (1e2, 1e4)
"""The window of the late laws, in units of T*."""
MIDDLE, PROMISED = 1e3, 2e3
"""Where the noise of a batch is measured, and the T_ε for which ε is chosen, in units of T*."""
EARLY_RECORDS, LATE_RECORDS = 30, 20
RECORD_ROOM = EARLY_RECORDS + LATE_RECORDS + 7
"""For both windows, the start, t_1, T*, and four multiples of it."""
R = ("record",)


class Frozen(NamedTuple):
    """Test data that are the same at all times: the two sums, the teacher's answers, noise and free responses."""

    inside: Float[Array, "output sample token"]
    outside: Float[Array, "output sample token"]
    target: Float[Array, "output sample token"]
    free: Float[Array, "output sample token"]
    input_moment: Float[Array, ""]


@lm.piece("test_inputs", once=True)
def draw_frozen(problem: TransferSetting, key: jax.Array, prepared: Prepared) -> Frozen:
    """Inputs of the law, reduced to what the student and the teacher see of them."""
    teacher = prepared.teacher
    assert teacher is not None
    shape = (teacher.values.shape[1], problem.test_inputs, teacher.scores.shape[0])
    inputs = draw_inputs(lm.stream(key, "test"), problem.law_number, shape)
    mapped = jnp.einsum("mf,fnt->mnt", teacher.values, inputs)
    inside = mapped @ (teacher.scores > 0).astype(mapped.dtype)
    outside = jnp.sum(mapped, axis=-1, keepdims=True) - inside
    target = activate(inside / problem.support_count, problem.negative_slope)
    free = jax.random.normal(lm.stream(key, "noise"), target.shape)
    return Frozen(inside, outside, target, free, jnp.max(jnp.sum(jnp.mean(inputs**2, axis=1), axis=0)))


def student(task: Task, frozen: Frozen, value: Any, at: Pattern) -> Float[Array, "output sample token"]:
    """TF on the frozen inputs."""
    return activate(value * (at.score * frozen.inside + at.mass / task.rest * frozen.outside), task.slope)


def responses(
    problem: TransferSetting, task: Task, frozen: Frozen, value: Any, at: Pattern, difference: Array, distance: Any
) -> Float[Array, "output sample token"]:
    """Ỹ of the setting; `difference` is f* - TF and `distance` its root mean square Δ."""

    def worst(sign: float) -> Array:
        """T5: ± sign(u_out) where u_out decides the sign of the difference; the printed sign is +."""
        ratio = jnp.abs(reduced.product_gap(task, value, at)) * task.rest / (value * at.mass)
        decided = jnp.abs(frozen.outside) >= jnp.maximum(2 * ratio * jnp.abs(frozen.inside), 1.0)
        return frozen.target + sign * jnp.sign(frozen.outside) * decided

    given = {
        "teacher": lambda: frozen.target + problem.label_noise * frozen.free,
        "independent": lambda: frozen.free,
        "worst": lambda: worst(-1.0),
        "worst_printed": lambda: worst(1.0),
        "exact": lambda: frozen.target + problem.budget * difference / distance,
    }
    return jax.lax.switch(problem.response_number, [given[name] for name in RESPONSES])


def prepare_student(setting: TransferSetting, seed: int) -> Prepared:
    """The exact student at the times that the claims look at."""

    def schedule(fitted: float, escape: float) -> Float[np.ndarray, " record"]:
        times = escape * np.asarray([1.0, LATE[0], MIDDLE, PROMISED, LATE[1]])
        if setting.whole_path:
            early = np.geomspace(fitted / 10, LATE[0] * escape, EARLY_RECORDS)
            times = np.concatenate([times, [fitted], early, escape * np.geomspace(*LATE, LATE_RECORDS)])
        # times that agree but for rounding are one
        times = np.unique(np.concatenate([[0.0], np.round(times, 6)]))
        return np.pad(times, (0, RECORD_ROOM - len(times)), constant_values=-1)

    return prepare(setting, seed, schedule)


@lm.piece("test_inputs")
def measure(problem: TransferSetting, prepared: Prepared, frozen: Frozen) -> dict[str, Array]:
    """The student, its losses on the frozen data and their formula at every record."""
    task, path = task_of(problem, prepared.events["squared_norm"]), prepared.path
    assert path is not None
    count = problem.test_inputs
    # sums over blocks of samples that fit into the cache
    size = math.gcd(count, 500)
    blocks = {
        name: jnp.moveaxis(whole.reshape(whole.shape[0], count // size, size, -1), 1, 0)
        for name, whole in frozen._asdict().items()
        if name != "input_moment"
    }

    def square(values: Array) -> Array:
        return jnp.sum(values**2, axis=(0, 2))

    def total(terms: Callable[[Frozen], dict[str, Array]]) -> dict[str, Array]:
        each = jax.lax.map(lambda block: terms(frozen._replace(**block)), blocks)
        return {name: jnp.sum(sums, axis=0) / count for name, sums in each.items()}

    def at_record(state: Scalars) -> dict[str, Array]:
        at = reduced.pattern(task, reduced.gap(task, state))

        def gap_of(block: Frozen) -> dict[str, Array]:
            return {"square": jnp.sum(square(block.target - student(task, block, state.value, at)))}

        # the exact worst case needs Δ before it is a response
        exact = problem.response_number == RESPONSES.index("exact")
        distance = jax.lax.cond(exact, lambda: jnp.sqrt(total(gap_of)["square"]), lambda: jnp.ones(()))

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

        means = total(losses)
        moment = jnp.maximum(frozen.input_moment, jnp.max(means.pop("given")))
        variance = means.pop("half_gap_square") - means["half_gap"] ** 2
        return means | {
            "half_gap_error": jnp.sqrt(jnp.maximum(variance, 0.0) / count),
            "moment": moment,
            "gap_bound": gap_bound(task, moment, state.value, at),
            "teacher_gap_bound": teacher_gap_bound(task, moment),
            "promise": epsilon_at(task, moment, PROMISED * prepared.events["escape_step"]),
        }

    empty = jax.eval_shape(at_record, jax.tree.map(lambda leaf: leaf[0], path))
    absent = {name: jnp.full(s.shape, jnp.nan, s.dtype) for name, s in empty.items()}
    losses = jax.lax.map(
        lambda record: jax.lax.cond(record[0] >= 0, at_record, lambda state: absent, record[1]), (prepared.at, path)
    )
    at = reduced.pattern(task, reduced.gap(task, path))
    scalars = {"value": path.value, "score": at.score, "mass": at.mass, "formula": formula(problem, prepared, at)}
    return losses | scalars | {"step": jnp.where(prepared.at >= 0, prepared.at, jnp.nan)}


@lm.piece("batch", "noise_draws")
def measure_noise(problem: TransferSetting, key: jax.Array, prepared: Prepared, frozen: Frozen) -> Array:
    """At 10³T*: the spread over noise draws of a batch's excess loss, over σ_ξ Δ_N / √N (T7)."""
    N, events = problem.batch, prepared.events
    task = task_of(problem, events["squared_norm"])
    middle = jnp.argmin(jnp.abs(prepared.at / (MIDDLE * events["escape_step"]) - 1))
    state = jax.tree.map(lambda path: path[middle], prepared.path)
    batch = frozen._replace(inside=frozen.inside[:, :N], outside=frozen.outside[:, :N])
    given = student(task, batch, state.value, reduced.pattern(task, reduced.gap(task, state)))
    target = frozen.target[:, :N]

    def excess(key: jax.Array) -> Array:
        labels = target + problem.label_noise * jax.random.normal(key, target.shape)
        return half_mean_square(labels - given) - half_mean_square(labels - target)

    drawn = jax.vmap(excess)(jax.random.split(jax.random.fold_in(lm.stream(key, "noise"), 1), problem.noise_draws))
    distance = jnp.sqrt(2 * half_mean_square(target - given))
    return jnp.std(drawn, ddof=1) / (problem.label_noise * distance / math.sqrt(N))


def formula(problem: TransferSetting, prepared: Prepared, at: Pattern) -> Float[Array, "record terms"]:
    """½Δ² of T7 for κ = 1 and independent columns of mean μ and covariance Σ."""
    task, path, teacher = task_of(problem, prepared.events["squared_norm"]), prepared.path, prepared.teacher
    assert path is not None
    assert teacher is not None
    spread = jnp.einsum("mf,fg,mg->", teacher.values, problem.law_covariance, teacher.values)
    shift = jnp.sum((teacher.values @ problem.law_mean) ** 2)
    squares = task.support * reduced.product_gap(task, path.value, at) ** 2 + (path.value * at.mass) ** 2 / task.rest
    shifted = shift * (1 - path.value) ** 2
    return jnp.stack([task.tokens / 2 * (spread * squares + shifted), task.tokens / 2 * spread * squares], axis=-1)


@lm.simulation(
    lm.Variable("step", R, "t", "training step"),
    *(variable for variable in SCALARS if variable.name in ("value", "score", "mass")),
    lm.Variable("ood_excess", R, "", "excess loss on the frozen data"),
    lm.Variable("half_gap", R, "½Δ²", "half the mean squared distance of student and teacher"),
    lm.Variable("half_gap_error", R, "", "standard error of ½Δ² over the inputs"),
    lm.Variable("teacher_gap", R, "R²", "mean squared distance of responses and teacher"),
    lm.Variable("moment", R, "ξ", "the larger of the second moments of inputs and responses"),
    lm.Variable("gap_bound", R, "", "bound on Δ²"),
    lm.Variable("teacher_gap_bound", R, "", "bound on R²"),
    lm.Variable("promise", R, "ε", "the ε whose T_ε is 2·10³T*, at the second moments of this record"),
    lm.Variable("formula", ("record", "terms"), "½Δ²", "its formula for κ = 1, with and without the term of the mean"),
    lm.Variable("noise_ratio", (), "", "spread of a noisy batch's excess at 10³T* over σ_ξ Δ_N/√N"),
    lm.Variable("pairs", (), "N", "pairs of that batch"),
    *EVENTS,
    labels={"terms": ("all", "without_mean")},
    prepare=prepare_student,
    precision="float64",
)
def simulate(problem: TransferSetting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """The losses of the exact student on one law and response."""
    frozen = draw_frozen(problem, key, prepared)
    losses = measure(problem, prepared, frozen)
    noise = {"noise_ratio": measure_noise(problem, key, prepared, frozen), "pairs": jnp.asarray(float(problem.batch))}
    return losses | noise | prepared.events
