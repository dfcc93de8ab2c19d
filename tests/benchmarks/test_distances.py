"""The benchmark of graph distances compares two searches that agree, at a small size."""

import importlib

import pytest

from lemmata.benchmarks import BENCHMARKS


def test_the_benchmark_of_distances_prints_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("lemmata.benchmarks.distances")
    for name, value in {"NODES": 700, "EDGES": 1500, "SOURCES": 70}.items():
        monkeypatch.setattr(module, name, value)
    (row,) = BENCHMARKS["distances"]()
    printed = capsys.readouterr().out
    assert row["ratio"] == row["seconds"]["scipy"] / row["seconds"]["lemmata"]
    assert row["peak_MiB"] * 2**20 >= 700**2
    assert f"{row['ratio']:.1f} times as long" in printed
