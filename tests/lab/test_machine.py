"""What a process may use of its machine, also where the system does not tell."""

import os
from pathlib import Path

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


def test_without_affinities_or_proc_nothing_is_lost_but_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """What macOS lacks is taken away."""
    for name in ("sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)

    def absent(*args: object, **given: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", absent)
    monkeypatch.setattr(os, "listdir", absent)
    machine.keep_to_cores([0])
    assert machine.mappings() is None
    monkeypatch.setattr(os, "sysconf", absent)
    assert machine.memory() is None or machine.memory()


def test_where_only_folders_of_threads_are_missing_the_process_itself_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, cores: moved.append(thread), raising=False)
    monkeypatch.setattr(os, "listdir", lambda path: (_ for _ in ()).throw(FileNotFoundError()))
    machine.keep_to_cores([0])
    assert moved == [0]


def test_only_this_module_asks_for_what_linux_has() -> None:
    asked = ("sched_", "/proc/self", "fcntl", "mallopt")
    for file in Path(machine.__file__).parent.rglob("*.py"):
        if file.name != "machine.py":
            text = file.read_text()
            assert not [word for word in asked if word in text], file
