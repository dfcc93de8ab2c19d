"""What claims and figures read off the data sets, on numbers that can be checked by eye."""

import math
from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr

from lemmata import NotApplicable
from lemmata.theories.graph_transformer.claims.encoding import early_agreement, largest_bin
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.measures import (
    approach,
    by_count,
    explained,
    in_records,
    lead,
    minimal_counts,
    rank_correlation,
    settled_time,
    small_leads,
    up_to,
)
from lemmata.theories.graph_transformer.sampling import SAMPLER
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.random_samples import preferred_ratio, sampled_ratios
from lemmata.theories.graph_transformer.studies.shells import examine_start
from lemmata.theories.graph_transformer.theorem import hypotheses, satisfies_assumption, uncensored

inf, nan = np.inf, np.nan


def path(**variables: list) -> xr.Dataset:
    """Two seeds with records of their own."""
    return xr.Dataset({name: (("seed", "record"), np.asarray(values, float)) for name, values in variables.items()})


PATH = path(
    time=[[0, 10, 20, 30], [0, 20, 30, nan]],
    step=[[0, 100, 200, 300], [0, 200, 300, nan]],
    value=[[1, -2, 3, 4], [5, -6, 7, nan]],
)


def test_values_up_to_a_time_include_the_record_at_it() -> None:
    np.testing.assert_array_equal(up_to(PATH.value, PATH.time, 20), [[1, -2, 3, nan], [5, -6, nan, nan]])
    near = PATH.assign(time=PATH.time * (1 + 1e-7))
    np.testing.assert_array_equal(up_to(near.value, near.time, 20), [[1, -2, 3, nan], [5, -6, nan, nan]])


def test_steps_are_counted_in_the_records_of_their_own_run() -> None:
    np.testing.assert_array_equal(in_records(PATH, xr.DataArray([300.0, 300.0], dims="seed")), [3, 1.5])


def test_the_lead_is_over_the_other_distances_from_1_on_that_there_are() -> None:
    b = xr.DataArray([[9.0, 1.0, 0.25, -1.0, 7.0], [9.0, 0.5, 2.0, 1.5, 7.0]], dims=("seed", "bin"))
    bins = xr.DataArray([4.0, 4.0], dims="seed")
    np.testing.assert_array_equal(lead(b, 1, bins), [0.75, -1.5])
    np.testing.assert_array_equal(lead(b, 2, bins), [-0.75, 0.5])
    np.testing.assert_array_equal(lead(b, xr.DataArray([1, 2], dims="seed"), bins), [0.75, 0.5])
    np.testing.assert_array_equal(lead(b, 1, bins + 1), [-6, -6.5])


def test_the_largest_margin_is_looked_for_among_the_distances_from_1_on_that_there_are() -> None:
    margins = xr.DataArray([[9.0, -3.0, -1.0, -2.0, 7.0], [9.0, 3.0, -1.0, 4.0, 7.0]], dims=("seed", "bin"))
    np.testing.assert_array_equal(largest_bin(margins, xr.DataArray([4, 4], dims="seed")), [2, 3])
    np.testing.assert_array_equal(largest_bin(margins, xr.DataArray([5, 3], dims="seed")), [4, 1])


def early(b: list, loss: list | None = None) -> xr.DataArray:
    """Agreement of b with margins 10, -4, 1 (below 20 %), and -9 (out of reach), at bins 1 to 4."""
    data = path(train_loss=loss or [[1, 0.95, 0.9, 0.5]] * 2)
    encoding = np.full((2, 4, 5), -1.0)
    encoding[:, 1] = b
    data["distance_bias"] = ("seed", "record", "bin"), encoding
    data["reached_bins"] = ("seed", "bin"), np.tile([1.0, 1, 1, 1, 0], (2, 1))
    margins = xr.DataArray(np.tile([99.0, 10, -4, 1, -90], (2, 1)), dims=("seed", "bin"))
    return early_agreement(data, margins)


def test_early_agreement_counts_the_asked_bins_at_the_last_early_record() -> None:
    np.testing.assert_array_equal(early([[-9, 1, -1, -1, 1], [-9, 0.1, 1, 1, -1]]), [1.0, 0.5])
    np.testing.assert_array_equal(early([-9, -1, 1, 1, -1]), [0.0, 0.0])
    np.testing.assert_array_equal(early([-9, 0, -1, 1, -1]), [0.5, 0.5])


def test_early_agreement_needs_an_early_record_in_every_run() -> None:
    assert early([-9, 1, -1, -1, 1], [[1, 0.95, 0.2, 0.1], [0.2, 0.91, 0.2, 0.2]]).shape == (2,)
    with pytest.raises(NotApplicable, match=r"above \.9"):
        early([-9, 1, -1, -1, 1], [[1, 0.95, 0.2, 0.1], [0.9, 0.9, 0.2, 0.2]])


def test_the_minimal_count_is_the_one_from_which_on_half_of_the_runs_succeed() -> None:
    rates = {
        "onwards": [0, 0.5, 1, 1],
        "all": [0.5, 0.5, 0.5, 0.5],
        "gap": [1, 0, 1, 1],
        "last": [1, 1, 0.25, 0.5],
        "none": [1, 1, 1, 0.25],
        "nowhere": [0, 0.25, 0.25, 0.25],
    }
    success = np.array([[[seed < 4 * rate for rate in row] for seed in range(4)] for row in rates.values()], float)
    counts = minimal_counts(
        xr.DataArray(
            success, dims=("variant", "seed", "labelled"), coords={"variant": list(rates), "labelled": [10, 20, 40, 80]}
        )
    )
    assert dict(zip(rates, counts.values, strict=True)) == {
        "onwards": 20, "all": 10, "gap": 40, "last": 80, "none": inf, "nowhere": inf,
    }  # fmt: skip


def test_cells_are_put_on_their_fraction_and_count_and_permuted_ones_are_left_out() -> None:
    fields = {
        "variant": list("abcde"),
        "discriminative": ("variant", [0.25, 0.25, 0.4, 0.4, 0.4]),
        "labelled": ("variant", [10, 20, 10, 20, 20]),
        "defect": ("variant", ["none"] * 4 + ["training_labels"]),
    }
    found = by_count(xr.DataArray(np.arange(10.0).reshape(5, 2), fields, ("variant", "seed")))
    assert found.sel(discriminative=0.25, labelled=20).values.tolist() == [2, 3]
    assert found.sel(discriminative=0.4).transpose("labelled", "seed").values.tolist() == [[4, 5], [6, 7]]
    assert (found.labelled.values.tolist(), found.discriminative.values.tolist()) == ([10, 20], [0.25, 0.4])


def test_runs_of_one_value_may_be_censored_and_have_the_cap_then() -> None:
    times = xr.DataArray([[1.0, inf, 3.0], [4.0, inf, 6.0]], dims=("seed", "x"))
    cap = xr.full_like(times, 50.0)
    np.testing.assert_array_equal(uncensored(times, "x", cap), [[1, 50, 3], [4, 50, 6]])
    with pytest.raises(NotApplicable, match="runs of 2 values of x"):
        uncensored(xr.DataArray([[1.0, inf, 3.0], [4.0, 5.0, inf]], dims=("seed", "x")), "x", cap)


def test_a_preference_lowers_the_confusion_ratio_as_remark_2_says() -> None:
    found = [preferred_ratio(0.2, beta) for beta in (1, 3, 10)]
    np.testing.assert_allclose(found, [0.2, 0.0769, 0.0244], atol=5e-5)
    assert preferred_ratio(0.2, 0.1) == pytest.approx(0.2 / 0.28)


def test_the_theorem_asks_for_width_batch_a_positive_bracket_and_positive_margins() -> None:
    asked = {"M": 10, "N": 1000, "m": 691, "B": 691, "epsilon": 0.1, "gamma_d": 0.4, "eps_S": 0.05, "sigma": 0.1}
    assert hypotheses(**asked)
    for broken in ({"m": 690}, {"B": 690}, {"sigma": 0.94}):
        assert not hypotheses(**{**asked, **broken}), broken
    margins = np.array([3.0, 1.0, 2.0, -1.0])
    assert satisfies_assumption(margins, 0.25)
    assert not satisfies_assumption(margins, 0.2)


# The confusion ratio (8.8, Remark 2)


drawn_ratios = jax.jit(jax.vmap(sampled_ratios, in_axes=(None, 0, None)))


def mean_ratio(seeds: int, **changes: Any) -> tuple[float, float]:
    """The mean ratio over nodes and draws, and its standard error."""
    setting = Setting(**{"nodes": 250, "degree": 20, "confusion": 0.2, "labelled": 9, "sample": 12, **changes})
    world = prepare(setting, 0)
    assert int(world.core) == 1
    ratios = drawn_ratios(
        setting.problem().only((*SAMPLER, "bin_room")), jax.random.split(jax.random.key(1), seeds), world
    )
    known = np.asarray(ratios)[np.isfinite(ratios)]
    return float(known.mean()), float(known.std() / math.sqrt(known.size))


@pytest.mark.parametrize("shells", ["near", "core"])
def test_uniform_sampling_leaves_the_confusion_ratio_what_it_is(shells: str) -> None:
    mean, error = mean_ratio(60, shells=shells)
    assert error < 0.005
    assert abs(mean - 0.2) < 4 * error


def test_samples_with_a_preference_have_the_confusion_ratio_of_remark_2() -> None:
    mean, error = mean_ratio(60, draw="biased", preference=3.0)
    assert error < 0.005
    assert abs(mean - 0.2 / (0.2 + 3 * 0.8)) < 4 * error


# What is reported and never judged


def encoded(b: list, loss: list | None = None) -> xr.Dataset:
    """Two seeds with four records of b at bins 0 to 4, of which 4 is out of reach; margins 10, -4, 1 at 1 to 3."""
    data = path(train_loss=loss or [[1, 0.95, 0.9, 0.5]] * 2, time=[[0, 5, 10, 15]] * 2)
    data["distance_bias"] = ("seed", "record", "bin"), np.array([b, b], float)
    data["reached_bins"] = ("seed", "bin"), np.tile([1.0, 1, 1, 1, 0], (2, 1))
    data["count_margin"] = ("seed", "bin"), np.tile([99.0, 10, -4, 1, -90], (2, 1))
    return data


def test_the_rank_correlation_is_that_of_the_last_early_record_over_the_reached_distances() -> None:
    zeros = [0] * 5
    data = encoded([zeros, [-9, 3, 1, 2, 9], [9, 1, 3, 2, 9], [9, 1, 3, 2, 9]])
    np.testing.assert_allclose(rank_correlation(data), [1, 1])
    later = data.assign(train_loss=(("seed", "record"), [[1, 1, 1, 0.5], [1, 1, 1, 1]]))
    np.testing.assert_allclose(rank_correlation(later), [-1, -1])
    none = data.assign(train_loss=(("seed", "record"), [[0.9] * 4, [1, 0, 0, 0]]))  # too late; b = 0 has no order
    assert np.isnan(rank_correlation(none)).all()


def test_the_encoding_has_settled_when_the_same_distance_stays_the_largest() -> None:
    first, second = [9, 2, 1, 0, 0], [9, 1, 2, 0, 0]
    for order, time in (([first, second, first, first], 10), ([second] * 4, 0), ([second, second, first, second], 15)):
        np.testing.assert_array_equal(settled_time(encoded(order)), [time, time])


def test_the_lead_at_small_time_has_the_power_of_the_noise_that_it_is_made_with() -> None:
    noise, time = np.array([0.0, 0.1, 0.2]), np.array([0.0, 4, 5, 6])
    b = np.zeros((3, 1, 4, 4))
    b[..., 1], b[..., 2] = ((1 - 2 * noise) ** 3)[:, None, None] * time**2, -99.0 * (time > 5)
    data = xr.Dataset(
        {
            "distance_bias": (("label_noise", "seed", "record", "bin"), b),
            "time": (("label_noise", "seed", "record"), np.broadcast_to(time, (3, 1, 4))),
            **{
                name: (("label_noise", "seed"), np.full((3, 1), k))
                for name, k in (("core_distance", 1), ("bins_used", 4))
            },
        },
        {"label_noise": noise},
    )
    np.testing.assert_allclose(small_leads(data)[:, 0], 25 * (1 - 2 * noise) ** 3)


def test_the_exponent_of_the_approach_to_a_limit_is_that_of_the_rest_below_it_from_time_10_on() -> None:
    time = np.array([1.0, 5, 10, 20, 40])
    rest = np.stack([2 / time, 3 / time**2])
    rest[0, 1], rest[1, 3] = 7.0, -0.1  # before, and beyond the limit
    data = path(time=[time, time])
    data["relevant_mass"] = ("seed", "record", "group"), (0.95 - rest)[..., None]
    np.testing.assert_allclose(approach(data.assign_coords(group=["other"]), "other", 0.95), [-1, -2])


def test_the_share_that_a_line_explains_leaves_out_counts_beyond_the_grid() -> None:
    x = np.array([1.0, 2, 3, 4])
    assert explained(x, 5 + 10 * x) == pytest.approx(1)
    assert explained(x, np.array([inf, 20, 40, 30])) == pytest.approx(0.25)
    assert np.isnan(explained(x, np.array([inf, inf, 40, 30])))


def test_patterns_are_orthonormal_and_initial_norms_are_those_of_their_construction() -> None:
    for init, (keys, values) in {"identity": (1, 1), "literal": (400, 100)}.items():
        found = examine_start(Setting(init=init), 0)
        assert found["pattern_distance"] == pytest.approx(np.sqrt(2), rel=1e-5)
        assert found["pattern_product"] == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(found["spectral_norm"], [keys, keys, values], rtol=1e-4)
    near = examine_start(Setting(), 0)["spectral_norm"]
    assert ((near > 1) & (near < 1.5)).all()
