"""The benchmark of divided trainings compares runs with the same bits, at a small size."""

import importlib

import pytest

from lemmata.benchmarks import BENCHMARKS
from lemmata.lab import live


def test_the_benchmark_of_windows_prints_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("lemmata.benchmarks.divided")
    monkeypatch.setattr(module, "SIZES", {"neurons": 16, "tokens": 10, "samples": 8, "stop": "never", "records": 2})
    for name, value in {"STEPS": {"cpu": 200, "gpu": 200}, "ROUNDS": 1}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(live, "WINDOW", 1e-4)
    monkeypatch.setattr(live.Live, "seconds", 1e-4)
    monkeypatch.setattr(live, "FIRST", 5)
    (row,) = BENCHMARKS["divided"]()
    assert row["ratio"] == row["seconds"]["windows"] / row["seconds"]["whole"]
    assert row["windows"] >= 1
    assert f"ratio {row['ratio']:.3f}" in capsys.readouterr().out
