"""How far long work is: a bar on a terminal, a line now and then in a log, JSON events for programs, else nothing."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any, TextIO

from lemmata.lab.interrupts import Party, involve

if TYPE_CHECKING:
    from lemmata.lab.sweep import OnProgress, Progress

STYLES = ("auto", "bar", "log", "json", "quiet")
LINE_SECONDS = 30.0
"""Between two lines of a log; work that is shorter leaves none."""
EVENT_SECONDS = 0.5
"""Between two JSON events at least; the first and the last of an experiment always appear."""

SOON = 0.05
"""Runs that must be done before it is said how long the others take: at first there is compiling to do."""
WIDE = 110
"""From this width on there is room beside a bar for runs and their rate."""

Reporter = Callable[[str], "OnProgress | None"]
"""Makes what a sweep calls, from the name under which it appears."""


def choose_style(stream: TextIO) -> str:
    """A bar on a terminal, lines in a file, nothing in a pipe."""
    if stream.isatty():
        return "bar"
    try:
        return "log" if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else "quiet"
    except (OSError, ValueError):
        return "quiet"


def is_notebook() -> bool:
    """Whether this is the kernel of a notebook, whose output is a page and no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def reporting(style: str, stream: TextIO) -> Iterator[Reporter]:
    """The reporter of a style; "auto" looks at the stream. A bar in a notebook is one of its page."""
    style = choose_style(stream) if style == "auto" else style
    if style == "bar" and is_notebook():
        with _shown_bars() as reporter:
            yield reporter
    elif style == "bar":
        with _bars(stream) as reporter:
            yield reporter
    elif style == "quiet":
        yield lambda name: None
    else:
        make = _event if style == "json" else _line
        pause = EVENT_SECONDS if style == "json" else LINE_SECONDS
        yield lambda name: _now_and_then(name, lambda text: print(text, file=stream, flush=True), make, pause)


class Pace:
    """The rate of a sweep, from what it has done since it was first seen."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), -1

    def see(self, progress: Progress) -> dict[str, float | None]:
        """Seconds, runs per second and seconds left; None while nothing is known."""
        if self._before < 0:
            self._before = progress.runs
        seconds = time.monotonic() - self._began
        done = progress.runs - self._before + _under_way(progress)
        rate = done / seconds if done and seconds else None
        left = (progress.all_runs - progress.runs - _under_way(progress)) / rate if rate else None
        return {"seconds": seconds, "rate": rate, "seconds_left": left}


def _under_way(progress: Progress) -> float:
    """What part of the long runs under way is done, in runs."""
    return sum(step / last for step, last in progress.steps if last)


def _event(name: str, progress: Progress, pace: dict[str, float | None]) -> str:
    rounded = {key: None if value is None else round(value, 3) for key, value in pace.items()}
    return json.dumps({"event": "progress", "name": name, **progress._asdict(), **rounded})


def _line(name: str, progress: Progress, pace: dict[str, float | None]) -> str:
    return f"{name}: {_amounts(progress)}, {_speed(progress, pace)}"


def told(report: OnProgress | None) -> Callable[[float], None]:
    """What work without cells and runs calls, with the share that is done."""
    if report is None:
        return lambda share: None
    from lemmata.lab.sweep import Progress

    return lambda share: report(Progress(0, 0, 0, round(1000 * share), 1000))


def _amounts(progress: Progress) -> str:
    if not progress.all_cells:
        return f"{progress.runs / progress.all_runs:.0%}"
    failed = f", {progress.failed} failed" if progress.failed else ""
    steps = ", ".join(f"{step}/{last}" for step, last in progress.steps[:4])
    inside = f", at step {steps}" if steps else ""
    parts = f"{progress.cells}/{progress.all_cells} {progress.unit}{failed}"
    return f"{parts}, {progress.runs}/{progress.all_runs} runs{inside}"


def _beside(width: int, progress: Progress, pace: dict[str, float | None]) -> str:
    """What stands beside a bar on a terminal of this width."""
    if width >= WIDE:
        return f"{_amounts(progress)}, {_speed(progress, pace)}"
    return f"{_short(progress)}, {_left(pace)}"


def _short(progress: Progress) -> str:
    """How far it is, in the room beside a bar."""
    if not progress.all_cells:
        return f"{progress.runs / progress.all_runs:.0%}"
    inside = f", step {progress.steps[0][0]}/{progress.steps[0][1]}" if progress.steps else ""
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{progress.cells}/{progress.all_cells} {progress.unit}{inside}{failed}"


def _speed(progress: Progress, pace: dict[str, float | None]) -> str:
    rate = pace["rate"]
    runs = f"{rate:.3g} runs/s, " if progress.all_cells and rate is not None else ""
    return f"{runs}{_left(pace)}"


def _left(pace: dict[str, float | None]) -> str:
    left, rate, seconds = pace["seconds_left"], pace["rate"] or 0.0, pace["seconds"] or 0.0
    if left is None or rate * seconds < SOON:
        return "starting"
    minutes, seconds = divmod(round(left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} left"


def _now_and_then(
    name: str, emit: Callable[[str], None], make: Callable[[str, Progress, Any], str], pause: float
) -> OnProgress:
    """Emits a text after every pause; the last one too if there was one before, and always where pauses are short."""
    pace = Pace()
    last = time.monotonic() - (pause if pause < 1 else 0)
    spoken = pause < 1

    def report(progress: Progress) -> None:
        nonlocal last, spoken
        now, finished = time.monotonic(), progress.runs == progress.all_runs and progress.cells == progress.all_cells
        seen = pace.see(progress)
        if now - last >= pause or (finished and spoken):
            emit(make(name, progress, seen))
            last, spoken = now, True

    return report


@contextlib.contextmanager
def _bars(stream: TextIO) -> Iterator[Reporter]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[text]}"))
    show_cursor = Party(end=lambda: print("\x1b[?25h", end="", file=stream, flush=True))
    # what is printed appears above the bars, unless stdout is no terminal: results never go to stderr then
    above = sys.stdout.isatty()
    bars = Bars(*columns, console=Console(file=stream), transient=True, redirect_stdout=above)
    with involve(show_cursor), bars:

        def make(name: str) -> OnProgress:
            task = bars.add_task(name, total=None, text="")
            pace = Pace()

            def report(progress: Progress) -> None:
                bars.update(
                    task,
                    completed=progress.runs + _under_way(progress),
                    total=progress.all_runs,
                    visible=progress.runs < progress.all_runs or progress.cells < progress.all_cells,
                    text=_beside(bars.console.width, progress, pace.see(progress)),
                )

            return report

        yield make


@contextlib.contextmanager
def _shown_bars() -> Iterator[Reporter]:
    """Bars on the page of a notebook, one below the other in one output; it is empty when all is done."""
    from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

    bars: dict[str, str] = {}
    shown: Any = display(HTML(""), display_id=True)
    turn, last = threading.Lock(), [0.0]

    def make(name: str) -> OnProgress:
        pace = Pace()

        def report(progress: Progress) -> None:
            done, finished = progress.runs + _under_way(progress), progress.cells == progress.all_cells
            text = escape(f"{name}: {_amounts(progress)}, {_speed(progress, pace.see(progress))}")
            with turn:
                if finished and progress.runs == progress.all_runs:
                    bars.pop(name, None)
                else:
                    bars[name] = f"<div><progress value={done:.3f} max={progress.all_runs}></progress> {text}</div>"
                if name not in bars or time.monotonic() - last[0] >= EVENT_SECONDS:
                    last[0] = time.monotonic()
                    shown.update(HTML("".join(bars.values())))

        return report

    try:
        yield make
    finally:
        shown.update(HTML(""))
