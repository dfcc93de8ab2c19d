"""The benchmarks of engines and large sweeps measure what they say, at small sizes."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from lemmata.benchmarks import BENCHMARKS
from lemmata.lab.setting import Setting


def small_training() -> Setting:
    from lemmata.theories import vit

    return vit.Setting(tokens=10, neurons=8, samples=8, test_samples=8, steps=2, record_every=2, records=2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = importlib.import_module("lemmata.benchmarks.scaling")
    for name, value in {"WORKERS": (1,), "CHUNKS": 4, "ROUNDS": 1, "SECOND": 0.05, "training": small_training}.items():
        monkeypatch.setattr(module, name, value)
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
