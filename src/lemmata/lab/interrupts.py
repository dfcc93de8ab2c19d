"""Leaving on Ctrl-C and SIGTERM: one line at once, the process and its workers gone within two seconds.

A signal is read by a thread of its own, since the main thread may be inside a compilation that nobody can end: then it
is abandoned. Runs are asked to stop and have a moment to keep a checkpoint; every file is written whole or not at all,
so that leaving is safe at any point.
"""

from __future__ import annotations

import contextlib
import os
import signal
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


class Party(NamedTuple):
    """Somebody who must know: told at once, waited for while the moment lasts, and ended at last."""

    tell: Callable[[], None] = lambda: None
    is_gone: Callable[[], bool] = lambda: True
    end: Callable[[], None] = lambda: None


_parties: list[Party] = []


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
    if sentence:
        with contextlib.suppress(OSError, ValueError):
            print(sentence, file=sys.stderr, flush=True)
    _stopping.set()
    deadline = time.monotonic() + GRACE
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


def leave_on_signals(sentence: str = INTERRUPTED) -> None:
    """From now on SIGINT and SIGTERM end this process, whatever it is doing; to be called in the main thread."""
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)

    def wait() -> None:
        number = os.read(receiver, 1)[0]
        leave(CODES[signal.Signals(number)], sentence)

    # the handlers do nothing; the interpreter writes the signal's number to the pipe, also while they cannot run
    for number in CODES:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    threading.Thread(target=wait, daemon=True).start()


def settle() -> None:
    """Wait for the end, if the process is about to leave: whatever came to an end meanwhile is no result."""
    while _stopping.is_set():
        time.sleep(1)
