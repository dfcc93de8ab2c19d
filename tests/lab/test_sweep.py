"""Sweeps: every cell of the grid, failures named by their cell, the same numbers however the work is cut."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import lemmata as lm
from lemmata.lab import runner
from lemmata.lab import sweep as sweeps
from lemmata.lab.engines.local import Local
from lemmata.lab.ensemble import Layout
from lemmata.lab.errors import UserError
from lemmata.lab.grid import make_grid
from lemmata.lab.registry import load
from lemmata.lab.store import Store
from lemmata.lab.work import Work


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "η", "step size", low=0, high=1)
    offset: float = lm.number(0.0, "b", "offset")
    mode: str = lm.choice("plain", "which variant", "plain", "other")
    fault: str = lm.choice("none", "what goes wrong", "none", "raises", "nan", "shape", "narrow", "integer", "absent")


@lm.simulation(lm.Variable("value", (), "v", "a draw"), lm.Variable("path", ("record",), "p", "a walk"))
def traced(problem: Any, key: jax.Array, prepared: Any = None) -> dict[str, jax.Array]:
    steps = problem.rate * jax.random.normal(lm.stream(key, "data"), (4,))
    sign = 1.0 if problem.mode == "plain" else -1.0
    return {"value": problem.offset + sign * steps[0], "path": jnp.cumsum(steps)}


@lm.simulation(lm.Variable("value", (), "v", "a value"), lm.Variable("path", ("record",), "p", "a path"), host=True)
def fragile(setting: Setting, seed: int) -> dict[str, Any]:
    value, path = np.float32(setting.rate + seed), np.full(4, setting.rate + seed, np.float32)
    if setting.fault == "raises":
        raise ArithmeticError("no convergence")
    if setting.fault == "absent":
        return {"value": value}
    broken = {
        "nan": {"value": np.float32("nan")},
        "shape": {"path": np.zeros((4, 2), np.float32)},
        "narrow": {"path": np.zeros(1, np.float32)},
        "integer": {"value": np.int64(3)},
    }
    return {"value": value, "path": path, **broken.get(setting.fault, {})}


def test_a_sweep_over_a_field_has_that_dimension_with_its_values() -> None:
    data = lm.sweep(traced, Setting(), axes={"rate": [0.25, 0.5, 1.0]}, seeds=3)
    assert data.value.dims == ("rate", "seed")
    assert data.path.dims == ("rate", "seed", "record")
    assert data.rate.values.tolist() == [0.25, 0.5, 1.0]
    assert data.value.notnull().all()
    np.testing.assert_allclose(data.value.sel(rate=1.0), 2 * data.value.sel(rate=0.5), rtol=1e-6)


def test_a_named_axis_sets_several_fields_at_once() -> None:
    cases = {"low": {"rate": 0.0, "offset": 2.0}, "high": {"rate": 0.5, "mode": "other"}}
    data = lm.sweep(traced, Setting(), axes={"case": cases}, seeds=2)
    assert data.case.values.tolist() == ["low", "high"]
    assert (data.value.sel(case="low") == 2.0).all()
    alone = traced(Setting(rate=0.5, mode="other"), 1)
    assert float(data.value.sel(case="high", seed=1)) == float(alone["value"])


def test_a_sweep_without_axes_has_only_seeds() -> None:
    data = lm.sweep(traced, Setting(), seeds=2, seed=40)
    assert data.value.dims == ("seed",)
    assert data.seed.values.tolist() == [40, 41]


def test_seeds_are_paired_over_cells_and_independent_of_the_first_seed() -> None:
    data = lm.sweep(traced, Setting(), axes={"mode": ["plain", "other"]}, seeds=4)
    np.testing.assert_array_equal(data.value.sel(mode="plain"), -data.value.sel(mode="other"))
    assert len(np.unique(data.value.sel(mode="plain"))) == 4
    later = lm.sweep(traced, Setting(), axes={"mode": ["plain", "other"]}, seeds=2, seed=2)
    xr.testing.assert_equal(later, data.sel(seed=[2, 3]))


@pytest.mark.parametrize("block", [1, 2, 3, 64])
def test_results_do_not_depend_on_the_size_of_a_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"rate": [0.25, 0.5], "mode": ["plain", "other"]}
    usual = lm.sweep(traced, Setting(), axes=axes, seeds=7)
    monkeypatch.setattr(sweeps, "default_layout", lambda *_, **__: Layout("threads", 1, block))
    xr.testing.assert_equal(lm.sweep(traced, Setting(), axes=axes, seeds=7), usual)


@pytest.mark.parametrize("runs", [2, 5, 512])
def test_stacked_runs_equal_single_ones_to_rounding(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"rate": [0.25, 0.5], "mode": ["plain", "other"]}
    usual = lm.sweep(traced, Setting(), axes=axes, seeds=5)
    monkeypatch.setattr(sweeps, "default_layout", lambda *_, **__: Layout("vmap", runs, 2))
    xr.testing.assert_allclose(lm.sweep(traced, Setting(), axes=axes, seeds=5), usual, rtol=1e-6)


def test_precision_is_that_of_the_stored_numbers() -> None:
    assert lm.sweep(traced, Setting(), seeds=1).value.dtype == np.float32
    assert lm.sweep(traced, Setting(), seeds=1, precision="float64").value.dtype == np.float64


FAULTS = {
    "raises": "ArithmeticError: no convergence",
    "nan": "value is NaN",
    "shape": "path has shape",
    "narrow": "path has shape",
    "integer": "value is int64",
    "absent": "path",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_cell_is_reported_with_its_name(fault: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        lm.sweep(fragile, Setting(), axes={"rate": [0.5], "fault": ["none", fault]}, seeds=2)
    assert f"rate=0.5, fault={fault}" in str(caught.value)
    assert FAULTS[fault] in str(caught.value)


@pytest.mark.parametrize("fault", ["raises", "nan", "shape", "integer"])
def test_a_failing_first_cell_is_reported_like_any_other(fault: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        lm.sweep(fragile, Setting(), axes={"fault": [fault, "none"]}, seeds=2)
    assert f"chunks failed; first, at fault={fault}" in str(caught.value)
    assert FAULTS[fault] in str(caught.value)


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_value_lost_while_a_run_went_on_fails_its_cell_and_a_stop_does_not(lost: int) -> None:
    """The clock of a run says at which records it was; this one stops before the last."""
    path = lm.Variable("path", ("record",), "x", "where it is")

    @lm.simulation(lm.Variable("step", ("record",), "t", "step"), path, host=True)
    def stopping(setting: Setting, seed: int) -> dict[str, np.ndarray]:
        step = np.array([0.0, 1.0, 2.0, np.nan])
        return {"step": step, "path": np.where(np.arange(4) == lost, np.nan, 1.0) + 0 * step}

    if lost == 3:
        assert int(lm.sweep(stopping, Setting(), seeds=1).path.notnull().sum()) == 3
        return
    with pytest.raises(lm.FailedCells, match="path is NaN at a record that the run has taken"):
        lm.sweep(stopping, Setting(), seeds=1)
    declared = dataclasses.replace(
        stopping, variables=(stopping.variables[0], dataclasses.replace(path, optional=True))
    )
    assert int(lm.sweep(declared, Setting(), seeds=1).path.notnull().sum()) == 2


def test_a_failing_preparation_spares_the_other_cells_of_a_stacked_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(setting: Setting, seed: int) -> np.ndarray:
        if setting.rate == 0.25:
            raise ArithmeticError("no graph")
        return np.zeros(2, np.float32)

    simulation = dataclasses.replace(traced, prepare=prepare)
    monkeypatch.setattr(sweeps, "default_layout", lambda *_, **__: Layout("vmap", 512, 2))
    with pytest.raises(RuntimeError, match=r"^1 chunks failed; first, at rate=0.25: ArithmeticError: no graph"):
        lm.sweep(simulation, Setting(), axes={"rate": [0.5, 0.25]}, seeds=2)


@pytest.mark.parametrize("layout", [Layout("threads", 1, 2), Layout("vmap", 512, 2)])
def test_what_the_user_must_put_right_in_a_later_cell_is_no_failed_cell(layout, monkeypatch) -> None:
    def prepare(setting: Setting, seed: int) -> np.ndarray:
        if setting.rate == 0.25:
            raise UserError("There is no graph at /nowhere.")
        return np.zeros(2, np.float32)

    simulation = dataclasses.replace(traced, prepare=prepare)
    monkeypatch.setattr(sweeps, "default_layout", lambda *_, **__: layout)
    with pytest.raises(UserError, match=r"^There is no graph at /nowhere\.$"):
        lm.sweep(simulation, Setting(), axes={"rate": [0.5, 0.25]}, seeds=2)


def test_cells_are_validated_before_anything_is_computed() -> None:
    called = []

    @lm.simulation(lm.Variable("value", (), "v", "a value"), host=True)
    def count(setting: Setting, seed: int) -> dict[str, Any]:
        called.append(seed)
        return {"value": np.float32(0)}

    with pytest.raises(UserError, match=r"rate = 1\.5 is not allowed"):
        lm.sweep(count, Setting(), axes={"rate": [0.5, 1.5]}, seeds=2)
    with pytest.raises(UserError, match="did you mean 'rate'"):
        lm.sweep(count, Setting(), axes={"rates": [0.5]}, seeds=2)
    with pytest.raises(UserError, match="Two axes set the field rate"):
        lm.sweep(count, Setting(), axes={"rate": [0.5], "case": {"a": {"rate": 0.1}}}, seeds=2)
    with pytest.raises(UserError, match="no values"):
        lm.sweep(count, Setting(), axes={"rate": []}, seeds=2)
    with pytest.raises(UserError, match="seeds"):
        lm.sweep(count, Setting(), seeds=0)
    assert not called


def test_progress_counts_runs_up_to_all_of_them() -> None:
    seen: list[sweeps.Progress] = []
    lm.sweep(traced, Setting(), axes={"rate": [0.1, 0.2]}, seeds=7, progress=seen.append)
    assert seen[0] == sweeps.Progress(cells=0, all_cells=2, failed=0, runs=0, all_runs=14)
    assert seen[-1] == sweeps.Progress(cells=2, all_cells=2, failed=0, runs=14, all_runs=14)
    assert seen == sorted(seen)


def test_progress_names_the_failed_cells_once() -> None:
    seen: list[sweeps.Progress] = []
    with pytest.raises(RuntimeError, match="failed"):
        lm.sweep(fragile, Setting(), axes={"fault": ["none", "nan"]}, seeds=7, progress=seen.append)
    assert seen[-1] == sweeps.Progress(cells=2, all_cells=2, failed=1, runs=14, all_runs=14)


def test_an_interrupt_between_two_writes_stops_the_computing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    @lm.simulation(lm.Variable("value", (), "v", "a value"), host=True)
    def slow(setting: Setting, seed: int) -> dict[str, Any]:
        started.append(seed)
        time.sleep(0.02)
        return {"value": np.float32(seed)}

    layout = Layout("threads", 1, 1)
    grid = make_grid(Setting(), {})
    store = Store.create(None, slow, grid, range(60), 1, {"value": ()}, "float32", {})

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "write", interrupt)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as caught:
        sweeps.execute(Work(slow, store, layout, "float32"), grid, Local())
    assert caught.tb is not None  # the traceback lives on, as it does while the command line says good-bye
    seen = len(started)
    time.sleep(0.3)
    assert len(started) - seen <= before, "runs went on being started after the interrupt"
    assert len(started) < 60


POISONED = """
from pathlib import Path
import numpy as np
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "rate", low=0)


@lm.simulation(lm.Variable("value", (), "v", "a value"), host=True)
def simulate(setting, seed):
    with open("calls.log", "a") as log:
        print(setting.rate, seed, file=log)
    if setting.rate == POISON and Path("poison").exists():
        raise ArithmeticError("poisoned well")
    return {"value": np.float64(setting.rate + seed)}


EXPERIMENT = lm.Experiment(
    "e1-value", "What is the value?", "(1)", simulate,
    {"smoke": lm.Preset(Setting(), {"rate": [0.1, 0.2, 0.3]}, 2)}, lambda data: Figure(figsize=(1, 1)),
)
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, [EXPERIMENT], [])
"""


@pytest.mark.parametrize("poison", [0.2, 0.1], ids=["middle", "first"])
def test_a_poisoned_cell_does_not_stop_the_others_and_is_the_only_one_retried(
    poison: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Marked failed with its message, exit code 1; the same command then computes that cell alone."""
    from lemmata import cli

    Path("toy.py").write_text(POISONED.replace("POISON", str(poison)))
    Path("poison").touch()
    monkeypatch.setattr("sys.argv", ["lemmata", "run", "toy.py/e1-value", "--preset", "smoke"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 1
    said = capsys.readouterr()
    assert f"failed: rate={poison}, seed block 0: ArithmeticError: poisoned well" in said.err
    assert "Traceback" not in said.err
    folder = tmp_path / "results" / "smoke" / "toy" / "e1-value"
    store = Store.open(folder / "data.zarr")
    assert store is not None
    value = store.dataset().value
    assert value.sel(rate=poison).isnull().all()
    assert value.drop_sel(rate=poison).notnull().all()
    assert "poisoned well" in (folder / "run.json").read_text()
    assert (folder / "figure.png").exists()

    Path("poison").unlink()
    Path("calls.log").unlink()
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    assert sorted(Path("calls.log").read_text().splitlines()) == [f"{poison} 0", f"{poison} 1"]
    assert "poisoned well" not in (folder / "run.json").read_text()
    assert store.dataset().value.notnull().all()


def test_fewer_seeds_after_a_larger_run_are_a_prefix_and_compute_nothing() -> None:
    Path("toy.py").write_text(POISONED.replace("POISON", "0.2"))
    options = runner.Options("smoke", seeds=8)
    whole = runner.run(load("toy.py"), "e1-value", options).data
    Path("calls.log").unlink()
    part = runner.run(load("toy.py"), "e1-value", runner.Options("smoke", seeds=3)).data
    xr.testing.assert_equal(part, whole.isel(seed=slice(0, 3)))
    assert not Path("calls.log").exists()
