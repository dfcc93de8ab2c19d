"""Lanes: experiments side by side. While one is planned, judged or drawn, which is work of one core, others compute."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from lemmata.lab.engines import Engine
from lemmata.lab.streams import Aside

T = TypeVar("T")


class Lanes:
    """Tasks for an engine, started in order: as many at once as it has lanes, or each when its result is asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = concurrent.futures.ThreadPoolExecutor(engine.lanes) if engine.lanes > 1 else None

    def start(self, task: Callable[[], T]) -> Callable[[], T]:
        """What gives the result of the task, or raises what it raised."""
        return functools.cache(task) if self._pool is None else self._pool.submit(task).result

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._engine.stop()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


_turn = threading.Lock()
_aside: list[object] = []


@contextlib.contextmanager
def prints_aside() -> Iterator[None]:
    """While any thread is in here, what is printed goes to stderr: what a simulation prints is no result."""
    with _turn:
        if not _aside:
            _aside.append(sys.stdout)
            sys.stdout = Aside(sys.stdout)
        _aside.append(None)
    try:
        yield
    finally:
        with _turn:
            _aside.pop()
            if len(_aside) == 1:
                sys.stdout = _aside.pop()
