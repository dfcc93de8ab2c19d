"""Names of arrays: same name, same bits.

An array that a piece made is named by its program and by the names of the inputs that this program really uses; any
other array (a key, a number, prepared data) by its content. So a training can be recognised before it is computed, in
another cell, experiment, process or command, and nothing has to be declared: an input that a program does not use, a
static field that does not change it, do not enter. A name changes with the code, since the program does.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.interpreters.partial_eval import dce_jaxpr

BYTES = 16
"""The length of a name."""

_names: dict[int, tuple[weakref.ref[Any], bytes]] = {}
_lock = threading.Lock()


class Unnamed(Exception):
    """An array of which nothing is known before it is computed."""


class Program(NamedTuple):
    """What a traced function computes: a digest of it without what its results do not need, which of the given leaves
    it uses, and the shapes of its results."""

    digest: bytes
    used: tuple[bool, ...]
    out: Any


def digest(*parts: bytes) -> bytes:
    """A short digest of some parts."""
    found = hashlib.blake2b(digest_size=BYTES)
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.digest()


def name_of(leaf: Any) -> bytes:
    """The name of an array or number, by who made it or else by its content."""
    if type(leaf) in (int, float, bool):
        return f"{type(leaf).__name__} {leaf!r}".encode()
    known = _names.get(id(leaf))
    if known is not None and known[0]() is leaf:  # the number of an object that is gone may be given again
        return known[1]
    if isinstance(leaf, Tracer):
        raise Unnamed
    kind = repr(jax.typeof(leaf)).encode()
    content = plain(leaf)
    name = digest(kind, content.tobytes())
    if content.size > 64:
        _give(leaf, name)
    return name


def is_key(leaf: Any) -> bool:
    """Whether this is a typed JAX key."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def key_impl(spec: Any) -> str:
    """Which of JAX's generators a key of this type is for."""
    return {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}[str(spec.dtype)]


def plain(leaf: Any) -> np.ndarray:
    """The numbers of an array or key on the host, also while something is traced."""
    with jax.ensure_compile_time_eval():
        return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)


def give_names(tree: Any, name: bytes) -> None:
    """Name the leaves of what a piece made."""
    for number, leaf in enumerate(jax.tree.leaves(tree)):
        _give(leaf, name + number.to_bytes(4, "big"))


def _give(leaf: Any, name: bytes) -> None:
    key = id(leaf)

    def forget(reference: Any) -> None:
        with _lock:
            known = _names.get(key)
            if known is not None and known[0] is reference:
                del _names[key]

    reference = weakref.ref(leaf, forget)
    with _lock:
        _names[key] = reference, name


def kinds(leaves: Iterable[Any]) -> tuple[Any, ...]:
    """Shapes and types of leaves, as far as programs differ by them."""
    return tuple(
        (leaf.shape, str(leaf.dtype), getattr(leaf, "weak_type", False)) if hasattr(leaf, "dtype") else type(leaf)
        for leaf in leaves
    )


def describe(traced: Any, given: int, results: int) -> Program:
    """The program of what `jit(...).trace` gave, as far as its first results need it, by its first given leaves."""
    closed = traced.jaxpr
    wanted = [i < results for i in range(len(closed.jaxpr.outvars))]
    pruned, used = dce_jaxpr(closed.jaxpr, wanted)
    constants = [plain(constant).tobytes() for constant in closed.consts]
    return Program(digest(digest_program(pruned), *constants), tuple(used[:given]), traced.out_info)


def digest_program(jaxpr: Any, known: dict[int, bytes] | None = None) -> bytes:
    """A digest of what a program does: by its operations in order, with their parameters, types and constants.

    Not by its text: a part that occurs twice is printed once or twice, as JAX had it at hand or traced it anew.
    """
    known = {} if known is None else known
    if id(jaxpr) in known:
        return known[id(jaxpr)]
    number: dict[Any, str] = {}

    def place(atom: Any) -> str:
        if hasattr(atom, "val"):
            value = plain(atom.val) if is_key(atom.val) else np.asarray(atom.val)
            return f"={value.tobytes().hex()}:{_kind(atom.aval)}"
        if atom not in number:
            number[atom] = str(len(number))
            return f"{number[atom]}:{_kind(atom.aval)}"
        return number[atom]

    parts = [" ".join(map(place, (*jaxpr.constvars, *jaxpr.invars)))]
    for equation in jaxpr.eqns:
        parts += [equation.primitive.name, " ".join(map(place, equation.invars))]
        parts += [f"{name}={_spell(value, known)}" for name, value in sorted(equation.params.items())]
        parts += [" ".join(map(place, equation.outvars))]
    parts.append(" ".join(map(place, jaxpr.outvars)))
    known[id(jaxpr)] = digest(*(part.encode() for part in parts))
    return known[id(jaxpr)]


_kind = functools.lru_cache(10_000)(str)  # of an array: thousands of results have one of a few


def _spell(value: Any, known: dict[int, bytes]) -> str:
    """A parameter of an operation."""
    if hasattr(value, "eqns"):
        return digest_program(value, known).hex()
    if hasattr(value, "jaxpr") and hasattr(value, "consts"):
        constants = [plain(constant).tobytes() for constant in value.consts]
        return digest(digest_program(value.jaxpr, known), *constants).hex()
    if isinstance(value, (tuple, list)):
        return f"({','.join(_spell(each, known) for each in value)})"
    if isinstance(value, (np.ndarray, jax.Array)):
        return plain(value).tobytes().hex()
    return re.sub(r"0x[0-9a-f]+", "", str(value))  # functions are printed with their addresses


def name_call(program: Program, leaves: Sequence[Any]) -> bytes:
    """The name of what a program makes of these inputs."""
    return digest(program.digest, *(name_of(leaf) for leaf, used in zip(leaves, program.used, strict=True) if used))


@functools.cache
def stamp(*context: Any) -> bytes:
    """What decides bits beside programs and inputs, for names that outlive a process."""
    return digest(repr(context).encode())
