"""The calculators of section 4 against the specification's numbers, against sampling, and where numbers overflow."""

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from lemmata.theories.exp_regression import bounds
from lemmata.theories.exp_regression.setting import Setting
from lemmata.theories.exp_regression.studies import calculate

E2 = math.exp(2)
LN10 = math.log(10)
THEOREM = {"a": (2, 0.05), "b": (1, 0.2)}
"""n and σ of the two cases of X9."""


def union(n: int, sigma: float) -> bounds.Width:
    return bounds.explicit_width(n, math.exp(2 * sigma**2), 0.05, sigma, projection_source="union")


def conditions(m: float, n: int, lam: float, B: float, error: float, delta: float = 0.05, pairs: int = 16) -> bool:
    """Whether the width meets the three listed conditions, written out."""
    R = 0.01 * lam / (n * math.exp(2 * B))
    return (
        m >= pairs * lam**-2 * n**2 * math.exp(4 * B) * math.log(2 * n**2 / delta)
        and m >= 8 * math.exp(B + R) * math.sqrt(n) * error / (lam * R)
        and m >= 10 / R * math.log(3 * n**2 / delta)
    )


# Numbers


def test_the_calculators_give_the_specifications_numbers() -> None:
    assert bounds.projection_bound(10) == pytest.approx(23.018074, abs=5e-7)
    assert bounds.required_width(10, E2) == pytest.approx(40.9735, abs=5e-5)
    assert 10 ** bounds.ball_radius_consistent(10, E2) == pytest.approx(7.50488e-23, rel=1e-5)
    assert 10 ** bounds.step_size(10, 1024, E2) == pytest.approx(7.44387e-47, rel=1e-5)


def test_the_calculators_of_the_specification_are_all_there() -> None:
    assert {calculator.name for calculator in bounds.BOUNDS} == {
        "projection_bound", "tail_width", "required_width", "required_width_explicit", "step_size", "iterations",
        "ball_radius", "ball_radius_consistent", "drift_bound", "kernel_mc_std", "width_for_kernel", "crossing",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("case", "m", "B", "R", "T"), [("a", 18588, 0.26657, 0.0029485, 17487), ("b", 31492, 1.0601, 0.00130015, 81730)]
)
def test_the_theorem_is_affordable_for_small_weights(case: str, m: int, B: float, R: float, T: int) -> None:
    n, sigma = THEOREM[case]
    found = union(n, sigma)
    assert math.exp(found.ln_m) == pytest.approx(m, rel=1e-12)
    assert pytest.approx(B, rel=5e-5) == found.B
    assert pytest.approx(R, rel=5e-5) == found.R
    steps = 10 ** bounds.iterations(
        n, m, math.exp(2 * sigma**2), n, 1e-3, delta=0.05, sigma=sigma, projection_source="union"
    )
    assert steps == pytest.approx(T, rel=1e-9)
    assert found.conditions == {"D < R": True, "R < 1e-3": False, "R ≤ 1 ≤ B": case == "b"}


def test_formulas_by_hand() -> None:
    given: dict[str, Any] = {"projection_source": "empirical", "B": 0.5}
    n, m, lam, error = 3, 100, 2.0, 1.5
    assert 10 ** bounds.step_size(n, m, lam, **given) == pytest.approx(0.01 * lam / (m * n**2 * math.exp(2)), rel=1e-12)
    assert 10 ** bounds.ball_radius(n, lam, **given) == pytest.approx(0.01 * lam / (n * math.exp(0.5)), rel=1e-12)
    assert 10 ** bounds.ball_radius_consistent(n, lam, **given) == pytest.approx(
        0.01 * lam / (n * math.exp(1.0)), rel=1e-12
    )
    assert 10 ** bounds.drift_bound(n, m, lam, error, 0.25, **given) == pytest.approx(
        8 / lam * math.exp(0.75) * math.sqrt(n) / m * error, rel=1e-12
    )
    assert 10 ** bounds.required_width(n, lam, 0.05, constant=7, **given) == pytest.approx(
        7 * n**2 / lam**2 * math.exp(2) * math.log(60), rel=1e-12
    )
    once, twice = (bounds.required_width(n, lam, log_power=power, **given) for power in (1, 2))
    assert twice - once == pytest.approx(math.log10(math.log(60)), rel=1e-12)
    assert bounds.tail_width(10, 0.05, 3.0) == pytest.approx(math.log10(0.5 * 200**3.5), rel=1e-12)


def test_the_projection_bound_by_its_source() -> None:
    given = {"n": 10, "m": 64, "delta": 0.05, "sigma": 0.5}
    assert bounds.projection_bound(**given, C=2.0) == pytest.approx(2 * 0.5 * math.sqrt(math.log(200)), rel=1e-14)
    assert bounds.projection_bound(**given, projection_source="union") == pytest.approx(
        0.5 * math.sqrt(2 * math.log(2 * 64 * 10 / 0.05)), rel=1e-14
    )
    assert bounds.projection_bound(**given, projection_source="empirical", B=0.3) == 0.3


def test_the_tail_width_is_where_the_union_bound_meets_the_documents_B() -> None:
    for C in (1.6, 3.0, 10.0):
        m = 10 ** bounds.tail_width(10, 0.05, C)
        assert bounds.projection_bound(10, m, projection_source="union") == pytest.approx(
            bounds.projection_bound(10, C=C), rel=1e-12
        )


@pytest.mark.parametrize(("C", "decades"), [(1, 7.8355), (2, 28.761), (10, 695.87)])
def test_the_exponential_falls_below_n_only_at_the_crossing(C: float, decades: float) -> None:
    found = bounds.crossing(0.1, 1.0, C)
    assert found == pytest.approx(decades, rel=2e-5)
    # 4B = ln n there, with n/δ in logarithms
    ln_n = found * LN10
    assert 4 * C * math.sqrt(ln_n - math.log(0.1)) == pytest.approx(ln_n, rel=1e-12)


def test_the_printed_radius_breaks_its_own_budget_once_the_exponential_exceeds_25_thirds() -> None:
    for B, holds in ((math.log(25 / 3) - 1e-3, True), (math.log(25 / 3) + 1e-3, False)):
        n, lam = 10, E2
        printed, mended = (
            10 ** calculator(n, lam, projection_source="empirical", B=B)
            for calculator in (bounds.ball_radius, bounds.ball_radius_consistent)
        )
        assert (3 * n * printed * math.exp(2 * B) <= lam / 4) == holds
        assert 3 * n * mended * math.exp(2 * B) <= lam / 4


# The explicit width


@pytest.mark.parametrize("case", ["a", "b"])
def test_the_width_with_the_union_bound_is_a_fixed_point_and_the_smallest(case: str) -> None:
    n, sigma = THEOREM[case]
    lam, found = math.exp(2 * sigma**2), union(n, sigma)
    m = round(math.exp(found.ln_m))
    assert m % 2 == 0

    def met(m: int) -> bool:
        return conditions(m, n, lam, sigma * math.sqrt(2 * math.log(2 * m * n / 0.05)), math.sqrt(n))

    assert met(m)
    assert not met(m - 2)
    assert pytest.approx(sigma * math.sqrt(2 * math.log(2 * m * n / 0.05)), rel=1e-13) == found.B


@pytest.mark.parametrize(
    ("n", "lam", "B", "active"),
    [
        (5, 1.0, 3.0, "Hoeffding"),
        (1, 1.0, 0.2, "Lemma 6.7's printed proof"),
        (400, 1000.0, 0.1, "Lemma 6.7's printed proof"),
        (2, 0.1, 0.0, "D < R"),
    ],
)
def test_the_width_is_the_smallest_even_one_that_meets_every_condition(n, lam, B, active) -> None:
    for init, pairs in (("coupled", 16), ("independent", 8)):
        found = bounds.explicit_width(n, lam, projection_source="empirical", B=B, init=init)
        m = round(math.exp(found.ln_m))
        assert m % 2 == 0
        assert conditions(m, n, lam, B, math.sqrt(n), pairs=pairs)
        assert not conditions(m - 2, n, lam, B, math.sqrt(n), pairs=pairs)
        assert math.log10(m) == pytest.approx(
            bounds.required_width_explicit(n, lam, projection_source="empirical", B=B, init=init), rel=1e-13
        )
        if init == "coupled":
            assert found.active == active


def test_a_smaller_initial_error_needs_no_more_width() -> None:
    full, small = (bounds.explicit_width(2, 0.1, projection_source="empirical", B=0.0, error=e) for e in (None, 0.1))
    assert small.ln_m < full.ln_m
    assert full.active == "D < R"
    assert small.active != "D < R"


def test_the_drift_stays_below_the_radius_at_that_width_and_not_below() -> None:
    n, lam, B = 2, 0.1, 0.0
    found = bounds.explicit_width(n, lam, projection_source="empirical", B=B)
    given: dict[str, Any] = {"projection_source": "empirical", "B": B}
    m = math.exp(found.ln_m)
    at, below = (10 ** bounds.drift_bound(n, width, lam, math.sqrt(n), found.R, **given) for width in (m, m - 4))
    assert at <= found.R < below
    assert pytest.approx(10 ** bounds.ball_radius_consistent(n, lam, **given), rel=1e-12) == found.R


# Iterations


def test_iterations_do_not_depend_on_the_width_unless_B_does() -> None:
    given: dict[str, Any] = {"n": 10, "lam": E2, "square": 7.0, "epsilon": 1e-3, "B": 1.0}
    fixed = {bounds.iterations(m=m, projection_source="empirical", **given) for m in (64, 1024, 65536)}
    assert max(fixed) - min(fixed) < 1e-12
    assert 10 ** max(fixed) <= 200 * E2**-2 * 100 * math.exp(4) * math.log(10 / 1e-3) + 1
    growing = [bounds.iterations(m=m, projection_source="union", **given) for m in (64, 1024, 65536)]
    assert growing[0] < growing[1] < growing[2]


def test_iterations_are_a_whole_number_of_steps_after_which_the_bound_is_met() -> None:
    given: dict[str, Any] = {"projection_source": "empirical", "B": 0.2}
    n, m, lam, square, epsilon = 3, 50, 1.3, 2.0, 1e-3
    steps = 10 ** bounds.iterations(n, m, lam, square, epsilon, **given)
    assert steps == pytest.approx(round(steps), rel=1e-12)
    eta = 10 ** bounds.step_size(n, m, lam, **given)
    exact = 2 / (m * eta * lam) * math.log(square / epsilon)
    assert round(steps) == math.ceil(exact)
    assert square * math.exp(-m * eta * lam / 2 * round(steps)) <= epsilon
    assert square * math.exp(-m * eta * lam / 2 * (round(steps) - 1)) > epsilon


def test_no_steps_are_needed_where_the_error_is_small_already() -> None:
    assert bounds.step_count(0.1, 1.0, 1e-3, 1e-3) == 0
    assert bounds.step_count(0.1, 1.0, 1e-5, 1e-3) == 0
    assert bounds.step_count(0.1, 1.0, math.e * 1e-3, 1e-3) == 20
    for square in (1e-3, 1e-4, 0.0):
        answer = bounds.iterations.evaluate(square=square)
        assert answer["value"] == 0
        assert not answer["vacuous"]


# Logarithms


def test_nothing_overflows_where_the_numbers_do() -> None:
    n, lam, C = 10**6, 1e-6, 100.0
    B = 100 * math.sqrt(math.log(n / 0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bounds.required_width(n, lam, C=C) * LN10 == pytest.approx(
            2 * math.log(n) - 2 * math.log(lam) + 4 * B + math.log(math.log(n / 0.05)), rel=1e-12
        )
        assert bounds.step_size(n, 1024, lam, C=C) * LN10 == pytest.approx(
            math.log(0.01 * lam / 1024) - 2 * math.log(n) - 4 * B, rel=1e-12
        )
        assert bounds.iterations(n, 1024, lam, float(n), C=C) * LN10 == pytest.approx(
            math.log(200 * math.log(1e9)) + 2 * math.log(n) - 2 * math.log(lam) + 4 * B, rel=1e-12
        )
        assert bounds.ball_radius_consistent(n, lam, C=C) * LN10 == pytest.approx(
            math.log(0.01 * lam / n) - 2 * B, rel=1e-12
        )
        assert bounds.drift_bound(n, 1024, lam, 1e3, C=C) * LN10 == pytest.approx(
            math.log(8 / lam * 1e3 / 1024 * 1e3) + B, rel=1e-12
        )
        assert bounds.tail_width(n, C=C) * LN10 == pytest.approx(4999 * math.log(n / 0.05) - math.log(2), rel=1e-12)
        explicit = bounds.explicit_width(n, lam, C=C)
        assert explicit.ln_m == pytest.approx(
            math.log(16 * math.log(2 * n**2 / 0.05)) + 2 * math.log(n / lam) + 4 * B, rel=1e-12
        )
        assert explicit.active == "Hoeffding"
        assert explicit.conditions["D < R"]


def test_the_union_bound_is_iterated_beyond_floating_point() -> None:
    found = bounds.explicit_width(10**6, 1e-6, sigma=3.0, projection_source="union")
    assert pytest.approx(3 * math.sqrt(2 * (found.ln_m + math.log(2e6 / 0.05))), rel=1e-12) == found.B
    assert found.ln_m == pytest.approx(
        math.log(16 * math.log(2e12 / 0.05)) + 2 * math.log(1e12) + 4 * found.B, rel=1e-12
    )


def test_the_vacuity_report_survives_a_width_beyond_floating_point() -> None:
    found = calculate(Setting(tail_constant=200.0), 0)
    assert found["log_width"] > 308
    B = bounds.projection_bound(10, C=200.0)
    wanted = math.log10(0.01 * E2 / 100) - 4 * B / LN10 - found["log_width"]
    assert found["log_step"] == pytest.approx(wanted, rel=1e-12)
    assert math.isfinite(found["log_iterations"])


def test_the_vacuity_report_gives_the_calculators_values() -> None:
    found = calculate(Setting(samples=10, weight_scale=1.0), 0)
    assert found["log_width"] == pytest.approx(40.9735, abs=5e-5)
    assert found["log_step"] == pytest.approx(math.log10(7.44387e-47 * 1024) - found["log_width"], abs=1e-5)
    assert found["log_iterations"] == pytest.approx(bounds.iterations(10, 1024, E2, 10.0), rel=1e-12)
    variance = 10 * (math.exp(8) - math.exp(4))
    assert found["practical_width"] == 2 * math.ceil(16 * variance / E2**2)
    assert found["practical_step"] == pytest.approx(0.5 / (E2 * found["practical_width"]), rel=1e-14)
    assert found["practical_iterations"] == math.ceil(4 * math.log(10 / 1e-3))


# Kernel concentration


def test_widths_for_the_kernel_of_the_two_point_example() -> None:
    for variance, lam, effective in ((11.30534242, 0.75362645, 318.49), (None, 4.41723664, 5140.13)):
        if variance is None:
            x = np.array([[1.0, 0.0], [0.6, 0.8]])
            s = np.sum((x[:, None] + x[None]) ** 2, axis=-1)
            variance = float(np.sum((x @ x.T) ** 2 * (np.exp(2 * s) - np.exp(s))))
        assert 16 * variance / lam**2 == pytest.approx(effective, abs=5e-3)
        independent, coupled = (bounds.width_for_kernel(1, lam, variance, init) for init in ("independent", "coupled"))
        assert independent == 2 * math.ceil(effective / 2)
        assert coupled == 2 * math.ceil(effective)
        assert bounds.width_for_kernel(0.5, lam, variance) == 2 * math.ceil(2 * 16 * variance / lam**2)


def test_the_width_for_the_kernel_is_the_smallest_even_one_with_that_error() -> None:
    for p, lam, init in itertools.product((1.0, 0.05), (0.3, 2.0), ("coupled", "independent")):
        m = bounds.width_for_kernel(p, lam, 3.7, init)
        assert m % 2 == 0
        rms = lambda width, init=init: math.sqrt(3.7 / (width / (2 if init == "coupled" else 1)))  # noqa: E731
        assert rms(m) <= math.sqrt(p) * lam / 4
        assert m == 2 or rms(m - 2) > math.sqrt(p) * lam / 4


def test_a_kernel_without_variance_still_needs_a_pair() -> None:
    assert bounds.width_for_kernel(1.0, E2, 0.0) == 2


def test_the_standard_deviation_of_a_kernel_entry_is_that_of_random_networks() -> None:
    x = np.array([[1.0, 0.0], [0.6, 0.8]])
    weights = 0.25 * np.random.default_rng(0).standard_normal((4000, 20, 2))
    values = np.exp(weights @ x.T)
    entries = 0.6 * np.mean(values[..., 0] * values[..., 1], axis=1)
    # 20 independent neurons, or 40 in pairs of equal weights
    for m, init in ((20, "independent"), (40, "coupled")):
        found = bounds.kernel_mc_std(0.6, 3.2, m, 0.25, init)
        assert entries.std() == pytest.approx(found, rel=0.06)
    assert bounds.kernel_mc_std(-0.6, 3.2, 100, 1.0, "independent") == pytest.approx(
        0.6 * math.sqrt((math.exp(6.4) - math.exp(3.2)) / 100), rel=1e-12
    )
