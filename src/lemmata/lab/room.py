"""Room: how many bytes a run needs at least, known before anything is compiled, and whether the machine has them.

A bound from below, by abstract evaluation: what a program is given and returns (the carry of a training among both),
and beside it the largest operation whose operands and results must lie in memory: products, sorts, decompositions,
loops. What a compiler may fuse away is not counted, so that nothing is refused that would fit.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import jax

from lemmata.lab import machine, names
from lemmata.lab.errors import UserError

if TYPE_CHECKING:
    from lemmata.lab.setting import Setting

SOLID = {
    "dot_general", "conv_general_dilated", "sort", "cholesky", "eigh", "lu", "qr", "svd", "triangular_solve", "fft",
}  # fmt: skip
"""Operations that read from memory and write into it."""
LOOPS = {"while", "scan"}


def bytes_of(spec: Any) -> int:
    """Bytes of an array of this shape and type; a number's do not count."""
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        return 0
    return math.prod(spec.shape) * (8 if names.is_key(spec) else spec.dtype.itemsize)


def bytes_of_program(traced: Any) -> int:
    """The bytes that a traced program needs at least; a loop, like a training, may write over what it was given."""
    jaxpr = traced.jaxpr.jaxpr
    return max(_largest(jaxpr), _total(jaxpr.invars), _total(jaxpr.outvars))


def _total(variables: Iterable[Any]) -> int:
    return sum(bytes_of(each.aval) for each in variables)


def _largest(jaxpr: Any) -> int:
    """The bytes of its largest operation, also inside the bodies of others."""
    most = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name in LOOPS:
            most = max(most, _total(equation.invars), _total(equation.outvars))
        elif equation.primitive.name in SOLID:
            most = max(most, _total(equation.invars) + _total(equation.outvars))
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")):
            body = getattr(inner, "jaxpr", inner)
            if hasattr(body, "eqns"):
                most = max(most, _largest(body))
    return most


def available() -> int | None:
    """Bytes that the device has which computes; None if nobody tells."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        return machine.memory()
    stats = device.memory_stats() or {}
    return stats.get("bytes_limit")


def spelled(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} PiB"


def check(what: str, needed: int, lower: Callable[[], str]) -> None:
    """Refuse what does not fit into memory; `lower` finds out which field should be lower."""
    limit = available()
    if limit is None or needed <= limit:
        return
    hint = lower()
    raise UserError(
        f"{what} needs at least {spelled(needed)} of memory, but {spelled(limit)} is all there is"
        f"{'; lower ' + hint if hint else ''}."
    )


def field_to_lower(setting: Setting, needs: Callable[[Setting], int]) -> str:
    """The field, with its value, that makes a run smallest when it is halved."""
    gains: dict[str, int] = {}
    now = needs(setting)
    for name in setting.declarations():
        value = getattr(setting, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            continue
        with contextlib.suppress(Exception):  # half of it is not allowed, or not possible for other reasons
            gains[name] = now - needs(setting.replace(**{name: value // 2}))
    best = max(gains, key=lambda name: gains[name], default="")
    return f"{best} = {getattr(setting, best)}" if best and gains[best] > 0 else ""
