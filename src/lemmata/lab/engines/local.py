"""The local engine: calls from a pool of threads of this process."""

from __future__ import annotations

import concurrent.futures
import functools
import threading
from collections.abc import Callable, Sequence

import jax

from lemmata.lab.ensemble import workers
from lemmata.lab.interrupts import is_stopping
from lemmata.lab.programs import forget_programs
from lemmata.lab.work import Answer, Call, Ended, Report, Work


class Local:
    """Calls from one thread per core (or from so many `threads`), or one after the other where runs are stacked."""

    remote = False

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads

    def backend(self) -> str:
        return jax.default_backend()

    def run(self, work: Work, calls: Sequence[Call], report: Report) -> Ended:
        stop = threading.Event()

        def compute(call: Call) -> Answer:
            return work.compute(call, lambda: stop.is_set() or is_stopping(), functools.partial(report, call))

        yield from from_threads(compute, calls, self._threads or workers(work.layout), stop.set)

    def forget_programs(self) -> None:
        forget_programs()

    def close(self) -> None:
        pass


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
