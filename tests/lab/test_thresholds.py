"""Adaptive thresholds: Bayes' rule, placement where runs tell most, intervals that cover, the search over a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit
from smoke import Smoke

import lemmata as lm
from lemmata.lab import psi
from lemmata.lab.errors import UserError
from lemmata.lab.fits import threshold
from lemmata.lab.generators import generator
from lemmata.lab.sweep import Progress
from lemmata.lab.thresholds import find_threshold
from lemmata.theories import vit
from lemmata.theories.vit.measures import success as succeeded

X = 2.0 ** np.arange(1, 7.25, 0.5)
Shape = Callable[[np.ndarray, float], np.ndarray]
"""(u - theta, target) -> rate, at the target where u = theta."""


# The posterior and the placement


def model(target: float = 0.5) -> psi.Model:
    return psi.make_model(2, 128, X, target)


def belief_after(m: psi.Model, trials: list[tuple[int, int]]) -> np.ndarray:
    belief = psi.prior(m, 1)
    for candidate, outcome in trials:
        belief = psi.update(m, belief, [candidate], [outcome])
    return belief


def by_hand(u: float, theta: float, rise: float) -> float:
    return 0.02 + 0.96 / (1 + 9.0 ** (-2 * (u - theta) / rise))


TRIALS = [(6, 0), (9, 1), (7, 0), (9, 1), (8, 1), (12, 0)]


def test_the_posterior_is_bayes_rule_written_out_in_any_order_of_the_runs() -> None:
    m = model()
    likelihood = [
        [
            math.prod(by_hand(1 + i / 2, theta, r) if y else 1 - by_hand(1 + i / 2, theta, r) for i, y in TRIALS)
            for r in m.rises
        ]
        for theta in m.thresholds
    ]
    expected = np.array(likelihood) / np.sum(likelihood)
    np.testing.assert_allclose(belief_after(m, TRIALS)[0], expected, rtol=1e-9)
    np.testing.assert_allclose(belief_after(m, TRIALS[::-1])[0], expected, rtol=1e-9)


@pytest.mark.parametrize("target", [0.01, 0.25, 0.5, 0.75, 0.99])
def test_every_curve_is_at_the_target_at_its_threshold(target: float) -> None:
    m = model(target)
    at = np.searchsorted(m.thresholds, m.candidates[4] - 1e-9)
    np.testing.assert_allclose(m.rates[4, at], target, rtol=1e-9)
    assert (np.diff(m.rates, axis=0) >= 0).all()
    assert 0 < m.rates.min() < target < m.rates.max() < 1


def test_the_information_of_a_run_is_the_expected_fall_of_the_entropy() -> None:
    m = model()
    belief = belief_after(m, TRIALS[:3])
    entropy = lambda b: float(-np.sum(b * np.log(b)))  # noqa: E731
    for candidate, gain in enumerate(psi.information(m, belief)[0]):
        chance = float(np.sum(belief[0] * m.rates[candidate]))
        after = sum(
            share * entropy(psi.update(m, belief, [candidate], [y])) for y, share in ((1, chance), (0, 1 - chance))
        )
        assert gain == pytest.approx(entropy(belief) - after, abs=1e-9)


def test_runs_begin_in_the_middle_and_move_against_the_outcome() -> None:
    m = model()
    assert psi.place(m, psi.prior(m, 2)).tolist() == [6, 6]
    assert psi.place(m, belief_after(m, [(6, 0)]))[0] > 6
    assert psi.place(m, belief_after(m, [(6, 1)]))[0] < 6


def test_a_threshold_is_given_no_sharper_than_it_was_searched_for() -> None:
    m = model()
    failures, successes = belief_after(m, [(12, 0)] * 30), belief_after(m, [(0, 1)] * 30)
    assert [float(v[0]) for v in psi.credible(m, failures)] == [np.inf, 128.0, np.inf]
    assert [float(v[0]) for v in psi.credible(m, successes)] == [0.0, 0.0, 2.0]


def test_quantiles_of_a_known_posterior() -> None:
    m = model()
    belief = np.zeros_like(psi.prior(m, 1))
    inside = (m.thresholds > 2) & (m.thresholds < 6)  # 31 points, 1/8 apart, from 2.125 to 5.875
    belief[0, inside, 3] = 1 / inside.sum()
    length, start = 31 / 8, 2.125 - 1 / 16
    expected = [start + share * length for share in (0.5, 0.1, 0.9)]
    np.testing.assert_allclose(np.ravel(psi.quantiles(m, belief, 0.8)), expected, rtol=1e-9)
    assert psi.mean_rise(m, belief)[0] == pytest.approx(m.rises[3])


# Coverage


def search(
    rates: np.ndarray, rng: np.random.Generator, width: float | None, most: int, target: float = 0.5
) -> tuple[psi.Model, np.ndarray, np.ndarray]:
    """Many searches at once over curves rates[search, candidate]: the model, the beliefs, the numbers of runs."""
    m = model(target)
    belief, active, runs = psi.prior(m, len(rates)), np.arange(len(rates)), np.full(len(rates), most)
    for trial in range(most):
        chosen = psi.place(m, belief[active])
        outcome = rng.random(len(active)) < rates[active, chosen]
        belief[active] = psi.update(m, belief[active], chosen, outcome)
        if width is not None:
            _, low, high = psi.quantiles(m, belief[active])
            done = (high - low <= width) | (low >= m.high) | (high <= m.low)
            runs[active[done]] = trial + 1
            active = active[~done]
        if not len(active):
            break
    return m, belief, runs


def logistic(rise: float) -> Shape:
    return lambda z, target: expit(2 * np.log(9) / rise * z + np.log(target / (1 - target)))


def skewed(rise: float) -> Shape:
    """Complementary log-log: a slow start and a fast end."""
    slope = (np.log(-np.log(0.1)) - np.log(-np.log(0.9))) / rise
    return lambda z, target: -np.expm1(-np.exp(slope * z + np.log(-np.log1p(-target))))


def step(z: np.ndarray, target: float) -> np.ndarray:
    return (z >= 0) * 1.0


REPLICATES = 300
# Shape, lapses on either side, least coverage when the runs end at two octaves and after seven runs. The level is 0.95,
# three Monte Carlo errors are 0.04. Below that are only the curves that rise over half of the range (three octaves:
# 0.92 to 0.94 measured with 1000 replicates) or more (4.5: 0.85 to 0.87; all six: 0.75 to 0.78).
COVERAGE = {
    "step": (step, 0.0, 0.95, 0.95),
    "step with lapses": (step, 0.05, 0.95, 0.95),
    "steep": (logistic(1), 0.02, 0.95, 0.95),
    "logistic": (logistic(2), 0.02, 0.93, 0.93),
    "logistic with lapses": (logistic(2), 0.05, 0.92, 0.92),
    "skewed": (skewed(2), 0.02, 0.92, 0.92),
    "skewed with lapses": (skewed(2), 0.05, 0.92, 0.92),
    "over half of the range": (logistic(3), 0.02, 0.89, 0.89),
    "over three quarters of the range": (logistic(4.5), 0.02, 0.79, 0.8),
}


@pytest.mark.parametrize("case", COVERAGE)
def test_the_interval_covers_the_crossing_of_a_fixed_curve(case: str) -> None:
    shape, lapse, least, least_of_seven = COVERAGE[case]
    for width, most, bound in ((2.0, 70, least), (None, 7, least_of_seven)):
        rng = np.random.default_rng(0)
        theta = rng.uniform(1.5, 6.5, REPLICATES)
        rates = lapse + (1 - 2 * lapse) * shape(np.log2(X) - theta[:, None], 0.5)
        m, belief, _ = search(rates, rng, width, most)
        _, low, high = psi.credible(m, belief)
        assert np.mean((low <= 2**theta) & (2**theta <= high)) >= bound


@pytest.mark.parametrize("target", [0.25, 0.75])
def test_the_interval_covers_at_other_targets(target: float) -> None:
    rng = np.random.default_rng(1)
    theta = rng.uniform(1.5, 6.5, REPLICATES)
    rates = 0.02 + 0.96 * logistic(2)(np.log2(X) - theta[:, None], (target - 0.02) / 0.96)
    m, belief, _ = search(rates, rng, None, 12, target)
    middle, low, high = psi.credible(m, belief)
    assert np.mean((low <= 2**theta) & (2**theta <= high)) >= 0.93
    # a wrong target would be a whole quartile of the curve away: half an octave of its rise of two
    assert abs(np.log2(np.median(middle / 2**theta))) < 0.25


@pytest.mark.parametrize(("width", "most"), [(2.0, 60), (None, 7)])
def test_the_coverage_averaged_over_the_prior_is_the_level_whatever_ends_the_runs(
    width: float | None, most: int
) -> None:
    rng, count = np.random.default_rng(2), 1500
    m = model()
    theta = rng.choice(m.thresholds, count) + (m.thresholds[1] - m.thresholds[0]) * (rng.random(count) - 0.5)
    rises = rng.choice(m.rises, count)
    rates = 0.02 + 0.96 * expit(2 * np.log(9) / rises[:, None] * (np.log2(X) - theta[:, None]))
    _, belief, _ = search(rates, rng, width, most)
    _, low, high = psi.quantiles(m, belief)
    assert np.mean((low <= theta) & (theta <= high)) == pytest.approx(0.95, abs=0.018)
    _, low, high = psi.quantiles(m, belief, 0.5)
    assert np.mean((low <= theta) & (theta <= high)) == pytest.approx(0.5, abs=0.04)


def test_the_search_needs_a_fraction_of_the_runs_of_a_grid_of_the_same_width() -> None:
    rng, theta = np.random.default_rng(3), 4.3
    grid = 2.0 ** np.arange(1, 8)
    curve = lambda x: 0.02 + 0.96 * logistic(1.5)(np.log2(x) - theta, 0.5)  # noqa: E731
    estimates = [threshold(grid, rng.random((5, 7)) < curve(grid)).estimate for _ in range(41)]
    width = float(np.median([np.log2(e.high / e.low) if e.low > 0 else np.inf for e in estimates]))
    assert width == 3
    m, belief, runs = search(np.tile(curve(X), (200, 1)), rng, width, 35)
    assert np.mean(runs) < 35 / 5
    _, low, high = psi.quantiles(m, belief)
    assert (high - low <= width).all()


def test_placed_runs_tell_more_than_as_many_spread_evenly() -> None:
    rng, count = np.random.default_rng(4), 200
    theta = rng.uniform(2, 6, count)
    rates = 0.02 + 0.96 * logistic(1)(np.log2(X) - theta[:, None], 0.5)
    m, placed, _ = search(rates, rng, None, 13)
    spread = psi.prior(m, count)
    for candidate in range(13):
        spread = psi.update(m, spread, np.full(count, candidate), rng.random(count) < rates[:, candidate])
    widths = [np.median(np.subtract(*psi.quantiles(m, belief)[:0:-1])) for belief in (placed, spread)]
    assert widths[0] < 0.75 * widths[1]


def test_after_a_dozen_runs_the_next_ones_lie_on_the_slope() -> None:
    rng = np.random.default_rng(5)
    theta = rng.uniform(2, 6, 100)
    m, belief, _ = search(0.02 + 0.96 * logistic(1)(np.log2(X) - theta[:, None], 0.5), rng, None, 12)
    away = np.abs(m.candidates[psi.place(m, belief)] - theta)
    assert np.mean(away <= 1) > 0.9


# The search over a grid


class Setting(lm.Setting):
    samples: int = lm.number(16, "N", "samples", low=1, high=4096, integer=True)
    batch: int = lm.number(0, "B", "batch", low=0, integer=True)
    noise: float = lm.number(1.0, "c", "noise", low=0)
    need: float = lm.number(4.0, "t", "log2 of the samples needed")
    width: int = lm.size(4, "m", "neurons")
    mode: str = lm.choice("plain", "which variant", "plain", "broken")

    def refusals(self, given: list[str]) -> Any:
        if "batch" in given and self.batch > self.samples:
            yield f"batch = {self.batch} is not allowed: it must not exceed samples = {self.samples}."


@lm.simulation(lm.Variable("loss", (), "l", "loss"), lm.Variable("path", ("record",), "p", "a path"), host=True)
def toy(setting: Setting, seed: int) -> dict[str, Any]:
    """Succeeds, with loss 0, at the rate of a logistic curve of rise two that crosses one half at 2^need samples."""
    if setting.mode == "broken" and setting.samples > 30:
        raise ArithmeticError("no convergence")
    rate = expit(2 * np.log(9) / 2 * (np.log2(setting.samples) - setting.need) / max(setting.noise, 1e-6))
    failed = generator(seed, "toy").random() > rate
    return {"loss": np.float32(failed), "path": np.zeros(3, np.float32)}


def success(data: xr.Dataset) -> xr.DataArray:
    return (data.loss < 0.5) * 1.0


AXES = {"need": [2.5, 4.0, 5.5], "noise": [0.0, 1.0]}


def find(**changes: Any) -> xr.Dataset:
    given: dict[str, Any] = {"success": success, "between": (2, 128), "axes": AXES, "runs": 12} | changes
    return find_threshold(toy, Setting(), given.pop("along", "samples"), given.pop("target", 0.5), **given)


def test_a_search_gives_thresholds_over_the_grid_of_the_other_axes() -> None:
    found = find()
    assert found.threshold.dims == ("need", "noise")
    assert found.tried.dims == found.outcome.dims == ("need", "noise", "trial")
    assert (found.runs == 12).all()
    assert set(np.unique(found.tried)) <= {2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128}
    assert (found.censored == "").all()
    assert ((found.low <= found.threshold) & (found.threshold <= found.high)).all()
    assert ((found.low <= 2**found.need) & (2**found.need <= found.high)).all()
    assert (found.rise.sel(noise=0) < found.rise.sel(noise=1)).all()


def test_run_k_of_every_cell_has_the_seed_k_and_is_what_a_sweep_computes() -> None:
    found = find(seed=40)
    assert found.seed.values.tolist() == list(range(40, 52))
    for trial in (0, 5, 11):
        one = found.sel(need=4.0, noise=1.0).isel(trial=trial)
        setting = Setting(samples=int(one.tried), need=4.0, noise=1.0)
        assert float(one.outcome) == 1 - float(toy(setting, 40 + trial)["loss"])


def test_a_search_is_reproducible_and_no_cell_depends_on_the_others() -> None:
    found = find(width=2.5)
    xr.testing.assert_identical(find(width=2.5), found)
    alone = find(width=2.5, axes={"need": [4.0], "noise": [1.0]})
    together = found.sel(need=[4.0], noise=[1.0]).isel(trial=slice(alone.sizes["trial"]))
    xr.testing.assert_identical(alone, together)
    assert not found.outcome.identical(find(width=2.5, seed=100).outcome)


def test_a_search_ends_where_the_interval_is_narrow_and_says_how_many_runs_it_made() -> None:
    calls: list[Progress] = []
    found = find(width=2.5, runs=40, progress=calls.append)
    assert (np.log2(found.high / found.low) <= 2.5).all()
    assert found.runs.max() == found.sizes["trial"] < 40
    assert len(np.unique(found.runs)) > 1
    np.testing.assert_array_equal(found.tried.notnull().sum("trial"), found.runs)
    np.testing.assert_array_equal(found.outcome.isnull(), found.tried.isnull())
    runs = int(found.runs.sum())
    assert calls[-1] == Progress(cells=found.runs.size, all_cells=found.runs.size, failed=0, runs=runs, all_runs=runs)
    before = find(runs=int(found.runs.min()) - 1)
    assert (np.log2(before.high / before.low) > 2.5).all()


def test_a_search_ends_where_the_user_says_so() -> None:
    found = find(until=lambda data: data.low > 8, runs=30)
    assert (found.low.sel(need=[4.0, 5.5]) > 8).all()
    assert (found.runs.sel(need=[4.0, 5.5]) < 30).all()
    assert (found.runs.sel(need=2.5) == 30).all()
    with pytest.raises(UserError, match="until must return true or false for every cell"):
        find(until=lambda data: data.low.isel(need=0) > 8)


def test_a_threshold_beyond_the_range_is_censored_on_its_side() -> None:
    found = find(axes={"need": [-3.0, 12.0]}, width=1.0, runs=40)
    assert found.censored.values.tolist() == ["below", "above"]
    assert found.threshold.values.tolist() == [0, np.inf]
    assert (found.low.values[0], found.high.values[1]) == (0, np.inf)
    assert found.high.values[0] <= 4
    assert found.low.values[1] >= 64
    assert (found.runs < 40).all()


def test_named_values_set_several_fields_and_no_axes_give_one_cell() -> None:
    values = {n: {"samples": n, "batch": n // 2} for n in (32, 2, 8, 16, 4, 64)}
    seen: list[np.ndarray] = []

    def watch(data: xr.Dataset) -> xr.DataArray:
        seen.append(data.n.values)
        return success(data)

    found = find(along="n", values=values, between=None, axes=None, success=watch)
    assert found.threshold.dims == ()
    assert found.tried.values.tolist() == [float(each[0]) for each in seen]
    assert (found.attrs["low"], found.attrs["high"]) == (2, 64)
    with pytest.raises(UserError, match="batch = 6"):
        find(along="n", values={4: {"samples": 4, "batch": 6}, 8: {"samples": 8}}, between=None)


def test_success_sees_the_values_tried_and_the_labels_of_the_axes() -> None:
    found = find(success=lambda data: ((data.samples >= 2**data.need) & (data.loss < 2)) * 1)
    np.testing.assert_array_equal(found.outcome, (found.tried >= 2**found.need) * 1.0)


def test_a_failing_run_is_reported_with_its_cell() -> None:
    with pytest.raises(RuntimeError, match=r"need=5.5, mode=broken, samples=.*ArithmeticError"):
        find(axes={"need": [5.5], "mode": ["plain", "broken"]})


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"along": "sample"}, "did you mean 'samples'"),
    "choice": ({"along": "mode"}, "along = mode is not allowed"),
    "also an axis": ({"axes": {"samples": [2, 4]}}, "samples is one of the axes too"),
    "set twice": ({"axes": {"case": {"a": {"samples": 4}}}}, "Two axes set the field samples"),
    "label twice": ({"axes": {"need": [3.0, 3.0]}}, "need has the value 3 twice"),
    "target": ({"target": 1.0}, "target = 1.0 is not allowed"),
    "level": ({"level": 0}, "level = 0 is not allowed"),
    "reversed": ({"between": (128, 2)}, r"between = \(128, 2\) is not allowed"),
    "one value": ({"between": (8, 8)}, r"between = \(8, 8\) is not allowed"),
    "not positive": ({"between": (0, 8)}, r"between = \(0, 8\) is not allowed"),
    "not whole": ({"between": (2.5, 8)}, "samples = 2.5 is not allowed: .* an integer"),
    "out of range": ({"between": (2, 100_000)}, "samples = 100000 is not allowed"),
    "no range": ({"between": None}, "Give either between"),
    "both": ({"values": [2, 4]}, "Give either between"),
    "one candidate": ({"values": [4], "between": None}, "two or more different positive numbers"),
    "words": ({"values": {"a": {}, "b": {}}, "between": None}, "two or more different positive numbers"),
    "runs": ({"runs": 0}, "runs = 0 is not allowed"),
    "width": ({"width": -1.0}, "width = -1.0 is not allowed"),
    "reserved": ({"axes": {"run": {"a": {"need": 3.0}}}}, "cannot be called run"),
    "no function": ({"success": "x"}, "success = 'x' is not allowed: give a function"),
    "until a number": ({"until": 3}, "until = 3 is not allowed: give a function"),
    "seed": ({"seed": -1}, "seed = -1 is not allowed"),
    "too many runs": ({"runs": 2**40}, "the last seed is at most"),
    "axes in a list": ({"axes": ["need"]}, "give a mapping"),
    "no name": ({"along": []}, "it is the name of a field"),
    "values in words": ({"values": "x", "between": None}, "give a list of numbers"),
    "values that are lists": ({"values": [[1], [2]], "between": None}, r"samples = \[1\] is not allowed"),
    "no fields": ({"values": {1: 2, 2: 3}, "between": None}, "give it fields to set"),
    "beyond all numbers": ({"between": (1, 10**400)}, "is not allowed: between is a pair"),
    "width beyond all numbers": ({"width": 10**400}, "is not allowed: width is a positive number"),
    "success per record": ({"success": lambda data: data.path < 1}, "not one over .'run', 'seed', 'record'"),
    "success not an array": ({"success": lambda data: 1}, "not int"),
    "success not 0/1": ({"success": lambda data: data.loss + 0.5}, "success must be 0 or 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case: str) -> None:
    changes, sentence = BAD[case]
    with pytest.raises(UserError, match=sentence):
        find(**changes)


def test_a_field_of_real_numbers_is_searched_at_thirteen_of_equal_ratio_and_a_size_at_whole_ones() -> None:
    found = find(
        along="noise", between=(0.1, 1.6), axes=None, success=lambda data: (data.noise > 0.35) & (data.loss < 2)
    )
    steps = 3 * np.log2(found.tried.values / 0.1)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert found.low < 0.35 < found.high
    sizes = find(along="width", between=(1, 8), axes=None, success=lambda data: (data.width > 2) & (data.loss < 2))
    assert set(sizes.tried.values) <= {1, 2, 3, 4, 5, 6, 7, 8}
    assert sizes.low < 3
    assert sizes.high > 2


@pytest.mark.xdist_group("vit")
def test_a_theory_is_searched_like_a_toy(smoke: Callable[[str], Smoke]) -> None:
    preset = vit.theory.experiments["f1a-samples"].presets["smoke"]
    fractions = {"relevant_fraction": preset.axes["relevant_fraction"]}
    values = [int(count) for count in preset.axes["samples"]]
    found = find_threshold(
        vit.simulate, preset.setting, "samples", success=succeeded, values=values, axes=fractions, runs=2
    )
    assert found.outcome.dims == ("relevant_fraction", "trial")
    first = found.isel(relevant_fraction=0, trial=0)
    grid = smoke("vit").data("f1a-samples")
    alone = grid.isel(seed=[0]).sel(relevant_fraction=float(first.relevant_fraction), samples=float(first.tried))
    assert float(succeeded(alone).squeeze()) == float(first.outcome)


def test_workers_find_the_same_threshold_as_this_process() -> None:
    xr.testing.assert_identical(find(runs=3, engine="processes:1"), find(runs=3))
