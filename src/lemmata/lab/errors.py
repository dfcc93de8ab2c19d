"""What can go wrong because of the user or the environment: one sentence, exit code 2, no traceback; and a stop."""

from __future__ import annotations

import difflib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE_MODULE = "lemmata_file_"
"""How the names of modules begin that were loaded from a user's file."""
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


def place_of(function: Callable[..., Any]) -> str:
    """Where a function begins, as sentences end with it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""


def describe_error(error: BaseException, function: Callable[..., Any] | None = None) -> str:
    """An exception in one line, with the place that raised it: the last one in somebody's own file, if there is any.

    `function` is the one whose result is at fault where nothing of its own was running any more.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [(frame.filename, frame.lineno) for frame in frames if not _is_installed(frame.filename)]
    try:
        words = str(error) or "no message"
    except Exception:  # somebody's own error, which cannot even say what it is
        words = "no message"
    if isinstance(error, SyntaxError) and error.filename:
        own, words = [(error.filename, error.lineno)], error.msg
    places = own or [(frame.filename, frame.lineno) for frame in frames]
    place = f" ({Path(places[-1][0]).name}:{places[-1][1]})" if places else ""
    if function and not own:
        place = place_of(function) or place
    return printable(f"{type(error).__name__}: {shortened(words)}{place}")


def shortened(text: str, most: int = 500) -> str:
    """A text with its middle left out where it is too long to be read."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def is_of(error: BaseException, module: str) -> bool:
    """Whether an exception went through a module whose name begins like this."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__", "")).startswith(module) for frame, _ in frames)


def is_for_the_user(error: BaseException) -> bool:
    """Whether it is a sentence on what the user must put right (a missing data file), and no mistake in a theory of
    their own, which is that theory's."""
    return isinstance(error, UserError) and not is_of(error, FILE_MODULE)


def _is_installed(file: str) -> bool:
    return file.startswith((LABORATORY, sys.prefix, sys.base_prefix, "<")) or "site-packages" in file


def unknown(what: str, name: Any, known: Iterable[str], place: str = "", more: str = "") -> UserError:
    """The error for a name that does not exist in a place, with those that may be meant; if there are none, with a few
    that exist and `more`, a further sentence."""
    names = sorted(set(known))
    meant = nearest(name, names) if isinstance(name, str) else []
    if meant:
        hint = f"did you mean {either(meant)}?"
    else:
        rest = f" and {len(names) - FEW} more" if len(names) > FEW else ""
        hint = f"known: {', '.join(names[:FEW]) or 'none'}{rest}." + (f" {more}" if more else "")
    where = f" in {place}" if place else ""
    return UserError(f"There is no {what} '{name}'{where}; {hint}")


def require_text(what: str, value: Any) -> None:
    """Refuse what is shown to people and is no text."""
    if not isinstance(value, str):
        raise UserError(f"{what} is {value!r}, no text.")


OF_EVERY_STORE = ("seed", "block", "status", "digest", "message")
"""Arrays and dimensions that every store has."""


def require_name(what: str, name: Any) -> None:
    """Refuse what cannot name an axis, a dimension or a variable: results are read as `data.name`."""
    if not isinstance(name, str) or not name.isidentifier():
        raise UserError(f"{name!r} is not allowed as the name of {what}: it has letters, digits and '_'.")
    if name in OF_EVERY_STORE:
        raise UserError(f"{what[0].upper()}{what[1:]} cannot be called {name}, which every data set has.")


FEW = 12
"""So many names are listed where none is near."""


def nearest(name: str, names: Sequence[str]) -> list[str]:
    """The names that may be meant by one that does not exist: the same in other letters or signs, those that begin
    with it, the one it is a slip of, those that contain it."""
    flat, wanted = {each: _flat(each) for each in names}, _flat(name)
    if not wanted:
        return []
    same = [each for each in names if flat[each] == wanted]
    begin = [each for each in names if flat[each].startswith(wanted)]
    slips = difflib.get_close_matches(wanted, list(flat.values()), n=1, cutoff=0.65)
    contain = [each for each in names if len(wanted) > 2 and wanted in flat[each]]
    return same or begin or [each for each in names if flat[each] in slips] or contain


def either(names: Sequence[str], joint: str = "or", most: int = 6) -> str:
    """These names in quotes, as alternatives: 'a', 'b' or 'c'."""
    quoted = [f"'{name}'" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(quoted)} {joint} {len(names) - most} more"
    return f" {joint} ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))


def _flat(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


def printable(message: str) -> str:
    """A text of unknown origin that may go to a terminal: escape bytes and other control characters become spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in message)
