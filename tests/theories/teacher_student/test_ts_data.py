"""Inputs and labels (2.2, 2.4): every law has its distribution, and labels are the teacher's plus noise."""

import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats
from ts_cases import native_activation, small_teacher

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student import data
from lemmata.theories.teacher_student.data import LAWS, ar1, moments
from lemmata.theories.teacher_student.teachers import Teacher

SHAPE = (3, 8000, 2)
MARGINALS: dict[str, Any] = {
    "gaussian": stats.norm(),
    "exponential": stats.expon(),
    "uniform": stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "student_t": stats.t(6),
    "correlated": stats.norm(0.5),
}


draw_inputs = jax.jit(data.draw_inputs, static_argnums=(1, 2))
draw_sample = jax.jit(data.draw_sample, static_argnums=(2, 5))


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def draw(law: str, seed: int = 0, shape: tuple[int, int, int] = SHAPE) -> np.ndarray:
    return np.asarray(draw_inputs(jax.random.key(seed), law, shape))


def test_the_laws_are_those_of_the_specification() -> None:
    assert set(LAWS) == {*MARGINALS, "rademacher"}


@pytest.mark.parametrize("law", MARGINALS)
def test_entries_follow_their_law(law: str) -> None:
    inputs = draw(law)
    assert inputs.shape == SHAPE
    assert inputs.dtype == np.float64
    for feature in range(3):
        for token in range(2):
            assert stats.kstest(inputs[feature, :, token], MARGINALS[law].cdf).pvalue > 1e-4


def test_signs_are_equally_likely() -> None:
    inputs = draw("rademacher")
    assert set(np.unique(inputs)) == {-1.0, 1.0}
    assert inputs.dtype == np.float64
    assert abs(inputs.mean(axis=1)).max() < 4.5 / math.sqrt(SHAPE[1])


@pytest.mark.parametrize("law", LAWS)
def test_the_moments_of_a_column_are_those_of_its_sample_and_columns_are_independent(law: str) -> None:
    inputs = draw(law)
    mean, covariance = moments(law, 3)
    count = SHAPE[1]
    for token in range(2):
        column = inputs[:, :, token]
        spread = column.std(axis=1)
        np.testing.assert_array_less(abs(column.mean(axis=1) - mean), 4.5 * spread / math.sqrt(count))
        centred = column - mean[:, None]
        products = centred[:, None] * centred[None]
        error = products.std(axis=-1) / math.sqrt(count)
        assert (abs(products.mean(axis=-1) - covariance) <= 4.5 * error + 1e-12).all()
    one, two = (inputs[:, :, token] - mean[:, None] for token in range(2))
    across = one[:, None] * two[None]
    assert (abs(across.mean(axis=-1)) < 4.5 * across.std(axis=-1) / math.sqrt(count)).all()
    # the squares too
    squares = np.corrcoef((one**2).ravel(), (two**2).ravel())[0, 1] if law != "rademacher" else 0.0
    assert abs(squares) < 4.5 / math.sqrt(3 * count)


def test_only_the_correlated_law_has_correlated_features_halved_with_every_step() -> None:
    np.testing.assert_allclose(ar1(4)[0], [1, 0.5, 0.25, 0.125])
    np.testing.assert_array_equal(ar1(4), ar1(4).T)
    inputs = draw("correlated", shape=(4, 16_000, 1))[:, :, 0]
    np.testing.assert_allclose(np.corrcoef(inputs), ar1(4), atol=4.5 / math.sqrt(16_000))
    for law in LAWS:
        off = moments(law, 3)[1] - np.diag(np.diag(moments(law, 3)[1]))
        assert (abs(off).max() > 0) == (law == "correlated")


def test_second_moments_are_known() -> None:
    expected = {"gaussian": 1, "exponential": 2, "uniform": 1, "student_t": 1.5, "rademacher": 1, "correlated": 1.25}
    for law, square in expected.items():
        mean, covariance = moments(law, 5)
        np.testing.assert_allclose(mean**2 + np.diag(covariance), square)


@pytest.mark.parametrize("slope", [1.0, 0.1, 0.0])
def test_labels_are_the_teachers_answers_plus_noise(slope: float) -> None:
    teacher = small_teacher("supports")
    clean = draw_sample(jax.random.key(3), teacher, 50, slope, 0.0)
    for sample in range(50):
        x = np.asarray(clean.inputs)[:, sample]
        answer = native_activation(teacher.values @ x @ teacher.scores, slope)
        np.testing.assert_allclose(np.asarray(clean.labels)[:, sample], answer, rtol=1e-12, atol=1e-12)
    many = [draw_sample(jax.random.key(4), teacher, 2000, slope, noise) for noise in (0.0, 0.3)]
    np.testing.assert_array_equal(many[0].inputs, many[1].inputs)
    noise = np.asarray(many[1].labels - many[0].labels)
    assert stats.kstest(noise.ravel() / 0.3, "norm").pvalue > 1e-4
    # independent of the inputs
    assert abs(np.corrcoef(noise[0, :, 0], np.asarray(many[0].inputs)[0, :, 0])[0, 1]) < 4.5 / math.sqrt(2000)


def test_another_key_draws_other_inputs_and_other_noise_and_the_same_key_the_same() -> None:
    teacher = small_teacher()
    one, again, two = (draw_sample(jax.random.key(seed), teacher, 4, 1.0, 1.0) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.labels, again.labels)
    assert (np.asarray(one.inputs) != np.asarray(two.inputs)).all()
    assert (np.asarray(one.labels) != np.asarray(two.labels)).all()


def test_samples_take_the_law_and_the_variances_of_the_features() -> None:
    teacher = small_teacher()
    exponential = draw_sample(jax.random.key(0), teacher, 100, 1.0, 0.0, "exponential")
    assert (np.asarray(exponential.inputs) > 0).all()
    coloured = Teacher(teacher.values, teacher.scores, teacher.positions, np.array([0.25, 1.0, 4.0]))
    plain, other = (draw_sample(jax.random.key(0), t, 5, 1.0, 0.0) for t in (teacher, coloured))
    np.testing.assert_allclose(other.inputs, plain.inputs * np.array([0.5, 1, 2])[:, None, None], rtol=1e-12)
    np.testing.assert_allclose(
        other.labels, np.einsum("mf,fnt,ti->mni", teacher.values, other.inputs, teacher.scores), rtol=1e-10, atol=1e-12
    )
