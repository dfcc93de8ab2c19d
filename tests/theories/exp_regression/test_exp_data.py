"""The samplers (section 2) against their distributions.

Seeds are fixed, so no test is flaky; thresholds are five standard errors or a p-value of one in a thousand.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.networks.kernels import limit_kernel
from lemmata.theories.exp_regression.data import draw
from lemmata.theories.exp_regression.network import initialise
from lemmata.theories.exp_regression.setting import Setting

UNLIKELY = 1e-3
MANY = Setting(samples=3000, dimension=3)
FEW = Setting(samples=8, dimension=10)
TEACHER = Setting(data_law="teacher", samples=6, dimension=3)
Arrays = tuple[np.ndarray, np.ndarray]


@pytest.fixture(autouse=True)
def _double_precision():
    with numerics("float64"):
        yield


@functools.cache
def drawn(setting: Setting, seed: int = 0) -> Arrays:
    x, y = draw(setting.problem(), jax.random.key(seed))
    return np.asarray(x), np.asarray(y)


@functools.cache
def drawn_often(setting: Setting, count: int = 400) -> Arrays:
    """Data of as many seeds, [count, n, d] and [count, n]."""
    problem = setting.problem()
    keys = jax.random.split(jax.random.key(1), count)
    run = jax.jit(jax.vmap(lambda key: draw(problem, key)), compiler_options={"xla_backend_optimization_level": 0})
    x, y = run(keys)
    return np.asarray(x), np.asarray(y)


def likely(values: np.ndarray, law: Any) -> bool:
    return stats.kstest(values, law.cdf).pvalue > UNLIKELY


def has_no_direction(vectors: np.ndarray) -> bool:
    """Mean zero and second moment I/d of unit vectors, to five standard errors (fourth moment 3/(d(d+2)))."""
    count, d = vectors.shape
    first = np.abs(vectors.mean(0)) <= 5 * math.sqrt(1 / d / count)
    spread = math.sqrt(3 / (d * (d + 2)) / count)
    second = np.abs(vectors.T @ vectors / count - np.eye(d) / d) <= 5 * spread
    return bool(np.all(first) and np.all(second))


# Points and targets


def test_points_of_the_sphere_are_uniform_on_it() -> None:
    x, _ = drawn(MANY)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-14)
    assert has_no_direction(x)
    # Archimedes: a coordinate of a uniform unit vector in three dimensions is uniform
    assert likely(x[:, 2], stats.uniform(-1, 2))


def test_points_of_the_ball_are_uniform_in_it() -> None:
    x, y = drawn(MANY.replace(data_law="ball"))
    radius = np.linalg.norm(x, axis=1)
    assert radius.max() <= 1
    assert likely(radius**3, stats.uniform)
    assert has_no_direction(x / radius[:, None])
    assert abs(stats.pearsonr(radius, np.abs(y)).statistic) < 5 / math.sqrt(3000)


def test_targets_are_uniform_and_independent_of_the_points() -> None:
    x, y = drawn(MANY)
    assert likely(y, stats.uniform(-1, 2))
    assert np.max(np.abs(x.T @ y)) < 5 * math.sqrt(3000 / 9)


def test_the_least_target_cuts_out_the_middle_of_the_interval() -> None:
    x, y = drawn(MANY.replace(least_target=0.4))
    assert likely(np.abs(y), stats.uniform(0.4, 0.6))
    assert abs(np.sign(y).sum()) < 5 * math.sqrt(3000)
    np.testing.assert_array_equal(x, drawn(MANY)[0])


def test_random_labels_are_signs_in_equal_shares() -> None:
    x, y = drawn(MANY.replace(data_law="random_labels"))
    assert set(y) == {-1.0, 1.0}
    assert abs(y.sum()) < 5 * math.sqrt(3000)
    assert np.max(np.abs(x.T @ y)) < 5 * math.sqrt(3000 / 3)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-14)


def test_orthonormal_points_are_orthonormal_and_have_no_preferred_frame() -> None:
    x, y = drawn_often(Setting(data_law="orthonormal", samples=4, dimension=4))
    np.testing.assert_allclose(x @ x.swapaxes(1, 2), np.broadcast_to(np.eye(4), (400, 4, 4)), atol=1e-13)
    for point in range(4):
        assert has_no_direction(x[:, point])
        assert likely(x[:, point, 0] ** 2, stats.beta(0.5, 1.5))
    assert likely(y.ravel(), stats.uniform(-1, 2))


# The teacher


def test_a_teacher_of_one_neuron_is_an_exponential_of_a_gaussian_direction() -> None:
    x, y = drawn_often(Setting(data_law="teacher", samples=8, dimension=4, teacher_neurons=1), 100)
    np.testing.assert_allclose(y.max(axis=1), 1, rtol=1e-15)
    directions = []
    for points, targets in zip(x, y, strict=True):
        design = np.column_stack([points, np.ones(8)])
        found, residual, _, _ = np.linalg.lstsq(design, np.log(targets), rcond=None)
        assert residual[0] < 1e-20
        directions.append(found[:4])
    assert likely(np.ravel(directions), stats.norm)


def test_the_teacher_is_an_exponential_network_with_alternating_signs() -> None:
    x, y = (part[0] for part in drawn_often(TEACHER))
    # the third key of the data stream is the teacher's: four rows of weights
    *_, own = jax.random.split(stream(jax.random.split(jax.random.key(1), 400)[0], "data"), 3)
    w = np.asarray(jax.random.normal(own, (4, 3)))
    values = np.exp(x @ w.T)
    wanted = values[:, 0] - values[:, 1] + values[:, 2] - values[:, 3]
    np.testing.assert_allclose(y, wanted / np.abs(wanted).max(), rtol=1e-11)


def test_a_teacher_has_no_preferred_sign_and_its_largest_target_is_one() -> None:
    _, y = drawn_often(TEACHER)
    np.testing.assert_allclose(np.abs(y).max(axis=1), 1, rtol=1e-15)
    largest = y[np.arange(400), np.abs(y).argmax(axis=1)]
    assert abs(np.sign(largest).sum()) < 5 * math.sqrt(400)


# Clusters and pairs


@pytest.mark.parametrize("angle", [0.01, 0.5, 3.0])
def test_partners_of_a_cluster_stand_at_the_angle(angle: float) -> None:
    x, _ = drawn(FEW.replace(data_law="clustered", pair_angle=angle))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-14)
    cosines = np.sum(x[::2] * x[1::2], axis=1)
    np.testing.assert_allclose(np.arccos(cosines), angle, rtol=1e-9)
    others = x[::2] @ x[::2].T - np.eye(4)
    assert np.abs(others).max() < 0.95


def test_partners_of_a_cluster_lie_in_every_direction() -> None:
    x, _ = drawn_often(Setting(data_law="clustered", samples=2, dimension=3, pair_angle=1.0))
    first, second = x[:, 0], x[:, 1]
    assert has_no_direction(first)
    assert has_no_direction(second)
    across = (second - math.cos(1.0) * first) / math.sin(1.0)
    np.testing.assert_allclose(np.sum(across * first, axis=1), 0, atol=1e-14)
    assert has_no_direction(across)


def test_closer_clusters_have_a_least_eigenvalue_like_the_squared_angle() -> None:
    least = []
    for angle in (0.04, 0.02, 0.01):
        x, _ = drawn(FEW.replace(data_law="clustered", pair_angle=angle))
        least.append(np.linalg.eigvalsh(np.asarray(limit_kernel("exp", jnp.asarray(x))))[0])
    np.testing.assert_allclose(np.array(least[:-1]) / least[1:], 4, rtol=0.02)


@pytest.mark.parametrize(("pair", "factor"), [("parallel", 0.3), ("antipodal", -1.0)])
def test_a_pair_ties_the_second_point_to_the_first_and_fixes_their_targets(pair: str, factor: float) -> None:
    x, y = drawn(FEW.replace(pair=pair, pair_ratio=0.3))
    plain_x, plain_y = drawn(FEW)
    np.testing.assert_allclose(x[1], factor * x[0], rtol=1e-15)
    np.testing.assert_array_equal(y[:2], [0.8, -0.3])
    np.testing.assert_array_equal(np.delete(x, 1, axis=0), np.delete(plain_x, 1, axis=0))
    np.testing.assert_array_equal(y[2:], plain_y[2:])


# Seeds


def test_the_seed_of_a_run_draws_its_data_and_a_data_seed_fixes_them() -> None:
    fixed = FEW.replace(data_seed=3, neuron_room=4, neurons=4)
    for one, other in zip(drawn(fixed, 0), drawn(fixed, 1), strict=True):
        np.testing.assert_array_equal(one, other)
    for own, same in zip(drawn(FEW, 3), drawn(fixed, 0), strict=True):
        np.testing.assert_array_equal(own, same)
    for one, other in ((drawn(FEW, 0), drawn(FEW, 1)), (drawn(fixed), drawn(FEW.replace(data_seed=4)))):
        assert not np.any(one[0] == other[0])
        assert not np.any(one[1] == other[1])
    weights = [initialise(fixed.problem(), stream(jax.random.key(seed), "init"))[0] for seed in (0, 1)]
    assert not np.any(np.asarray(weights[0]) == np.asarray(weights[1]))


def test_data_seed_zero_is_a_seed_and_minus_one_is_the_runs() -> None:
    for one, other in zip(drawn(FEW.replace(data_seed=0), 5), drawn(FEW, 0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.any(drawn(FEW.replace(data_seed=-1), 5)[0] == drawn(FEW, 0)[0])


# The user's own arrays


def test_given_arrays_are_used_as_they_are() -> None:
    x, y = np.array([[0.3, 0.4], [0.0, -1.0], [1.0, 0.0]]), np.array([1.0, -0.2, 0.0])
    own = Setting(data_law="given", samples=3, dimension=2, inputs=x, targets=y)
    for seed in (0, 1):
        found_x, found_y = drawn(own, seed)
        np.testing.assert_array_equal(found_x, x)
        np.testing.assert_array_equal(found_y, y)
    large = own.replace(inputs=10 * x, targets=4 * y, normalise=True, rescale=True)
    np.testing.assert_allclose(drawn(large)[0], x, rtol=1e-15)
    np.testing.assert_allclose(drawn(large)[1], y, rtol=1e-15)
