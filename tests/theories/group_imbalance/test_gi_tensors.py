"""The tensor start: scores against autodiff, moments against closed forms, exact recovery, both modes, all backends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import lemmata as lm
from lemmata.theories.group_imbalance import decompositions, moments
from lemmata.theories.group_imbalance.data import Mixture, draw_sample, draw_truth
from lemmata.theories.group_imbalance.decompositions import BACKENDS
from lemmata.theories.group_imbalance.initialisation import GRID, decompose, magnitude, slope_of, tensor_start
from lemmata.theories.group_imbalance.minimum import distance
from lemmata.theories.group_imbalance.moments import Exact, averages, sampled
from lemmata.theories.group_imbalance.network import ACTIVATIONS

I5 = np.eye(5)
FEASIBLE = Mixture([0.3, 0.7], [np.ones(5), -0.2 * np.ones(5)], [I5, 1.5 * I5])
FAR = Mixture([0.5, 0.5], [2 * np.ones(5), -2 * np.ones(5)], [I5, I5])
GAUSSIAN = Mixture([1.0], [np.zeros(5)], [I5])


def log_density(mixture: Mixture, x):
    parts = []
    for weight, mean, covariance in zip(mixture.weights, mixture.means, mixture.covariances, strict=True):
        off = x - mean
        quadratic = off @ jnp.linalg.inv(jnp.asarray(covariance)) @ off
        parts.append(
            jnp.log(weight) - 0.5 * quadratic - 0.5 * jnp.log(jnp.linalg.det(2 * jnp.pi * jnp.asarray(covariance)))
        )
    return jax.scipy.special.logsumexp(jnp.stack(parts))


def scores(mixture, x):
    """S_1 and S_2 at every point: the moments of samples of one point with the label 1."""
    one_by_one = [moments.Sampled(mixture, (lambda p=p: [(p[None], np.ones(1))],) * 3) for p in x]
    return tuple(np.stack([getattr(each, name)() for each in one_by_one]) for name in ("first", "second"))


def test_scores_are_derivatives_of_the_log_density():
    x = np.random.default_rng(0).standard_normal((4, 5))
    first, second = scores(FEASIBLE, x)
    with lm.numerics("float64"):
        slope = jax.grad(lambda point: log_density(FEASIBLE, point))
        bend = jax.hessian(lambda point: log_density(FEASIBLE, point))
        for i, point in enumerate(x):
            g, H = slope(jnp.asarray(point)), bend(jnp.asarray(point))
            np.testing.assert_allclose(first[i], -g, atol=1e-12)
            np.testing.assert_allclose(second[i], H + jnp.outer(g, g), atol=1e-12)


def test_third_moments_are_those_of_the_third_score_by_autodiff():
    rng = np.random.default_rng(1)
    x, t, U = rng.standard_normal((6, 5)), rng.standard_normal(6), rng.standard_normal((5, 2))
    everything = moments.Sampled(FEASIBLE, (moments.chunks(x, t, 0.0),) * 3)
    with lm.numerics("float64"):
        density = lambda point: jnp.exp(log_density(FEASIBLE, point))  # noqa: E731
        third = jax.jacfwd(jax.hessian(density))
        full = sum(-w * third(jnp.asarray(p)) / density(jnp.asarray(p)) for w, p in zip(t, x, strict=True)) / 6
        np.testing.assert_allclose(everything.projected(U), np.einsum("ijk,ia,jb,kc->abc", full, U, U, U), atol=1e-11)
        alpha = rng.standard_normal((2, 5))
        np.testing.assert_allclose(everything.contracted(alpha), np.einsum("ijk,ck->cij", full, alpha), atol=1e-11)


def test_scores_have_mean_zero_and_are_hermite_for_a_standard_gaussian():
    sample = draw_sample(FEASIBLE, np.eye(5)[:, :2], 2000, 0)
    for score in scores(FEASIBLE, sample.x):
        assert np.all(np.abs(score.mean(0)) < 5 * score.std(0) / 2000**0.5)
    x = sample.x[:3]
    first, second = scores(GAUSSIAN, x)
    np.testing.assert_allclose(first, x, atol=1e-13)
    np.testing.assert_allclose(second, x[:, :, None] * x[:, None, :] - I5, atol=1e-12)


def test_averages_of_the_probit_are_its_closed_forms():
    phi = ACTIVATIONS["probit"]
    one = Mixture([1.0], [[1.0]], [[[1.0]]])
    found = [averages(one, np.ones((1, 1)), phi, order)[0] for order in range(4)]
    np.testing.assert_allclose(found, [norm.cdf(1 / 2**0.5), 0.2196956, -0.1098478, -0.0549239], atol=1e-7)


def test_averages_of_the_sigmoid():
    one = Mixture([1.0], [[0.0]], [[[1.0]]])
    assert averages(one, np.ones((1, 1)), order=3)[0] == pytest.approx(-0.0623964839, abs=1e-10)
    for scale in (0.1, 1.0, 10.0):
        assert averages(one, np.full((1, 1), scale), order=3)[0] < 0
    np.testing.assert_allclose(
        Exact(FAR, draw_truth(np.random.default_rng(0), "gaussian", 5, 3)).second(), 0, atol=1e-15
    )


@pytest.mark.parametrize("centre", [0.0, 0.5])
def test_sampled_moments_approach_the_exact_ones(centre):
    truth = draw_truth(np.random.default_rng(2), "orthogonal", 5, 2, 2.0)
    n = 90_000
    sample = draw_sample(FEASIBLE, truth, n, 1)
    found, exact = sampled(FEASIBLE, sample.x, sample.y, np.random.default_rng(0), centre), Exact(FEASIBLE, truth)
    U = np.linalg.qr(truth)[0]
    assert np.linalg.norm(found.first() - exact.first()) < 0.03
    assert np.linalg.norm(found.second() - exact.second(), 2) < 0.05
    assert np.linalg.norm(found.projected(U) - exact.projected(U)) < 0.08
    alpha = np.full((1, 5), 5**-0.5)
    assert np.linalg.norm(found.contracted(alpha) - exact.contracted(alpha)) < 0.15


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("mixture", "neurons"), [(FAR, 3), (FEASIBLE, 2), (GAUSSIAN, 2), (FEASIBLE, 3), (GAUSSIAN, 1)])
def test_exact_moments_give_the_ground_truth_back(mixture, neurons, backend):
    for seed in range(3):
        truth = draw_truth(np.random.default_rng(seed), "gaussian", 5, neurons)
        found = decompose(Exact(mixture, truth), mixture, neurons, np.random.default_rng(9), backend=backend)
        assert distance(found.weights, truth) < 1e-6
        expected = truth * averages(mixture, truth) / neurons
        assert distance(found.literal, expected) < 1e-6
        assert not any(each.clipped for each in found.magnitudes)


def test_far_means_need_the_falling_branch():
    truth = draw_truth(np.random.default_rng(2), "gaussian", 5, 3)
    found = decompose(Exact(FAR, truth), FAR, 3, np.random.default_rng(0))
    others = [each for each in found.magnitudes if each.other == each.other]
    assert any(each.other < each.value for each in others)
    assert all(each.amplification >= 1 - 1e-6 for each in found.magnitudes if each.other != each.other)


def test_a_slope_beyond_the_peak_is_clipped():
    direction = np.full(5, 5**-0.5)
    top = slope_of(FAR, direction, GRID, 3).max()
    assert magnitude(FAR, direction, 1.2 * top, 0.0, 3).clipped
    assert not magnitude(FAR, direction, 0.8 * top, 0.0, 3).clipped
    assert magnitude(FAR, direction, 1e-9, 0.0, 3).value < 1e-3


def test_decompositions_agree_on_an_exact_tensor():
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((3, 3))
    vectors /= np.linalg.norm(vectors, axis=0)
    weights = np.array([2.0, -1.0, 0.5])
    R = decompositions.compose(vectors, weights)
    M = vectors @ np.diag([1.0, 2.0, 3.0]) @ vectors.T
    for found in (decompositions.kcl(R, rng), decompositions.jennrich(R, rng), decompositions.power(R, M, rng)):
        assert found.residual < 1e-8
        np.testing.assert_allclose(decompositions.compose(found.vectors, found.weights), R, atol=1e-8)


def test_the_start_of_a_large_sample_is_near_and_a_wrong_backend_is_refused():
    truth = draw_truth(np.random.default_rng(0), "orthogonal", 5, 2, 2.0)
    sample = draw_sample(GAUSSIAN, truth, 300_000, 0)
    found = tensor_start(GAUSSIAN, sample.x, sample.y, 2)
    assert distance(found.weights, truth) / np.linalg.norm(truth) < 0.25
    assert distance(found.literal, truth) / np.linalg.norm(truth) > 0.8
    with pytest.raises(lm.UserError, match="kcl"):
        tensor_start(GAUSSIAN, sample.x[:99], sample.y[:99], 2, backend="kc")


def test_assumptions_are_reported_by_neuron():
    truth = draw_truth(np.random.default_rng(0), "gaussian", 5, 3)
    report = moments.assumption_report(FAR, truth)
    np.testing.assert_allclose(report["second"], 0, atol=1e-15)
    assert np.all(report["first"] > 0)


def test_a_tensor_start_refuses_what_is_no_label_and_warns_of_a_clipped_magnitude():
    x = 2 * np.random.default_rng(0).standard_normal((3000, 5))  # wider than the mixture says
    y = (x[:, 0] > 0).astype(float)
    with pytest.warns(lm.AssumptionWarning, match="column 1"):
        found = tensor_start(GAUSSIAN, x, y, 1)
    assert found.magnitudes[0].clipped
    with pytest.raises(lm.UserError, match="0 or 1"):
        tensor_start(GAUSSIAN, x, y + 1, 1)
    with pytest.raises(lm.UserError, match="finite"):
        tensor_start(GAUSSIAN, np.where(x > 3, np.nan, x), y, 1)
