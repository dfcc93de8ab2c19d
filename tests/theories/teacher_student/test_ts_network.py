"""The students (section 3) and the per-sample gradient (Lemma C.1): loops, autodiff, one step from zero (8.9, 8.12).

Oracles are NumPy loops over samples, written from the specification: columns are queries and add to one.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ts_cases import SLOPES, small_teacher

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student import network
from lemmata.theories.teacher_student.network import Weights, batch_gradient, full_respond, position_scores, respond

FEATURES, TOKENS, OUTPUTS, SAMPLES = 3, 4, 2, 5


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def sigma(z: np.ndarray, slope: float) -> np.ndarray:
    return np.maximum(z, 0) + slope * np.minimum(z, 0)


def column_softmax(logits: np.ndarray) -> np.ndarray:
    mass = np.exp(logits)
    return mass / mass.sum(axis=0)


class Case:
    """Random weights, positions that are not orthogonal, and a random batch (feature, sample, token)."""

    def __init__(self, seed: int = 0, features: int = FEATURES, tokens: int = TOKENS, samples: int = SAMPLES) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.weights = Weights(rng.normal(size=(OUTPUTS, features)), rng.normal(size=(tokens, tokens)))
        self.positions = rng.normal(size=(tokens, tokens))
        self.inputs = rng.normal(size=(features, samples, tokens))
        self.labels = rng.normal(size=(OUTPUTS, samples, tokens))

    def scores(self, temperature: float = 1.0) -> np.ndarray:
        P = self.positions
        return column_softmax(P.T @ self.weights.attention @ P / (temperature * math.sqrt(len(P))))


# Activation


@pytest.mark.parametrize("slope", SLOPES)
def test_the_activation_is_linear_on_both_sides_of_zero(slope) -> None:
    z = jnp.array([-2.0, -0.5, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(network.activate(z, slope), [-2 * slope, -0.5 * slope, 0, 0.5, 3])
    np.testing.assert_allclose(network.activation_slope(z, slope), [slope, slope, 1, 1, 1])


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("kink", [0.0, 0.5, 1.0])
def test_the_slope_at_zero_is_the_kink_also_for_autodiff(slope, kink) -> None:
    z = jnp.array([-1e-300, 0.0, -0.0, 1e-300, 2.0])
    by_hand = [slope, kink, kink, 1, 1]
    np.testing.assert_array_equal(network.activation_slope(z, slope, kink), by_hand)
    derivative = jax.vmap(jax.grad(lambda x: network.activate(x, slope, kink)))(z)
    np.testing.assert_array_equal(derivative, by_hand)
    np.testing.assert_array_equal(network.activate(z[1:3], slope, kink), [0, 0])


# Scores


def test_columns_of_the_softmax_add_to_one_and_rows_only_under_the_defect() -> None:
    logits = np.random.default_rng(1).normal(size=(2, 4, 4))
    found = network.softmax(jnp.asarray(logits))
    for one, by_hand in zip(found, logits, strict=True):
        np.testing.assert_allclose(one, column_softmax(by_hand), rtol=1e-14)
    rows = network.softmax(jnp.asarray(logits), 1.0)
    np.testing.assert_allclose(rows[1], column_softmax(logits[1].T).T, rtol=1e-14)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_scores_are_the_softmax_of_keys_in_rows_against_queries_in_columns(temperature) -> None:
    case = Case(2)
    P, W = case.positions, case.weights.attention
    logits = np.array([[P[:, key] @ W @ P[:, query] for query in range(TOKENS)] for key in range(TOKENS)])
    expected = column_softmax(logits / (temperature * 2))
    np.testing.assert_allclose(position_scores(W, P, temperature), expected, rtol=1e-13)
    np.testing.assert_allclose(case.scores(temperature), expected, rtol=1e-13)
    by_rows = column_softmax(logits.T / (temperature * 2)).T
    np.testing.assert_allclose(position_scores(W, P, temperature, 1.0), by_rows, rtol=1e-13)


@pytest.mark.parametrize("rows", [None, 0.0, 1.0])
def test_the_pullback_through_the_softmax_is_its_derivative(rows) -> None:
    rng = np.random.default_rng(3)
    logits, gradient = jnp.asarray(rng.normal(size=(4, 4))), jnp.asarray(rng.normal(size=(4, 4)))
    scores, pull = jax.vjp(lambda x: network.softmax(x, rows), logits)
    found = network.softmax_pullback(scores, gradient, rows)
    np.testing.assert_allclose(found, pull(gradient)[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1 if rows else 0), 0, atol=1e-15)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_the_gradient_of_the_attention_comes_from_that_of_the_logits(temperature) -> None:
    case = Case(4)
    gradient = jnp.asarray(case.rng.normal(size=(TOKENS, TOKENS)))

    def logits(attention: Any) -> Any:
        return case.positions.T @ attention @ case.positions / (temperature * 2)

    expected = jax.vjp(logits, jnp.asarray(case.weights.attention))[1](gradient)[0]
    np.testing.assert_allclose(network.position_gradient(gradient, case.positions, temperature), expected, rtol=1e-12)


# Outputs


@pytest.mark.parametrize("slope", SLOPES)
def test_the_position_student_answers_each_sample_by_itself(slope) -> None:
    case = Case(5)
    S = case.scores()
    found = respond(case.weights.values, S, jnp.asarray(case.inputs), slope)
    assert found.shape == (OUTPUTS, SAMPLES, TOKENS)
    for n in range(SAMPLES):
        expected = sigma(case.weights.values @ case.inputs[:, n] @ S, slope)
        np.testing.assert_allclose(found[:, n], expected, rtol=1e-12, atol=1e-14)
        one = respond(case.weights.values, S, jnp.asarray(case.inputs[:, n]), slope)
        np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-14)


def wide_case(seed: int) -> tuple[Case, np.ndarray, np.ndarray]:
    """Weights of the full student: W_V and W_KQ over [X; P]."""
    case = Case(seed)
    width = FEATURES + TOKENS
    return case, case.rng.normal(size=(OUTPUTS, width)), 0.3 * case.rng.normal(size=(width, width))


def test_inputs_and_positions_are_stacked_in_this_order_for_every_sample() -> None:
    case = Case(6)
    both = network.concatenated(case.inputs, case.positions)
    assert both.shape == (FEATURES + TOKENS, SAMPLES, TOKENS)
    for n in range(SAMPLES):
        np.testing.assert_array_equal(both[:, n], np.vstack([case.inputs[:, n], case.positions]))
    single = network.concatenated(case.inputs[:, 0], case.positions)
    np.testing.assert_array_equal(single, both[:, 0])


@pytest.mark.parametrize(("slope", "temperature"), [(1.0, 1.0), (0.1, 2.0), (0.0, 1.0)])
def test_the_full_student_attends_by_inputs_and_positions_sample_by_sample(slope, temperature) -> None:
    case, values, attention = wide_case(7)
    both = network.concatenated(case.inputs, case.positions)
    found = full_respond(Weights(values, attention), both, slope, temperature=temperature)
    for n in range(SAMPLES):
        Z = np.vstack([case.inputs[:, n], case.positions])
        logits = np.zeros((TOKENS, TOKENS))
        for key, query in itertools.product(range(TOKENS), repeat=2):
            logits[key, query] = Z[:, key] @ attention @ Z[:, query] / (temperature * math.sqrt(TOKENS))
        expected = sigma(values @ Z @ column_softmax(logits), slope)
        np.testing.assert_allclose(found[:, n], expected, rtol=1e-12, atol=1e-13)
        single = full_respond(Weights(values, attention), both[:, n], slope, temperature=temperature)
        np.testing.assert_allclose(single, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
def test_the_full_student_with_inactive_blocks_at_zero_is_the_position_student(slope) -> None:
    case, _, _ = wide_case(8)
    values = np.hstack([case.weights.values, np.zeros((OUTPUTS, TOKENS))])
    attention = np.zeros((FEATURES + TOKENS,) * 2)
    attention[FEATURES:, FEATURES:] = case.weights.attention
    both = network.concatenated(case.inputs, case.positions)
    expected = respond(case.weights.values, case.scores(1.5), jnp.asarray(case.inputs), slope)
    found = full_respond(Weights(values, attention), both, slope, temperature=1.5)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_keys_and_queries_of_their_own_are_the_full_student_with_their_product() -> None:
    case, values, _ = wide_case(9)
    width = FEATURES + TOKENS
    keys, queries = 0.5 * case.rng.normal(size=(2, width, width))
    both = network.concatenated(case.inputs, case.positions)
    found = full_respond(Weights(values, keys.T @ queries), both, 0.1)
    for n in range(SAMPLES):
        Z = np.asarray(both[:, n])
        S = column_softmax((keys @ Z).T @ (queries @ Z) / math.sqrt(TOKENS))
        np.testing.assert_allclose(found[:, n], sigma(values @ Z @ S, 0.1), rtol=1e-12, atol=1e-13)


def test_blocks_are_named_by_key_first_and_query_second() -> None:
    attention = np.arange(25.0).reshape(5, 5)
    found = network.blocks(attention, 2)
    np.testing.assert_array_equal(found["xx"], [[0, 1], [5, 6]])
    np.testing.assert_array_equal(found["xp"], [[2, 3, 4], [7, 8, 9]])
    np.testing.assert_array_equal(found["px"], [[10, 11], [15, 16], [20, 21]])
    np.testing.assert_array_equal(found["pp"], attention[2:, 2:])
    assert list(found) == ["xx", "xp", "px", "pp"]


# Gradient


@functools.cache
def by_autodiff() -> Any:
    """∇ of the batch mean of ½‖Y - TF‖², by autodiff."""

    def loss(weights: Weights, P: Any, X: Any, Y: Any, slope: Any, kink: Any, temperature: Any) -> Any:
        scores = position_scores(weights.attention, P, temperature)
        errors = Y - respond(weights.values, scores, X, slope, kink)
        return 0.5 * jnp.sum(errors**2) / X.shape[1]

    return jax.jit(jax.grad(loss))


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_batch_gradient_is_autodiff_of_the_batch_loss(slope, temperature) -> None:
    case = Case(10)
    numbers = case.positions, jnp.asarray(case.inputs), case.labels, slope, 1.0, temperature
    for found, expected in zip(
        batch_gradient(case.weights, *numbers), by_autodiff()(case.weights, *numbers), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kink", [0.0, 0.3, 1.0])
def test_the_batch_gradient_at_zero_values_takes_the_slope_at_zero(kink) -> None:
    case = Case(11)
    values = np.array(case.weights.values)
    values[1] = 0
    weights = Weights(values, case.weights.attention)
    numbers = case.positions, jnp.asarray(case.inputs), case.labels, 0.1, kink, 1.0
    found, expected = batch_gradient(weights, *numbers), by_autodiff()(weights, *numbers)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    mixed = case.inputs @ case.scores()
    by_hand = -kink * np.einsum("nt,fnt->f", case.labels[1], mixed) / SAMPLES
    np.testing.assert_allclose(found.values[1], by_hand, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("slope", SLOPES)
def test_the_gradient_of_the_attention_is_the_sum_over_entries_of_the_lemma(slope) -> None:
    case = Case(12, features=2, tokens=3, samples=2)
    P, S, W = case.positions, case.scores(), case.weights.values
    expected = np.zeros((3, 3))
    for n, m, i in itertools.product(range(2), range(OUTPUTS), range(3)):
        x = case.inputs[:, n]
        u = W[m] @ x @ S[:, i]
        slack = (case.labels[m, n, i] - sigma(u, slope)) * (1.0 if u >= 0 else slope)
        for one, two in itertools.product(range(3), repeat=2):
            turn = np.outer(P[:, one] - P[:, two], P[:, i])
            expected -= slack * (W[m] @ x[:, one]) * S[one, i] * S[two, i] * turn / (2 * math.sqrt(3))
    found = batch_gradient(case.weights, P, jnp.asarray(case.inputs), case.labels, slope)
    np.testing.assert_allclose(found.attention, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("slope", "kink", "share"), [(1.0, 1.0, 1.0), (0.0, 1.0, 0.5), (0.0, 0.0, 0.0), (0.1, 1.0, 0.55), (0.0, 0.5, 0.25)]
)
def test_one_step_from_zero_is_a_share_of_the_teacher(slope, kink, share) -> None:
    teacher = small_teacher("supports", seed=2)
    rng, samples = np.random.default_rng(3), 4000
    X = rng.normal(size=(3, samples, 6))
    clean = np.einsum("mf,fnt->mnt", teacher.values, X @ teacher.scores)
    Y = sigma(clean, slope) + 0.5 * rng.normal(size=clean.shape)
    zero = Weights(jnp.zeros_like(teacher.values), jnp.zeros_like(teacher.scores))
    gradient = batch_gradient(zero, teacher.positions, jnp.asarray(X), Y, slope, kink)
    np.testing.assert_array_equal(gradient.attention, 0)
    each = np.einsum("mnt,fn->nmf", Y, X.mean(axis=2))
    error = kink * each.std(axis=0) / math.sqrt(samples)
    assert (abs(-gradient.values - share * teacher.values) <= 4 * error).all()
    assert kink == 0 or (abs(-gradient.values - (share + 0.3) * teacher.values) > 4 * error).any()
