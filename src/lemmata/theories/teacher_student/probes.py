"""What is recorded along a run (section 5), of full matrices and of the reduced dynamics alike."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.population import population_excess
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task
from lemmata.theories.teacher_student.network import Attention, Scores, Values, Weights
from lemmata.theories.teacher_student.teachers import Teacher


def read_scalars(task: Task, teacher: Teacher, values: Values, attention: Attention) -> Scalars:
    """C_1, C_2, C_3 of full matrices: the component of W_V along V*, means of P^T W_KQ P on and off the supports."""
    inside = teacher.scores > 0
    logits = teacher.positions.T @ attention @ teacher.positions
    on = jnp.sum(jnp.where(inside, logits, 0.0)) / jnp.sum(inside)
    off = jnp.sum(jnp.where(inside, 0.0, logits)) / jnp.maximum(jnp.sum(~inside), 1)
    return Scalars(jnp.sum(values * teacher.values) / task.strength, on, -off)


def pattern_matrix(task: Task, teacher: Teacher, score: Float[Array, ""], mass: Float[Array, ""]) -> Scores:
    """The matrix of two values: p on the supports, δ/(D - K) off them."""
    return jnp.where(teacher.scores > 0, score, mass / task.rest)


def _shared(task: Task, state: Scalars, gap: Any, at: reduced.Pattern) -> dict[str, Array]:
    """The probes that C_1, C_2, C_3 and the two values of S determine."""
    return {
        "value": state.value,
        "support_logit": state.support,
        "rest_logit": state.rest,
        "gap": gap,
        "score": at.score,
        "mass": at.mass,
        "odds": at.mass / (task.support * at.score),
        "quasi_scale": reduced.quasi_scale(task, at),
        # α has no meaning at the very start, where p = 1/D
        "deviation": jnp.where(at.over_uniform > 1e-6, reduced.deviation(task, state.value, at), jnp.nan),
    }


def reduced_probe(task: Task, state: Scalars) -> dict[str, Array]:
    """The probes of the exact dynamics."""
    c = reduced.gap(task, state)
    at = reduced.pattern(task, c)
    distances = dict.fromkeys(("off_values", "off_scores", "support_spread", "rest_spread"), jnp.zeros(()))
    errors = {"score_error": reduced.score_error(task, at), "value_error": jnp.abs(state.value - 1)}
    cosines = dict.fromkeys(("cosine", "row_cosine"), jnp.sign(state.value))
    excess = {"excess": reduced.excess(task, state.value, at)}
    return _shared(task, state, c, at) | distances | errors | cosines | excess


def matrix_probe(task: Task, teacher: Teacher, weights: Weights, scores: Array) -> dict[str, Array]:
    """The probes of full matrices; S is `scores`, p its mean on the supports, δ the mean mass of a column off it."""
    values, target, inside = weights.values, teacher.values, teacher.scores > 0
    state = read_scalars(task, teacher, values, weights.attention)
    on = jnp.sum(jnp.where(inside, scores, 0.0)) / jnp.sum(inside)
    at = reduced.at_score(task, on, jnp.sum(jnp.where(inside, 0.0, scores)) / scores.shape[0])
    return _shared(task, state, reduced.gap(task, state), at) | {
        "excess": population_excess(teacher, values, scores, task.slope),
        "score_error": jnp.linalg.norm(scores - teacher.scores),
        "value_error": jnp.linalg.norm(values - target) / jnp.linalg.norm(target),
        "cosine": cosine(values, target),
        "row_cosine": jnp.min(cosine(values, target, axis=1)),
        "off_values": jnp.max(jnp.abs(values - state.value * target)),
        "off_scores": jnp.max(jnp.abs(scores - pattern_matrix(task, teacher, at.score, at.mass))),
        "support_spread": _range(scores, inside),
        "rest_spread": _range(scores, ~inside),
    }


def _range(values: Array, where: Array) -> Array:
    """Largest minus smallest of the chosen entries; 0 if none is."""
    high = jnp.max(jnp.where(where, values, -jnp.inf))
    low = jnp.min(jnp.where(where, values, jnp.inf))
    return jnp.where(jnp.any(where), high - low, 0.0)


def cosine(one: Array, two: Array, axis: int | None = None) -> Array:
    """The cosine of two matrices, or of their rows; 0 for a zero one."""
    norms = jnp.sqrt(jnp.sum(one**2, axis) * jnp.sum(two**2, axis))
    return jnp.sum(one * two, axis) / jnp.where(norms > 0, norms, 1.0)
