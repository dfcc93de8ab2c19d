"""The calculators of section 6.1: the numbers of oracle O14, and what they refuse."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lemmata import cli
from lemmata.lab.errors import UserError
from lemmata.theories import icl
from lemmata.theories.icl import bounds

DEFAULT = {"eta": 1, "M1": 6, "alpha": 0.8, "beta": 3}
PRUNED: dict[str, Any] = {"eps": 0.05, "M1": 6, "alpha": 0.6, "alpha_test": 0.8}
MANY: dict[str, Any] = {"eps": 0.05, "M1": 100, "alpha": 0.8, "alpha_test": 0.6}
GRID = [(n, a, c) for n in (20, 100, 200, 400) for a in (0.2, 0.4, 0.8) for c in (0.3, 0.5, 1.0)]


def round_to(value: Any, digits: int) -> float:
    """To significant digits."""
    return float(f"{float(value):.{digits}g}")


def test_the_calculators_are_those_of_the_specification() -> None:
    names = {bound.name for bound in bounds.BOUNDS}
    assert names == set(icl.theory.bounds)
    assert names == {
        "required_T", "required_B", "required_ltr", "required_lts", "required_m", "n_tasks", "min_train_tasks",
        "no_match_probability", "pruning_upper", "pruning_lower", "pruning_upper_order", "pruning_lower_order",
        "concentration_from_gap", "output_bound", "output_growth", "chernoff",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (bounds.required_T(**DEFAULT), 4.4804),
        (bounds.required_T(**DEFAULT, delta=0.1), 20.796),
        (bounds.required_T(eta=0.5, M1=10, alpha=0.5, beta=2), 30.349),
        (bounds.required_ltr(alpha=0.8, beta=3, M1=6), 2.2397),
        (bounds.required_m(M1=6), 64.503),
        (bounds.required_B(eps=0.1, M1=6), 179.18),
        (bounds.pruning_upper(**PRUNED), 0.26216),
        (bounds.pruning_lower(R=0.2, **PRUNED), -0.1025),
        (bounds.pruning_upper(**MANY), 0.15231),
        (bounds.pruning_lower(R=0.2, **MANY), 0.16718),
    ],
)
def test_the_numbers_are_those_of_the_specification(value: float, number: float) -> None:
    digits = len(f"{abs(number):.10g}".replace(".", "").lstrip("0"))
    assert round_to(value, digits) == number


def test_iid_contexts_hold_a_match_with_the_wanted_probability_and_one_fewer_does_not() -> None:
    for eps, alpha, length in ((0.01, 0.8, 10), (0.05, 0.4, 14)):
        assert bounds.required_lts(alpha, eps, kind="iid") == length
        assert bounds.no_match_probability(alpha, length) <= eps < bounds.no_match_probability(alpha, length - 1)
    # an exact power needs no more than its exponent
    assert bounds.required_lts(1.0, 0.125, kind="iid") == 3
    assert bounds.required_lts(0.8) == pytest.approx(1.25)
    assert bounds.required_lts(0.4, C=2) == pytest.approx(5)


def test_constants_multiply_and_the_larger_term_decides() -> None:
    assert bounds.required_T(**DEFAULT, C=3) == pytest.approx(3 * bounds.required_T(**DEFAULT))
    assert bounds.required_B(eps=0.9, M1=6, C=2) == pytest.approx(2 * 6 * math.log(6))
    assert bounds.required_ltr(alpha=0.5, beta=1, M1=2, C=2) == pytest.approx(2 / 0.5)
    assert bounds.required_m(M1=6, C=2) == pytest.approx(2 * bounds.required_m(M1=6))


def test_there_are_m_times_m_minus_1_tasks_of_which_m_must_be_trained() -> None:
    assert bounds.n_tasks(6) == 30
    assert bounds.min_train_tasks(6) == 6
    np.testing.assert_array_equal(bounds.n_tasks(np.array([2, 4, 10])), [2, 12, 90])
    np.testing.assert_array_equal(bounds.min_train_tasks(np.array([2, 4])), [2, 4])


def test_all_pruning_bounds_come_at_once() -> None:
    found = bounds.pruning_bounds(R=0.2, alpha_test=0.8, M1=6, M2=24, eps=0.05, alpha=0.6, C=2)
    assert found["upper"] == bounds.pruning_upper(**PRUNED)
    assert found["lower"] == bounds.pruning_lower(R=0.2, **PRUNED)
    assert found["upper_order"] == pytest.approx(2 * (0.05 + 24**-0.5))
    assert found["lower_order"] == pytest.approx(2 * (0.2 + 1 / 4.8))


def test_the_bounds_of_the_register_are_those_of_the_default_setting() -> None:
    inputs = {"eps": 0.05, "M1": 6, "alpha": 0.8, "alpha_test": 0.8}
    assert bounds.pruning_upper(**inputs) == pytest.approx(0.438, abs=5e-4)
    for rate, value in ((0.1, 0.055), (0.2, 0.16), (0.3, 0.265), (0.5, 0.475)):
        assert bounds.pruning_lower(R=rate, **inputs) == pytest.approx(value, abs=1e-9)


def test_a_negative_lower_bound_is_called_vacuous() -> None:
    bound = icl.theory.bounds["pruning_lower"]
    assert bound.remark is not None
    assert "vacuous here" in bound.remark(R=0.2, **PRUNED)
    assert "vacuous here" not in bound.remark(R=0.2, **MANY)


@pytest.mark.parametrize("changed", [{"alpha": 0.2}, {"alpha_test": 0.2}, {"alpha": 1 / 3}, {"alpha": [0.8, 0.2]}])
def test_pruning_bounds_are_refused_where_a_share_times_m_is_at_most_two(changed: dict[str, Any]) -> None:
    for calculate in (bounds.pruning_upper, lambda **inputs: bounds.pruning_lower(R=0.2, **inputs)):
        with pytest.raises(UserError) as refusal:
            calculate(**{**PRUNED, **changed})
        assert "> 2" in str(refusal.value)
        assert str(refusal.value).count(". ") == 0
        assert str(refusal.value).endswith(".")


def test_the_command_refuses_them_with_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for alpha, code in (("0.2", 2), ("0.6", 0)):
        monkeypatch.setattr("sys.argv", ["lemmata", "bound", "icl/pruning_upper", "--set", f"alpha={alpha}"])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == code
        said = capsys.readouterr()
        assert ("α M_1 > 2" in said.err) == (code == 2)
        assert ("0.262" in said.out) == (code == 0)


def test_a_logit_gap_gives_the_attention_of_a_softmax_and_its_linear_bound() -> None:
    for alpha in (0.1, 0.5, 0.8, 1.0):
        for gap in (0.0, 0.36, 3.0, 9.0):
            found = bounds.concentration_from_gap(gap, alpha)
            # alpha/2 of the contexts match, their logit is larger by the gap
            mass = alpha / 2 * math.exp(gap)
            assert found == pytest.approx(mass / (mass + 1 - alpha / 2), rel=1e-12)
            assert found >= 1 - (2 - alpha) / alpha * math.exp(-gap)
    assert bounds.concentration_from_gap(0.36, 0.8) == pytest.approx(0.48864, abs=1e-5)


def test_output_bounds_are_their_formulas() -> None:
    found = bounds.output_bound(delta=0.1, beta=3, alpha=0.8, eta=0.5, T=200, M1=6, m=50, gamma=0.25, C=2)
    first, second = 0.01 * 10 * 0.8 * 100 / 100, 0.01 * 10 * 0.64 * 1e6 * 6 / 2500
    assert found == pytest.approx(2 * 0.75 * (first + second))
    assert bounds.output_growth(delta=0.1, beta=3, alpha=0.8, eta=1, t=100, m=200) == pytest.approx(0.2)


def test_the_printed_exponent_of_the_tail_is_violated_and_the_corrected_one_is_not() -> None:
    assert round_to(bounds.context_tail(400, 0.2, 0.5), 4) == 2.088e-4
    assert round_to(bounds.chernoff(400, 0.2, 0.5, kind="printed"), 3) == 4.54e-5
    assert round_to(bounds.chernoff(400, 0.2, 0.5), 3) == 6.74e-3
    assert all(bounds.context_tail(n, a, c) <= bounds.chernoff(n, a, c) for n, a, c in GRID)
    assert any(bounds.context_tail(n, a, c) > bounds.chernoff(n, a, c, kind="printed") for n, a, c in GRID)


def test_the_tail_is_that_of_the_number_of_contexts_with_one_decisive_pattern() -> None:
    # a threshold that is an integer belongs to the tail, also where it is rounded below: 0.7 * 0.2 * 100 / 2 = 7
    assert bounds.context_tail(100, 0.2, 0.3) == pytest.approx(stats.binom.cdf(7, 100, 0.1))
    assert bounds.context_tail(20, 0.4, 1.0) == pytest.approx(0.8**20)
    counts = np.random.default_rng(0).binomial(20, 0.4, size=200_000)
    assert bounds.context_tail(20, 0.8, 0.3) == pytest.approx(np.mean(counts <= 5.6), abs=0.004)


def test_calculators_take_arrays() -> None:
    alphas = np.array([0.4, 0.8])
    calls = {
        "required_T": {"eta": 1, "M1": 6, "alpha": alphas, "beta": 3},
        "required_B": {"eps": alphas, "M1": 6},
        "required_ltr": {"alpha": alphas, "beta": 3, "M1": 6},
        "required_lts": {"alpha_test": alphas, "kind": "iid"},
        "no_match_probability": {"alpha_test": alphas, "length": 5},
        "pruning_upper": {**MANY, "alpha": alphas},
        "pruning_lower": {**MANY, "alpha": alphas, "R": 0.2},
        "pruning_lower_order": {"R": 0.2, "alpha_test": alphas, "M1": 6},
        "concentration_from_gap": {"gap": 1.0, "alpha": alphas},
        "chernoff": {"length": 100, "alpha": alphas, "c": 0.5},
        "output_growth": {"delta": 0.1, "beta": 3, "alpha": alphas, "eta": 1, "t": 9, "m": 9},
    }
    for name, inputs in calls.items():
        bound = icl.theory.bounds[name]
        expected = [
            bound(**{key: value[i] if value is alphas else value for key, value in inputs.items()}) for i in range(2)
        ]
        np.testing.assert_allclose(bound(**inputs), expected, rtol=1e-12, err_msg=name)
        assert expected[0] != expected[1], name
