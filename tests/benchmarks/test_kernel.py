"""The benchmark of the tangent kernel measures what it says, at a small size."""

import importlib

import pytest

from lemmata.benchmarks import BENCHMARKS


def test_the_benchmark_of_the_kernel_prints_what_it_measured_and_sees_the_jacobian_in_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("lemmata.benchmarks.kernel")
    small = {"INPUTS": 64, "NEURONS": 1024, "DIMENSION": 32, "ROUNDS": 2, "PRECISIONS": ("float64",)}
    for name, value in small.items():
        monkeypatch.setattr(module, name, value)
    (row,) = BENCHMARKS["kernel"]()
    printed = capsys.readouterr().out
    assert row["precision"] == "float64"
    assert set(row["milliseconds"]) == {"products", "kernel", "jacobian"}
    assert row["ratio"] == row["milliseconds"]["kernel"] / row["milliseconds"]["products"]
    for name in ("kernel", "jacobian"):
        assert f"{row['milliseconds'][name]:.2f} ms" in printed
    jacobian = 8 * 64 * 1024 * 32 / 2**20
    for measure in ("planned_MiB", "resident_MiB"):
        assert row[measure]["kernel"] < jacobian <= row[measure]["jacobian"]
        assert f"{row[measure]['jacobian']:.1f} MiB {measure.removesuffix('_MiB')}" in printed
