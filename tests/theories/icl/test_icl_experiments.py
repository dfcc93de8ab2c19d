"""The experiments: their sizes are those of the specification, all of them run, and what they leave can be judged."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.claims import OUTCOMES, examine
from lemmata.lab.errors import UserError
from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.outlook import find_shapes
from lemmata.lab.runner import Options, plan, run
from lemmata.lab.sweep import sweep
from lemmata.theories import icl
from lemmata.theories.icl.studies.baselines import ask_oracle, compare
from lemmata.theories.icl.studies.contexts import answer_prompts
from lemmata.theories.icl.studies.pruning import prune_neurons
from lemmata.theories.icl.studies.shift import shift_patterns
from lemmata.theories.icl.tasks import SWAPS, TRIANGLES

EXPERIMENTS = icl.theory.experiments
CLAIMS = icl.theory.claims
PRESETS = ("smoke", "quick", "paper")
GPT = ("f63a-", "f63b-")
"""Experiments on the other network have tests of their own."""

# Experiments at `quick`: seeds, fields of every cell, and for every axis its labels with their fields

CONSTANTS = {
    "dimension": 30, "label_dimension": 30, "patterns": 6, "irrelevant": 24, "pattern_norm": 3.0, "amplitude": 0.5,
    "fraction": 0.8, "test_fraction": 0.8, "contexts": 20, "test_contexts": 20, "test_mode": "iid",
    "shift_amplitude": 5.0, "angle": 45.0, "tasks": "cyclic", "rounds": 1, "class_size": 1, "label_order": "true",
    "basis": "random", "neurons": 200, "key_width": 60, "value_width": 60, "heads": 1, "equal_heads": False,
    "initial_scale": 0.1, "a_scale": "1/m", "include_query": False, "batch": 120, "step_size": 1.0, "steps": 600,
    "train_attention": 1, "test_prompts": 2400, "watch_prompts": 960, "watch_contexts": 40, "stop": "never",
    "track": "hinge", "moments": "even", "strict": True, "defect": "none",
}  # fmt: skip
"""The defaults of sections 2 to 4 and of the register."""
ATTENTION = {"trained": {"train_attention": 1}, "frozen": {"train_attention": 0}}
UNTIL = {"steps": 6000, "record_every": 5, "records": 1201, "stop": "reached"}


def values(field: str, *allowed: Any) -> dict[Any, dict[str, Any]]:
    return {value: {field: value} for value in allowed}


def sizes(patterns: int, **more: Any) -> dict[str, Any]:
    return {"patterns": patterns, "irrelevant": 30 - patterns, **more}


TASKS = {
    **{
        f"M_1={m}, n={n}": sizes(m, tasks="subsampled", task_count=n)
        for m, counts in ((4, (2, 3, 4)), (6, (3, 5, 6)), (8, (4, 7, 8)))
        for n in counts
    },
    "swaps": {"tasks": "swaps"},
    "triangles": {"tasks": "triangles"},
}
SHORT = {"initial_scale": 0.2, "neurons": 200, "steps": 600}
LONG = {"initial_scale": 0.1, "neurons": 100, "steps": 1500}

QUICK: dict[str, tuple[int, dict[str, Any], dict[str, dict[Any, dict[str, Any]]]]] = {
    "p1-default": (
        8,
        {"track": "proof", "moments": "register"},
        {
            "variant": {
                "intact": {},
                "frozen": {"train_attention": 0},
                "shuffled": {"label_order": "shuffled"},
                "include_query": {"include_query": True},
                "1/sqrt(m)": {"a_scale": "1/sqrt(m)", "steps": 500},
            }
        },
    ),
    "p2-eta": (3, UNTIL, {"step_size": values("step_size", 0.25, 0.5, 1.0)}),
    "p2-alpha": (3, UNTIL, {"fraction": values("fraction", 0.2, 0.4, 0.6, 0.8, 1.0)}),
    "p2-beta": (3, UNTIL, {"pattern_norm": values("pattern_norm", 1.5, 2.0, 3.0, 4.0)}),
    "p2-patterns": (3, UNTIL, {"relevant_patterns": {m: sizes(m, batch=20 * m) for m in (4, 6, 8, 12, 16)}}),
    "p2-width": (3, UNTIL, {"neurons": values("neurons", 50, 200, 800)}),
    "p2-delta": (3, UNTIL, {"initial_scale": values("initial_scale", 0.05, 0.1, 0.2)}),
    "e2-tasks": (8, {"fraction": 0.6, "steps": 1000}, {"task_set": TASKS}),
    "p4-contexts": (
        8,
        {"test_context_room": 40},
        {
            "attention": ATTENTION,
            "test_mode": values("test_mode", "iid", "exact"),
            "test_fraction": values("test_fraction", 0.2, 0.4, 0.8, 1.0),
            "test_contexts": values("test_contexts", 1, 2, 3, 5, 10, 20, 40),
        },
    ),
    "p5-shift": (
        8,
        {},
        {
            "variant": {
                "U=1": {"rounds": 1},
                "U=5": {"rounds": 5},
                "3 tasks": {"tasks": "subsampled", "task_count": 3},
            },
            "shift": {
                **{
                    f"{angle:g}": {"angle": angle}
                    for angle in (45, 20, 6.35, 0, -45, -90, -135, 70, 83.65, 135, 180)  # branches A and B
                },
                "defect": {"angle": 45, "defect": "irrelevant span"},
            },
        },
    ),
    "p11-lucky": (200, {"steps": 1500}, {}),
    "p17-heads": (
        8,
        {"heads": 2},
        {"variant": {"independent": {}, "equal": {"equal_heads": True}, "frozen": {"train_attention": 0}}},
    ),
    "p18-classes": (
        8,
        {"class_size": 2, "steps": 1000},
        {
            "attention": ATTENTION,
            "test_length": {
                "20": {"test_contexts": 20, "test_prompts": 10_000},
                "60": {"test_contexts": 60, "test_prompts": 2400},
            },
        },
    ),
    "f64-baselines": (
        4,
        {"test_prompts": 1000, "test_context_room": 40},
        {
            "test_fraction": values("test_fraction", 0.6, 0.8),
            "test_contexts": values("test_contexts", 5, 10, 20, 40),
        },
    ),
    "f64-oracle-law": (
        4,
        {"test_prompts": 4000, "test_context_room": 10, "steps": 1500},
        {"test_fraction": values("test_fraction", 0.2, 0.4), "test_contexts": values("test_contexts", 2, 5, 10)},
    ),
    "f65-pruning": (
        8,
        {"fraction": 0.6, "steps": 1000},
        {"test_fraction": values("test_fraction", 0.2, 0.4, 0.6, 0.8)},
    ),
    "e1-context": (
        3,
        {"context_room": 12},
        {
            "variant": {
                **{f"short, {n}": {**SHORT, "contexts": n} for n in (1, 2, 3, 4, 6, 8, 12)},
                **{f"long, {n}": {**LONG, "contexts": n} for n in (1, 2, 3)},
            },
            "fraction": values("fraction", 0.2, 0.4, 0.8),
        },
    ),
}
"""The list of the register."""
NAMES = [name for name in EXPERIMENTS if not name.startswith(GPT)]


def grid(name: str, preset: str) -> Any:
    """A Grid of settings of this theory."""
    chosen = EXPERIMENTS[name].preset(preset)
    return make_grid(chosen.setting, chosen.axes)


def test_the_experiments_of_the_register_are_all_there() -> None:
    assert set(QUICK) <= set(NAMES)
    assert {name for claim in CLAIMS.values() for name in claim.reads} <= set(QUICK)


def test_names_begin_with_a_row_or_a_figure_of_the_paper() -> None:
    rows = {f"p{i}" for i in range(1, 19)} | {"f61", "f62", "f63a", "f63b", "f64", "f65", "f65a", "f65b", "e1", "e2"}
    for name in (*EXPERIMENTS, *CLAIMS):
        assert name.partition("-")[0] in rows, name


@pytest.mark.parametrize("name", QUICK)
def test_the_quick_preset_is_that_of_the_specification(name: str) -> None:
    seeds, fields, axes = QUICK[name]
    assert EXPERIMENTS[name].preset("quick").seeds == seeds
    found = grid(name, "quick")
    assert found.labels == {axis: list(labels) for axis, labels in axes.items()}
    for cell, setting in found.cells.items():
        expected = CONSTANTS | fields
        for labels, i in zip(axes.values(), cell, strict=True):
            expected |= list(labels.values())[i]
        actual = {field: getattr(setting, field) for field in expected}
        assert actual == pytest.approx(expected), found.describe(cell)


def test_the_rates_of_pruning_are_those_of_the_specification() -> None:
    for name, rates in (("p1-default", "0 0.1 0.2 0.3 0.5 0.7"), ("f65-pruning", "0 0.15 0.2 0.3 0.5 0.8")):
        assert set(EXPERIMENTS[name].simulation.labels["rate"]) >= set(rates.split())


def test_the_disconnected_sets_are_those_of_the_specification() -> None:
    assert SWAPS == [(1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5)]
    settings = dict(
        zip(grid("e2-tasks", "quick").labels["task_set"], grid("e2-tasks", "quick").cells.values(), strict=True)
    )
    for name, tasks in (("swaps", SWAPS), ("triangles", TRIANGLES)):
        assert settings[name].ordered_tasks()[: settings[name].seen_tasks()] == tasks
    # two 3-cycles on disjoint patterns
    assert [set(task) for task in TRIANGLES[:3]] == [{1, 2}, {2, 3}, {1, 3}]
    assert {pattern for task in TRIANGLES[3:] for pattern in task} == {4, 5, 6}


def test_first_passages_are_looked_for_every_five_steps_up_to_the_cap() -> None:
    for name in QUICK:
        if name.startswith("p2-"):
            for preset in ("quick", "paper"):
                for setting in grid(name, preset).cells.values():
                    assert (setting.record_every, setting.steps) == (5, 6000)
                    assert 5 * (setting.records - 1) >= setting.steps


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_of_every_preset_is_valid(name: str, preset: str) -> None:
    experiment, found = EXPERIMENTS[name], grid(name, preset)
    assert set(experiment.presets) == set(PRESETS)
    assert (experiment.name, experiment.question[-1]) == (name, "?")
    assert experiment.reference
    assert len(found.cells) == math.prod(found.shape) > 0
    assert list(found.labels) == list(grid(name, "quick").labels)
    for setting in found.cells.values():
        assert setting.problem() is not None
        if setting.class_size == 1:
            assert setting.ordered_tasks()[: setting.seen_tasks()]


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_preset_is_at_least_as_large_as_quick_and_smoke_is_tiny(name: str) -> None:
    quick, paper, smoke = (EXPERIMENTS[name].preset(preset) for preset in ("quick", "paper", "smoke"))
    assert paper.seeds >= quick.seeds
    assert smoke.seeds == 2
    for size in ("steps", "test_prompts", "neurons", "batch"):
        assert getattr(paper.setting, size) >= getattr(quick.setting, size) > getattr(smoke.setting, size)
    for axis, labels in grid(name, "quick").labels.items():
        assert set(labels) <= set(grid(name, "paper").labels[axis])


# Running them: cells that differ in the sizes of their programs are compiled for one of the sizes only

FEWER: dict[str, dict[str, list[Any]]] = {
    "p2-patterns": {"relevant_patterns": [6]},
    "p2-width": {"neurons": [16]},
    "p6-patterns": {"relevant_patterns": [6]},
    "e2-tasks": {"task_set": ["M_1=6, n=3", "M_1=6, n=5", "M_1=6, n=6", "swaps", "triangles"]},
    "f64-baselines": {"test_fraction": [0.6], "test_contexts": [5, 20]},
}


def smoke_axes(name: str) -> dict[str, Any]:
    axes = dict(EXPERIMENTS[name].preset("smoke").axes)
    for axis, kept in FEWER.get(name, {}).items():
        whole = axes[axis]
        axes[axis] = {label: whole[label] for label in kept} if isinstance(whole, Mapping) else kept
        assert all(label in whole for label in kept)
    return axes


@pytest.fixture(scope="module")
def found() -> dict[str, xr.Dataset]:
    """The data of every experiment at smoke size, made when first asked for."""

    class Found(dict):
        def __missing__(self, name: str) -> xr.Dataset:
            preset = EXPERIMENTS[name].preset("smoke")
            seeds = 1 if name == "f64-baselines" else preset.seeds
            self[name] = sweep(EXPERIMENTS[name].simulation, preset.setting, smoke_axes(name), seeds)
            return self[name]

    return Found()


PROOF = "p1-default"
TOGETHER = ("p17-heads", "p18-classes")
"""Two heads and classes of two patterns are run at once; by themselves only their shapes are found."""
RUN = [name for name in NAMES if name not in TOGETHER]
MECHANISM = {"query_norm", "key_norm", "query_projection", "key_projection", "attention_same", "attention_other"}


@pytest.mark.parametrize("name", RUN)
def test_an_experiment_leaves_what_it_declares_and_nothing_is_absent(name: str, found: dict[str, xr.Dataset]) -> None:
    data, simulation = found[name], EXPERIMENTS[name].simulation
    axes = make_grid(EXPERIMENTS[name].preset("smoke").setting, smoke_axes(name)).labels
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


def test_paths_are_recorded_where_they_are_asked_for(found: dict[str, xr.Dataset]) -> None:
    declared = {v.name for v in EXPERIMENTS[PROOF].simulation.variables}
    shown = {name for name in declared if name.startswith("shown_")} | MECHANISM
    proof = {v.name for v in EXPERIMENTS[PROOF].simulation.variables if "record" in v.dims} - shown
    assert proof <= set(found[PROOF])
    assert not shown & set(found[PROOF])
    assert shown <= set(found["f62-mechanism"])
    plain = {name for name in found["p2-eta"] if "record" in found["p2-eta"][name].dims}
    assert plain == {"step", "watch_hinge"}


def last(data: xr.Dataset, name: str) -> xr.DataArray:
    return data[name].isel(record=data.step.notnull().sum("record") - 1)


def test_the_last_record_of_the_default_run_is_its_final_evaluation(found: dict[str, xr.Dataset]) -> None:
    data = found[PROOF]
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


def test_the_records_of_the_default_run_begin_at_the_initial_network(found: dict[str, xr.Dataset]) -> None:
    data = found[PROOF].isel(record=0)
    assert (data.step == 0).all()
    for name in ("query_patterns", "key_patterns", "query_irrelevant", "key_irrelevant"):
        np.testing.assert_allclose(data[name], np.broadcast_to(0.1 * np.eye(6), data[name].shape), atol=1e-6)
    assert (data.output_growth == 0).all()
    assert (data.own_active == 1).all()  # a lucky neuron fires on its own prompt
    np.testing.assert_allclose(data.key_pattern_norm, 0.3, rtol=1e-5)
    assert (data.key_label_norm == 0).all()
    np.testing.assert_array_equal(data.partner.isel(variant=0, seed=0).sum("other"), np.full(6, 2))


def test_variants_of_the_default_run_differ_in_what_they_name_only(found: dict[str, xr.Dataset]) -> None:
    data = found[PROOF]
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


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("preset", ["smoke", "quick"])
def test_the_results_of_a_larger_program_have_their_shapes(name: str, preset: str) -> None:
    simulation = EXPERIMENTS[name].simulation
    for setting in grid(name, preset).cells.values():
        one = Grid({}, {(): setting}, {})
        shapes = find_shapes(simulation, one, 0, "float32")
        assert {"unseen_error", "unseen_hinge", "unseen_no_match", "seen_hinge", "concentration"} <= set(shapes)
        assert shapes["concentration"] == shapes["initial_concentration"] == (setting.heads,)


def test_two_heads_and_classes_of_two_patterns_are_trained_and_evaluated() -> None:
    heads, classes = (next(iter(grid(name, "smoke").cells.values())) for name in TOGETHER)
    assert heads.heads == classes.class_size == 2
    variants = {"independent": {}, "frozen": {"train_attention": 0}}
    setting = EXPERIMENTS["p18-classes"].preset("smoke").setting.replace(heads=2)
    data = sweep(EXPERIMENTS["p17-heads"].simulation, setting, {"variant": variants}, 2)
    assert data.concentration.dims == ("variant", "seed", "head")
    np.testing.assert_allclose(
        data.initial_concentration.isel(head=0), data.initial_concentration.isel(head=1), rtol=1e-6
    )
    independent, frozen = data.sel(variant="independent"), data.sel(variant="frozen")
    np.testing.assert_allclose(frozen.concentration, frozen.initial_concentration, rtol=1e-6)
    assert (independent.attention_moved > 0).all()
    assert (abs(independent.concentration.diff("head")) > 0).all()
    for name in ("unseen_error", "unseen_hinge", "unseen_no_match", "seen_hinge", "last_watch_hinge"):
        assert np.isfinite(data[name]).all(), name
    assert data.shifted_error.isnull().all()  # there are no classes out of domain


def test_errors_with_and_without_a_match_add_up(found: dict[str, xr.Dataset]) -> None:
    data = found["p4-contexts"]
    missing = data.unseen_no_match
    parts = data.unseen_error_match.fillna(0) * (1 - missing) + data.unseen_error_no_match.fillna(0) * missing
    np.testing.assert_allclose(parts, data.unseen_error, atol=1e-6)
    # every exact prompt has a match, and longer prompts lack one less often
    assert (missing.sel(test_mode="exact") == 0).all()
    assert (missing.sel(test_mode="iid").diff("test_contexts") <= 0).all()
    assert (data.prompts == 48).all()


def test_how_a_network_is_tested_changes_nothing_about_its_training(found: dict[str, xr.Dataset]) -> None:
    for name, axes in (
        ("p4-contexts", ["test_mode", "test_fraction", "test_contexts"]),
        ("p5-shift", ["shift"]),
        ("f64-baselines", ["test_fraction", "test_contexts"]),
        ("f65-pruning", ["test_fraction"]),
    ):
        hinge = found[name].seen_hinge
        assert (hinge == hinge.isel(dict.fromkeys(axes, 0))).all(), name
    data = found["p5-shift"]
    for name in ("query_patterns", "key_patterns", "partner"):
        assert (data[name] == data[name].isel(shift=0)).all()


def test_a_test_axis_can_be_set_and_extended_without_another_program() -> None:
    smoke = EXPERIMENTS["p4-contexts"].preset("smoke")
    axes = {**smoke.axes, "test_contexts": [1, 4, 6], "test_fraction": [0.3, 0.55, 0.9]}
    cells = make_grid(smoke.setting, axes).cells.values()
    assert len({setting.problem().static for setting in cells}) == len(smoke.axes["test_mode"])
    with pytest.raises(UserError, match=r"test_context_room = 6 is not allowed: it must hold test_contexts = 7\."):
        make_grid(smoke.setting, {"test_contexts": [1, 7]})
    longer = make_grid(smoke.setting.replace(test_context_room=9), {"test_contexts": [1, 9]}).cells.values()
    assert [setting.problem().test_contexts for setting in longer] == [1, 9]
    chosen = Options("smoke", changes=("test_contexts=9", "test_context_room=9", "test_mode=exact"))
    asked = plan(icl.theory, "p4-contexts", chosen).grid
    assert (asked.labels["test_contexts"], asked.labels["test_mode"]) == ([9], ["exact"])


def test_a_cell_is_the_run_of_its_own_setting(found: dict[str, xr.Dataset]) -> None:
    cell = {"test_mode": "iid", "test_fraction": 0.4, "test_contexts": 3}
    alone = answer_prompts(EXPERIMENTS["p4-contexts"].preset("smoke").setting.replace(**cell), 1)
    data = found["p4-contexts"].sel(cell).sel(attention="trained", seed=1)
    for name, value in alone.items():
        np.testing.assert_allclose(value, data[name], rtol=1e-6, err_msg=name)


def test_every_test_of_a_seed_looks_at_the_same_draws(found: dict[str, xr.Dataset]) -> None:
    missing = found["p4-contexts"].unseen_no_match
    assert (missing.sel(attention="trained") == missing.sel(attention="frozen")).all()
    # before training every set of training tasks gives the same network
    start = found["p5-shift"].sel(moment="start").shift_hinge
    assert np.ptp(start.values, axis=0).max() < 1e-6


def test_shifted_patterns_are_scored_in_total_and_by_the_querys_pattern(found: dict[str, xr.Dataset]) -> None:
    data = found["p5-shift"]
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


def test_pruned_networks_begin_with_the_whole_one(found: dict[str, xr.Dataset]) -> None:
    data = found["f65-pruning"]
    for name in ("pruned_hinge", "pruned_error"):
        whole = data[name].sel(rate="0")
        np.testing.assert_allclose(whole, whole.isel(order=[0] * whole.sizes["order"]), rtol=1e-6)
    assert (data.output_norm.diff("neuron") >= 0).all()
    assert (
        data.pruned_hinge.sel(rate="0.8", order="largest") != data.pruned_hinge.sel(rate="0", order="largest")
    ).any()


def test_tasks_cover_their_patterns_as_the_condition_counts(found: dict[str, xr.Dataset]) -> None:
    data = found["e2-tasks"]
    for name, least, most in (
        ("M_1=6, n=3", 0, 1), ("M_1=6, n=5", 0, 1), ("M_1=6, n=6", 1, 1), ("swaps", 1, 1), ("triangles", 1, 1),
    ):  # fmt: skip
        assert (data.coverage_least.sel(task_set=name) == least).all()
        assert (data.coverage_most.sel(task_set=name) == most).all()


def test_single_contexts_do_not_move_attention(found: dict[str, xr.Dataset]) -> None:
    moved = found["e1-context"].attention_moved
    assert (moved.sel(variant=["short, 1", "long, 1"]) == 0).all()
    assert (moved.sel(variant=["short, 2", "long, 2"]) > 0).all()


def test_baselines_agree_with_scikit_learn(found: dict[str, xr.Dataset]) -> None:
    data = found["f64-baselines"]
    assert (data.agreement > 0.95).all()
    # 1-NN errs without a match only (in domain)
    assert (data.prompt_error_match.sel(domain="in-domain", predictor="1-NN") == 0).all()
    assert (data.prompt_error_match <= data.prompt_error + 1e-9).all()


def test_the_oracle_obeys_its_law_and_needs_no_training() -> None:
    setting = EXPERIMENTS["f64-oracle-law"].preset("smoke").setting.replace(test_prompts=4000)
    data = sweep(ask_oracle, setting, EXPERIMENTS["f64-oracle-law"].preset("smoke").axes, 1).isel(seed=0)
    law = 0.5 * (1 - data.test_fraction) ** data.test_contexts
    assert (abs(data.oracle_error - law) < 5 * np.sqrt(law / 4000)).all()
    assert (data.prompts == 4000).all()


def test_an_experiment_run_again_gives_the_stored_data(tmp_path: Any, found: dict[str, xr.Dataset]) -> None:
    options = Options(preset="smoke", out=tmp_path)
    first, again = (run(icl.theory, "p5-shift", options) for _ in range(2))
    assert first.failed == 0
    assert again.data.identical(first.data)
    for name, values in found["p5-shift"].data_vars.items():
        np.testing.assert_allclose(first.data[name], values, rtol=1e-5, atol=1e-6)


# Judging them

COMPLETE = [
    PROOF, "p4-contexts", "p5-shift", "f64-oracle-law", "f65-pruning", "e1-context", "p11-lucky", "p2-eta", "p2-alpha",
    "p2-beta",
]  # fmt: skip
ABSENT = {"p4-match", "p4-no-match", "p4-total", "p4-one-match", "p4-length", "p5-coefficient-sum"}
"""Claims about cells that the smoke preset does not have."""


@pytest.mark.parametrize("name", COMPLETE)
def test_evidence_is_found_in_what_an_experiment_leaves(name: str, found: dict[str, xr.Dataset]) -> None:
    data = found[name]
    passed = data.assign(seen_hinge=0 * data.seen_hinge) if "seen_hinge" in data else data
    claims = [claim for claim in CLAIMS.values() if claim.reads == (name,)]
    assert claims
    for claim in claims:
        finding = examine(claim, {name: passed})
        for verdict in (finding.verdict, *(verdict for _, verdict in finding.controls)):
            assert verdict.outcome in OUTCOMES
            assert "not converged" not in verdict.note, claim.name
            assert verdict.note.startswith("not in this preset: ") == (claim.name in ABSENT)
            assert verdict.note
