"""Devices: on which one a sweep is computed. It follows from the work, by a rule that was measured once.

A GPU trains a stack of runs far faster than a CPU, and its programs compile far slower: docs/performance.md has the
measurement. So small work is done by the CPU, also where there is a GPU. The choice is part of a layout and stored with
the data. `LEMMATA_DEVICE` (cpu or gpu) overrides the rule; workers of an engine compute on the device they have.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from lemmata.lab import machine
from lemmata.lab.errors import UserError

VARIABLE = "LEMMATA_DEVICE"
WORTH = 3e11
"""Operations of training per core of the CPU from which a GPU is worth its compiling: about 15 s of a core."""
BUSY = 5e7
"""Operations of a step of all runs that share a program, per core of the CPU, from which a GPU has enough to do: about
1 ms of a core. A step takes a GPU 0.2 ms, however small it is."""
SPARE = 2.5
"""A stack may need so many times the bytes that are known of it (measured: 1.9)."""


class Needs(NamedTuple):
    """What a sweep needs: bytes of its largest run at least, operations of all its trainings, and of a step of the runs
    that share a program."""

    room: int = 0
    work: float = 0.0
    step: float = 0.0

    def times(self, seeds: int) -> Needs:
        """What so many seeds of it need."""
        return Needs(self.room, seeds * self.work, seeds * self.step)


def platform() -> str:
    """The kind of device on which this thread computes."""
    chosen: Any = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return jax.default_backend() if chosen is None else chosen.platform


def device(kind: str = "") -> Any:
    """The first device of this kind, or the one on which this thread computes; None if this process has none."""
    try:
        return jax.local_devices(backend=kind or platform())[0]
    except RuntimeError:  # workers may have others
        return None


@contextlib.contextmanager
def computing(on: str) -> Iterator[None]:
    """Compute on the first device of this kind; an empty name: on the usual one."""
    with contextlib.nullcontext() if on in ("", jax.default_backend()) else jax.default_device(device(on)):
        yield


def choose(backend: str, needs: Needs) -> str:
    """The kind of device for this work in a process with this backend."""
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", "cpu", "gpu"):
        raise UserError(f"{VARIABLE} = {asked} is not allowed: it is cpu or gpu.")
    if backend == "cpu":
        if asked == "gpu":
            raise UserError(f"{VARIABLE} = gpu is not possible: JAX has no GPU here.")
        return "cpu"
    if asked == "gpu" or device("cpu") is None:  # JAX_PLATFORMS may name others alone
        return backend
    worth = needs.work >= WORTH * machine.cores() and needs.step >= BUSY * machine.cores()
    return backend if worth and asked != "cpu" else "cpu"


def memory(kind: str = "") -> int | None:
    """Bytes that the device of this kind has, or that of this thread; None if nobody tells."""
    here = device(kind)
    if here is None:
        return None
    return machine.memory() if here.platform == "cpu" else (here.memory_stats() or {}).get("bytes_limit")


def fitting(most: int, room: int, kind: str) -> int:
    """How many runs of so many bytes can be stacked on a device of this kind: a power of two, `most` at most."""
    limit = memory(kind)
    if limit is None or room == 0:
        return most
    return min(most, 2 ** max(0, int(math.log2(max(1.0, limit / (SPARE * room))))))
