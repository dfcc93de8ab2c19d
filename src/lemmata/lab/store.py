"""The store: the results of a sweep in Zarr arrays, with a ledger of statuses and digests.

Arrays are created up front with NaN fill, one Zarr chunk per cell and block of seeds; an unwritten chunk reads as NaN,
never as a loss of zero. `status` has one entry per cell and block (0 pending, 1 done, 2 failed), written last, by
whoever computed the chunk; `digest` is that of the files for which the status stands, and `message` says why a chunk
failed. A chunk whose files are not those of its digest, or whose status cannot be read, is pending. Every file is
written whole or not at all and no two chunks share one, so any number of processes may write. Written without `zarr`
(its frame: `lab.frame`), read through `xarray`. The fingerprint says what the data are of: setting, axes, precision,
layout, sources, inputs; more seeds add blocks, any other difference makes it another store.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import zarr
import zarr.storage
from zarr.errors import ZarrUserWarning

from lemmata.lab import frame
from lemmata.lab.errors import Interrupted, UserError, printable
from lemmata.lab.files import remove_partials, sync_folder, write_whole, writing
from lemmata.lab.frame import ATTRIBUTES, DIGEST, LEDGER, MESSAGE, Content
from lemmata.lab.names import digest

if TYPE_CHECKING:
    from lemmata.lab.grid import Grid
    from lemmata.lab.setting import Setting
    from lemmata.lab.simulation import Simulation

PENDING, DONE, FAILED = 0, 1, 2
INPUTS = "inputs"
"""How the file that says which data files were read for a chunk ends; it lies beside the chunk's digest."""


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
    """An open store. `root` is its Zarr group, `attributes` what its folder says of it."""

    def __init__(self, attributes: dict[str, Any], path: Path | None = None, root: zarr.Group | None = None) -> None:
        self.attributes, self.path = attributes, path
        self._root = root
        self._arrays: dict[str, zarr.Array] = {}
        self._must_be = ""

    def __reduce__(self) -> Any:
        assert self.path is not None, "a store in memory cannot travel"
        return open_elsewhere, (str(self.path.resolve()), self.identity)

    @property
    def root(self) -> zarr.Group:
        if self._root is None:
            self._root = zarr.open_group(self._where, mode="r+", zarr_format=2, use_consolidated=False)
        return self._root

    @property
    def _where(self) -> Any:
        return self.root.store if self.path is None else zarr.storage.LocalStore(self.path)

    @property
    def identity(self) -> str:
        """A name that no other store has, not even a later one in the same folder."""
        return str(self.attributes.get("identity"))

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
        content = Content(simulation, grid, seeds, block, shapes, precision)
        about = {"identity": uuid.uuid4().hex, "fingerprint": dict(fingerprint), "notes": dict(notes or {})}
        root, files = frame.build(content, about)
        attributes = json.loads(files[ATTRIBUTES])
        if path is None:
            return cls(attributes, root=root)
        _put_in_place(path, files)
        return cls(attributes, path)

    @classmethod
    def open(cls, path: Path) -> Store | None:
        """The store at `path`, or None if there is nothing; what cannot be read is refused."""
        return cls(frame.read_attributes(path), path) if path.exists() else None

    @property
    def notes(self) -> dict[str, Any]:
        """What was found out about the sweep before it was computed."""
        return self.attributes["notes"]

    @property
    def seeds(self) -> range:
        return range(self.attributes["seed"], self.attributes["seed"] + self.attributes["seeds"])

    @property
    def block(self) -> int:
        """Seeds in a block."""
        return self.attributes["block"]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the data are of."""
        return dict(self.attributes["fingerprint"])

    def difference(self, fingerprint: Mapping[str, Any]) -> str:
        """What differs from this fingerprint, in words; empty if nothing does."""
        mine = self.fingerprint
        wanted = json.loads(json.dumps(dict(fingerprint)))
        names = [name for name in {**mine, **wanted} if mine.get(name) != wanted.get(name)]
        return ", ".join(names)

    def content(self, simulation: Simulation, grid: Grid, precision: str) -> Content:
        """What it is of."""
        return Content(simulation, grid, self.seeds, self.block, self.shapes(), precision)

    def mend(self, content: Content) -> bool:
        """Make its frame anew if that is damaged or incomplete; whether it was."""
        if self.path is None:
            return False
        remove_partials(self.path)  # of which zarr would speak
        if self._is_framed():
            return False
        self._lay(content)
        return True

    def _is_framed(self) -> bool:
        """Whether its frame is as it was written."""

        def read(name: str) -> bytes | None:
            with contextlib.suppress(OSError):
                return ((self.path or Path()) / name).read_bytes()

        return self.attributes.get("frame") == frame.digest_of_files(frame.names_of(self.attributes), read)

    def extend(self, content: Content, seeds: range) -> None:
        """Room for more seeds: new blocks; a last block that was not full becomes pending again."""
        if len(seeds) <= len(self.seeds):
            return
        if len(self.seeds) % self.block:
            for cell in content.grid.cells:
                self._write("status", (*cell, len(self.seeds) // self.block), bytes([PENDING]))
        self._lay(replace(content, seeds=seeds))

    def _lay(self, content: Content) -> None:
        """Write the frame of this content; the attributes first, from which the rest can be made again."""
        assert self.path is not None
        about = {name: self.attributes[name] for name in ("identity", "fingerprint", "notes")}
        _, files = frame.build(content, about)
        self.attributes = json.loads(files[ATTRIBUTES])
        write_whole(self.path / ATTRIBUTES, files.pop(ATTRIBUTES), lasting=True)
        for name, text in files.items():
            (self.path / name).parent.mkdir(exist_ok=True)
            write_whole(self.path / name, text)
        self._root = None
        self._arrays.clear()

    def _array(self, name: str) -> zarr.Array:
        # opening an array reads its metadata, which costs as much as writing a chunk
        if name not in self._arrays:
            if self._root is None:
                self._require_frame()
            self._arrays[name] = _as_array(self.root[name])
        return self._arrays[name]

    def _require_frame(self) -> None:
        """Refuse a frame that somebody changed while the store was in use; opening it again mends that."""
        if self.path and not (frame.identity_at(self.path) == self.identity and self._is_framed()):
            raise UserError(f"{self.path} was changed while it was in use; run the same command again.")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The stored results and the shape that each has in one run."""
        return {name: tuple(shape) for name, shape in self.attributes["shapes"].items()}

    def chunks(self, grid: Grid, count: int | None = None) -> list[Chunk]:
        """Every chunk, or those that the first `count` seeds need, cells in order."""
        blocks = list(enumerate(self._blocks(count)))
        return [Chunk(cell, b, block, each) for cell, each in grid.cells.items() for b, block in blocks]

    def _blocks(self, count: int | None = None) -> list[range]:
        seeds, size = self.seeds, self.block
        return [seeds[i : i + size] for i in range(0, min(count or len(seeds), len(seeds)), size)]

    def status(self) -> np.ndarray:
        """The status of every cell and block; one that cannot be read, or is none, is pending."""
        array = self._array("status")
        if self.path is None:
            return np.asarray(array[...])
        places = itertools.product(*map(range, array.shape))
        return np.asarray([self._status_at(place) for place in places], "u1").reshape(array.shape)

    def _status_at(self, place: tuple[int, ...]) -> int:
        content = self._read("status", place)
        return content[0] if content in (bytes([DONE]), bytes([FAILED])) else PENDING

    def is_done(self, chunk: Chunk) -> bool:
        return self._status_at(chunk.place) == DONE

    def check(self) -> list[tuple[int, ...]]:
        """The places whose files are not those for which their status stands; they are pending from now on."""
        blocks = self._blocks()
        lost = []
        for place in map(tuple, np.argwhere(self.status() != PENDING).tolist() if self.path else ()):
            names = [*self.shapes(), INPUTS] if self._status_at(place) == DONE else ["message"]
            known = self._read("digest", place)
            if known != _spelled(self._sign(place, blocks[place[-1]], {n: self._read(n, place) for n in names})):
                lost.append(place)
                with self._writing():
                    self._write("status", place, bytes([PENDING]))
        return lost

    def write(
        self, chunk: Chunk, results: Sequence[Mapping[str, np.ndarray]], inputs: Mapping[str, str] | None = None
    ) -> None:
        """Write one chunk, with the data files that were read for it, and then its digest and status."""
        columns = {name: np.stack([result[name] for result in results]) for name in results[0]}
        files = {name: self._filled(name, values) for name, values in columns.items()}
        self._enter(chunk, {**files, INPUTS: json.dumps(inputs, sort_keys=True).encode() if inputs else b""}, DONE)

    def inputs(self) -> dict[str, str]:
        """The data files that were read for what is stored, with their digests."""
        found = dict(self.notes.get(INPUTS, {}))
        for place in map(tuple, np.argwhere(self.status() == DONE).tolist() if self.path else ()):
            found |= json.loads(self._read(INPUTS, place) or b"{}")
        return found

    def fail(self, chunk: Chunk, message: str) -> None:
        """Mark one chunk as failed, with its message."""
        content = self._filled("message", np.asarray([printable(message)[:MESSAGE]]))
        self._enter(chunk, {"message": content}, FAILED)

    def _enter(self, chunk: Chunk, files: Mapping[str, bytes], status: int) -> None:
        signed = _spelled(self._sign(chunk.place, chunk.seeds, files))
        with self._writing():
            for name, content in {**files, "digest": signed, "status": bytes([status])}.items():
                self._write(name, chunk.place, content)

    def _filled(self, name: str, values: np.ndarray) -> bytes:
        """One Zarr chunk, whose last rows, the seeds of a block that is not full, are as they are filled.

        An uncompressed chunk of Zarr 2 is its bytes in C order. Assigning through `zarr` takes nine times as long (24
        milliseconds for 30 variables), which would be felt in chunks of a second.
        """
        array = self._array(name)
        count = self.block if name in self.attributes["shapes"] else 1
        whole = np.full((count, *values.shape[1:]), array.fill_value, array.dtype)
        whole[: len(values)] = values
        return whole.tobytes()

    def _sign(self, place: tuple[int, ...], seeds: range, files: Mapping[str, bytes | None]) -> str:
        """The digest of the files of a chunk, at this place of this store, for these seeds."""
        about = json.dumps([self.attributes["fingerprint"], place, seeds.start, seeds.stop], sort_keys=True).encode()
        parts = [part for name in sorted(files) for part in (name.encode(), files[name] or b"")]
        return digest(about, *parts).hex()

    def _file(self, name: str, place: tuple[int, ...]) -> Path:
        assert self.path is not None
        if name == INPUTS:
            return self.path / "digest" / f"{'.'.join(map(str, place))}.{INPUTS}"
        inner = (0,) * len(self.attributes["shapes"].get(name, ()))
        return self.path / name / ".".join(map(str, (*place, *inner)))

    def _read(self, name: str, place: tuple[int, ...]) -> bytes | None:
        """The content of a chunk's file; None if it cannot be read."""
        if self.path is None:
            return np.asarray(self._array(name).get_block_selection(place)).tobytes()
        try:
            return self._file(name, place).read_bytes()
        except OSError:
            return None

    def _write(self, name: str, place: tuple[int, ...], content: bytes) -> None:
        if name == INPUTS:
            self._write_inputs(place, content)
        elif self.path is None:
            array = self._array(name)
            inner = (0,) * (array.ndim - len(place))
            array.set_block_selection((*place, *inner), np.frombuffer(content, array.dtype).reshape(array.chunks))
        else:
            write_whole(self._file(name, place), content)

    def _write_inputs(self, place: tuple[int, ...], content: bytes) -> None:
        """A file of text, if there is anything to say."""
        if self.path is None:
            return
        file = self._file(INPUTS, place)
        if content:
            write_whole(file, content)
        else:
            file.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if self._must_be and self._must_be != frame.identity_at(self.path or Path()):
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
        if self.path is None:
            return
        self._require_frame()
        with self._writing():
            remove_partials(self.path, deep=True)
            remove_leftovers(self.path)
            text, file = frame.gathered(self.path, self.attributes), self.path / frame.GATHERED
            if not file.exists() or file.read_bytes() != text:
                write_whole(file, text)

    def dataset(self, seeds: int | None = None) -> xr.Dataset:
        """The data, labelled; `seeds` limits how many seeds are returned."""
        given = {"consolidated": False, "zarr_format": 2, "drop_variables": list(LEDGER)}
        self._require_frame()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZarrUserWarning)  # what else lies in the folder is nobody's
            data = xr.open_zarr(self._where, chunks=None, **given).load()
        data.attrs = {}
        return data[self.attributes["variables"]].isel(seed=slice(0, seeds))


def _spelled(signed: str) -> bytes:
    """A digest as its array holds it."""
    return np.asarray([signed], f"<U{DIGEST}").tobytes()


def _as_array(found: Any) -> zarr.Array:
    assert isinstance(found, zarr.Array)
    return found


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


def _put_in_place(path: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder of these files, all of them or none; what was there goes out of the way at once, since workers that
    a killed command left on a cluster may still write into it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    new, old = (path.with_name(f"{path.name}.{uuid.uuid4().hex}.{what}") for what in ("new", "old"))
    try:
        for name, content in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(new / name, content, lasting=name == ATTRIBUTES)
        if os.path.lexists(path):
            path.rename(old)
        new.rename(path)
        sync_folder(path.parent)
    finally:
        for each in (new, old):
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            elif os.path.lexists(each):  # a file or a link had been put in its place
                each.unlink()


def remove_leftovers(path: Path) -> None:
    """Remove what commands that were killed while they made or replaced this folder left beside it."""
    for folder in (*path.parent.glob(f"{path.name}.*.new"), *path.parent.glob(f"{path.name}.*.old")):
        shutil.rmtree(folder, ignore_errors=True)
