"""The two-scalar dynamics: oracles 8.1-8.3, 8.7, 8.11, 8.13 and identities of section 5.

`step` is the printed recursion, `rates` the derived form; the full-matrix gradient descent is a third path.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ts_cases import SLOPES, descend, iterate, near, random_tasks, small_task, small_teacher

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student import gaussian
from lemmata.theories.teacher_student.dynamics import reduced
from lemmata.theories.teacher_student.dynamics.limit import gap_at
from lemmata.theories.teacher_student.dynamics.population import population_excess
from lemmata.theories.teacher_student.dynamics.reduced import Pattern, Scalars, Task, at_score, pattern, step


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def summands(task: Task, at: Pattern) -> dict[str, float]:
    """The F's of section 5 at a pattern."""
    p, delta, rest, kappa = at.score, at.mass, task.tokens - task.support, task.slope
    outside = delta**2 / rest**2
    return {
        "1": gaussian.f1(task.support * p**2 + delta**2 / rest, kappa),
        "21": gaussian.f2(p**2, 1.0, kappa),
        "22": gaussian.f2(outside, 1.0, kappa),
        "3": gaussian.f3(task.support * p**2, delta**2 / rest, kappa),
        "4": gaussian.f4(p**2, (task.support - 1) * p**2, delta**2 / rest, kappa),
        "5": gaussian.f5(task.support * p**2, outside, (rest - 1) * outside, kappa),
    }


# Gaussian expectations


@pytest.mark.parametrize(
    ("slope", "expected"),
    [
        (0.0, (0.5, 0.5, 0.5730357170, 0.4545774715, 0.1186270906, 0.4229829977, 0.1500527194)),
        (0.1, (0.505, 0.505, 0.5641589308, 0.4682077520, 0.0960879434, 0.4426162281, 0.1215427027)),
        (1.0, (1, 1, 1, 1, 0, 1, 0)),
    ],
)
def test_gaussian_expectations_have_their_known_values(slope, expected) -> None:
    host = (1.0, 2.0, 3.0)
    for a, b, c in (host, tuple(jnp.asarray(x) for x in host)):
        found = (
            gaussian.f1(a, slope), gaussian.f2(a, b, slope), gaussian.f3(a, b, slope), gaussian.f4(a, b, c, slope),
            gaussian.f5(a, b, c, slope), gaussian.f3_own(a, b, slope), gaussian.f3_other(a, b, slope),
        )  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=0, atol=6e-11)
        assert all(isinstance(value, jax.Array) == isinstance(a, jax.Array) for value in found)


def test_gaussian_expectations_are_what_sampling_finds_at_other_variances() -> None:
    a, b, c, slope, count = 2.0, 0.7, 0.3, 0.25, 400_000
    x = np.random.default_rng(1).normal(size=(3, count)) * np.sqrt([[a], [b], [c]])
    sigma = lambda z: np.where(z > 0, z, slope * z)  # noqa: E731
    turn = lambda z: np.where(z > 0, 1.0, slope)  # noqa: E731
    for exact, sample in (
        (gaussian.f1(a, slope), x[0] * sigma(x[0]) * turn(x[0])),
        (gaussian.f2(a, b, slope), x[0] * sigma(x[0] + x[1]) * turn(x[0] + x[1])),
        (gaussian.f3(a, b, slope), (x[0] + x[1]) * sigma(x[0]) * turn(x[0] + x[1])),
        (gaussian.f3_own(a, b, slope), x[0] * sigma(x[0]) * turn(x[0] + x[1])),
        (gaussian.f3_other(a, b, slope), x[1] * sigma(x[0]) * turn(x[0] + x[1])),
        (gaussian.f4(a, b, c, slope), x[0] * sigma(x[0] + x[1]) * turn(x.sum(axis=0))),
        (gaussian.f5(a, b, c, slope), x[1] * sigma(x[0]) * turn(x.sum(axis=0))),
    ):
        assert abs(sample.mean() - exact) < 4 * sample.std() / math.sqrt(count)


# The pattern


def test_the_summands_at_the_start_have_their_known_values() -> None:
    task = Task(4, 2, 1.0, 0.0, 0.1)
    at = pattern(task, 0.0)
    found = summands(task, at)
    expected = {"1": 0.125, "21": 0.03125, "22": 0.03125, "3": 0.06676937, "4": 0.02841109, "5": 0.00497359}
    assert found == {name: pytest.approx(value, abs=6e-9) for name, value in expected.items()}
    assert reduced.quasi_scale(task, at) == pytest.approx(1.0683098862, abs=6e-11)
    assert reduced.mean_square(task, at) == near(found["1"], rel=1e-14)
    assert reduced.overlap(task, at) == near(found["3"] / 0.5, rel=1e-14)


def test_the_pattern_is_a_softmax_of_two_values() -> None:
    for task, _, rng in random_tasks(50):
        c = float(rng.uniform(0, 30))
        mass = math.exp(c) * task.support + task.tokens - task.support
        at = pattern(task, c)
        assert at.score == near(math.exp(c) / mass, rel=1e-13)
        assert at.mass == near((task.tokens - task.support) / mass, rel=1e-13)
        norm = task.support * at.score**2 + at.mass**2 / (task.tokens - task.support)
        assert at.column_square == near((task.tokens - task.support) * norm, rel=1e-13)
        D, K, p = task.tokens, task.support, at.score
        assert at.column_square == near(D * K * p**2 - 2 * K * p + 1, rel=1e-9)
        assert pattern(task, 0.0).score == near(1 / D, rel=1e-14)


def test_the_pattern_at_a_score_is_the_one_at_its_gap() -> None:
    for task, p, _ in random_tasks(50, 1):
        c = gap_at(task, p)
        np.testing.assert_allclose(at_score(task, p), pattern(task, c), rtol=1e-11)


def test_the_lead_of_the_score_keeps_its_digits_at_the_start() -> None:
    for task, _, rng in random_tasks(50, 10):
        c = 10 ** float(rng.uniform(-12, -9))
        # Dp - 1 = (D - K)(1 - e^{-c}) p
        assert pattern(task, c).over_uniform == near((task.tokens - task.support) / task.tokens * c, rel=2e-9)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_states_and_gaps_are_inverse_and_share_the_invariant(temperature) -> None:
    task = Task(20, 3, 2.0, 0.1, 0.05, temperature)
    state = reduced.from_gap(task, 0.7, 1.3)
    assert state.value == 0.7
    assert reduced.gap(task, state) == near(1.3, rel=1e-14)
    assert 3 * state.support == near(17 * state.rest, rel=1e-14)
    assert (state.support + state.rest) / (temperature * math.sqrt(20)) == near(1.3, rel=1e-14)


def test_the_parts_add_up_to_the_summands_of_the_recursion() -> None:
    for task, p, _ in random_tasks(100, 2):
        at, D, K = at_score(task, p), task.tokens, task.support
        A, B = reduced.f3_parts(task, at)
        F = summands(task, at)
        assert F["3"] == near(A + B, rel=1e-12)
        assert K * F["4"] == near(A + (D - K) * K * p**2 / at.column_square * B, rel=1e-12)
        assert F["5"] == pytest.approx(at.mass**2 / ((D - K) * at.column_square) * B, rel=1e-12, abs=1e-300)
        theta = math.atan(math.sqrt(K * (D - K)) * p / at.mass)
        assert reduced.angle(task, at) == near(theta, rel=1e-13)
        assert reduced.quasi_scale(task, at) == near(F["3"] / (K * p * F["1"]), rel=1e-12)
        if task.slope == 1:
            assert reduced.quasi_scale(task, at) == near((D - K) * p / at.column_square, rel=1e-12)


def test_increments_are_those_of_the_deviation() -> None:
    # P7: random C_1 = (1 + α h) C_1*
    for task, p, rng in random_tasks(200, 3):
        at, D, K = at_score(task, p), task.tokens, task.support
        alpha = float(rng.uniform(-3, 1))
        A, B = reduced.f3_parts(task, at)
        width = A / (A + B) * at.mass / (K * p * (D * p - 1))
        assert reduced.deviation_unit(task, at) == near(width, rel=1e-12)
        value = (1 + alpha * width) * reduced.quasi_scale(task, at)
        assert reduced.deviation(task, value, at) == pytest.approx(alpha, rel=1e-8, abs=1e-8)
        F = summands(task, at)
        on = F["4"] / p - F["3"] - K * value * (F["21"] - p * F["1"])
        assert abs(on - at.mass**2 * (1 - alpha) * A / (K * p * at.column_square)) < 1e-12
        off = (F["3"] - (D - K) * F["5"] / at.mass) / (K * p) - value * (F["1"] - (D - K) * F["22"] / at.mass)
        assert abs(off - at.mass * (1 - alpha) * A / (K * p * at.column_square)) < 1e-12


@pytest.mark.parametrize(("D", "K", "peak"), [(36, 4, 2.0), (400, 4, 5.5), (64, 2, (1 + math.sqrt(32)) / 2)])
def test_the_scale_of_the_values_peaks_at_its_known_height(D, K, peak) -> None:
    task = Task(D, K, 1.0, 1.0, 0.05)
    p = np.geomspace(1 / D, 1 / K, 20_001)
    heights = reduced.quasi_scale(task, at_score(task, p))
    assert heights.max() == near(peak, rel=1e-6)
    assert p[heights.argmax()] == near(1 / math.sqrt(D * K), rel=1e-3)
    assert heights[0] == near(1, rel=1e-12)
    relu = reduced.quasi_scale(task._replace(slope=0.0), at_score(task, p))
    assert 1 < relu.max() / peak < 1.085


def test_the_start_scale_is_the_quasi_stationary_one_of_uniform_attention() -> None:
    for task, _, _ in random_tasks(50, 4):
        expected = reduced.quasi_scale(task, pattern(task, 0.0))
        assert reduced.start_scale(task) == near(expected, rel=1e-12)


def test_errors_of_the_scores_are_those_of_the_matrices() -> None:
    for task, p, _ in random_tasks(20, 5):
        D, K, at = task.tokens, task.support, at_score(task, p)
        column = np.where(np.arange(D) < K, p - 1 / K, at.mass / (D - K))
        assert reduced.score_error(task, at) == near(math.sqrt(D) * np.linalg.norm(column), rel=1e-11)


def test_units_of_time_and_the_separation_of_phases() -> None:
    task = Task(64, 2, 4.0, 1.0, 0.02)
    assert task.separation == pytest.approx(4 / (2 * 64**2))
    assert task.unit == pytest.approx(2 * 64**2 / (0.02 * 4))
    assert (task.rest, task._replace(support=64).rest) == (62, 1)
    assert task._replace(temperature=2.0).scale == pytest.approx(16)


# The excess


def plain_excess(task: Task, value: float, at: Pattern) -> float:
    """The bracket of 6.1, which cancels near the optimum."""
    D, K, kappa, p = task.tokens, task.support, task.slope, at.score
    r = math.sqrt(K * (D - K))
    mean = (1 + kappa) ** 2 * p / 4 + (1 - kappa) ** 2 / (2 * math.pi) * (at.mass / r + p * math.atan(r * p / at.mass))
    square = (1 + kappa**2) / 2
    return 0.5 * task.strength * D * (square * (value**2 * at.column_square / (D - K) + 1 / K) - 2 * value * mean)


def test_the_excess_is_the_bracket_of_the_reduced_dynamics() -> None:
    for task, p, rng in random_tasks(100, 6):
        at, value = at_score(task, p), float(rng.uniform(0, 3))
        assert reduced.plain_excess(task, value, at) == near(plain_excess(task, value, at), rel=1e-11)
        assert reduced.excess(task, value, at) == near(plain_excess(task, value, at), rel=1e-9)
        expected = (1 - task.support * value * p) / task.support
        assert reduced.product_gap(task, value, at) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("mass", [0.6, 1e-2, 1e-6])
def test_the_excess_is_that_of_the_matrices_also_close_to_the_optimum(slope, mass) -> None:
    teacher = small_teacher("supports")
    task = small_task(teacher, slope, 0.05)
    c = math.log((1 - mass) / mass * (6 - 3) / 3)
    at = pattern(task, c)
    assert at.mass == near(mass, rel=1e-12)
    scores = np.where(teacher.scores > 0, at.score, at.mass / 3)
    value = 1 + 0.8 * mass
    expected = float(population_excess(teacher, value * teacher.values, scores, slope))
    assert reduced.excess(task, value, at) == near(expected, rel=1e-12 + 2e-15 / mass)


def test_the_gap_of_the_product_keeps_its_digits_close_to_the_optimum() -> None:
    task = Task(20, 3, 2.0, 0.1, 0.05)
    for c in (5.0, 10.0, 15.0):
        at = pattern(task, c)
        value = 1 + at.mass
        expected = float((1 - Fraction(value) + Fraction(value) * Fraction(at.mass)) / 3)
        assert expected == near(at.mass**2 / 3, rel=1e-3)
        assert reduced.product_gap(task, value, at) == near(expected, rel=1e-15 / at.mass)


def test_the_arctangent_less_its_argument_keeps_its_digits() -> None:
    points = np.concatenate([np.geomspace(1e-9, 30, 60), [0.0999999, 0.1, 0.1000001]])
    with localcontext() as context:
        context.prec = 60
        for x in points:
            # arctan by halving the argument four times, then by its series
            y, halved = Decimal(float(x)), Decimal(float(x))
            for _ in range(4):
                halved = halved / (1 + (1 + halved**2).sqrt())
            total, power = Decimal(0), halved
            for k in range(60):
                total += (-1) ** k * power / (2 * k + 1)
                power *= halved**2
            expected = float(16 * total - y)
            assert reduced.arctan_less(x) == near(expected, rel=5e-13)
            assert float(reduced.arctan_less(jnp.asarray(x))) == near(expected, rel=5e-13)
    assert reduced.arctan_less(0.0) == 0


# The recursion


@pytest.mark.parametrize(
    ("slope", "value", "logit"),
    [
        (1.0, (0.1, 0.19, 0.2710156245, 0.3439593681, 0.4096510575),
         (0, 0.0003125, 0.0009062324, 0.0017530520, 0.0028276001)),
        (0.0, (0.0534154943, 0.1041602139, 0.1523688712), (0, 0.0000625963, 0.0001846617)),
    ],
)  # fmt: skip
def test_the_first_steps_have_their_known_values(slope, value, logit) -> None:
    task, state = Task(4, 2, 1.0, slope, 0.1), Scalars(0.0, 0.0, 0.0)
    for C1, C2 in zip(value, logit, strict=True):
        state = step(task, state)
        np.testing.assert_allclose(state, (C1, C2, C2), rtol=0, atol=6e-11)
    path = iterate(task, len(value))
    np.testing.assert_allclose(path.value[1:], value, rtol=0, atol=6e-11)
    if slope == 1:
        two = Scalars(*(leaf[2] for leaf in path))
        assert pattern(task, reduced.gap(task, two)).score == pytest.approx(0.2500390625, abs=6e-11)


def test_one_step_of_the_recursion_is_one_euler_step_of_the_rates() -> None:
    for task, p, rng in random_tasks(200, 7):
        task = task._replace(temperature=float(rng.choice([1.0, 0.5, 3.0])))
        c = math.log(p * (task.tokens - task.support) / (1 - task.support * p))
        value = float(rng.uniform(0.05, 3))
        moved = step(task, reduced.from_gap(task, value, c))
        by_value, by_gap = reduced.rates(task, value, c)
        assert moved.value - value == pytest.approx(task.step_size * by_value, rel=1e-11, abs=1e-13)
        assert reduced.gap(task, moved) - c == pytest.approx(task.step_size * by_gap, rel=1e-11, abs=1e-13)
        assert task.support * moved.support == near((task.tokens - task.support) * moved.rest, rel=1e-11)


def test_rates_are_gradients_of_the_excess() -> None:
    for task, p, rng in random_tasks(6, 8):
        D, K, value = task.tokens, task.support, float(rng.uniform(0.2, 2))
        c = math.log(p * (D - K) / (1 - K * p))
        loss = lambda value, p, task=task: reduced.excess(task, value, at_score(task, p))  # noqa: E731
        by_value, by_score = jax.grad(loss, (0, 1))(value, p)
        found = reduced.rates(task, value, c)
        assert found[0] == near(float(-by_value / task.strength), rel=1e-8)
        speed = p * (1 - K * p) / (D * K * (D - K))
        assert found[1] == near(float(-speed * by_score), rel=1e-8)


@pytest.mark.parametrize("slope", [1.0, 0.5, 0.1, 0.0])
def test_attention_always_moves_toward_the_teacher_below_the_quasi_stationary_scale(slope) -> None:
    for D, K in ((4, 2), (20, 1), (64, 2), (30, 12), (20, 19)):
        task = Task(D, K, 1.0, slope, 0.05)
        for p in np.linspace(1 / D, 1 / K, 40, endpoint=False):
            c = math.log(p * (D - K) / (1 - K * p))
            top = reduced.quasi_scale(task, at_score(task, p))
            moving = [reduced.rates(task, share * top, c)[1] for share in (1e-3, 0.3, 0.7, 1.0)]
            assert min(moving) > 0
            assert reduced.rates(task, -0.5 * top, c)[1] < 0
            assert reduced.rates(task, top, c)[0] == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(("kind", "temperature"), [("gcn", 1.0), ("sts", 1.0), ("supports", 2.0)])
def test_the_recursion_is_gradient_descent_in_full_matrices(slope, kind, temperature) -> None:
    teacher = small_teacher(kind, strength=20.0)
    task = small_task(teacher, slope, 0.1, temperature)
    run, path = descend(teacher, slope, 0.1, temperature=temperature), iterate(task, 300)
    on = teacher.scores > 0
    scale = np.einsum("tmf,mf->t", run.values, teacher.values) / np.sum(teacher.values**2)
    logits = teacher.positions.T @ run.attention @ teacher.positions
    np.testing.assert_allclose(path.value, scale, rtol=0, atol=1e-12)
    np.testing.assert_allclose(path.support, logits[:, on].mean(axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(path.rest, -logits[:, ~on].mean(axis=1), rtol=1e-12, atol=1e-12)
    found = pattern(task, reduced.gap(task, path))
    np.testing.assert_allclose(found.score, run.scores[:, on].mean(axis=1), rtol=0, atol=1e-12)
    assert found.score[-1] > 0.2
    K, rest = task.support, task.tokens - task.support
    np.testing.assert_allclose(K * path.support, rest * path.rest, rtol=1e-11, atol=1e-15)
    assert (np.diff(found.score)[1:] > 0).all()
    assert found.score[1] == found.score[0]


def test_the_recursion_on_the_host_is_the_compiled_one() -> None:
    task = Task(20, 3, 20.0, 0.1, 0.1)
    state, path = Scalars(0.0, 0.0, 0.0), iterate(task, 20)
    for t in range(20):
        np.testing.assert_allclose(state, [leaf[t] for leaf in path], rtol=1e-13, atol=1e-16)
        state = step(task, state)
    assert state.support > 0.02


def test_frozen_parts_do_not_move_and_the_others_do_as_before() -> None:
    task, state = Task(20, 3, 20.0, 0.1, 0.1), Scalars(0.5, 0.34, 0.06)
    free = step(task, state)
    still, lone = step(task, state, trained=(0.0, 1.0)), step(task, state, trained=(1.0, 0.0))
    assert (still.value, *lone[1:]) == state
    assert (lone.value, *still[1:]) == free


@pytest.mark.parametrize("slope", SLOPES)
def test_the_slope_at_zero_counts_in_the_first_step_only(slope) -> None:
    task, zero = Task(20, 3, 4.0, slope, 0.05), Scalars(0.0, 0.0, 0.0)
    for kink in (0.0, 0.5, 1.0):
        first = step(task, zero, kink=kink)
        np.testing.assert_allclose(first, (0.05 * kink * (1 + slope) / 2, 0, 0), rtol=1e-13)
        if kink:
            assert step(task, first, kink=kink) == step(task, first)
    limit = 0.05 * reduced.start_scale(task) * (1 + slope**2) / 2
    assert step(task, zero).value == near(limit, rel=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
def test_with_all_tokens_in_the_support_the_values_contract_and_attention_rests(slope) -> None:
    task, square = Task(6.0, 6.0, 5.0, slope, 0.1), (1 + slope**2) / 2
    path = iterate(task, 40)
    np.testing.assert_allclose(1 - path.value, (1 - 0.1 * square) ** np.arange(41), rtol=1e-12)
    np.testing.assert_allclose(path.support, 0, atol=1e-15)
    np.testing.assert_array_equal(path.rest, 0)
    at = pattern(task, reduced.gap(task, path))
    np.testing.assert_allclose(at.score, 1 / 6, rtol=1e-14)
    losses = reduced.excess(task, path.value, at)
    np.testing.assert_allclose(losses, 0.5 * 5 * square * (1 - path.value) ** 2, rtol=1e-12)


@pytest.mark.parametrize("slope", SLOPES)
def test_with_all_tokens_in_the_support_the_quasi_stationary_scale_is_one(slope) -> None:
    task = Task(6.0, 6.0, 5.0, slope, 0.1)
    at = pattern(task, 0.0)
    assert reduced.mean_square(task, at) == near((1 + slope**2) / 2 / 6, rel=1e-14)
    assert reduced.quasi_scale(task, at) == near(1, rel=1e-14)
    assert reduced.plain_excess(task, 0.4, at) == near(reduced.excess(task, 0.4, at), rel=1e-13)
    with np.errstate(all="raise"):
        assert reduced.start_scale(task) == near(1, rel=1e-14)


@pytest.mark.parametrize("slope", SLOPES)
def test_the_first_phase_lasts_as_long_as_frozen_attention_takes(slope) -> None:
    task = Task(20, 1, 0.0, slope, 0.05)
    path = iterate(task, 200)
    reached = int(np.argmax(path.value >= 0.95 * reduced.start_scale(task)))
    assert 0 <= reached - reduced.first_phase(task) < 1
