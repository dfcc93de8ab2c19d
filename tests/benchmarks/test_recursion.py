"""The benchmark of the exact recursion measures what it says, at a small size."""

import importlib

import pytest

from lemmata.benchmarks import BENCHMARKS
from lemmata.lab.machine import core_numbers


def test_the_benchmark_of_the_recursion_prints_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("lemmata.benchmarks.recursion")
    small = {"STEPS": 2000, "PLAIN_STEPS": 200, "RUNS": 4, "ROUNDS": 1}
    for name, value in small.items():
        monkeypatch.setattr(module, name, value)
    cores = core_numbers()
    rows = BENCHMARKS["recursion"]()
    assert core_numbers() == cores
    assert [row["way"] for row in rows] == ["compiled, one run", "compiled, 4 runs", "plain Python"]
    printed = capsys.readouterr().out
    for row in rows:
        assert row["steps_per_second"] > 0
        assert f"{row['steps_per_second'] / 1e6:.2f} million steps/s" in printed


def test_a_benchmark_of_another_recursion_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("lemmata.benchmarks.recursion")
    monkeypatch.setattr(module, "PLAIN_STEPS", 50)
    monkeypatch.setattr(module, "plain", lambda steps: (0.0, 0.0, 0.0))
    with pytest.raises(AssertionError, match="not the same recursion"):
        BENCHMARKS["recursion"](quiet=True)
