"""Fits and intervals on synthetic data with a known answer, and the coverage of every interval at few seeds.

Coverage at 95 % nominal is asserted to be at least .92: with 2000 replicates that is six standard deviations below the
nominal level, with 400 almost three, so an interval of 90 % true coverage or less fails either way.
"""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lemmata.lab.fits import (
    Line,
    line,
    offset_power_law,
    power_law,
    put_on_law,
    slope,
    threshold,
)
from lemmata.lab.intervals import (
    CannotFit,
    Estimate,
    jackknife,
    mean_interval,
    median_interval,
    share_interval,
    spearman,
)

SEED_COUNTS = (3, 4, 5, 7, 20)
DOUBLINGS = 2.0 ** np.arange(4, 11)
ALPHAS = np.linspace(0.2, 0.8, 7)

success_tables = st.tuples(st.integers(1, 8), st.integers(2, 8)).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([0.0, 1.0]))
)


def coverage(draw: Callable[[], Estimate], truth: float, replicates: int) -> tuple[float, float]:
    """Share of intervals that hold the truth, and their median width."""
    drawn = [draw() for _ in range(replicates)]
    assert all(e.low <= e.value <= e.high for e in drawn)
    return float(np.mean([e.low <= truth <= e.high for e in drawn])), float(np.median([e.high - e.low for e in drawn]))


def paired_noise(rng: np.random.Generator, seeds: int, cells: int, size: float) -> np.ndarray:
    """Half of the noise is the seed's own, shared by its cells."""
    return size * (rng.normal(size=(seeds, 1)) + rng.normal(size=(seeds, cells)))


# Means, medians, shares


def test_the_mean_interval_is_the_textbook_t_interval():
    estimate = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert estimate.value == pytest.approx(3)
    assert estimate.high - 3 == pytest.approx(2.7764451 * np.sqrt(2.5 / 5), rel=1e-7)
    assert 3 - estimate.low == pytest.approx(estimate.high - 3)


def test_one_seed_says_nothing_about_the_spread():
    for estimate in (mean_interval([2.0]), median_interval([2.0])):
        assert estimate == Estimate(2.0, -np.inf, np.inf)
    assert slope([0.0, 1.0], [0.0, 2.0]) == Estimate(2.0, -np.inf, np.inf)


def test_identical_values_have_a_mean_of_zero_width():
    assert mean_interval([0.1] * 3) == Estimate(0.1, 0.1, 0.1)
    assert median_interval([0.1] * 4) == Estimate(0.1, 0.1, 0.1)


def test_nothing_is_said_of_no_values_and_nothing_certain_of_values_that_are_not_finite():
    assert np.isnan(mean_interval([]).value)
    assert np.isnan(mean_interval([1.0, np.nan, 2.0]).value)
    assert mean_interval([1.0, np.inf]) == Estimate(np.inf, -np.inf, np.inf)


@pytest.mark.parametrize("seeds", SEED_COUNTS)
def test_the_mean_interval_covers_at_its_level_and_no_more(seeds: int):
    rng = np.random.default_rng(seeds)
    covered, _ = coverage(lambda: mean_interval(rng.normal(3, 2, seeds)), 3, 2000)
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("seeds", SEED_COUNTS)
@pytest.mark.parametrize("law", ["normal", "log-normal"])
def test_the_median_interval_covers_also_for_skewed_values(seeds: int, law: str):
    rng = np.random.default_rng(seeds)
    sample = (lambda: rng.normal(1, 1, seeds)) if law == "normal" else (lambda: np.exp(rng.normal(0, 1, seeds)))
    covered, _ = coverage(lambda: median_interval(sample()), 1, 2000)
    assert covered >= 0.93


def test_from_six_seeds_on_the_median_lies_between_order_statistics():
    assert median_interval([9.0, 1.0, 5.0, 2.0, 3.0, 1000.0]) == Estimate(4.0, 1.0, 1000.0)


def test_the_share_interval_is_wilsons():
    estimate = share_interval(8, 10)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.8, 0.4901625, 0.9433178), abs=1e-6)
    assert share_interval(0, 5).low == 0
    assert share_interval(0, 5).high == pytest.approx(0.4344825, abs=1e-6)
    assert share_interval(5, 5).high == 1
    with pytest.raises(CannotFit, match="6 of 5"):
        share_interval(6, 5)


@pytest.mark.parametrize("trials", [10, 20, 100])
def test_the_share_interval_covers_on_average_over_shares(trials: int):
    rng = np.random.default_rng(trials)
    shares = rng.uniform(0.02, 0.98, 3000)
    intervals = [share_interval(int(k), trials) for k in rng.binomial(trials, shares)]
    assert np.mean([e.low <= p <= e.high for e, p in zip(intervals, shares, strict=True)]) >= 0.94


def test_the_jackknife_of_a_mean_is_the_t_interval():
    values = np.random.default_rng(0).exponential(size=7)
    jack, t = jackknife(np.mean, values), mean_interval(values)
    assert (jack.value, jack.low, jack.high) == pytest.approx((t.value, t.low, t.high))


@pytest.mark.parametrize("seeds", SEED_COUNTS)
def test_the_jackknife_covers_a_ratio_of_means(seeds: int):
    rng = np.random.default_rng(seeds)
    ratio = lambda rows: rows[:, 0].mean() / rows[:, 1].mean()  # noqa: E731
    covered, _ = coverage(lambda: jackknife(ratio, rng.normal([2, 4], [0.5, 0.5], (seeds, 2))), 0.5, 1000)
    assert covered >= 0.92


def test_a_jackknife_that_needs_every_seed_has_no_interval():
    def statistic(rows: np.ndarray) -> float:
        if len(rows) < 3:
            raise CannotFit("three are needed.")
        return rows.mean()

    assert jackknife(statistic, [1.0, 2.0, 3.0]) == Estimate(2.0, -np.inf, np.inf)


# Rank correlation


def test_rank_correlation_shares_the_ranks_of_ties_and_ranks_infinity_last():
    assert spearman([1, 2, 3, 4], [1, 4, 9, np.inf]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [9, 5, 5, 1]) == pytest.approx(-4.5 / np.sqrt(5 * 4.5))
    for x, y in (([1, 2, 3], [1, 1, 1]), ([1, 2, 3], [1, 2, np.nan]), ([1, 2, 3], [1, 2])):
        with pytest.raises(CannotFit):
            spearman(x, y)


# Lines and power laws


def test_a_line_is_recovered_with_its_intercept_and_r_squared():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([[1.0, 3.0, 5.0, 7.0], [3.0, 5.0, 7.0, 9.0]])
    fit = line(x, y)
    assert (fit.slope.value, fit.intercept.value, fit.r_squared) == pytest.approx((2, 2, 1))
    assert fit.slope.high - fit.slope.low == pytest.approx(0, abs=1e-12)
    assert fit.intercept.high == pytest.approx(2 + 12.7062047)
    bent = line(x, [0.0, 1.0, 4.0, 9.0])
    assert (bent.slope.value, bent.r_squared) == pytest.approx((3, 1 - 4 / 49))
    assert line(x, [1.0, 1.0, 1.0, 1.0]).r_squared == 0


def test_a_line_through_the_origin_has_no_intercept():
    fit = line([1.0, 2.0, 3.0], [3.0, 4.0, 5.0], through_origin=True)
    assert isinstance(fit, Line)
    assert (fit.slope.value, fit.intercept.value) == pytest.approx((26 / 14, 0))
    assert fit.r_squared == pytest.approx(1 - (50 - 26**2 / 14) / 2)


@pytest.mark.parametrize("seeds", SEED_COUNTS)
def test_the_exponent_of_a_power_law_is_covered(seeds: int):
    rng = np.random.default_rng(seeds)
    covered, _ = coverage(
        lambda: power_law(DOUBLINGS, 3 * DOUBLINGS**-0.5 * np.exp(paired_noise(rng, seeds, 7, 0.2))).exponent,
        -0.5,
        2000,
    )
    assert 0.93 <= covered <= 0.97


@settings(deadline=None, max_examples=60)
@given(arrays(float, (3, 5), elements=st.floats(-3, 3)), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-3, 3))
def test_units_change_only_the_prefactor_of_a_power_law_and_a_power_shifts_its_exponent(logs, unit_x, unit_y, shift):
    x, y = np.array([1.0, 2.0, 3.0, 5.0, 8.0]), np.exp(logs)
    fit, scaled, shifted = power_law(x, y), power_law(unit_x * x, unit_y * y), power_law(x, y * x**shift)
    for part in ("value", "low", "high"):
        assert getattr(scaled.exponent, part) == pytest.approx(getattr(fit.exponent, part), abs=1e-9)
        assert getattr(shifted.exponent, part) == pytest.approx(getattr(fit.exponent, part) + shift, abs=1e-9)
    assert scaled.prefactor == pytest.approx(fit.prefactor * unit_y / unit_x**fit.exponent.value)


@settings(deadline=None, max_examples=60)
@given(arrays(float, (4, 6), elements=st.floats(-3, 3)), st.floats(-4, 4))
def test_data_put_on_a_law_follow_it_and_keep_their_residuals(logs, claimed):
    x, y = DOUBLINGS[:6], np.exp(logs)
    moved = put_on_law(x, y, claimed)
    before, after = power_law(x, y), power_law(x, moved)
    assert after.exponent.value == pytest.approx(claimed, abs=1e-9)
    assert after.exponent.high - after.exponent.low == pytest.approx(
        before.exponent.high - before.exponent.low, abs=1e-9
    )
    assert np.log(moved).mean() == pytest.approx(logs.mean(), abs=1e-9)
    change = np.log(moved) - logs
    np.testing.assert_allclose(change, np.broadcast_to(change[0], change.shape), atol=1e-9)


def test_a_power_law_with_an_offset_is_recovered_for_a_given_and_a_free_exponent():
    y = 3 * (ALPHAS - 0.1) ** -2
    for exponent in (-2, None):
        fit = offset_power_law(ALPHAS, np.stack([y, 2 * y, 5 * y]), exponent)
        assert (fit.offset.value, fit.exponent.value) == pytest.approx((0.1, -2), abs=1e-7)
        assert (fit.prefactor, fit.r_squared) == pytest.approx((3 * 10 ** (1 / 3), 1))
    rising = offset_power_law(ALPHAS, (ALPHAS - 0.15) ** 1.5)
    assert (rising.offset.value, rising.exponent.value) == pytest.approx((0.15, 1.5), abs=1e-7)


def test_an_offset_held_nonnegative_stops_at_zero():
    y = 3 * (ALPHAS + 0.1) ** -2
    assert offset_power_law(ALPHAS, y, -2).offset.value == pytest.approx(-0.1, abs=1e-7)
    fit = offset_power_law(ALPHAS, y, -2, nonnegative=True)
    assert (fit.offset.value, fit.offset.low, fit.offset.high) == (0, 0, pytest.approx(0.2))
    assert fit.r_squared < 0.95


@pytest.mark.parametrize("seeds", SEED_COUNTS)
def test_the_offset_is_covered_for_a_given_exponent(seeds: int):
    rng = np.random.default_rng(seeds)
    law = 3 * (ALPHAS - 0.1) ** -2
    covered, width = coverage(
        lambda: offset_power_law(ALPHAS, law * np.exp(paired_noise(rng, seeds, 7, 0.1)), -2).offset, 0.1, 400
    )
    assert covered >= 0.92
    assert width < 0.1


def test_offset_and_exponent_are_covered_when_both_are_free():
    seeds, rng = 5, np.random.default_rng(5)
    law = 3 * (ALPHAS - 0.1) ** -2
    fits = [
        offset_power_law(ALPHAS, law * np.exp(paired_noise(rng, seeds, 7, 0.1)), nonnegative=True) for _ in range(400)
    ]
    assert np.mean([fit.offset.low <= 0.1 <= fit.offset.high for fit in fits]) >= 0.92
    assert np.mean([fit.exponent.low <= -2 <= fit.exponent.high for fit in fits]) >= 0.92
    assert all(0 <= fit.offset.low <= fit.offset.value <= fit.offset.high <= 0.2 for fit in fits)


def test_an_exponential_has_no_offset():
    with pytest.raises(CannotFit, match="end of its range"):
        offset_power_law(ALPHAS, np.exp(-5 * ALPHAS))


# Thresholds


def success_curves(rng: np.random.Generator, seeds: int, middle: float, spread: float, law: str) -> np.ndarray:
    """0/1 curves over DOUBLINGS of seeds that switch at 2^(middle + their own deviation)."""
    scale = spread if law == "normal" else spread * 3**0.5 / np.pi
    deviation = (rng.normal if law == "normal" else rng.logistic)(0, scale, (seeds, 1))
    return (np.log2(DOUBLINGS) >= middle + deviation).astype(float)


def test_the_threshold_interpolates_the_increasing_fit_in_log2():
    rates = np.array([0.0, 0.25, 0.75, 0.5, 1.0])  # the third and fourth pool to .625
    found = threshold(2.0 ** np.arange(5), np.tile(rates, (4, 1)))
    assert found.censored == ""
    assert np.log2(found.estimate.value) == pytest.approx(1 + 0.25 / 0.375)


def test_a_fit_that_is_flat_at_the_target_has_its_threshold_in_the_middle():
    success = np.array([[0, 0, 0, 1], [0, 1, 1, 1]])
    assert threshold([1, 2, 8, 16], success).estimate.value == pytest.approx(4)


@pytest.mark.parametrize("seeds", [2, *SEED_COUNTS])
def test_perfectly_separated_curves_are_never_sharper_than_the_grid(seeds: int):
    found = threshold(DOUBLINGS, np.tile([0, 0, 0, 1, 1, 1, 1], (seeds, 1)))
    assert found.estimate.value == pytest.approx(64 * 2**0.5)
    assert found.estimate.low <= 64
    assert found.estimate.high >= 128
    if seeds >= 5:
        assert (found.estimate.low, found.estimate.high) == pytest.approx((64, 128))


def test_a_threshold_off_the_grid_is_censored_on_its_side():
    below, above = threshold(DOUBLINGS, np.ones((5, 7))), threshold(DOUBLINGS, np.zeros((5, 7)))
    assert (below.censored, below.estimate) == ("below", Estimate(0.0, 0.0, 16.0))
    assert (above.censored, above.estimate) == ("above", Estimate(np.inf, 1024.0, np.inf))
    rare = np.zeros((5, 7))
    rare[0, 6] = 1
    assert (threshold(DOUBLINGS, rare).censored, threshold(DOUBLINGS, rare).estimate.low) == ("above", 512)
    assert threshold(DOUBLINGS, np.ones((3, 7))).estimate == Estimate(0.0, 0.0, np.inf)


@pytest.mark.parametrize("law", ["normal", "logistic"])
@pytest.mark.parametrize("seeds", SEED_COUNTS)
def test_the_threshold_is_covered_for_every_spread_of_the_seeds_and_place_in_the_cell(seeds: int, law: str):
    rng = np.random.default_rng(seeds)
    widest = {3: 5.0, 4: 4.0, 5: 3.0, 7: 3.0, 20: 2.0}[seeds]  # median width in doublings at a spread of .7
    for spread in (0.05, 0.3, 0.7, 1.5):
        for middle in (6.5, 6.98):  # the middle of a cell, and just before a grid point, the hardest place
            held, widths = [], []
            for _ in range(100):
                e = threshold(DOUBLINGS, success_curves(rng, seeds, middle, spread, law)).estimate
                held.append(e.low <= 2**middle <= e.high)
                widths.append(np.log2(e.high) - np.log2(e.low) if e.low > 0 else np.inf)
            assert np.mean(held) >= 0.92
            if spread <= 0.7:
                assert np.median(widths) <= widest


@pytest.mark.parametrize("seeds", [5, 20])
def test_a_threshold_at_another_target_is_that_quantile_of_the_seeds(seeds: int):
    rng = np.random.default_rng(seeds)
    truth = 2 ** (6.3 + 0.7 * 0.8416212)
    draw = lambda: threshold(DOUBLINGS, success_curves(rng, seeds, 6.3, 0.7, "normal"), target=0.8).estimate  # noqa: E731
    assert coverage(draw, truth, 600)[0] >= 0.92
    many = threshold(DOUBLINGS, success_curves(rng, 4000, 6.3, 1.5, "normal"), target=0.8).estimate.value
    assert np.log2(many) == pytest.approx(6.3 + 1.5 * 0.8416, abs=0.15)


@pytest.mark.parametrize("seeds", [4, 5, 20])
def test_the_threshold_is_covered_when_cells_of_a_seed_are_independent_shares(seeds: int):
    rng = np.random.default_rng(seeds)
    rates = 1 / (1 + np.exp(-2 * (np.log2(DOUBLINGS) - 6.9)))
    covered, _ = coverage(lambda: threshold(DOUBLINGS, rng.binomial(4, rates, (seeds, 7)) / 4).estimate, 2**6.9, 500)
    assert covered >= 0.92


@settings(deadline=None, max_examples=60)
@given(success_tables, st.floats(0.1, 0.9))
def test_the_threshold_lies_in_its_interval_in_the_grid_and_in_a_whole_cell(success: np.ndarray, target: float):
    x = 3 * 2.0 ** np.arange(success.shape[1])
    found = threshold(x, success, target)
    e = found.estimate
    assert not np.isnan([e.value, e.low, e.high]).any()
    assert e.low <= e.value <= e.high
    if found.censored:
        assert e.value == {"below": 0, "above": np.inf}[found.censored]
    else:
        assert x[0] * (1 - 1e-12) <= e.value <= x[-1] * (1 + 1e-12)
        assert e.high >= 2 * e.low * (1 - 1e-12)


@settings(deadline=None, max_examples=60)
@given(success_tables, st.floats(0.01, 100))
def test_the_unit_of_x_scales_the_threshold_and_its_interval(success: np.ndarray, unit: float):
    x = 2.0 ** np.arange(success.shape[1])
    found, scaled = threshold(x, success), threshold(unit * x, success)
    assert scaled.censored == found.censored
    for part in ("value", "low", "high"):
        assert getattr(scaled.estimate, part) == pytest.approx(unit * getattr(found.estimate, part))


@settings(deadline=None, max_examples=60)
@given(success_tables, st.data())
def test_one_more_success_never_raises_the_threshold_and_a_higher_target_never_lowers_it(success: np.ndarray, data):
    x = 2.0 ** np.arange(success.shape[1])
    failures = np.argwhere(success == 0)
    assume(len(failures) > 0)
    better = success.copy()
    better[tuple(data.draw(st.sampled_from(failures.tolist())))] = 1
    value = threshold(x, success).estimate.value
    assert threshold(x, better).estimate.value <= value * (1 + 1e-9)
    assert threshold(x, success, target=0.7).estimate.value >= value * (1 - 1e-9)


# Refusals


@pytest.mark.parametrize(
    "fit",
    [
        lambda: slope([1.0], [[1.0]]),
        lambda: slope([1.0, 2.0], [[1.0, np.nan]]),
        lambda: slope([1.0, 2.0, 3.0], [[1.0, 2.0]]),
        lambda: line([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]),
        lambda: power_law([1.0, 2.0], [1.0, 2.0]),
        lambda: power_law([1.0, 2.0, 3.0], [1.0, 0.0, 2.0]),
        lambda: power_law([0.0, 2.0, 3.0], [1.0, 1.0, 2.0]),
        lambda: offset_power_law([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
        lambda: offset_power_law(ALPHAS, -ALPHAS, -2),
        lambda: offset_power_law(ALPHAS - 0.2, ALPHAS, -2, nonnegative=True),
        lambda: threshold([1.0, 2.0, 2.0], [[0, 1, 1]]),
        lambda: threshold([1.0, 2.0], [[0, 2]]),
        lambda: mean_interval([[1.0, 2.0]]),
    ],
)
def test_data_that_determine_no_fit_are_refused_in_one_sentence(fit: Callable[[], object]):
    with pytest.raises(CannotFit, match=r"^[A-Z].*\.$"):
        fit()
