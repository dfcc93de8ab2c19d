"""The local engine: calls from a pool of threads of this process."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import threading
from collections.abc import Callable, Sequence

import jax

from lemmata.lab.devices import Needs, choose
from lemmata.lab.ensemble import workers
from lemmata.lab.interrupts import is_stopping
from lemmata.lab.live import Foreseen
from lemmata.lab.machine import cores
from lemmata.lab.programs import forget_programs
from lemmata.lab.work import Answer, Call, Ended, Report, Work

LANES = 4
"""Sweeps at once, at most."""


class Local:
    """Calls from one thread per core (or from so many `threads`), or one after the other where runs are stacked.

    Programs are compiled side by side, before the calls that need them. Several sweeps at once share the threads.
    """

    remote = False

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads
        self._slots = threading.BoundedSemaphore(threads or cores())
        self._card = threading.Lock()  # a stack may fill the memory of a GPU
        self._ending = threading.Event()

    @property
    def lanes(self) -> int:
        """Sweeps at once: while one is planned or drawn, which is work of one core, the others compute."""
        return min(LANES, cores()) if self._threads is None else 1

    def backend(self, needs: Needs) -> str:
        return choose(jax.default_backend(), needs)

    def run(self, work: Work, calls: Sequence[Call], report: Report) -> Ended:
        stop, ending = threading.Event(), self._ending

        def is_leaving() -> bool:
            return stop.is_set() or ending.is_set() or is_stopping()

        def compute(call: Call) -> Answer:
            with self._card if work.layout.kind == "vmap" else contextlib.nullcontext(), self._slots:
                return work.compute(call, is_leaving, functools.partial(report, call))

        def compile_ahead(piece: Foreseen) -> None:
            with self._slots:
                if not is_leaving():
                    work.compile(piece)

        count = self._threads or workers(work.layout)
        with concurrent.futures.ThreadPoolExecutor(self._threads or cores()) as compilers:
            ahead = [compilers.submit(compile_ahead, piece) for piece in work.foresee(calls)]
            try:
                yield from from_threads(compute, calls, count, stop.set)
            finally:
                for future in ahead:
                    future.cancel()

    def forget_programs(self) -> None:
        forget_programs()

    def stop(self) -> None:
        self._ending.set()
        self._ending = threading.Event()

    def close(self) -> None:
        self.stop()


def from_threads(
    compute: Callable[[Call], Answer], calls: Sequence[Call], count: int, stop: Callable[[], None]
) -> Ended:
    """Compute calls from `count` threads; yields them as they end. `stop` makes those that are under way return."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        futures = {pool.submit(compute, call): call for call in calls}
        try:
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], future.result()
        finally:
            stop()
            pool.shutdown(wait=True, cancel_futures=True)
