"""The experiments: their sizes are those of the register, and all of them run at smoke size, on few programs."""

import math
from typing import Any

import numpy as np
import pytest
import xarray as xr

from lemmata.lab.grid import make_grid
from lemmata.lab.sweep import sweep
from lemmata.theories import teacher_student
from lemmata.theories.teacher_student.experiments import NATIVE
from lemmata.theories.teacher_student.studies import native
from lemmata.theories.teacher_student.teachers import Teacher

EXPERIMENTS = teacher_student.theory.experiments
NAMES = [name for name in EXPERIMENTS if not name.startswith("exp-e4")]
PRESETS = ("smoke", "quick", "paper")
QUICK: dict[str, tuple[int, str, dict[str, Any], dict[str, int]]] = {
    "p1-pattern": (2, "float64", {"tokens": 24, "support": 3, "dimension": 5, "outputs": 3, "step_size": 0.05,
                                  "steps": 3000, "records": 30, "strength": 26.0},
                   {"variant": 11, "negative_slope": 3, "positions": 2}),
    "p3-along-run": (1, "float64", {"escapes": 3.0, "records": 60}, {"variant": 8, "negative_slope": 3}),
    "p17-escape": (1, "float64", {}, {"variant": 17, "negative_slope": 3}),
    "t3-late": (1, "float64", {"escapes": 1e4, "first_escape": 1e2, "records": 42, "step_size": 0.05},
                {"size": 6, "negative_slope": 3, "frozen": 3}),
    "t3-dimension": (1, "float64", {"support": 2, "strength": 4.0}, {"tokens": 4, "negative_slope": 3}),
    "t5-ood": (3, "float64", {"tokens": 12, "support": 2, "dimension": 4, "outputs": 3, "strength": 10.0,
                              "value_law": "positive", "test_inputs": 50_000, "noise_draws": 400, "batch": 100,
                              "label_noise": 1.0, "budget": 100.0, "step_size": 0.05, "teacher": "cnn"},
               {"test_data": 10, "negative_slope": 3}),
    "c2-phases": (1, "float64", {"support": 1}, {"size": 2, "negative_slope": 3}),
    "exp-e1-blocks": (2, "float32", {"tokens": 20, "support": 3, "dimension": 10, "outputs": 10, "strength": 100.0,
                                     "steps": 10_000, "batch": 100, "label_noise": 1.0, "initial_scale": 1e-3},
                      {"variant": 6}),
    "exp-e2-curves": (2, "float32", {"steps": 10_000, "batch": 100, "test_samples": 100, "label_noise": 1.0,
                                     "kink": 1.0},
                      {"variant": 9, "dynamics": 2}),
}  # fmt: skip


def cells(name: str, preset: str = "quick") -> Any:
    chosen = EXPERIMENTS[name].preset(preset)
    grid = make_grid(chosen.setting, chosen.axes)
    return {
        tuple(list(v)[i] for v, i in zip(grid.labels.values(), cell, strict=True)): s for cell, s in grid.cells.items()
    }


@pytest.mark.parametrize("name", QUICK)
def test_the_quick_preset_is_that_of_the_register(name: str) -> None:
    seeds, precision, fields, axes = QUICK[name]
    preset = EXPERIMENTS[name].preset("quick")
    assert (preset.seeds, EXPERIMENTS[name].precision) == (seeds, precision)
    assert {axis: len(labels) for axis, labels in preset.axes.items()} == axes
    assert {field: getattr(preset.setting, field) for field in fields} == fields
    if "negative_slope" in axes:
        assert preset.axes["negative_slope"] == [1.0, 0.1, 0.0]


def test_the_cells_have_the_sizes_of_the_register() -> None:
    size = lambda s: (s.tokens, s.support, s.strength, s.step_size)  # noqa: E731
    along = cells("p3-along-run")
    table = {"R1": (20, 1, 2, 0.05), "R2": (64, 2, 4, 0.02), "R3": (36, 4, 10, 0.05), "wide": (64, 2, 819.2, 0.02),
             "fast": (64, 2, 160, 0.02), "unstable": (20, 1, 2, 0.2)}  # fmt: skip
    for name, expected in table.items():
        assert size(along[name, 1.0]) == expected
    unstable = along["unstable", 1.0]
    p = 1 / (1 + 19 * math.exp(-unstable.start_gap))
    assert 1 - p == pytest.approx(0.01)
    assert (unstable.steps, unstable.escapes) == (200, 0)
    sizes = [size(s)[:3] for (_, slope, frozen), s in cells("t3-late").items() if (slope, frozen) == (1.0, "none")]
    assert sizes == [(20, 1, 10), (20, 4, 10), (36, 4, 40), (64, 2, 40), (160, 2, 40), (30, 12, 10)]
    assert [s.tokens for (_, slope), s in cells("t3-dimension").items() if slope == 1.0] == [40, 80, 160, 320]
    phases = [(s.tokens, s.strength) for (_, slope), s in cells("c2-phases").items() if slope == 1.0]
    assert phases == [(400, 160), (10_000, 1e5)]
    curves = {task: s for (task, dynamics), s in cells("exp-e2-curves").items() if dynamics == "online"}
    assert size(curves["CNN ReLU"]) == (36, 4, 100, 0.05)
    assert size(curves["GCN leaky"]) == (20, 3, 100, 0.05)
    assert size(curves["STS"])[:2] == (20, 4)
    assert size(curves["GSLP"]) == (20, 1, 10, 0.02)
    assert (curves["GCN ReLU"].steps, curves["STS"].steps, curves["CNN leaky"].steps) == (20_000, 26_000, 10_000)
    assert [curves[task].negative_slope for task in ("CNN ReLU", "CNN leaky", "STS", "GSLP")] == [0, 0.1, 1, 1]
    assert curves["STS, frozen"].escapes == 1.2
    blocks = {run: s for (run,), s in cells("exp-e1-blocks").items()}
    assert [blocks[run].step_size for run in ("identity", "ReLU", "leaky")] == [0.004, 0.02, 0.02]
    assert blocks["ReLU, K = D"].support == blocks["ReLU, K = D"].tokens == 20


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_of_every_preset_is_valid(name: str, preset: str) -> None:
    assert set(EXPERIMENTS[name].presets) == set(PRESETS)
    assert EXPERIMENTS[name].question[-1] == "?"
    assert len(cells(name, preset)) == math.prod(len(v) for v in EXPERIMENTS[name].preset(preset).axes.values())
    assert EXPERIMENTS[name].preset("paper").seeds >= EXPERIMENTS[name].preset("quick").seeds


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_leaves_what_it_declares(name: str, smoke: Any) -> None:
    experiment, axes = EXPERIMENTS[name], EXPERIMENTS[name].preset("smoke").axes
    data = smoke("teacher_student").data(name)
    declared = {variable.name: variable for variable in experiment.simulation.variables}
    assert set(data.data_vars) <= set(declared)
    used = data.step.notnull() if "step" in data else xr.DataArray(True)
    for label, values in data.data_vars.items():
        variable = declared[str(label)]
        assert values.dims == (*axes, "seed", *variable.dims)
        if not variable.optional and variable.name not in ("violated_step", "fitted_step"):
            there = np.isfinite(values) | (~used if "record" in values.dims else False)
            assert bool(there.all()), label


def test_every_teacher_by_its_own_definition_is_the_bilinear_one(smoke: Any) -> None:
    data = smoke("teacher_student").data("ex2-native")
    assert {"CNN ReLU", "CNN on a grid", "GCN leaky", "STS", "GSLP", "one layer"} <= set(data.variant.values.tolist())
    assert float(data.output_size.min()) > 0.3
    assert float((data.apart / data.output_size).max()) < 1e-14


@pytest.mark.parametrize("cell", ["CNN ReLU", "CNN on a grid", "GCN ReLU", "STS", "GSLP"])
def test_a_layer_over_other_tokens_is_not_the_teacher(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = native.make_teacher
    monkeypatch.setattr(native, "make_teacher", lambda *given: rolled(other(*given)))
    preset = EXPERIMENTS["ex2-native"].preset("smoke")
    data = sweep(native.native_teachers, preset.setting, {"variant": {cell: NATIVE[cell]}}, 1)
    assert float(data.apart.max()) > 0.1


def rolled(teacher: Teacher) -> Teacher:
    """Every column averages the tokens after its own."""
    return teacher._replace(scores=np.roll(teacher.scores, 1, axis=0))
