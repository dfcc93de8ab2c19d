"""What claims and figures read off the data sets, against numbers computed by hand."""

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.claims import NotApplicable
from lemmata.lab.measures import at_end, log_slopes, ratio_of_means
from lemmata.theories.vit.claims.dynamics import growth
from lemmata.theories.vit.measures import by_reading, converged, half_thresholds, own_coordinates, success

nan, inf = float("nan"), float("inf")


def hinges(rows: dict[float, list[list[float]]], counts: list[int]) -> xr.Dataset:
    """Test hinge losses: for every relevant fraction one list over N per seed, stored as (fraction, N, seed)."""
    values = np.asarray(list(rows.values())).transpose(0, 2, 1)
    coords = {"relevant_fraction": list(rows), "samples": np.asarray(counts, float), "seed": range(values.shape[2])}
    return xr.Dataset({"test_hinge": (("relevant_fraction", "samples", "seed"), values)}, coords)


# Success


def test_a_run_succeeds_if_its_test_hinge_is_below_one_thousandth():
    data = xr.Dataset({"test_hinge": ("seed", [0.0, 9.99e-4, 1e-3, 1.01e-3, 0.5])})
    assert success(data).values.tolist() == [1, 1, 0, 0, 0]


# Thresholds


def test_a_step_between_two_counts_has_its_threshold_at_their_geometric_mean():
    seed = [1.0, 1.0, 0.0, 0.0]
    found = half_thresholds(hinges({0.3: [seed] * 5}, [2, 4, 16, 32]))[0.3]
    assert found.estimate.value == pytest.approx(8)
    assert found.censored == ""
    assert (found.estimate.low, found.estimate.high) == (4, 16)


def test_a_threshold_is_interpolated_linearly_in_the_logarithm_of_n():
    # success rates 0, 1/4, 3/4, 1 at N = 2, 4, 8, 16 cross one half halfway between 4 and 8
    seeds = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert half_thresholds(hinges({0.4: seeds}, [2, 4, 8, 16]))[0.4].estimate.value == pytest.approx(2**2.5)
    # rates 0, 1/4, 1: one third of the way from 4 to 8
    seeds = [[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 0, 0]]
    assert half_thresholds(hinges({0.4: seeds}, [2, 4, 8]))[0.4].estimate.value == pytest.approx(4 * 2 ** (1 / 3))


def test_thresholds_beyond_the_grid_are_named_by_their_side():
    found = half_thresholds(hinges({0.3: [[1, 1, 1]] * 3, 0.4: [[1, 0, 0]] * 3, 0.5: [[0, 0, 0]] * 3}, [2, 4, 8]))
    assert list(found) == [0.3, 0.4, 0.5]
    assert [t.censored for t in found.values()] == ["above", "", "below"]
    assert [t.estimate.value for t in found.values()] == [inf, pytest.approx(2**1.5), 0]


def test_thresholds_do_not_depend_on_the_order_of_the_dimensions():
    data = hinges({0.3: [[1, 1, 0]] * 3, 0.4: [[1, 0, 0]] * 3}, [2, 4, 8])
    for order in (("seed", "samples", "relevant_fraction"), ("samples", "relevant_fraction", "seed")):
        found = half_thresholds(data.transpose(*order))
        assert [t.estimate.value for t in found.values()] == pytest.approx([2**2.5, 2**1.5])


# Slopes


def test_the_exponent_of_a_power_law_is_found_in_every_seed():
    x = np.asarray([0.1, 0.2, 0.5, 0.9])
    times = xr.DataArray(
        np.stack([7 * x**-1.5, 300 * x**0.25]), dims=("seed", "x"), coords={"x": x, "seed": [0, 1]}
    ).transpose("x", "seed")
    slopes = log_slopes(times, "x")
    assert slopes.dims == ("seed",)
    assert slopes.values == pytest.approx([-1.5, 0.25])


def test_between_two_points_the_exponent_is_the_quotient_of_logarithms():
    times = xr.DataArray([[400.0, 100.0], [90.0, 30.0]], dims=("seed", "x"), coords={"x": [1.0, 2.0]})
    assert log_slopes(times, "x").values == pytest.approx([-2, -np.log2(3)])


def test_the_exponent_is_the_least_squares_slope_of_the_logarithms():
    # logarithms 0, 1, 5 at 0, 1, 2: slope (5 - 0) / 2
    times = xr.DataArray(np.exp([0.0, 1, 5]), dims="x", coords={"x": np.exp([0.0, 1, 2])})
    assert float(log_slopes(times, "x")) == pytest.approx(2.5)


def test_a_run_that_never_arrives_leaves_no_finite_exponent():
    times = xr.DataArray([[inf, 30.0, 10.0]], dims=("seed", "x"), coords={"x": [1.0, 2.0, 4.0]})
    assert not np.isfinite(log_slopes(times, "x")).any()


# The step-size sweep


def test_the_step_size_sweep_is_split_by_output_variant():
    runs = {
        "variant": ["one", "two", "three", "four"],
        "output": ("variant", ["shared", "per_token", "shared", "per_token"]),
        "step_size": ("variant", [0.02, 0.5, 0.1, 2.0]),
    }
    data = xr.Dataset(
        {"small_loss_step": (("variant", "seed"), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])}, runs
    )
    found = {reading: sweep.small_loss_step for reading, sweep in by_reading(data).items()}
    assert list(found) == ["shared", "per_token"]
    assert found["shared"].step_size.values.tolist() == [0.02, 0.1]
    assert found["per_token"].step_size.values.tolist() == [0.5, 2]
    assert found["shared"].transpose("seed", "step_size").values.tolist() == [[1, 5], [2, 6]]
    assert found["per_token"].transpose("seed", "step_size").values.tolist() == [[3, 7], [4, 8]]


# Values at the end


def test_the_end_of_a_run_is_its_last_used_record():
    values = xr.DataArray(
        [[1.0, 2, 3, 4], [5, 6, nan, nan], [7, nan, nan, nan]], dims=("seed", "record"), coords={"seed": [0, 1, 2]}
    )
    ended = at_end(values)
    assert ended.dims == ("seed",)
    assert ended.values.tolist() == [4, 6, 7]


def test_runs_of_a_sweep_end_each_at_its_own_record():
    values = np.full((2, 3, 5, 2), nan)
    for variant in range(2):
        for seed in range(3):
            last = 1 + variant + seed
            values[variant, seed, : last + 1] = 100 * variant + 10 * seed + np.arange(last + 1)[:, None] + [0.0, 0.5]
    ended = at_end(
        xr.DataArray(values, dims=("variant", "seed", "record", "query"), coords={"query": ["all", "neutral"]})
    ).transpose("variant", "seed", "query")
    assert ended.sel(query="all").values.tolist() == [[1, 12, 23], [102, 113, 124]]
    assert ended.sel(query="neutral").values.tolist() == [[1.5, 12.5, 23.5], [102.5, 113.5, 124.5]]


# Ratios of means


def test_the_mean_of_the_seed_values_is_the_ratio_of_the_means():
    above, below = (xr.DataArray(v, dims="seed") for v in ([1.0, 10.0, 4.0], [1.0, 2.0, 3.0]))
    ratio = ratio_of_means(above, below)
    assert float(ratio.mean()) == pytest.approx(15 / 6, rel=1e-15)
    # the mean of the ratios would be (1 + 5 + 4/3) / 3
    # linearised: 2.5 + (above - 2.5 below) / 2
    assert ratio.values == pytest.approx([1.75, 5, 0.75])


def test_a_constant_ratio_has_no_spread():
    below = xr.DataArray([3.0, 50.0, 7.0], dims="seed")
    assert ratio_of_means(1.25 * below, below).values == pytest.approx([1.25] * 3, rel=1e-15)


def test_ratios_of_means_are_taken_cell_by_cell():
    above = xr.DataArray(
        [[2.0, 4.0], [9.0, 9.0]], dims=("variant", "seed"), coords={"variant": ["shared", "per_token"]}
    )
    below = xr.DataArray(
        [[1.0, 2.0], [1.0, 5.0]], dims=("variant", "seed"), coords={"variant": ["shared", "per_token"]}
    )
    assert ratio_of_means(above, below).mean("seed").values == pytest.approx([2, 3])


# The convergence gate


def passages(**never: float) -> xr.Dataset:
    """T_0 of two variants, attention trained and frozen, two seeds; `trained_shared = inf` never arrives in seed 1."""
    steps = np.asarray([[[100.0, 110], [300, 310]], [[90.0, 95], [200, 210]]])
    for name, value in never.items():
        attention, _, variant = name.partition("_")
        steps[["shared", "per_token"].index(variant), ["trained", "frozen"].index(attention), 1] = value
    coords = {"variant": ["shared", "per_token"], "attention": ["trained", "frozen"]}
    return xr.Dataset({"reached_step": (("variant", "attention", "seed"), steps)}, coords)


BOTH = converged(attention="trained", variant=["shared", "per_token"])
SHARED = converged(attention="trained", variant=["shared"])


@pytest.mark.parametrize("never", [inf, nan])
def test_runs_with_trained_attention_must_converge_in_every_seed_of_the_variants_asked_for(never):
    for gate, late in ((converged(attention="trained"), "trained_shared"), (BOTH, "trained_per_token")):
        with pytest.raises(NotApplicable, match="not converged"):
            gate.check(passages(**{late: never}))
    SHARED.check(passages(trained_per_token=never))


@pytest.mark.parametrize("never", [inf, nan])
def test_runs_with_frozen_attention_need_not_converge(never):
    for gate in (converged(attention="trained"), BOTH):
        gate.check(passages(frozen_shared=never, frozen_per_token=never))


def test_where_attention_is_no_axis_all_runs_must_converge():
    data = xr.Dataset({"reached_step": ("seed", [10.0, inf])})
    with pytest.raises(NotApplicable, match="not converged"):
        BOTH.check(data)
    BOTH.check(data.isel(seed=[0]))


# Feature coordinates and growth factors


def coordinates(*paths: list[float]) -> xr.DataArray:
    """C(t) of one run per path: own entries c and 2c along the path, everything else 7."""
    matrix = np.full((len(paths), len(paths[0]), 3, 3), 7.0)
    for seed, path in enumerate(paths):
        matrix[seed, :, 0, 0] = path
        matrix[seed, :, 1, 1] = 2 * np.asarray(path)
        matrix[seed, np.isnan(path)] = nan
    return xr.DataArray(matrix, dims=("seed", "record", "feature", "pattern"))


def test_own_coordinates_are_the_first_two_diagonal_entries_up_to_the_stop():
    own = own_coordinates(coordinates([1, 2, 3], [4, 5, nan]))
    assert own.side.values.tolist() == ["plus", "minus"]
    own = own.transpose("side", "seed", "record")
    assert own.isel(side=0).values.tolist()[0] == [1, 2, 3]
    assert own.isel(side=1, seed=1).values.tolist()[:2] == [8, 10]
    assert np.isnan(own.isel(seed=1, record=2)).all()


def test_growth_factors_are_relative_steps_of_queries_and_keys():
    data = xr.Dataset({"query_features": coordinates([1, 1.5, 3]), "key_features": coordinates([4, 3, 3])})
    factors = growth(data).squeeze("seed").transpose("factor", "side", "record")
    assert factors.factor.values.tolist() == ["K", "Q"]
    assert factors.sel(factor="K").values.tolist() == [[0.5, 1], [0.5, 1]]
    assert factors.sel(factor="Q").values.tolist() == [[-0.25, 0], [-0.25, 0]]


def test_a_run_that_has_stopped_has_no_growth_factors():
    paths = [1, 2, nan, nan], [2, 3, 6, 6], [1, nan, nan, nan]
    data = xr.Dataset({"query_features": coordinates(*paths), "key_features": coordinates(*paths)})
    factors = growth(data)
    assert factors.sizes["record"] == 3
    assert factors.notnull().sum("record").transpose("factor", "side", "seed").values.tolist() == [[[1, 3, 0]] * 2] * 2
    assert factors.isel(seed=0, record=0).values == pytest.approx(1)
    assert factors.isel(seed=1).sel(side="plus", factor="Q").values.tolist() == [0.5, 1, 0]
