"""What can go wrong because of the user or the environment: one sentence, exit code 2, no traceback; and a stop."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


class UserError(ValueError):
    """A sentence for the user: what was given, what is allowed, what to do."""


class AssumptionWarning(UserWarning):
    """A setting breaks an assumption of its theorem and is worth running anyway."""


class FailedCells(RuntimeError):
    """Some cells of a sweep failed; `failures` says which and why, `data` are the others."""

    def __init__(self, failures: Mapping[str, str], data: Any = None) -> None:
        self.failures, self.data = dict(failures), data
        place, message = next(iter(failures.items()))
        super().__init__(f"{len(failures)} chunks failed; first, at {place}: {message}")


class Interrupted(Exception):
    """The work was asked to stop."""


def unknown(what: str, name: str, known: Iterable[str], place: str = "") -> UserError:
    """The error for a name that does not exist in a place, with the nearest one that does, or all of a few."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    hint = f"; did you mean '{near[0]}'?" if near else f"; known: {shown or 'none'}."
    return UserError(f"There is no {what} '{name}'{' in ' + place if place else ''}{hint}")
