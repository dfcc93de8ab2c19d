"""Code that stands in no file: a digest of functions and classes of a notebook or of `python -c`.

It covers the compiled code of a function, its defaults and what it closes over, and the same of everything that it
names in its module: functions, classes, pieces, constants. What has a file is not looked into but listed: its file
counts as that of any other source does.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range)


class Codes:
    """The digest of some objects, and the files of what they name."""

    def __init__(self, objects: Iterable[Any], file_of: Callable[[Any], Path | None]) -> None:
        self.files: list[Path] = []
        self._file_of, self._seen = file_of, dict[int, Any]()
        self._digest = hashlib.sha256()
        for each in objects:
            self._take(each)

    def digest(self) -> bytes:
        return self._digest.digest()

    def _add(self, *words: Any) -> None:
        for word in words:
            self._digest.update(repr(word).encode() + b"\0")

    def _take(self, thing: Any) -> None:
        """Add one object."""
        while hasattr(thing, "__wrapped__"):
            thing = thing.__wrapped__
        if isinstance(thing, PLAIN):
            self._add(thing)
        elif type(thing).__module__ == "numpy" and type(thing).__name__ == "ndarray":  # NumPy is not loaded for it
            self._add(thing.dtype, thing.shape, hashlib.sha256(thing.tobytes()).hexdigest())
        elif isinstance(thing, types.ModuleType):
            self._add("module", thing.__name__)
        elif id(thing) in self._seen:
            self._add("again")
        else:
            self._seen[id(thing)] = thing  # kept, so that no other object takes its number
            self._open(thing)

    def _open(self, thing: Any) -> None:
        if isinstance(thing, functools.partial):
            self._each(["partial", thing.func, *thing.args, thing.keywords])
        elif isinstance(thing, Mapping):
            self._each(["mapping", *(part for item in thing.items() for part in item)])
        elif isinstance(thing, (set, frozenset)):
            self._each(["set", *sorted(thing, key=repr)])
        elif isinstance(thing, (list, tuple)):
            self._each([type(thing).__name__, *thing])
        elif isinstance(thing, types.BuiltinFunctionType):
            self._add(thing.__module__, thing.__qualname__)
        elif (
            file := self._file_of(thing if isinstance(thing, (type, types.FunctionType)) else type(thing))
        ) is not None:
            self._add("of a file")
            self.files.append(file)
            if not isinstance(thing, (type, types.FunctionType)):
                self._each(_contents(thing))
        elif isinstance(thing, types.FunctionType):
            self._function(thing)
        elif isinstance(thing, type):
            self._each(["class", thing.__qualname__, *thing.__bases__, *_attributes(thing)])
        else:
            self._each([type(thing).__qualname__, *_contents(thing)])

    def _each(self, parts: Iterable[Any]) -> None:
        for part in parts:
            self._take(part)

    def _function(self, function: types.FunctionType) -> None:
        self._add("function", function.__qualname__)
        self._each([function.__defaults__, function.__kwdefaults__])
        self._each(cell.cell_contents for cell in function.__closure__ or ())
        named = self._code(function.__code__)
        for name in sorted(named & function.__globals__.keys()):
            value = function.__globals__[name]
            self._add(name)
            self._take(value)
            if getattr(value, "__name__", "") == "lemmata":  # `lm.NAME` counts as what it is
                self._each(getattr(value, each) for each in sorted(named & set(dir(value))))

    def _code(self, code: types.CodeType) -> set[str]:
        """Add a code object without its places; the names that it and what is inside it use."""
        self._add(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
        named = set(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                named |= self._code(constant)
            else:
                self._take(constant)
        return named


def _attributes(kind: type) -> Iterable[Any]:
    """What a class defines, by name; what Python itself puts there is left out."""
    for name, value in sorted(vars(kind).items()):
        if not (name.startswith("__") and name.endswith("__")) or name in ("__call__", "__annotations__"):
            yield name
            yield value


def _contents(thing: Any) -> Iterable[Any]:
    """What an object holds: a declaration, a variable, a derivation, a simulation."""
    for name, value in sorted(getattr(thing, "__dict__", {}).items()):
        if name != "__doc__":
            yield name
            yield value
