"""The shelf: what trainings gave, and where unfinished ones are, in files called by their names.

A file holds a digest and the bytes of the leaves; their shapes come from the program. It is written whole or not at
all, found only under the very name of its content, and never needed: a file that is missing or damaged is computed
again. The oldest go when the folder has grown beyond its bound.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lemmata.lab import names
from lemmata.lab.files import remove_partials, write_whole
from lemmata.lab.inputs import unheard

ROOM = 2**30
"""Bytes that a folder may hold."""
UNFINISHED = ".part"
_written = itertools.count()
"""How many files this process has written: now and then their folder is tidied."""


@dataclass(frozen=True)
class Shelf:
    """A folder of finished and unfinished trainings. `stamp`: what decides bits beside programs and their inputs."""

    folder: Path
    stamp: bytes
    room: int = ROOM
    damaged: list[str] = field(default_factory=list, compare=False)
    """what was found there and is not what was put there"""

    def read(self, name: bytes, shapes: Any, part: bool = False) -> Any:
        """What lies there under this name, as arrays of these shapes; None if nothing usable does."""
        path = self._path(name, part)
        try:
            with unheard():
                content = path.read_bytes()
        except OSError:
            return None
        specs, tree = jax.tree.flatten(shapes)
        payload = memoryview(content)[names.BYTES :]
        sizes = [math.prod(spec.shape) * spec.dtype.itemsize for spec in map(_plain, specs)]
        if len(payload) != sum(sizes) or names.digest(payload.tobytes()) != content[: names.BYTES]:
            self.damaged.append(path.name)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the oldest is what was not asked for longest
        starts = [0, *itertools.accumulate(sizes)]
        leaves = [_restore(payload[a:b], spec) for a, b, spec in zip(starts, starts[1:], specs, strict=False)]
        return jax.tree.unflatten(tree, leaves)

    def has(self, name: bytes) -> bool:
        """Whether a finished training lies there under this name."""
        return self._path(name, part=False).exists()

    def write(self, name: bytes, tree: Any, part: bool = False) -> None:
        """Put it there; a disk that refuses only means that it will be computed again."""
        payload = b"".join(names.plain(leaf).tobytes() for leaf in jax.tree.leaves(tree))
        if len(payload) > self.room // 4:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._path(name, part), names.digest(payload) + payload)
            if next(_written) % 64 == 0:
                with unheard():
                    self.tidy()

    def drop(self, name: bytes) -> None:
        """An unfinished training is finished."""
        self._path(name, part=True).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove the oldest files beyond the bound, and what a killed process left half-written."""
        remove_partials(self.folder)
        found = []
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):
                found.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
        newest_first = sorted(found, reverse=True)
        held = itertools.accumulate(size for _, size, _ in newest_first)
        for (_, _, path), total in zip(newest_first, held, strict=True):
            if total > self.room:
                Path(path).unlink(missing_ok=True)

    def _path(self, name: bytes, part: bool) -> Path:
        return self.folder / (names.digest(self.stamp, name).hex() + (UNFINISHED if part else ""))


def _plain(spec: Any) -> Any:
    """The shape and type of an array's data; a key's are those of its numbers."""
    return jax.eval_shape(jax.random.key_data, spec) if names.is_key(spec) else spec


def _restore(content: memoryview, spec: Any) -> jax.Array:
    plain = _plain(spec)
    array = jax.device_put(np.frombuffer(content, plain.dtype).reshape(plain.shape))
    return jax.random.wrap_key_data(array, impl=names.key_impl(spec)) if names.is_key(spec) else array
