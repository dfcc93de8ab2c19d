"""The calculators have the values of the oracles O12 and O15."""

import numpy as np
import pytest

from lemmata.theories.cot import bounds
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.theorem import hypotheses


def test_times_lengths_and_gains_are_the_oracles() -> None:
    assert bounds.T1(1, 0.4, 3, 0.05) == pytest.approx(690.92, abs=0.005)
    assert bounds.T1(2, 0.25, 2, 0.1) == pytest.approx(191.73, abs=0.005)
    assert bounds.T2(1, 0.4, 3, 20) == pytest.approx(150)
    assert bounds.T3(1, 3, 20, 0.05) == pytest.approx(1200)
    assert bounds.required_lts_cot(0.8, 0.5, 0.8, 20) == pytest.approx(29.255, abs=5e-4)
    assert bounds.required_lts_cot(0.7, 0.3, 0.6, 40) == pytest.approx(232.36, abs=5e-3)
    assert bounds.late_gain(2.0, 500, 2000, 20, 0.4, 20) == pytest.approx(2.91941, abs=5e-6)
    assert bounds.late_gain(2.0, 500, 8000, 20, 0.4, 20) == pytest.approx(3.72865, abs=5e-6)
    assert bounds.late_gain(2.0, 500, 8000, 20, 0.4, 20, kind="asymptote") == pytest.approx(3.83522, abs=5e-6)
    found = [bounds.concentration(alpha, 3.2) for alpha in (0.2, 0.4, 0.8)]
    np.testing.assert_allclose(found, [0.85981, 0.94238, 0.98991], atol=5e-6)


def test_gradient_bounds_are_the_oracles() -> None:
    found = bounds.gradient_bounds(0.131171, 0.4, 3, 20)
    assert found["same pattern, same step"][1] == pytest.approx(-0.0106698, abs=5e-8)
    np.testing.assert_allclose(found["same pattern, other step"], [-0.0148817, 0.0142372], atol=5e-8)
    np.testing.assert_allclose(found["other pattern, same step"], [-0.0303686, -0.0012497], atol=5e-8)
    np.testing.assert_allclose(found["other, other"], [0.0060942, 0.0319126], atol=5e-8)


@pytest.mark.parametrize("bound", bounds.BOUNDS, ids=lambda bound: bound.name)
def test_every_calculator_answers_at_its_defaults(bound: bounds.lm.Bound) -> None:
    answer = bound.evaluate()
    assert answer["value"] is not None
    assert not answer["vacuous"]


def test_hypotheses_of_the_theorems_follow_the_setting() -> None:
    small = hypotheses(Setting(step_size=0.5, steps=10_000, test_examples=60), eps=0.5)
    assert small["T"]
    assert small["l_ts, CoT"]
    assert small["η < 1"]
    assert small["Condition 7.3.2"]
    broken = hypotheses(Setting(step_size=10.0, steps=10, transitions="pairs", pattern_law="outside", dimension=40))
    assert not (broken["T"])
    assert not (broken["η < 1"])
    assert not (broken["Condition 7.3.2"])
    assert not (broken["span (7.19)"])


def test_errors_that_no_step_can_have_are_refused_in_one_sentence() -> None:
    with pytest.raises(bounds.lm.UserError, match="exceeds 1"):
        bounds.plurality_error(p=0.9, rho=0.1)
    with pytest.raises(bounds.lm.UserError, match="less than 1"):
        bounds.transition_stats(tau=0.01, rho=0.9)
    assert bounds.plurality_error(p=1.0, rho=0.5) == pytest.approx(0, abs=1e-9)
