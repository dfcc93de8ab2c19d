"""Claims about attention (V8, Figure 2.4): every judge tells true data from false ones.

Data sets are made by hand in the shape in which the experiments leave them; tests change one thing in the world that
the specification expects and say what the claim must answer.
"""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from vit_world import ATTENTION, CLAIMS, QUERIES, VARIANTS, changed, curves, dynamics, found, inf, losses, outcome

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE

# V8: concentration

THREE = np.asarray([-1.0, 0, 1])[:, None]
"""Deviations of three seeds. The half width of the t interval of `spread * THREE` is 2.484 spread."""


def test_concentration_must_reach_0_99_in_both_variants_and_fails_only_if_both_are_below():
    def judged(shared: Any, per_token: Any) -> str:
        return outcome("v8-concentration", dynamics=dynamics(shared, per_token, start=0.4, bump=-0.2))

    assert judged(0.591, 0.591) == HOLDS
    assert judged(0.589, 0.589) == FAILS
    assert judged(0.591, 0.589) == INCONCLUSIVE
    assert judged(0.2, 0.591) == INCONCLUSIVE
    assert judged(0.593 + 1e-3 * THREE, 0.591) == HOLDS
    assert judged(0.592 + 1e-3 * THREE, 0.591) == INCONCLUSIVE
    assert judged(0.588 + 1e-3 * THREE, 0.2) == INCONCLUSIVE
    assert judged(0.587 + 1e-3 * THREE, 0.2) == FAILS


def test_concentration_is_read_at_the_end_of_every_run_and_over_all_queries():
    # above 0.99 on the way and below at the end, or the reverse
    assert outcome("v8-concentration", dynamics=dynamics(0.5, 0.5, bump=0.4)) == FAILS
    assert outcome("v8-concentration", dynamics=dynamics(0.595, 0.595, bump=-0.4)) == HOLDS
    others = dynamics([0.2, 0.595, 0.595, 0.595], [0.2, 0.595, 0.595, 0.595], bump=0.0)
    assert outcome("v8-concentration", dynamics=others) == FAILS


def test_the_model_curve_of_the_control_is_read_at_t_0():
    # 1 - 1/(2(1+t)) is 0.99 at t = 49
    for t0, expected in (((60, 61, 62), HOLDS), ((40, 41, 42), FAILS)):
        ((_, control),) = found("v8-concentration", dynamics=dynamics(t0=t0)).controls
        assert control.outcome == expected


@pytest.mark.parametrize("query", [1, 3])
@pytest.mark.parametrize(("variant", "bound"), [("shared", 0.03), ("per_token", 0.1)])
def test_attention_rises_by_its_own_bound_in_either_variant_for_relevant_and_neutral_queries(query, variant, bound):
    for rise, expected in ((bound, HOLDS), (bound + 1e-4, HOLDS), (bound - 1e-4, FAILS)):
        rises = np.full((3, 4), 0.3)
        rises[1, query] = rise
        data = dynamics(**({"shared": 0.3, "per_token": 0.3} | {variant: rises}), start=0.0)
        assert outcome("v8-concentration-corrected", dynamics=data) == expected


def test_attention_rises_in_every_seed():
    rises = np.full((3, 4), 0.5)
    rises[2] = 0.02
    assert outcome("v8-concentration-corrected", dynamics=dynamics(shared=rises)) == FAILS
    assert outcome("v8-concentration-corrected", dynamics=dynamics(per_token=rises)) == FAILS


def test_the_rise_of_attention_is_between_the_first_and_the_last_record():
    assert outcome("v8-concentration-corrected", dynamics=dynamics(0.02, 0.05, bump=0.4)) == FAILS
    assert outcome("v8-concentration-corrected", dynamics=dynamics(0.02, 0.05, bump=-0.4)) == FAILS
    assert outcome("v8-concentration-corrected", dynamics=dynamics(0.04, 0.12, bump=-0.4)) == HOLDS


def test_confusion_queries_and_the_all_query_mean_do_not_enter_the_corrected_claim():
    rises = [-0.3, 0.2, -0.3, 0.2]
    assert outcome("v8-concentration-corrected", dynamics=dynamics(rises, rises)) == HOLDS


@pytest.mark.parametrize("name", ["v8-concentration", "v8-concentration-corrected"])
def test_dynamics_are_undecided_unless_every_intact_run_converges(name):
    for variant in VARIANTS:
        stuck = changed(dynamics(), "reached_step", inf, variant=variant, attention="trained", seed=1)
        finding = found(name, dynamics=stuck)
        assert finding.verdict.outcome == INCONCLUSIVE
        assert "not converged" in finding.verdict.note
    assert np.isinf(dynamics().reached_step.sel(attention="frozen")).all()
    assert found(name).as_expected


def test_a_wide_margin_must_end_0_1_above_the_narrow_one_in_every_seed():
    def judged(*pairs: Any) -> str:
        return outcome("v8-concentration-margin", v8_losses=losses(*pairs, start=0.0))

    assert judged(0.0, 0.1) == HOLDS
    assert judged(0.5, 0.6001) == HOLDS
    assert judged(0.5, 0.5999) == FAILS
    assert judged(0.5, [0.9, 0.59, 0.9]) == FAILS
    assert judged([0.5, 0.7, 0.5], [0.7, 0.81, 0.7]) == HOLDS
    assert judged(0.6, 0.5) == FAILS


def test_margins_are_compared_at_the_end():
    assert outcome("v8-concentration-margin", v8_losses=losses(0.55, 0.6, bump=0.4)) == FAILS
    data = losses(0.5, 0.65)
    data.concentration.loc[{"loss": "hinge margin 10"}][:, :, 50] = 0.0
    assert outcome("v8-concentration-margin", v8_losses=data) == HOLDS


# F4: the curves of Figure 2.4


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("attention", ATTENTION)
def test_the_two_attention_sums_add_up_to_one_at_every_record(variant, attention):
    for error, expected in ((0.9e-6, HOLDS), (1.1e-6, FAILS), (-1.1e-6, FAILS)):
        data = curves()
        place = {"variant": variant, "attention": attention, "seed": 2, "query": "all"}
        data.complement.loc[place][37] += error
        assert outcome("f4-complement", f4_attention=data) == expected


@pytest.mark.parametrize(("variant", "bound"), [("shared", 0.03), ("per_token", 0.15)])
def test_the_all_query_mean_rises_by_its_own_bound_in_either_variant_and_every_seed(variant, bound):
    usual = {"shared": 0.4, "per_token": 0.4}
    for rise, expected in ((bound, HOLDS), (bound - 1e-4, FAILS)):
        data = curves(**(usual | {variant: rise}), start=0.0)
        assert outcome("f4-rise", f4_attention=data) == expected
        data = curves(**(usual | {variant: [0.4, rise, 0.4]}), start=0.0)
        assert outcome("f4-rise", f4_attention=data) == expected


def test_the_rise_of_figure_2_4_is_from_the_first_record_to_the_last():
    data = curves(0.01, 0.1)
    data.concentration[:, 0, :, 50] = 0.9
    assert outcome("f4-rise", f4_attention=data) == FAILS
    data = curves()
    data.concentration[:, 0, :, 50] = 0.9
    data.concentration[:, 0, :, 51] = 0.1
    assert outcome("f4-rise", f4_attention=data) == HOLDS


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_moves_after_t_0_and_anything_may_before(variant):
    data = curves(t0=(120, 160, 200))
    last_move = data.movement.sel(variant=variant, attention="trained", seed=1).values.nonzero()[0][-1]
    assert data.step.values[0, 0, 0, last_move] == 160
    place = {"variant": variant, "attention": "trained", "seed": 1}
    for record, expected in ((40, HOLDS), (41, FAILS), (100, FAILS)):
        moving = curves(t0=(120, 160, 200))
        moving.movement.loc[place][record] = 1e-12
        assert outcome("f4-freeze", f4_attention=moving) == expected


def test_the_freeze_is_undecided_where_no_record_lies_after_t_0():
    assert outcome("f4-freeze", f4_attention=curves(t0=(400, 400, 400))) == INCONCLUSIVE


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_all_query_mean_stays_below_0_95_at_every_record_of_every_seed(variant):
    for peak, expected in ((0.9499, HOLDS), (0.95, FAILS), (0.96, FAILS)):
        data = curves()
        data.concentration.loc[{"variant": variant, "attention": "trained", "seed": 1, "query": "all"}][55] = peak
        assert outcome("f4-below-one", f4_attention=data) == expected
    others = curves()
    others.concentration.loc[{"variant": variant, "attention": "trained", "query": "relevant"}] = 0.99
    assert outcome("f4-below-one", f4_attention=others) == HOLDS


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("query", QUERIES)
def test_frozen_attention_is_constant_to_the_bit(variant, query):
    data = curves()
    place = data.concentration.loc[{"variant": variant, "attention": "frozen", "seed": 2, "query": query}]
    place[70] = np.nextafter(place[70], 1)
    assert outcome("f4-frozen-constant", f4_attention=data) == FAILS


def test_frozen_attention_may_differ_between_seeds_and_variants():
    data = curves()
    shift = xr.DataArray([[0.0, 0.1, 0.2], [0.05, 0.15, 0.25]], dims=("variant", "seed"))
    data["concentration"] = (data.concentration + shift).transpose(*data.concentration.dims)
    assert outcome("f4-frozen-constant", f4_attention=data) == HOLDS


@pytest.mark.parametrize("name", [name for name in CLAIMS if name.startswith("f4")])
def test_figure_2_4_is_undecided_unless_every_intact_run_converges(name):
    assert np.isinf(curves().reached_step.sel(attention="frozen")).all()
    assert found(name).as_expected
    for variant in VARIANTS:
        stuck = changed(curves(), "reached_step", inf, variant=variant, attention="trained", seed=1)
        finding = found(name, f4_attention=stuck)
        assert finding.verdict.outcome == INCONCLUSIVE
        assert "not converged" in finding.verdict.note
