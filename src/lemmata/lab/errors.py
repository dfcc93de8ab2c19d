"""What can go wrong because of the user or the environment: one sentence, exit code 2, no traceback; and a stop."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A sentence for the user: what was given, what is allowed, what to do."""


class Interrupted(Exception):
    """The work was asked to stop."""


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
