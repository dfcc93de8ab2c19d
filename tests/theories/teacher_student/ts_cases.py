"""Small teachers, and trainings of them step by step, for the tests of the theory."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Bool, Float, Int

from lemmata.theories.teacher_student.dynamics.population import population_gradient
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, step
from lemmata.theories.teacher_student.network import Weights, position_scores
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher, make_teacher

SLOPES = (1.0, 0.1, 0.0)
SMALL: dict[str, dict[str, Any]] = {
    "gcn": {"teacher": "gcn", "graph": "cycle", "support": 3},
    "cnn": {"teacher": "cnn", "support": 2},
    "sts": {"teacher": "sts", "support": 2, "value_law": "scaled_rows"},
    "supports": {"teacher": "supports", "support": 3, "positions": "dct"},
}


def near(expected: Any, rel: float) -> Any:
    """Equal to a relative accuracy, also where numbers are small."""
    return pytest.approx(expected, rel=rel, abs=0)


def small_setting(kind: str = "gcn", **fields: Any) -> Setting:
    """Six tokens of three features, two outputs."""
    return Setting(**{"tokens": 6, "dimension": 3, "outputs": 2, "strength": 5.0, **SMALL[kind], **fields})


def small_teacher(kind: str = "gcn", seed: int = 1, **fields: Any) -> Teacher:
    return make_teacher(small_setting(kind, **fields), seed)


def small_task(teacher: Teacher, slope: float, step_size: float, temperature: float = 1.0) -> Task:
    """The reduced view of a teacher without a defect."""
    support = int(np.count_nonzero(teacher.scores[:, 0]))
    return Task(len(teacher.scores), support, float(np.sum(teacher.values**2)), slope, step_size, temperature)


class Run(NamedTuple):
    """Full-matrix gradient descent on the population loss: one entry a step, the start included."""

    values: Any
    attention: Any
    scores: Any


@functools.partial(jax.jit, static_argnames="steps")
def _descend(teacher: Teacher, slope: Any, step_size: Any, temperature: Any, steps: int) -> Run:
    def move(weights: Weights, _: None) -> tuple[Weights, Run]:
        scores = position_scores(weights.attention, teacher.positions, temperature)
        slopes = population_gradient(teacher, weights, scores, slope, temperature)
        moved = jax.tree.map(lambda weight, gradient: weight - step_size * gradient, weights, slopes)
        return moved, Run(weights.values, weights.attention, scores)

    start = Weights(jnp.zeros_like(teacher.values), jnp.zeros_like(teacher.scores))
    return jax.lax.scan(move, start, None, steps + 1)[1]


def descend(teacher: Teacher, slope: float, step_size: float, steps: int = 300, temperature: float = 1.0) -> Run:
    """From W_V = 0, W_KQ = 0."""
    run = _descend(jax.tree.map(jnp.asarray, teacher), slope, step_size, temperature, steps)
    return Run(*(np.asarray(leaf) for leaf in run))


@functools.partial(jax.jit, static_argnames="steps")
def _iterate(task: Task, steps: int) -> Scalars:
    start = Scalars(*jnp.zeros((3, *jnp.shape(task.slope))))
    return jax.lax.scan(lambda state, _: (step(task, state), state), start, None, steps + 1)[1]


def iterate(task: Task, steps: int) -> Scalars:
    """The recursion from zero, one entry a step, the start included; a last axis for several slopes κ."""
    found = _iterate(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), task), steps)
    return Scalars(*(np.asarray(leaf) for leaf in found))


def random_tasks(count: int, seed: int = 0) -> Iterator[tuple[Task, float, np.random.Generator]]:
    """Tasks with K < D at random, and a score strictly between 1/D and 1/K."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        D = int(rng.integers(3, 200))
        K = int(rng.integers(1, D))
        task = Task(D, K, float(rng.uniform(0.5, 40)), float(rng.choice([1, 0.5, 0.1, 0])), 0.05)
        yield task, 1 / D + float(rng.uniform(0.02, 0.98)) * (1 / K - 1 / D), rng


# Native definitions of the teachers' outputs, by their own formulas and not through S*


def native_pooling(
    values: Float[np.ndarray, "output feature"], inputs: Float[np.ndarray, "feature token"], group: int, slope: float
) -> Float[np.ndarray, "output group"]:
    """Example 2.1: convolution (one patch a token), average over contiguous groups, activation."""
    patches = values @ inputs
    return native_activation(patches.reshape(len(values), -1, group).mean(axis=2), slope)


def native_graph(
    values: Float[np.ndarray, "output feature"],
    inputs: Float[np.ndarray, "feature token"],
    adjacency: Bool[np.ndarray, "token token"],
    slope: float,
) -> Float[np.ndarray, "output token"]:
    """Example 2.2: σ(V* X D^{-1/2} (A + I) D^{-1/2}) with the degrees of A + I."""
    loops = adjacency + np.eye(len(adjacency))
    root = np.diag(loops.sum(axis=0) ** -0.5)
    return native_activation(values @ inputs @ root @ loops @ root, slope)


def native_selection(
    inputs: Float[np.ndarray, "feature token"], chosen: Int[np.ndarray, " support"]
) -> Float[np.ndarray, " feature"]:
    """Example 2.3: the mean of the chosen tokens."""
    return inputs[:, chosen].mean(axis=1)


def native_predictor(
    weights: Float[np.ndarray, " feature"], inputs: Float[np.ndarray, "feature token"], group: int
) -> float:
    """Example 2.4: ⟨v*, x_{i*}⟩."""
    return float(weights @ inputs[:, group])


def native_activation(z: np.ndarray, slope: float) -> np.ndarray:
    return np.where(z >= 0, z, slope * z)
