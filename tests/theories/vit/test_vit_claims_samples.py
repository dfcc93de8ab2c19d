"""Claims about risk and samples (V1, V2, V4, V6): every judge tells true data from false ones.

Data sets are made by hand in the shape in which the experiments leave them; tests change one thing in the world that
the specification expects and say what the claim must answer.
"""

from typing import Any

import pytest
from vit_world import SLACKS, VARIANTS, changed, found, outcome, success_map, token_noise, zero_risk

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE

# V1: zero risk

V1 = {"shared": "v1-zero-risk-shared", "per_token": "v1-zero-risk-per-token"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_zero_risk_needs_nineteen_of_twenty_seeds(variant):
    assert outcome(V1[variant], v1_zero_risk=zero_risk(good=19)) == HOLDS
    assert outcome(V1[variant], v1_zero_risk=zero_risk(good=18)) == FAILS


@pytest.mark.parametrize("variant", VARIANTS)
def test_zero_risk_counts_only_seeds_with_small_loss_and_no_error(variant):
    for variable, value in (("test_hinge", 1e-3), ("test_hinge", 0.2), ("test_error", 1e-3)):
        data = changed(zero_risk(good=19), variable, value, variant=variant, label_order="true", seed=3)
        assert outcome(V1[variant], v1_zero_risk=data) == FAILS
    data = changed(zero_risk(good=19), "test_hinge", 9.99e-4, variant=variant, label_order="true", seed=3)
    assert outcome(V1[variant], v1_zero_risk=data) == HOLDS


def test_zero_risk_is_judged_in_its_own_variant():
    for bad, good in (VARIANTS, VARIANTS[::-1]):
        data = changed(zero_risk(), "test_hinge", 0.5, variant=bad, label_order="true")
        assert outcome(V1[bad], v1_zero_risk=data) == FAILS
        assert outcome(V1[good], v1_zero_risk=data) == HOLDS


def test_zero_risk_with_shuffled_labels_is_a_wrong_control():
    finding = found("v1-zero-risk-shared", v1_zero_risk=zero_risk(shuffled=20))
    assert finding.verdict.outcome == HOLDS
    assert not finding.as_expected


# V2: samples fall with the relevant fraction


def falls(first: list[Any]) -> str:
    return outcome("v2-samples-decrease", f1a_samples=success_map(first))


def test_a_rank_correlation_of_minus_0_8_is_needed():
    assert falls([5, 6, 3, 4, 1, 2]) == HOLDS  # -0.829, every rise a factor 2
    assert falls([4, 5, 6, 3, 2, 1]) == FAILS  # -0.771, every rise a factor 2
    assert falls([4, 5, 2, 3, 1]) == HOLDS  # -0.8 exactly


def test_no_rise_above_a_factor_two_is_allowed():
    assert falls([6, 5, 4, 2, 3, 1]) == HOLDS
    assert falls([6, 5, 4, 1, 3, 2]) == FAILS  # -0.829, but a rise by a factor 4


def test_a_threshold_above_the_grid_counts_as_twice_the_largest_n():
    assert falls([5.5, 7, 4, 3, 2, 1]) == FAILS  # from 64 to 256
    assert falls([6.5, 7, 4, 3, 2, 1]) == HOLDS  # from 128 to 256


def test_a_threshold_below_the_grid_counts_as_half_the_smallest_n():
    assert falls([6, 5, 4, 3, 0, 0.5]) == HOLDS  # from 1 to 2
    assert falls([6, 5, 4, 3, 0, 1]) == FAILS  # from 1 to 2.8


def test_a_sample_trend_needs_four_thresholds_inside_the_grid():
    assert falls([7, 6, 4, 3, 2, 0]) == HOLDS
    assert falls([7, 7, 4, 3, 2, 0]) == INCONCLUSIVE
    assert falls([7, 7, 7, 0, 0, 0]) == INCONCLUSIVE
    assert falls([0, 0, 0, 5, 6, 7]) == INCONCLUSIVE
    assert "censored" in found("v2-samples-decrease", f1a_samples=success_map([7, 7, 4, 3, 2, 0])).verdict.note


# V4: frozen attention needs at least as many samples


def gap(trained: list[Any], frozen: list[Any], slacks: list[float] = SLACKS) -> str:
    maps = {"f1a_samples": success_map(trained, slacks), "f3_samples_frozen": success_map(frozen, slacks)}
    return outcome("v4-samples-gap", **maps)


def test_equal_sample_thresholds_hold_and_one_lower_one_fails():
    assert gap([6, 5, 4, 3, 2, 1], [6, 5, 4, 3, 2, 1]) == HOLDS
    for i in range(2, 6):
        lower = [6, 5, 5, 5, 5, 5]
        lower[i] -= 1
        assert gap([6, 5, 5, 5, 5, 5], lower) == FAILS


def test_only_fractions_with_enough_slack_count_in_the_sample_gap():
    lower = [4, 4, 5, 5, 5, 5]
    assert gap([5] * 6, lower, [0.01, 0.0499, 0.06, 0.1, 0.2, 0.3]) == HOLDS
    assert gap([5] * 6, lower, [0.01, 0.05, 0.06, 0.1, 0.2, 0.3]) == FAILS


def test_a_sample_gap_needs_three_decided_pairs():
    assert gap([6, 5, 7, 3, 2, 1], [6, 5, 7, 3, 2, 1]) == HOLDS
    assert gap([6, 5, 7, 7, 2, 1], [6, 5, 7, 7, 2, 1]) == INCONCLUSIVE
    assert gap([6, 5, 4, 3, 0, 0], [6, 5, 4, 3, 0, 0]) == INCONCLUSIVE
    assert gap([6, 5, 4, 3, 2, 1], [6, 5, 4, 3, 2, 1], [0.01, 0.01, 0.01, 0.01, 0.2, 0.3]) == INCONCLUSIVE


def test_a_pair_censored_on_one_side_only_is_decided():
    assert gap([7, 7, 7, 6, 0, 0], [7, 7, 7, 7, 1, 1]) == HOLDS
    assert gap([7, 7, 7, 7, 1, 1], [7, 7, 7, 6, 0, 0]) == FAILS
    assert gap([7, 7, 7, 0, 0, 0], [7, 7, 0, 7, 7, 7]) == FAILS
    assert gap([7, 7, 0, 0, 0, 1], [7, 7, 7, 7, 7, 1]) == HOLDS


# V6: token noise


def test_the_medians_of_the_test_loss_have_registered_ends():
    def judged(*medians: float) -> str:
        return outcome("v6-token-noise", v6_token_noise=token_noise(*medians))

    assert judged(9.9e-4, 2e-3, 2e-3, 3.1e-3) == HOLDS
    assert judged(1e-3, 2e-3, 2e-3, 3.1e-3) == FAILS
    assert judged(5e-4, 2e-3, 2e-3, 3e-3) == FAILS
    assert judged(5e-4, 1e-3, 0.0, 4e-3) == HOLDS  # a fall by exactly 0.001
    assert judged(5e-4, 2e-3, 9.9e-4, 4e-3) == FAILS
    assert judged(5e-4, 4.5e-3, 4.5e-3, 3.4e-3) == FAILS


def test_the_medians_and_not_the_means_of_the_test_loss_decide():
    data = token_noise(4e-4, 5e-4, 2e-3, 8e-3)
    assert float(data.test_hinge.isel(token_noise=0).mean()) > 0.1
    assert outcome("v6-token-noise", v6_token_noise=data) == HOLDS
    one = data.copy(deep=True)
    one.test_hinge[3, :3] = 0.0
    assert outcome("v6-token-noise", v6_token_noise=one) == HOLDS
