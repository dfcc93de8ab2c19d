"""The network of section 3: hand-computed numbers, autodiff, initialisations and symmetries.

Neuron k = 2r + member stands at position r + member * capacity/2; `by_neuron` undoes that.
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
from lemmata.networks.activations import ACTIVATIONS
from lemmata.networks.kernels import output_variance
from lemmata.theories.exp_regression.network import (
    Head,
    forward,
    initialise,
    kernel,
    largest_projection,
    lengths,
    loss_gradient,
    output_gradient,
    project,
)
from lemmata.theories.exp_regression.setting import Setting

EXP = ACTIVATIONS["exp"]
X = np.array([[1.0, 0.0], [0.6, 0.8]])
Y = np.array([0.5, -0.25])
EXAMPLE = Setting(
    init="given",
    neurons=4,
    neuron_room=4,
    dimension=2,
    samples=2,
    weights=[[0.5, 0], [0.5, 0], [0, -1], [0, -1]],
    output_signs=[1.0, -1.0, -1.0, 1.0],
)
"""The m = 4 network of section 8."""
SMALL = Setting(neurons=64, neuron_room=64, dimension=3, samples=5, weight_scale=0.5)
Network = tuple[np.ndarray, Head]


@pytest.fixture(autouse=True)
def _double_precision():
    with numerics("float64"):
        yield


@functools.cache
def started(setting: Setting, seed: int = 0) -> tuple[Any, Head]:
    return initialise(setting.problem(), jax.random.key(seed))


def by_neuron(array: Any) -> np.ndarray:
    """The last axis in the order of the neurons."""
    array = np.asarray(array)
    half = array.shape[-1] // 2
    return np.stack([array[..., :half], array[..., half:]], axis=-1).reshape(array.shape)


def slopes(weights: Any, x: Any = X, name: str = "exp") -> Any:
    return ACTIVATIONS[name].slope(project(weights, x))


def points(count: int = 5, dimension: int = 3, seed: int = 3) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def kernel_of(weights: Any, head: Head, x: Any, name: str = "exp") -> np.ndarray:
    return np.asarray(kernel(head, slopes(weights, x, name), x))


def permuted(network: tuple[Any, Head], order: np.ndarray) -> tuple[Any, Head]:
    weights, head = network
    return weights[:, order], Head(head.signs[order], head.scale)


# The two-point example


def test_the_two_point_example_starts_at_zero_with_the_known_kernel() -> None:
    weights, head = started(EXAMPLE)
    np.testing.assert_array_equal(by_neuron(weights).T, [[0.5, 0], [0.5, 0], [0, -1], [0, -1]])
    np.testing.assert_array_equal(by_neuron(head.signs), [1, -1, -1, 1])
    assert float(head.width) == 4
    np.testing.assert_array_equal(forward(weights, head, X, EXP), [0, 0])
    found = kernel_of(weights, head, X)
    np.testing.assert_allclose(found, [[1.85914091, 0.80246097], [0.80246097, 1.01200766]], atol=5e-9)
    np.testing.assert_allclose(np.linalg.eigvalsh(found), [0.52818667, 2.34296191], atol=5e-9)
    assert float(largest_projection(head, project(weights, X))) == pytest.approx(0.8)


def test_the_two_point_example_has_the_known_gradient_and_first_step() -> None:
    weights, head = started(EXAMPLE)
    gradient = loss_gradient(head, slopes(weights), X, forward(weights, head, X, EXP) - Y)
    first, third = np.array([-0.62188181, 0.26997176]), np.array([0.43260066, -0.08986579])
    np.testing.assert_allclose(by_neuron(gradient).T, [first, -first, third, -third], atol=5e-9)
    moved = weights - 0.01 * gradient
    outputs = np.asarray(forward(moved, head, X, EXP))
    np.testing.assert_allclose(outputs, [0.02915837, 0.00592915], atol=5e-9)
    assert np.sum((outputs - Y) ** 2) == pytest.approx(0.28719157, abs=5e-9)
    # the members of a pair move oppositely in the first step
    np.testing.assert_allclose(moved[:, :2] + moved[:, 2:], 2 * weights[:, 2:], rtol=1e-15)


# Gradients


@pytest.mark.parametrize("scale", [1.0, 0.125])
@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_the_gradients_in_closed_form_are_those_of_autodiff(name: str, scale: float) -> None:
    weights, head = started(SMALL.replace(init="independent", neurons=51))
    head = Head(head.signs, jnp.asarray(scale))
    x, y = points(), np.linspace(-0.9, 0.7, 5)
    activation = ACTIVATIONS[name]
    outputs = lambda w: forward(w, head, x, activation)  # noqa: E731
    jacobian = jax.jit(jax.jacrev(outputs), compiler_options={"xla_backend_optimization_level": 0})(weights)
    own = output_gradient(head, slopes(weights, x, name), x)
    largest = np.abs(own).max()
    np.testing.assert_allclose(own, jacobian, rtol=0, atol=1e-12 * largest)
    # the scale stands in the closed form once, and autodiff's kernel is J Jᵀ = κ² m H
    flat = np.asarray(jacobian).reshape(5, -1)
    np.testing.assert_allclose(flat @ flat.T, scale**2 * 51 * kernel_of(weights, head, x, name), rtol=1e-11, atol=1e-12)
    residual = np.asarray(outputs(weights)) - y
    gradient = np.asarray(loss_gradient(head, slopes(weights, x, name), x, residual))
    wanted = np.einsum("n,ndm->dm", residual, np.asarray(jacobian))
    np.testing.assert_allclose(gradient, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_the_loss_gradient_is_that_of_half_the_squared_error() -> None:
    weights, head = started(SMALL.replace(init="independent"))
    x, y = points(), np.linspace(-0.9, 0.7, 5)
    loss = lambda w: jnp.sum((forward(w, head, x, EXP) - y) ** 2) / 2  # noqa: E731
    wanted = np.asarray(jax.jit(jax.grad(loss))(weights))
    found = np.asarray(loss_gradient(head, slopes(weights, x), x, forward(weights, head, x, EXP) - y))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_lengths_and_projections_are_those_of_the_columns() -> None:
    weights, _ = started(SMALL)
    columns = np.asarray(weights).T
    np.testing.assert_allclose(lengths(weights), np.linalg.norm(columns, axis=1), rtol=1e-14)
    np.testing.assert_allclose(project(weights, points()), [[w @ x for w in columns] for x in points()], rtol=1e-12)


# Initialisation


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_coupled_pairs_give_exactly_zero(name: str) -> None:
    for width in (2, 34, 64):
        for seed in range(5):
            weights, head = started(SMALL.replace(neurons=width), seed)
            outputs = np.asarray(forward(weights, head, points(), ACTIVATIONS[name]))
            assert not np.any(outputs)
            assert float(head.width) == width
    weights, head = started(SMALL.replace(init="independent"), 0)
    assert np.all(np.abs(forward(weights, head, points(), ACTIVATIONS[name])) > 1e-3)


def test_members_of_a_pair_share_their_weights_and_have_opposite_signs() -> None:
    weights, head = started(SMALL)
    rows, signs = by_neuron(weights).T, by_neuron(head.signs)
    np.testing.assert_array_equal(rows[::2], rows[1::2])
    np.testing.assert_array_equal(signs[::2], -signs[1::2])
    assert len(np.unique(rows, axis=0)) == 32
    assert set(signs[::2]) == {-1.0, 1.0}


@pytest.mark.parametrize("init", ["coupled", "independent"])
def test_a_neuron_depends_on_the_seed_and_its_number_alone(init: str) -> None:
    """Networks in two rooms have the same weights, outputs and kernels, whatever stands where no neuron is."""
    width = 34 if init == "coupled" else 33
    small = started(SMALL.replace(init=init, neurons=width), 4)
    large = started(SMALL.replace(init=init, neurons=width, neuron_room=128), 4)
    for one, other in zip((small[0], small[1].signs), (large[0], large[1].signs), strict=True):
        np.testing.assert_array_equal(by_neuron(one)[..., :width], by_neuron(other)[..., :width])
    assert not np.any(by_neuron(large[1].signs)[width:])
    # changed where no neuron is
    litter = jnp.where(large[1].used > 0, large[0], 5.0)
    x = points()
    for weights, head in (large, (litter, large[1])):
        assert float(head.width) == width
        np.testing.assert_allclose(
            forward(weights, head, x, EXP), forward(*small, x, EXP), rtol=1e-13, atol=1e-13 * (init != "coupled")
        )
        np.testing.assert_allclose(kernel_of(weights, head, x), kernel_of(*small, x), rtol=1e-13)
        residual = jnp.linspace(-1.0, 1.0, 5)
        gradients = [by_neuron(loss_gradient(h, slopes(w, x), x, residual)) for w, h in (small, (weights, head))]
        np.testing.assert_allclose(gradients[1][:, :width], gradients[0][:, :width], rtol=1e-12, atol=1e-14)
        assert not np.any(gradients[1][:, width:])
        own, wanted = (largest_projection(h, project(w, x)) for w, h in ((weights, head), small))
        assert float(own) == pytest.approx(float(wanted), rel=1e-14)


def test_a_narrower_network_is_the_beginning_of_a_wider_one() -> None:
    narrow, wide = (by_neuron(started(SMALL.replace(neurons=m), 1)[1].signs) for m in (10, 64))
    np.testing.assert_array_equal(narrow[:10], wide[:10])
    assert not np.any(narrow[10:])
    assert np.all(np.abs(wide) == 1)


def test_seeds_give_other_weights_and_signs() -> None:
    (one, head), (other, other_head) = (started(SMALL, seed) for seed in (0, 1))
    assert not np.any(np.asarray(one) == np.asarray(other))
    assert np.any(np.asarray(head.signs) != np.asarray(other_head.signs))


@pytest.fixture(scope="module")
def independent() -> Network:
    """2000 independent networks of 64 neurons."""
    with numerics("float64"):
        problem = SMALL.replace(init="independent").problem()
        many = jax.jit(
            jax.vmap(lambda key: initialise(problem, key)), compiler_options={"xla_backend_optimization_level": 0}
        )
        weights, head = many(jax.random.split(jax.random.key(0), 2000))
        return np.asarray(weights), head


def test_independent_weights_are_gaussian_and_signs_fair(independent: Network) -> None:
    weights, head = independent
    signs = np.asarray(head.signs)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 5 / math.sqrt(signs.size)
    assert stats.kstest(weights.ravel()[:20000] / 0.5, stats.norm.cdf).pvalue > 1e-3
    assert abs(weights.mean()) < 5 * 0.5 / math.sqrt(weights.size)
    assert weights.var() == pytest.approx(0.25, rel=5 * math.sqrt(2 / weights.size))
    # nothing is left of the pairs
    half = 32
    bar = 5 / math.sqrt(2000 * half)
    assert abs(np.mean(signs[:, :half] * signs[:, half:])) < bar
    assert abs(np.mean(weights[:, 0, :half] * weights[:, 0, half:])) < bar * 0.25
    assert abs(np.mean(signs * weights[:, 0])) < bar * 0.5
    assert abs(np.mean(weights[:, 0] * weights[:, 1])) < bar * 0.25


def test_outputs_of_independent_networks_have_the_known_variance(independent: Network) -> None:
    weights, head = independent
    x = points() * np.array([0.2, 0.5, 1, 1, 1])[:, None]
    outputs = np.einsum("sr,snr->sn", np.asarray(head.signs), np.exp(np.einsum("nd,sdr->snr", x, weights)))
    found = outputs**2 / 64
    wanted = np.asarray(output_variance("exp", x, 0.5))
    np.testing.assert_allclose(wanted, np.exp(0.5 * np.sum(x**2, axis=1)), rtol=1e-13)
    bar = found.std(axis=0) / math.sqrt(2000)
    assert np.all(np.abs(found.mean(axis=0) - wanted) < 5 * bar)
    # and the module's forward pass gives these outputs
    one = forward(weights[7], Head(head.signs[7], jnp.asarray(1.0)), x, EXP)
    np.testing.assert_allclose(one, outputs[7], rtol=1e-10)


@pytest.mark.parametrize("width", [1, 3, 4])
def test_given_weights_stand_where_their_neurons_are(width: int) -> None:
    rows = np.arange(2.0 * width).reshape(width, 2) / 10 + 0.1
    signs = np.array([1.0, 1, -1, 1])[:width]
    weights, head = started(EXAMPLE.replace(neurons=width, weights=rows, output_signs=signs))
    np.testing.assert_array_equal(by_neuron(weights)[:, :width].T, rows)
    np.testing.assert_array_equal(by_neuron(head.signs), [*signs, *np.zeros(4 - width)])
    assert float(head.width) == width
    np.testing.assert_allclose(forward(weights, head, X, EXP), np.exp(X @ rows.T) @ signs, rtol=1e-14)
    wanted = X @ X.T * (np.exp(X @ rows.T) @ np.exp(X @ rows.T).T) / width
    np.testing.assert_allclose(kernel_of(weights, head, X), wanted, rtol=1e-14)


def test_the_scale_multiplies_the_outputs_and_not_the_kernel() -> None:
    plain, scaled = (started(SMALL.replace(init="independent", scale=scale)) for scale in ("one", "inv_sqrt_m"))
    np.testing.assert_array_equal(plain[0], scaled[0])
    np.testing.assert_allclose(forward(*scaled, points(), EXP), forward(*plain, points(), EXP) / 8, rtol=1e-13)
    np.testing.assert_array_equal(kernel_of(*scaled, points()), kernel_of(*plain, points()))


# Symmetries


@pytest.fixture(params=list(ACTIVATIONS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_rotating_points_and_weights_changes_nothing_but_the_gradients_frame(name: str) -> None:
    weights, head = started(SMALL.replace(init="independent"))
    x, residual = points(), np.linspace(-1, 1, 5)
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    turned, y = q @ weights, x @ q.T
    activation = ACTIVATIONS[name]
    np.testing.assert_allclose(
        forward(turned, head, y, activation), forward(weights, head, x, activation), rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(kernel_of(turned, head, y, name), kernel_of(weights, head, x, name), rtol=1e-11)
    gradient, other = (loss_gradient(head, slopes(w, p, name), p, residual) for w, p in ((weights, x), (turned, y)))
    np.testing.assert_allclose(other, q @ gradient, rtol=1e-10, atol=1e-12)


def test_the_order_of_the_neurons_does_not_matter(name: str) -> None:
    network = started(SMALL.replace(init="independent"))
    order = np.random.default_rng(0).permutation(64)
    mixed, x = permuted(network, order), points()
    activation = ACTIVATIONS[name]
    np.testing.assert_allclose(forward(*mixed, x, activation), forward(*network, x, activation), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel_of(*mixed, x, name), kernel_of(*network, x, name), rtol=1e-12)


def test_swapping_the_members_of_every_pair_changes_nothing_at_the_start() -> None:
    network, x = started(SMALL), points()
    swapped = permuted(network, np.roll(np.arange(64), 32))
    assert not np.any(np.asarray(forward(*swapped, x, EXP)))
    np.testing.assert_allclose(kernel_of(*swapped, x), kernel_of(*network, x), rtol=1e-14)
    np.testing.assert_array_equal(swapped[1].signs, -network[1].signs)
    np.testing.assert_array_equal(swapped[0], network[0])


def test_opposite_targets_and_signs_give_the_same_path_of_the_weights() -> None:
    weights, head = started(SMALL.replace(init="independent"))
    opposite = Head(-head.signs, head.scale)
    x, y = points(), np.linspace(-0.9, 0.7, 5)
    one = other = weights
    for _ in range(3):
        outputs, mirrored = forward(one, head, x, EXP), forward(other, opposite, x, EXP)
        np.testing.assert_array_equal(mirrored, -outputs)
        one = one - 1e-3 * loss_gradient(head, slopes(one, x), x, outputs - y)
        other = other - 1e-3 * loss_gradient(opposite, slopes(other, x), x, mirrored + y)
        np.testing.assert_array_equal(one, other)
    assert np.abs(one - weights).max() > 1e-4


@pytest.mark.parametrize("width", [2, 64])
def test_the_kernel_has_no_negative_eigenvalue(name: str, width: int) -> None:
    for seed in range(5):
        weights, head = started(SMALL.replace(neurons=width), seed)
        values = np.linalg.eigvalsh(kernel_of(weights, head, points(), name))
        assert values[0] >= -1e-14 * max(values[-1], 1)


def test_orthonormal_points_have_a_diagonal_kernel_at_every_width(name: str) -> None:
    weights, head = started(SMALL.replace(neurons=6))
    found = kernel_of(weights, head, np.eye(3), name)
    assert not np.any(found - np.diag(np.diag(found)))
    assert np.all(np.diag(found) > 0)
