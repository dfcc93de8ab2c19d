"""EM on sampled mixtures: it finds them, at the rate the paper quotes, and too many components cost precision."""

import numpy as np
import pytest

import lemmata as lm
from lemmata.theories.group_imbalance.data import Mixture, draw_groups, draw_inputs
from lemmata.theories.group_imbalance.mixture import (
    density_error,
    estimate_mixture,
    known_mixture,
    match_groups,
    mixture_error,
)
from lemmata.theories.group_imbalance.moments import terms

PSI = Mixture(
    np.array([0.3, 0.7]),
    np.array([[2.0, 0.0, 0.0], [-1.5, 1.0, 0.0]]),
    np.stack([np.diag([0.5, 1.0, 1.5]), np.array([[1.0, 0.4, 0], [0.4, 1.0, 0], [0, 0, 0.8]])]),
)


def sampled(count, seed=0):
    rng = np.random.default_rng(seed)
    groups = draw_groups(rng, PSI.weights, count)
    return draw_inputs(rng, PSI, groups), groups


def test_em_finds_the_mixture_it_was_given_up_to_the_order_of_groups():
    x, groups = sampled(20_000)
    found = estimate_mixture(x, 2)
    assert found.converged
    assert mixture_error(found.mixture, PSI) < 0.08
    at = match_groups(found.mixture, PSI)
    assert (found.responsibilities[:, at].argmax(1) == groups).mean() > 0.95


def test_the_error_falls_as_one_over_the_root_of_the_samples():
    counts = np.array([500, 8000])
    errors = [
        np.median(
            [mixture_error(estimate_mixture(sampled(n, seed)[0], 2, restarts=1).mixture, PSI) for seed in range(9)]
        )
        for n in counts
    ]
    slope = np.diff(np.log(errors)) / np.diff(np.log(counts))
    assert -0.75 < slope[0] < -0.3


def test_too_many_components_still_find_the_density_and_leave_one_over():
    x, _ = sampled(10_000)
    exact, over = (estimate_mixture(x, count, restarts=2) for count in (2, 3))
    fresh, _ = sampled(20_000, 1)
    assert -1e-3 < density_error(over.mixture, PSI, fresh) < 0.01
    assert over.log_likelihood > exact.log_likelihood  # on its own data the larger model always fits better
    assert len(set(match_groups(over.mixture, PSI))) == 2
    assert mixture_error(over.mixture, PSI) > mixture_error(exact.mixture, PSI)


def test_known_groups_need_no_em():
    x, groups = sampled(20_000)
    found = known_mixture(x, groups)
    assert mixture_error(found, PSI) < 0.08
    np.testing.assert_allclose(found.covariances[0], np.cov(x[groups == 0].T, bias=True))
    np.testing.assert_allclose(
        known_mixture(x, groups, 0.5).covariances - found.covariances, 0.5 * np.eye(3)[None].repeat(2, 0)
    )
    with pytest.raises(lm.UserError, match="Group 2 has 1 samples"):
        known_mixture(x[:5], np.array([0, 0, 0, 0, 1]))


def test_the_density_is_a_density():
    one = Mixture(np.array([0.25, 0.75]), np.array([[0.0], [2.0]]), np.array([[[1.0]], [[0.25]]]))
    grid = np.linspace(-10, 10, 4001)[:, None]
    assert np.exp(terms(one, grid).log_density).sum() * 0.005 == pytest.approx(1, abs=1e-9)


def test_the_covariance_floor_keeps_a_component_from_collapsing():
    x = np.concatenate([np.zeros((50, 2)), sampled(200)[0][:, :2]])
    found = estimate_mixture(x, 2, floor=1e-3)
    assert np.linalg.eigvalsh(found.mixture.covariances).min() >= 0.99e-3


@pytest.mark.parametrize(("x", "groups"), [(np.zeros((3, 2)), 2), (np.full((9, 2), np.nan), 2), (np.zeros((9, 2)), 0)])
def test_what_em_cannot_fit_is_refused(x, groups):
    with pytest.raises(lm.UserError):
        estimate_mixture(x, groups)
