"""Claims about values, outputs and cross growth (V14, V15, V25): judges tell true data from false, to the threshold.

`dynamics()` and `lucky_sets()` are the world as the specification expects it; a test changes one place in one seed and
says what the claim must answer.
"""

import numpy as np
import pytest
import xarray as xr
from vit_neuron_world import WORLD, broken, found, outcome

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE

# V14: coefficients of value growth

LAST_ACTIVE = 14
"""The last record of seed 1 at which a quarter of each class has loss."""
OWN = [("plus", "plus"), ("minus", "minus")]
CROSS = [("minus", "plus"), ("plus", "minus")]
"""Group of neurons, and side k of the coefficient V^(k)."""


def reversed_signs() -> xr.Dataset:
    data = WORLD["dynamics"].copy(deep=True)
    data["value_growth"] = -data.value_growth
    return data


def test_the_stated_sign_holds_where_the_coefficients_have_it():
    assert outcome("v14-value-own", reversed_signs()) == HOLDS
    assert found("v14-value-own", reversed_signs()).controls[0][1].outcome == FAILS


@pytest.mark.parametrize("record", [0, 6, LAST_ACTIVE])
def test_the_stated_sign_is_needed_at_every_active_step_of_the_minus_group_alone(record):
    for value, expected in ((0.0, FAILS), (1e-9, HOLDS), (-1e-9, FAILS)):
        data = broken("value_growth", value, reversed_signs(), record=record, group="minus", side="minus")
        assert outcome("v14-value-own", data) == expected
    free = reversed_signs()
    for group, side in [("plus", "plus"), *CROSS, ("unlucky", "minus")]:
        free = broken("value_growth", -1.0, free, record=record, group=group, side=side)
    assert outcome("v14-value-own", free) == HOLDS


@pytest.mark.parametrize(("group", "side"), OWN)
@pytest.mark.parametrize("record", [0, 6, LAST_ACTIVE])
def test_own_coefficients_are_negative_at_every_active_step(group, side, record):
    for value, expected in ((0.0, FAILS), (-1e-9, HOLDS), (1e-9, FAILS)):
        data = broken("value_growth", value, record=record, group=group, side=side)
        assert outcome("v14-value-own-corrected", data) == expected


@pytest.mark.parametrize("record", [LAST_ACTIVE + 1, 25, 30])
def test_steps_at_which_one_class_is_nearly_solved_are_not_judged(record):
    for group, side in OWN:
        data = broken("value_growth", 9.0, record=record, group=group, side=side)
        assert outcome("v14-value-own-corrected", data) == HOLDS
        data = broken("value_growth", -9.0, reversed_signs(), record=record, group=group, side=side)
        assert outcome("v14-value-own", data) == HOLDS
    assert outcome("v14-value-unlucky", broken("value_size", 1e6, record=record, group="unlucky")) == HOLDS


@pytest.mark.parametrize("shares", [(0.25, 1.0), (1.0, 0.25), (0.25, 0.25)])
def test_a_quarter_of_each_class_with_loss_makes_a_step_count(shares):
    wrong = broken("value_growth", 1.0, record=20, group="plus", side="plus")
    for less, expected in ((0.0, FAILS), (1e-3, HOLDS)):
        data = broken("unsolved", np.asarray(shares) - less, wrong, record=20)
        assert outcome("v14-value-own-corrected", data) == expected


@pytest.mark.parametrize("name", ["v14-value-own", "v14-value-own-corrected", "v14-value-unlucky"])
def test_a_run_without_active_steps_decides_nothing(name):
    assert outcome(name, broken("unsolved", 0.05, record=slice(31))) == INCONCLUSIVE


@pytest.mark.parametrize(("group", "side"), CROSS)
def test_cross_coefficients_are_positive_at_the_start_and_only_there(group, side):
    for value, expected in ((0.0, FAILS), (1e-9, HOLDS), (-1e-9, FAILS)):
        data = broken("value_growth", value, record=0, group=group, side=side)
        assert outcome("v14-value-cross", data) == expected
    data = broken("value_growth", -1.0, record=slice(1, 31), group=group, side=side)
    assert outcome("v14-value-cross", data) == HOLDS


def test_the_start_is_judged_whatever_share_of_a_class_has_loss():
    data = broken("unsolved", 0.0, record=0)
    data = broken("value_growth", -1.0, data, record=0, group="minus", side="plus")
    assert outcome("v14-value-cross", data) == FAILS


@pytest.mark.parametrize(("side", "own", "size"), [("plus", "plus", 0.3), ("minus", "minus", 0.4)])
def test_unlucky_coefficients_are_on_average_below_half_the_own_ones(side, own, size):
    active = slice(LAST_ACTIVE + 1)
    for value, expected in ((0.5 * size, FAILS), (0.499 * size, HOLDS)):
        data = broken("value_size", value, record=active, group="unlucky", side=side)
        assert outcome("v14-value-unlucky", data) == expected
    # compared with the group of their own pattern, not with the other
    data = broken("value_size", 1.9 * 0.1, record=active, group=own, side=side)
    assert outcome("v14-value-unlucky", data) == FAILS


def test_the_ratio_of_unlucky_coefficients_is_averaged_over_steps_and_may_be_large_at_one():
    assert outcome("v14-value-unlucky", broken("value_size", 0.8, record=4, group="unlucky", side="plus")) == HOLDS
    # a ratio of 10 at one of 15 steps lifts the mean of the ratios to 0.98, hardly the ratio of the means
    one = broken("value_size", 0.01, record=4, group="plus", side="plus")
    assert outcome("v14-value-unlucky", one) == FAILS


@pytest.mark.parametrize("j", range(5))
def test_the_values_grow_by_three_tenths_along_discriminative_features_and_by_one_fifth_at_most_along_others(j):
    cases = {1.3: HOLDS, 1.2999: FAILS, 5.0: HOLDS} if j < 2 else {0.8: HOLDS, 0.7999: FAILS, 1.2: HOLDS, 1.2001: FAILS}
    for value, expected in cases.items():
        assert outcome("v14-value-growth", broken("value_features", value, feature=j, pattern=j)) == expected


def test_the_growth_of_values_is_relative_to_their_start():
    data = broken("value_features", 2.0, record=0, feature=0, pattern=0)
    assert outcome("v14-value-growth", data) == FAILS
    assert outcome("v14-value-growth", broken("value_features", 2.6, data, feature=0, pattern=0)) == HOLDS


# V15: outputs


def test_the_wrong_group_adds_at_most_one_and_a_half_times_the_ratio_of_fractions():
    for value, expected in ((0.375, HOLDS), (0.3751, FAILS)):
        assert outcome("v15-output-ratio", broken("group_output", value, group="minus", side="plus")) == expected


def test_the_ratio_of_outputs_is_compared_with_the_realised_fractions():
    data = broken("group_output", 0.7, group="minus", side="plus")
    assert outcome("v15-output-ratio", data) == FAILS
    assert outcome("v15-output-ratio", broken("confusion_share", 0.2, data)) == HOLDS
    assert outcome("v15-output-ratio", broken("relevant_share", 0.2, data)) == HOLDS


# V25: cross growth and key growth


def moved(column: np.ndarray, k: int, runs: int = 6) -> xr.Dataset:
    """Twenty runs, so many of them with this column of C_Q at T_0 (six that miss: the interval reaches below half)."""
    data = WORLD["v25-cross"]
    for seed in range(1, 3 * runs, 3):
        data = broken("query_features", column, data, pattern=k, seed=seed)
    return data


def test_a_map_that_was_not_measured_decides_nothing():
    data = broken("query_features", np.nan, WORLD["v25-cross"], record=slice(31), feature=0, pattern=0)
    assert outcome("v25-cross-growth", data) == INCONCLUSIVE


def test_cross_growth_in_fifteen_of_twenty_runs_is_more_than_half():
    column = np.asarray([0.0, 0.0, -0.2, -0.2, -0.2])
    assert [outcome("v25-cross-growth", moved(column, 0, runs)) for runs in (5, 6)] == [HOLDS, INCONCLUSIVE]


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_query_map_gains_more_along_its_own_feature_than_it_moves_along_any_other(k, sign):
    for other in set(range(5)) - {k}:
        column = np.asarray([0.0, 0.0, -0.2, -0.2, -0.2])
        column[other] = sign * 0.25
        for own, expected in ((1.25, INCONCLUSIVE), (np.nextafter(1.25, 2), HOLDS)):
            column[k] = own
            assert outcome("v25-cross-growth", moved(column, k)) == expected


@pytest.mark.parametrize("k", [0, 1])
def test_the_query_map_falls_on_average_along_the_neutral_features(k):
    for neutral, expected in (
        ((0.125, 0.125, -0.25), INCONCLUSIVE),
        ((0.125, 0.125, -0.2501), HOLDS),
        ((0.0, 0.0, 0.0), INCONCLUSIVE),
        ((0.1, 0.1, 0.1), INCONCLUSIVE),
    ):
        column = np.asarray([0.0, 0.0, *neutral])
        column[k] = 1.4
        assert outcome("v25-cross-growth", moved(column, k)) == expected


def test_cross_growth_is_the_displacement_from_the_start():
    # a large entry that does not move is no growth
    data = WORLD["v25-cross"].copy(deep=True)
    data.query_features.loc[{"feature": 1, "pattern": 0}] = data.query_features.isel(feature=1, pattern=0) + 5.0
    assert outcome("v25-cross-growth", data) == HOLDS


def jump(data: xr.Dataset, name: str, k: int, gain: float) -> xr.Dataset:
    """The own coordinate of a map is 1 up to step 5 and 1 + gain from there."""
    path = np.where(np.arange(31) > 5, 1 + gain, 1.0)
    return broken(f"{name}_features", path, data, record=slice(31), feature=k, pattern=k)


@pytest.mark.parametrize("k", [0, 1])
def test_keys_grow_by_half_of_one_minus_lambda_times_the_growth_of_queries(k):
    for similarity, least in ((0.0, 0.25), (0.5, 0.125)):
        data = jump(broken("similarity", similarity), "query", k, 0.5)
        assert outcome("v25-key-growth", jump(data, "key", k, least)) == HOLDS
        assert outcome("v25-key-growth", jump(data, "key", k, least - 2**-20)) == FAILS


@pytest.mark.parametrize("k", [0, 1])
def test_cumulated_factors_of_both_maps_are_positive(k):
    for name in ("query", "key"):
        assert outcome("v25-key-growth", jump(WORLD["dynamics"], name, k, 0.0)) == FAILS
    # no growth at all, or less than none, of queries does not make up for the keys
    assert outcome("v25-key-growth", jump(WORLD["dynamics"], "query", k, -0.1)) == FAILS
    assert outcome("v25-key-growth", jump(WORLD["dynamics"], "query", k, 2.0**-20)) == HOLDS


def test_key_growth_is_not_read_in_other_variants():
    data = WORLD["dynamics"].copy(deep=True)
    data.key_features.loc[{"variant": ["per_token", "shared-b20"]}] = 1.0
    assert outcome("v25-key-growth", data) == HOLDS
