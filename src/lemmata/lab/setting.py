"""Settings: one fully specified learning problem, immutable, every field declared once.

A field is a *number* (a traced leaf: sweeping it never recompiles), a *size* or a *choice* (static: one compilation
per value) or an *array* (the user's own data, Python only). The declaration carries symbol, meaning and valid range,
and gives validation, `--set`, help and axis labels. What follows from the fields is declared beside them: `derived`
numbers are traced like numbers, `fixed` ones (capacities) static like sizes. On the host a `Setting` holds plain Python
values; `problem()` turns it into a `Problem`, the pytree that compiled code reads: numbers and derived numbers as
leaves, the rest static.

Compiled functions annotate what they read with the setting's own class, `def draw(problem: Setting, ...)`: a `Problem`
has the declared attributes of its setting (fields, derived and fixed numbers) and no others, and the annotation tells
the type checker which these are. Properties and methods of a setting are for the host alone.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, dataclass_transform, overload

import numpy as np

from lemmata.lab.declarations import Declaration, parse_assignments
from lemmata.lab.errors import UserError, unknown
from lemmata.lab.looks import in_notebook

T = TypeVar("T")


class Derivation(Generic[T]):
    """An attribute that follows from the fields; it is computed on the host whenever it is read."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, setting: None, owner: type) -> Self: ...
    @overload
    def __get__(self, setting: Setting, owner: type) -> T: ...
    def __get__(self, setting: Setting | None, owner: type) -> Self | T:
        return self if setting is None else self.compute(setting)


class derived(Derivation[T]):
    """`@derived def relevant_tokens(self) -> int`: a number or array computed on the host in float64 (a count from a
    fraction) that compiled code sees traced; None where the setting has none.

        @lm.derived
        def relevant_tokens(self) -> int:
            return round(self.relevant_fraction * self.tokens)
    """


class fixed(Derivation[T]):
    """`@fixed def capacity(self) -> int`: a static value that follows from the fields (capacities, what a program does
    or leaves out); one compilation per value.

        @lm.fixed
        def room(self) -> int:
            return lm.capacity(self.samples)
    """


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
class Setting:
    """Base of every theory's setting. Subclass it and declare fields; it becomes a frozen keyword-only dataclass.

    class Setting(lm.Setting):
        steps: int = lm.number(100, "T", "training steps", low=1, integer=True)
        neurons: int = lm.size(64, "m", "neurons")

    Setting(steps=500).replace(neurons=128)
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False, init=False, repr=False)(cls)
        clash = {f.name for f in dataclasses.fields(cls)} & cls.derivations().keys()  # pyright: ignore[reportArgumentType]
        assert not clash, f"derived values shadow fields: {clash}"
        for name in cls.declarations():
            if name.startswith("_") or hasattr(Setting, name):
                raise UserError(f"A field cannot be called {name}: every setting has something of that name.")

    def __init__(self, *unnamed: Any, **given: Any) -> None:
        if unnamed:
            raise UserError(f"Give the fields of a setting by name, not as {unnamed[0]!r}.")
        for name in given:
            self.declaration(name)
        for name, declaration in self.declarations().items():
            object.__setattr__(self, name, given.get(name, declaration.default))
        self._validate(list(given))

    @classmethod
    def declarations(cls) -> dict[str, Declaration]:
        """The declared fields by name."""
        return {f.name: f.metadata["declaration"] for f in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]

    @classmethod
    def declaration(cls, name: str) -> Declaration:
        """One declaration, or an error that suggests the nearest name."""
        known = cls.declarations()
        if name not in known:
            raise unknown("field", name, known)
        return known[name]

    @classmethod
    def parse(cls, assignments: Iterable[str]) -> dict[str, Any]:
        """`["samples=64", ...]` as values of the declared kinds."""
        return parse_assignments("field", cls.declarations(), assignments)

    def replace(self, **changes: Any) -> Self:
        """This setting with some fields changed, validated again."""
        for name in changes:
            self.declaration(name)
        new = object.__new__(type(self))
        for name in self.declarations():
            object.__setattr__(new, name, changes.get(name, getattr(self, name)))
        new._validate(list(changes))
        return new

    def _validate(self, given: list[str]) -> None:
        for name, declaration in self.declarations().items():
            object.__setattr__(self, name, declaration.accept(name, getattr(self, name)))
        for sentence in self.refusals(given):
            raise UserError(sentence)

    def refusals(self, given: list[str]) -> Iterator[str]:
        """Sentences for cross-field rules that this setting breaks; `given` are the fields just set by the user."""
        yield from ()

    def misshapen(self, name: str, shape: tuple[int, ...]) -> Iterator[str]:
        """The refusal of an array field that is absent or has another shape."""
        value = getattr(self, name)
        if value is None:
            yield f"{name} is missing: it must be given from Python as an array of shape {shape}."
        elif value.shape != shape:
            yield f"{name} has shape {value.shape}; allowed is {shape}."

    def indivisible(self, part: str, whole: str) -> Iterator[str]:
        """The refusal of a count that does not divide another (heads and width)."""
        if getattr(self, whole) % getattr(self, part):
            yield f"{part} = {getattr(self, part)} is not allowed: it must divide {whole} = {getattr(self, whole)}."

    def exceeding(self, name: str, limit: str, given: list[str]) -> Iterator[str]:
        """The refusal of a number that the user has set larger than another one (batch and samples)."""
        if name in given and getattr(self, name) > getattr(self, limit):
            yield f"{name} = {getattr(self, name)} is not allowed: it must not exceed {limit} = {getattr(self, limit)}."

    def warnings(self) -> list[str]:
        """Sentences for assumptions that this setting violates and that are worth running anyway."""
        return []

    @classmethod
    def derivations(cls) -> dict[str, Derivation[Any]]:
        """The declared attributes that follow from the fields, by name; a subclass may declare one anew."""
        attributes = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        return {name: value for name, value in attributes.items() if isinstance(value, Derivation)}

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        given = {name: getattr(self, name) for name in self.declarations()}
        return {
            name: value
            for name, value in given.items()
            if isinstance(value, np.ndarray) or value != self.declaration(name).default
        }

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{name}=array{value.shape}" if isinstance(value, np.ndarray) else f"{name}={value!r}"
            for name, value in self.changed().items()
        )
        return f"{type(self).__qualname__}({fields})"

    def _repr_html_(self) -> str:
        return in_notebook("setting", self)

    def values(self) -> dict[str, Any]:
        """The fields as plain values; an array as its shape and digest."""
        plain = {}
        for name in self.declarations():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
                value = {"shape": list(value.shape), "dtype": str(value.dtype), "sha256": digest}
            plain[name] = value
        return plain

    def problem(self) -> Problem:
        """The pytree that compiled code reads."""
        _introduce_problems()
        leaves: dict[str, Any] = {}
        static: dict[str, Any] = {}
        for name, declaration in self.declarations().items():
            value = getattr(self, name)
            traced = declaration.kind == "number" or isinstance(value, np.ndarray)
            (leaves if traced else static)[name] = value
        for name, derivation in self.derivations().items():
            (leaves if isinstance(derivation, derived) else static)[name] = derivation.compute(self)
        return Problem(leaves, static)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.values() == other.values()  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash(repr(self.values()))


if TYPE_CHECKING:
    from typing import Any as _Anything  # to the type checker a problem is whatever setting a function asks for
else:
    _Anything = object


class Problem(_Anything):
    """A setting as compiled code sees it: attributes that are arrays (numbers) or static Python values.

        problem: lm.Problem = vit.Setting(samples=32).problem()
        problem.samples

    It stands in for its setting: functions that are given one are annotated with the setting's class.
    """

    def __init__(self, leaves: Mapping[str, Any], static: Mapping[str, Any]) -> None:
        self._leaves = dict(sorted(leaves.items()))
        self._static = dict(sorted(static.items()))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._leaves:
            return self._leaves[name]
        if name in self._static:
            return self._static[name]
        raise AttributeError(f"this piece does not declare the static field '{name}', so it may not read it")

    def replace(self, **numbers: Any) -> Problem:
        """The same with other values of some numbers: a second training beside the setting's own."""
        return Problem(self._leaves | numbers, self._static)

    def only(self, names: Iterable[str]) -> Problem:
        """The same numbers with these static values alone, so that other variants do not recompile the piece."""
        names = list(names)
        for name in names:
            if name not in self._static:
                more = "Numbers are given to every piece." if name in self._leaves else ""
                raise unknown("static field", name, self._static, more=more)
        return Problem(self._leaves, {name: self._static[name] for name in names})

    @property
    def static(self) -> tuple[tuple[str, Any], ...]:
        """The static values; runs may share one `vmap` if these agree."""
        return tuple(self._static.items())

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return tuple(self._leaves.values()), (tuple(self._leaves), self.static)

    @classmethod
    def tree_unflatten(cls, auxiliary: Any, leaves: Iterable[Any]) -> Problem:
        names, static = auxiliary
        return cls(dict(zip(names, leaves, strict=True)), dict(static))


@functools.cache
def _introduce_problems() -> None:
    """Tell JAX what a problem is; a command that only reads declarations does without loading it."""
    import jax

    jax.tree_util.register_pytree_node_class(Problem)


def capacity(count: int, ratio: float = 2 ** (1 / 3)) -> int:
    """The smallest term of ceil(ratio^k) that is at least `count`: few programs, at most about 1.3 times the work.

    lm.capacity(100)  # 102
    """
    assert count >= 1
    power = max(0, math.floor(math.log(count, ratio)) - 1)
    while math.ceil(ratio**power - 1e-9) < count:
        power += 1
    return math.ceil(ratio**power - 1e-9)
