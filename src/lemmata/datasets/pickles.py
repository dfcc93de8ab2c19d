"""Pickles of unknown origin, read without running them.

A pickle is a program for a small stack machine, and the usual one calls whatever function the program names. This one
knows the instructions that plain containers, NumPy arrays and SciPy matrices need. A name stands for one of a few
makers given by the reader of a format (`admitted`); any other is refused before anything is imported or called. Arrays
stay descriptions until `array` has compared the shape they claim with the bytes they bring.

Why not `pickle.Unpickler` with a `find_class` of our own: it runs no foreign code either, but it hashes whatever comes
as a key, and a tuple 150,000 deep ends the process, one of 200 doublings never ends; it makes room for a memo or a text
as large as the pickle claims, and sets attributes of the makers themselves. To forbid these beforehand one has to
follow what lies on the stack, which is this machine again.
"""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lemmata.datasets.files import require

Maker = Callable[..., Any]
Admitted = Mapping[tuple[str, str], Maker]
VALUES = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "BINUNICODE",
          "SHORT_BINUNICODE", "UNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}  # fmt: skip
OLD_STRINGS = {"STRING", "BINSTRING", "SHORT_BINSTRING"}
"""Strings of Python 2, which may be text or bytes."""
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Maker] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MARK = object()


@dataclass(frozen=True)
class Name:
    """A name of the pickle, which stands for a maker of ours."""

    make: Maker


def load(content: bytes, admitted: Admitted, *, needed_by: str, old_strings_are_bytes: bool = False) -> Any:
    """What the pickle holds; `needed_by` says in an error what would never ask for the names it asks for."""
    machine = _Machine(len(content), admitted, needed_by)
    for instruction, argument, _ in pickletools.genops(content):
        if instruction.name in OLD_STRINGS and old_strings_are_bytes:
            argument = str(argument).encode("latin1")
        machine.run(instruction.name, argument)
    return machine.stack.pop()


class _Machine:
    def __init__(self, length: int, admitted: Admitted, needed_by: str) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.admitted, self.needed_by = admitted, needed_by
        self.bytes_left = length
        """Bytes that may still be made of text: a pickle has no use for more than it contains."""

    def run(self, name: str, argument: Any) -> None:
        stack, memo = self.stack, self.memo
        if name in VALUES or name in OLD_STRINGS:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name == "MARK":
            stack.append(MARK)
        elif name in {"PUT", "BINPUT", "LONG_BINPUT"}:
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in {"GET", "BINGET", "LONG_BINGET"}:
            stack.append(memo[argument])
        elif name in SHORT_TUPLES:
            count = SHORT_TUPLES[name]
            stack[-count:] = [tuple(stack[-count:])]
        elif name in {"TUPLE", "LIST", "DICT"}:
            items = self.marked()
            stack.append(_paired({}, items) if name == "DICT" else tuple(items) if name == "TUPLE" else items)
        elif name in {"APPEND", "APPENDS"}:
            items = [stack.pop()] if name == "APPEND" else self.marked()
            require(type(stack[-1]) is list, "it appends to what is no list")
            stack[-1].extend(items)
        elif name in {"SETITEM", "SETITEMS"}:
            items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else self.marked()
            _paired(stack[-1], items)
        elif name in {"GLOBAL", "STACK_GLOBAL"}:
            place = tuple(argument.split(" ", 1)) if name == "GLOBAL" else (stack.pop(-2), stack.pop())
            stack.append(self.named(*place))
        elif name in {"REDUCE", "NEWOBJ"}:
            arguments = stack.pop()
            stack.append(self.made(stack.pop(), arguments))
        elif name == "BUILD":
            state = stack.pop()
            require(hasattr(stack[-1], "describe"), "it sets attributes of what has none")
            stack[-1].describe(state)
        else:
            require(name in {"PROTO", "FRAME", "STOP"}, f"it uses the instruction {name}, which {self.needed_by} needs")

    def marked(self) -> list[Any]:
        """What was pushed since the last mark."""
        items: list[Any] = []
        while (item := self.stack.pop()) is not MARK:
            items.append(item)
        return items[::-1]

    def named(self, module: str, name: str) -> Name:
        require(isinstance(module, str) and isinstance(name, str), "it names a function by what is no text")
        asked = re.sub(r"[^\w.]", "?", f"{module}.{name}"[:60])
        require((module, name) in self.admitted, f"it asks for {asked}, which {self.needed_by} needs")
        return Name(self.admitted[module, name])

    def made(self, name: Any, arguments: Any) -> Any:
        require(isinstance(name, Name) and isinstance(arguments, tuple), "it calls what is no function")
        result = name.make(*arguments)
        if isinstance(result, bytes):
            self.bytes_left -= len(result)
            require(self.bytes_left >= 0, "it repeats its text too often")
        return result


def _paired(table: Any, items: list[Any]) -> dict[Any, Any]:
    """The table with keys and values that come in turn; a key is a number or a text, which takes no time to compare."""
    require(type(table) is dict and len(items) % 2 == 0, "it sets entries of what is no table")
    for key, value in zip(items[::2], items[1::2], strict=True):
        require(type(key) in {int, str, bytes}, "a key is neither number nor text")
        table[key] = value
    return table


class PickledType:
    """The type of an array's numbers."""

    def __init__(self, code: Any, *_: Any) -> None:
        require(isinstance(code, str | bytes), "the type of an array has no name")
        self.code = code.decode("latin1") if isinstance(code, bytes) else code
        require(re.fullmatch(r"b1|[iu][1248]|f[248]", self.code) is not None, f"it has an array of {self.code[:20]}")
        self.order = "="

    def describe(self, state: Any) -> None:
        order = state[1].decode("latin1") if isinstance(state[1], bytes) else state[1]
        require(order in {"<", ">", "|", "="}, "the type of an array has no byte order")
        self.order = order


class PickledArray:
    """An array's shape, type and bytes, not yet compared with one another."""

    state: tuple[Any, ...] = ()

    def __init__(self, *_: Any) -> None: ...

    def describe(self, state: Any) -> None:
        self.state = state


def array(described: Any) -> np.ndarray:
    """The array that a pickle describes, if it has as many bytes as its shape says."""
    require(isinstance(described, PickledArray), "it holds something else in place of an array")
    _, shape, kind, columns_first, content = described.state
    require(isinstance(kind, PickledType), "an array has no type")
    require(is_shape(shape), "an array has no shape")
    dtype = np.dtype(kind.order + kind.code)
    require(math.prod(shape) * dtype.itemsize == len(content), "an array is longer or shorter than its shape says")
    if isinstance(content, str):
        content = content.encode("latin1")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if columns_first else "C")


def is_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and len(shape) <= 8 and all(type(size) is int and size >= 0 for size in shape)


def _latin_bytes(text: Any, encoding: Any) -> bytes:
    require(isinstance(text, str) and encoding in ("latin1", b"latin1"), "it asks for another encoding than latin1")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    return b""


def only_a_name(*_: Any) -> None:
    """For a name that a pickle mentions and has no reason to call."""
    require(False, "it calls what is only a name")


ARRAYS: dict[tuple[str, str], Maker] = {
    ("numpy.core.multiarray", "_reconstruct"): PickledArray,
    ("numpy._core.multiarray", "_reconstruct"): PickledArray,
    ("numpy", "ndarray"): only_a_name,
    ("numpy", "dtype"): PickledType,
    ("_codecs", "encode"): _latin_bytes,
    ("__builtin__", "bytes"): _no_bytes,
    ("builtins", "bytes"): _no_bytes,
}
"""What a pickled array names, and with what Python 3 writes bytes for Python 2."""
