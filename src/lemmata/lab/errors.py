"""What can go wrong because of the user or the environment: one sentence, exit code 2, no traceback; and a stop."""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LABORATORY = str(Path(__file__).parent)


class UserError(ValueError):
    """A sentence for the user: what was given, what is allowed, what to do.

    try:
        vit.Setting(samples=-1)
    except lm.UserError as error:
        print(error)
    """


class AssumptionWarning(UserWarning):
    """A setting breaks an assumption of its theorem and is worth running anyway.

    warnings.simplefilter("error", lm.AssumptionWarning)  # a broken assumption stops the script
    """


class FailedCells(RuntimeError):
    """Some cells of a sweep failed; `failures` says which and why, `data` are the others.

    try:
        data = lm.sweep(simulate, setting, axes)
    except lm.FailedCells as failed:
        print(failed.failures)
        data = failed.data
    """

    def __init__(self, failures: Mapping[str, str], data: Any = None) -> None:
        self.failures, self.data = dict(failures), data
        place, message = next(iter(failures.items()))
        super().__init__(f"{len(failures)} chunks failed; first, at {place}: {message}")


class Interrupted(Exception):
    """The work was asked to stop."""


class Broken(RuntimeError):
    """Nothing of an experiment could be computed, or nothing said of a claim: a theory's error, with its place."""


def describe_error(error: BaseException) -> str:
    """An exception in one line, with the place that raised it: the last one in somebody's own file, if there is any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_installed(frame.filename)]
    place = f" ({Path(frame.filename).name}:{frame.lineno})" if (frame := (own or frames or [None])[-1]) else ""
    words = str(error) or "no message"
    return printable(f"{type(error).__name__}: {words}{place}")


def is_of(error: BaseException, module: str) -> bool:
    """Whether an exception went through a module whose name begins like this."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__", "")).startswith(module) for frame, _ in frames)


def _is_installed(file: str) -> bool:
    return file.startswith((LABORATORY, sys.prefix, sys.base_prefix, "<")) or "site-packages" in file


def unknown(what: str, name: str, known: Iterable[str], place: str = "") -> UserError:
    """The error for a name that does not exist in a place, with the nearest one that does, or all of a few."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    hint = f"; did you mean '{near[0]}'?" if near else f"; known: {shown or 'none'}."
    return UserError(f"There is no {what} '{name}'{' in ' + place if place else ''}{hint}")


def printable(message: str) -> str:
    """A text of unknown origin that may go to a terminal: escape bytes and other control characters become spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in message)
