"""A Dask cluster: one that exists, by its address or scheduler file, or one on this machine for the run.

Dask schedules, moves calls off workers that die (a nanny starts these again) and scales; a call that kills its workers
more often than the cluster allows (`distributed.scheduler.allowed-failures`, 3) has failed.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import logging
import sys
import threading
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from lemmata.lab.devices import Needs
from lemmata.lab.engines.processes import lose_call, share_machine
from lemmata.lab.ensemble import thread_variables, threads_of_xla
from lemmata.lab.errors import UserError
from lemmata.lab.interrupts import Party, involve
from lemmata.lab.parcels import compute_parcel, find_backend, pack, pack_work
from lemmata.lab.programs import forget_programs, programs_folder
from lemmata.lab.work import Answer, Call, Ended, Report, Work

CONNECT = 10
"""Seconds within which a scheduler must answer."""
SILENCE = 120.0
"""Seconds without any answer after which it is said for whom the command waits."""
PATIENCE = 10
"""Seconds without any worker after which it is said that the command waits for one."""


class Dask:
    """The workers of a Dask cluster."""

    remote = True
    lanes = 1

    def __init__(self, address: str = "", timeout: float | None = None) -> None:
        self._timeout = timeout
        try:
            import distributed
        except ImportError:
            raise UserError("The engine 'dask' needs Dask; install it with: pip install 'lemmata[cluster]'.") from None
        # what goes wrong is said in our own sentence
        for name in [name for name in logging.root.manager.loggerDict if name.startswith(("distributed", "tornado"))]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.cluster: Any = None
        self._heard = time.monotonic()
        if not address:
            environments = share_machine(1 if jax.default_backend() != "cpu" else None)
            # processes of Python's own that count what an interrupted command left behind should not speak of it
            sys.warnoptions.append("ignore:resource_tracker")
            try:
                self.cluster = distributed.LocalCluster(
                    n_workers=len(environments),
                    threads_per_worker=1,
                    env=environments[0],
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
            except Exception as error:  # whatever a nanny that does not start raises
                reason = (str(error) or type(error).__name__).splitlines()[0]
                raise UserError(f"No Dask cluster could be started on this machine: {reason}; try it again.") from None
        elif address.endswith(".json"):
            address = read_scheduler_file(Path(address))
        self.address = address or self.cluster.scheduler_address
        try:
            self.client = distributed.Client(self.cluster or address, timeout=CONNECT)
        except (OSError, ValueError, TimeoutError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise UserError(f"No Dask scheduler answers at {address}: {reason}.") from None

    def backend(self, needs: Needs) -> str:
        with self._scheduler():
            try:
                self.client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                print(f"Waiting for a worker of the Dask cluster at {self.address}.", file=sys.stderr, flush=True)
            return self.client.submit(find_backend, thread_variables(threads_of_xla()), pure=False).result()

    def run(self, work: Work, calls: Sequence[Call], report: Report) -> Ended:
        suspects: list[Call] = []
        with contextlib.closing(self._outcomes(work, calls, report)) as outcomes:
            for call, answer in outcomes:
                if answer is None:
                    suspects.append(call)
                else:
                    yield call, answer
        # what only waited on a worker that died is suspected as well; alone, a call answers for itself
        for suspect in suspects:
            with contextlib.closing(self._outcomes(work, [suspect], report)) as outcomes:
                for call, answer in outcomes:
                    yield call, lose_call(work, call, "its Dask worker died every time") if answer is None else answer

    def _outcomes(
        self, work: Work, calls: Sequence[Call], report: Report
    ) -> Generator[tuple[Call, Answer | None], None, None]:
        """The calls as they end; None where workers died over one."""
        parcel, cache, topic = pack_work(work), programs_folder(), f"lemmata-{uuid.uuid4().hex}"
        numbers = range(len(calls))
        futures = self.client.map(
            compute_task,
            [parcel] * len(calls),
            [pack(call) for call in calls],
            [cache] * len(calls),
            [topic] * len(calls),
            numbers,
            pure=False,
        )
        calls_of = {future.key: call for future, call in zip(futures, calls, strict=True)}

        def hear(event: tuple[Any, Any]) -> None:
            number, step, last = event[1]
            self._heard = time.monotonic()
            report(calls[number], step, last)

        cancelling = threading.Thread(target=lambda: self.client.cancel(futures), daemon=True)
        party = Party(cancelling.start, lambda: not cancelling.is_alive())
        self.client.subscribe_topic(topic, hear)
        try:
            with involve(party):
                yield from self._as_completed(futures, calls_of)
        finally:
            with contextlib.suppress(Exception):
                self.client.unsubscribe_topic(topic)
            with contextlib.suppress(Exception):
                self.client.cancel(futures)

    def _as_completed(
        self, futures: Sequence[Any], calls_of: Mapping[Any, Call]
    ) -> Generator[tuple[Call, Answer | None], None, None]:
        import distributed

        for future in self._patiently(distributed.as_completed(futures), len(futures)):
            with self._scheduler():
                error = future.exception()
                answer = future.result() if error is None else None
            if error is not None and not isinstance(error, distributed.KilledWorker):
                raise error if isinstance(error, UserError) else RuntimeError(f"{type(error).__name__}: {error}")
            yield calls_of[future.key], answer

    def _patiently(self, completed: Any, count: int) -> Iterator[Any]:
        """The futures as they complete; says for whom it waits, and gives up after the timeout."""
        for _ in range(count):
            began, said = time.monotonic(), False
            while not completed.has_ready():
                silent = time.monotonic() - max(began, self._heard)
                if self._timeout is not None and silent > self._timeout:
                    raise UserError(
                        f"No worker of the Dask cluster at {self.address} has given a sign of life for "
                        f"{self._timeout:g} s (waiting for {self._waited_for()}); what was finished is kept, the same "
                        "command goes on from there."
                    )
                if silent > SILENCE and not said:
                    said = True
                    print(f"Waiting for {self._waited_for()}.", file=sys.stderr, flush=True)
                time.sleep(0.02)
            yield next(completed)

    def _waited_for(self) -> str:
        with contextlib.suppress(Exception):
            processing: Any = self.client.processing()
            busy = sorted(worker for worker, tasks in processing.items() if tasks)
            return f"the Dask workers {', '.join(busy)}" if busy else "a Dask worker"
        return "a Dask worker"

    @contextlib.contextmanager
    def _scheduler(self) -> Iterator[None]:
        """Says in a sentence that the scheduler does not answer any more."""
        try:
            yield
        except (OSError, TimeoutError, concurrent.futures.CancelledError):
            raise UserError(
                f"The Dask scheduler at {self.address} is gone; what was finished is kept, the same command goes on "
                "from there."
            ) from None

    def stop(self) -> None:
        pass  # one sweep at a time, which ends when it is closed

    def forget_programs(self) -> None:
        self.client.run(forget_programs)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)
        if self.cluster is not None:
            self.cluster.close(timeout=5)


def compute_task(work: bytes, call: bytes, cache: str | None, topic: str, number: int) -> Answer:
    """A call as a task of a Dask worker: it stops when it is cancelled, and tells the topic how far a run is."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return compute_parcel(
        work, call, cache, is_cancelled, lambda step, last: worker.log_event(topic, (number, step, last))
    )


def read_scheduler_file(path: Path) -> str:
    """The address of the scheduler that wrote this file."""
    if not path.exists():
        raise UserError(f"There is no scheduler file {path}.")
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} is not a scheduler file: it has no address in JSON.") from None
