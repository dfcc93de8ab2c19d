"""Population quantities against the oracles of section 8 (items 3, 5, 12, 13, 14, 16) and against simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.theories.group_imbalance import population
from lemmata.theories.group_imbalance.network import ACTIVATIONS, SIGMOID, losses

TRUTH = np.array([[1, 0.5, 0], [0, 2, -0.4], [-1, 0.3, 1.2], [0.5, 0, 0], [0, -0.5, 1]])
SMALL = np.array([[1.0, -0.5], [0.5, 1.0]])
ZERO, ONE = np.zeros(5), np.eye(5)


@pytest.fixture(scope="module")
def narrow_and_wide():
    """F_1 and F_2 of item 16: zero means, Σ = I and 10 I."""
    return population.fishers(np.zeros((2, 5)), np.stack([ONE, 10 * ONE]), TRUTH)


def random_group(rng, dimension, spread=1.0):
    root = rng.standard_normal((dimension, dimension))
    return spread * rng.standard_normal(dimension), root @ root.T / dimension + 0.2 * np.eye(dimension)


def test_the_fisher_information_of_item_12_has_its_eigenvalues():
    found = np.linalg.eigvalsh(population.fisher(np.zeros(2), np.eye(2), np.eye(2)))
    np.testing.assert_allclose(found, [0.00310622, 0.00351127, 0.07110483, 0.08346193], atol=5e-9)
    assert population.noise_floor(np.zeros(2), np.eye(2), np.eye(2)) == pytest.approx(0.64788586, abs=5e-9)


@pytest.mark.parametrize(("fraction", "wide", "narrow"), [(0.1, 66.4891, 6.0452), (0.5, 23.9134, 6.0866)])
def test_the_group_risk_predictor_has_the_values_of_item_16(narrow_and_wide, fraction, wide, narrow):
    at = [1 - fraction, fraction]
    assert population.group_risk_factors(at, narrow_and_wide)[1] == pytest.approx(wide, abs=6e-5)
    assert population.group_risk_factors(at, narrow_and_wide[::-1])[1] == pytest.approx(narrow, abs=6e-5)


def test_parameter_variance_and_floors_have_the_values_of_item_16(narrow_and_wide):
    assert population.parameter_variance([0.5, 0.5], narrow_and_wide) == pytest.approx(1529.70, abs=6e-3)
    assert population.noise_floor(ZERO, ONE, TRUTH) == pytest.approx(0.65918602, abs=6e-9)
    assert population.noise_floor(ZERO, 10 * ONE, TRUTH) == pytest.approx(0.61153536, abs=6e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_halving_the_step_of_the_grid_changes_nothing_to_seven_digits(scale):
    coarse = population.fisher(np.ones(5), scale * ONE, TRUTH)
    fine = population.fisher(np.ones(5), scale * ONE, TRUTH, refine=2.0)
    np.testing.assert_allclose(coarse, fine, atol=1e-7 * abs(fine).max())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("neurons", [1, 2, 3])
def test_quadrature_agrees_with_simulation_for_every_activation(activation, neurons):
    rng = np.random.default_rng(neurons)
    mean, covariance = random_group(rng, 4)
    truth, phi = rng.standard_normal((4, neurons)), ACTIVATIONS[activation]
    exact = population.fisher(mean, covariance, truth, phi)
    blocks = np.stack(
        [population.sampled_fisher(mean, covariance, truth, rng.standard_normal((4000, 4)), phi) for _ in range(20)]
    )
    error = blocks.std(0, ddof=1) / np.sqrt(20)
    assert (abs(blocks.mean(0) - exact) < 6 * error + 1e-12).all()


def test_the_fisher_information_is_the_mean_hessian_of_the_loss_at_the_truth():
    from lemmata.theories.group_imbalance.network import hessian, output

    rng = np.random.default_rng(3)
    mean, covariance = random_group(rng, 3)
    truth = rng.standard_normal((3, 2))
    blocks = []
    for _ in range(20):
        x = mean + rng.standard_normal((20_000, 3)) @ population.square_root(covariance)
        y = (rng.random(len(x)) < output(truth, x)).astype(float)
        blocks.append(hessian(truth, x, y))
    error = np.std(blocks, 0, ddof=1) / np.sqrt(20)
    assert (abs(np.mean(blocks, 0) - population.fisher(mean, covariance, truth)) < 6 * error).all()


def test_floor_and_excess_risk_agree_with_simulation():
    rng = np.random.default_rng(5)
    mean, covariance = random_group(rng, 3)
    truth, weights = SMALL_3, SMALL_3 + 0.3 * rng.standard_normal((3, 2))
    x = mean + rng.standard_normal((400_000, 3)) @ population.square_root(covariance)
    (one, zero), (fit_one, fit_zero) = (
        [-losses(W, x, np.full(len(x), y)) for y in (1.0, 0.0)] for W in (truth, weights)
    )
    entropy = -np.exp(one) * one - np.exp(zero) * zero
    gap = np.exp(one) * (one - fit_one) + np.exp(zero) * (zero - fit_zero)
    for exact, sampled in (
        (population.noise_floor(mean, covariance, truth), entropy),
        (population.excess_risk(weights, mean, covariance, truth), gap),
    ):
        assert abs(sampled.mean() - exact) < 5 * sampled.std() / np.sqrt(len(x))


SMALL_3 = np.array([[1.0, -0.5], [0.5, 1.0], [-0.3, 0.8]])


def test_the_excess_risk_near_the_truth_is_half_the_fisher_quadratic_form():
    step = 1e-3 * np.array([[1.0, -2.0], [0.5, 1.0], [0.2, -0.4]])
    mean, covariance = np.array([0.5, -1.0, 0.2]), np.diag([1.0, 2.0, 0.5])
    form = step.T.ravel() @ population.fisher(mean, covariance, SMALL_3) @ step.T.ravel() / 2
    assert population.excess_risk(SMALL_3 + step, mean, covariance, SMALL_3) == pytest.approx(form, rel=3e-3)
    assert population.excess_risk(SMALL_3, mean, covariance, SMALL_3) == pytest.approx(0, abs=1e-14)
    assert population.excess_risk(SMALL_3[:, ::-1], mean, covariance, SMALL_3) == pytest.approx(0, abs=1e-14)


def test_one_neuron_is_logistic_regression():
    mean, covariance, truth = np.array([0.5, -1.0]), np.diag([1.0, 2.0]), np.array([[0.7], [-0.4]])
    x = mean + np.random.default_rng(0).standard_normal((200_000, 2)) * np.sqrt(np.diag(covariance))
    weights = SIGMOID.first(x @ truth)
    assert abs(population.fisher(mean, covariance, truth) - (x * weights).T @ x / len(x)).max() < 3e-3


def test_equal_columns_make_the_information_singular():
    w = np.array([1.0, -0.5, 0.2])
    found = population.fisher(np.ones(3), np.eye(3), np.stack([w, w], 1))
    values, vectors = np.linalg.eigh(found)
    np.testing.assert_allclose(values[:3], 0, atol=1e-12)
    np.testing.assert_allclose(vectors[:3, :3], -vectors[3:, :3], atol=1e-6)
    assert values[3] > 1e-3


def test_the_sign_of_the_mean_does_not_matter_so_that_mirrored_groups_share_the_average_risk():
    rng = np.random.default_rng(1)
    mean, covariance = random_group(rng, 4)
    truth = rng.standard_normal((4, 2))
    each = population.fishers(np.stack([mean, -mean]), np.stack([covariance, covariance]), truth)
    np.testing.assert_allclose(each[0], each[1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(population.group_risk_factors([0.9, 0.1], each), 8, rtol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), fraction=st.floats(0.05, 0.95))
def test_group_risks_average_to_the_number_of_parameters_and_survive_a_change_of_coordinates(seed, fraction):
    rng = np.random.default_rng(seed)
    groups = [random_group(rng, 3) for _ in range(2)]
    truth, change = rng.standard_normal((3, 2)), rng.standard_normal((3, 3)) + 2 * np.eye(3)
    at = np.array([fraction, 1 - fraction])
    means, covariances = (np.stack(each) for each in zip(*groups, strict=True))
    factors = population.group_risk_factors(at, population.fishers(means, covariances, truth))
    assert at @ factors == pytest.approx(6, rel=1e-8)
    turned = population.fishers(means @ change.T, change @ covariances @ change.T, np.linalg.solve(change.T, truth))
    np.testing.assert_allclose(population.group_risk_factors(at, turned), factors, rtol=1e-4)
    swapped = population.fishers(means, covariances, truth[:, ::-1])
    np.testing.assert_allclose(population.group_risk_factors(at, swapped), factors, rtol=1e-6)


def test_a_curve_over_the_fraction_is_its_points(narrow_and_wide):
    fractions = np.linspace(0.02, 0.98, 49)
    curve = population.group_risk_factors(np.stack([1 - fractions, fractions], 1), narrow_and_wide)
    np.testing.assert_allclose(
        curve[10], population.group_risk_factors([1 - fractions[10], fractions[10]], narrow_and_wide)
    )
    np.testing.assert_allclose(
        population.predicted_excess([0.5, 0.5], narrow_and_wide, 100.0)[1], 23.9134 / 200, rtol=1e-5
    )


def test_slopes_in_the_fraction_are_those_of_finite_differences_and_of_the_formula(narrow_and_wide):
    at, step = np.array([0.7, 0.3]), 1e-5
    slopes = population.group_risk_slopes(at, narrow_and_wide)
    for group in range(2):
        moved = [at + sign * step * ((np.arange(2) == group) - at) / (1 - at[group]) for sign in (1, -1)]
        up, down = (population.group_risk_factors(m, narrow_and_wide) for m in moved)
        np.testing.assert_allclose(slopes[:, group], (up - down) / (2 * step), rtol=1e-6)
        a = population.spread_eigenvalues(at, narrow_and_wide, group)
        assert slopes[group, group] == pytest.approx(-((a**2).sum() - a.sum()) / (1 - at[group]), rel=1e-9)
        assert a.sum() == pytest.approx(population.group_risk_factors(at, narrow_and_wide)[group])


def test_one_more_sample_lowers_every_risk_as_finite_differences_say(narrow_and_wide):
    counts = np.array([700.0, 300.0])
    found = population.more_samples(counts / 1000, narrow_and_wide, 1000)
    risks = lambda n: population.predicted_excess(n / n.sum(), narrow_and_wide, n.sum())  # noqa: E731
    for group in range(2):
        step = 0.1 * (np.arange(2) == group)
        np.testing.assert_allclose(found[:, group], (risks(counts + step) - risks(counts - step)) / 0.2, rtol=1e-6)
    assert (found < 0).all()


def test_a_vanishing_covariance_leaves_rank_one_a_group_and_a_full_fraction_the_single_group(narrow_and_wide):
    each = population.fishers(np.array([[1.0, 0, 0.5], [0, 1.0, -1.0]]), np.stack([1e-12 * np.eye(3)] * 2), SMALL_3)
    values = np.linalg.eigvalsh(population.average_fisher([0.5, 0.5], each))
    assert values[-2] > 1e-3
    assert values[-3] < 1e-10
    np.testing.assert_allclose(population.group_risk_factors([1 - 1e-12, 1e-12], narrow_and_wide)[0], 15, rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_largest_eigenvalue_is_at_most_that_of_the_second_moment_over_4k(seed):
    rng = np.random.default_rng(seed)
    mean, covariance = random_group(rng, 3, 2.0)
    second = np.linalg.eigvalsh(covariance + np.outer(mean, mean))[-1]
    for scale in (1e-4, 1.0):
        truth = scale * rng.standard_normal((3, 2))
        ratio = np.linalg.eigvalsh(population.fisher(mean, covariance, truth))[-1] / (second / 8)
        assert ratio <= 1 + 1e-9
        assert scale == 1 or ratio > 1 - 1e-5


def test_beyond_three_neurons_the_information_is_sampled_with_the_same_points_for_every_group():
    truth = np.random.default_rng(0).standard_normal((5, 4))
    each = population.fishers(np.stack([np.ones(5), -np.ones(5)]), np.stack([ONE, ONE]), truth)
    np.testing.assert_allclose(each[0], each[1], atol=1e-12)  # antithetic points: x and -x are the same sample
    assert np.linalg.eigvalsh(each[0])[0] > 0
