"""Prepared host work (a graph per seed, a plan, a file) is done once for all runs that would prepare the same.

Which runs these are is seen from the fields that `prepare` reads: its setting notes them. The last results are kept in
memory, up to a bound in bytes.
"""

from __future__ import annotations

import collections
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from lemmata.lab.inputs import opening, tell
from lemmata.lab.setting import Setting

ROOM = 2**29
"""Bytes that are kept."""


class Prepared(NamedTuple):
    """What was prepared, and the values of the fields and the data files that were read for it."""

    read: dict[str, Any]
    content: Any
    size: int
    opened: frozenset[str]


class _Memory:
    def __init__(self) -> None:
        self.results: collections.OrderedDict[Any, list[Prepared]] = collections.OrderedDict()
        self.lock = threading.Lock()
        self.size = 0


_memory = _Memory()
_turns: dict[Any, threading.RLock] = collections.defaultdict(threading.RLock)


def prepare_once(prepare: Callable[[Any, int], Any], setting: Setting, seed: int) -> Any:
    """`prepare(setting, seed)` with JAX arrays in place of NumPy's, or what it gave before for the same fields."""
    key = (prepare, type(setting), seed, jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
    values = setting.values()
    with _turns[key]:
        with _memory.lock:
            for known in _memory.results.get(key, ()):
                if all(values[name] == value for name, value in known.read.items()):
                    _memory.results.move_to_end(key)
                    tell(known.opened)
                    return known.content
        noting = note_reads(setting)
        with opening() as opened:
            made = prepare(noting, seed)
        with jax.ensure_compile_time_eval():  # no tracers, also while a stack is foreseen
            content = jax.tree.map(_to_jax, made)
        read = {name: values[name] for name in reads(noting)}
        size = sum(getattr(leaf, "nbytes", 0) for leaf in jax.tree.leaves(content))
        with _memory.lock:
            _memory.results.setdefault(key, []).append(Prepared(read, content, size, frozenset(opened)))
            _memory.size += size
            while _memory.size > ROOM and len(_memory.results) > 1:
                _, oldest = _memory.results.popitem(last=False)
                _memory.size -= sum(each.size for each in oldest)
        return content


def forget_prepared() -> None:
    """Drop what was prepared."""
    with _memory.lock:
        _memory.results.clear()
        _memory.size = 0


def _to_jax(leaf: Any) -> Any:
    return jax.device_put(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf  # asarray compiles a program


@functools.cache
def _noting(kind: type[Setting]) -> type[Setting]:
    """The same kind of setting, whose instances note which of their fields are read."""

    def read(self: Any, name: str) -> Any:
        if name in kind.declarations():
            object.__getattribute__(self, "_reads").add(name)
        return object.__getattribute__(self, name)

    noting = type(kind.__name__, (kind,), {"__getattribute__": read, "__module__": kind.__module__})
    noting.replace = lambda self, **changes: _whole(self, kind).replace(**changes)  # pyright: ignore[reportAttributeAccessIssue]
    return noting


def _whole(setting: Any, kind: type[Setting]) -> Any:
    """The plain setting again; whoever asks for it may read everything."""
    plain = object.__new__(kind)
    for name in kind.declarations():
        object.__setattr__(plain, name, getattr(setting, name))
    return plain


def note_reads(setting: Setting) -> Setting:
    """A copy of a setting that notes which of its fields are read."""
    copy = object.__new__(_noting(type(setting)))
    object.__setattr__(copy, "_reads", set())
    for name in setting.declarations():
        object.__setattr__(copy, name, getattr(setting, name))
    return copy


def reads(setting: Setting) -> set[str]:
    """The fields of a noting setting that were read."""
    return object.__getattribute__(setting, "_reads")
