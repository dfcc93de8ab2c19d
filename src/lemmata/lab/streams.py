"""The streams of the command line: a reader that goes away ends the command, a closed stderr is no error."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class Closed(Exception):
    """Nobody reads the results any more."""


class _Guarded:
    """A stream whose failures to write are met by `failed`."""

    failures: tuple[type[Exception], ...]

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except self.failures:
            return self.failed(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except self.failures:
            self.failed("")

    def failed(self, text: str) -> int:
        raise NotImplementedError


class Results(_Guarded):
    """stdout; raises `Closed` where its reader has gone, which no library between here and `main` mistakes for its
    own."""

    failures = (BrokenPipeError,)

    def failed(self, text: str) -> int:
        raise Closed from None


class Remarks(_Guarded):
    """stderr; what cannot be said is not said."""

    failures = (OSError, ValueError)

    def failed(self, text: str) -> int:
        return len(text)


class Aside(io.TextIOBase):
    """Stands for stdout while somebody's code runs: what that writes goes to stderr; to look at, it is stdout."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def guard() -> None:
    """Put these in place; a stream that was closed before the command began is one that nobody reads."""
    out, err = (open(os.devnull, "w") if stream is None else stream for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="replace")  # Greek letters on a terminal that has none
    sys.stdout, sys.stderr = Results(out), Remarks(err)  # pyright: ignore[reportAttributeAccessIssue]


def drop_results() -> None:
    """From now on nothing is written to stdout, also not what is still held back."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
