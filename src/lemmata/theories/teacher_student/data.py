"""Inputs and labels: the Gaussian training law (2.2) and the laws outside it (2.4). X[feature, sample, token]."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.theories.teacher_student.network import respond
from lemmata.theories.teacher_student.teachers import Teacher

LAWS = ("gaussian", "exponential", "uniform", "student_t", "rademacher", "correlated")
FREEDOM, MEAN, CORRELATION = 6, 0.5, 0.5
"""Degrees of freedom of the Student law; mean of the correlated law, and correlation of its neighbours (AR(1))."""


class Sample(NamedTuple):
    """Inputs with labels."""

    inputs: Float[Array, "feature sample token"]
    labels: Float[Array, "output sample token"]


def ar1(features: int) -> Float[np.ndarray, "feature feature"]:
    """The covariance of the correlated law."""
    at = np.arange(features)
    return CORRELATION ** np.abs(at[:, None] - at)


def draw_inputs(key: jax.Array, law: Any, shape: tuple[int, int, int]) -> Float[Array, "feature sample token"]:
    """Inputs with independent, equally distributed columns; independent entries too, but for the correlated law.

    `law` is one of `LAWS`, or its number there, which may be traced. Exponential: rate 1. Uniform: on [-√3, √3].
    Student: `FREEDOM` degrees, as it is. Correlated: mean `MEAN`.
    """
    root = np.linalg.cholesky(ar1(shape[0]))
    draws = {
        "gaussian": lambda: jax.random.normal(key, shape),
        "exponential": lambda: jax.random.exponential(key, shape),
        "uniform": lambda: jax.random.uniform(key, shape, minval=-math.sqrt(3), maxval=math.sqrt(3)),
        "student_t": lambda: jax.random.t(key, FREEDOM, shape),
        "rademacher": lambda: jax.random.rademacher(key, shape, jnp.result_type(float)),
        "correlated": lambda: MEAN + jnp.einsum("fg,gnt->fnt", root, jax.random.normal(key, shape)),
    }
    return draws[law]() if isinstance(law, str) else jax.lax.switch(law, [draws[name] for name in LAWS])


def moments(law: str, features: int) -> tuple[Float[np.ndarray, " feature"], Float[np.ndarray, "feature feature"]]:
    """Mean and covariance of one column."""
    mean = {"exponential": 1.0, "correlated": MEAN}.get(law, 0.0)
    variance = FREEDOM / (FREEDOM - 2) if law == "student_t" else 1.0
    covariance = ar1(features) if law == "correlated" else variance * np.eye(features)
    return np.full(features, mean), covariance


def draw_sample(key: jax.Array, teacher: Teacher, count: int, slope: Any, noise: Any, law: str = "gaussian") -> Sample:
    """(X, σ(V*XS*) + noise)."""
    inputs_key, noise_key = jax.random.split(key)
    shape = (teacher.values.shape[1], count, teacher.scores.shape[0])
    inputs = draw_inputs(inputs_key, law, shape) * jnp.sqrt(teacher.covariance)[:, None, None]
    answers = respond(teacher.values, teacher.scores, inputs, slope)
    return Sample(inputs, answers + noise * jax.random.normal(noise_key, answers.shape))
