"""The calculators against the worked examples of section 8, item 7, and at inputs where they say nothing."""

import numpy as np
import pytest

import lemmata as lm
from lemmata.theories.group_imbalance import bounds, data
from lemmata.theories.group_imbalance.bounds import Constants


def mixture_of(*arrays):
    return data.Mixture(*(np.asarray(array, float) for array in arrays))


def first_example(**options):
    mixture = mixture_of([0.8, 0.2], [[1, 0], [-1, 1]], [np.eye(2), np.diag([4.0, 1.0])])
    return Constants(mixture, np.array([[1.0, -0.5], [0.5, 1.0]]), **options)


def second_example(**options):
    covariances = [np.eye(3), [[2, 0.5, 0], [0.5, 1, 0], [0, 0, 0.5]], 4 * np.eye(3)]
    mixture = mixture_of([0.5, 0.3, 0.2], [[1, 0, 0], [0, -1, 0.5], [0, 0, 0]], covariances)
    return Constants(mixture, np.array([[1, 0.5, 0], [0, 2, -0.4], [-1, 0.3, 1.2]]), **options)


FIRST = {
    "kappa": 1.0, "eta": 1.0, "tau": 2.0, "gamma": 2.5164187e-4, "rate_factor": 1.81974e-4,
    "estimation_factor": 584.1354, "risk_factor": 1373.820, "mixture_factor": 2.247189e14,
}  # fmt: skip
SECOND = {
    "kappa": 2.79926536, "eta": 6.28916238, "tau": 2 * 2**0.5, "gamma": 8.971060e-7, "convexity": 3.588424e-6,
    "rate_factor": 7.423724e-7, "estimation_factor": 549.4413, "risk_factor": 1207.987, "mixture_factor": 5.252650e18,
}  # fmt: skip


@pytest.mark.parametrize(("example", "known"), [(first_example, FIRST), (second_example, SECOND)])
def test_the_worked_examples_have_their_values(example, known):
    found = example()
    for name, value in known.items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-6), name


def test_the_first_example_has_its_moments_and_group_factors():
    found = first_example()
    assert found.delta[0] == pytest.approx(1.1180339887, abs=1e-10)
    np.testing.assert_allclose(found.rhos, 0.00402627, atol=6e-9)
    np.testing.assert_allclose([found.moment(m) for m in (2, 4, 8)], [5.53137085, 39.9764502, 3897.59723], rtol=1e-8)
    np.testing.assert_allclose([found.relative_moment(m) for m in (6, 12)], [90.7989899, 11117.2], rtol=3e-6)
    np.testing.assert_allclose(found.group_risk_factors, [1168.271, 1994.363], rtol=1e-6)


def test_the_second_example_has_its_moments_group_factors_radius_and_samples():
    found = second_example()
    np.testing.assert_allclose(found.delta[[0, -1]], [2.11691183, 0.75623835], atol=6e-9)
    np.testing.assert_allclose(found.rhos, [0.00156485, 0.00248956, 0.00355701], atol=6e-9)
    assert found.moment(2) == pytest.approx(4.83372526, abs=6e-9)
    np.testing.assert_allclose([found.relative_moment(m) for m in (6, 12)], [120.913444, 28281.7839], rtol=1e-8)
    np.testing.assert_allclose(found.group_risk_factors, [1098.883, 1430.562, 1098.883], rtol=1e-6)
    assert found.convexity_radius(0.1) / 0.1 == pytest.approx(6.427732e-9, rel=1e-6)
    scale = 0.1**2 / (3 * np.log(3) ** 2)
    assert found.samples(0.1) * scale == pytest.approx(1.828315e35, rel=1e-6)
    assert found.less_relaxed_samples(0.1) * scale == pytest.approx(1.740533e33, rel=1e-6)


def test_without_tau_every_factor_of_it_is_gone():
    kept, one = second_example(), second_example(tau_one=True)
    tau = kept.tau
    assert one.tau == 1
    assert one.gamma / kept.gamma == pytest.approx(tau**3)
    assert kept.mixture_factor / one.mixture_factor == pytest.approx(tau**12)
    assert kept.samples() / one.samples() == pytest.approx(tau**18)
    assert kept.initialiser_samples() / one.initialiser_samples() == pytest.approx(tau**12)
    assert kept.convexity_samples() / one.convexity_samples() == pytest.approx(tau**6)


@pytest.mark.parametrize("law", ["mean_minorant", "scale_minorant"])
def test_minorants_make_every_bound_weaker(law):
    plain, weaker = second_example(), second_example(rho_law=law)
    assert (weaker.rhos <= plain.rhos * (1 + 1e-12)).all()
    assert weaker.gamma < plain.gamma
    assert weaker.samples() > plain.samples()
    assert weaker.estimation_factor > plain.estimation_factor


def test_a_group_of_large_scale_enters_the_rate_without_its_variance():
    mixture = mixture_of([0.5, 0.5], np.zeros((2, 2)), [np.eye(2), 100 * np.eye(2)])
    found = Constants(mixture, np.eye(2), tau_one=True, rho_law="scale_minorant")
    expected = 0.5 * found.plain_rhos[0] + 0.5 * found.rhos[1]  # ζ_s = 1.45: the first group is below, the second above
    assert found.rate_factor == pytest.approx(expected / found.moment(2), rel=1e-12)


def test_the_bound_on_the_curvature_stays_below_the_exact_one_at_zero_mean():
    from lemmata.theories.group_imbalance import population

    mixture = mixture_of([1.0], np.zeros((1, 3)), [np.eye(3)])
    for scale, slack in ((0.05, 1.01), (2.0, 100.0)):
        truth = scale * np.eye(3)[:, :2]
        ratio = (
            np.linalg.eigvalsh(population.fisher(np.zeros(3), np.eye(3), truth))[0]
            / Constants(mixture, truth).convexity
        )
        assert 1 <= ratio < slack  # 4/K² = 1


def test_a_singular_truth_is_refused():
    with pytest.raises(lm.UserError, match="linearly dependent"):
        Constants(mixture_of([1.0], np.zeros((1, 2)), [np.eye(2)]), np.ones((2, 2)))


@pytest.mark.parametrize("bound", bounds.BOUNDS, ids=lambda one: one.name)
def test_every_calculator_answers_from_the_fields_of_a_setting(bound):
    answer = bound.evaluate(truth="gaussian", data_seed=3, second_scale=2.0)
    assert answer["value"] > 0
    assert answer["vacuous"] == (bound.limit < answer["value"])


def test_calculators_are_the_constants_of_the_setting_they_describe():
    found = bounds.constants(truth="orthogonal", truth_scale=2.0, second_scale=3.0, tau="one")
    fields = {"truth_scale": 2.0, "second_scale": 3.0, "tau": "one"}
    assert bounds.mixture_factor.evaluate(**fields)["value"] == pytest.approx(found.mixture_factor)
    answer = bounds.group_risk_factor.evaluate(group=1, **fields)
    assert answer["value"] == pytest.approx(found.group_risk_factors[0])
    assert "tr(F_l F⁻¹)/2n" in answer["note"]
    assert "tr F⁻¹" in bounds.estimation_factor.evaluate(**fields)["note"]
    assert bounds.rate.evaluate(**fields)["value"] == pytest.approx(1 - found.rate_factor / 9)


def test_where_the_curvature_underflows_the_bound_is_vacuous():
    answer = bounds.samples.evaluate(first_mean=1e4, second_mean=1e4)
    assert answer["vacuous"]
    assert answer["value"] is None
    assert "not finite" in answer["note"]
    assert bounds.samples.evaluate()["vacuous"]  # 10¹³ and more: finite, and beyond what anybody can draw


def test_a_calculator_refuses_what_the_setting_refuses():
    with pytest.raises(lm.UserError, match="neurons"):
        bounds.gamma.evaluate(neurons=7, dimension=5)
    with pytest.raises(lm.UserError, match="epsilon"):
        bounds.samples.evaluate(epsilon=0.25)


def test_the_effective_tau_is_the_ratio_of_deviations():
    x = np.random.default_rng(0).standard_normal((200_000, 3)) * [6.0, 3.0, 0.01]
    assert bounds.effective_tau(x, 2) == pytest.approx(2.0, rel=0.01)
    assert bounds.effective_tau(x, 3) == pytest.approx(600, rel=0.01)
    with pytest.raises(lm.UserError, match="rank"):
        bounds.effective_tau(x, 4)
