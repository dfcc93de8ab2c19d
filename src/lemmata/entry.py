"""Where the command begins: before anything is imported, a signal already ends it in one line, and no file that is
opened later can take the place of a stream that was closed."""

from __future__ import annotations

import atexit
import os
import signal
from typing import Any

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


_known = "nothing had begun"
"""What there is to say where a signal ends the process by itself: at first, and when the command is over."""


def leave(number: int, frame: Any) -> None:
    """End the process at once: nothing has begun, or everything is done."""
    try:
        os.write(2, f"interrupted; {_known}\n".encode())
    finally:
        os._exit(CODES[signal.Signals(number)])


def occupy_streams() -> None:
    """Open what is closed of stdin, stdout and stderr: else a file of results might become stderr."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def ignore() -> None:
    """Let what is left of this process, its clearing up, come to its end: its exit code stands."""
    for number in CODES:
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    """Run the command line."""
    atexit.register(ignore)  # the first, which is called last
    for number in CODES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, leave)
    occupy_streams()
    from lemmata.cli import main as run

    try:
        run()
    finally:
        global _known
        _known = "everything was done"
