"""One run, by training or by the exact theory; every dynamics leaves the same variables.

`prepare` does the host work: the teacher, the times t_1 and T* of the exact dynamics, the steps of the records, and,
where the run is the exact theory itself, its path.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.teacher_student.bounds import noise_floor
from lemmata.theories.teacher_student.data import Sample, draw_sample
from lemmata.theories.teacher_student.dynamics import descent
from lemmata.theories.teacher_student.dynamics.follow import event_steps, follow_recursion, record_steps
from lemmata.theories.teacher_student.dynamics.limit import follow_limit
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, from_gap, task_of
from lemmata.theories.teacher_student.network import half_mean_square, respond
from lemmata.theories.teacher_student.probes import cosine, reduced_probe
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher, make_teacher, value_matrix

R = ("record",)
SCALARS = (
    lm.Variable("value", R, "C_1", "component of W_V along V*"),
    lm.Variable("support_logit", R, "C_2", "mean logit on the supports"),
    lm.Variable("rest_logit", R, "C_3", "minus the mean logit off the supports"),
    lm.Variable("gap", R, "c", "gap of the logits between support and rest"),
    lm.Variable("score", R, "p", "mean score on the supports"),
    lm.Variable("mass", R, "δ", "mean mass of a column off its support"),
    lm.Variable("odds", R, "o", "mass off the support over mass on it"),
    lm.Variable("quasi_scale", R, "C_1*", "minimiser over C_1 at this p"),
    lm.Variable("deviation", R, "α", "deviation of C_1 from C_1* in the proof's unit (absent at p = 1/D)", True),
    lm.Variable("excess", R, "L - L_opt", "excess loss, closed form (absent where attention sees inputs)", True),
    lm.Variable("score_error", R, "‖S - S*‖_F", "error of the scores"),
    lm.Variable("value_error", R, "‖W_V - V*‖/‖V*‖", "relative error of the values"),
    lm.Variable("cosine", R, "cos(W_V, V*)", "cosine of values and their target"),
    lm.Variable("row_cosine", R, "", "the least cosine of a row of W_V with its target"),
    lm.Variable("off_values", R, "max|W_V - C_1V*|", "distance of the values from the pattern"),
    lm.Variable("off_scores", R, "max|S - pattern|", "distance of the scores from the pattern"),
    lm.Variable("support_spread", R, "", "largest minus smallest score on the supports"),
    lm.Variable("rest_spread", R, "", "largest minus smallest score off the supports"),
)
# no variable is called like a field of the setting, which may be an axis
EVENTS = (
    lm.Variable("token_count", (), "D", "tokens"),
    lm.Variable("support_count", (), "K", "tokens that an output column averages"),
    lm.Variable("slope", (), "κ", "slope of σ below 0"),
    lm.Variable("eta", (), "η", "step size"),
    lm.Variable("squared_norm", (), "‖V*‖²", "squared norm of the teacher's values"),
    lm.Variable("row_norms", (), "Σ‖v_m*‖", "sum of the norms of the teacher's rows"),
    lm.Variable("separation", (), "χ", "‖V*‖²/(KD²), small where phases 1 and 2 are separated"),
    lm.Variable("fitted_step", (), "t_1", "first step of the exact dynamics with C_1 ≥ 0.95 C_1*"),
    lm.Variable("escape_step", (), "T*", "first step of the exact dynamics with p ≥ 1/(2K)"),
)
NOISE_FLOOR = lm.Variable("noise_floor", (), "", "estimate of the excess loss at which online SGD settles")
WORST = (
    lm.Variable("worst_values", (), "", "largest distance of W_V from the recursion's C_1V* at any step", True),
    lm.Variable("worst_scores", (), "", "largest distance of S from the recursion's matrix of two values", True),
)
OUTPUTS = (
    lm.Variable("batch_excess", R, "", "clean excess loss on a fixed Gaussian batch"),
    lm.Variable("rolled_cosine", R, "", "cosine of W_V with V* whose columns are rolled by one, a control"),
    lm.Variable("ood_batch", R, "", "excess loss on a fixed noisy batch of exponential inputs"),
    lm.Variable("ood_clean", R, "½Δ²", "half the mean squared distance of student and teacher on that batch"),
    lm.Variable("part_norm", ("record", "part"), "", "norms of the blocks of W_V and W_KQ over [X; P]"),
    lm.Variable("score_map", ("key_token", "query_token"), "S", "scores at the last step", True),
    lm.Variable("target_map", ("key_token", "query_token"), "S*", "scores of the teacher", True),
)
Schedule = Callable[[float, float], np.ndarray]
Answer = Callable[[Any, Float[Array, "feature sample token"]], Float[Array, "output sample token"]]


class Prepared(NamedTuple):
    """What a run starts from. `at`: the steps of the records, -1 where one is not used.

    The teacher is absent where the exact dynamics need no matrices. `path` has the exact dynamics at the records, and
    `diverged` is 1 if they left the finite numbers.
    """

    teacher: Teacher | None
    events: dict[str, Float[Any, ""]]
    noise_floor: Float[Any, ""]
    at: Float[Any, " record"]
    path: Scalars | None
    diverged: Float[Any, ""]


def prepare(setting: Setting, seed: int, schedule: Schedule | None = None) -> Prepared:
    """The host work of one run. The exact dynamics are followed here, in float64 whatever the run is in.

    `schedule` gives the times of the records from t_1 and T*; without one they are those of the setting. Matrices of
    the teacher are made where something reads them: a reduced run of 10⁴ tokens has no room for them.
    """
    matrices = setting.dynamics in ("population", "online") or setting.track == "outputs" or schedule is not None
    values = value_matrix(setting, seed)
    strength = float(np.sum(values**2))
    task = task_of(setting, strength)
    fitted, escape = event_steps(task)
    at = record_steps(setting, task, escape) if schedule is None else schedule(fitted, escape)
    start, trained = (setting.start_scale, setting.start_gap), (setting.train_values, setting.train_attention)
    path, diverged = None, 0.0
    if setting.dynamics == "limit":
        limit = follow_limit(task, at[at >= 0], start, trained)
        unused = ((0, 0), (0, len(at) - len(limit.gap)))
        path = from_gap(task, *np.pad([limit.value, limit.gap], unused, constant_values=np.nan))
    elif setting.dynamics == "recursion":
        with lm.numerics("float64"):
            run = follow_recursion(task, at.astype(np.int32), from_gap(task, *start), trained, setting.first_slope)
            path, diverged = Scalars(**jax.device_get(run.records)), float(run.diverged)
    row_norms = np.sum(np.linalg.norm(values, axis=1))
    events = (*task[:2], task.slope, task.step_size, strength, row_norms, task.separation, fitted, escape)
    sizes = setting.outputs, setting.dimension, setting.batch, setting.label_noise
    return Prepared(
        make_teacher(setting, seed) if matrices else None,
        {event.name: np.asarray(number, float) for event, number in zip(EVENTS, events, strict=True)},
        np.asarray(noise_floor(*sizes, **dict(zip(Task._fields[:5], task[:5], strict=True)))),
        at.astype(float),
        path,
        np.asarray(diverged),
    )


def clean_sample(problem: Setting, key: jax.Array, teacher: Teacher) -> Sample:
    """The fixed Gaussian test data."""
    clean_key = jax.random.split(lm.stream(key, "test"))[0]
    return draw_sample(clean_key, teacher, problem.test_samples, problem.negative_slope, 0.0)


def output_probe(
    problem: Setting, key: jax.Array, teacher: Teacher, answer: Answer, values: Callable[[Any], Array]
) -> Callable[[Any], dict[str, Array]]:
    """A probe of outputs on fixed test data; `answer(state, inputs)` is the student's, `values(state)` its W_V."""
    slope, clean = problem.negative_slope, clean_sample(problem, key, teacher)
    shifted_key = jax.random.split(lm.stream(key, "test"))[1]
    shifted = draw_sample(shifted_key, teacher, problem.test_samples, slope, problem.label_noise, "exponential")
    target = respond(teacher.values, teacher.scores, shifted.inputs, slope)
    rolled = jnp.roll(teacher.values, 1, axis=1)

    def probe(state: Any) -> dict[str, Array]:
        given = answer(state, shifted.inputs)
        return {
            "batch_excess": half_mean_square(answer(state, clean.inputs) - clean.labels),
            "rolled_cosine": cosine(values(state), rolled),
            "ood_batch": half_mean_square(shifted.labels - given) - half_mean_square(shifted.labels - target),
            "ood_clean": half_mean_square(target - given),
        }

    return probe


def _maps(problem: Setting, teacher: Teacher, scores: Array) -> dict[str, Array]:
    """S and S*, each in a corner of a matrix of `map_room` rows."""
    room, used = jnp.full((problem.map_room,) * 2, jnp.nan), slice(len(scores))
    return {"score_map": room.at[used, used].set(scores), "target_map": room.at[used, used].set(teacher.scores)}


def _part_norms(values: Array, attention: Array) -> Float[Array, "*record part"]:
    """The norms of the blocks of a student that has W_V^x and W^pp only."""
    norms = {"values_x": values, "pp": attention}
    return jnp.stack([norms.get(name, jnp.zeros_like(values)) for name in descent.PARTS], axis=-1)


def choose_dynamics(problem: Setting, key: jax.Array, prepared: Prepared, given: Any = None) -> descent.Dynamics:
    """Population gradient descent or online SGD, from the setting's start or from given weights."""
    teacher, task = prepared.teacher, task_of(problem, prepared.events["squared_norm"])
    assert teacher is not None
    if problem.dynamics == "online":
        return descent.online(problem, key, task, teacher, given)
    return descent.population(problem, task, teacher, given)


@lm.piece("dynamics", "student", "track", "batch", "test_samples", "map_room")
def train(problem: Setting, key: jax.Array, prepared: Prepared, given: Any = None) -> tuple[dict[str, Array], Any, Any]:
    """Population gradient descent or online SGD in full matrices, from `given` weights; with the first and last."""
    teacher, moving = prepared.teacher, choose_dynamics(problem, key, prepared, given)
    assert teacher is not None

    def answer(state: Any, inputs: Array) -> Array:
        if problem.dynamics == "online":
            return descent.answer(problem, teacher, state.parameters, inputs)
        return respond(*moving.matrices(state), inputs, problem.negative_slope)

    outputs = None
    if problem.track == "outputs":
        outputs = output_probe(problem, key, teacher, answer, lambda state: moving.matrices(state)[0])

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        probed = moving.probe(state) | ({} if outputs is None else outputs(state))
        if outputs is not None and problem.dynamics == "population":
            probed["part_norm"] = _part_norms(*(jnp.linalg.norm(matrix) for matrix in state.weights))
        return probed

    run = lm.loop(moving.step, moving.start, probe, prepared.at.astype(jnp.int32))
    results = run.results() | {f"worst_{name}": off for name, off in moving.worst(run.state).items()}
    if outputs is not None:
        results |= _maps(problem, teacher, moving.matrices(run.state)[1])
    return results, moving.weights(moving.start), moving.weights(run.state)


@lm.piece("track", "test_samples", "map_room")
def follow(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """The exact dynamics along the path that `prepare` found, seen through the same probes."""
    task, states = task_of(problem, prepared.events["squared_norm"]), prepared.path
    assert states is not None
    results = jax.vmap(lambda state: reduced_probe(task, state))(states)
    if (teacher := prepared.teacher) is not None and problem.track == "outputs":

        def answer(state: Scalars, inputs: Array) -> Array:
            return respond(*descent.reduced_matrices(task, teacher, state), inputs, problem.negative_slope)

        probe = output_probe(problem, key, teacher, answer, lambda state: state.value * teacher.values)
        results |= jax.lax.map(probe, states)
        used = jnp.sum(prepared.at >= 0)
        last = jax.tree.map(lambda path: jnp.asarray(path)[used - 1], states)
        results |= _maps(problem, teacher, descent.reduced_matrices(task, teacher, last)[1])
        inside = (teacher.scores > 0).astype(teacher.scores.dtype)
        norms = [jnp.linalg.norm(matrix) for matrix in (teacher.values, inside, 1 - inside)]
        logits = jnp.sqrt((states.support * norms[1]) ** 2 + (states.rest * norms[2]) ** 2)
        results["part_norm"] = _part_norms(jnp.abs(states.value) * norms[0], logits)
    step = jnp.where(jnp.isfinite(states.value), prepared.at, jnp.nan)
    flags = {"step": step, "last_step": jnp.nanmax(step), "diverged": prepared.diverged}
    return results | flags | {"worst_values": jnp.zeros(()), "worst_scores": jnp.zeros(())}


VARIABLES = (*lm.RUN, *SCALARS, *EVENTS, NOISE_FLOOR, *WORST, *OUTPUTS)


@lm.simulation(*VARIABLES, labels={"part": descent.PARTS}, prepare=prepare, precision="float64")
def simulate(problem: Setting, key: jax.Array, prepared: Prepared) -> dict[str, Array]:
    """One run: its records and event times, and with track=outputs what it answers on test data."""
    teacher = prepared.teacher
    lm.keep(teacher=teacher)
    if problem.dynamics in ("recursion", "limit"):
        results = follow(problem, key, prepared)
        lm.keep(path=prepared.path)
    else:
        assert teacher is not None

        def initial() -> Any:
            moving = choose_dynamics(problem, key, prepared)
            return moving.weights(moving.start)

        given = lm.starting(None, like=initial)
        results, first, last = train(problem, key, prepared, given)
        lm.keep(initial=first, network=last, test=lambda: clean_sample(problem, key, teacher))
    return results | prepared.events | {"noise_floor": prepared.noise_floor}
