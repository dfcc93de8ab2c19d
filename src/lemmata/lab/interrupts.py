"""Leaving on Ctrl-C and SIGTERM: one line at once, the process and its workers gone within two seconds. Where nobody
reads the results any more (`| head`), the process leaves likewise, without a word.

A signal is read by a thread of its own, since the main thread may be inside a compilation that nobody can end: then it
is abandoned. Runs are asked to stop and have a moment to keep a checkpoint; every file is written whole or not at all,
so that leaving is safe at any point.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

GRACE = 1.5
"""Seconds that runs and workers have to keep what they are at."""
INTERRUPTED = "interrupted; what was finished is kept, the same command goes on from there"
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}

_stopping = threading.Event()
_busy: set[object] = set()
_handled: list[object] = []
"""Not empty while signals end this process, and are no exceptions."""


class Party(NamedTuple):
    """Somebody who must know: told at once, waited for while the moment lasts, and ended at last."""

    tell: Callable[[], None] = lambda: None
    is_gone: Callable[[], bool] = lambda: True
    end: Callable[[], None] = lambda: None


_parties: list[Party] = []


def errors_of_theories() -> tuple[type[BaseException], ...]:
    """What somebody's code raises that is an error of theirs, and must not end more than their own claim.

    Whatever is raised is one; a KeyboardInterrupt not if it may be a real one: in the main thread of a notebook or
    script.
    """
    theirs = bool(_handled) or threading.current_thread() is not threading.main_thread()
    return (BaseException,) if theirs else (Exception, SystemExit)


def is_stopping() -> bool:
    """Whether this process is about to leave."""
    return _stopping.is_set()


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """While this lasts, a run has something to keep."""
    mark = object()
    _busy.add(mark)
    try:
        yield
    finally:
        _busy.discard(mark)


@contextlib.contextmanager
def involve(party: Party) -> Iterator[None]:
    """While this lasts, the party is told when the process leaves."""
    _parties.append(party)
    try:
        yield
    finally:
        _parties.remove(party)


def leave(code: int, sentence: str = "") -> None:
    """End this process within the moment of grace."""
    _stopping.set()
    deadline = time.monotonic() + GRACE
    if sentence:  # by a thread: a pipe that is full, and that nobody empties, keeps who writes into it for ever
        saying = threading.Thread(target=_say, args=(sentence,), daemon=True)
        saying.start()
        saying.join(GRACE / 3)
    parties = list(_parties)
    for party in parties:
        with contextlib.suppress(Exception):
            party.tell()
    while time.monotonic() < deadline and (_busy or not all(party.is_gone() for party in parties)):
        time.sleep(0.02)
    for party in parties:
        with contextlib.suppress(Exception):
            party.end()
    os._exit(code)


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(sentence, file=sys.stderr, flush=True)


@contextlib.contextmanager
def leaving_on_signals(sentence: str = INTERRUPTED, results: int | None = None) -> Iterator[None]:
    """While this lasts, SIGINT and SIGTERM end this process, whatever it is doing; for the main thread.

    `results`: the number of the file into which results go; if it is a pipe, its reader's leaving ends the process too.
    """
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    watched = select.poll()
    watched.register(receiver, select.POLLIN)
    if results is not None and stat.S_ISFIFO(os.fstat(results).st_mode):
        watched.register(results, 0)  # only what goes wrong with it

    def wait() -> None:
        while True:
            for number, _ in watched.poll():
                if number == results:
                    leave(0)
                received = os.read(receiver, 1)
                if not received:
                    return
                if received[0] in CODES:
                    leave(CODES[signal.Signals(received[0])], sentence)

    # the handlers do nothing; the interpreter writes the signal's number to the pipe, also while they cannot run; it
    # does so before they are in place, since a signal that comes between must not be lost
    told = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in CODES}
    threading.Thread(target=wait, daemon=True).start()
    _handled.append(receiver)
    try:
        yield
    finally:
        _handled.remove(receiver)
        settle()  # what comes to an end after a signal, an error too, is no result
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(told)
        os.close(sender)


def settle() -> None:
    """Wait for the end, if the process is about to leave: whatever came to an end meanwhile is no result."""
    while _stopping.is_set():
        time.sleep(1)
