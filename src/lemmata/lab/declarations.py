"""Declarations: what is known about a field of a setting or a parameter of a bound, said once.

It gives validation, `--set`, help and axis labels. Nothing here needs JAX: a wrong `--set` is refused at once.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lemmata.lab.errors import UserError, either, nearest, unknown


@dataclasses.dataclass(frozen=True)
class Declaration:
    """What is known about one field: its kind, symbol, meaning and what it may be."""

    kind: str
    default: Any
    symbol: str
    meaning: str
    low: float | None = None
    high: float | None = None
    open_ends: str = ""
    integer: bool = False
    choices: tuple[Any, ...] = ()

    def allowed(self) -> str:
        """The valid values in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(spell(option) for option in self.choices)
        if self.kind == "array":
            return "an array"
        what = "an integer" if self.integer else "a number"
        ends = []
        if self.low is not None:
            ends.append(f"{'greater than' if 'low' in self.open_ends else 'at least'} {spell(self.low)}")
        if self.high is not None:
            ends.append(f"{'less than' if 'high' in self.open_ends else 'at most'} {spell(self.high)}")
        return " ".join([what, " and ".join(ends)]).strip()

    def refusal(self, name: str, text: str) -> UserError:
        """The error for a value that is spelled like this."""
        return UserError(f"{name} = {text} is not allowed: {name} ({self.meaning}) is {self.allowed()}.")

    def accept(self, name: str, value: Any, typed: str = "") -> Any:
        """`value`, which the user may have `typed`, as the plain Python value that the setting stores, or a
        `UserError`."""
        refusal = self.refusal(name, typed or spell(value))
        if self.kind == "array":
            if value is None:
                return None
            wrong = UserError(f"{name} ({self.meaning}) must be an array of finite numbers.")
            try:
                array = np.array(value)
            except ValueError:
                raise wrong from None
            if array.dtype.kind not in "fiub" or not np.all(np.isfinite(array)):
                raise wrong
            array.flags.writeable = False
            return array
        if isinstance(value, np.generic):
            value = value.item()
        if self.kind == "choice":
            match = [option for option in self.choices if type(option) is type(value) and option == value]
            if not match:
                raise refusal
            return match[0]
        if isinstance(value, bool) and (self.low, self.high) == (0, 1) and (self.integer or self.default in (0, 1)):
            value = int(value)  # an on/off that is a number
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise refusal
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise UserError(f"{str(refusal)[:-1]}, and finite.")
        if self.integer and number != round(number):
            raise refusal
        below = self.low is not None and (number < self.low or ("low" in self.open_ends and number == self.low))
        above = self.high is not None and (number > self.high or ("high" in self.open_ends and number == self.high))
        if below or above:
            raise refusal
        return int(value) if self.integer else number  # pyright: ignore[reportArgumentType]

    def parse(self, name: str, text: str) -> Any:
        """The value that `--set name=text` means."""
        if self.kind == "array":
            raise UserError(f"{name} is an array and can only be given from Python.")
        if self.kind == "choice":
            for option in self.choices:
                if spell(option) == text.strip().lower() or option == text.strip():
                    return option
            return self.accept(name, text)
        typed = text.strip()
        try:
            value = int(typed) if self.integer and typed.lstrip("+-").isdigit() else float(typed)
        except ValueError:
            raise self.refusal(name, typed) from None
        return self.accept(name, value, typed)


def spell(value: Any) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value and short != "-0" else repr(float(value))
    if isinstance(value, int) and 2**53 < abs(value) < 10**308 and int(float(f"{value:g}")) == value:
        return f"{value:g}"
    return str(value)


def spell_argument(value: Any) -> str:
    """An argument of evidence in words: functions by their name, sequences without brackets."""
    if callable(value):
        return getattr(value, "__name__", type(value).__name__).strip("_")
    if isinstance(value, (list, tuple, range)):
        return ", ".join(map(spell_argument, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {spell_argument(each)}" for name, each in value.items())
    return "none" if value is None else spell(value)


def spell_changes(changed: Mapping[str, Sequence[Any]]) -> str:
    """What a control changes, in words: "steps = 10, not 20", or "law = 2" where there was nothing before."""
    words = {name: (spell_argument(old), spell_argument(new)) for name, (old, new) in changed.items()}
    return ", ".join(f"{name} = {new}" + f", not {old}" * (old != "none") for name, (old, new) in words.items())


def _field(declaration: Declaration) -> Any:
    return dataclasses.field(default=declaration.default, metadata={"declaration": declaration})


def number(
    default: float,
    symbol: str,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    open_ends: str = "",
    integer: bool = False,
) -> Any:
    """A traced scalar. `open_ends` names the ends ("low", "high", "low high") that are excluded.

    step_size: float = lm.number(0.1, "η", "step size", low=0, open_ends="low")
    """
    return _field(Declaration("number", default, symbol, meaning, low, high, open_ends, integer))


def size(default: int, symbol: str, meaning: str, *, low: int = 1, high: int | None = None) -> Any:
    """A static integer that fixes shapes.

    neurons: int = lm.size(64, "m", "neurons")
    """
    return _field(Declaration("size", default, symbol, meaning, low, high, integer=True))


def choice(default: Any, meaning: str, *options: Any, symbol: str = "") -> Any:
    """A static alternative; the default is the first option unless it is among them elsewhere.

    loss: str = lm.choice("hinge", "training loss", "hinge", "logistic")
    """
    return _field(Declaration("choice", default, symbol, meaning, choices=options))


def flag(default: bool, meaning: str) -> Any:
    """A static yes or no.

    skip: bool = lm.flag(False, "a skip connection")
    """
    return choice(default, meaning, False, True)


def array(symbol: str, meaning: str) -> Any:
    """The user's own data; absent (None) unless given from Python.

    tokens: Any = lm.array("X", "tokens of one's own (N x L x d)")
    """
    return _field(Declaration("array", None, symbol, meaning))


def parse_assignments(
    what: str, declared: Mapping[str, Declaration], assignments: Iterable[str], where: str = ""
) -> dict[str, Any]:
    """`["samples=64", ...]` as values of the declared kinds; a name may be the paper's symbol."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        typed, equals, text = assignment.partition("=")
        if not equals:
            raise UserError(f"'{assignment}' is not of the form name=value.")
        name = find_name(what, declared, typed.strip(), where)
        if name in values:
            raise UserError(f"{name} is set twice; give it one value.")
        values[name] = declared[name].parse(name, text)
    return values


def find_name(what: str, declared: Mapping[str, Declaration], typed: str, where: str = "") -> str:
    """The declared name that is typed as itself or as its symbol in the paper: step_size, η, eta."""
    name = name_of_symbol(declared, typed)
    if name not in declared:
        begun = [each.symbol for each in declared.values() if _begins(typed, each.symbol)]
        if begun and not nearest(typed, list(declared)):
            place = f" in {where}" if where else ""
            raise UserError(f"There is no {what} '{typed}'{place}; did you mean {either(begun)}?")
        seeds = "Seeds are given by --seed and --seeds." if typed in ("seed", "seeds") else ""
        raise unknown(what, typed, declared, where, seeds)
    return name


def name_of_symbol(declared: Mapping[str, Declaration], typed: str) -> str:
    """The declared name of what may be a symbol of the paper; what is no symbol stays as it is."""
    if typed in declared:
        return typed
    meant = [name for name, each in declared.items() if same_symbol(typed, each.symbol)]
    if len(meant) > 1:
        raise UserError(f"{typed} is the symbol of {' and of '.join(meant)}; give the name.")
    return meant[0] if meant else typed


def same_symbol(typed: str, symbol: str) -> bool:
    """Whether this is typed for a symbol of the paper: η or eta."""
    return bool(symbol) and _letters(symbol) == _letters(typed)


def _begins(typed: str, symbol: str) -> bool:
    """Whether a symbol is what is typed with an index: α for α_*."""
    return bool(typed) and _letters(symbol).startswith(f"{_letters(typed)}_")


def _letters(symbol: str) -> str:
    """A symbol with every Greek letter spelled out, and its variants and subscripts as plain letters."""
    plain = unicodedata.normalize("NFKC", symbol).replace(" ", "")
    return "".join(_letter(each) for each in plain)


def _letter(letter: str) -> str:
    greek, _, name = unicodedata.name(letter, "").partition(" LETTER ")
    if not greek.startswith("GREEK"):
        return letter
    word = name.replace("LAMDA", "LAMBDA").lower()
    return word.capitalize() if "CAPITAL" in greek else word
