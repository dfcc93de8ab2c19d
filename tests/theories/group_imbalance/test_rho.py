"""ρ against the oracles of section 8 (items 6 and 9), its limits of row 15 and the minorants of row 16."""

import numpy as np
import pytest

from lemmata.theories.group_imbalance import rho
from lemmata.theories.group_imbalance.network import ACTIVATIONS, SIGMOID

TWO = np.eye(2)


def by_trapezoid(u, sigma):
    """Both variances on a plain fine grid: slow, and independent of the panels."""
    step = min(0.02, 0.1 / sigma)
    z = np.arange(max(u - 2 * sigma, 0) - 14, u + 14, step)
    density = np.exp(-((z - u) ** 2) / 2) / np.sqrt(2 * np.pi) * step
    tail = np.exp(-np.abs(sigma * z))
    slope = tail / (1 + tail) ** 2
    plain, weighted = density @ slope, density @ (slope * z * z)
    return density @ (slope - plain) ** 2, density @ (z * z * (slope - weighted / (1 + u * u)) ** 2)


def test_moments_and_values_are_those_of_item_6():
    found = rho.moments(0.0, 1.0)
    np.testing.assert_allclose(found.alpha[::2], [0.2066209641, 0.1442244802], atol=6e-11)
    np.testing.assert_allclose(found.beta[::2], [0.0448362414, 0.0237068318], atol=6e-11)
    assert rho.rho([0, 0], 1) == pytest.approx(0.0021440185, abs=6e-11)
    assert rho.rho([1, 0], 1) == pytest.approx(0.0029061311, abs=6e-11)
    assert rho.rho([1, -1], 2) == pytest.approx(0.0036330548, abs=6e-11)
    assert found.alpha[2] - found.alpha[0] == pytest.approx(-0.0623964839, abs=6e-11)  # item 9: E φ'''


def test_one_coordinate_uses_the_second_family_alone():
    assert rho.rho([0.7], 1.3) == rho.moments(0.7, 1.3).weighted_variance
    assert rho.rho(0.7, 1.3) == rho.rho([0.7], 1.3)


def test_the_sign_of_u_changes_the_odd_moments_alone():
    plus, minus = rho.moments(1.5, 2.0), rho.moments(-1.5, 2.0)
    assert plus.alpha[1] == -minus.alpha[1] != 0
    assert plus.variance == minus.variance
    assert rho.rho([1.5, 0.2], 2.0) == rho.rho([-1.5, 0.2], 2.0)


@pytest.mark.parametrize(
    ("u", "sigma"),
    [(0, 1e-3), (50, 1e-3), (3, 0.1), (10, 1), (50, 3), (20, 10), (0, 1e3), (30, 1e3), (5, 100), (12, 7), (37, 1)],
)
def test_panels_agree_with_a_plain_fine_grid_to_a_part_in_a_million(u, sigma):
    found = rho.moments(u, sigma)
    np.testing.assert_allclose([found.variance, found.weighted_variance], by_trapezoid(u, sigma), rtol=1e-6)


def test_the_limit_at_vanishing_scale_is_that_of_item_6_and_not_the_printed_one():
    u = np.array([1.0, 2.0])
    assert rho.vanishing_scale_limit(u) == pytest.approx(0.0063940016, abs=6e-11)
    assert rho.rho(u / 0.01, 0.01) == pytest.approx(rho.vanishing_scale_limit(u), rel=1e-2)
    assert abs((SIGMOID.first(u) ** 2).min() / rho.vanishing_scale_limit(u) - 1) > 0.05
    assert rho.rho(np.array([1.0, 0.0]) / 0.01, 0.01) < 1e-6
    assert rho.vanishing_scale_limit(np.array([1.0, 0.0])) == 0


@pytest.mark.parametrize("u", [0.0, 1.0, 2.0])
def test_both_families_have_the_limits_of_row_15(u):
    small, large = rho.moments(u, 0.01), rho.moments(u, 200.0)
    np.testing.assert_allclose([small.variance, small.weighted_variance], rho.small_scale_families(u, 0.01), rtol=1e-2)
    np.testing.assert_allclose([large.variance, large.weighted_variance], rho.large_scale_families(u, 200.0), rtol=3e-2)
    assert rho.small_scale_families(0.0, 0.01)[1] == pytest.approx(3 / 128 * 1e-8)
    assert small.weighted_variance < 0.05 * 9 / 64 * 0.01**2


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_far_out_the_first_family_decays_as_row_15_says(sigma):
    found, (first, second) = rho.moments(40.0, sigma), rho.large_mean_families(40.0, sigma)
    assert found.variance == pytest.approx(first, rel=0.02)
    assert found.weighted_variance == pytest.approx(second, rel=0.15)


def test_rho_is_positive_and_zero_only_for_a_constant_slope():
    assert all(rho.rho([a, b], s) > 1e-25 for a in (0, 2, 8) for b in (0, 1, 4) for s in (0.01, 1, 30))
    assert rho.rho([1, 2], 1.0, SIGMOID._replace(scale=1e-12)) < 1e-25


def test_rho_peaks_where_row_15_says():
    found = [rho.peak_scale(np.zeros(2), TWO, power) for power in (0, 1, 2)]
    np.testing.assert_allclose(found, [1.45, 2.07, 3.29], atol=0.01)


def test_tanh_is_the_sigmoid_at_twice_the_scale():
    assert rho.rho([1, 0.5], 0.7, ACTIVATIONS["tanh"]) == pytest.approx(4 * rho.rho([1, 0.5], 1.4), rel=1e-12)


@pytest.mark.parametrize("other", [0.0, 1.0])
def test_the_mean_minorant_is_positive_below_rho_and_falls(other):
    along = [np.array([t, other]) for t in np.linspace(0, 8, 9)]
    minorant = np.array([rho.mean_minorant(mean, 1.0, TWO) for mean in along])
    assert (minorant > 0).all()
    assert (minorant <= [rho.group_rho(mean, 1.0, TWO) * (1 + 1e-12) for mean in along]).all()
    assert (np.diff(minorant) <= 0).all()
    assert rho.rho([1, 1], 1.0) > rho.rho([0, 0], 1.0)  # ρ itself first rises


def test_the_mean_minorant_follows_the_eigenbasis_of_the_covariance():
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    along = [rho.rho([0.6 * t, 0.8 * t], 1.0) for t in np.linspace(0, 5, 65)]
    assert rho.mean_minorant(5 * turn[0], 1.0, TWO, 0, turn) == pytest.approx(min(along), rel=1e-12)
    assert rho.mean_minorant(5 * turn[0], 1.0, TWO, 1, turn) == pytest.approx(along[-1], rel=1e-12)


@pytest.mark.parametrize("smallest", [0.3, 2.0])
def test_the_scale_minorant_is_positive_below_rho_and_monotone_on_both_sides_of_its_peak(smallest):
    truth, zero = smallest * TWO, np.zeros(2)
    peak = rho.peak_scale(zero, truth)
    scales = np.geomspace(0.01, 100, 17)
    found = np.array([rho.scale_minorant(zero, s, truth, peak) for s in scales])
    assert (found > 0).all()
    assert (found <= [rho.group_rho(zero, s, truth) * (1 + 1e-12) for s in scales]).all()
    assert (np.diff((found / scales)[scales < peak]) >= 0).all()
    assert (np.diff(found[scales > peak]) <= 0).all()
    assert peak == pytest.approx(1.45 / smallest, rel=0.01)
