"""Training step by step: the recursion, gradient descent on the population loss in full matrices, and online SGD (4.3).

A `Dynamics` says where a run starts, what one step does, and what is read off a state, so that all three are trained by
one loop and leave the same records. Online SGD draws a fresh batch at every step; the position-only student moves by
Lemma C.1, the others by autodiff. Where nothing but the records of the exact theory is wanted, `training.prepare`
follows it beforehand on the host.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.teacher_student import network, probes
from lemmata.theories.teacher_student.data import Sample, draw_sample
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.population import population_gradient
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task
from lemmata.theories.teacher_student.network import Factored, Weights, position_scores
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher

PARTS = ("values_x", "values_p", "xx", "xp", "px", "pp")
"""The blocks of W_V and W_KQ over Z = [X; P]."""


class Dynamics(NamedTuple):
    """A run that is taken step by step: start and step, and what is read off a state.

    `matrices` are W_V and S, `weights` what is trained, `worst` the largest distances of values and scores from the
    recursion's at any step so far (which are not followed where noise drives the run).
    """

    start: Any
    step: Callable[[Any, Any], Any]
    scalars: Callable[[Any], Scalars]
    probe: Callable[[Any], dict[str, Array]]
    matrices: Callable[[Any], tuple[Array, Array]]
    weights: Callable[[Any], Any]
    worst: Callable[[Any], dict[str, Array]] = lambda state: {k: jnp.full((), jnp.nan) for k in ("values", "scores")}


class Descending(NamedTuple):
    """The state of population gradient descent: weights, the recursion beside them, how far they ever were apart."""

    weights: Weights
    exact: Scalars
    apart: dict[str, Float[Array, ""]]


def reduced_matrices(task: Task, teacher: Teacher | None, state: Scalars) -> tuple[Array, Array]:
    """C_1 V* and the matrix of two values that a reduced state stands for."""
    assert teacher is not None, "a reduced run without track=outputs has no matrices"
    at = reduced.pattern(task, reduced.gap(task, state))
    return state.value * teacher.values, probes.pattern_matrix(task, teacher, at.score, at.mass)


def start_scalars(problem: Setting, task: Task) -> Scalars:
    """C_1, C_2, C_3 at the start: zero unless asked for."""
    return Scalars(*(jnp.asarray(c, float) for c in reduced.from_gap(task, problem.start_scale, problem.start_gap)))


def recursion(problem: Setting, task: Task) -> Dynamics:
    """The exact recursion of (C_1, C_2, C_3), step by step; it has no matrices."""
    trained = problem.train_values, problem.train_attention
    return Dynamics(
        start_scalars(problem, task),
        lambda t, state: reduced.step(task, state, trained, problem.first_slope),
        lambda state: state,
        lambda state: probes.reduced_probe(task, state),
        lambda state: reduced_matrices(task, None, state),
        lambda state: state,
    )


def start_weights(problem: Setting, task: Task, teacher: Teacher) -> Weights:
    """C_1(0) V* and the W_KQ with the initial gap of the logits: zero unless asked for."""
    state = start_scalars(problem, task)
    logits = jnp.where(teacher.scores > 0, state.support, -state.rest)
    attention = teacher.positions @ logits @ teacher.positions.T
    return Weights(problem.start_scale * teacher.values, attention)


def population(problem: Setting, task: Task, teacher: Teacher, given: Weights | None = None) -> Dynamics:
    """Gradient descent on the exact population loss, in full matrices, from the setting's start or given weights."""
    trained, kink = (problem.train_values, problem.train_attention), problem.first_slope

    def scores_of(weights: Weights) -> Array:
        return position_scores(weights.attention, teacher.positions, problem.temperature, problem.softmax_rows)

    def look(state: Descending, scores: Array) -> Descending:
        """The state with its distance from C_1V* and the matrix of two values of the recursion."""
        values, two = reduced_matrices(task, teacher, state.exact)
        off = {"values": state.weights.values - values, "scores": scores - two}
        return state._replace(apart={k: jnp.maximum(state.apart[k], jnp.max(jnp.abs(off[k]))) for k in off})

    def step(t: Any, state: Descending) -> Descending:
        weights, scores = state.weights, scores_of(state.weights)
        turned = problem.softmax_rows
        gradient = population_gradient(teacher, weights, scores, task.slope, problem.temperature, turned, kink)
        paces = (on * problem.step_size for on in trained)
        moved = Weights(*(w - pace * g for w, pace, g in zip(weights, paces, gradient, strict=True)))
        return look(state, scores)._replace(weights=moved, exact=reduced.step(task, state.exact, trained, kink))

    exact = start_scalars(problem, task) if given is None else probes.read_scalars(task, teacher, *given)
    never = {name: jnp.zeros(()) for name in ("values", "scores")}
    return Dynamics(
        Descending(given or start_weights(problem, task, teacher), exact, never),
        step,
        lambda state: probes.read_scalars(task, teacher, state.weights.values, state.weights.attention),
        lambda state: probes.matrix_probe(task, teacher, state.weights, scores_of(state.weights)),
        lambda state: (state.weights.values, scores_of(state.weights)),
        lambda state: state.weights,
        lambda state: look(state, scores_of(state.weights)).apart,
    )


def initial(problem: Setting, key: jax.Array, teacher: Teacher, start: Weights) -> Any:
    """Gaussian weights of the chosen student around the start of the theory."""
    (outputs, features), positions = teacher.values.shape, teacher.positions.shape[0]
    wide = problem.student in ("full", "standard")
    values, attention = (outputs, features + wide * positions), (wide * features + positions,) * 2
    kind = Factored if problem.student in ("standard", "factored") else Weights
    keys = jax.random.split(key, len(kind._fields))
    drawn = [problem.initial_scale * jax.random.normal(k, attention if i else values) for i, k in enumerate(keys)]
    if problem.student == "position":
        return Weights(start.values + drawn[0], start.attention + drawn[1])
    return kind(*drawn)


def attention_of(weights: Weights | Factored) -> Float[Array, "width width"]:
    return weights.attention if isinstance(weights, Weights) else weights.keys.T @ weights.queries


def whole(student: str, weights: Any, features: int) -> Weights:
    """W_V and W_KQ over Z = [X; P] of any student: position-only ones have zeros elsewhere."""
    attention = attention_of(weights)
    if student in ("full", "standard"):
        return Weights(weights.values, attention)
    values = jnp.pad(weights.values, ((0, 0), (0, len(attention))))
    return Weights(values, jnp.pad(attention, ((features, 0), (features, 0))))


def answer(problem: Setting, teacher: Teacher, weights: Any, inputs: Float[Array, "feature *batch token"]) -> Array:
    """The student's output."""
    positions, attention, bend = teacher.positions, attention_of(weights), (problem.negative_slope, problem.kink)
    if problem.student in ("position", "factored"):
        scores = position_scores(attention, positions, problem.temperature)
        return network.respond(weights.values, scores, inputs, *bend)
    both = network.concatenated(inputs, positions)
    return network.full_respond(Weights(weights.values, attention), both, *bend, problem.temperature)


def online(problem: Setting, key: jax.Array, task: Task, teacher: Teacher, given: Any = None) -> Dynamics:
    """Online SGD in the form of `descent`, from given weights if there are any; the state is that of `lab.training`."""
    features, bend = teacher.values.shape[1], (problem.negative_slope, problem.kink, problem.temperature)

    def sample(key: jax.Array) -> Sample:
        return draw_sample(key, teacher, problem.batch, problem.negative_slope, problem.label_noise)

    def closed_form(weights: Weights, batch: Sample) -> Weights:
        return network.batch_gradient(weights, teacher.positions, *batch, *bend)

    def loss(weights: Any, batch: Sample) -> Array:
        return network.half_mean_square(answer(problem, teacher, weights, batch.inputs) - batch.labels)

    weights = given or initial(problem, lm.stream(key, "init"), teacher, start_weights(problem, task, teacher))
    start, step = lm.descent(
        closed_form if problem.student == "position" else jax.grad(loss),
        optax.sgd(problem.step_size),
        lm.fresh(lm.stream(key, "batch"), sample),
        trainable=type(weights)(problem.train_values, *(problem.train_attention for _ in weights[1:])),
    )

    def position_part(state: Any) -> Weights:
        """W_V^x and W^pp, which are all of the position-only student."""
        both = whole(problem.student, state.parameters, features)
        return Weights(both.values[:, :features], both.attention[features:, features:])

    def matrices(state: Any) -> tuple[Array, Array]:
        values, attention = position_part(state)
        return values, position_scores(attention, teacher.positions, problem.temperature)

    def probe(state: Any) -> dict[str, Array]:
        probed = probes.matrix_probe(task, teacher, position_part(state), matrices(state)[1])
        if problem.student in ("full", "standard"):
            probed["excess"] = jnp.full((), jnp.nan)  # the closed form is that of the position-only student
        if problem.track == "scalars":
            return probed
        both = whole(problem.student, state.parameters, features)
        named = {"values_x": both.values[:, :features], "values_p": both.values[:, features:]}
        named |= network.blocks(both.attention, features)
        return probed | {"part_norm": jnp.stack([jnp.linalg.norm(named[part]) for part in PARTS])}

    return Dynamics(
        start(weights),
        step,
        lambda state: probes.read_scalars(task, teacher, *position_part(state)),
        probe,
        matrices,
        lambda state: state.parameters,
    )
