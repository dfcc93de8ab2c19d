"""When the score escapes, and the continuous limit of the recursion (P17, C2, oracles 8.14 and 8.15)."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from ts_cases import SLOPES, iterate, near, random_tasks

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.limit import escape_gap, escape_integral, follow_limit
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, at_score, pattern, step


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Escape

REFERENCE = {1.0: (117420, 2.59), 0.1: (237029, 4.04), 0.0: (247322, 3.95)}


@jax.jit
def first_passage(task: Task) -> Any:
    """The first step with p ≥ 1/(2K), for several slopes at once."""
    zero = jnp.zeros_like(task.slope)

    def below(state: Scalars) -> Any:
        return 2 * task.support * pattern(task, reduced.gap(task, state)).score < 1

    def advance(carry: Any) -> Any:
        t, state = carry
        return t + below(state), step(task, state)

    start = (zero, Scalars(zero, zero, zero))
    return jax.lax.while_loop(lambda carry: jnp.any(below(carry[1])), advance, start)[0]


def test_escape_times_of_the_recursion_are_the_known_ones() -> None:
    task = Task(64.0, 2.0, 4.0, jnp.asarray(list(REFERENCE)), 0.02)
    found = np.asarray(first_passage(jax.tree.map(jnp.asarray, task)))
    for (slope, (steps, late)), one in zip(REFERENCE.items(), found, strict=True):
        assert abs(one - steps) <= 1
        assert 0.02 * one - escape_integral(task._replace(slope=slope)) == pytest.approx(late, abs=0.03)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (5, (1.0436142, 2.4066574, 2.5522235)),
        (9, (1.1885317, 2.6664532, 2.8175143)),
        (20, (1.1797217, 2.4948035, 2.6169418)),
        (1000, (1.0117997, 1.3408356, 1.3573548)),
    ],
)
def test_the_escape_integral_has_its_known_prefactor(ratio, expected) -> None:
    for K, strength, step_size in ((2, 3.0, 0.02), (7, 50.0, 0.3)):
        for slope, prefactor in zip(SLOPES, expected, strict=True):
            task = Task(ratio * K, K, strength, slope, step_size)
            found = escape_integral(task) * strength / (K * task.tokens**2)
            assert found == pytest.approx(prefactor, abs=6e-8)
            assert escape_integral(task) == near(found * task.unit * step_size, rel=1e-13)


def test_the_escape_integral_can_hold_the_values_at_the_teacher() -> None:
    task = Task(20, 2, 3.0, 0.1, 0.02)

    def density(p: float) -> float:
        at = at_score(task, p)
        return 4 * 18 * at.column_square / (3.0 * reduced.f3_parts(task, at)[0] * at.mass**3)

    expected = integrate.quad(density, 1 / 20, 1 / 4, epsrel=1e-11)[0]
    assert escape_integral(task, slow=False) == near(expected, rel=1e-8)
    assert escape_integral(task, slow=False) > 1.2 * escape_integral(task)
    assert escape_integral(task._replace(tokens=4)) == 0
    assert escape_integral(task._replace(temperature=2.0)) == near(4 * escape_integral(task), rel=1e-9)
    assert pattern(task, escape_gap(task)).score == near(1 / 4, rel=1e-13)


def test_the_slow_manifold_has_its_identity_form() -> None:
    for task, p, _ in random_tasks(50, 9):
        task = task._replace(slope=1.0)
        at = at_score(task, p)
        expected = task.step_size * task.strength / task.support * p**3 * at.mass**3 / at.column_square**2
        assert reduced.slow_rate(task, p) == near(expected, rel=1e-11)
        half = reduced.slow_rate(task, p, 0.5 * reduced.quasi_scale(task, at))
        assert half == near(0.5 * expected, rel=1e-11)


def test_increments_follow_the_slow_manifold_where_phases_are_separated() -> None:
    task = Task(20, 1, 2.0, jnp.asarray(SLOPES), 0.05)
    assert task.separation <= 0.005
    path = iterate(task, 11_000)
    p = pattern(task, reduced.gap(task, path)).score
    assert (p[-1] > 0.5).all()
    for column, slope in zip(np.asarray(p).T, SLOPES, strict=True):
        late = (column[:-1] >= 1.1 / 20) & (column[:-1] < 0.6)
        predicted = reduced.slow_rate(task._replace(slope=slope), column[:-1][late])
        assert abs(np.diff(column)[late] / predicted - 1).max() < 0.02


# The continuous limit


@pytest.mark.parametrize("slope", SLOPES)
def test_the_recursion_tends_to_the_limit_in_proportion_to_the_step_size(slope) -> None:
    end, apart = 20, []
    for step_size in (0.1, 0.05, 0.025):
        task = Task(10, 2, 20.0, slope, step_size, 1.5)
        steps = round(end / step_size)
        path, limit = iterate(task, steps), follow_limit(task, [steps / 2, steps])
        gaps = reduced.gap(task, path)[[steps // 2, steps]]
        apart.append(np.concatenate([path.value[[steps // 2, steps]] - limit.value, gaps - limit.gap]))
    assert abs(apart[0]).max() < 0.05
    np.testing.assert_allclose(apart[0] / apart[1], 2, atol=0.15)
    np.testing.assert_allclose(apart[1] / apart[2], 2, atol=0.08)


def test_the_limit_reports_when_values_fit_and_attention_escapes() -> None:
    task = Task(20, 1, 2.0, 0.1, 0.001)
    path = follow_limit(task, [0, 10, 1e6])
    assert (path.value[0], path.gap[0]) == (0, 0)
    assert path.fitted_step == near(math.log(20) / (0.001 * 0.505), rel=0.03)
    assert path.escape_step * 0.001 == near(escape_integral(task), rel=0.03)
    assert path.fitted_step < path.escape_step
    before, after = follow_limit(task, [path.escape_step * (1 - 1e-6), path.escape_step * (1 + 1e-6)]).gap
    assert before < escape_gap(task) < after
    (fit,) = follow_limit(task, [1e6], gaps=[escape_gap(task)]).value_at
    assert fit == near(reduced.quasi_scale(task, at_score(task, 0.5)), rel=0.02)
    assert np.isnan(follow_limit(task, [100], gaps=[1.0]).value_at).all()
    early = follow_limit(task, [100])
    assert (early.fitted_step, early.escape_step) == (math.inf, math.inf)


@pytest.mark.parametrize(("slope", "D", "K"), [(1.0, 36, 4), (0.1, 20, 1), (0.0, 36, 4)])
def test_the_limit_reaches_the_asymptotes_after_a_million_million_steps(slope, D, K) -> None:
    task, T, square = Task(D, K, 10.0, slope, 0.05), 1e12, (1 + slope**2) / 2
    path = follow_limit(task, [T / 4, T])
    at = pattern(task, path.gap)
    law = (D - K) * np.sqrt(K / (2 * square * 0.05 * 10.0 * np.array([T / 4, T])))
    np.testing.assert_allclose(at.mass, law, rtol=2e-4)
    np.testing.assert_allclose(path.value - 1, at.mass, rtol=2e-4)
    losses = reduced.excess(task, path.value, at)
    np.testing.assert_allclose(losses * 4 * 0.05 * np.array([T / 4, T]) / (K * D * (D - K)), 1, rtol=2e-4)


def test_frozen_parts_rest_in_the_limit_and_starts_are_kept() -> None:
    task = Task(20, 2, 10.0, 0.1, 0.05)
    still = follow_limit(task, [0, 1e4], trained=(1.0, 0.0))
    np.testing.assert_array_equal(still.gap, 0)
    assert still.value[1] == near(reduced.start_scale(task), rel=1e-9)
    held = follow_limit(task, [0, 1e4], (1.0, 0.5), (0.0, 1.0))
    np.testing.assert_array_equal(held.value, 1)
    assert held.gap[0] == 0.5
    assert held.gap[1] > 2
