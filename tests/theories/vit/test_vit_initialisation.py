"""The initialisations of the network (2.1), its output signs, and the polar factor."""

import math
from collections.abc import Iterator

import jax
import numpy as np
import pytest
from vit_network_cases import SMALL, start

from lemmata.lab.precision import numerics
from lemmata.networks.shallow import Network
from lemmata.theories.vit.network import Features, draw_signs, initial_errors, polar
from lemmata.theories.vit.setting import Setting


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Initialisations


@pytest.mark.parametrize("error", ["random", "confuse"])
@pytest.mark.parametrize("free", [False, True])
def test_assumption_2_3_1_is_met_with_equality(error: str, free: bool) -> None:
    setting = SMALL.replace(
        value_error_law=error, attention_error_law=error, free_queries=free, value_error=0.15, attention_error=0.35
    )
    network, features, basis = start(setting)
    for f in features:
        np.testing.assert_allclose(f.T @ f, np.eye(5), atol=1e-12)
    for w, f, size in (
        (network.value, features.value, 0.15),
        (network.key, features.key, 0.35),
        (network.query, features.query, 0.35),
    ):
        np.testing.assert_allclose(np.linalg.norm(w @ basis - f, axis=0), size, rtol=1e-11)
        # the maps vanish on the complement of the patterns
        np.testing.assert_allclose(w @ (np.eye(10) - basis @ basis.T), 0, atol=1e-12)
    sigma, delta = initial_errors(network, features, basis)
    assert sigma == pytest.approx(0.15, rel=1e-11)
    assert delta == pytest.approx(0.35, rel=1e-11)


def test_query_features_are_the_key_features_unless_they_are_free() -> None:
    _, tied, _ = start(SMALL)
    np.testing.assert_array_equal(tied.query, tied.key)
    _, free, _ = start(SMALL.replace(free_queries=True))
    np.testing.assert_allclose(free.query[:, :2], free.key[:, :2], atol=1e-14)
    # the neutral ones are random in the eight-dimensional complement, not aligned with their keys
    assert np.all(np.abs(np.sum(free.query * free.key, axis=0)[2:]) < 0.95)
    assert np.linalg.norm(free.query - free.key) > 0.5


def test_confusing_errors_point_at_the_neighbouring_feature() -> None:
    network, features, basis = start(
        SMALL.replace(
            value_error_law="confuse",
            attention_error_law="confuse",
            free_queries=True,
            value_error=0.3,
            attention_error=0.4,
        )
    )
    neighbour = [1, 0, 1, 2, 3]
    p, q, r = features
    np.testing.assert_allclose(network.value @ basis, p + 0.3 * p[:, neighbour], atol=1e-12)
    np.testing.assert_allclose(network.key @ basis, q + 0.4 * q[:, neighbour], atol=1e-12)
    np.testing.assert_allclose(network.query @ basis, r + 0.4 * r[:, neighbour], atol=1e-12)


def test_value_errors_in_full_make_the_two_discriminative_features_collide() -> None:
    network, _, basis = start(
        SMALL.replace(
            value_error_law="confuse",
            attention_error_law="confuse",
            free_queries=True,
            value_error=1.0,
            attention_error=0.4,
        )
    )
    np.testing.assert_allclose(network.value @ basis[:, 0], network.value @ basis[:, 1], atol=1e-12)


def test_random_errors_of_keys_and_queries_are_independent() -> None:
    network, features, basis = start(SMALL)
    e_k, e_q = network.key @ basis - features.key, network.query @ basis - features.query
    cosines = np.sum(e_k * e_q, axis=0) / 0.2**2
    assert np.all(np.abs(cosines) < 0.95)


def test_given_error_directions_are_used() -> None:
    directions = np.eye(10)[:, [9, 8, 7, 6, 5]]
    network, features, basis = start(SMALL.replace(value_error_law="given", value_error_directions=directions))
    np.testing.assert_allclose(network.value @ basis, features.value + 0.1 * directions, atol=1e-12)


def test_the_literal_initialisation_is_400_times_the_identity_and_100_times_an_orthogonal_map() -> None:
    network, _, _ = start(SMALL.replace(init="literal"))
    np.testing.assert_allclose(network.key, 400 * np.eye(10), rtol=1e-12)
    np.testing.assert_allclose(network.query, 400 * np.eye(10), rtol=1e-12)
    np.testing.assert_allclose(network.value.T @ network.value, 1e4 * np.eye(10), rtol=1e-12, atol=1e-8)


def test_given_maps_are_the_initial_maps_and_their_errors_are_measured() -> None:
    rng = np.random.default_rng(0)
    w_v, w_k, w_q = rng.normal(size=(3, 10, 10))
    network, features, basis = start(SMALL.replace(init="given", value_map=w_v, key_map=w_k, query_map=w_q))
    np.testing.assert_array_equal(network.value, w_v)
    np.testing.assert_array_equal(network.key, w_k)
    np.testing.assert_array_equal(network.query, w_q)
    sigma, delta = initial_errors(network, features, basis)
    u, _, v = np.linalg.svd(w_v @ basis, full_matrices=False)
    assert sigma == pytest.approx(np.linalg.norm(w_v @ basis - u @ v, axis=0).max(), rel=1e-10)
    u, _, v = np.linalg.svd((w_k + w_q) @ basis / 2, full_matrices=False)
    worst = max(np.linalg.norm(w @ basis - u @ v, axis=0).max() for w in (w_k, w_q))
    assert delta == pytest.approx(worst, rel=1e-10)


def test_given_maps_of_integers_become_floating_point() -> None:
    maps = {name: np.eye(10, dtype=int).tolist() for name in ("value_map", "key_map", "query_map")}
    network, _, _ = start(SMALL.replace(init="given", **maps))
    assert {leaf.dtype for leaf in network} == {np.dtype(float)}


def test_clipping_divides_by_spectral_norms_above_one_only() -> None:
    loose, _, _ = start(SMALL.replace(value_error=0.0))
    tight, features, basis = start(SMALL.replace(value_error=0.0, clip_spectral=True))
    np.testing.assert_allclose(tight.value, loose.value, atol=1e-12)
    for name in ("key", "query"):
        one, two = getattr(loose, name), getattr(tight, name)
        norm = np.linalg.norm(one, 2)
        assert norm > 1.05
        np.testing.assert_allclose(two, one / norm, rtol=1e-12, atol=1e-14)
    half = 0.5 * np.eye(10)
    shrunk, _, _ = start(
        SMALL.replace(init="given", clip_spectral=True, value_map=half, key_map=half, query_map=3 * half)
    )
    np.testing.assert_allclose(shrunk.value, half, rtol=1e-12)
    np.testing.assert_allclose(shrunk.query, np.eye(10), rtol=1e-12, atol=1e-14)
    sigma, delta = initial_errors(tight, features, basis)
    assert sigma == pytest.approx(0, abs=1e-12)
    assert delta > 0.01


def test_output_weights_are_gaussian_with_the_rules_scale() -> None:
    given_scale, _, _ = start(SMALL)
    wide = SMALL.replace(output_rule="inv_sqrt_m")
    by_neurons, _, _ = start(wide)
    by_patterns, _, _ = start(SMALL.replace(output_rule="inv_sqrt_M"))
    np.testing.assert_allclose(by_neurons.output, 25 * given_scale.output, rtol=1e-12)
    np.testing.assert_allclose(by_patterns.output, 100 / math.sqrt(5) * given_scale.output, rtol=1e-12)
    entries = np.concatenate([start(SMALL, seed)[0].output.ravel() for seed in range(20)]) / 0.01
    assert abs(entries.mean()) < 4 / math.sqrt(entries.size)
    assert abs(entries.std() - 1) < 4 / math.sqrt(2 * entries.size)


def test_the_initial_maps_do_not_depend_on_the_sizes_of_their_errors() -> None:
    _, one, _ = start(SMALL)
    other_network, other, _ = start(SMALL.replace(value_error=0.4, attention_error=0.0, output_scale=0.5))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(other_network.output, 50 * start(SMALL)[0].output, rtol=1e-12)


# Output signs and the polar factor


def signs(setting: Setting, seed: int = 0) -> np.ndarray:
    return np.asarray(draw_signs(setting.problem(), jax.random.key(seed)))


def test_output_signs_have_magnitude_one_over_root_m() -> None:
    np.testing.assert_allclose(np.abs(signs(SMALL)), np.full(16, 0.25), rtol=1e-12)
    np.testing.assert_allclose(np.abs(signs(SMALL.replace(output="per_token"))), np.full((10, 16), 0.25), rtol=1e-12)


def test_shared_signs_are_fair_and_vary_in_number() -> None:
    positive = np.array([np.sum(signs(SMALL, seed) > 0) for seed in range(60)])
    assert abs(positive.mean() - 8) < 4 * 2 / math.sqrt(60)
    assert 1 < positive.std() < 3


def test_signs_per_token_are_fair_and_independent_across_positions() -> None:
    drawn = signs(SMALL.replace(output="per_token")) * 4
    assert abs(drawn.mean()) < 4 / math.sqrt(160)
    agreement = (drawn @ drawn.T / 16)[np.triu_indices(10, 1)]
    assert np.all(np.abs(agreement) < 1)
    assert abs(agreement.mean()) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_balanced_signs_are_half_positive_in_random_order(seed: int) -> None:
    drawn = signs(SMALL.replace(balanced_signs=True), seed)
    assert np.sum(drawn > 0) == 8
    assert not np.array_equal(drawn, np.sort(drawn)[::-1])


def test_the_polar_factor_is_the_nearest_orthonormal_set() -> None:
    rng = np.random.default_rng(0)
    p = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    root = rng.normal(size=(3, 3))
    np.testing.assert_allclose(polar(p @ (root @ root.T + 0.1 * np.eye(3))), p, atol=1e-12)


def test_initial_errors_are_the_largest_over_patterns_and_maps() -> None:
    features = Features(np.eye(3), np.eye(3), np.eye(3))
    off = lambda size, column: np.eye(3) + size * np.outer([0, 0.6, 0.8], np.eye(3)[column])  # noqa: E731
    network = Network(np.zeros((2, 3)), off(0.3, 2), off(0.1, 0), off(0.2, 1))
    sigma, delta = initial_errors(network, features, np.eye(3))
    assert sigma == pytest.approx(0.3)
    assert delta == pytest.approx(0.2)
    sigma, delta = initial_errors(network._replace(key=off(0.4, 0)), features, np.eye(3))
    assert delta == pytest.approx(0.4)
