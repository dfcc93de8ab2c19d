"""One point in closed form, separate points, the tight cases, and weights moved by at most R, against plain NumPy."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.exp_regression.claims.decomposition import tight_step
from lemmata.theories.exp_regression.data import Data, draw
from lemmata.theories.exp_regression.decomposition import asymmetric_kernel
from lemmata.theories.exp_regression.flow import compare_flow, compare_separate, flow_limit, flow_weights
from lemmata.theories.exp_regression.network import Head, initialise
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.studies import moved_ratios, perturb_weights

PROBLEM = Setting(samples=3, dimension=4, neurons=8, neuron_room=8).problem()


LIMIT, WEIGHTS = jax.jit(flow_limit), jax.jit(flow_weights, static_argnames="defect")


def limit(signs: Any, start: Any, square: float, y: float) -> float:
    with numerics("float64"):
        return float(LIMIT(np.asarray(signs, float), np.asarray(start, float), np.asarray(square), np.asarray(y)))


def ends(signs: Any, start: Any, square: float, E: float, defect: bool = False) -> np.ndarray:
    with numerics("float64"):
        arrays = (np.asarray(value, float) for value in (signs, start, square, E))
        return np.asarray(WEIGHTS(*arrays, defect=defect))


def integrated(x: np.ndarray, y: float, W: np.ndarray, a: np.ndarray, time: float) -> tuple[np.ndarray, float]:
    """W(time) of gradient flow on one point, and ∫ (F - y)."""

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        W = state[:-1].reshape(len(x), -1)
        values = np.exp(x @ W)
        error = values @ a - y
        return np.append((-error * a * values * x[:, None]).ravel(), error)

    found = solve_ivp(velocity, (0, time), np.append(W.ravel(), 0.0), method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[:-1, -1].reshape(W.shape), float(found.y[-1, -1])


# Gradient flow on one point


def test_four_neurons_at_zero_end_where_the_specification_says():
    signs = [1, -1, 1, -1]
    E = limit(signs, np.zeros(4), 1.0, 1.0)
    # the flow raises F from 0 to y, so ∫ (F - y) is negative
    assert pytest.approx(-0.23606798, abs=5e-9) == E
    assert pytest.approx(-(-4 + math.sqrt(20)) / 2, rel=1e-14) == E
    weights = ends(signs, np.zeros(4), 1.0, E)
    np.testing.assert_allclose(weights, [0.26927647, -0.21193536] * 2, atol=5e-9)
    assert np.dot(signs, np.exp(weights)) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("m", "y"), [(2, 0.7), (4, -1.0), (40, 0.1)])
def test_from_zero_weights_the_limit_has_a_closed_form(m, y):
    E = limit(np.tile([1, -1], m // 2), np.zeros(m), 1.0, y)
    assert pytest.approx(-math.copysign((-m + math.sqrt(m**2 + 4 * y**2)) / (2 * abs(y)), y), rel=1e-12) == E


CASES = {
    "pairs": (np.tile([1.0, -1.0], 3), np.repeat([0.4, -0.8, 1.1], 2), 0.6),
    "unequal": (np.array([1.0, 1, 1, -1]), np.array([0.2, -0.5, 0.9, 0.3]), -0.9),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_is_the_root_where_all_denominators_are_positive_and_the_end_of_the_flow(name):
    a, start, y = CASES[name]
    x = np.array([0.3, -0.6, 0.4])
    square = float(x @ x)
    rng = np.random.default_rng(3)
    across = rng.standard_normal((3, len(a)))
    W = np.outer(x, start) / square + across - np.outer(x, x @ across) / square
    E = limit(a, start, square, y)
    below = np.exp(-start) + a * square * E
    assert np.all(below > 0)
    assert np.sum(a / below) == pytest.approx(y, abs=1e-12)
    reached, integral = integrated(x, y, W, a, 60.0)
    assert integral == pytest.approx(E, abs=1e-8)
    np.testing.assert_allclose(x @ reached, ends(a, start, square, E), atol=1e-8)
    assert np.abs(x @ reached - ends(a, start, square, E, defect=True)).max() > 1e-2
    # weights move along x only
    moved = reached - W
    np.testing.assert_allclose(moved - np.outer(x, x @ moved) / square, 0, atol=1e-12)


def test_the_flow_conserves_every_inverse_exponential_less_its_share_of_the_integral():
    a, start, y = CASES["unequal"]
    x = np.array([0.6, 0.7])
    square = x @ x
    W = np.outer(x, start) / square
    for time in (0.05, 0.3, 2.0):
        now, integral = integrated(x, y, W, a, time)
        assert abs(integral) > 1e-3
        np.testing.assert_allclose(np.exp(-x @ now) - a * square * integral, np.exp(-start), atol=1e-10)


def compared(descend: int, x: Any, y: float, defect: float = 0.0) -> dict[str, np.ndarray]:
    """`compare_flow` after so many small plain steps from random weights; with one neuron that is not used."""
    rng = np.random.default_rng(0)
    W = np.repeat(rng.standard_normal((2, 2)), 2, axis=1)
    W = np.concatenate([W, [[5.0, 9.0], [1.0, -2.0]]], axis=1)[:, [0, 2, 4, 1, 3, 5]]
    a = np.array([1.0, -1, 0, -1, 1, 0])
    after = W.copy()
    for _ in range(descend):
        values = np.exp(x @ after)
        after = after - 1e-3 * (values @ a - y) * a * values * x[:, None]
    after[0] += defect * abs(a)
    with numerics("float64"):
        data = Data(jnp.asarray(x)[None], jnp.asarray([y]))
        head = Head(jnp.asarray(a), jnp.asarray(1.0))
        return jax.device_get(compare_flow(PROBLEM, data, jnp.asarray(W), jnp.asarray(after), head))


def test_small_steps_on_one_point_arrive_at_the_flow_and_never_leave_its_line():
    x = np.array([0.8, 0.6])
    found = compared(20_000, x, 0.5)
    assert found["flow_error"][0] < 2e-3
    assert found["flow_error"][1] > 0.05
    assert found["flow_across"] < 1e-12
    off = compared(20_000, x, 0.5, defect=0.1)
    # a shift of 0.1 along the first axis: 0.08 along x, 0.06 across
    assert off["flow_across"] == pytest.approx(0.06, rel=1e-9)
    assert abs(off["flow_error"][0] - 0.08) < 2e-3


# Orthonormal points


def difference(x: np.ndarray) -> float:
    with numerics("float64"):
        weights, head = initialise(PROBLEM, stream(jax.random.key(0), "init"))
        data = Data(jnp.asarray(x), jnp.asarray([0.5, -0.8, 0.9]))
        return float(compare_separate(PROBLEM, data, weights, head, jnp.asarray(5e-3))["separate_difference"])


def test_orthonormal_points_are_trained_each_on_its_own():
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))
    assert difference(rotation[:3]) < 1e-12
    tilted = rotation[:3].copy()
    tilted[1] = math.cos(1e-3) * tilted[1] + math.sin(1e-3) * tilted[0]
    assert difference(tilted) > 1e-6


def test_separate_runs_are_fifty_steps_of_each_point():
    x = np.random.default_rng(1).standard_normal((3, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.array([0.5, -0.8, 0.9])
    with numerics("float64"):
        weights, head = jax.device_get(initialise(PROBLEM, stream(jax.random.key(0), "init")))

    def descend(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        W = weights
        for _ in range(50):
            values = np.exp(x @ W)
            W = W - 5e-3 * head.signs * (x.T @ ((values @ head.signs - y)[:, None] * values))
        return x @ W

    joint = descend(x, y)
    alone = np.concatenate([descend(x[i : i + 1], y[i : i + 1]) for i in range(3)])
    outputs = (np.exp(joint) - np.exp(alone)) @ head.signs
    expected = max(np.abs(joint - alone).max(), np.abs(outputs).max())
    assert difference(x) == pytest.approx(expected, rel=1e-9)


# Tight cases: W = 0, a_r = 1, one point


def test_the_tight_case_reaches_the_bounds_on_the_second_order_term_and_the_gradient():
    with numerics("float64"):
        found = tight_step()
    assert found["square"] == pytest.approx(7.7**2, rel=1e-14)
    assert found["second_order"] == pytest.approx(1.0, abs=1e-12)
    assert found["gradient_norm"] == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(found["lengths"], 7.7, rtol=1e-14)
    # the printed bound is exceeded by nearly (m - y)/2
    assert found["second_order_printed"] == pytest.approx(3.840, abs=5e-4)


@pytest.mark.parametrize("eta", [1e-2, 1e-3, 1e-5])
def test_the_tight_case_reaches_a_quarter_of_the_bound_on_the_third_term(eta):
    with numerics("float64"):
        ratios = tight_step(eta=eta)
    expected = ((1 - math.exp(-eta * 7.7)) / (2 * eta * 7.7)) ** 2
    assert ratios["third_order"] == pytest.approx(expected, rel=1e-9)
    assert ratios["third_order_stated"] == pytest.approx(4 * expected, rel=1e-9)


def test_away_from_zero_weights_the_bounds_are_not_reached():
    with numerics("float64"):
        ratios = tight_step(projection=0.5)
    assert ratios["second_order"] < 0.9
    assert ratios["third_order"] < 0.2
    # only the neurons with <w, x> = +B have the longest gradient
    assert ratios["gradient_norm"] == pytest.approx(1.0, abs=1e-12)


def test_the_asymmetric_kernel_reaches_its_bound_in_the_tight_case():
    with numerics("float64"):
        assert tight_step()["asymmetric"] == 1.0
        assert tight_step(mask=0.5)["asymmetric"] == 0.5


def test_the_asymmetric_kernel_weights_every_point_and_neuron_on_its_own():
    rng = np.random.default_rng(0)
    x, W, mask = rng.standard_normal((3, 4)), rng.standard_normal((4, 6)), rng.uniform(-1, 1, (3, 6))
    signs = np.array([1.0, -1, 0, 1, -1, 0])
    with numerics("float64"):
        found = np.asarray(jax.jit(asymmetric_kernel)(Head(signs, np.ones(())), np.exp(x @ W), x, mask))
    for i in range(3):
        for j in range(3):
            terms = [mask[i, r] * math.exp(W[:, r] @ x[i] + W[:, r] @ x[j]) for r in (0, 1, 3, 4)]
            assert float(found[i, j]) == pytest.approx(x[i] @ x[j] * sum(terms) / 4, rel=1e-12)


# Weights moved by at most R


def plain_ratios(x: np.ndarray, W: np.ndarray, V: np.ndarray, R: float) -> dict[str, Any]:
    """Every ratio of Lemmas 6.2 and 6.7, entry by entry; W and V have the neurons that are used."""
    n, m = len(x), W.shape[1]

    def kernel(W: np.ndarray) -> np.ndarray:
        return np.array([[x[i] @ x[j] * np.mean(np.exp((x[i] + x[j]) @ W)) for j in range(n)] for i in range(n)])

    pairs = [(i, j) for i in range(n) for j in range(n)]
    change = np.array([[(W[:, r] - V[:, r]) @ (x[i] + x[j]) for r in range(m)] for i, j in pairs])
    old, new = kernel(W), kernel(V)
    relative = np.array(
        [
            [
                abs(new[i, j] - old[i, j]) / ((math.exp(R * np.linalg.norm(x[i] + x[j])) - 1) * abs(old[i, j]))
                for j in range(n)
            ]
            for i in range(n)
        ]
    )
    return {
        "moved_projection": np.abs(x @ V).max() / (np.abs(x @ W).max() + R),
        "moved_exponential": np.exp(x @ V).max() / (np.exp(x @ W).max() * math.exp(R)),
        "difference": np.abs(change).max() / (2 * R),
        "exponential_difference": np.abs(np.exp(change) - 1).max() / (4 * R),
        "frobenius_change": np.linalg.norm(new - old) / (3 * n * R * math.exp(2 * np.abs(x @ W).max())),
        "entry_change": relative.max(),
        "relative_change": relative,
    }


def test_the_ratios_of_moved_weights_are_those_of_the_lemmas():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    W, shift = rng.standard_normal((4, 6)), rng.standard_normal((4, 6))
    R = 9e-3
    V = W + 1.3 * R * shift / np.linalg.norm(shift, axis=0)
    signs = np.array([1.0, -1, 0, -1, 1, 0])
    # what is not used must not be seen, however large
    W[:, signs == 0] *= 40
    V[:, signs == 0] += 30
    with numerics("float64"):
        found = jax.device_get(jax.jit(moved_ratios)(Head(signs, np.ones(())), x, W, V, R))
    expected = plain_ratios(x, W[:, signs != 0], V[:, signs != 0], R)
    assert found.keys() == expected.keys()
    for key in expected:
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-9, err_msg=key)


SHIFTED = Setting(samples=3, dimension=4, neurons=12, neuron_room=16, radius=9e-4)


@pytest.mark.parametrize("shift", ["random", "point", "pair"])
def test_a_perturbation_moves_every_weight_by_its_factor_of_the_radius(shift):
    for seed, factor in ((0, 1.0), (1, 1.6)):
        setting = SHIFTED.replace(shift=shift, factor=factor)
        found = jax.device_get(perturb_weights(setting, seed))
        with numerics("float64"):
            key = jax.random.key(seed)
            x = np.asarray(draw(setting.problem(), key).x)
            W, head = jax.device_get(initialise(setting.problem(), stream(key, "init")))
            noise = np.asarray(jax.random.normal(stream(key, "noise"), W.T.shape)).T
        used = head.signs != 0
        W, noise = W[:, used], noise[:, used]
        projections = x @ W
        i, r = np.unravel_index(np.abs(projections).argmax(), projections.shape)
        top = np.unravel_index(projections.argmax(), projections.shape)[0]
        j = (i + 1) % 3
        directions = {
            "random": [noise / np.linalg.norm(noise, axis=0)],
            "point": [np.sign(projections[i, r]) * x[i][:, None], x[top][:, None]],
            "pair": [((x[i] + x[j]) / np.linalg.norm(x[i] + x[j]))[:, None]],
        }[shift]
        ratios = [plain_ratios(x, W, W + factor * 9e-4 * direction, 9e-4) for direction in directions]
        assert found.keys() == (ratios[0].keys() - {"relative_change"}) | {"pair_change"}
        for key in found.keys() - {"pair_change"}:
            assert found[key] == pytest.approx(max(ratio[key] for ratio in ratios), rel=1e-8), key
        assert found["pair_change"] == pytest.approx(ratios[0]["relative_change"][i, j], rel=1e-8)


def test_each_bound_is_reached_by_the_shift_that_aims_at_it():
    point = perturb_weights(SHIFTED.replace(shift="point"), 0)
    pair = perturb_weights(SHIFTED.replace(shift="pair"), 0)
    for key in ("moved_projection", "moved_exponential", "difference"):
        assert float(point[key]) == pytest.approx(1.0, abs=1e-12), key
    assert float(pair["pair_change"]) == pytest.approx(1.0, abs=1e-10)
    assert float(perturb_weights(SHIFTED.replace(shift="point", factor=1.1), 0)["difference"]) == pytest.approx(1.1)
