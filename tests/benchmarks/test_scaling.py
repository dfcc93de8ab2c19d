"""The benchmarks of engines and large sweeps measure what they say, at small sizes."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import cloudpickle
import numpy as np
import pytest

import lemmata as lm
from lemmata.benchmarks import BENCHMARKS
from lemmata.theories import vit


class Small(lm.Setting):
    """A training that takes no time."""

    step_size: float = lm.number(0.1, "", "step size")


@lm.simulation(lm.Variable("value", (), "", "a number"), host=True)
def simulate(setting: Small, seed: int) -> dict[str, Any]:
    return {"value": np.float32(setting.step_size)}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = importlib.import_module("lemmata.benchmarks.scaling")
    for name, value in {"WORKERS": (1,), "CHUNKS": 4, "ROUNDS": 1, "SECOND": 0.05, "training": Small}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(vit, "simulate", simulate)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # no worker can import it
    return module


def test_the_benchmark_of_the_engines_measures_each_of_them(small: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = BENCHMARKS["scaling"]()
    assert [(row["engine"], row["workers"]) for row in rows[1:]] == [("processes", 1), ("dask", 1)]
    assert rows[0]["engine"] == "local"
    printed = capsys.readouterr().out
    for row in rows:
        assert row["runs_per_second"] > 0
        assert row["overhead_seconds"] > 0, "chunks took less than they last"
        assert f"{row['first_result_seconds']:.1f} s" in printed
    assert [row["ratio"] for row in rows] == [None, 1.0, 1.0]


def test_the_benchmark_of_many_cells_reports_time_and_memory_of_every_size(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.import_module("lemmata.benchmarks.cells"), "SIZES", (10, 40))
    rows = BENCHMARKS["cells"]()
    assert [row["cells"] for row in rows] == [10, 40]
    printed = capsys.readouterr().out
    for row in rows:
        assert row["seconds"] > row["again_seconds"] > 0
        assert f"{row['peak_mebibytes']:.0f} MiB" in printed
