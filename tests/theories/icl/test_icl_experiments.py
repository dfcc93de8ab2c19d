"""The experiments: all of them run, and what they leave can be judged."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.claims import OUTCOMES, examine
from lemmata.lab.errors import UserError
from lemmata.lab.grid import make_grid
from lemmata.lab.runner import Options, plan, run
from lemmata.theories import icl
from lemmata.theories.icl.studies.networks import answer_prompts, prune_neurons, shift_patterns
from lemmata.theories.icl.studies.predictors import compare

EXPERIMENTS = icl.theory.experiments
CLAIMS = icl.theory.claims
PRESETS = ("smoke", "quick", "paper")
GPT = ("f63a-", "f63b-")
"""Experiments on the other network have tests of their own."""

NAMES = [name for name in EXPERIMENTS if not name.startswith(GPT)]


def grid(name: str, preset: str) -> Any:
    """A Grid of settings of this theory."""
    chosen = EXPERIMENTS[name].preset(preset)
    return make_grid(chosen.setting, chosen.axes)


# What they leave at smoke

Left = Callable[[str], xr.Dataset]
PROOF = "p1-default"
MECHANISM = {"query_norm", "key_norm", "query_projection", "key_projection", "attention_same", "attention_other"}


def test_networks_that_exchange_nothing_err_as_they_do_by_themselves(left: Left) -> None:
    exchanged, alone = left("p5-exchange").exchanged_error, left("p5-shift").shift_error.sel(moment="end")
    for tasks, variant in (("one cycle", "U=1"), ("all tasks", "U=5")):
        both = exchanged.sel(attention_of=tasks, rest_of=tasks, drop=True)
        np.testing.assert_array_equal(both, alone.sel(variant=variant, shift=both["shift"].values, drop=True))
    mixed = exchanged.sel(attention_of="all tasks", rest_of="one cycle")
    assert mixed.dims == ("shift", "seed")


def test_training_leaves_the_sum_of_the_patterns_where_the_key_map_sends_it(left: Left) -> None:
    data = left(PROOF).sel(variant="intact", map="key")
    np.testing.assert_allclose(data.mapped_sum.sel(part="along").dropna("record"), 0.1, rtol=1e-5)
    np.testing.assert_allclose(data.mapped_sum.sel(part="across").dropna("record"), 0.0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_leaves_what_it_declares_and_nothing_is_absent(name: str, left: Left) -> None:
    data, simulation = left(name), EXPERIMENTS[name].simulation
    axes = grid(name, "smoke").labels
    assert [list(data[axis].values) for axis in axes] == [list(labels) for labels in axes.values()]
    declared = {variable.name: variable for variable in simulation.variables}
    assert set(data.data_vars) <= set(declared)
    used = data.step.notnull() if "step" in data else xr.DataArray(True)
    for variable, values in data.data_vars.items():
        assert values.dims == (*axes, "seed", *declared[str(variable)].dims), variable
        for dim in set(values.dims) & set(simulation.labels):
            assert values[dim].values.tolist() == list(simulation.labels[str(dim)])
        if not declared[str(variable)].optional:
            there = values.notnull()
            assert (there == used).all() if "record" in values.dims else there.all(), variable
        allowed = variable == "reached_step"
        assert allowed or not np.isinf(values).any(), variable
    if "diverged" in data:
        assert (data.diverged == 0).all()


def test_paths_are_recorded_where_they_are_asked_for(left: Left) -> None:
    declared = {v.name for v in EXPERIMENTS[PROOF].simulation.variables}
    shown = {name for name in declared if name.startswith("shown_")} | MECHANISM
    proof = {v.name for v in EXPERIMENTS[PROOF].simulation.variables if "record" in v.dims} - shown
    assert proof <= set(left(PROOF))
    assert not shown & set(left(PROOF))
    assert shown <= set(left("f62-mechanism"))
    plain = {name for name in left("p2-eta") if "record" in left("p2-eta")[name].dims}
    assert plain == {"step", "watch_hinge"}


def last(data: xr.Dataset, name: str) -> xr.DataArray:
    return data[name].isel(record=data.step.notnull().sum("record") - 1)


def test_the_last_record_of_the_default_run_is_its_final_evaluation(left: Left) -> None:
    data = left(PROOF)
    for name in ("unseen_hinge", "unseen_error", "seen_hinge", "seen_error"):
        np.testing.assert_allclose(last(data, f"{name}_path"), data[name], rtol=1e-4, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(last(data, "concentration_path"), data.concentration.isel(head=0), rtol=1e-5)
    np.testing.assert_allclose(last(data, "watch_hinge"), data.last_watch_hinge)
    np.testing.assert_allclose(last(data, "large_share"), data.pruned_large_share)
    np.testing.assert_allclose(data.large.mean("neuron").where(data.step.notnull()), data.large_share)
    np.testing.assert_allclose(data.pruned_hinge.sel(rate="0", order="smallest"), data.unseen_hinge, rtol=1e-5)
    np.testing.assert_allclose(
        data.concentration_path.isel(record=0), data.initial_concentration.isel(head=0), rtol=1e-5
    )
    own = np.eye(6, dtype=bool)
    for which, name in ((0, "query_patterns"), (1, "key_patterns")):
        block, partner = last(data, name).values, data.partner.values > 0
        ratios = np.where(partner, block / block[..., own][..., None], 0)
        # entries of either sign can cancel: the mean is as exact as the sizes of what it sums
        error = data.partner_ratio.isel(map=which) - ratios.sum((2, 3)) / partner.sum((2, 3))
        assert (abs(error) <= 1e-4 * abs(ratios).sum((2, 3)) / partner.sum((2, 3))).all()
        # trained for itself, the same network
        alone = left("p5-shift").sel(variant="U=1").isel(shift=0)[name]
        np.testing.assert_allclose(alone, block[0], rtol=1e-4, atol=1e-6)


def test_the_records_of_the_default_run_begin_at_the_initial_network(left: Left) -> None:
    data = left(PROOF).isel(record=0)
    assert (data.step == 0).all()
    for name in ("query_patterns", "key_patterns", "query_irrelevant", "key_irrelevant"):
        np.testing.assert_allclose(data[name], np.broadcast_to(0.1 * np.eye(6), data[name].shape), atol=1e-6)
    assert (data.output_growth == 0).all()
    assert (data.own_active == 1).all()  # a lucky neuron fires on its own prompt
    np.testing.assert_allclose(data.key_pattern_norm, 0.3, rtol=1e-5)
    assert (data.key_label_norm == 0).all()
    np.testing.assert_array_equal(data.partner.isel(variant=0, seed=0).sum("other"), np.full(6, 2))


def test_variants_of_the_default_run_differ_in_what_they_name_only(left: Left) -> None:
    data = left(PROOF)
    intact, frozen = data.sel(variant="intact"), data.sel(variant="frozen")
    assert (frozen.attention_moved == 0).all()
    assert (intact.attention_moved > 0).all()
    assert (frozen.query_patterns == frozen.query_patterns.isel(record=0)).where(frozen.step.notnull(), True).all()
    # the same prompts, patterns and initial weights for all of them
    start = data.isel(record=0)
    for name in ("neuron_norm", "concentration_path", "active_share"):
        assert np.ptp(start[name].values, axis=0).max() < 1e-6, name
    assert abs(intact.neuron_norm - data.sel(variant="shuffled").neuron_norm).max() > 1e-6
    np.testing.assert_allclose(data.label_gradient.sel(map="query").where(data.step.notnull(), 0), 0, atol=0)
    assert (data.label_gradient.sel(map="key").isel(record=1) > 0).all()


def test_two_heads_and_classes_of_two_patterns_are_trained_and_evaluated(left: Left) -> None:
    data, classes = left("p17-heads"), left("p18-classes")
    assert data.concentration.dims == ("variant", "seed", "head")
    np.testing.assert_allclose(
        data.initial_concentration.isel(head=0), data.initial_concentration.isel(head=1), rtol=1e-6
    )
    independent, frozen = data.sel(variant="independent"), data.sel(variant="frozen")
    np.testing.assert_allclose(frozen.concentration, frozen.initial_concentration, rtol=1e-6)
    assert (independent.attention_moved > 0).all()
    assert (abs(independent.concentration.diff("head")) > 0).all()
    assert (abs(data.sel(variant="equal").concentration.diff("head")) < 1e-5).all()
    assert (classes.sel(attention="frozen").attention_moved == 0).all()
    assert (classes.sel(attention="trained").attention_moved > 0).all()
    assert (classes.coverage_least == 2).all()  # every pattern is in two classes of each sign
    assert classes.shifted_error.isnull().all()  # there are no classes out of domain
    assert classes.partner_ratio.isnull().all()
    assert data.partner_ratio.isnull().all()


def test_errors_with_and_without_a_match_add_up(left: Left) -> None:
    data = left("p4-contexts")
    missing = data.unseen_no_match
    parts = data.unseen_error_match.fillna(0) * (1 - missing) + data.unseen_error_no_match.fillna(0) * missing
    np.testing.assert_allclose(parts, data.unseen_error, atol=1e-6)
    # every exact prompt has a match, and longer prompts lack one less often
    assert (missing.sel(test_mode="exact") == 0).all()
    assert (missing.sel(test_mode="iid").diff("test_contexts") <= 0).all()
    assert (data.prompts == 48).all()


def test_how_a_network_is_tested_changes_nothing_about_its_training(left: Left) -> None:
    for name, axes in (
        ("p4-contexts", ["test_mode", "test_fraction", "test_contexts"]),
        ("p5-shift", ["shift"]),
        ("f64-baselines", ["test_fraction", "test_contexts"]),
        ("f65-pruning", ["test_fraction"]),
    ):
        hinge = left(name).seen_hinge
        assert (hinge == hinge.isel(dict.fromkeys(axes, 0))).all(), name
    data = left("p5-shift")
    for name in ("query_patterns", "key_patterns", "partner"):
        assert (data[name] == data[name].isel(shift=0)).all()


def test_a_test_axis_can_be_set_and_extended_without_another_program() -> None:
    smoke = EXPERIMENTS["p4-contexts"].preset("smoke")
    axes = {**smoke.axes, "test_contexts": [1, 4, 20], "test_fraction": [0.3, 0.55, 0.9]}
    cells = make_grid(smoke.setting, axes).cells.values()
    assert len({setting.problem().static for setting in cells}) == len(smoke.axes["test_mode"])
    with pytest.raises(UserError, match=r"test_context_room = 20 is not allowed: it must hold test_contexts = 21\."):
        make_grid(smoke.setting, {"test_contexts": [1, 21]})
    longer = make_grid(smoke.setting.replace(test_context_room=24), {"test_contexts": [1, 24]}).cells.values()
    assert [setting.problem().test_contexts for setting in longer] == [1, 24]
    chosen = Options("smoke", changes=("test_contexts=24", "test_context_room=24", "test_mode=exact"))
    asked = plan(icl.theory, "p4-contexts", chosen).grid
    assert (asked.labels["test_contexts"], asked.labels["test_mode"]) == ([24], ["exact"])


def test_a_cell_is_the_run_of_its_own_setting(left: Left) -> None:
    cell = {"test_mode": "iid", "test_fraction": 0.4, "test_contexts": 3}
    alone = answer_prompts(EXPERIMENTS["p4-contexts"].preset("smoke").setting.replace(**cell), 1)
    data = left("p4-contexts").sel(cell).sel(attention="trained", seed=1)
    for name, value in alone.items():
        np.testing.assert_allclose(value, data[name], rtol=1e-6, err_msg=name)


def test_every_test_of_a_seed_looks_at_the_same_draws(left: Left) -> None:
    missing = left("p4-contexts").unseen_no_match
    assert (missing.sel(attention="trained") == missing.sel(attention="frozen")).all()
    # before training every set of training tasks gives the same network
    start = left("p5-shift").sel(moment="start").shift_hinge
    assert np.ptp(start.values, axis=0).max() < 1e-6


def test_shifted_patterns_are_scored_in_total_and_by_the_querys_pattern(left: Left) -> None:
    data = left("p5-shift")
    for name in ("error", "hinge"):
        # the three queries are not equally frequent, but the total lies between them
        each = data[f"query_{name}"]
        assert (each.min("odr_pattern") - 1e-6 <= data[f"shift_{name}"]).all()
        assert (data[f"shift_{name}"] <= each.max("odr_pattern") + 1e-6).all()
    assert (data.shift_concentration.sel(moment="start") != data.shift_concentration.sel(moment="end")).any()
    assert (data.shift_hinge.sel(shift="defect") != data.shift_hinge.sel(shift="45")).any()
    assert (data.partner.sel(variant="U=5").sum("other") == 5).all()
    assert (data.partner.sel(variant="3 tasks").sum(["pattern", "other"]) == 6).all()


@pytest.mark.parametrize("simulation", [shift_patterns, prune_neurons, compare], ids=lambda one: one.name)
def test_settings_without_prompts_out_of_domain_are_refused_there(simulation: Any) -> None:
    setting = EXPERIMENTS["p5-shift"].preset("smoke").setting
    for fields, words in (
        ({"patterns": 5, "irrelevant": 7}, "patterns = 5, irrelevant = 7 is not allowed here"),
        ({"class_size": 2}, "class_size = 2 is not allowed here"),
    ):
        with pytest.raises(UserError, match=words):
            simulation(setting.replace(**fields), 0)


def test_pruned_networks_begin_with_the_whole_one(left: Left) -> None:
    data = left("f65-pruning")
    for name in ("pruned_hinge", "pruned_error"):
        whole = data[name].sel(rate="0")
        np.testing.assert_allclose(whole, whole.isel(order=[0] * whole.sizes["order"]), rtol=1e-6)
    assert (data.output_norm.diff("neuron") >= 0).all()
    assert (
        data.pruned_hinge.sel(rate="0.8", order="largest") != data.pruned_hinge.sel(rate="0", order="largest")
    ).any()


def test_tasks_cover_their_patterns_as_the_condition_counts(left: Left) -> None:
    data = left("e2-tasks")
    for name, least, most in (
        ("M_1=6, n=3", 0, 1), ("M_1=6, n=5", 0, 1), ("M_1=6, n=6", 1, 1), ("swaps", 1, 1), ("triangles", 1, 1),
    ):  # fmt: skip
        assert (data.coverage_least.sel(task_set=name) == least).all()
        assert (data.coverage_most.sel(task_set=name) == most).all()


def test_single_contexts_do_not_move_attention(left: Left) -> None:
    moved = left("e1-context").attention_moved
    assert (moved.sel(variant=["short, 1", "long, 1"]) == 0).all()
    assert (moved.sel(variant=["short, 2", "long, 2"]) > 0).all()


def test_baselines_agree_with_scikit_learn(left: Left) -> None:
    data = left("f64-baselines")
    assert (data.agreement > 0.95).all()
    # 1-NN errs without a match only (in domain)
    assert (data.prompt_error_match.sel(domain="in-domain", predictor="1-NN") == 0).all()
    assert (data.prompt_error_match <= data.prompt_error + 1e-9).all()


def test_the_oracle_obeys_its_law(left: Left) -> None:
    data = left("f64-oracle-law")
    law = 0.5 * (1 - data.test_fraction) ** data.test_contexts
    assert (data.prompts == 48).all()
    assert (abs(data.oracle_error.mean("seed") - law) < 4 * np.sqrt(law * (1 - law) / 96)).all()


def test_an_experiment_run_again_gives_the_stored_data(smoke: Any, left: Left) -> None:
    again = run(icl.theory, "p5-shift", Options(preset="smoke", out=smoke("icl").folder))
    assert again.failed == 0
    assert again.data.identical(left("p5-shift"))


# Judging them

ABSENT = {"p4-match", "p4-no-match", "p4-total", "p4-one-match", "p4-length", "p5-coefficient-sum"}
"""Claims about cells that the smoke preset does not have."""


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS.values() if claim.reads])
def test_evidence_controls_and_gate_are_found_in_what_experiments_leave(name: str, left: Left) -> None:
    data = {read: left(read) for read in CLAIMS[name].reads}
    passed = {read: d.assign(seen_hinge=0 * d.seen_hinge) if "seen_hinge" in d else d for read, d in data.items()}
    finding = examine(CLAIMS[name], passed)
    for verdict in (finding.verdict, *(verdict for _, verdict in finding.controls)):
        assert verdict.outcome in OUTCOMES
        assert "not converged" not in verdict.note
        assert verdict.note.startswith("not in this preset: ") == (name in ABSENT)
        assert verdict.note
