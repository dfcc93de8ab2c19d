"""Simulations: from one setting and one key to a dictionary of declared variables.

`simulate(setting, key, prepared=None)` is plain Python over compiled `piece`s (draw, initialise, train, probe). A piece
names the static fields it reads and sees no others, so a variant recompiles only the pieces that differ. Randomness
comes from named streams of the seed: the same seed has the same data and initial weights in every cell of a sweep.
"""

from __future__ import annotations

import functools
import inspect
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar, cast

import jax
import numpy as np
from jax.core import Tracer

from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem, Setting

P = ParamSpec("P")
R = TypeVar("R")

STREAMS = {"graph": 0, "data": 1, "init": 2, "batch": 3, "sampler": 4, "test": 5, "noise": 6}
"""The named key streams. Append only: a number that changed would change every result."""


def stream(key: jax.Array, name: str) -> jax.Array:
    """The key of one named stream of a run."""
    return jax.random.fold_in(key, STREAMS[name])


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """An independent stream of the run for every purpose of its host work."""
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in purpose)])


@dataclass(frozen=True)
class Variable:
    """A returned quantity: name, dimensions besides the axes and the seed, symbol, meaning.

    `optional`: NaN is a legitimate value (absent), also at the first record.
    """

    name: str
    dims: tuple[str, ...]
    symbol: str
    meaning: str
    optional: bool = False


def piece(*static: str, once: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a pure function of (problem, ...) that reads only these static fields; its keyword arguments are static.

    `once`: the piece runs once in a run (drawing, initialising), so compiling it fast matters more than its speed.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        keywords = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        compiled = jax.jit(function, static_argnames=keywords)
        hasty = jax.jit(function, static_argnames=keywords, compiler_options={"xla_backend_optimization_level": 1})

        @functools.wraps(function)
        def call(problem: Problem, *args: Any, **statics: Any) -> Any:
            problem = problem.only(static)
            # compiler options are only for calls that are not part of a larger trace (vmap, eval_shape)
            traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((problem, args)))
            return (hasty if once and not traced else compiled)(problem, *args, **statics)

        setattr(call, "compiled", hasty if once else compiled)  # noqa: B010
        return cast(Callable[P, R], call)

    return decorate


@dataclass(frozen=True)
class Simulation:
    """A simulation with its declared variables.

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
            if isinstance(key, (int, np.integer)):
                if self.prepare and prepared is None and isinstance(setting, Setting):
                    prepared = self.prepare(setting, int(key))
                key = jax.random.key(int(key))
            return self.run(setting.problem() if isinstance(setting, Setting) else setting, key, prepared)

    def run(self, *given: Any) -> dict[str, Any]:
        """The bare function of (problem, key, prepared), or of (setting, seed) on the host: what the ensemble calls."""
        results = dict(self.function(*given))
        undeclared = results.keys() - {v.name for v in self.variables}
        if undeclared:
            raise KeyError(f"{self.name} returned undeclared variables: {', '.join(sorted(undeclared))}")
        return results


def simulation(
    *variables: Variable,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    prepare: Callable[[Any, int], Any] | None = None,
    host: bool = False,
    precision: str = "float32",
) -> Callable[[Callable[..., Mapping[str, Any]]], Simulation]:
    """Declare a function's variables (and the labels of their extra dimensions) and make it a `Simulation`."""

    def decorate(function: Callable[..., Mapping[str, Any]]) -> Simulation:
        return Simulation(function, variables, dict(labels or {}), prepare, host, precision)

    return decorate
