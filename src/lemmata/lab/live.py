"""Live runs: what surrounds a run while it is computed, and the windows in which a training is run.

A training (a piece that reaches `lab.training.loop`) is one program that starts afresh or from a carry and goes to a
limit of steps: one call runs it whole, several calls run it in windows, to the same bits. Between two windows the host
looks: it tells how far the run is, keeps a checkpoint, or stops. `Live` is what a call of runs has around it: results
to share, a shelf, and who looks on.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import get_opaque_trace_state

from lemmata.lab import interrupts, names
from lemmata.lab.errors import Interrupted

if TYPE_CHECKING:
    from lemmata.lab.shelf import Shelf

C = TypeVar("C")
ENDLESS = 2**31 - 1
"""A limit that no run reaches: steps are 32-bit integers."""
WINDOW = 2.0
"""Seconds that a window takes, about."""
FIRST = 32
"""Steps of the first window of a program whose pace is not known."""
SHARE = 0.02
"""The share of its time that a run may spend on checkpoints."""


class Left(NamedTuple):
    """What a window leaves: where the run is, whether it goes on, and its last step if nothing stops it."""

    carry: Any
    going: jax.Array
    last: jax.Array


class Window:
    """A divided program while it is traced: what it goes on from (None: only its shapes are wanted) and leaves."""

    def __init__(self, carry: Any, fresh: Any, limit: Any) -> None:
        self.carry, self.fresh, self.limit = carry, fresh, limit
        self.level = get_opaque_trace_state()
        self.left: Left | None = None


class Measured(Exception):
    """Ends a trace of which only the carry's shapes are wanted; they are its argument."""


class _Thread(threading.local):
    window: Window | None = None
    live: Live | None = None
    foreseen: list[Foreseen] | None = None
    tracing = False
    measuring = False


_here = _Thread()


@dataclass(frozen=True)
class Foreseen:
    """A piece that a run will call: its function, whether it trains, and the name of its results (None: unknown).

    `compile` compiles its program, for a run that is computed by itself, unless that is done.
    """

    piece: str
    trains: bool
    name: bytes | None
    compile: Callable[[], None] = field(compare=False)
    room: int = field(default=0, compare=False)
    """bytes that its program needs at least"""
    operations: float = field(default=0.0, compare=False)
    """of a step of its training"""


def repeat(unfinished: Callable[[C], Any], advance: Callable[[C, Any], C], begin: C, last: jax.Array) -> C:
    """Advance from `begin` until nothing is left to do, or in a divided program to the limit of its window.

    Only a loop that stands by itself in its piece is divided: one inside `vmap` or another loop runs whole.
    """
    window = _here.window
    if window is None or window.left is not None or window.level != get_opaque_trace_state():
        return jax.lax.while_loop(unfinished, lambda carry: advance(carry, ENDLESS), begin)
    if window.carry is None:
        raise Measured(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), begin))
    start = jax.tree.map(lambda new, old: jnp.where(window.fresh, new, old), begin, window.carry)
    within = lambda carry: unfinished(carry) & (carry.step < window.limit)  # noqa: E731
    carry = jax.lax.while_loop(within, lambda carry: advance(carry, window.limit), start)
    window.left = Left(carry, unfinished(carry), last)
    return carry


@contextlib.contextmanager
def tracing(window: Window | None = None) -> Iterator[Window | None]:
    """While the body of a piece is traced: pieces that it calls are part of it, and its loop is that of the window."""
    before = _here.window, _here.tracing
    _here.window, _here.tracing = window, True
    try:
        yield window
    finally:
        _here.window, _here.tracing = before


@contextlib.contextmanager
def measuring() -> Iterator[None]:
    """A piece that is traced meanwhile raises `Measured` where its loop begins; without one it is traced as usual."""
    _here.measuring = True
    try:
        yield
    finally:
        _here.measuring = False


def is_measuring() -> bool:
    """Whether only the carry of a loop is wanted."""
    return _here.measuring


def is_tracing() -> bool:
    """Whether the body of a piece is being traced in this thread."""
    return _here.tracing


@contextlib.contextmanager
def foreseeing() -> Iterator[list[Foreseen]]:
    """Pieces compute nothing; they only name their results, and are listed."""
    _here.foreseen = []
    try:
        yield _here.foreseen
    finally:
        _here.foreseen = None


def foreseen() -> list[Foreseen] | None:
    """The list of what is foreseen in this thread; None if runs are computed."""
    return _here.foreseen


class Moment(NamedTuple):
    """Where a training is: its step, its last step if nothing stops it, and the carry (with the states of all runs,
    where runs are stacked), which is to be read at once: the next window takes its memory over."""

    step: int
    last: int
    carry: Any

    @property
    def records(self) -> dict[str, np.ndarray]:
        """What was recorded so far, `step` included."""
        steps = np.asarray(self.carry.steps)
        taken = int(np.max(np.sum(~np.isnan(steps), axis=-1)))
        cut = (slice(None),) * (steps.ndim - 1) + (slice(taken),)
        return {name: np.asarray(buffer)[cut] for name, buffer in {**self.carry.buffers, "step": steps}.items()}


class Paused(Interrupted):
    """A training has come to the step at which it was to pause; `moment` says where it is."""

    def __init__(self, moment: Moment) -> None:
        super().__init__(f"paused at step {moment.step} of {moment.last}")
        self.moment = moment


@dataclass
class Live:
    """What surrounds the runs of a call.

    shelf: where trainings are kept between calls. room: how many results of each piece are kept in memory, so that runs
    which differ only in how a network is tested share all that comes before. stopping: asked between windows. look:
    shown where a training is, after every window. until: a step at which trainings pause (`Paused`); with a shelf, the
    same run under a later one goes on from there. seconds: how long a window is to take.
    """

    shelf: Shelf | None = None
    room: int = 0
    stopping: Callable[[], bool] = lambda: False
    look: Callable[[Moment], None] = lambda moment: None
    until: int = ENDLESS
    seconds: float = WINDOW
    trained: int = 0
    reused: int = 0
    _memory: dict[Any, collections.OrderedDict[bytes, Any]] = field(default_factory=dict)

    @property
    def naming(self) -> bool:
        """Whether anybody asks for names."""
        return self.room > 0 or self.shelf is not None

    def find(self, piece: Any, name: bytes, shapes: Any = None) -> Any:
        """What a piece gave before under this name; None if it is not known. Trainings, whose `shapes` are given, are
        sought on the shelf as well."""
        found = self._memory.get(piece, {}).get(name)
        if found is None and shapes is not None and self.shelf is not None:
            found = self.shelf.read(name, shapes)
            if found is not None:
                self._remember(piece, name, found)
        self.reused += found is not None and shapes is not None
        return found

    def keep(self, piece: Any, name: bytes, result: Any, trains: bool) -> None:
        """Keep what a piece gave, for the runs of this call; what a training gave also on the shelf."""
        self._remember(piece, name, result)
        self.trained += trains
        if trains and self.shelf is not None:
            self.shelf.write(name, result)

    def _remember(self, piece: Any, name: bytes, result: Any) -> None:
        results = self._memory.setdefault(piece, collections.OrderedDict())
        results[name] = result
        while len(results) > self.room:
            results.popitem(last=False)


_training: dict[bytes, tuple[threading.Lock, list[int]]] = {}
_turn = threading.Lock()


@contextlib.contextmanager
def alone(name: bytes) -> Iterator[None]:
    """While this lasts, no other thread computes the training of this name: who asks for it too waits and finds it."""
    with _turn:
        lock, waiting = _training.setdefault(name, (threading.Lock(), []))
        waiting.append(threading.get_ident())
    try:
        with lock:
            yield
    finally:
        with _turn:
            waiting.pop()
            if not waiting:
                del _training[name]


def current() -> Live | None:
    """What surrounds the run that this thread computes."""
    return _here.live


def check() -> None:
    """Leave, between two runs, if the work was asked to stop."""
    if _here.live is not None and _here.live.stopping():
        raise Interrupted


@contextlib.contextmanager
def around(live: Live) -> Iterator[Live]:
    """Compute with this around."""
    before, _here.live = _here.live, live
    try:
        with interrupts.busy():
            yield live
    finally:
        _here.live = before


def blank(shapes: Any) -> Any:
    """A carry to be overwritten; from NumPy's zeros, since JAX would compile a program for each."""
    specs, tree = jax.tree.flatten(shapes)
    plain = [jax.eval_shape(jax.random.key_data, spec) if names.is_key(spec) else spec for spec in specs]
    zeros = jax.device_put([np.zeros(spec.shape, spec.dtype) for spec in plain])
    wrap = lambda spec, data: jax.random.wrap_key_data(data, impl=names.key_impl(spec))  # noqa: E731
    pairs = zip(specs, zeros, strict=True)
    return jax.tree.unflatten(tree, [wrap(spec, data) if names.is_key(spec) else data for spec, data in pairs])


def drive(
    program: Callable[[Any, Any, Any], tuple[Any, Left]], shapes: Any, live: Live | None, name: bytes | None, pace: Pace
) -> Any:
    """Run a divided program to its end: whole if nobody looks on, else window by window, from its checkpoint if there
    is one."""
    if live is None:
        return program(blank(shapes), np.asarray(True), np.asarray(ENDLESS, np.int32))[0]
    shelf = live.shelf if name is not None else None
    carry = None if shelf is None or name is None else shelf.read(name, shapes, part=True)
    fresh, step = carry is None, 0 if carry is None else int(np.asarray(carry.step).max())
    carry = blank(shapes) if carry is None else carry
    saved, cost = time.monotonic(), 0.0
    while True:
        began = time.monotonic()
        limit = min(pace.limit(step, live.seconds), live.until)
        result, left = program(carry, np.asarray(fresh), np.asarray(limit, np.int32))
        if not np.asarray(left.going).any():
            if shelf is not None and name is not None:
                shelf.drop(name)
            return result
        before, moment = (
            step,
            Moment(int(np.asarray(left.carry.step).max()), int(np.asarray(left.last).max()), left.carry),
        )
        step = moment.step
        pace.see(step - before, time.monotonic() - began)
        leaving = live.stopping() or step >= live.until
        age = time.monotonic() - saved
        if shelf is not None and name is not None and (leaving or (age > WINDOW / 2 and age * SHARE > cost)):
            writing = time.monotonic()
            shelf.write(name, left.carry, part=True)
            saved, cost = time.monotonic(), time.monotonic() - writing
        live.look(moment)
        if leaving:
            raise Paused(moment)
        carry, fresh = left.carry, False


class Pace:
    """The speed of a program, by its last window."""

    def __init__(self) -> None:
        self._rate = 0.0

    def limit(self, step: int, seconds: float) -> int:
        """Where a window of so many seconds ends that begins at this step."""
        return min(step + (max(1, int(self._rate * seconds)) if self._rate else FIRST), ENDLESS)

    def see(self, steps: int, seconds: float) -> None:
        self._rate = steps / max(seconds, 1e-6)
