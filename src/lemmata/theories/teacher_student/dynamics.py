"""Training in one form: where a run starts, one step, its scalars, its probes. Here on the exact population loss.

The exact theory (the recursion and its continuous limit) is a path known beforehand, see `plan`; it leaves the same
records, so that any figure shows one beside the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.lab.setting import Problem
from lemmata.theories.teacher_student import reduced
from lemmata.theories.teacher_student.network import Weights, position_scores
from lemmata.theories.teacher_student.plan import Plan
from lemmata.theories.teacher_student.population import population_gradient
from lemmata.theories.teacher_student.probes import (
    matrix_probe,
    off_pattern,
    pattern_matrix,
    read_scalars,
)
from lemmata.theories.teacher_student.reduced import Scalars, Task
from lemmata.theories.teacher_student.teachers import Teacher


class Dynamics(NamedTuple):
    """Training in full matrices: start and step, and what is read off a state."""

    start: Any
    step: Callable[[Any, Any], Any]
    scalars: Callable[[Any], Scalars]
    probe: Callable[[Any], dict[str, Array]]
    matrices: Callable[[Any], tuple[Array, Array]]
    """W_V and S"""
    worst: Callable[[Any], dict[str, Array]]
    """the largest distances of values and scores from the pattern at any step before this one"""


class Descending(NamedTuple):
    """The state of population gradient descent: weights, and how far they ever were from the pattern."""

    weights: Weights
    off_values: Float[Array, ""]
    off_scores: Float[Array, ""]


def task_of(problem: Problem, plan: Plan) -> Task:
    """The reduced problem of a run."""
    return Task(
        problem.token_count, problem.support_count, plan.strength, problem.negative_slope,
        problem.step_size, problem.temperature,
    )  # fmt: skip


def reduced_matrices(task: Task, teacher: Teacher, state: Scalars) -> tuple[Array, Array]:
    """C_1 V* and the matrix of two values that a reduced state stands for."""
    at = reduced.pattern(task, reduced.gap(task, state))
    return state.value * teacher.values, pattern_matrix(task, teacher, at.score, at.mass)


def start_weights(problem: Problem, task: Task, teacher: Teacher) -> Weights:
    """C_1(0) V* and the W_KQ with the initial gap of the logits: zero unless asked for."""
    state = reduced.from_gap(task, problem.start_scale, problem.start_gap)
    logits = jnp.where(teacher.scores > 0, state.support, -state.rest)
    attention = teacher.positions @ logits @ teacher.positions.T
    return Weights(problem.start_scale * teacher.values, attention)


def population(problem: Problem, plan: Plan) -> Dynamics:
    """Gradient descent on the exact population loss, in full matrices."""
    teacher = plan.teacher
    assert teacher is not None
    task = task_of(problem, plan)
    over = "rows" if problem.softmax_rows else "columns"
    kink = problem.kink if problem.start == "slope" else None
    scores_of = lambda weights: position_scores(  # noqa: E731
        weights.attention, teacher.positions, problem.temperature, over
    )

    def step(t: Any, state: Descending) -> Descending:
        weights = state.weights
        scores = scores_of(weights)
        gradient = population_gradient(teacher, weights, scores, task.slope, problem.temperature, over, kink)
        moved = Weights(
            weights.values - problem.train_values * problem.step_size * gradient.values,
            weights.attention - problem.train_attention * problem.step_size * gradient.attention,
        )
        worst = off_pattern(task, teacher, weights.values, scores)
        return Descending(moved, jnp.maximum(state.off_values, worst[0]), jnp.maximum(state.off_scores, worst[1]))

    zero = jnp.zeros(())
    return Dynamics(
        Descending(start_weights(problem, task, teacher), zero, zero),
        step,
        lambda state: read_scalars(task, teacher, state.weights.values, state.weights.attention),
        lambda state: matrix_probe(task, teacher, state.weights, scores_of(state.weights)),
        lambda state: (state.weights.values, scores_of(state.weights)),
        lambda state: {"values": state.off_values, "scores": state.off_scores},
    )
