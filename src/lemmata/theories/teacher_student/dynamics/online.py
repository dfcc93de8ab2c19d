"""Online SGD (4.3): every step draws a fresh batch. The position-only student by Lemma C.1, the others by autodiff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.teacher_student import network
from lemmata.theories.teacher_student.data import Sample, draw_sample
from lemmata.theories.teacher_student.dynamics.descent import Dynamics, start_weights
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.network import Factored, Weights, position_scores
from lemmata.theories.teacher_student.probes import matrix_probe, read_scalars
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher

PARTS = ("values_x", "values_p", "xx", "xp", "px", "pp")
"""The blocks of W_V and W_KQ over Z = [X; P]."""


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
    return network.full_respond(weights.values, attention, both, *bend, problem.temperature)


def gradient_of(problem: Setting, teacher: Teacher) -> Callable[[Any, Sample], Any]:
    """The gradient of the batch mean of ½‖Y - TF‖²."""
    if problem.student == "position":
        bend = problem.negative_slope, problem.kink, problem.temperature
        return lambda weights, batch: network.batch_gradient(weights, teacher.positions, *batch, *bend)

    def loss(weights: Any, batch: Sample) -> Array:
        return network.half_mean_square(answer(problem, teacher, weights, batch.inputs) - batch.labels)

    return jax.grad(loss)


def online(problem: Setting, key: jax.Array, task: Task, teacher: Teacher, given: Any = None) -> Dynamics:
    """Online SGD in the form of `descent`, from given weights if there are any; the state is that of `lab.training`."""
    features = teacher.values.shape[1]

    def sample(key: jax.Array) -> Sample:
        return draw_sample(key, teacher, problem.batch, problem.negative_slope, problem.label_noise)

    weights = given or initial(problem, lm.stream(key, "init"), teacher, start_weights(problem, task, teacher))
    start, step = lm.descent(
        gradient_of(problem, teacher),
        optax.sgd(problem.step_size),
        lm.fresh(lm.stream(key, "batch"), sample),
        trainable=type(weights)(problem.train_values, *(problem.train_attention for _ in weights[1:])),
    )

    def position_part(state: Any) -> Weights:
        """W_V^x and W^pp, which are all of the position-only student."""
        both = whole(problem.student, state.parameters, features)
        return Weights(both.values[:, :features], both.attention[features:, features:])

    def scores_of(weights: Weights) -> Array:
        return position_scores(weights.attention, teacher.positions, problem.temperature)

    def probe(state: Any) -> dict[str, Array]:
        part = position_part(state)
        probed = matrix_probe(task, teacher, part, scores_of(part))
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
        lambda state: read_scalars(task, teacher, *position_part(state)),
        probe,
        lambda state: (position_part(state).values, scores_of(position_part(state))),
        lambda state: state.parameters,
    )
