"""Test inputs and responses of 2.4, T5 and T6, the same at all times.

The student is on its pattern, so that its outputs follow from two sums per entry, u_in over the support of column i
and u_out over the rest: TF = σ(C_1 (p u_in + δ u_out / (D - K))), f* = σ(u_in / K).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.teacher_student.data import draw_inputs
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.reduced import Pattern, Task
from lemmata.theories.teacher_student.network import activate
from lemmata.theories.teacher_student.training import Prepared
from lemmata.theories.teacher_student.transfer.setting import RESPONSES, TransferSetting


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
