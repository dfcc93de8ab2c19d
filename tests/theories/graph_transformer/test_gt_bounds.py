"""The calculators: the values of section 6 with C = 1, their exponents, and where they say nothing."""

import math
from typing import Any

import numpy as np
import pytest

from lemmata.theories import graph_transformer
from lemmata.theories.graph_transformer import bounds

ETA = 0.01
VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("required_width", {"M": 10, "N": 1000}, "690.8"),
    ("required_batch", {"epsilon": 0.1, "N": 1000}, "690.8"),
    ("iterations", {"eta": ETA, "eps_0": 0, "delta": 0.2}, "11.180"),
    ("iterations", {"eta": ETA, "eps_0": 0, "delta": 0.2, "exponent": "flow"}, "111.80"),
    ("gcn_iterations", {"eta": ETA, "eps_0": 0, "delta": 0.2, "gamma_d": 0.4}, "69.88"),
    ("gcn_iterations", {"eta": ETA, "eps_0": 0, "delta": 0.2, "gamma_d": 0.4, "exponent": "flow"}, "698.8"),
    ("samples", {"N": 1000, "delta_zm": 120, "gamma_d": 0.4, "eps_S": 0.05, "sigma": 0.1}, "1.4098e5"),
    ("samples", {"delta_zm": 1}, "19.6"),
    ("gcn_samples", {"N": 1000, "delta_zm": 120, "gamma_d": 0.4, "sigma": 0.1}, "2.763e7"),
    ("gcn_samples", {"delta_zm": 1, "sigma": 0.0}, "540"),
    ("dominance_threshold", {"delta_zm": 3, "epsilon": 0.6}, "0.45237"),
]


def test_the_calculators_are_those_of_the_specification() -> None:
    assert list(graph_transformer.theory.bounds) == [
        "required_width", "required_batch", "iterations", "samples", "gcn_iterations", "gcn_samples",
        "dominance_threshold",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "value"), VALUES)
def test_a_calculator_gives_the_value_of_section_6(name: str, inputs: dict[str, Any], value: str) -> None:
    digits = len(value.partition("e")[0].replace(".", "").lstrip("0"))
    found = float(graph_transformer.theory.bound(name)(**inputs))
    assert float(f"{found:.{digits}g}") == float(value)


def test_the_defaults_are_the_setting_of_section_6() -> None:
    for name, value in (
        ("required_width", 690.8), ("iterations", 11.180), ("gcn_iterations", 69.88), ("samples", 1.4098e5),
        ("gcn_samples", 2.763e7),
    ):  # fmt: skip
        assert float(graph_transformer.theory.bound(name)()) == pytest.approx(value, rel=1e-3)


def slope(function: Any, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.polyfit(np.log(x), np.log(function(y)), 1)[0])


def test_the_exponents_are_those_of_the_theorems() -> None:
    x = np.array([0.1, 0.2, 0.3, 0.4])
    for bound, gamma in ((bounds.iterations, None), (bounds.gcn_iterations, -2.0)):
        assert slope(lambda e, b=bound: b(eta=e), x, x) == pytest.approx(-0.5)
        assert slope(lambda e, b=bound: b(eta=e, exponent="flow"), x, x) == pytest.approx(-1)
        assert slope(lambda e, b=bound: b(eps_0=e), 1 - 2 * x, x) == pytest.approx(-0.5)
        assert slope(lambda d, b=bound: b(delta=d), 1 - x, x) == pytest.approx(-0.5)
        if gamma is not None:
            assert slope(lambda g, b=bound: b(gamma_d=g), x, x) == pytest.approx(gamma)
    assert slope(lambda m: bounds.required_width(M=m), x, 20 * x) == pytest.approx(2)
    assert slope(lambda e: bounds.required_batch(epsilon=e), x, x) == pytest.approx(-2)
    bracket = 1 - 2 * 0.05 * (1 - x) - 0.1
    assert slope(lambda g: bounds.samples(gamma_d=g), bracket, x) == pytest.approx(-2)
    assert slope(lambda s: bounds.samples(sigma=s), 0.94 - x, x) == pytest.approx(-2)
    room = 0.81 - x
    assert slope(lambda s: bounds.gcn_samples(gamma_d=0.9, sigma=s), room, x) == pytest.approx(-2)
    shells = np.array([1.0, 3, 10, 30])
    for bound in (bounds.samples, bounds.gcn_samples):
        np.testing.assert_allclose(bound(delta_zm=shells) / bound(delta_zm=1.0), (1 + shells**2) / 2)
        np.testing.assert_allclose(bound(N=1e6) / bound(N=1e3), 2)


@pytest.mark.parametrize(
    "name", ["required_width", "required_batch", "iterations", "samples", "gcn_iterations", "gcn_samples"]
)
def test_the_open_constant_is_a_factor_and_the_answer_says_so(name: str) -> None:
    bound = graph_transformer.theory.bound(name)
    assert float(bound(C=3.0)) == pytest.approx(3 * float(bound()))
    assert "C = 1" in bound.evaluate()["note"]


def test_the_bracket_at_the_default_setting_is_84_hundredths() -> None:
    assert float(bounds.samples(delta_zm=1)) == pytest.approx(2 * math.log(1000) / 0.84**2)


def test_labels_of_a_single_pass_are_asked_for_where_they_are_more() -> None:
    assert float(bounds.samples(delta_zm=1, seen=500)) == 500
    assert float(bounds.samples(delta_zm=1, seen=10)) == pytest.approx(19.58, abs=0.01)
    assert float(bounds.gcn_samples(delta_zm=1, sigma=0.0, seen=900)) == 900


def test_where_the_bracket_is_not_positive_the_bound_says_nothing() -> None:
    # at γ_d = .4 and ε_S = .4 the bracket is .52 - σ
    assert np.isfinite(bounds.samples(eps_S=0.4, sigma=0.51))
    for sigma in (0.52, 0.6):
        assert np.isinf(bounds.samples(eps_S=0.4, sigma=sigma))
    answer = graph_transformer.theory.bound("samples").evaluate(eps_S=0.4, sigma=0.6)
    assert (answer["value"], answer["vacuous"]) == (None, True)
    assert np.isinf(bounds.gcn_samples(gamma_d=0.3, sigma=0.09))
    assert np.isfinite(bounds.gcn_samples(gamma_d=0.31, sigma=0.09))


def test_more_labels_than_nodes_are_vacuous_in_practice() -> None:
    for name, shell in (("samples", 120), ("gcn_samples", 120)):
        answer = graph_transformer.theory.bound(name).evaluate(delta_zm=shell)
        assert answer["vacuous"]
        assert "vacuous" in answer["note"]
    assert not graph_transformer.theory.bound("samples").evaluate(delta_zm=1)["vacuous"]
    assert not graph_transformer.theory.bound("gcn_samples").evaluate(delta_zm=1, sigma=0.0)["vacuous"]
    # 9.79 (1 + δ²) log N / log 1000 labels against N
    assert graph_transformer.theory.bound("samples").evaluate(delta_zm=11)["vacuous"]
    assert not graph_transformer.theory.bound("samples").evaluate(delta_zm=11, N=2000)["vacuous"]


def test_at_the_dominance_threshold_both_terms_of_3_9_agree() -> None:
    threshold = float(bounds.dominance_threshold(delta_zm=3, epsilon=0.6))
    assert 0.6**-2 * (1 - 2 * threshold) ** -0.5 == pytest.approx(3**2)
