"""One run, by training or by the exact theory; every dynamics leaves the same variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.lab.training import loop
from lemmata.theories.teacher_student import online
from lemmata.theories.teacher_student.bounds import noise_floor
from lemmata.theories.teacher_student.data import draw_sample
from lemmata.theories.teacher_student.dynamics import population, reduced_matrices, task_of
from lemmata.theories.teacher_student.network import half_mean_square, respond
from lemmata.theories.teacher_student.plan import Plan, make_plan
from lemmata.theories.teacher_student.probes import cosine, reduced_probe
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher

R = ("record",)
SCALARS = (
    Variable("step", R, "t", "training step"),
    Variable("value", R, "C_1", "component of W_V along V*"),
    Variable("support_logit", R, "C_2", "mean logit on the supports"),
    Variable("rest_logit", R, "C_3", "minus the mean logit off the supports"),
    Variable("gap", R, "c", "gap of the logits between support and rest"),
    Variable("score", R, "p", "mean score on the supports"),
    Variable("mass", R, "δ", "mean mass of a column off its support"),
    Variable("odds", R, "o", "mass off the support over mass on it"),
    Variable("quasi_scale", R, "C_1*", "minimiser over C_1 at this p"),
    Variable("deviation", R, "α", "deviation of C_1 from C_1* in the proof's unit (absent at p = 1/D)", True),
    Variable("excess", R, "L - L_opt", "excess loss, closed form (absent where attention sees inputs)", True),
    Variable("score_error", R, "‖S - S*‖_F", "error of the scores"),
    Variable("value_error", R, "‖W_V - V*‖/‖V*‖", "relative error of the values"),
    Variable("cosine", R, "cos(W_V, V*)", "cosine of values and their target"),
    Variable("row_cosine", R, "", "the least cosine of a row of W_V with its target"),
    Variable("off_values", R, "max|W_V - C_1V*|", "distance of the values from the pattern"),
    Variable("off_scores", R, "max|S - pattern|", "distance of the scores from the pattern"),
    Variable("support_spread", R, "", "largest minus smallest score on the supports"),
    Variable("rest_spread", R, "", "largest minus smallest score off the supports"),
)
# no variable is called like a field of the setting, which may be an axis
EVENTS = (
    Variable("token_count", (), "D", "tokens"),
    Variable("support_count", (), "K", "tokens that an output column averages"),
    Variable("slope", (), "κ", "slope of σ below 0"),
    Variable("eta", (), "η", "step size"),
    Variable("squared_norm", (), "‖V*‖²", "squared norm of the teacher's values"),
    Variable("row_norms", (), "Σ‖v_m*‖", "sum of the norms of the teacher's rows"),
    Variable("separation", (), "χ", "‖V*‖²/(KD²), small where phases 1 and 2 are separated"),
    Variable("fitted", (), "t_1", "first step of the exact dynamics with C_1 ≥ 0.95 C_1*"),
    Variable("escape", (), "T*", "first step of the exact dynamics with p ≥ 1/(2K)"),
)
DIVERGED = Variable("diverged", (), "", "1 if training left the finite numbers and was frozen")
FLOOR = Variable("floor", (), "", "estimate of the excess loss at which online SGD settles")
WORST = (
    Variable("worst_values", (), "", "largest distance of W_V from the recursion's C_1V* at any step", True),
    Variable("worst_scores", (), "", "largest distance of S from the recursion's matrix of two values", True),
)
OUTPUTS = (
    Variable("batch_excess", R, "", "clean excess loss on a fixed Gaussian batch"),
    Variable("rolled_cosine", R, "", "cosine of W_V with V* whose columns are rolled by one, a control"),
    Variable("ood_batch", R, "", "excess loss on a fixed noisy batch of exponential inputs"),
    Variable("ood_clean", R, "½Δ²", "half the mean squared distance of student and teacher on that batch"),
    Variable("part_norm", ("record", "part"), "", "norms of the blocks of W_V and W_KQ over [X; P]"),
    Variable("score_map", ("key_token", "query_token"), "S", "scores at the last step", True),
    Variable("target_map", ("key_token", "query_token"), "S*", "scores of the teacher", True),
)
Answer = Callable[[Any, Float[Array, "feature sample token"]], Float[Array, "output sample token"]]


def output_probe(
    problem: Setting, key: jax.Array, teacher: Teacher, answer: Answer, values: Callable[[Any], Array]
) -> Callable[[Any], dict[str, Array]]:
    """A probe of outputs on fixed test data; `answer(state, inputs)` is the student's, `values(state)` its W_V."""
    slope, samples = problem.negative_slope, problem.test_samples
    clean_key, shifted_key = jax.random.split(stream(key, "test"))
    clean = draw_sample(clean_key, teacher, samples, slope, 0.0)
    shifted = draw_sample(shifted_key, teacher, samples, slope, problem.noise, "exponential")
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
    put = lambda matrix: jnp.full((problem.map_room,) * 2, jnp.nan).at[: len(matrix), : len(matrix)].set(matrix)  # noqa: E731
    return {"score_map": put(scores), "target_map": put(teacher.scores)}


def _part_norms(values: Array, attention: Array) -> Float[Array, "*record part"]:
    """The norms of the blocks of a student that has W_V^x and W^pp only."""
    norms = {"values_x": values, "pp": attention}
    return jnp.stack([norms.get(name, jnp.zeros_like(values)) for name in online.PARTS], axis=-1)


@piece("dynamics", "student", "start", "softmax_rows", "track", "batch", "test_samples", "map_room")
def train(problem: Setting, key: jax.Array, plan: Plan) -> dict[str, Array]:
    """Population gradient descent or online SGD in full matrices."""
    teacher = plan.teacher
    assert teacher is not None
    if problem.dynamics == "online":
        moving = online.online(problem, key, plan)
        answer: Answer = lambda state, inputs: online.answer(problem, teacher, state.parameters, inputs)  # noqa: E731
    else:
        moving = population(problem, plan)
        answer = lambda state, inputs: respond(*moving.matrices(state), inputs, problem.negative_slope)  # noqa: E731
    outputs = None
    if problem.track == "outputs":
        outputs = output_probe(problem, key, teacher, answer, lambda state: moving.matrices(state)[0])

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        found = moving.probe(state) | ({} if outputs is None else outputs(state))
        if outputs is not None and problem.dynamics == "population":
            found["part_norm"] = _part_norms(*(jnp.linalg.norm(matrix) for matrix in state.weights))
        return found

    run = loop(moving.step, moving.start, probe, plan.at.astype(jnp.int32))
    found = run.records | {"step": run.step, "diverged": run.diverged}
    found |= {f"worst_{name}": off for name, off in moving.worst(run.state).items()}
    if outputs is not None:
        found |= _maps(problem, teacher, moving.matrices(run.state)[1])
    return found


@piece("track", "test_samples", "map_room")
def follow(problem: Setting, key: jax.Array, plan: Plan) -> dict[str, Array]:
    """The exact dynamics along the path of the plan, seen through the same probes."""
    task, states = task_of(problem, plan), plan.path
    assert states is not None
    found = jax.vmap(lambda state: reduced_probe(task, state))(states)
    if problem.track == "outputs":
        teacher = plan.teacher
        assert teacher is not None
        answer: Answer = lambda state, inputs: respond(  # noqa: E731
            *reduced_matrices(task, teacher, state), inputs, problem.negative_slope
        )
        values = lambda state: state.value * teacher.values  # noqa: E731
        found |= jax.lax.map(output_probe(problem, key, teacher, answer, values), states)
        used = jnp.sum(plan.at >= 0)
        last = jax.tree.map(lambda path: jnp.asarray(path)[used - 1], states)
        found |= _maps(problem, teacher, reduced_matrices(task, teacher, last)[1])
        inside = (teacher.scores > 0).astype(teacher.scores.dtype)
        norms = [jnp.linalg.norm(part) for part in (teacher.values, inside, 1 - inside)]
        logits = jnp.sqrt((states.support * norms[1]) ** 2 + (states.rest * norms[2]) ** 2)
        found["part_norm"] = _part_norms(jnp.abs(states.value) * norms[0], logits)
    sound = jnp.isfinite(states.value)
    nothing = jnp.zeros(())
    step = jnp.where(sound, plan.at, jnp.nan)
    return found | {"step": step, "diverged": plan.diverged, "worst_values": nothing, "worst_scores": nothing}


@simulation(
    *SCALARS, *EVENTS, FLOOR, DIVERGED, *WORST, *OUTPUTS,
    labels={"part": online.PARTS}, prepare=make_plan, precision="float64",
)  # fmt: skip
def simulate(problem: Setting, key: jax.Array, prepared: Plan) -> dict[str, Array]:
    """One run: its records and event times, and with track=outputs what it answers on test data."""
    plan = jax.tree.map(jnp.asarray, prepared)
    exact = problem.dynamics in ("recursion", "limit")
    found = events_of(problem, plan)
    floor = noise_floor(
        problem.outputs, problem.features, problem.batch, problem.noise, tokens=found["token_count"],
        support=found["support_count"], strength=plan.strength, slope=found["slope"], step_size=found["eta"],
    )  # fmt: skip
    return (follow if exact else train)(problem, key, plan) | found | {"floor": floor}


def events_of(problem: Setting, plan: Plan) -> dict[str, Array]:
    """What a plan says of a whole run."""
    real = plan.strength.dtype
    return {
        "token_count": jnp.asarray(problem.token_count, real),
        "support_count": jnp.asarray(problem.support_count, real),
        "slope": jnp.asarray(problem.negative_slope, real),
        "eta": jnp.asarray(problem.step_size, real),
        "squared_norm": plan.strength,
        "row_norms": plan.norms,
        "separation": task_of(problem, plan).separation,
        "fitted": plan.fitted,
        "escape": plan.escape,
    }
