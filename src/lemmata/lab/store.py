"""The store: the results of a sweep in Zarr arrays, with a status array as the only ledger.

Arrays are created up front with NaN fill, one Zarr chunk per cell and block of seeds; an unwritten chunk reads as NaN,
never as a loss of zero. `status` has one entry per cell and block (0 pending, 1 done, 2 failed), written last, by
whoever computed the chunk; `message` says why a chunk failed. Every file is written whole or not at all and no two
chunks share one, so any number of processes may write. Written through `zarr` directly, read through `xarray`. The
fingerprint says what the data are of: setting, axes, precision, layout, sources; more seeds add blocks, any other
difference makes it another store.
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import zarr
import zarr.storage

from lemmata.lab.errors import Interrupted, UserError
from lemmata.lab.files import write_whole, writing

if TYPE_CHECKING:
    from lemmata.lab.grid import Grid
    from lemmata.lab.setting import Setting
    from lemmata.lab.simulation import Simulation

PENDING, DONE, FAILED = 0, 1, 2
MESSAGE = 500
"""Characters that are kept of a failure's message."""


@dataclass(frozen=True)
class Chunk:
    """The unit of work and of writing: one cell, with its setting, and one block of seeds."""

    cell: tuple[int, ...]
    block: int
    seeds: range
    setting: Setting = field(compare=False)

    @property
    def place(self) -> tuple[int, ...]:
        """Where its status stands."""
        return (*self.cell, self.block)


class Store:
    """An open store. `root` is its Zarr group."""

    def __init__(self, root: zarr.Group, where: Any) -> None:
        self.root = root
        self._where = where
        self._arrays: dict[str, zarr.Array] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._must_be = ""

    def __reduce__(self) -> Any:
        assert self.path is not None, "a store in memory cannot travel"
        return open_elsewhere, (str(self.path.resolve()), self.identity)

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""
        return Path(self._where.root) if isinstance(self._where, zarr.storage.LocalStore) else None

    @property
    def identity(self) -> str:
        """A name that no other store has, not even a later one in the same folder."""
        return str(self._array("status").attrs["identity"])

    @classmethod
    def create(
        cls,
        path: Path | None,
        simulation: Simulation,
        grid: Grid,
        seeds: range,
        block: int,
        shapes: Mapping[str, tuple[int, ...]],
        precision: str,
        fingerprint: Mapping[str, Any],
        notes: Mapping[str, Any] | None = None,
    ) -> Store:
        """A new store at `path` (replacing what is there), or in memory.

        `notes`: what was found out about the sweep before it was computed, for whoever goes on with it.
        """
        where = zarr.storage.MemoryStore() if path is None else _fresh(path)
        root = zarr.open_group(where, mode="w", zarr_format=2)
        axes = tuple(grid.labels)

        def add(
            name: str,
            dims: Sequence[str],
            shape: Sequence[int],
            chunks: Sequence[int],
            fill: Any,
            dtype: str,
            **more: str,
        ):
            attributes = {
                "_ARRAY_DIMENSIONS": list(dims),
                **more,
            }  # given at once: each later one is a file written again
            layout = {"shape": tuple(shape), "chunks": tuple(chunks), "dtype": dtype, "fill_value": fill}
            return root.create_array(name, compressors=None, attributes=attributes, **layout)

        coordinates = {**grid.coordinates(), **{d: np.asarray(v) for d, v in simulation.labels.items()}}
        for name, values in {**coordinates, "seed": np.asarray(list(seeds))}.items():
            add(name, [name], values.shape, values.shape, None, values.dtype.str)[...] = values
        taken = {*coordinates, *shapes}
        fields = {name: field for name, field in grid.fields().items() if name not in taken}
        for name, (axis, values) in fields.items():
            add(name, [axis], values.shape, values.shape, None, values.dtype.str)[...] = values
        ones = (1,) * len(axes)
        for name, shape in shapes.items():
            variable = simulation.variable(name)
            if len(shape) != len(variable.dims):
                raise ValueError(f"{name} has shape {shape}, but its declared dimensions are {variable.dims}")
            dims = (*axes, "seed", *variable.dims)
            chunk = (*ones, block, *shape)
            words = {"long_name": variable.meaning, "symbol": variable.symbol}
            add(name, dims, (*grid.shape, len(seeds), *shape), chunk, math.nan, precision, **words)
        blocks = -(-len(seeds) // block)
        add("message", (*axes, "block"), (*grid.shape, blocks), (*ones, 1), "", f"<U{MESSAGE}")
        identity = uuid.uuid4().hex
        add("status", (*axes, "block"), (*grid.shape, blocks), (*ones, 1), PENDING, "u1", identity=identity)
        root.attrs.update(
            {
                "fingerprint": dict(fingerprint),
                "notes": dict(notes or {}),
                "variables": list(shapes),
                "coordinates": " ".join(fields),
                "block": block,
                "seed": seeds.start,
                "seeds": len(seeds),
            }
        )
        return cls(root, where)

    @classmethod
    def open(cls, path: Path) -> Store | None:
        """The store at `path`, or None if there is none that can be read."""
        if not path.exists():
            return None
        try:
            where = zarr.storage.LocalStore(path)
            root = zarr.open_group(where, mode="r+", zarr_format=2, use_consolidated=False)
            if "fingerprint" not in root.attrs or "status" not in root:
                return None
            return cls(root, where)
        except (FileNotFoundError, json.JSONDecodeError, KeyError, ValueError):
            return None

    @property
    def notes(self) -> dict[str, Any]:
        """What was found out about the sweep before it was computed."""
        notes: Any = self.root.attrs.get("notes", {})
        return notes

    @property
    def seeds(self) -> range:
        start, count = self._number("seed"), self._number("seeds")
        return range(start, start + count)

    def _number(self, name: str) -> int:
        return int(self.root.attrs[name])  # pyright: ignore[reportArgumentType]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the data are of."""
        stored: Any = self.root.attrs["fingerprint"]
        return dict(stored)

    def difference(self, fingerprint: Mapping[str, Any]) -> str:
        """What differs from this fingerprint, in words; empty if nothing does."""
        mine = self.fingerprint
        wanted = json.loads(json.dumps(dict(fingerprint)))
        names = [name for name in {**mine, **wanted} if mine.get(name) != wanted.get(name)]
        return ", ".join(names)

    def extend(self, seeds: range) -> None:
        """Room for more seeds: new blocks; a last block that was not full becomes pending again."""
        have, block = self._number("seeds"), self._number("block")
        if len(seeds) <= have:
            return
        axes = self._array("status").ndim - 1
        status = self._array("status")
        if have % block:
            status[..., have // block] = PENDING
        for name, array in self.root.arrays():
            if name in ("status", "message"):
                array.resize((*array.shape[:-1], -(-len(seeds) // block)))
            elif name == "seed":
                array.resize((len(seeds),))
                array[...] = np.asarray(list(seeds))
            elif "seed" in self._dims(array):
                array.resize((*array.shape[:axes], len(seeds), *array.shape[axes + 1 :]))
        self.root.attrs["seeds"] = len(seeds)
        self._arrays.clear()
        self._shapes.clear()

    def _array(self, name: str) -> zarr.Array:
        # opening an array reads its metadata, which costs as much as writing a chunk
        if name not in self._arrays:
            array = self.root[name]
            assert isinstance(array, zarr.Array)
            self._arrays[name] = array
        return self._arrays[name]

    @staticmethod
    def _dims(array: zarr.Array) -> list[str]:
        return list(array.attrs["_ARRAY_DIMENSIONS"])  # pyright: ignore[reportArgumentType]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The stored results and the shape that each has in one run."""
        if not self._shapes:
            axes = self._array("status").ndim
            found = self.root.arrays()
            self._shapes = {n: a.shape[axes:] for n, a in found if n != "seed" and "seed" in self._dims(a)}
        return self._shapes

    def chunks(self, grid: Grid, count: int | None = None) -> list[Chunk]:
        """Every chunk, or those that the first `count` seeds need, cells in order."""
        seeds, size = self.seeds, self._number("block")
        blocks = [seeds[i : i + size] for i in range(0, min(count or len(seeds), len(seeds)), size)]
        return [Chunk(cell, b, block, each) for cell, each in grid.cells.items() for b, block in enumerate(blocks)]

    def status(self) -> np.ndarray:
        return np.asarray(self._array("status")[...])

    def is_done(self, chunk: Chunk) -> bool:
        return bool(self._array("status")[chunk.place] == DONE)

    def write(self, chunk: Chunk, results: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Write one chunk and then its status."""
        with self._writing():
            for name in results[0]:
                self._put(name, chunk, np.stack([result[name] for result in results]))
            self._put("status", chunk, np.asarray([DONE]))

    def fail(self, chunk: Chunk, message: str) -> None:
        """Mark one chunk as failed, with its message."""
        with self._writing():
            self._put("message", chunk, np.asarray([message[:MESSAGE]]))
            self._put("status", chunk, np.asarray([FAILED]))

    def _put(self, name: str, chunk: Chunk, values: np.ndarray) -> None:
        """Write one Zarr chunk, whose last rows, the seeds of a block that is not full, stay as they are filled.

        An uncompressed chunk of Zarr 2 is its bytes in C order. Assigning through `zarr` takes nine times as long (24
        milliseconds for 30 variables), which would be felt in chunks of a second.
        """
        array = self._array(name)
        whole = np.full((array.chunks[len(chunk.cell)], *values.shape[1:]), array.fill_value, array.dtype)
        whole[: len(values)] = values
        place = (*chunk.place, *(0 for _ in values.shape[1:]))
        if self.path is None:
            array.set_block_selection(place, whole.reshape(array.chunks))
        else:
            write_whole(self.path / name / array.metadata.encode_chunk_key(place), whole.tobytes())

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if self._must_be and self._must_be != _identity_at(self.path):
            raise Interrupted
        with writing(self.path):
            yield

    def failures(self) -> dict[tuple[int, ...], str]:
        """Messages of the chunks that are marked failed now, by place."""
        places = [tuple(map(int, place)) for place in np.argwhere(self.status() == FAILED)]
        return {place: str(np.asarray(self._array("message")[place])) for place in places}

    def finish(self) -> None:
        """Gather the metadata, so that a plain `xarray.open_zarr` reads the folder in one go.

        What processes left half-written when they were killed is removed.
        """
        with self._writing():
            for file in self.path.rglob("*.partial") if self.path else ():
                file.unlink(missing_ok=True)
            zarr.consolidate_metadata(self._where, zarr_format=2)

    def dataset(self, seeds: int | None = None) -> xr.Dataset:
        """The data, labelled; `seeds` limits how many seeds are returned."""
        ledger = ["status", "message"]
        data = xr.open_zarr(self._where, chunks=None, consolidated=False, zarr_format=2, drop_variables=ledger).load()
        names: Any = data.attrs["variables"]
        data.attrs = {}
        return data[names].isel(seed=slice(0, seeds))


def open_elsewhere(path: str, identity: str) -> Store:
    """The store of this identity, opened by a worker.

    It writes only while the folder holds that store: a command that was killed may leave workers of a cluster behind,
    and a later one may have begun anew in its folder.
    """
    store = Store.open(Path(path))
    if store is None:
        raise UserError(
            f"The worker on {socket.gethostname()} does not see {path}: choose a folder that all workers share."
        )
    store._must_be = identity
    return store


def _identity_at(path: Path | None) -> str:
    """The identity of the store that is in this folder now; empty if there is none."""
    try:
        return json.loads(((path or Path()) / "status" / ".zattrs").read_bytes())["identity"]
    except (OSError, ValueError, KeyError):
        return ""


def _fresh(path: Path) -> zarr.storage.LocalStore:
    if path.exists():
        # out of the way at once: workers that a killed command left on a cluster may still write into it
        old = path.with_name(f"{path.name}.{uuid.uuid4().hex}.old")
        path.rename(old)
        shutil.rmtree(old)
    path.parent.mkdir(parents=True, exist_ok=True)
    return zarr.storage.LocalStore(path)
