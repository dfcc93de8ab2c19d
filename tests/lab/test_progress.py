"""Progress: how far long work is, in the form that suits whoever reads it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
from pathlib import Path

import pytest
from engine_toys import RATES, THEORY, finish, hold, spoil, started, wait_until

from lemmata.lab import progress
from lemmata.lab.progress import choose_style, reporting
from lemmata.lab.sweep import Progress


class Clock:
    """A clock that moves when it is told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def report(style: str, clock: Clock, *, seconds: float, failed: int = 0) -> list[str]:
    """What is said of ten runs in five cells, of which two were there before, when each takes so long."""
    stream = io.StringIO()
    with reporting(style, stream) as reporter:
        seen = reporter("toy/e1")
        if seen is None:
            return []
        for runs in range(2, 11):
            seen(Progress(runs // 2, 5, failed, runs, 10))
            clock.now += seconds
    return stream.getvalue().splitlines()


def test_json_events_are_strict_and_the_first_and_the_last_always_appear(clock: Clock) -> None:
    lines = report("json", clock, seconds=0.01, failed=1)
    first, last = (json.loads(line, parse_constant=pytest.fail) for line in lines)
    counts = {"event": "progress", "name": "toy/e1", "all_cells": 5, "failed": 1, "all_runs": 10, "steps": []}
    counts["unit"] = "cells"
    assert first == {**counts, "cells": 1, "runs": 2, "seconds": 0.0, "rate": None, "seconds_left": None}
    assert last == {**counts, "cells": 5, "runs": 10, "seconds": 0.08, "rate": 100.0, "seconds_left": 0.0}


def test_json_events_come_twice_a_second_at_most(clock: Clock) -> None:
    runs = [json.loads(line)["runs"] for line in report("json", clock, seconds=0.25)]
    assert runs == [2, 4, 6, 8, 10]


def test_a_log_has_a_line_every_half_minute_and_one_at_the_end(clock: Clock) -> None:
    lines = report("log", clock, seconds=10, failed=1)
    assert lines == [
        "toy/e1: 2/5 cells, 1 failed, 5/10 runs, 0.1 runs/s, 0:00:50 left",
        "toy/e1: 4/5 cells, 1 failed, 8/10 runs, 0.1 runs/s, 0:00:20 left",
        "toy/e1: 5/5 cells, 1 failed, 10/10 runs, 0.1 runs/s, 0:00:00 left",
    ]


def test_a_log_of_short_work_has_no_line(clock: Clock) -> None:
    assert report("log", clock, seconds=3) == []


def test_quiet_says_nothing(clock: Clock) -> None:
    assert report("quiet", clock, seconds=100) == []


def test_a_terminal_has_a_bar_a_file_a_log_and_a_pipe_nothing(tmp_path: Path) -> None:
    terminal, other = pty.openpty()
    reading, writing = os.pipe()
    with (
        open(other, "w") as screen,
        open(tmp_path / "log", "w") as file,
        open(writing, "w") as pipe,
        contextlib.closing(io.StringIO()) as text,
    ):
        assert [choose_style(stream) for stream in (screen, file, pipe, text)] == ["bar", "log", "quiet", "quiet"]
    os.close(terminal)
    os.close(reading)


def test_a_command_on_workers_gives_json_events_on_stderr_and_its_result_on_stdout() -> None:
    Path("toy.py").write_text(THEORY)
    with started("processes:1", "--progress", "json", "--json") as process:
        result = finish(process)
    assert result.code == 0
    events = [json.loads(line, parse_constant=pytest.fail) for line in result.sentences]
    assert all(event["event"] == "progress" and event["name"] == "toy.py/e1-toy" for event in events)
    assert [events[0][name] for name in ("cells", "runs")] == [0, 0]
    assert [events[-1][name] for name in ("cells", "all_cells", "failed", "runs", "all_runs")] == [6, 6, 0, 12, 12]
    done = [event["runs"] for event in events]
    assert done == sorted(done)
    assert json.loads(result.out)["failed"] == 0


def test_on_a_terminal_a_bar_shows_cells_failures_rate_and_time_left() -> None:
    Path("toy.py").write_text(THEORY)
    spoil(r2="raises")
    hold(f"{RATES[-1]:g} 1")
    terminal, other = pty.openpty()
    os.set_blocking(terminal, False)
    shown = ""

    def read() -> str:
        nonlocal shown
        with contextlib.suppress(BlockingIOError, OSError):
            shown += os.read(terminal, 1 << 16).decode()
        return shown

    environment = {"TERM": "xterm", "COLUMNS": "160", "NO_COLOR": "1"}
    with started("local", stderr=other, environment=environment) as process:
        wait_until(lambda: "5/6 cells, 1 failed, 10/12 runs" in read(), process)
        hold()
        wait_until(lambda: read() and process.poll() is not None)
    os.close(other)
    os.close(terminal)
    assert process.returncode == 1
    line = next(line for line in shown.splitlines() if "5/6 cells" in line)
    assert "toy.py/e1-toy" in line
    assert "runs/s, 0:00:" in line
    assert "left" in line
