"""The network: the oracles of the specification, derivatives against autodiff, symmetries, saturated neurons."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.theories.group_imbalance import network
from lemmata.theories.group_imbalance.network import ACTIVATIONS, SIGMOID

W = np.array([[1.0, -0.5], [0.5, 1.0]])
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.0, -1.0]])
Y = np.array([1.0, 0.0, 1.0])


def case(seed: int, d: int = 4, K: int = 3, n: int = 12):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d, K)), rng.standard_normal((n, d)), (rng.random(n) < 0.5).astype(float)


def plain_risk(vector, x, y, phi, K):
    """The definition: -y log H - (1 - y) log(1 - H), naively."""
    H = phi.value(x @ network.unflatten(vector, K)).mean(-1)
    return -jnp.mean(y * jnp.log(H) + (1 - y) * jnp.log(1 - H))


def test_the_numbers_of_the_specification():
    np.testing.assert_allclose(network.output(W, X), [0.84918578, 0.52593994, 0.32324105], atol=1e-8)
    assert network.risk(W, X, Y) == pytest.approx(0.67975184, abs=1e-8)
    expected = [[-0.09721269, -0.09839587], [0.11826007, 0.07739212]]
    np.testing.assert_allclose(network.gradient(W, X, Y), expected, atol=1e-8)
    values = np.linalg.eigvalsh(network.hessian(W, X, Y))
    np.testing.assert_allclose(values, [-0.03607011, 0.0580682, 0.06459975, 0.13672094], atol=1e-8)


def test_at_zero_weights_the_output_is_a_half_and_the_hessian_has_rank_d():
    _, x, y = case(0)
    K, zero = 3, np.zeros((4, 3))
    assert np.all(network.output(zero, x) == 0.5)
    assert network.risk(zero, x, y) == pytest.approx(np.log(2), abs=1e-15)
    slope = -((y - 0.5)[:, None] * x).mean(0) / K
    np.testing.assert_allclose(network.gradient(zero, x, y), np.repeat(slope[:, None], K, 1), atol=1e-15)
    second = np.kron(np.ones((K, K)), x.T @ x / len(x)) / (4 * K**2)
    np.testing.assert_allclose(network.hessian(zero, x, y), second, atol=1e-15)


def test_one_neuron_is_logistic_regression():
    w, x, y = case(1, K=1)
    phi = 1 / (1 + np.exp(-(x @ w)[:, 0]))
    np.testing.assert_allclose(network.gradient(w, x, y)[:, 0], -((y - phi)[:, None] * x).mean(0), atol=1e-14)
    curvature = (x * (phi * (1 - phi))[:, None]).T @ x / len(x)
    for labels in (y, 1 - y):
        np.testing.assert_allclose(network.hessian(w, x, labels), curvature, atol=1e-14)


def test_equal_columns_are_one_neuron():
    w, x, _ = case(2, K=1)
    np.testing.assert_allclose(network.output(np.repeat(w, 3, 1), x), network.output(w, x), atol=1e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_of_an_activation_are_those_of_autodiff(name):
    phi = ACTIVATIONS[name]
    t = np.linspace(-4, 4, 41)
    with lm.numerics("float64"):
        chain = [phi.value]
        for _ in range(3):
            chain.append(jax.grad(chain[-1]))
        for mine, other in zip(phi.derivatives(t, 3), chain, strict=True):
            np.testing.assert_allclose(mine, jax.vmap(other)(jnp.asarray(t)), atol=1e-13)
    for together, alone in zip(phi.derivatives(t, 3), (phi.value, phi.first, phi.second), strict=False):
        np.testing.assert_array_equal(together, alone(t))
    np.testing.assert_allclose(phi.log_value(t), np.log(phi.value(t)), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(phi.value(-t), 1 - phi.value(t), atol=1e-15)
    np.testing.assert_allclose(phi.first(-t), phi.first(t), atol=1e-15)


def test_the_activations_are_those_of_the_specification():
    from scipy.special import erf, ndtr

    t = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(ACTIVATIONS["tanh"].value(t), (1 + np.tanh(t)) / 2, atol=1e-15)
    np.testing.assert_allclose(ACTIVATIONS["erf"].value(t), (1 + erf(t)) / 2, atol=1e-15)
    np.testing.assert_allclose(ACTIVATIONS["probit"].value(t), ndtr(t), atol=1e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("seed", [3, 4])
def test_risk_gradient_and_hessian_are_those_of_autodiff(name, seed):
    phi = ACTIVATIONS[name]
    weights, x, y = case(seed)
    vector = network.flatten(weights)
    with lm.numerics("float64"):
        arguments = (jnp.asarray(vector), jnp.asarray(x), jnp.asarray(y))
        f = lambda v: plain_risk(v, *arguments[1:], phi, 3)  # noqa: E731
        assert network.risk(weights, x, y, phi) == pytest.approx(float(f(arguments[0])), rel=1e-12)
        slope, curvature = jax.grad(f)(arguments[0]), jax.hessian(f)(arguments[0])
        np.testing.assert_allclose(network.flatten(network.gradient(weights, x, y, phi)), slope, atol=1e-13)
        np.testing.assert_allclose(network.hessian(weights, x, y, phi), curvature, atol=1e-12)
        compiled = network.gradient(jnp.asarray(weights), *arguments[1:], phi)
        np.testing.assert_allclose(compiled, network.gradient(weights, x, y, phi), atol=1e-14)
    xi = network.factors(weights, x, y, phi)[1]
    np.testing.assert_allclose(
        network.expand(weights, x, y, phi=phi).hessian,
        np.einsum("jkn,na,nb->jakb", xi, x, x).reshape(12, 12) / len(y),
        atol=1e-13,
    )


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_third_derivative_factors_are_those_of_autodiff_and_symmetric(label):
    weights, x, _ = case(5, n=3)
    y = np.full(3, label)
    T = network.third_factors(weights, x, y)
    with lm.numerics("float64"):
        for i in range(3):

            def one(s, i=i):
                H = SIGMOID.value(s).mean()
                return -(y[i] * jnp.log(H) + (1 - y[i]) * jnp.log(1 - H))

            expected = jax.jacfwd(jax.hessian(one))(jnp.asarray(x[i] @ weights))
            np.testing.assert_allclose(T[i], expected, atol=1e-12)
    np.testing.assert_allclose(T, T.transpose(0, 2, 3, 1), atol=1e-14)
    np.testing.assert_allclose(T, T.transpose(0, 2, 1, 3), atol=1e-14)


def test_pointwise_bounds_of_the_sigmoid():
    rng = np.random.default_rng(6)
    weights, x = 5 * rng.standard_normal((4, 3)), rng.standard_normal((4000, 4))
    for y in (np.zeros(4000), np.ones(4000)):
        zeta, xi = (np.abs(each) for each in network.factors(weights, x, y))
        assert zeta.max() <= 1
        assert xi[~np.eye(3, dtype=bool)].max() <= 1
        assert xi.max() <= 2
        assert np.abs(network.third_factors(weights, x, y)).max() <= 6


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_saturated_neurons_give_finite_losses_and_derivatives(name):
    phi = ACTIVATIONS[name]
    weights, x = np.array([[900.0, 800.0]]), np.array([[1.0], [-1.0]])
    for y in (np.zeros(2), np.ones(2)):
        assert np.isfinite(network.losses(weights, x, y, phi)).all()
        assert np.isfinite(network.hessian(weights, x, y, phi)).all()
    assert network.losses(weights, x, np.array([0.0, 1.0]), SIGMOID) == pytest.approx(np.full(2, 800 + np.log(2)))
    steep = network.factors(weights, x, np.array([0.0, 1.0]))[0]
    assert np.abs(steep).sum(0) == pytest.approx(np.ones(2))


def test_columns_may_be_permuted_and_labels_exchanged_with_the_sign_of_the_weights():
    weights, x, y = case(7)
    assert network.risk(weights[:, [2, 0, 1]], x, y) == pytest.approx(network.risk(weights, x, y), abs=1e-15)
    assert network.risk(-weights, x, 1 - y) == pytest.approx(network.risk(weights, x, y), abs=1e-15)
    A = np.random.default_rng(8).standard_normal((4, 4))
    assert network.risk(np.linalg.inv(A).T @ weights, x @ A.T, y) == pytest.approx(
        network.risk(weights, x, y), abs=1e-9
    )


def test_the_sample_information_is_at_most_the_sample_second_moment_over_4k():
    weights, x, _ = case(9, n=200)
    for scale in (1e-6, 1.0, 5.0):
        H = network.output(scale * weights, x)
        xi = sum(
            p * network.factors(scale * weights, x, np.full(200, label))[1] for p, label in ((1 - H, 0.0), (H, 1.0))
        )
        F = np.einsum("jkn,na,nb->jakb", xi, x, x).reshape(12, 12) / 200
        top = np.linalg.eigvalsh(x.T @ x / 200)[-1] / 12
        assert np.linalg.eigvalsh(F)[-1] <= top * (1 + 1e-12)
        if scale < 1e-3:
            assert np.linalg.eigvalsh(F)[-1] == pytest.approx(top, rel=1e-5)
