"""Claims about lucky neurons and growth (V9 to V13): every judge tells true data from false ones, to the threshold.

`dynamics()` and `lucky_sets()` are the world as the specification expects it; a test changes one place in one seed and
says what the claim must answer.
"""

import numpy as np
import pytest
import xarray as xr
from vit_hand_made import assert_shape_of, change
from vit_neuron_world import CLAIMS, ENDS, ROOM, VARIANTS, WORLD, broken, found, inf, lucky_sets, nan, outcome

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE


@pytest.mark.parametrize("name", WORLD)
def test_hand_made_data_have_the_shape_that_the_experiment_leaves(name):
    assert_shape_of(name, WORLD[name])


# The rows of the register: claim, kind, experiment read, expected outcome, outcome of the control

REGISTER = {
    "v9-lucky-alignment": ("bound", "dynamics", HOLDS, FAILS),
    "v9-lucky-components": ("comparison", "dynamics", HOLDS, FAILS),
    "v9-lucky-norms": ("comparison", "dynamics", HOLDS, FAILS),
    "v9-noise-bound": ("bound", "v10-lucky-sets", HOLDS, FAILS),
    "v10-lucky-single": ("bound", "v10-lucky-sets", HOLDS, FAILS),
    "v10-lucky-all": ("bound", "v10-lucky-sets", HOLDS, FAILS),
    "v11-gate-persistence": ("bound", "dynamics", HOLDS, FAILS),
    "v12-growth-net": ("ordering", "dynamics", HOLDS, FAILS),
    "v12-growth-steps": ("bound", "dynamics", HOLDS, FAILS),
    "v13-rise-steps": ("bound", "dynamics", HOLDS, FAILS),
    "v14-value-own": ("ordering", "dynamics", FAILS, HOLDS),
    "v14-value-own-corrected": ("ordering", "dynamics", HOLDS, FAILS),
    "v14-value-cross": ("ordering", "dynamics", HOLDS, FAILS),
    "v14-value-unlucky": ("comparison", "dynamics", HOLDS, FAILS),
    "v14-value-growth": ("comparison", "dynamics", HOLDS, FAILS),
    "v15-output-ratio": ("bound", "dynamics", HOLDS, FAILS),
    "v25-cross-growth": ("ordering", "v25-cross", HOLDS, FAILS),
    "v25-key-growth": ("comparison", "dynamics", HOLDS, FAILS),
}
READ_VARIANTS = {name: ["shared"] for name, row in REGISTER.items() if row[1] == "dynamics"} | {
    "v12-growth-net": ["shared", "per_token"],
    "v12-growth-steps": ["shared", "per_token", "shared-b20"],
    "v13-rise-steps": ["shared", "per_token"],
}
"""The variants that a claim about training reads."""


@pytest.mark.parametrize("name", REGISTER)
def test_a_claim_is_declared_as_the_register_says(name):
    claim = CLAIMS[name]
    assert (claim.kind, claim.reads, claim.expected) == (REGISTER[name][0], (REGISTER[name][1],), REGISTER[name][2])
    assert [claim.expected_of(control) for control in claim.controls] == [REGISTER[name][3]]
    assert claim.reference
    assert claim.statement.endswith(".")


def test_the_sign_that_the_paper_has_wrong_stands_beside_the_corrected_one():
    assert CLAIMS["v14-value-own"].statement.startswith("As stated")
    assert CLAIMS["v14-value-own-corrected"].statement.startswith("Corrected")


# In the world that the specification expects


@pytest.mark.parametrize("name", REGISTER)
def test_in_the_expected_world_a_claim_and_its_control_come_out_as_registered(name):
    finding = found(name)
    ((control, verdict),) = finding.controls
    assert finding.verdict.outcome == CLAIMS[name].expected, finding.verdict.note
    assert verdict.outcome == CLAIMS[name].expected_of(control), (control.case, verdict.note)


@pytest.mark.parametrize("name", REGISTER)
def test_single_precision_changes_no_verdict(name):
    (read,) = CLAIMS[name].reads
    assert found(name, WORLD[read].astype(np.float32)).as_expected


@pytest.mark.parametrize("name", READ_VARIANTS)
def test_a_claim_is_undecided_unless_every_intact_run_that_it_reads_converges(name):
    for variant in VARIANTS:
        for never in (inf, nan):
            finding = found(name, broken("reached_step", never, variant=variant))
            if variant in READ_VARIANTS[name]:
                assert finding.verdict.outcome == INCONCLUSIVE
                assert "not converged" in finding.verdict.note
                assert finding.controls[0][1].outcome == INCONCLUSIVE
            else:
                assert finding.as_expected


@pytest.mark.parametrize("name", READ_VARIANTS)
def test_a_control_is_not_gated_by_its_own_convergence(name):
    assert np.isinf(WORLD["dynamics"].reached_step.sel(attention="frozen")).all()
    arrived = WORLD["dynamics"].copy(deep=True)
    arrived.reached_step.loc[{"attention": "frozen"}] = ROOM - 1
    assert found(name, arrived).as_expected


# V9: lucky neurons align, grow along their own feature, outgrow the others


@pytest.mark.parametrize("side", ["plus", "minus"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_cosine_of_either_lucky_group_exceeds_0_8_in_every_seed(side, seed):
    for value, expected in ((0.8, FAILS), (np.nextafter(0.8, 1), HOLDS)):
        assert outcome("v9-lucky-alignment", broken("alignment", value, seed=seed, side=side)) == expected


@pytest.mark.parametrize(("group", "own"), [("plus", 0), ("minus", 1)])
def test_the_own_component_is_twice_every_other_one(group, own):
    for other in set(range(5)) - {own}:
        for value, expected in ((0.05, HOLDS), (0.0501, FAILS)):
            data = broken("component", value, group=group, feature=other)
            assert outcome("v9-lucky-components", data) == expected
    assert outcome("v9-lucky-components", broken("component", 0.05, group=group, feature=own)) == FAILS


def test_the_components_of_unlucky_neurons_are_free():
    assert outcome("v9-lucky-components", broken("component", [5, 0, 9, 0, 0], group="unlucky")) == HOLDS


@pytest.mark.parametrize("lucky", [(0.01, 0.5), (0.5, 0.01)])
def test_unlucky_neurons_have_less_than_half_the_square_norm_of_either_lucky_group(lucky):
    for unlucky, expected in ((0.005, FAILS), (0.00499, HOLDS)):
        assert outcome("v9-lucky-norms", broken("square_norm", [*lucky, unlucky])) == expected


@pytest.mark.parametrize("name", ["v9-lucky-alignment", "v9-lucky-components", "v9-lucky-norms"])
def test_an_empty_group_of_lucky_neurons_decides_nothing(name):
    data = broken("alignment", nan, record=slice(None), side="plus")
    data = broken("component", nan, data, record=slice(None), group="plus")
    data = broken("square_norm", nan, data, record=slice(None), group="plus")
    assert outcome(name, data) == INCONCLUSIVE


def test_the_response_to_noise_may_equal_its_bound_in_every_seed_of_the_intact_network():
    for value, expected in ((1.0, HOLDS), (1.0001, FAILS)):
        data = change(lucky_sets(), "noise_ratio", value, defect="none", seed=2)
        assert outcome("v9-noise-bound", data) == expected


# V10: how many neurons are lucky


@pytest.mark.parametrize("side", ["plus", "minus"])
@pytest.mark.parametrize(
    ("variable", "mean", "deviation"), [("active_on_one", 0.5, 0.0632456), ("lucky_on_one", 0.25, 0.0547723)]
)
def test_fractions_on_one_token_lie_within_four_binomial_deviations(variable, mean, deviation, side):
    for sign in (-1, 1):
        for size, expected in ((deviation - 1e-6, HOLDS), (deviation + 1e-6, FAILS)):
            data = change(lucky_sets(), variable, mean + sign * size, defect="none", seed=1, side=side)
            assert outcome("v10-lucky-single", data) == expected


def test_more_neurons_leave_less_room_for_a_fraction():
    data = change(lucky_sets(), "active_on_one", 0.55, defect="none", seed=1, side="plus")
    assert outcome("v10-lucky-single", data) == HOLDS
    assert outcome("v10-lucky-single", change(data, "neurons", 4000)) == FAILS


def test_the_mean_of_both_signed_fractions_is_at_least_a_fifth_in_every_seed():
    for fractions, expected in (((0.25, 0.15), HOLDS), ((0.25, 0.149), FAILS), ((0.149, 0.25), FAILS)):
        data = change(lucky_sets(), "lucky_on_all", fractions, defect="none", seed=1)
        assert outcome("v10-lucky-all", data) == expected


# V11: gates


@pytest.mark.parametrize("gate_group", ["plus", "minus"])
@pytest.mark.parametrize("record", [0, 7, 30])
def test_lucky_gates_persist_at_every_record(gate_group, record):
    for value, expected in ((0.99, HOLDS), (0.9899, FAILS)):
        data = broken("persistence", value, record=record, gate_group=gate_group)
        assert outcome("v11-gate-persistence", data) == expected


def test_the_control_of_the_gates_fails_as_long_as_either_random_half_does():
    data = WORLD["dynamics"].copy(deep=True)
    data.persistence.loc[{"gate_group": "random plus"}] = 1.0
    assert found("v11-gate-persistence", data).as_expected
    data = data.copy(deep=True)  # what a claim has seen does not change
    data.persistence.loc[{"gate_group": "random minus"}] = 1.0
    assert not found("v11-gate-persistence", data).as_expected


# V12: growth of keys and queries


@pytest.mark.parametrize("variant", ["shared", "per_token"])
@pytest.mark.parametrize("variable", ["query_features", "key_features"])
@pytest.mark.parametrize("k", [0, 1])
def test_own_coordinates_of_both_maps_end_higher_than_they_began(variant, variable, k):
    for value, expected in ((1.0, FAILS), (np.nextafter(1.0, 2), HOLDS), (0.9, FAILS)):
        data = broken(variable, value, variant=variant, feature=k, pattern=k)
        assert outcome("v12-growth-net", data) == expected
        # the way does not matter
        data = broken(variable, 0.1, data, variant=variant, feature=k, pattern=k, record=17)
        assert outcome("v12-growth-net", data) == expected


def test_net_growth_is_not_read_in_mini_batches_and_not_along_other_features():
    data = broken("query_features", 0.0, variant="shared-b20", feature=0, pattern=0)
    for entry in ((0, 1), (1, 0), (2, 0), (2, 2)):
        data = broken("key_features", -9.0, data, feature=entry[0], pattern=entry[1])
    assert outcome("v12-growth-net", data) == HOLDS


def growing(flat: dict[tuple[str, int], int], variant: str, seed: int, falling: bool = False) -> xr.Dataset:
    """The own coordinate of (map, pattern) rises on all steps but the first `flat` ones, where it stays or falls."""
    data = WORLD["dynamics"]
    for (name, k), count in flat.items():
        rises = np.full(ENDS[seed], 0.01)
        rises[:count] = -0.001 if falling else 0.0
        path = 1 + np.concatenate([[0.0], np.cumsum(rises)])
        where = {"record": slice(len(path)), "feature": k, "pattern": k}
        data = broken(f"{name}_features", path, data, variant=variant, seed=seed, **where)
    return data


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize(("variant", "allowed"), [("shared", 36), ("shared-b20", 72), ("per_token", 108)])
def test_growth_factors_are_positive_on_the_registered_share_of_steps_in_the_mean_over_seeds(variant, allowed, falling):
    # two maps and two patterns on the 30 steps of one seed of three: 30, 60 or 90 per cent of its 120 factors are 10,
    # 20 or 30 per cent in the mean
    coordinates = [("query", 0), ("key", 1), ("query", 1), ("key", 0)]
    for count, expected in ((allowed - 1, HOLDS), (allowed + 1, FAILS)):
        flat = {each: min(30, max(0, count - 30 * i)) for i, each in enumerate(coordinates)}
        assert outcome("v12-growth-steps", growing(flat, variant, 1, falling)) == expected


@pytest.mark.parametrize(("seed", "steps"), [(0, 24), (1, 36), (2, 48)])
def test_only_the_steps_up_to_the_stop_of_a_run_are_counted(seed, steps):
    # 20, 30 and 40 steps of four factors: three tenths of one seed are a tenth of all three
    half = steps // 2
    assert outcome("v12-growth-steps", growing({("query", 0): half, ("key", 0): half - 1}, "shared", seed)) == HOLDS
    assert outcome("v12-growth-steps", growing({("query", 0): half, ("key", 0): half + 1}, "shared", seed)) == FAILS


# V13: steps of attention


def stepping(flat: int, variant: str, query: str, seed: int) -> xr.Dataset:
    """Concentration rises on all steps but `flat` in the middle."""
    rises = np.full(ENDS[seed], 0.001)
    rises[3 : 3 + flat] = 0.0
    path = 0.4 + np.concatenate([[0.0], np.cumsum(rises)])
    return broken("concentration", path, variant=variant, query=query, seed=seed, record=slice(len(path)))


@pytest.mark.parametrize("query", ["relevant", "neutral"])
@pytest.mark.parametrize(("variant", "seed", "allowed"), [("shared", 0, 2), ("shared", 1, 3), ("per_token", 2, 10)])
def test_attention_rises_on_the_registered_share_of_steps(variant, query, seed, allowed):
    assert outcome("v13-rise-steps", stepping(allowed, variant, query, seed)) == HOLDS
    assert outcome("v13-rise-steps", stepping(allowed + 1, variant, query, seed)) == FAILS


@pytest.mark.parametrize("query", ["relevant", "neutral"])
@pytest.mark.parametrize(("variant", "limit"), [("shared", 1e-3), ("per_token", 0.05)])
def test_no_single_drop_of_attention_reaches_its_limit(variant, query, limit):
    # from `high` to 0 in step 10, rising before and after
    for high, expected in ((np.nextafter(limit, 0), HOLDS), (limit, FAILS), (2 * limit, FAILS)):
        path = np.concatenate([np.linspace(0, high, 10), np.linspace(0, 0.1, 21)])
        data = broken("concentration", path, variant=variant, query=query, record=slice(31))
        assert outcome("v13-rise-steps", data) == expected


def test_many_small_drops_are_no_large_one():
    # three of 30 steps fall, by 0.0027 in all
    rises = np.full(30, 0.001)
    rises[[4, 5, 6]] = -0.0009
    path = 0.4 + np.concatenate([[0.0], np.cumsum(rises)])
    assert outcome("v13-rise-steps", broken("concentration", path, query="relevant", record=slice(31))) == HOLDS


def test_other_queries_may_fall():
    data = broken("concentration", np.linspace(0.9, 0.1, 31), query="confusion", record=slice(31))
    data = broken("concentration", np.linspace(0.9, 0.1, 31), data, query="all", record=slice(31))
    assert outcome("v13-rise-steps", data) == HOLDS
