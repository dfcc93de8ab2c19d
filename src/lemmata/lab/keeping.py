"""What a simulation shows of itself to `lm.trained`: what it made (`keep`), and where its training starts (`starting`).

Programs have room for more than a setting uses. Which axes these are is known by the shapes that the fields of a
NamedTuple are annotated with, or by the shape beside an array; `counts` says how much of an axis is used, or at which
places. Outside `lm.trained` both cost nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_type_hints

import jax
import numpy as np

from lemmata.lab import live
from lemmata.lab.errors import UserError


class _Thread(threading.local):
    kept: dict[str, Any] | None = None
    given: Any = None
    started = False


_here = _Thread()


def keep(counts: Mapping[str, Any] | None = None, /, **made: Any) -> None:
    """Name what a run has made, for `lm.trained`.

        lm.keep({"samples": problem.samples}, data=data, signs=(signs, "neurons"))

    counts: by the name of an axis, how many of its entries are used, or at which places. A value is an array, a
    NamedTuple with annotated shapes, or an array with its shape. Counts and values may be functions of nothing, which
    are only called where somebody looks.
    """
    if _here.kept is not None:
        used = _used(counts)
        _here.kept |= {name: _cut(value() if callable(value) else value, used) for name, value in made.items()}


def starting(network: Any, counts: Mapping[str, Any] | None = None, /, like: Callable[[], Any] | None = None) -> Any:
    """The network that a training starts from: the one that `lm.trained` was given, or else this.

        network = lm.starting(initialise(problem, key))

    counts: as in `lm.keep`; what was cut off there stays as it is here. `like`: where the training itself makes its
    initial network, and `network` is None, a function that makes one; only its shapes are asked for.
    """
    if _here.given is None:
        return network[0] if _is_shaped(network) else network
    _here.started = True
    if like is not None:
        with live.tracing():
            network = jax.eval_shape(like)
    return _put(network, None, _here.given, _used(counts), "network")


class Watching:
    """Within it, `keep` keeps in `made`, and training starts from `network`, if one is given."""

    def __init__(self, network: Any = None) -> None:
        self._network = network
        self.made: dict[str, Any] = {}
        self.started = False

    def __enter__(self) -> dict[str, Any]:
        self._before = _here.kept, _here.given, _here.started
        _here.kept, _here.given, _here.started = self.made, self._network, False
        return self.made

    def __exit__(self, *raised: object) -> None:
        self.started = _here.started
        _here.kept, _here.given, _here.started = self._before


Used = Mapping[str, Any]
"""By axis: a slice or an array of places."""


def _used(counts: Mapping[str, Any] | None) -> Used:
    known: dict[str, Any] = {axis: count() if callable(count) else count for axis, count in (counts or {}).items()}
    return {axis: np.asarray(count) if np.ndim(count) else slice(int(count)) for axis, count in known.items()}


def _cut(value: Any, used: Used) -> Any:
    """The same on the host, with the axes of annotated fields cut to what is used."""
    if (fields := getattr(value, "_fields", None)) is not None:
        hints = _shapes(type(value))
        return type(value)(*(_cut_field(each, hints.get(n), used) for n, each in zip(fields, value, strict=True)))
    if _is_shaped(value):
        return _places(np.asarray(value[0]), value[1], used)
    return jax.tree.map(np.asarray, value)


def _cut_field(value: Any, shape: str | None, used: Used) -> Any:
    return _cut(value, used) if shape is None or not hasattr(value, "shape") else _places(value, shape, used)


def _put(room: Any, shape: str | None, given: Any, used: Used, name: str) -> Any:
    """What is given in the places of `room` that are used; `name` says where it is."""
    if (fields := getattr(room, "_fields", None)) is not None:
        if getattr(given, "_fields", None) != fields:
            raise UserError(f"The given {name} is no {type(room).__name__} with {', '.join(fields)}.")
        hints = _shapes(type(room))
        pairs = zip(fields, room, given, strict=True)
        return type(room)(*(_put(r, hints.get(field), g, used, f"{name}.{field}") for field, r, g in pairs))
    if room is None:  # a part that this network does not have
        return given
    room, shape = room if _is_shaped(room) else (room, shape)
    whole = np.zeros(room.shape, room.dtype) if isinstance(room, jax.ShapeDtypeStruct) else np.array(room)
    places = _index(whole.ndim, shape, used)
    if np.shape(given) != whole[places].shape:
        raise UserError(
            f"The given {name} has shape {np.shape(given)}; with this setting its shape is {whole[places].shape}."
        )
    whole[places] = given
    return whole


def _is_shaped(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str)


def _shapes(kind: type) -> dict[str, str]:
    """The annotated shapes of the fields of a NamedTuple."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.dim_str for name, hint in hints.items() if getattr(hint, "dim_str", None) is not None}


def _places(value: Any, shape: str, used: Used) -> np.ndarray:
    array = np.asarray(value)
    return array[_index(array.ndim, shape, used)]


def _index(dims: int, shape: str | None, used: Used) -> tuple[Any, ...]:
    """The used places of an array of this shape."""
    return tuple(_slices((shape or "...").split(), dims, used))


def _slices(names: list[str], dims: int, used: Used) -> Iterator[Any]:
    """One place per dimension; a name that stands for several (`...`, `*heads`) stands for those that are left over."""
    for name in names:
        if name == "..." or name.startswith("*"):
            yield from [slice(None)] * (dims - len(names) + 1)
        else:
            yield used.get(name, slice(None))
