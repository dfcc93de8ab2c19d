"""The streams of the command line: a reader that goes away ends the command, a closed stderr is no error."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any


class Closed(Exception):
    """Nobody reads the results any more."""


class Results:
    """stdout; raises `Closed` where its reader has gone, which no library between here and `main` mistakes for its
    own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise Closed from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise Closed from None


class Remarks:
    """stderr; what cannot be said is not said."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


def guard() -> None:
    """Put these in place; a stream that was closed before the command began is one that nobody reads."""
    out, err = (open(os.devnull, "w") if stream is None else stream for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="replace")  # Greek letters on a terminal that has none
    sys.stdout, sys.stderr = Results(out), Remarks(err)  # pyright: ignore[reportAttributeAccessIssue]


def drop_results() -> None:
    """From now on nothing is written to stdout, also not what is still held back."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
