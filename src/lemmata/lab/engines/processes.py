"""Worker processes of this machine, one call at a time each.

Every worker keeps to its share of the cores, or to a GPU. The bits of a sum depend on how many threads share it, so a
worker's XLA and BLAS have as many as this process, on fewer cores. A worker that dies takes only its call with it: it
is started again and the call is repeated; a call that kills its worker every time has failed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Pipe
from typing import Any

import jax

from lemmata.lab.devices import Needs
from lemmata.lab.engines.local import from_threads
from lemmata.lab.engines.worker import CORES, ERROR, READY, STEP
from lemmata.lab.ensemble import thread_variables, threads_of_xla
from lemmata.lab.errors import Interrupted
from lemmata.lab.interrupts import GRACE, Party, involve
from lemmata.lab.machine import core_numbers
from lemmata.lab.parcels import compute_parcel, pack, pack_work
from lemmata.lab.programs import forget_programs, programs_folder
from lemmata.lab.work import Answer, Call, Ended, Report, Work

ATTEMPTS = 3
"""How often a call may lose its worker before it counts as failed."""


PATIENCE = 120.0
"""Seconds of silence after which it is said for whom the command waits."""


class WorkerDied(Exception):
    """The worker process ended before it had answered; with its exit status, negative for a signal."""


class Worker:
    """A worker process: asked to call a function, it answers with the result or the exception."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._start()

    def revive(self) -> None:
        """Start the process anew if it has ended."""
        if self.is_gone():
            self._start()

    def _start(self) -> None:
        self._connection, theirs = Pipe()
        self._ready = False
        path = os.pathsep.join([*filter(None, sys.path), os.getcwd()])
        # a session of its own: Ctrl-C reaches the command alone, which then ends its workers
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lemmata.lab.engines.worker", str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": path, **self._environment},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            start_new_session=True,
        )
        theirs.close()

    def ask(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        report: Callable[[int, int], None] = lambda step, last: None,
        timeout: float | None = None,
        at: str = "its work",
    ) -> Any:
        """Call the function there; meanwhile it may tell how far a run is.

        A worker that says nothing for long is named; one that says nothing for `timeout` seconds is killed.
        """
        try:
            self._connection.send((function, arguments))
            kind, content = self._hear(timeout, at)
            while kind in (STEP, READY):
                if kind == STEP:
                    report(*content)
                self._ready = True
                kind, content = self._hear(timeout, at)
        except (EOFError, OSError):
            self.kill()
            raise WorkerDied(self.process.returncode) from None
        if kind == ERROR:
            raise content
        return content

    def _hear(self, timeout: float | None, at: str) -> Any:
        began, said = time.monotonic(), False
        if timeout is not None and not self._ready:
            timeout = max(timeout, PATIENCE)  # it has to start first
        while not self._connection.poll(min(1.0, timeout or 1.0)):
            silent = time.monotonic() - began
            if timeout is not None and silent > timeout:
                print(f"Worker {self.process.pid}, at {at}, was silent for {timeout:g} s: given up.", file=sys.stderr)
                self.kill()
            elif silent > PATIENCE and not said:
                said = True
                hint = "" if timeout else "; --timeout SECONDS would give it up"
                print(f"Waiting for worker {self.process.pid}, at {at}{hint}.", file=sys.stderr, flush=True)
        return self._connection.recv()

    def is_gone(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Processes:
    """`count` worker processes; default one per GPU, or per core."""

    remote = True
    lanes = 1

    def __init__(self, count: int | None = None, timeout: float | None = None) -> None:
        self._timeout = timeout
        self.workers: list[Worker] = []
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._open = contextlib.ExitStack()
        self._open.enter_context(involve(Party(end=self._end)))  # also while nothing is computed
        for environment in share_machine(count):
            self.workers.append(Worker(environment))
            self._idle.put(self.workers[-1])

    def backend(self, needs: Needs) -> str:
        return jax.default_backend()

    def run(self, work: Work, calls: Sequence[Call], report: Report) -> Ended:
        parcel, cache = pack_work(work), programs_folder()
        busy: set[Worker] = set()
        stopped, turn = False, threading.Lock()

        def compute(call: Call) -> Answer:
            worker = self._idle.get()
            busy.add(worker)
            status = None
            try:
                for _ in range(ATTEMPTS):
                    with turn:  # no worker is started when all are told to leave
                        if stopped:
                            raise Interrupted
                        worker.revive()
                    try:
                        about: dict[str, Any] = {"report": functools.partial(report, call), "at": _words(call)}
                        given = (parcel, pack(call), cache)
                        return worker.ask(compute_parcel, *given, timeout=self._timeout, **about)
                    except WorkerDied as death:
                        if stopped:
                            raise Interrupted from None
                        status = death.args[0]
            finally:
                busy.discard(worker)
                self._idle.put(worker)
            return lose_call(work, call, f"its worker process died {ATTEMPTS} times, the last with status {status}")

        def tell() -> None:
            nonlocal stopped
            with turn:
                stopped = True
            for worker in list(busy):
                worker.process.terminate()

        def stop() -> None:
            tell()
            deadline = time.monotonic() + GRACE
            while time.monotonic() < deadline and not all(worker.is_gone() for worker in list(busy)):
                time.sleep(0.02)
            for worker in list(busy):
                worker.process.kill()

        with involve(Party(tell, lambda: all(worker.is_gone() for worker in list(busy)))):
            yield from from_threads(compute, calls, len(self.workers), stop)

    def stop(self) -> None:
        pass  # one sweep at a time, which ends when it is closed

    def forget_programs(self) -> None:
        for worker in self.workers:
            with contextlib.suppress(WorkerDied):
                worker.ask(forget_programs)

    def close(self) -> None:
        self._open.close()
        for worker in self.workers:
            worker.kill()

    def _end(self) -> None:
        for worker in self.workers:
            worker.process.kill()


def _words(call: Call) -> str:
    """What a call computes."""
    first = call.chunks[0]
    return f"cell {', '.join(map(str, first.cell)) or 'the only one'}, seeds {first.seeds.start} to {first.seeds[-1]}"


def lose_call(work: Work, call: Call, reason: str) -> Answer:
    """Mark the chunks of a call as failed that nobody could compute."""
    lost = ["" if work.store.is_done(chunk) else reason for chunk in call.chunks]
    for chunk, why in zip(call.chunks, lost, strict=True):
        if why:
            work.store.fail(chunk, why)
    return Answer(lost)


def share_machine(count: int | None = None) -> list[dict[str, str]]:
    """The environments of `count` workers that share this machine's GPUs, or else its cores."""
    if jax.default_backend() != "cpu":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(jax.local_device_count())))
        gpus = visible.split(",")
        # memory is taken as it is needed, since the command and other workers use the same card
        shared = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        return [{"CUDA_VISIBLE_DEVICES": gpus[k % len(gpus)], **shared} for k in range(count or len(gpus))]
    cores = core_numbers()
    count = count or len(cores)
    shares = [cores[k::count] or [cores[k % len(cores)]] for k in range(count)]
    return [{**thread_variables(threads_of_xla()), CORES: ",".join(map(str, share))} for share in shares]
