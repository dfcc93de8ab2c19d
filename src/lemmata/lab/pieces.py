"""Pieces: the compiled functions that a simulation is a page of.

A piece is a pure function that is given only the fields it reads. Because the laboratory sees every piece with its
inputs, it can name what a piece makes (`lab.names`), compute a training once and share it, divide it into windows
(`lab.live`), and foresee a run without computing it. A host piece is host work inside a run: a decomposition, an
assignment problem, a solver of SciPy.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_batching import custom_vmap

from lemmata.lab import devices, live, names, programs
from lemmata.lab.room import bytes_of_program, operations_of_step
from lemmata.lab.setting import Setting
from lemmata.lab.sources import by_reference, digest_of

P = ParamSpec("P")
R = TypeVar("R")


class Known(NamedTuple):
    """What is known of a piece for inputs of some shapes: its program, and the carry of its training, if it is one."""

    program: names.Program
    carry: Any
    pace: live.Pace
    compile: Callable[[], None]
    """compiles it, once, whoever asks first"""
    room: int
    """bytes that it needs at least"""
    operations: float
    """of a step of its training"""


def piece(*static: str, once: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a pure function of (problem, ...) that reads only these static fields; its keyword arguments are static.

        @lm.piece("neurons")
        def initialise(problem: Setting, key):
            return jax.random.normal(key, (problem.neurons, 2))

    `once`: the piece runs once in a run (drawing, initialising), so compiling it fast matters more than its speed.
    A piece that calls `lab.training.loop` and is not `once` is a training: it is shared and can be divided.
    """
    return lambda function: cast("Callable[P, R]", Piece(function, static, once))


class Piece(Generic[P, R]):
    """A piece: called with arrays it computes, called while a run is foreseen it only names its results."""

    def __init__(self, function: Callable[P, R], static: tuple[str, ...], once: bool) -> None:
        functools.update_wrapper(self, function)
        self._static, self._once = static, once
        parameters = inspect.signature(function).parameters.values()
        self._keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        self._function: Callable[..., Any] = function
        self._inner: Any = jax.jit(self._trace, static_argnames=self._keywords)  # inside another program
        self._compiled: dict[Any, Any] = {}
        self._known: dict[Any, Known] = {}
        self._stacks: dict[Any, Callable[[], None]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        return by_reference(self, self._function) or (Piece, (self._function, self._static, self._once))

    @property
    def name(self) -> str:
        return f"{self._function.__module__}.{self._function.__qualname__}"

    def count_programs(self) -> int:
        """How many programs of it are compiled in this process."""
        return sum(each._cache_size() for each in (self._inner, *self._compiled.values()))

    def forget_programs(self) -> None:
        """Drop its compiled programs and what is known of them."""
        for each in (self._inner, *self._compiled.values()):
            each.clear_cache()
        self._known.clear()
        self._stacks.clear()

    def _jit(self, function: Callable[..., Any], *which: Any, **arguments: Any) -> Any:
        """The function compiled with the effort of this thread; `which` tells it from others of this piece."""
        chosen = programs.effort()
        key = function.__name__, chosen, devices.platform(), *which
        with self._lock:
            if key not in self._compiled:
                options = programs.options(chosen, self._once)
                self._compiled[key] = jax.jit(function, compiler_options=options, **arguments)
            return self._compiled[key]

    def _whole(self) -> Any:
        return self._jit(self._trace, static_argnames=self._keywords)

    def _divided(self) -> Any:
        return self._jit(self._trace_window, static_argnames=self._keywords, donate_argnums=2)

    def __call__(self, problem: Any, *args: Any, **statics: Any) -> Any:
        problem = (problem.problem() if isinstance(problem, Setting) else problem).only(self._static)
        if live.is_tracing():
            return self._inner(problem, *args, **statics)
        leaves = jax.tree.leaves((problem, args))
        if any(hasattr(leaf, "batch_dim") for leaf in leaves):
            return self._batched(leaves, problem, args, statics)
        if live.foreseen() is not None:
            return self._foresee(leaves, problem, args, statics)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return self._inner(problem, *args, **statics)
        with programs.calling(self.name):
            return self._compute(leaves, problem, args, statics)

    def _compute(self, leaves: list[Any], problem: Any, args: Any, statics: Mapping[str, Any]) -> Any:
        """One run's results."""
        around = live.current()
        if self._once and (around is None or not around.naming):
            return self._whole()(problem, *args, **statics)
        known = self._know(leaves, problem, args, statics)

        def compute(name: bytes | None) -> Any:
            known.compile()
            if known.carry is None:
                return self._whole()(problem, *args, **statics)
            divided = self._divided()
            program = lambda *window: divided(problem, args, *window, **statics)  # noqa: E731
            return live.drive(program, known.carry, around, name, known.pace)

        return self._share(compute, known, leaves, known.program.out)

    def _share(self, compute: Callable[[bytes | None], Any], known: Known, leaves: list[Any], shapes: Any) -> Any:
        """Compute, or take what is known under the same name."""
        around = live.current()
        if around is None or not around.naming:
            return compute(None)
        name = names.name_call(known.program, leaves)
        trains = known.carry is not None
        with live.alone(name) if trains else contextlib.nullcontext():
            found = around.find(self, name, shapes if trains else None)
            if found is None:
                found = compute(name)
                around.keep(self, name, found, trains)
        names.give_names(found, name)
        return jax.tree.map(lambda leaf: leaf, found)  # the same arrays in containers of the caller's own

    def _trace(self, problem: Any, *args: Any, **statics: Any) -> Any:
        outermost = live.is_measuring() and not live.is_tracing()  # the loop of a piece inside another is not divided
        with live.tracing(live.Window(None, None, None) if outermost else None):
            return self._function(problem, *args, **statics)

    def _trace_window(
        self, problem: Any, args: Any, carry: Any, fresh: Any, limit: Any, **statics: Any
    ) -> tuple[Any, live.Left]:
        window = live.Window(carry, fresh, limit)
        with live.tracing(window):
            result = self._function(problem, *args, **statics)
        assert window.left is not None
        return result, window.left

    def _know(self, leaves: list[Any], problem: Any, args: Any, statics: Mapping[str, Any]) -> Known:
        """What is known for inputs of these shapes; found by tracing, once."""
        numerics = jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
        chosen, here = programs.effort(), (programs.effort(), devices.platform())
        key = (jax.tree.structure((problem, args)), names.kinds(leaves), tuple(sorted(statics.items())), numerics)
        known = self._known.get((*key, *here))
        if known is None:
            carry = None
            # by shapes alone, so that a foreseen run has the programs of a real one
            problem, args = jax.tree.map(_spec, (problem, args))
            try:
                with contextlib.nullcontext() if self._once else live.measuring():
                    traced = self._whole().trace(problem, *args, **statics)
            except live.Measured as measured:
                (carry,) = measured.args
                window = carry, np.asarray(True), np.asarray(0, np.int32)
                traced = self._divided().trace(problem, args, *window, **statics)
            out = traced.out_info if carry is None else traced.out_info[0]
            program = names.describe(traced, len(leaves), len(jax.tree.leaves(out)))._replace(out=out)
            options = repr(programs.options(chosen, self._once)).encode()
            program = program._replace(digest=names.digest(program.digest, options))
            compiler = self._compiler(lambda: traced.lower())
            operations = 0.0 if carry is None else operations_of_step(traced.jaxpr.jaxpr)
            known = Known(program, carry, live.Pace(), compiler, bytes_of_program(traced), operations)
            known = self._known.setdefault((*key, *here), known)
        return known

    def _foresee(self, leaves: list[Any], problem: Any, args: Any, statics: Mapping[str, Any]) -> Any:
        """Results of the right shapes, named but not computed."""
        known = self._know(leaves, problem, args, statics)
        try:
            name = names.name_call(known.program, leaves)
        except names.Unnamed:
            name = None
        listed = live.foreseen()
        assert listed is not None
        about = name, known.compile, known.room, known.operations
        listed.append(live.Foreseen(self.name, known.carry is not None, *about))
        results = jax.tree.map(_pretend, known.program.out)
        if name is not None:
            names.give_names(results, name)
        return results

    def _compiler(self, lower: Callable[[], Any]) -> Callable[[], None]:
        """Compiles a program, once."""

        def compile_it() -> None:
            with programs.calling(self.name):
                lower().compile()

        return _once(compile_it)

    def _batched(self, leaves: list[Any], problem: Any, args: Any, statics: Mapping[str, Any]) -> Any:
        """Under `vmap`: one program for the stack of runs, whose training is shared and divided like one run's."""
        tree = jax.tree.structure((problem, args))
        alone = [_spec(leaf) if isinstance(leaf, Tracer) else leaf for leaf in leaves]
        one_problem, one_args = jax.tree.unflatten(tree, alone)
        known = self._know(alone, one_problem, one_args, statics)
        used = [leaf for leaf, is_used in zip(leaves, known.program.used, strict=True) if is_used]
        if not any(hasattr(leaf, "batch_dim") for leaf in used):  # the same for all runs: computed once
            pairs = zip(leaves, alone, known.program.used, strict=True)
            same = [leaf if is_used else _pretend(one) for leaf, one, is_used in pairs]
            one_problem, one_args = jax.tree.unflatten(tree, same)
            return self(one_problem, *one_args, **statics)

        @custom_vmap
        def stack(used: list[Any]) -> Any:
            # only its shapes are read: under `vmap` the rule below is called instead
            return jax.tree.map(_pretend, known.program.out)

        @stack.def_vmap
        def compute_stack(size: int, batched: list[list[bool]], used: list[Any]) -> tuple[Any, Any]:
            axes = tuple(0 if is_batched else None for is_batched in batched[0])
            result = self._compute_stack(size, axes, used, jax.tree.unflatten(tree, alone), known, statics)
            return result, jax.tree.map(lambda _: True, result)

        return stack(used)

    def _compute_stack(
        self, size: int, axes: tuple[int | None, ...], used: list[Any], one: Any, known: Known, statics: Any
    ) -> Any:
        """Compute a stack of `size` runs from the inputs that they use; an axis of None is shared by all runs.

        `one`: the inputs of one run, or their shapes.
        """
        spread = lambda specs: jax.tree.map(  # noqa: E731
            lambda spec: jax.ShapeDtypeStruct((size, *spec.shape), spec.dtype, weak_type=_is_weak(spec)), specs
        )

        leaves, tree = jax.tree.flatten(one)
        specs: list[Any] = [[_spec(leaf) for leaf in used]]
        if known.carry is not None:
            specs += [spread(known.carry), np.asarray(True), np.asarray(0, np.int32)]

        def fill(used: list[Any]) -> Any:
            given = iter(used)
            # what the program does not use may have any value
            pairs = zip(leaves, known.program.used, strict=True)
            return jax.tree.unflatten(tree, [next(given) if is_used else _pretend(leaf) for leaf, is_used in pairs])

        def whole(used: list[Any]) -> Any:
            problem, args = fill(used)
            return self._trace(problem, *args, **statics)

        def window(used: list[Any], carry: Any, fresh: Any, limit: Any) -> Any:
            problem, args = fill(used)
            return self._trace_window(problem, args, carry, fresh, limit, **statics)

        listed = live.foreseen()
        if listed is None and any(isinstance(leaf, Tracer) for leaf in used):
            return jax.vmap(whole, in_axes=(list(axes),))(used)
        if known.carry is None:
            compiled = self._jit(jax.vmap(whole, in_axes=(list(axes),)), axes, known.program.digest)
        else:
            mapped = jax.vmap(window, in_axes=(list(axes), 0, None, None))
            compiled = self._jit(mapped, axes, known.program.digest, donate_argnums=1)
        compile_stack = self._stacks.setdefault(
            (programs.effort(), devices.platform(), known.program.digest, size, axes),
            self._compiler(lambda: compiled.lower(*specs)),
        )
        if listed is not None:
            listed.append(live.Foreseen(self.name, known.carry is not None, None, compile_stack, size * known.room))
            return jax.tree.map(_pretend, spread(known.program.out))

        def compute(name: bytes | None) -> Any:
            compile_stack()
            with programs.calling(self.name):
                if known.carry is None:
                    return compiled(used)
                program = lambda *limits: compiled(used, *limits)  # noqa: E731
                return live.drive(program, spread(known.carry), live.current(), name, known.pace)

        stacked = names.digest(known.program.digest, repr((size, axes)).encode())
        program = names.Program(stacked, (True,) * len(used), None)
        return self._share(compute, known._replace(program=program), used, spread(known.program.out))


def _once(function: Callable[[], Any]) -> Callable[[], None]:
    """Calls the function the first time only; whoever asks meanwhile waits."""
    lock, waiting = threading.Lock(), [function]

    def call() -> None:
        with lock:
            if waiting:
                waiting.pop()()

    return call


def _pretend(spec: Any) -> Any:
    """An array of this shape and type, inside a trace; a number as it is."""
    if not hasattr(spec, "dtype"):
        return spec
    if names.is_key(spec):
        return jnp.broadcast_to(jax.random.key(0, impl=names.key_impl(spec)), spec.shape)
    if _is_weak(spec):
        two = jnp.add(1, 1) if jnp.issubdtype(spec.dtype, jnp.integer) else jnp.add(1.0, 1.0)
        return jnp.broadcast_to(two, spec.shape)
    return jnp.zeros(spec.shape, spec.dtype)


def _is_weak(spec: Any) -> bool:
    return getattr(spec, "weak_type", False)


def _spec(leaf: Any) -> Any:
    """An array as far as programs differ by it; under `vmap`, one run's share. A number as it is."""
    if not hasattr(leaf, "dtype"):
        return leaf
    kind = jax.typeof(leaf)
    dtype = kind.dtype if names.is_key(leaf) else jax.dtypes.canonicalize_dtype(kind.dtype)
    return jax.ShapeDtypeStruct(kind.shape, dtype, weak_type=kind.weak_type)


def host_piece(shapes: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Host work inside a run: a pure function of NumPy arrays that returns a tree of arrays.

        @lm.host_piece(lambda cost: jax.ShapeDtypeStruct(cost.shape[:1], "int32"))
        def assign(cost):
            return linear_sum_assignment(cost)[1].astype("int32")

    `shapes(*arrays)` declares what it returns as a tree of `jax.ShapeDtypeStruct`; it may read shapes and types alone.
    Legal wherever a piece is, also under `vmap`, where it is called run by run, and inside a piece.
    """
    return lambda function: cast("Callable[P, R]", HostPiece(function, shapes))


class HostPiece(Generic[P, R]):
    """A host piece. What it makes is named by the sources that it reaches and the names of its inputs."""

    def __init__(self, function: Callable[P, R], shapes: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function: Callable[..., Any] = function
        self._shapes = shapes
        self._stack: Any = custom_vmap(self._call_back)
        self._stack.def_vmap(self._compute_stack)

    def __reduce__(self) -> Any:
        return by_reference(self, self._function) or (HostPiece, (self._function, self._shapes))

    def __call__(self, *args: Any) -> Any:
        leaves = jax.tree.leaves(args)
        listed = live.foreseen()
        if live.is_tracing() or (listed is None and any(isinstance(leaf, Tracer) for leaf in leaves)):
            return self._stack(*args)
        if listed is not None:
            results = jax.tree.map(_pretend, self._shapes(*args))
            with contextlib.suppress(names.Unnamed):
                names.give_names(results, self._name(leaves))
            return results
        around = live.current()
        results = jax.tree.map(jax.device_put, self._compute(*args))  # `asarray` compiles a program
        if around is not None and around.naming:
            names.give_names(results, self._name(leaves))
        return results

    def _name(self, leaves: list[Any]) -> bytes:
        return names.digest(self._sources.encode(), *(names.name_of(leaf) for leaf in leaves))

    @functools.cached_property
    def _sources(self) -> str:
        return f"{self._function.__qualname__} {digest_of(self._function)}"

    def _compute(self, *args: Any) -> Any:
        declared = self._shapes(*args)
        found = self._function(*jax.tree.map(np.asarray, args))
        return jax.tree.map(self._check, declared, found)

    def _check(self, declared: Any, value: Any) -> np.ndarray:
        array = np.asarray(value, declared.dtype)
        if array.shape != declared.shape:
            name = self._function.__name__
            raise ValueError(f"{name} returned an array of shape {array.shape}, but declares {declared.shape}")
        return array

    def _call_back(self, *args: Any) -> Any:
        return jax.pure_callback(self._compute, self._shapes(*args), *args, vmap_method="sequential")

    def _compute_stack(self, size: int, batched: Any, *args: Any) -> tuple[Any, Any]:
        """The runs of a stack, one after the other."""
        leaves, tree = jax.tree.flatten(args)
        along = jax.tree.leaves(batched)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            axes = jax.tree.unflatten(tree, [0 if each else None for each in along])
            results = jax.vmap(self._call_back, in_axes=axes, axis_size=size)(*args)
        else:
            runs = [[leaf[i] if each else leaf for leaf, each in zip(leaves, along, strict=True)] for i in range(size)]
            found = [self._compute(*jax.tree.unflatten(tree, run)) for run in runs]
            results = jax.tree.map(lambda *values: jnp.asarray(np.stack(values)), *found)
        return results, jax.tree.map(lambda _: True, results)
