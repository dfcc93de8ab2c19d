"""The data: what a mixture may be, and samplers against their distributions."""

import numpy as np
import pytest

import lemmata as lm
from lemmata.theories.group_imbalance import data
from lemmata.theories.group_imbalance.data import Mixture, draw_sample, draw_truth, draw_world
from lemmata.theories.group_imbalance.network import output
from lemmata.theories.group_imbalance.setting import Setting

TWO = Mixture(
    np.array([0.3, 0.7]),
    np.array([[1.0, -1.0], [0.0, 2.0]]),
    np.array([[[2.0, 0.5], [0.5, 1.0]], [[0.3, 0.0], [0.0, 4.0]]]),
)


@pytest.mark.parametrize(
    ("weights", "means", "covariances", "words"),
    [
        ([0.5, 0.6], np.zeros((2, 2)), [np.eye(2)] * 2, "sum to 1"),
        ([0.0, 1.0], np.zeros((2, 2)), [np.eye(2)] * 2, "positive"),
        ([1.0], np.zeros((1, 2)), [[[1.0, 0.5], [0.0, 1.0]]], "not symmetric"),
        ([1.0], np.zeros((1, 2)), [[[1.0, 2.0], [2.0, 1.0]]], "not positive definite"),
        ([1.0], np.zeros((1, 3)), [np.eye(2)], "not \\(1,\\)"),
        ([1.0], [[np.nan, 0.0]], [np.eye(2)], "finite"),
    ],
)
def test_what_is_no_mixture_is_refused_in_one_sentence(weights, means, covariances, words):
    with pytest.raises(lm.UserError, match=words):
        Mixture(weights, means, covariances)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"neurons": 6}, "neurons = 6"),
        ({"samples": 0}, "samples = 0"),
        ({"fraction": 1.0}, "fraction"),
        ({"truth": "given"}, "true_weights is missing"),
        ({"truth": "given", "true_weights": np.ones((5, 3))}, "linearly dependent"),
        ({"mixture": "given"}, "mixture_weights is missing"),
        (
            {
                "mixture": "given",
                "mixture_weights": [0.4, 0.4],
                "mixture_means": np.zeros((2, 5)),
                "mixture_covariances": [np.eye(5)] * 2,
            },
            "sum to 1",
        ),
    ],
)
def test_a_setting_that_is_no_problem_is_refused(fields, words):
    with pytest.raises(lm.UserError, match=words):
        Setting(**fields)


def test_labels_other_than_0_and_1_are_refused():
    with pytest.raises(lm.UserError, match="0 or 1"):
        data.check_labels([0, 1, 2])
    assert data.check_labels([0, 1]).tolist() == [0.0, 1.0]


def test_a_mixture_is_symmetric_when_its_means_come_in_pairs():
    I = np.eye(2)  # noqa: E741
    assert Mixture([0.5, 0.5], [[1, 1], [-1, -1]], [I, I]).is_symmetric()
    assert Mixture([0.3, 0.4, 0.3], [[1, 1], [0, 0], [-1, -1]], [I] * 3).is_symmetric()
    assert Mixture([0.25, 0.25, 0.5], [[1, 1], [1, 1], [-1, -1]], [I] * 3).is_symmetric()
    assert not Mixture([0.4, 0.6], [[1, 1], [-1, -1]], [I, I]).is_symmetric()
    assert not Mixture([0.5, 0.5], [[1, 1], [-1, -1]], [I, 2 * I]).is_symmetric()


def test_moments_and_minorities_of_a_mixture():
    assert TWO.minorities() == [0]
    roots = np.sqrt([np.linalg.eigvalsh(each)[-1] for each in TWO.covariances])
    assert TWO.moment(4) == pytest.approx(0.3 * (2**0.5 + roots[0]) ** 4 + 0.7 * (2 + roots[1]) ** 4)
    assert TWO.moment(2, order=np.inf) == pytest.approx(0.3 * (1 + roots[0]) ** 2 + 0.7 * (2 + roots[1]) ** 2)


def test_samples_have_the_distribution_of_the_mixture():
    truth = np.array([[1.0, 0.3], [-0.5, 2.0]])
    n = 40_000
    sample = draw_sample(TWO, truth, n, 5)
    assert np.mean(sample.groups == 0) == pytest.approx(0.3, abs=5 * (0.21 / n) ** 0.5)
    for group in range(2):
        x = sample.x[sample.groups == group]
        error = 5 * np.sqrt(np.diag(TWO.covariances[group]) / len(x))
        assert np.all(np.abs(x.mean(0) - TWO.means[group]) < error)
        np.testing.assert_allclose(np.cov(x.T), TWO.covariances[group], atol=0.15)
    chance = output(truth, sample.x)
    for low, high in ((0.0, 0.3), (0.3, 0.6), (0.6, 1.0)):
        here = (chance >= low) & (chance < high)
        assert sample.y[here].mean() == pytest.approx(chance[here].mean(), abs=5 * 0.5 / here.sum() ** 0.5)


def test_sample_i_depends_on_the_seed_and_i_alone():
    truth = np.eye(2)
    few, many = (draw_sample(TWO, truth, n, 3) for n in (10, 100))
    for part in range(3):
        np.testing.assert_array_equal(few[part], many[part][:10])
    assert not np.array_equal(few.x, draw_sample(TWO, truth, 10, 4).x)


def test_stratified_samples_have_rounded_counts_and_a_group_can_be_drawn_alone():
    sample = draw_sample(TWO, np.eye(2), 101, 0, stratified=True)
    assert np.bincount(sample.groups).tolist() == [30, 71]
    assert len(set(sample.groups[:20].tolist())) == 2
    assert np.all(draw_sample(TWO, np.eye(2), 7, 0, group=1).groups == 1)
    with pytest.raises(lm.UserError, match="at least 1"):
        draw_sample(TWO, np.eye(2), 0, 0)


def test_ground_truths_have_their_laws():
    rng = np.random.default_rng(0)
    entries = draw_truth(rng, "gaussian", 200, 50, 2.0)
    assert entries.std() == pytest.approx(2.0, rel=0.03)
    uniform = draw_truth(rng, "uniform", 200, 50, 0.1)
    assert np.abs(uniform).max() <= 0.1
    assert uniform.std() == pytest.approx(0.1 / 3**0.5, rel=0.03)
    columns = draw_truth(rng, "orthogonal", 6, 3, 1.5)
    np.testing.assert_allclose(columns.T @ columns, 2.25 * np.eye(3), atol=1e-12)


def test_a_rotated_covariance_has_the_spectrum_of_its_diagonal():
    found = data.rotated_covariance(np.random.default_rng(1), data.spread_of(5))
    np.testing.assert_allclose(np.linalg.eigvalsh(found), [1, 1.1, 1.2, 1.3, 1.4], atol=1e-12)
    assert np.abs(found - np.diag(np.diag(found))).max() > 0.01


def test_a_seed_has_the_same_truth_and_normals_in_every_cell():
    base = Setting(samples=50, second_scale=2.0)
    other = base.replace(second_scale=3.0, second_mean=1.0)
    worlds = [draw_world(each, 7) for each in (base, other)]
    np.testing.assert_array_equal(worlds[0].truth, worlds[1].truth)
    drawn = [data.draw_data(each, world, 7) for each, world in zip((base, other), worlds, strict=True)]
    np.testing.assert_array_equal(drawn[0].groups, drawn[1].groups)
    second = drawn[0].groups == 1
    np.testing.assert_allclose(drawn[0].x[second] / 2, (drawn[1].x[second] - 1) / 3, atol=1e-12)
    assert not np.array_equal(worlds[0].truth, draw_world(base, 8).truth)
    fixed = base.replace(data_seed=7)
    np.testing.assert_array_equal(draw_world(fixed, 8).truth, worlds[0].truth)


def test_broken_cases_are_broken():
    base = Setting(samples=1200)
    world = draw_world(base, 0)
    again = data.draw_data(base.replace(defect="repeated"), world, 0)
    np.testing.assert_array_equal(again.x[:500], again.x[500:1000])
    same = draw_world(base.replace(defect="equal_columns"), 0).truth
    np.testing.assert_array_equal(same[:, 0], same[:, 2])
    other = data.draw_data(base.replace(defect="other_teacher"), world, 0)
    np.testing.assert_array_equal(other.x, data.draw_data(base, world, 0).x)
    assert np.mean(other.y != data.draw_data(base, world, 0).y) > 0.05


def test_the_samples_of_a_dimension_are_a_multiple_of_it():
    assert Setting(samples_per_dimension=40, dimension=8).count == 320
    assert Setting(samples=77).count == 77
