"""Simulations: from one setting and one key to a dictionary of declared variables.

`simulate(setting, key, prepared=None)` is plain Python over compiled `piece`s (draw, initialise, train, probe). A piece
names the static fields it reads and sees no others, so a variant recompiles only the pieces that differ. Randomness
comes from named streams of the seed: the same seed has the same data and initial weights in every cell of a sweep.

What goes into a training comes from pieces, host pieces, streams, prepared data and numbers of the problem: then a run
can be foreseen (`foresee`) and its training is shared with every run that has the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from lemmata.lab import live, names
from lemmata.lab.errors import UserError, require_name, unknown
from lemmata.lab.pieces import host_piece, piece
from lemmata.lab.precision import numerics
from lemmata.lab.prepared import prepare_once
from lemmata.lab.setting import Problem, Setting
from lemmata.lab.sources import by_reference

__all__ = ["STREAMS", "Foresight", "Simulation", "Variable", "host_piece", "piece", "simulation", "stream"]

STREAMS = {"graph": 0, "data": 1, "init": 2, "batch": 3, "sampler": 4, "test": 5, "noise": 6}
"""The named key streams. Append only: a number that changed would change every result."""


def stream(key: jax.Array, name: str, *parts: int) -> jax.Array:
    """The key of one named stream of a run, or of a numbered part of it: `lm.stream(key, "data")`.

    The streams are graph, data, init, batch, sampler, test and noise.
    """
    if name not in STREAMS:
        raise unknown("stream", name, STREAMS)
    if isinstance(key, Tracer):
        return _fold(key, STREAMS[name], *parts)
    with jax.ensure_compile_time_eval():  # also while a run is foreseen: keys are known before anything is computed
        return _fold(key, STREAMS[name], *parts)


def _fold(key: jax.Array, *parts: int) -> jax.Array:
    for part in parts:
        key = jax.random.fold_in(key, part)
    return key


@dataclass(frozen=True)
class Variable:
    """A returned quantity: name, dimensions besides the axes and the seed, symbol, meaning.

        lm.Variable("train_loss", ("record",), "L(t)", "training loss")

    `optional`: NaN is a legitimate value (absent), also at the first record. `never`: so is inf, where what it waits
    for never happens or there is no bound; of a first passage (`reached_step`, `WHAT_step`) that is understood.
    """

    name: str
    dims: tuple[str, ...]
    symbol: str
    meaning: str
    optional: bool = False
    never: bool = False

    def __post_init__(self) -> None:
        for what, name in (("a variable", self.name), *(("a dimension", each) for each in self.dims)):
            require_name(what, name)

    @property
    def is_never(self) -> bool:
        """Whether inf has a meaning."""
        return self.never or self.name.endswith("_step")


class Foresight(NamedTuple):
    """What is known of a run before it is computed."""

    shapes: dict[str, tuple[int, ...]]
    pieces: list[live.Foreseen]

    @property
    def trainings(self) -> tuple[bytes | None, ...]:
        """The names of its trainings; runs that agree in them share these."""
        return tuple(each.name for each in self.pieces if each.trains)


def seed_of(key: Any) -> int:
    """The seed that a key was made from, or a number that stands for a key made otherwise."""
    if not names.is_key(key):
        return int(key)
    number = 0
    for part in np.asarray(jax.random.key_data(key)).ravel():
        number = number << 32 | int(part)
    return number


@dataclass(frozen=True)
class Simulation:
    """A simulation with its declared variables.

        isinstance(vit.simulate, lm.Simulation)
        vit.simulate(vit.Setting(samples=32), 0)["train_loss"]  # a setting and a seed

    Traceable: `function(problem, key, prepared) -> dict of arrays`; `prepare(setting, seed)` does host work before it
    (graph search, files) and returns NumPy arrays whose shapes depend on sizes only. Not traceable: `host` is true and
    `function(setting, seed) -> dict` is computed on the host (scikit-learn baselines, tables of a real graph).
    `precision` is what it runs in unless an experiment or a sweep asks for another.
    """

    function: Callable[..., Mapping[str, Any]]
    variables: tuple[Variable, ...]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prepare: Callable[[Any, int], Any] | None = None
    host: bool = False
    precision: str = "float32"

    def __post_init__(self) -> None:
        names = [*(each.name for each in self.variables), *self.dims]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"{self.name} has two variables or dimensions that are called {name}.")

    @property
    def dims(self) -> set[str]:
        """The dimensions of its variables."""
        return {name for each in self.variables for name in each.dims}

    def check_axes(self, axes: Iterable[str]) -> None:
        """Refuse axes that are called like something it returns."""
        taken = {*(each.name for each in self.variables), *self.dims}
        for name in axes:
            if name in taken:
                raise UserError(f"An axis cannot be called {name}, which {self.name} returns.")

    def __reduce__(self) -> Any:
        given = (self.function, self.variables, self.labels, self.prepare, self.host, self.precision)
        return by_reference(self, self.function) or (Simulation, given)

    @property
    def name(self) -> str:
        return self.function.__name__

    def variable(self, name: str) -> Variable:
        return next(v for v in self.variables if v.name == name)

    def __call__(self, setting: Setting | Problem, key: Any, prepared: Any = None) -> dict[str, Any]:
        """Simulate one run, in float64 if it is meant for that; `key` is a JAX key, or an integer: the seed."""
        with numerics("float64") if self.precision == "float64" else jax.default_matmul_precision("highest"):
            if self.host:
                return self.run(setting, key)
            if self.prepare and prepared is None:
                prepared = self.prepared(setting, key)
            if isinstance(key, (int, np.integer)):
                key = jax.random.key(int(key))
            return self.run(setting.problem() if isinstance(setting, Setting) else setting, key, prepared)

    def prepared(self, setting: Any, key: Any) -> Any:
        """Its host work before a run: computed once for every seed and the fields that it reads."""
        if self.prepare is None:
            return None
        if not isinstance(setting, Setting) or isinstance(key, Tracer):
            raise UserError(
                f"{self.name} does host work before a run: call it with a Setting and a seed (or a key that is not "
                "traced), or give it what is prepared."
            )
        return prepare_once(self.prepare, setting, seed_of(key))

    def foresee(self, setting: Setting, seed: int, precision: str = "") -> Foresight:
        """The shapes of what a run will return and the pieces that it will call, by name; nothing is computed."""
        assert not self.host, "a host simulation cannot be foreseen"
        with numerics(precision or self.precision):
            problem, key, prepared = setting.problem(), jax.random.key(seed), self.prepared(setting, seed)
            with live.foreseeing() as pieces:
                shapes = jax.eval_shape(lambda: self.run(problem, key, prepared))
        return Foresight({v.name: tuple(shapes[v.name].shape) for v in self.variables if v.name in shapes}, pieces)

    def run(self, *given: Any) -> dict[str, Any]:
        """The bare function of (problem, key, prepared), or of (setting, seed) on the host: what the ensemble calls."""
        results = self.function(*given)
        if not isinstance(results, Mapping):
            raise TypeError(f"{self.name} returned {results!r}, no dictionary of arrays")
        results = dict(results)
        undeclared = results.keys() - {v.name for v in self.variables}
        if undeclared:
            raise KeyError(f"{self.name} returned undeclared variables: {', '.join(sorted(undeclared))}")
        for name, value in results.items():
            if value is None or isinstance(value, (str, Mapping)):
                raise TypeError(f"{self.name} returned {name} = {value!r}, which is not floating point")
        return results


def simulation(
    *variables: Variable,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    prepare: Callable[[Any, int], Any] | None = None,
    host: bool = False,
    precision: str = "float32",
) -> Callable[[Callable[..., Mapping[str, Any]]], Simulation]:
    """Declare a function's variables (and the labels of their extra dimensions) and make it a `Simulation`.

    @lm.simulation(*lm.RUN, lm.Variable("gap", ("record",), "", "distance from the limit"))
    def simulate(problem: Setting, key, prepared=None):
        return train(problem, lm.stream(key, "data")).results()
    """

    def decorate(function: Callable[..., Mapping[str, Any]]) -> Simulation:
        return Simulation(function, variables, dict(labels or {}), prepare, host, precision)

    return decorate
