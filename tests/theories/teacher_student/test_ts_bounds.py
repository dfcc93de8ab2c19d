"""The calculators (end of 6.2): oracles, inverses, monotonicity, and answers where they say nothing."""

import math
from typing import Any

import numpy as np
import pytest
from ts_cases import near

from lemmata.lab.errors import UserError
from lemmata.theories import teacher_student
from lemmata.theories.teacher_student import bounds
from lemmata.theories.teacher_student.dynamics.limit import follow_limit
from lemmata.theories.teacher_student.dynamics.reduced import Task, pattern

GIVEN: dict[str, Any] = {"tokens": 36, "support": 4, "strength": 10.0, "slope": 0.0, "step_size": 0.05}
TASK = Task(36.0, 4.0, 10.0, 0.0, 0.05)


def test_the_calculators_are_those_of_the_specification() -> None:
    assert set(teacher_student.theory.bounds) == {
        "reduced_run", "t1_estimate", "T_star_estimate", "excess_asymptote", "delta_asymptote", "T_epsilon",
        "ood_bound", "noise_floor",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "slope", "phi"),
    [(5, 1.0, 1.0436142), (5, 0.0, 2.5522235), (9, 0.1, 2.6664532), (20, 1.0, 1.1797217), (20, 0.0, 2.6169418)],
)
def test_the_escape_has_the_prefactors_of_the_oracle(ratio: int, slope: float, phi: float) -> None:
    for K, strength, eta in ((1, 3.0, 0.05), (4, 20.0, 0.01)):
        D = ratio * K
        steps = bounds.T_star_estimate(tokens=D, support=K, strength=strength, slope=slope, step_size=eta)
        assert steps == near(phi * K * D**2 / (eta * strength), 2e-7)


@pytest.mark.parametrize(("slope", "steps"), [(1.0, 117420), (0.1, 237029), (0.0, 247322)])
def test_the_escape_precedes_the_oracle_by_the_first_phase(slope: float, steps: int) -> None:
    estimate = bounds.T_star_estimate(tokens=64, support=2, strength=4.0, slope=slope, step_size=0.02)
    offset = {1.0: 2.59, 0.1: 4.04, 0.0: 3.95}[slope]
    assert 0.02 * (steps - estimate) == pytest.approx(offset, abs=0.03)


@pytest.mark.parametrize(("slope", "a"), [(1.0, 1.0), (0.1, 0.505), (0.0, 0.5)])
def test_the_first_phase_ends_when_nineteen_twentieths_are_reached(slope: float, a: float) -> None:
    steps = bounds.t1_estimate(slope=slope, step_size=0.05)
    assert (1 - 0.05 * a) ** steps == near(0.05, 1e-12)
    assert bounds.t1_estimate.evaluate(slope=1.0, step_size=1.0)["vacuous"]
    assert bounds.t1_estimate.evaluate(slope=0.0, step_size=1.9)["value"] > 0


def test_late_laws_have_their_formulas() -> None:
    assert bounds.excess_asymptote(36, 4, 0.05, 1e6) == near(4 * 36 * 32 / (4 * 0.05 * 1e6), 1e-14)
    delta = bounds.delta_asymptote(steps=1e6, **GIVEN)
    assert delta == near(32 * math.sqrt(4 / (2 * 0.5 * 0.05 * 10 * 1e6)), 1e-14)
    leaky = bounds.delta_asymptote(steps=1e6, **{**GIVEN, "slope": 0.1})
    assert leaky / delta == near(math.sqrt(0.5 / 0.505), 1e-12)


@pytest.mark.parametrize("slope", [1.0, 0.1])
def test_the_exact_dynamics_reach_the_late_laws(slope: float) -> None:
    given = {**GIVEN, "slope": slope}
    steps = 1e4 * bounds.T_star_estimate(**given)

    def run(quantity: str) -> float:
        return bounds.reduced_run(steps=steps, quantity=quantity, **given)

    assert run("excess") == near(bounds.excess_asymptote(36, 4, 0.05, steps), 0.01)
    assert run("mass") == near(bounds.delta_asymptote(steps=steps, **given), 0.01)
    assert run("score") == near((1 - run("mass")) / 4, 1e-9)
    assert run("score_error") == near(36 * run("mass") / math.sqrt(4 * 32), 1e-12)
    assert run("value") == near(1 + run("mass"), 1e-4)
    path = follow_limit(Task(36.0, 4.0, 10.0, slope, 0.05), [steps])
    assert run("value") == path.value[0]


def test_the_start_of_the_exact_dynamics() -> None:
    early = {"steps": 1e-6, **GIVEN}
    assert bounds.reduced_run.function(quantity="excess", **early) == near(0.5 * 36 * 10 / (2 * 4), 1e-5)
    assert bounds.reduced_run.function(quantity="score", **early) == near(1 / 36, 1e-9)


def test_the_noise_floor_has_its_two_terms() -> None:
    base = {"outputs": 10, "dimension": 10, "batch": 100, "label_noise": 1.0}
    # the column "floor" of the table of E2
    for D, K, strength, slope, eta, M, floor in (
        (36, 4, 100, 0.0, 0.05, 10, 0.057), (20, 3, 100, 0.0, 0.05, 10, 0.043), (20, 4, 10, 1.0, 0.02, 10, 0.025),
        (20, 1, 10, 1.0, 0.02, 1, 0.010),
    ):  # fmt: skip
        given = {"tokens": D, "support": K, "strength": strength, "slope": slope, "step_size": eta}
        assert bounds.noise_floor(**{**base, "outputs": M}, **given) == pytest.approx(floor, abs=6e-4)
    found = bounds.noise_floor(outputs=3, dimension=7, batch=20, label_noise=0.4, **{**GIVEN, "slope": 0.1})
    first = 0.05 * 3 * 7 * 36 * 0.505 * 0.16 / (4 * 20 * 4)
    assert found == near(first + 0.05 * 0.505 * 0.16 * 10 * 3 / (4 * 20 * 16), 1e-13)
    assert bounds.noise_floor(**{**base, "label_noise": 0.0}, **GIVEN) == 0


def test_the_bounds_on_the_gaps_have_their_formulas() -> None:
    at = pattern(TASK, 2.0)
    p, delta = at.score, 1 - 4 * at.score
    expected = 2 * 36 * 3.0 * 10 * (16 * (1 / 4 - 1.2 * p) ** 2 + 1.44 * delta**2)
    assert bounds.gap_bound(TASK, 3.0, 1.2, at) == near(expected, 1e-12)
    assert bounds.teacher_gap_bound(TASK, 3.0) == near(2 * 36 * 3 * 11, 1e-14)
    right = expected / 2 + math.sqrt(expected * 2 * 36 * 3 * 11)
    assert bounds.right_side(TASK, 3.0, 1.2, at) == near(right, 1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
def test_the_time_and_the_loss_that_may_remain_are_inverse(epsilon: float) -> None:
    steps = bounds.steps_for(TASK, 10.0, epsilon)
    assert bounds.epsilon_at(TASK, 10.0, steps) == near(epsilon, 1e-9)
    R = math.sqrt(2 * 36 * 10 * 11)
    if epsilon >= 1:
        printed = 4 * 36 * 32**2 * 10 / (0.5 * 0.05 * (math.sqrt(R**2 + 2 * epsilon) - R) ** 2)
        assert steps == near(printed, 1e-8)
    assert bounds.T_epsilon(moment=10.0, epsilon=epsilon, **GIVEN) == steps


@pytest.mark.parametrize("slope", [1.0, 0.1, 0.0])
def test_the_bound_out_of_distribution_is_epsilon_at_its_time(slope: float) -> None:
    given = {**GIVEN, "slope": slope}
    steps = 2e3 * bounds.T_star_estimate(**given)
    epsilon = float(bounds.epsilon_at(Task(36.0, 4.0, 10.0, slope, 0.05), 10.0, steps))
    assert bounds.ood_bound(moment=10.0, steps=steps, **given) == near(epsilon, 0.02)
    assert bounds.ood_bound(moment=10.0, steps=steps / 2, **given) > 1.3 * epsilon


def test_numbers_move_the_right_way() -> None:
    rising = {
        "T_star_estimate": ({}, {"tokens": +1, "strength": -1, "step_size": -1, "slope": -1}),
        "delta_asymptote": ({"steps": 1e6}, {"tokens": +1, "support": +1, "strength": -1, "steps": -1}),
        "T_epsilon": ({"moment": 1.0, "epsilon": 1.0}, {"moment": +1, "epsilon": -1, "tokens": +1, "strength": +1}),
        "ood_bound": ({"moment": 1.0, "steps": 1e6}, {"moment": +1, "steps": -1}),
        "noise_floor": (
            {"outputs": 3, "dimension": 3, "batch": 9, "label_noise": 1.0},
            {"outputs": +1, "batch": -1, "label_noise": +1, "tokens": +1, "support": -1, "step_size": +1, "slope": +1},
        ),
    }
    for name, (more, directions) in rising.items():
        calculator = teacher_student.theory.bounds[name]
        base = {**GIVEN, **more}
        before = calculator(**base)
        for field, sign in directions.items():
            larger = base[field] + 0.5 if field == "slope" else 2 * base[field]
            assert sign * math.log(calculator(**{**base, field: larger}) / before) > 0, (name, field)


# Answers


@pytest.mark.parametrize("name", ["reduced_run", "T_star_estimate", "delta_asymptote", "T_epsilon", "ood_bound"])
@pytest.mark.parametrize("support", [4, 9])
def test_without_a_token_off_the_support_the_answer_is_vacuous(name: str, support: int) -> None:
    answer = teacher_student.theory.bounds[name].evaluate(tokens=4, support=support)
    assert answer["vacuous"]
    assert answer["value"] is None


def test_an_escape_that_has_happened_takes_no_time() -> None:
    answer = bounds.T_star_estimate.evaluate(tokens=8, support=4)
    assert (answer["value"], answer["vacuous"]) == (0.0, False)


@pytest.mark.parametrize("name", list(teacher_student.theory.bounds))
def test_the_defaults_have_a_finite_answer_and_bad_input_a_sentence(name: str) -> None:
    calculator = teacher_student.theory.bounds[name]
    answer = calculator.evaluate()
    assert not answer["vacuous"]
    assert answer["value"] > 0
    assert math.isfinite(answer["value"])
    with pytest.raises(UserError, match="wrong"):
        calculator.evaluate(wrong=1)
    field = "slope" if "slope" in calculator.parameters else "step_size"
    with pytest.raises(UserError, match=field):
        calculator.evaluate(**{field: -0.5})
    assert calculator.reference


def test_arrays_are_taken_by_the_formulas_on_arrays() -> None:
    times = np.array([1e5, 1e7])
    np.testing.assert_allclose(bounds.late_mass(TASK, times), [bounds.delta_asymptote(steps=t, **GIVEN) for t in times])
    np.testing.assert_allclose(
        bounds.epsilon_at(TASK, 2.0, times), [bounds.epsilon_at(TASK, 2.0, float(t)) for t in times]
    )
