"""What a process may use of its machine, also where the system does not tell."""

import os

import pytest

from lemmata.lab import machine


def test_the_cores_are_those_the_process_may_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {7, 3, 4}, raising=False)
    assert machine.core_numbers() == [3, 4, 7]
    assert machine.cores() == 3


@pytest.mark.parametrize(("counted", "cores"), [(4, [0, 1, 2, 3]), (None, [0])])
def test_where_the_system_does_not_say_all_cores_count(
    counted: int | None, cores: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert machine.core_numbers() == cores
    assert machine.cores() == len(cores)
