"""The teacher of E4, a two-layer convolutional classifier, and what the student starts from (section 3.1).

The teacher averages patches before the activation, so it is a network of 81 inputs, the mean patches of nine groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.orthonormal import orthonormal
from lemmata.theories.teacher_student.mnist.setting import FEATURES, GROUPS, TOKENS, MnistSetting
from lemmata.theories.teacher_student.network import Weights, activate

CLASSES = 10


class Teacher(NamedTuple):
    """Convolution without bias, and the linear layer above it."""

    kernels: Float[Array, "kernel feature"]
    matrix: Float[Array, "kernel group class"]
    bias: Float[Array, " class"]


def hidden(
    kernels: Float[Array, "kernel feature"], pooled: Float[Array, "feature image group"], slope: Any
) -> Float[Array, "kernel image group"]:
    """σ(V* X [1_g/K ...]): the layer that the student learns, one column for each group."""
    return activate(jnp.einsum("mf,fng->mng", kernels, pooled), slope)


def outputs(teacher: Teacher, pooled: Float[Array, "feature image group"], slope: Any) -> Float[Array, "image class"]:
    return jnp.einsum("mng,mgc->nc", hidden(teacher.kernels, pooled, slope), teacher.matrix) + teacher.bias


@lm.piece("kernels", once=True)
def initialise(problem: MnistSetting, key: jax.Array) -> tuple[Teacher, Array, Weights]:
    """The first teacher; P, Haar orthogonal; the first student: small Gaussian values, no attention."""
    teacher_key, student_key = jax.random.split(lm.stream(key, "init"))
    positions, values = jax.random.split(student_key)
    first = problem.initial_scale * jax.random.normal(values, (problem.kernels, FEATURES))
    student = Weights(first, jnp.zeros((TOKENS, TOKENS)))
    return _draw_teacher(problem, teacher_key), orthonormal(positions, TOKENS, TOKENS), student


def _draw_teacher(problem: MnistSetting, key: jax.Array) -> Teacher:
    """Uniform weights within 1/√(inputs of the layer)."""
    kernels, matrix, bias = jax.random.split(key, 3)

    def uniform(key: jax.Array, shape: tuple[int, ...], inputs: int) -> Array:
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0) / jnp.sqrt(inputs)

    wide = problem.kernels * GROUPS
    return Teacher(
        uniform(kernels, (problem.kernels, FEATURES), FEATURES),
        uniform(matrix, (problem.kernels, GROUPS, CLASSES), wide),
        uniform(bias, (CLASSES,), wide),
    )
