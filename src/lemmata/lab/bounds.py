"""Bounds: closed-form calculators of a document (width, samples, iterations, ...).

A calculator is a pure vectorised function; its parameters are declared once, like the fields of a setting. Constants
that the paper leaves open default to 1 and the answer says so. Where a bound says nothing (its base is not positive,
the number overflows) the value is infinite and the answer is called vacuous.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lemmata.lab.declarations import Declaration, choice, number, parse_assignments, spell
from lemmata.lab.errors import UserError, unknown
from lemmata.lab.looks import in_notebook


def parameter(default: float, symbol: str, meaning: str, **valid: Any) -> Declaration:
    """Declare one parameter of a calculator, as `number` declares a field of a setting.

    alpha = lm.parameter(0.4, "α", "fraction of relevant tokens", low=0, high=1)
    """
    return number(default, symbol, meaning, **valid).metadata["declaration"]


def option(default: str, meaning: str, *options: str) -> Declaration:
    """Declare a parameter that is one of several words, as `choice` declares a field of a setting.

    kind = lm.option("order", "which formula", "order", "exact")
    """
    return choice(default, meaning, *options).metadata["declaration"]


@dataclass(frozen=True, repr=False)
class Bound:
    """A closed-form calculator with its reference and declared parameters.

        vit.bounds.samples_vit(alpha=0.4)       # isinstance(..., lm.Bound): called like a function
        vit.bounds.samples_vit.evaluate(alpha=0.4)["vacuous"]

    What is not given has the declared default, what is not allowed is an `lm.UserError`; numbers may be arrays.
    `evaluate` is the whole answer of `lemmata bound`. `help(bound)` shows formula and parameters.
    """

    name: str
    reference: str
    function: Callable[..., Any]
    parameters: dict[str, Declaration]
    note: str = ""
    logarithmic: bool = field(default=False)
    """The function returns log10 of the value, for numbers beyond floating point."""
    limit: float | Callable[..., float] = math.inf
    """The largest value that anybody could run, or a function of the inputs that gives it (as many samples as there
    are); beyond it the bound is vacuous in practice."""
    remark: Callable[..., str] | None = None
    """A sentence for these inputs: which term decides, what is usable instead."""
    positive: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What must be positive for the bound to say anything: in symbols, and as a function of the inputs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", "\n".join(self._lines()))
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__signature__", self._signature())

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """The value (log10 of it if `logarithmic`) at these parameters, the others at their defaults."""
        given = {**self._named(args, inputs), **inputs}
        for name, value in given.items():
            if name not in self.parameters:
                raise unknown("parameter", name, self.parameters, self.name)
            _check(name, value, self.parameters[name])
        complete = {name: given.get(name, p.default) for name, p in self.parameters.items()}
        try:
            with np.errstate(all="ignore"):
                return self.function(**complete)
        except (OverflowError, ZeroDivisionError):
            return math.inf

    def _named(self, args: tuple[Any, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments without a name, by the name that the function gives them."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [p.name for p in inspect.signature(self.function).parameters.values() if p.kind in kinds]
        if len(args) > len(names):
            raise UserError(f"{self.name} has {len(names)} parameters in order ({', '.join(names)}), not {len(args)}.")
        named = dict(zip(names, args, strict=False))
        if twice := sorted(named.keys() & inputs.keys()):
            raise UserError(f"{self.name} was given {twice[0]} twice.")
        return named

    def _signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind, default=p.default) for n, p in self.parameters.items()])

    def _lines(self) -> Iterator[str]:
        """What it computes, where that stands, and its parameters."""
        yield inspect.getdoc(self.function) or self.name
        yield ""
        yield f"Reference: {self.reference}"
        if self.logarithmic:
            yield "Called, it returns log10 of the value."
        if self.note:
            yield f"Note: {self.note}."
        yield "Parameters:"
        for name, p in self.parameters.items():
            symbol = f"{p.symbol}, " if p.symbol else ""
            yield f"  {name} = {spell(p.default)}: {symbol}{p.meaning} ({p.allowed()})"

    def __repr__(self) -> str:
        return f"<bound {self.name}{self._signature()}>"

    def _repr_html_(self) -> str:
        return in_notebook("bound", self)

    def parse(self, assignments: Iterable[str]) -> dict[str, Any]:
        """`["alpha=.4", ...]` as inputs."""
        return parse_assignments("parameter", self.parameters, assignments, self.name)

    def evaluate(self, **given: Any) -> dict[str, Any]:
        """The answer of `lemmata bound`: inputs, value, log10, vacuous, note."""
        for name in given:
            if name not in self.parameters:
                raise unknown("parameter", name, self.parameters, self.name)
        inputs = {name: p.accept(name, given.get(name, p.default)) for name, p in self.parameters.items()}
        try:
            with np.errstate(all="ignore"):
                result = float(self.function(**{name: _as_number(value) for name, value in inputs.items()}))
        except (OverflowError, ZeroDivisionError):
            result = math.inf
        log10 = result if self.logarithmic else math.log10(result) if 0 < result < math.inf else None
        value = result
        if self.logarithmic:
            value = 10.0**result if result < 308 else math.inf
            if 0.5 < value < 2**53 and abs(value - round(value)) < 1e-9 * value:
                value = float(round(value))  # a whole number that went through its logarithm
        known = math.isfinite(result) or (self.logarithmic and result == -math.inf)  # -inf: the value is 0
        limit = self.limit(**inputs) if callable(self.limit) else self.limit
        useless = known and log10 is not None and log10 > math.log10(limit)
        notes = [self.note] if self.note else []
        if not known:
            notes.append(f"vacuous here: {self._reason(inputs)}")
        elif useless:
            notes.append(f"vacuous in practice: about 10^{log10:.1f}, and more than {limit:.3g} cannot be run")
        elif not math.isfinite(value):
            notes.append(f"the value is about 10^{log10:.1f}, beyond floating point")
        if self.remark:
            with np.errstate(all="ignore"):
                notes.append(self.remark(**inputs))
        return {
            "inputs": inputs,
            "value": value if math.isfinite(value) else None,
            "log10": log10 if log10 is not None and math.isfinite(log10) else None,
            "vacuous": useless or not known,
            "note": "; ".join(notes),
        }

    def _reason(self, inputs: Mapping[str, Any]) -> str:
        """Why the bound says nothing at these inputs."""
        values = {words: float(formula(**inputs)) for words, formula in self.positive.items()}
        odd = [f"{words} = {value:.4g} is not positive" for words, value in values.items() if not value > 0]
        return " and ".join(odd) or "the bound is not finite at these inputs"


def bound(
    reference: str,
    note: str = "",
    *,
    logarithmic: bool = False,
    limit: float | Callable[..., float] = math.inf,
    remark: Callable[..., str] | None = None,
    positive: Mapping[str, Callable[..., Any]] | None = None,
    **parameters: Declaration,
) -> Callable[[Callable[..., Any]], Bound]:
    """Declare a function as a calculator; its name is the function's, its docstring begins with the formula.

        @lm.bound("Theorem 1", M=lm.parameter(5, "M", "patterns", low=1), N=lm.parameter(100, "N", "samples", low=1))
        def width(M, N):
            "M² log N."
            return M**2 * np.log(N)

    note: a remark for every answer. limit: beyond it nobody could run it. remark: a sentence for these inputs.
    `positive={"α - σ": lambda alpha, sigma, **_: alpha - sigma}` says why the bound is vacuous where that is not so.
    """

    def decorate(function: Callable[..., Any]) -> Bound:
        return Bound(
            function.__name__, reference, function, parameters, note, logarithmic, limit, remark, positive or {}
        )

    return decorate


def _check(name: str, value: Any, declaration: Declaration) -> None:
    """Refuse what is not allowed; of an array its ends, where it has any. What JAX traces is not known."""
    if isinstance(value, (str, numbers.Real, np.generic)) or value is None:
        declaration.accept(name, value)
    elif isinstance(value, (np.ndarray, list, tuple)) or hasattr(value, "dims"):
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            declaration.accept(name, value)
        known = array[np.isfinite(array)]
        for end in (known.min(), known.max()) if known.size else ():
            replace(declaration, integer=False).accept(name, end)


def _as_number(value: Any) -> Any:
    """An integer that no 64 bits hold as a float: NumPy has no functions of it."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
