"""Closed-form tangent kernels against random networks, hand-computed numbers and each other.

Monte Carlo is NumPy's, with activations written out here, so that nothing is compared with itself. Five standard
errors are allowed; the seeds are fixed.
"""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.networks import kernels
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import Spectrum, kernel_drift, output_variance
from lemmata.networks.tangent import empirical_kernel
from lemmata.theories.exp_regression.network import Head, forward, initialise, kernel, project
from lemmata.theories.exp_regression.setting import Setting

NAMES = ("exp", "cosh", "sinh", "relu")
VALUES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "cosh": np.cosh, "sinh": np.sinh, "relu": lambda z: np.maximum(z, 0),
}  # fmt: skip
SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "cosh": np.sinh, "sinh": np.cosh, "relu": lambda z: (z > 0) * 1.0,
}  # fmt: skip
POINTS = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [-0.3, 0.2, 0.5], [-0.45, -0.6, 0]])
"""Inside and on the sphere, at acute, obtuse and straight angles."""
TWO = np.array([[1.0, 0.0], [0.6, 0.8]])
DRAWS = 200_000

# compiled with less optimisation: every program runs once or twice
quick = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
limit_kernel = quick(kernels.limit_kernel, static_argnums=0)
kernel_variance = quick(kernels.kernel_variance, static_argnums=0)
spectrum = quick(kernels.spectrum)


@pytest.fixture(autouse=True)
def _double_precision():
    with numerics("float64"):
        yield


@pytest.fixture(scope="module")
def normal() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((DRAWS, 3))


def eigenvalues(matrix: jax.Array) -> np.ndarray:
    return np.linalg.eigvalsh(np.asarray(matrix))


def samples_of(name: str, weights: np.ndarray) -> np.ndarray:
    """The kernel of every neuron, [neurons, points, points]."""
    slopes = SLOPES[name](weights @ POINTS.T)
    return POINTS @ POINTS.T * slopes[:, :, None] * slopes[:, None, :]


# Activations


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_an_activation_is_its_derivative_and_zero_at_a_kink(name):
    z = jnp.asarray([-1.3, -0.2, 0.4, 1.7])
    activation = ACTIVATIONS[name]
    np.testing.assert_allclose(activation.value(z), VALUES[name](np.asarray(z)), rtol=1e-15)
    np.testing.assert_allclose(activation.slope(z), jax.vmap(jax.grad(activation.value))(z), rtol=1e-14)
    at_zero = {"exp": 1.0, "cosh": 0.0, "sinh": 1.0, "relu": 0.0}
    assert float(activation.slope(jnp.zeros(()))) == at_zero[name]


# Monte Carlo


@pytest.mark.parametrize("sigma", [0.25, 0.5])
@pytest.mark.parametrize("name", NAMES)
def test_the_limit_is_the_mean_over_random_neurons(name, sigma, normal):
    slopes = SLOPES[name](sigma * normal @ POINTS.T)
    mean = POINTS @ POINTS.T * (slopes.T @ slopes) / DRAWS
    bar = np.sqrt(kernel_variance(name, POINTS, sigma) / DRAWS)
    assert np.all(np.abs(mean - limit_kernel(name, POINTS, sigma)) <= 5 * bar + 1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_the_variance_is_that_of_one_random_neuron(name, normal):
    found = samples_of(name, 0.25 * normal).var(axis=0)
    np.testing.assert_allclose(kernel_variance(name, POINTS, 0.25), found, rtol=0.05, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_the_output_variance_is_that_of_a_network_with_random_signs(name, normal):
    neurons, sigma = 4, 0.5
    signs = np.random.default_rng(6).choice([-1.0, 1.0], (DRAWS // neurons, neurons))
    values = VALUES[name](sigma * normal @ POINTS.T).reshape(-1, neurons, len(POINTS))
    squares = np.einsum("sr,srn->sn", signs, values) ** 2 / neurons
    bar = squares.std(axis=0) / math.sqrt(len(squares))
    found = output_variance(name, POINTS, sigma)
    assert np.all(np.abs(squares.mean(axis=0) - found) <= 5 * bar)
    assert np.all(5 * bar <= 0.1 * found)


# Numbers


def test_the_two_point_example():
    found = limit_kernel("exp", TWO)
    np.testing.assert_allclose(found, [[7.3890561, 2.97181945], [2.97181945, 7.3890561]], rtol=1e-8)
    assert float(found[0, 1]) == pytest.approx(0.6 * math.exp(1.6), rel=1e-14)
    np.testing.assert_allclose(spectrum(found).values, [4.41723664, 10.36087555], rtol=1e-9)


def test_the_summed_variance_of_the_two_point_example():
    assert float(jnp.sum(kernel_variance("exp", TWO, 0.5))) == pytest.approx(11.30534242, rel=1e-9)
    assert float(spectrum(limit_kernel("exp", TWO, 0.5)).least) == pytest.approx(0.75362645, rel=1e-8)


@pytest.mark.parametrize(("angle", "known"), [(0.5, 1.65170099), (0.1, 0.07355299)])
def test_the_least_eigenvalue_of_a_pair_at_an_angle(angle, known):
    pair = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    for sigma in (0.3, 1.0):
        least = eigenvalues(limit_kernel("exp", pair, sigma))[0]
        closed = math.exp(2 * sigma**2) - math.cos(angle) * math.exp(sigma**2 * (1 + math.cos(angle)))
        assert least == pytest.approx(closed, rel=1e-10)
    assert least == pytest.approx(known, abs=5e-9)


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_the_least_eigenvalue_of_a_close_pair_falls_like_the_squared_angle(sigma):
    angle = 1e-3
    pair = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    least = eigenvalues(limit_kernel("exp", pair, sigma))[0]
    assert least == pytest.approx(math.exp(2 * sigma**2) * (1 + sigma**2) * angle**2 / 2, rel=1e-5)


@pytest.mark.parametrize("sigma", [0.4, 1.0])
def test_eigenvalues_of_an_antipodal_pair(sigma):
    pair, e = np.array([[0.6, 0.8], [-0.6, -0.8]]), math.exp(2 * sigma**2)
    for name, wanted in {"exp": (e - 1, e + 1), "cosh": (0, e - 1), "sinh": (0, e + 1), "relu": (0.5, 0.5)}.items():
        np.testing.assert_allclose(eigenvalues(limit_kernel(name, pair, sigma)), wanted, rtol=1e-13, atol=1e-13)


def test_points_of_one_direction_are_singular_for_relu_alone():
    # several directions: an angle by arccos is 1e-8 instead of 0 in some of them
    for first in np.random.default_rng(2).uniform(-0.7, 0.7, (10, 2)):
        for name in NAMES:
            found = spectrum(limit_kernel(name, np.stack([first, 0.3 * first]), 1.0))
            assert bool(found.singular) == (name == "relu")


def test_as_many_antipodal_pairs_as_exceed_the_dimension_are_singular_for_relu():
    rng = np.random.default_rng(1)
    half = rng.standard_normal((4, 3))
    points = np.concatenate([half, -half]) / 4
    assert bool(spectrum(limit_kernel("relu", points)).singular)
    assert not bool(spectrum(limit_kernel("exp", points)).singular)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_trace_and_least_eigenvalue_are_bounded_by_the_norms(sigma):
    square = np.sum(POINTS**2, axis=1)
    own = square * np.exp(2 * sigma**2 * square)
    values = eigenvalues(limit_kernel("exp", POINTS, sigma))
    assert values.sum() == pytest.approx(own.sum(), rel=1e-14)
    assert 0 < values[0] <= own.min()


def test_one_point_has_its_own_value_as_the_spectrum():
    found = spectrum(limit_kernel("exp", POINTS[2:3], 0.7))
    square = 0.09 + 0.04 + 0.25
    assert float(found.least) == float(found.largest) == pytest.approx(square * math.exp(2 * 0.49 * square), rel=1e-14)


def test_orthonormal_points_have_a_multiple_of_the_identity():
    np.testing.assert_allclose(limit_kernel("exp", np.eye(2), 1.0), math.exp(2) * np.eye(2), rtol=1e-14)


def test_small_weights_give_the_kernel_of_linear_regression():
    for name, factor in {"exp": 1.0, "sinh": 1.0, "cosh": 0.0}.items():
        np.testing.assert_allclose(limit_kernel(name, POINTS, 1e-6), factor * POINTS @ POINTS.T, atol=1e-11)
    # more points than dimensions
    assert abs(eigenvalues(limit_kernel("exp", POINTS, 1e-6))[0]) < 1e-11


def test_a_repeated_or_zero_row_is_singular_and_distinct_points_are_not():
    assert not bool(spectrum(limit_kernel("exp", POINTS)).singular)
    for row in (POINTS[1], np.zeros(3)):
        worse = np.where(np.arange(4)[:, None] == 2, row, POINTS)
        for name in NAMES:
            found = spectrum(limit_kernel(name, worse))
            assert abs(float(found.least)) < 1e-14 * float(found.largest)
            assert bool(found.singular)
            assert float(found.condition) == math.inf


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_with_other_points_is_a_block_of_the_kernel_of_all(name):
    for function in (limit_kernel, kernel_variance):
        whole = function(name, POINTS, 0.6)
        np.testing.assert_allclose(function(name, POINTS[:3], 0.6, POINTS[2:]), whole[:3, 2:], rtol=1e-14, atol=1e-16)


def test_the_variance_of_exp_is_that_of_a_log_normal():
    inner, sums = POINTS @ POINTS.T, np.sum((POINTS[:, None] + POINTS[None]) ** 2, axis=-1)
    wanted = inner**2 * (np.exp(2 * sums) - np.exp(sums))
    np.testing.assert_allclose(kernel_variance("exp", POINTS, 1.0), wanted, rtol=1e-13, atol=1e-16)


# Spectra and drift


def test_the_condition_number_is_the_ratio_of_the_ends_of_the_spectrum():
    found = spectrum(jnp.asarray([[2.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(found.values, [1, 3], rtol=1e-15)
    assert float(found.condition) == pytest.approx(3, rel=1e-14)
    assert not bool(found.singular)
    np.testing.assert_allclose(np.abs(found.vectors), np.full((2, 2), math.sqrt(0.5)), rtol=1e-14)


@pytest.mark.parametrize(("least", "singular"), [(1.1e-12, False), (0.9e-12, True), (0.0, True), (-1e-16, True)])
def test_a_spectrum_is_singular_below_a_trillionth_of_its_largest_value(least, singular):
    for size in (1.0, 1e6):
        found = Spectrum(size * jnp.asarray([least, 0.3, 1.0]), jnp.eye(3))
        assert bool(found.singular) is singular
        assert math.isinf(found.condition) is singular
        if not singular:
            assert float(found.condition) == pytest.approx(1 / least)


def test_the_kernel_drift_is_the_frobenius_distance():
    assert float(kernel_drift(jnp.asarray([[3.0, 1.0], [0.0, 5.0]]), jnp.asarray([[0.0, 1.0], [4.0, 5.0]]))) == 5.0
    assert float(kernel_drift(jnp.eye(2), jnp.eye(2))) == 0.0


# The kernel of a network


@pytest.fixture(scope="module")
def networks() -> dict[str, tuple[jax.Array, Head]]:
    """Initial weights of the theory's own network, 2000 of 2048 neurons in use."""
    with numerics("float64"):
        setting = Setting(neurons=2000, dimension=3, weight_scale=0.5, samples=4)
        return {
            init: initialise(setting.replace(init=init).problem(), jax.random.key(2))
            for init in ("coupled", "independent")
        }


def tangent(name: str, weights: jax.Array, head: Head) -> np.ndarray:
    run = quick(lambda w, head, x: empirical_kernel(lambda w, x: forward(w, head, x, ACTIVATIONS[name]), w, x))
    return np.asarray(run(weights, head, jnp.asarray(POINTS)))


@pytest.mark.parametrize("name", NAMES)
def test_the_tangent_kernel_of_the_network_is_its_width_times_its_kernel(name, networks):
    weights, head = networks["independent"]
    own = np.asarray(kernel(head, ACTIVATIONS[name].slope(project(weights, POINTS)), POINTS))
    plain, scaled = (tangent(name, weights, Head(head.signs, jnp.asarray(scale))) for scale in (1.0, 0.03))
    np.testing.assert_allclose(plain, 2000 * own, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(scaled, 0.03**2 * 2000 * own, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("init", "effective"), [("independent", 2000), ("coupled", 1000)])
def test_the_tangent_kernel_of_the_network_tends_to_the_limit(init, effective, networks):
    weights, head = networks[init]
    for name in ("exp", "relu"):
        error = tangent(name, weights, head) / 2000 - limit_kernel(name, POINTS, 0.5)
        bar = np.sqrt(kernel_variance(name, POINTS, 0.5) / effective)
        assert np.all(np.abs(error) <= 5 * bar + 1e-14)


def test_pairs_double_the_variance_of_the_kernel():
    """m_eff = m/2: over 300 networks the squared error is that of half the neurons, to five of its own errors."""
    setting = Setting(neurons=64, neuron_room=64, dimension=3, weight_scale=0.25, samples=4)
    predicted = float(jnp.sum(kernel_variance("exp", POINTS, 0.25)))
    limit = np.asarray(limit_kernel("exp", POINTS, 0.25))
    keys = jax.random.split(jax.random.key(0), 300)
    for init, effective in (("coupled", 32), ("independent", 64)):
        problem = setting.replace(init=init).problem()
        weights, head = quick(jax.vmap(lambda key, problem=problem: initialise(problem, key)))(keys)
        slopes = np.exp(np.einsum("nd,sdm->snm", POINTS, np.asarray(weights)))
        found = POINTS @ POINTS.T * np.einsum("snm,skm->snk", slopes, slopes) / 64
        squares = np.sum((found - limit) ** 2, axis=(1, 2))
        bar = squares.std() / math.sqrt(300)
        assert abs(squares.mean() - predicted / effective) <= 5 * bar
        assert 5 * bar < 0.5 * predicted / effective
        assert np.all(np.abs(np.asarray(head.signs)) == 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_tangent_kernel_of_a_plain_two_layer_network_tends_to_the_limit(name, normal):
    weights, sigma = 0.25 * normal[:4000], 0.25
    signs = np.where(np.arange(4000) % 3 == 0, -1.0, 1.0)

    def network(w: jax.Array, x: jax.Array) -> jax.Array:
        return ACTIVATIONS[name].value(x @ w.T) @ signs

    run = quick(lambda w, x: empirical_kernel(network, w, x))
    error = np.asarray(run(weights, POINTS)) / 4000 - limit_kernel(name, POINTS, sigma)
    assert np.all(np.abs(error) <= 5 * np.sqrt(kernel_variance(name, POINTS, sigma) / 4000) + 1e-14)
