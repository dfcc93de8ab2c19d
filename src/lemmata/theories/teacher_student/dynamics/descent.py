"""Training step by step: the recursion, and gradient descent on the population loss in full matrices.

A `Dynamics` says where a run starts, what one step does, and what is read off a state, so that online SGD (`online`)
and these two are trained by one loop and leave the same records. Where nothing but the records of the exact theory is
wanted, `training.prepare` follows it beforehand on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.population import population_gradient
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task
from lemmata.theories.teacher_student.network import Weights, position_scores
from lemmata.theories.teacher_student.probes import matrix_probe, pattern_matrix, read_scalars, reduced_probe
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher


class Dynamics(NamedTuple):
    """A run that is taken step by step: start and step, and what is read off a state.

    `matrices` are W_V and S, `weights` what is trained (the recursion has neither), `worst` the largest distances of
    values and scores from the recursion's at any step so far (online SGD is noisy, so they are not followed there).
    """

    start: Any
    step: Callable[[Any, Any], Any]
    scalars: Callable[[Any], Scalars]
    probe: Callable[[Any], dict[str, Array]]
    matrices: Any = None
    weights: Any = None
    worst: Callable[[Any], dict[str, Array]] = lambda state: dict.fromkeys(("values", "scores"), jnp.full((), jnp.nan))


class Descending(NamedTuple):
    """The state of population gradient descent: weights, the recursion beside them, how far they ever were apart."""

    weights: Weights
    exact: Scalars
    off_values: Float[Array, ""]
    off_scores: Float[Array, ""]


def reduced_matrices(task: Task, teacher: Teacher | None, state: Scalars) -> tuple[Array, Array]:
    """C_1 V* and the matrix of two values that a reduced state stands for."""
    assert teacher is not None, "a reduced run without track=outputs has no matrices"
    at = reduced.pattern(task, reduced.gap(task, state))
    return state.value * teacher.values, pattern_matrix(task, teacher, at.score, at.mass)


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
        lambda state: reduced_probe(task, state),
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
        off_values = jnp.maximum(state.off_values, jnp.max(jnp.abs(state.weights.values - values)))
        return state._replace(
            off_values=off_values, off_scores=jnp.maximum(state.off_scores, jnp.max(jnp.abs(scores - two)))
        )

    def step(t: Any, state: Descending) -> Descending:
        weights, scores = state.weights, scores_of(state.weights)
        turned = problem.softmax_rows
        gradient = population_gradient(teacher, weights, scores, task.slope, problem.temperature, turned, kink)
        moved = Weights(
            weights.values - trained[0] * problem.step_size * gradient.values,
            weights.attention - trained[1] * problem.step_size * gradient.attention,
        )
        return look(state, scores)._replace(weights=moved, exact=reduced.step(task, state.exact, trained, kink))

    def worst(state: Descending) -> dict[str, Array]:
        ever = look(state, scores_of(state.weights))
        return {"values": ever.off_values, "scores": ever.off_scores}

    zero = jnp.zeros(())
    exact = start_scalars(problem, task) if given is None else read_scalars(task, teacher, *given)
    return Dynamics(
        Descending(given or start_weights(problem, task, teacher), exact, zero, zero),
        step,
        lambda state: read_scalars(task, teacher, state.weights.values, state.weights.attention),
        lambda state: matrix_probe(task, teacher, state.weights, scores_of(state.weights)),
        lambda state: (state.weights.values, scores_of(state.weights)),
        lambda state: state.weights,
        worst,
    )
