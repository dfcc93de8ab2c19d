"""The population loss in closed form and its gradient (4.2): sampling, differences, symmetries (8.4-8.6, 8.10)."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ts_cases import SLOPES, Run, descend, near, small_task, small_teacher

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student.dynamics.population import population_excess, population_gradient
from lemmata.theories.teacher_student.dynamics.reduced import excess, pattern, score_error
from lemmata.theories.teacher_student.network import Weights, position_scores, respond
from lemmata.theories.teacher_student.teachers import Teacher

UNIFORM = np.full((6, 6), 1 / 6)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


@functools.cache
def compiled_excess() -> Any:
    return jax.jit(population_excess)


@functools.cache
def compiled_scores() -> Any:
    return jax.jit(position_scores)


@functools.cache
def compiled_gradient() -> Any:
    return jax.jit(population_gradient)


def excess_at(teacher: Teacher, values: Any, scores: Any, slope: float) -> float:
    return float(compiled_excess()(teacher, jnp.asarray(values), jnp.asarray(scores), slope))


def random_weights(teacher: Teacher, seed: int, toward: float = 0.5) -> tuple[Weights, np.ndarray]:
    """Weights at random, with W_V partly along `toward` V*; and their scores."""
    rng = np.random.default_rng(seed)
    values = toward * teacher.values + 0.6 * rng.normal(size=teacher.values.shape)
    attention = 2 * rng.normal(size=teacher.scores.shape)
    return Weights(values, attention), np.asarray(compiled_scores()(attention, teacher.positions))


def sampled(teacher: Teacher, values: Any, scores: Any, slope: float, samples: int = 60_000) -> tuple[float, float]:
    """½‖f* - TF‖² by Monte Carlo: mean and standard error."""
    X = np.random.default_rng(5).normal(size=(teacher.values.shape[1], samples, len(teacher.scores)))
    X *= np.sqrt(teacher.covariance)[:, None, None]
    gap = np.zeros(samples)
    for w, v in zip(np.asarray(values), teacher.values, strict=True):
        student, target = np.tensordot(w, X, 1) @ scores, np.tensordot(v, X, 1) @ teacher.scores
        bent = [np.where(z > 0, z, slope * z) for z in (student, target)]
        gap += 0.5 * np.sum((bent[0] - bent[1]) ** 2, axis=1)
    return float(gap.mean()), float(gap.std() / math.sqrt(samples))


def plain_excess(teacher: Teacher, values: np.ndarray, scores: np.ndarray, slope: float) -> float:
    """Section 4.2 as it is written, entry by entry."""
    total = 0.0
    for w, v in zip(np.asarray(values), teacher.values, strict=True):
        for s, target in zip(np.asarray(scores).T, teacher.scores.T, strict=True):
            weighted = teacher.covariance * v
            tau = math.sqrt(w @ (teacher.covariance * w)) * np.linalg.norm(s)
            tau_star = math.sqrt(v @ weighted) * np.linalg.norm(target)
            r = (weighted @ w) * (target @ s)
            turn = math.sqrt(tau**2 * tau_star**2 - r**2) + r * math.asin(r / (tau * tau_star))
            J = (1 + slope) ** 2 / 4 * r + (1 - slope) ** 2 / (2 * math.pi) * turn
            total += 0.5 * ((1 + slope**2) / 2 * (tau**2 + tau_star**2) - 2 * J)
    return total


# The excess


@pytest.mark.parametrize("kind", ["gcn", "sts", "supports"])
@pytest.mark.parametrize(("slope", "toward"), [(1.0, 0.5), (0.1, 0.8), (0.1, -1.0), (0.0, 0.8), (0.0, -1.0)])
def test_the_excess_is_what_sampling_finds(kind, slope, toward) -> None:
    teacher = small_teacher(kind)
    weights, scores = random_weights(teacher, 2, toward)
    mean, error = sampled(teacher, weights.values, scores, slope)
    assert abs(excess_at(teacher, weights.values, scores, slope) - mean) < 4 * error
    assert error < 0.01 * mean


@pytest.mark.parametrize("slope", SLOPES)
def test_the_excess_of_coloured_inputs_is_what_sampling_finds(slope) -> None:
    teacher = small_teacher("supports", defect="coloured_inputs")
    weights, scores = random_weights(teacher, 3)
    mean, error = sampled(teacher, weights.values, scores, slope)
    found = excess_at(teacher, weights.values, scores, slope)
    assert abs(found - mean) < 4 * error
    white = teacher._replace(covariance=np.ones(3))
    assert abs(excess_at(white, weights.values, scores, slope) - mean) > 8 * error


@pytest.mark.parametrize("slope", [1.0, 0.6, 0.1, 0.0])
@pytest.mark.parametrize("toward", [-3.0, 0.0, 0.3, 3.0])
def test_the_excess_is_the_formula_as_written_at_every_angle(slope, toward) -> None:
    for seed, defect in enumerate(("none", "coloured_inputs")):
        teacher = small_teacher("supports", defect=defect)
        weights, scores = random_weights(teacher, seed, toward)
        expected = plain_excess(teacher, weights.values, scores, slope)
        assert excess_at(teacher, weights.values, scores, slope) == near(expected, rel=1e-12)
        opposite = plain_excess(teacher, -0.7 * teacher.values, UNIFORM, slope)
        assert excess_at(teacher, -0.7 * teacher.values, UNIFORM, slope) == near(opposite, rel=1e-12)


def test_the_excess_of_the_identity_is_the_distance_of_the_products() -> None:
    teacher = small_teacher("sts")
    weights, scores = random_weights(teacher, 4)
    apart = np.kron(weights.values, scores) - np.kron(teacher.values, teacher.scores)
    assert excess_at(teacher, weights.values, scores, 1.0) == near(0.5 * np.sum(apart**2), rel=1e-13)
    almost = excess_at(teacher, weights.values, scores, 1 - 1e-6)
    assert almost == near(0.5 * np.sum(apart**2), rel=1e-5)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("kind", ["gcn", "cnn", "sts", "supports"])
def test_the_excess_is_known_at_the_start_and_zero_at_the_optimum(slope, kind) -> None:
    teacher = small_teacher(kind)
    K = np.count_nonzero(teacher.scores[:, 0])
    start = (1 + slope**2) / 2 * 6 * np.sum(teacher.values**2) / (2 * K)
    zero = np.zeros_like(teacher.values)
    assert excess_at(teacher, zero, UNIFORM, slope) == near(start, rel=1e-13)
    assert excess_at(teacher, zero, teacher.scores, slope) == near(start, rel=1e-13)
    assert excess_at(teacher, teacher.values, teacher.scores, slope) < 1e-28
    apart = math.sqrt(6 / K - 1)
    assert np.linalg.norm(UNIFORM - teacher.scores) == near(apart, rel=1e-13)
    task = small_task(teacher, slope, 0.05)
    assert score_error(task, pattern(task, 0.0)) == near(apart, rel=1e-13)
    assert excess(task, 0.0, pattern(task, 0.0)) == near(start, rel=1e-13)


def arctan(x: Decimal) -> Decimal:
    """By its series for a small x."""
    total, power, k = Decimal(0), x, 0
    while abs(power) > Decimal(10) ** -70:
        total += (-1) ** k * power / (2 * k + 1)
        power, k = power * x * x, k + 1
    return total


def exact_excess(teacher: Teacher, values: np.ndarray, scores: np.ndarray, slope: float) -> float:
    """Section 4.2 as it is written, with sixty digits; for angles below a right one by far."""
    with localcontext() as context:
        context.prec = 60
        pi = 16 * arctan(1 / Decimal(5)) - 4 * arctan(1 / Decimal(239))
        exact = lambda array: [[Decimal(float(x)) for x in row] for row in np.asarray(array)]  # noqa: E731
        dot = lambda x, y: sum((a * b for a, b in zip(x, y, strict=True)), Decimal(0))  # noqa: E731
        kappa, total = Decimal(slope), Decimal(0)
        for w, v in zip(exact(values), exact(teacher.values), strict=True):
            for s, target in zip(exact(np.transpose(scores)), exact(teacher.scores.T), strict=True):
                own, other, r = dot(w, w) * dot(s, s), dot(v, v) * dot(target, target), dot(v, w) * dot(target, s)
                across = (own * other - r * r).sqrt()
                turn = across + r * (pi / 2 - arctan(across / r))
                J = (1 + kappa) ** 2 / 4 * r + (1 - kappa) ** 2 / (2 * pi) * turn
                total += ((1 + kappa**2) / 2 * (own + other) - 2 * J) / 2
        return float(total)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("distance", [1e-2, 1e-6])
def test_the_excess_keeps_its_digits_close_to_the_optimum(slope, distance) -> None:
    teacher, rng = small_teacher("cnn"), np.random.default_rng(6)
    values = teacher.values + distance * rng.normal(size=(2, 3))
    scores = teacher.scores + distance * rng.normal(size=(6, 6))
    expected = exact_excess(teacher, values, scores, slope)
    assert excess_at(teacher, values, scores, slope) == near(expected, rel=1e-15 / distance + 1e-12)
    stretched = exact_excess(teacher, (1 + distance) * teacher.values, teacher.scores, slope)
    assert excess_at(teacher, (1 + distance) * teacher.values, teacher.scores, slope) == near(
        stretched, rel=1e-15 / distance + 1e-12
    )


# The gradient


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(
    ("defect", "temperature"), [("none", 1.0), ("none", 1.7), ("row_softmax", 1.0), ("coloured_inputs", 1.0)]
)
def test_the_gradient_is_the_derivative_of_the_excess(slope, defect, temperature) -> None:
    teacher = small_teacher("supports", defect=defect)
    rows = float(defect == "row_softmax")
    weights, _ = random_weights(teacher, 7)

    def scores_at(attention: Any) -> np.ndarray:
        return np.asarray(compiled_scores()(attention, teacher.positions, temperature, rows))

    found = compiled_gradient()(teacher, weights, scores_at(weights.attention), slope, temperature, rows)
    width = 1e-5

    def differences(array: np.ndarray, at: Any) -> np.ndarray:
        result = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            shift = np.zeros_like(array)
            shift[place] = width
            result[place] = (at(array + shift) - at(array - shift)) / (2 * width)
        return result

    scores = scores_at(weights.attention)
    values = differences(weights.values, lambda values: excess_at(teacher, values, scores, slope))
    np.testing.assert_allclose(found.values, values, rtol=0, atol=1e-8)
    attention = differences(
        weights.attention, lambda attention: excess_at(teacher, weights.values, scores_at(attention), slope)
    )
    np.testing.assert_allclose(found.attention, attention, rtol=0, atol=1e-8)
    assert abs(attention).max() > 1e-2


@pytest.mark.parametrize("slope", SLOPES)
def test_the_gradient_is_the_mean_of_what_autodiff_finds_on_samples(slope) -> None:
    teacher = small_teacher("gcn")
    weights, scores = random_weights(teacher, 8)
    samples = 20_000
    X = jnp.asarray(np.random.default_rng(9).normal(size=(samples, 3, 6)))

    @jax.jit
    def moments(slope: Any, X: Any) -> Any:
        def loss(weights: Weights, x: Any) -> Any:
            student = respond(weights.values, position_scores(weights.attention, teacher.positions), x, slope)
            return 0.5 * jnp.sum((respond(teacher.values, teacher.scores, x, slope) - student) ** 2)

        each = jax.vmap(jax.grad(loss), (None, 0))(weights, X)
        return jax.tree.map(lambda leaf: (leaf.mean(axis=0), leaf.std(axis=0) / math.sqrt(samples)), each)

    found = compiled_gradient()(teacher, weights, scores, slope)
    for exact, (mean, error) in zip(found, moments(slope, X), strict=True):
        assert (abs(exact - mean) < 4.5 * error).all()
        assert (abs(exact) > 20 * error).any()


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("defect", ["none", "coloured_inputs"])
def test_zero_values_take_the_one_sided_derivative_along_the_teacher(slope, defect) -> None:
    teacher = small_teacher("supports", defect=defect)
    weights, scores = random_weights(teacher, 10)
    start = compiled_gradient()(teacher, Weights(np.zeros((2, 3)), weights.attention), scores, slope)
    nearby = compiled_gradient()(teacher, Weights(1e-9 * teacher.values, weights.attention), scores, slope)
    np.testing.assert_allclose(start.values, nearby.values, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(start.attention, 0)
    assert np.isfinite(start.values).all()
    one = np.array(weights.values)
    one[0] = 0
    mixed = compiled_gradient()(teacher, Weights(one, weights.attention), scores, slope)
    full = compiled_gradient()(teacher, weights, scores, slope)
    np.testing.assert_allclose(mixed.values[0], start.values[0], rtol=1e-13)
    np.testing.assert_allclose(mixed.values[1], full.values[1], rtol=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("kink", [0.0, 0.5, 1.0])
def test_zero_values_take_the_slope_at_zero_if_it_is_given(slope, kink) -> None:
    teacher = small_teacher("supports", defect="coloured_inputs")
    weights, scores = random_weights(teacher, 11)
    values = np.array(weights.values)
    values[0] = 0
    found = compiled_gradient()(teacher, Weights(values, weights.attention), scores, slope, kink=kink)
    usual = compiled_gradient()(teacher, Weights(values, weights.attention), scores, slope)
    # -σ'(0) E[σ(v* X S_i*) X S_i] summed over i, and E[σ(z) x] = (1 + κ)/2 Cov(z, x)
    by_hand = -kink * (1 + slope) / 2 * np.sum(scores * teacher.scores) * teacher.covariance * teacher.values[0]
    np.testing.assert_allclose(found.values[0], by_hand, rtol=1e-12)
    np.testing.assert_array_equal(found.values[1], usual.values[1])
    np.testing.assert_array_equal(found.attention, usual.attention)


def test_gradients_of_the_logits_add_to_zero_in_every_column() -> None:
    teacher = small_teacher("sts", positions="identity")
    weights, scores = random_weights(teacher, 12)
    found = compiled_gradient()(teacher, weights, scores, 0.1)
    np.testing.assert_allclose(found.attention.sum(axis=0), 0, atol=1e-14)
    assert abs(found.attention.sum(axis=1)).max() > 1e-2


# Training


def same(one: Run, other: Run, scores: Any = None, values: Any = None, tolerance: float = 1e-11) -> None:
    expected = one.scores if scores is None else scores
    np.testing.assert_allclose(other.scores, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(other.values, one.values if values is None else values, rtol=0, atol=tolerance)


def learned(run: Run, teacher: Teacher) -> bool:
    """The run has gone far, so that a comparison of it is worth something."""
    return bool(np.mean(run.scores[-1][teacher.scores > 0]) > 1.5 / 6)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("kind", ["gcn", "sts", "supports"])
def test_training_keeps_the_pattern_for_every_teacher(slope, kind) -> None:
    teacher = small_teacher(kind, strength=20.0)
    run = descend(teacher, slope, 0.1)
    assert learned(run, teacher)
    scale = np.einsum("tmf,mf->t", run.values, teacher.values) / np.sum(teacher.values**2)
    assert abs(run.values - scale[:, None, None] * teacher.values).max() < 1e-12
    on = np.array([scores[teacher.scores > 0] for scores in run.scores])
    off = np.array([scores[teacher.scores == 0] for scores in run.scores])
    assert np.ptp(on, axis=1).max() < 1e-12
    assert np.ptp(off, axis=1).max() < 1e-12


@pytest.mark.parametrize("slope", SLOPES)
def test_training_is_the_same_for_all_orthogonal_positions(slope) -> None:
    runs = []
    for positions in ("haar", "dct", "identity"):
        teacher = small_teacher("supports", strength=20.0, positions=positions)
        runs.append(descend(teacher, slope, 0.1))
        assert learned(runs[-1], teacher)
    same(runs[0], runs[1])
    same(runs[0], runs[2])
    assert abs(runs[0].attention[-1] - runs[1].attention[-1]).max() > 0.1


@pytest.mark.parametrize("slope", SLOPES)
def test_permuting_tokens_conjugates_the_scores(slope) -> None:
    teacher = small_teacher("supports", strength=20.0)
    order = np.array([3, 5, 0, 1, 4, 2])
    moved = teacher._replace(scores=teacher.scores[order][:, order])
    run = descend(teacher, slope, 0.1)
    assert learned(run, teacher)
    same(run, descend(moved, slope, 0.1), scores=run.scores[:, order][:, :, order])


@pytest.mark.parametrize("slope", SLOPES)
def test_rotating_the_features_of_the_teacher_rotates_the_values(slope) -> None:
    teacher = small_teacher("gcn", strength=20.0)
    O = np.linalg.qr(np.random.default_rng(13).normal(size=(3, 3)))[0]  # noqa: E741
    run = descend(teacher, slope, 0.1)
    assert learned(run, teacher)
    same(run, descend(teacher._replace(values=teacher.values @ O), slope, 0.1), values=run.values @ O)


@pytest.mark.parametrize("slope", SLOPES)
def test_scaling_the_teacher_multiplies_the_velocity_of_the_logits_by_its_square(slope) -> None:
    teacher = small_teacher("gcn")
    _, scores = random_weights(teacher, 14)
    attention = np.zeros((6, 6))
    plain = compiled_gradient()(teacher, Weights(0.7 * teacher.values, attention), scores, slope)
    strong = teacher._replace(values=3 * teacher.values)
    scaled = compiled_gradient()(strong, Weights(0.7 * strong.values, attention), scores, slope)
    np.testing.assert_allclose(scaled.values, 3 * plain.values, rtol=1e-12)
    np.testing.assert_allclose(scaled.attention, 9 * plain.attention, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("slope", SLOPES)
def test_only_the_squared_norm_of_the_teacher_matters(slope) -> None:
    two = small_teacher("gcn", strength=20.0)
    four = small_teacher("gcn", strength=20.0, value_law="scaled_rows", outputs=4, dimension=5)
    one, other = descend(two, slope, 0.1), descend(four, slope, 0.1)
    assert learned(one, two)
    scale = one.values[:, 0, 0] / two.values[0, 0]
    same(one, other, values=scale[:, None, None] * four.values)
    added = two._replace(values=np.vstack([two.values, [0.0, 0.0, 1.0]]))
    assert abs(descend(added, slope, 0.1).scores[-1] - one.scores[-1]).max() > 1e-4


@pytest.mark.parametrize("slope", SLOPES)
def test_with_all_tokens_in_the_support_only_the_values_train(slope) -> None:
    teacher = small_teacher("cnn", support=6)
    square, step_size = (1 + slope**2) / 2, 0.1
    run = descend(teacher, slope, step_size, steps=40)
    np.testing.assert_allclose(run.scores, 1 / 6, rtol=1e-13)
    gap = 1 - run.values[:, 0, 0] / teacher.values[0, 0]
    np.testing.assert_allclose(gap, (1 - step_size * square) ** np.arange(41), rtol=1e-11)
    losses = np.array([excess_at(teacher, *pair, slope) for pair in zip(run.values, run.scores, strict=True)])
    np.testing.assert_allclose(losses[1:] / losses[:-1], (1 - step_size * square) ** 2, rtol=1e-9)
