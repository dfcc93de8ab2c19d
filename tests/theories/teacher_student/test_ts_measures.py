"""What claims read off data sets: windows of time, exponents, passages, conditions. All on data made by hand."""

import numpy as np
import pytest
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student import measures
from lemmata.theories.teacher_student.measures import crossing, late_slope, multiples
from lemmata.theories.teacher_student.theorem import phases_separate, step_is_small

STEPS = np.concatenate([[0.0], 50.0 * np.geomspace(1e2, 1e4, 9), [np.nan]])


def data(escape: float = 50.0, **more: float) -> xr.Dataset:
    """One run of T* = 50 with nine records over [10², 10⁴] T*, and room for one more."""
    step = xr.DataArray(STEPS[None], dims=("seed", "record"))
    scalars = {name: xr.DataArray([value], dims="seed") for name, value in {"escape_step": escape, **more}.items()}
    return xr.Dataset({"step": step, **scalars})


def power(exponent: float) -> xr.DataArray:
    return 3 * data().step.where(data().step > 0) ** exponent


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.0, 0.7])
def test_the_exponent_of_a_power_law_is_found(exponent: float) -> None:
    np.testing.assert_allclose(late_slope(power(exponent), data()), [exponent], atol=1e-12)


def test_only_the_window_counts() -> None:
    bent = power(-1).where(data().step < 50.0 * 1.1e3, power(-2) * 50e3)
    np.testing.assert_allclose(late_slope(bent, data(), 1e2, 1e3), [-1], atol=1e-12)
    np.testing.assert_allclose(late_slope(bent.where(data().step > 50e3 * 1.1), data(), 1.2e3, 1e4), [-2], atol=1e-12)


def test_an_exponent_is_absent_where_a_value_of_the_window_is_not_positive() -> None:
    spoiled = power(-1).where(data().step != STEPS[4], 0.0)
    assert np.isnan(late_slope(spoiled, data())).all()
    negative = power(-1).where(data().step > 0, -1.0)  # outside of the window
    np.testing.assert_allclose(late_slope(negative, data()), [-1], atol=1e-12)


def test_a_run_without_three_records_in_the_window_has_no_exponent() -> None:
    with pytest.raises(lm.NotApplicable, match="no records"):
        late_slope(power(-1), data(escape=1.0), 1e2, 2.4e2)
    with pytest.raises(lm.NotApplicable):
        late_slope(power(-1), data(escape=1e9))


def test_a_value_is_read_at_its_multiple_and_only_at_a_record() -> None:
    clock = multiples(data())
    found = lm.at(data().step, clock, 1e3)
    np.testing.assert_allclose(found, [5e4])
    assert found.dims == ("seed",)
    np.testing.assert_allclose(lm.at(data().step, clock, 1e4), [5e5])
    for multiple in (1.01e3, 0.995e3, 1e5, 10.0):
        with pytest.raises(lm.NotApplicable, match="no record"):
            lm.at(data().step, clock, multiple)
    assert lm.at(data().step, clock, 1e3 * (1 + 5e-4)) == 5e4


def test_every_run_must_have_the_record() -> None:
    both = xr.concat([data(), data(escape=51.0)], "seed")
    with pytest.raises(lm.NotApplicable):
        lm.at(both.step, multiples(both), 1e3)


def test_falling_values_pass_a_level_where_their_power_law_does() -> None:
    t = np.geomspace(1, 1e6, 25)
    assert crossing(t, 7 * t**-0.5, 0.07) == pytest.approx(1e4, rel=1e-9)
    assert crossing(np.append(t, np.nan), np.append(7 / t, np.nan), 7e-3) == pytest.approx(1e3, rel=1e-9)
    assert crossing(np.append(0.0, t), np.append(0.5, 7 / t), 7e-3) == pytest.approx(1e3, rel=1e-9)


def test_the_last_passage_counts_and_none_is_infinite() -> None:
    t = np.array([1.0, 10, 100, 1000])
    assert crossing(t, np.array([1.0, 0.1, 1.0, 0.01]), 0.1) == pytest.approx(10**2.5)
    assert crossing(t, np.ones(4), 0.1) == np.inf
    assert crossing(t, np.full(4, 0.01), 0.1) == np.inf  # below from the start: not seen to pass


def test_phases_are_separated_up_to_a_separation_of_0_005() -> None:
    assert phases_separate(0.005)
    assert not phases_separate(0.0051)
    assert step_is_small(0.05, 20, 1, 0.0, 2.0)
    assert not step_is_small(0.21, 20, 1, 0.0, 2.0)
    assert not step_is_small(0.05, 20, 1, 1.0, 801.0)


def test_the_gap_of_the_product_is_that_of_p_and_c1() -> None:
    p, K = 0.2, 4.0
    made = data(value=1.3, mass=1 - K * p, support_count=K)
    np.testing.assert_allclose(measures.product_gap(made), 1 / K - p * 1.3, rtol=1e-12)
    tiny = data(value=1 + 2.0**-30, mass=2.0**-30, support_count=1.0)
    assert measures.product_gap(tiny) == 2.0**-60  # no digit is lost


def test_the_reduced_problem_and_the_pattern_of_data() -> None:
    made = data(token_count=10.0, support_count=2.0, squared_norm=7.0, slope=0.1, eta=0.05, score=0.3, mass=0.4)
    task, at = measures.task_of(made), measures.pattern_of(made)
    assert [x.item() for x in task[:5]] == [10, 2, 7, 0.1, 0.05]
    assert [x.item() for x in at] == pytest.approx([0.3, 0.4, 0.16 + 2 * 8 * 0.09, 2.0])


def test_the_worst_over_activations_does_not_hide_what_is_absent() -> None:
    values = xr.DataArray([[1.0, 3.0], [np.nan, 5.0]], dims=("seed", "negative_slope"))
    assert measures.over_slopes(values)[0] == 3
    assert np.isnan(measures.over_slopes(values)[1])
