"""The experiments: their sizes are those of the specification."""

import math
from typing import Any

import pytest

from lemmata.lab.grid import make_grid
from lemmata.lab.outlook import Foresights, look_ahead
from lemmata.theories import icl
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
        {"test_prompts": 1000, "test_context_room": 60},
        {
            "test_fraction": values("test_fraction", 0.6, 0.8),
            "test_contexts": values("test_contexts", 5, 10, 20, 40, 60),
        },
    ),
    "p5-exchange": (8, {}, {"shift": {angle: {"angle": float(angle)} for angle in ("-45", "135")}}),
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
        assert settings[name].training_tasks() == tasks
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
            assert setting.training_tasks()


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_preset_is_at_least_as_large_as_quick_and_smoke_is_tiny(name: str) -> None:
    quick, paper, smoke = (EXPERIMENTS[name].preset(preset) for preset in ("quick", "paper", "smoke"))
    assert paper.seeds >= quick.seeds
    assert smoke.seeds == 2
    for size in ("steps", "test_prompts", "neurons", "batch"):
        assert getattr(paper.setting, size) >= getattr(quick.setting, size) > getattr(smoke.setting, size)
    for axis, labels in grid(name, "quick").labels.items():
        assert set(labels) <= set(grid(name, "paper").labels[axis])


@pytest.mark.parametrize(("name", "trainings"), [("p4-contexts", 2), ("p5-shift", 3), ("f65-pruning", 1)])
def test_cells_that_differ_in_how_a_network_is_tested_share_its_training(name: str, trainings: int) -> None:
    experiment = EXPERIMENTS[name]
    preset = experiment.preset("quick")
    grid = make_grid(preset.setting, preset.axes)
    assert look_ahead(Foresights(experiment.simulation, 0, experiment.precision), grid).families == trainings
