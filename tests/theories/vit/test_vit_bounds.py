"""The calculators of the shallow vision transformer against the paper's numbers and against each other."""

import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata import cli
from lemmata.lab.errors import UserError
from lemmata.theories.vit import bounds

fractions = st.floats(0.01, 1)
errors = st.floats(0, 0.45)


def test_the_calculators_give_the_papers_numbers() -> None:
    assert bounds.samples_vit(0.4, 0.1, 0.02, zeta=0.99) == pytest.approx(13.7174211, abs=1e-7)
    assert bounds.samples_cnn(0.4, 0.1, 0.02) == pytest.approx(79.7193878, abs=1e-7)
    assert bounds.iterations(0.4, 0.01) == pytest.approx(39.6223298, abs=1e-7)
    assert bounds.width_bound(5, 200) == pytest.approx(132.4579342, abs=1e-7)
    assert bounds.margin_lower_bound(0.5, 0.9, 0.05, 0.01, 100) == pytest.approx(3.1860352, abs=5e-8)
    assert bounds.cap_probability(5, math.pi / 2 - 1 / 5) == pytest.approx(0.352958, abs=5e-7)
    assert bounds.cap_probability(10, math.pi / 2 - 1 / 10) == pytest.approx(0.385125, abs=5e-7)
    assert bounds.cap_probability(20, math.pi / 2 - 1 / 20) == pytest.approx(0.414828, abs=5e-7)


def test_the_calculators_of_the_specification_are_all_there() -> None:
    assert {bound.name for bound in bounds.BOUNDS} == {
        "width_bound", "alpha_threshold", "alpha_threshold_nd", "samples_vit", "samples_cnn", "iterations", "p_n",
        "phi_n", "nu_n", "cap_probability", "q_recursion", "margin_lower_bound",
    }  # fmt: skip


def test_constants_default_to_one_and_enter_where_the_formula_puts_them() -> None:
    # (0.5 - 2 * 0.1 - 3 * 0.05)^-2 = 0.15^-2
    assert bounds.samples_vit(0.5, 0.04, 0.01, zeta=0.9, C=7, c1=2, c2=3) == pytest.approx(7 / 0.15**2, rel=1e-12)
    assert bounds.samples_cnn(0.5, 0.1, 0.0, C=3) == pytest.approx(3 / 0.2**2, rel=1e-12)
    assert bounds.width_bound.function(3, math.e, C=2) == pytest.approx(18, rel=1e-12)
    assert bounds.iterations(0.5, 0.01, C=3, exponent=1) == pytest.approx(600, rel=1e-12)


def test_attention_bounds_of_a_half_relevant_sample() -> None:
    inputs = {"tokens": 50, "relevant": 25, "q_norm": 1, "delta": 0.15, "tau": 0.05}
    assert bounds.p_n(**inputs) == pytest.approx(0.6899745, abs=1e-7)
    assert bounds.phi_n(**inputs) == pytest.approx(0.00925901, abs=1e-8)
    assert bounds.nu_n(**inputs) == pytest.approx(0.01240102, abs=1e-8)


@settings(deadline=None, max_examples=50)
@given(relevant=st.integers(0, 50), q=st.floats(0, 5), delta=errors, tau=errors)
def test_attention_bounds_satisfy_their_identities(relevant: int, q: float, delta: float, tau: float) -> None:
    inputs = (50, relevant, q, delta, tau)
    p, phi, nu = bounds.p_n(*inputs), bounds.phi_n(*inputs), bounds.nu_n(*inputs)
    assert p == pytest.approx(relevant * math.exp(q * q - (delta + tau) * q) * nu, rel=1e-12)
    assert 1 - p == pytest.approx((50 - relevant) * nu, abs=1e-12)
    assert phi <= nu * (1 + 1e-12)


def test_the_attention_bound_tends_to_one_for_large_logits() -> None:
    assert bounds.p_n(50, 25, 40.0, 0.2, 0.0) == 1.0
    assert bounds.nu_n(50, 25, 40.0, 0.2, 0.0) == 0.0
    assert bounds.phi_n(50, 25, 40.0, 0.2, 0.0) == 0.0
    answer = bounds.p_n.evaluate(q_norm=40.0)
    assert answer["value"] == 1.0
    assert not answer["vacuous"]


@pytest.mark.parametrize("q", [1.0, 40.0, 1e9])
def test_the_attention_bounds_of_samples_of_one_kind_of_token(q: float) -> None:
    """Without relevant tokens nothing is promised whatever the logit; with nothing else everything is."""
    assert bounds.p_n(50, 0, q, 0.2, 0.0) == 0
    assert bounds.phi_n(50, 0, q, 0.2, 0.0) == bounds.nu_n(50, 0, q, 0.2, 0.0) == pytest.approx(0.02, rel=1e-12)
    assert bounds.p_n(50, 50, q, 0.2, 0.0) == 1
    assert bounds.nu_n(50, 50, q, 0.2, 0.0) == pytest.approx(math.exp(0.2 * q - q * q) / 50, rel=1e-12)


def test_threshold_numbers() -> None:
    assert bounds.alpha_threshold_nd(0.5, 0.1, 0.2) == pytest.approx(0.2878762, abs=1e-7)
    assert bounds.alpha_threshold(0.05, 0.1, 0.2) == pytest.approx(0.0678557, abs=1e-7)
    assert bounds.alpha_threshold(0.05, 0.1, 0.5) == pytest.approx(0.0915956, abs=1e-7)
    assert bounds.alpha_threshold(0.05, 0.1, 0.4) == pytest.approx(0.0828791, abs=1e-7)
    assert bounds.alpha_threshold(0.2, 0.1, 0.2) == pytest.approx(0.2714228, abs=1e-7)
    # figure 2.1 (b), at relevant fraction 0.3, leaves the region at this value error
    assert bounds.alpha_threshold(0.2, 0.1857315, 0.2) == pytest.approx(0.3, abs=1e-7)


def test_token_noise_enters_both_factors_of_the_threshold() -> None:
    assert bounds.alpha_threshold(0.2, 0.1, 0.2, 0.05) == pytest.approx(0.2 * math.exp(0.25) / 0.85, rel=1e-12)
    assert bounds.alpha_threshold_nd(0.4, 0.1, 0.2, 0.05) == pytest.approx(
        0.6 / (1 + math.exp(-0.25) * 0.85), rel=1e-12
    )


@settings(deadline=None, max_examples=100)
@given(alpha=fractions, share=st.floats(0, 1), sigma=errors, delta=errors, tau=errors)
def test_the_two_thresholds_are_one_condition(
    alpha: float, share: float, sigma: float, delta: float, tau: float
) -> None:
    confusion = share * (1 - alpha)
    slack = alpha - bounds.alpha_threshold(confusion, sigma, delta, tau)
    slack_nd = alpha - bounds.alpha_threshold_nd(1 - alpha - confusion, sigma, delta, tau)
    if min(abs(slack), abs(slack_nd)) > 1e-12:
        assert (slack > 0) == (slack_nd > 0)


@settings(deadline=None, max_examples=50)
@given(alpha=fractions)
def test_frozen_attention_costs_a_factor_of_alpha_to_the_minus_two(alpha: float) -> None:
    ratio = bounds.samples_cnn(alpha, 0, 0) / bounds.samples_vit(alpha, 0, 0, zeta=1)
    assert ratio == pytest.approx(alpha**-2, rel=1e-12)


@settings(deadline=None, max_examples=50)
@given(before=st.floats(-3, 3), step=st.floats(0, 2), relevant=st.integers(1, 49))
def test_a_finite_logit_step_has_a_closed_form_softmax_increment(before: float, step: float, relevant: int) -> None:
    others, after = 50 - relevant, before + step
    share = lambda x: bounds.p_n(50, relevant, x, 0, 0)  # noqa: E731
    # with delta = tau = 0 the bound is the softmax at logit |q|^2
    per_token = (share(math.sqrt(after + 3)) - share(math.sqrt(before + 3))) / relevant
    g, h = before + 3, after + 3
    closed = others * (math.exp(h) - math.exp(g)) / (
        (relevant * math.exp(h) + others) * (relevant * math.exp(g) + others)
    )  # fmt: skip
    assert per_token == pytest.approx(closed, rel=1e-9, abs=1e-14)


def test_the_softmax_derivative_is_the_product_of_both_shares() -> None:
    relevant, others, x, h = 12.0, 38.0, 0.7, 1e-5
    share = lambda logit: bounds.p_n(50, 12, math.sqrt(logit), 0, 0)  # noqa: E731
    slope = (share(x + h) - share(x - h)) / (2 * h)
    assert slope == pytest.approx(relevant * others * math.exp(x) / (relevant * math.exp(x) + others) ** 2, rel=1e-8)


@pytest.mark.parametrize(("steps", "square", "rest"), [(10**3, 6.7916, 1.888e-3), (10**4, 9.6220, 1.232e-4)])
def test_the_scalar_recursion_grows_logarithmically(steps: int, square: float, rest: float) -> None:
    reached = bounds.q_recursion(steps, eta=0.1)
    assert reached == pytest.approx(square, abs=5e-5)
    assert 1 - bounds.p_n(50, 25, math.sqrt(reached), 0.2, 0.0) == pytest.approx(rest, rel=5e-4)


def test_the_scalar_recursion_after_a_hundred_thousand_steps() -> None:
    reached = bounds.q_recursion(10**5, eta=0.1)
    assert reached == pytest.approx(12.2911, abs=5e-5)
    assert 1 - bounds.p_n(2, 1, math.sqrt(reached), 0.2, 0.0) == pytest.approx(9.259e-6, rel=5e-4)


def test_one_step_of_the_recursion_by_hand() -> None:
    assert bounds.q_recursion(0, eta=0.1, start=4.0) == 4.0
    assert bounds.q_recursion(1, eta=0.1, start=4.0, error=0.5) == pytest.approx(
        4 * (1 + 0.1 * math.exp(-3)), rel=1e-15
    )


def test_the_recursion_at_several_steps_is_one_path() -> None:
    steps = [7, 0, 3, 7]
    expected = [bounds.q_recursion(count, eta=0.1) for count in steps]
    np.testing.assert_array_equal(bounds.q_recursion(steps, eta=0.1), expected)
    table = bounds.q_recursion(np.array([[2], [5]]), eta=np.array([0.1, 0.2, 0.3]))
    assert table.shape == (2, 3)
    assert table[1, 2] == bounds.q_recursion(5, eta=0.3)


def test_a_hemisphere_holds_half_of_the_directions_and_the_whole_sphere_all() -> None:
    for width in (2, 3, 10, 1000):
        np.testing.assert_allclose(bounds.cap_probability(width, [0, math.pi / 2, math.pi]), [0, 0.5, 1], atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(phi=st.floats(0, math.pi), width=st.integers(2, 50))
def test_caps_on_the_circle_and_the_sphere_are_elementary_and_opposite_ones_complete_each_other(
    phi: float, width: int
) -> None:
    assert bounds.cap_probability(2, phi) == pytest.approx(phi / math.pi, abs=1e-7)
    assert bounds.cap_probability(3, phi) == pytest.approx((1 - math.cos(phi)) / 2, abs=1e-12)
    both = bounds.cap_probability(width, phi) + bounds.cap_probability(width, math.pi - phi)
    assert both == pytest.approx(1, abs=1e-12)


def test_the_margin_grows_by_its_two_powers_of_time() -> None:
    # a_1 = 1/8 and a_0 = 1/64 at full attention on relevant tokens only
    assert bounds.margin_lower_bound(1.0, 1.0, 0.125, 1.0, [1, 2]) == pytest.approx([9 / 64, 1.0])
    assert bounds.margin_lower_bound(1.0, 1.0, 0.125, 0.5, 2) == pytest.approx(0.125 * 0.5 * 4 + 32 / 64 / 8)
    assert bounds.margin_lower_bound(1.0, 1.0, 0.25, 0.5, 2) == pytest.approx(32 / 64 / 8)


def test_large_errors_make_the_margin_negative_at_first() -> None:
    margins = bounds.margin_lower_bound(0.5, 0.9, 0.2, 0.01, [0, 1, 100, 10000])
    assert margins[0] == 0
    assert margins[1] == pytest.approx(0.25 * 0.9 * (0.1125 - 0.2) * 0.01, rel=1e-4)
    assert margins[2] < margins[1]
    assert margins[3] > 0, "the term in t^5 wins in the end"


def test_an_overflowing_margin_is_infinite_also_beside_a_negative_term() -> None:
    with np.errstate(over="ignore"):
        assert bounds.margin_lower_bound(0.5, 0.9, 0.2, 1e300, 100) == math.inf


@pytest.mark.parametrize("alpha", [0.3, 0.2, 0.1])
def test_a_base_that_is_not_positive_needs_infinitely_many_samples(alpha: float) -> None:
    """The finite square of a negative base would be a bound that looks harmless."""
    assert bounds.samples_vit(alpha, 0.25, 0.05) == math.inf
    assert bounds.samples_cnn(alpha, 0.25, 0.05) == math.inf


@pytest.mark.parametrize("sigma", [0.9, 1.0, 1.5])
def test_thresholds_are_infinite_when_the_errors_reach_one(sigma: float) -> None:
    assert bounds.alpha_threshold(0.1, sigma, 0.2, 0.1) == math.inf
    assert bounds.alpha_threshold_nd(0.5, sigma, 0.2, 0.1) == math.inf


def test_calculators_take_arrays() -> None:
    alphas = np.array([0.05, 0.1, 0.2, 0.4])
    for function in (
        lambda a: bounds.samples_vit(a, 0.1, 0.0),
        lambda a: bounds.samples_cnn(a, 0.1, 0.0),
        lambda a: bounds.iterations(a, 0.01),
        lambda a: bounds.alpha_threshold(a, 0.1, 0.2),
        lambda a: bounds.alpha_threshold_nd(a, 10 * a, 0.2),
        lambda a: bounds.width_bound(5, 100 * a),
        lambda a: bounds.p_n(50, 100 * a, 1.0, 0.2, 0.0),
        lambda a: bounds.phi_n(50, 100 * a, 1.0, 0.2, 0.0),
        lambda a: bounds.nu_n(50, 100 * a, 1.0, 0.2, 0.0),
        lambda a: bounds.q_recursion(10, eta=a),
        lambda a: bounds.q_recursion(10, eta=0.1, start=a),
        lambda a: bounds.q_recursion(np.rint(100 * a), eta=0.1),
        lambda a: bounds.cap_probability(100 * a, 1.0),
        lambda a: bounds.cap_probability(5, 6 * a),
        lambda a: bounds.margin_lower_bound(a, a, 0.01, 0.1, 100),
        lambda a: bounds.margin_lower_bound(0.5, 0.9, a, a, 100 * a),
    ):
        together = function(alphas)
        assert together.shape == alphas.shape
        np.testing.assert_array_equal(together, [function(a) for a in alphas])


@pytest.mark.parametrize("bound", bounds.BOUNDS, ids=lambda bound: bound.name)
def test_an_answer_is_json_at_the_ends_of_every_range(bound) -> None:
    for name, declared in bound.parameters.items():
        for end in (declared.low, declared.high, 1e9):
            try:
                value = declared.accept(name, end if end is not None else 1e3)
            except UserError:
                continue
            if bound is bounds.q_recursion and name == "steps":
                value = min(value, 100)
            inputs = {name: value}
            if name in ("tokens", "relevant"):
                inputs = {"tokens": max(value, 1), "relevant": min(value, 25)}
            answer = bound.evaluate(**inputs)
            json.dumps(answer, allow_nan=False)
            assert answer["vacuous"] or answer["value"] is not None or answer["log10"] is not None


def test_more_relevant_tokens_than_tokens_are_refused() -> None:
    for bound in (bounds.p_n, bounds.phi_n, bounds.nu_n):
        with pytest.raises(UserError, match="relevant = 25 is not allowed: it must not exceed tokens = 10"):
            bound.evaluate(tokens=10, relevant=25)


def test_a_vacuous_bound_says_so_and_has_no_value() -> None:
    answer = bounds.samples_vit.evaluate(alpha=0.2, sigma=0.3)
    assert (answer["value"], answer["log10"], answer["vacuous"]) == (None, None, True)
    assert "vacuous" in answer["note"]
    answer = bounds.samples_vit.evaluate(alpha=0.4, sigma=0.3)
    assert answer["value"] == pytest.approx(100)
    assert answer["log10"] == pytest.approx(2)
    assert not answer["vacuous"]
    assert "constants" in answer["note"]


def test_a_parameter_outside_its_range_is_named() -> None:
    with pytest.raises(UserError, match=r"alpha = 1\.5 is not allowed.*at most 1"):
        bounds.samples_vit.evaluate(alpha=1.5)


def command(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["lemmata", *args])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert isinstance(left.value.code, int)
    return left.value.code


def test_the_command_line_gives_the_share_of_a_cap(monkeypatch, capsys) -> None:
    assert command(monkeypatch, "bound", "vit/cap_probability", "--set", "m_a=3", "--set", "phi=1", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["inputs"] == {"m_a": 3, "phi": 1.0}
    assert answer["value"] == pytest.approx((1 - math.cos(1)) / 2)
    assert not answer["vacuous"]
    assert command(monkeypatch, "bound", "vit/cap_probability", "--json") == 0
    assert 0.3 < json.loads(capsys.readouterr().out)["value"] < 0.5


@pytest.mark.parametrize("given", ["phi=3.2", "phi=-0.1", "m_a=1", "m_a=2.5", "phi=wide"])
def test_the_command_line_refuses_what_is_no_cap(monkeypatch, capsys, given: str) -> None:
    assert command(monkeypatch, "bound", "vit/cap_probability", "--set", given, "--json") == 2
    said = capsys.readouterr()
    assert said.out == ""
    name, _, value = given.partition("=")
    assert f"{name} = {value} is not allowed" in said.err
