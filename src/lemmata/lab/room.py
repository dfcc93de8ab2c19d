"""Room: how many bytes a run needs at least, and how many operations a step of its training, known before anything is
compiled; and whether the machine has these bytes.

A bound from below, by abstract evaluation: what a program is given and returns (the carry of a training among both),
and beside it the largest operation whose operands and results must lie in memory: products, sorts, decompositions,
loops. What a compiler may fuse away is not counted, so that nothing is refused that would fit.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax

from lemmata.lab import devices, names
from lemmata.lab.errors import UserError

if TYPE_CHECKING:
    from lemmata.lab.setting import Setting

SOLID = {
    "dot_general", "conv_general_dilated", "sort", "cholesky", "eigh", "lu", "qr", "svd", "triangular_solve", "fft",
}  # fmt: skip
"""Operations that read from memory and write into it."""
LOOPS = {"while", "scan"}
FREE = {"broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "convert_element_type", "iota", "copy"}
"""Operations that compute nothing."""


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
        most = max([most, *map(_largest, _bodies(equation))])
    return most


def _bodies(equation: Any) -> Iterator[Any]:
    """The programs inside an operation."""
    for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")):
        body = getattr(inner, "jaxpr", inner)
        if hasattr(body, "eqns"):
            yield body


def operations_of_step(jaxpr: Any) -> float:
    """The operations of a step of a training, about: those in the body of its innermost loop; 0 without a loop."""
    most = 0.0
    for equation in jaxpr.eqns:
        inner = max(map(operations_of_step, _bodies(equation)), default=0.0)
        if equation.primitive.name == "while":
            inner = inner or max(map(_operations, _bodies(equation)))
        most = max(most, inner)
    return most


def _operations(jaxpr: Any) -> float:
    """Additions and multiplications of a program that is run once; those of loops of unknown length are left out."""
    total = 0.0
    for equation in jaxpr.eqns:
        name, bodies = equation.primitive.name, list(_bodies(equation))
        results = sum(math.prod(getattr(each.aval, "shape", ())) for each in equation.outvars)
        if name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            total += 2 * results * math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
        elif bodies and name != "while":
            total += sum(map(_operations, bodies)) * equation.params.get("length", 1)
        elif not bodies and name not in FREE:
            total += results
    return total


def spelled(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} EiB"


def check(what: str, needed: int, lower: Callable[[], str]) -> None:
    """Refuse what does not fit into memory; `lower` finds out which field should be lower."""
    limit = devices.memory()
    if limit is None or needed <= limit:
        return
    hint = lower()
    least = f"needs at least {spelled(needed)} of memory, but {spelled(limit)} is all there is"
    hint = f"; lower {hint}" if hint else ""
    raise UserError(f"{what} {least if needed < sys.maxsize else 'is larger than anything can be counted'}{hint}.")


def field_to_lower(setting: Setting, needs: Callable[[Setting], int]) -> str:
    """The field, with its value, that makes a run smallest when it is halved, or when only a little of it is left: a
    size that no array has may need several halvings until anything is known of it."""
    now = needs(setting)
    sizes = {name: getattr(setting, name) for name in setting.declarations()}
    sizes = {name: n for name, n in sizes.items() if isinstance(n, int) and not isinstance(n, bool) and n > 1}
    for part in (2, 2**10, 2**20, 2**40, 2**2000):
        gains: dict[str, int] = {}
        for name, value in sizes.items():
            with contextlib.suppress(Exception):  # so little of it is not allowed, or not possible for other reasons
                gains[name] = now - needs(setting.replace(**{name: max(1, value // part)}))
        best = max(gains, key=lambda name: gains[name], default="")
        if best and gains[best] > 0:
            return f"{best} = {sizes[best]}"
    return ""
