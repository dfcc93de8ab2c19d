"""The frame of a store: all of its files but the chunks of results and their ledger.

That is the metadata of every array, the coordinates and the attributes of the whole (`.zattrs`). The frame follows from
what the store is of, so it is made in memory and can be made again; the attributes alone cannot, and carry a digest of
themselves, by which damage is told from data, and one of the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
import zarr.storage

from lemmata.lab.errors import UserError
from lemmata.lab.names import digest

if TYPE_CHECKING:
    from lemmata.lab.grid import Grid
    from lemmata.lab.simulation import Simulation

ATTRIBUTES = ".zattrs"
GATHERED = ".zmetadata"
LEDGER = ("message", "digest", "status")
"""The arrays that say of every chunk what became of it."""
MESSAGE = 500
"""Characters that are kept of a failure's message."""
DIGEST = 32
"""Characters of a chunk's digest."""


@dataclass(frozen=True)
class Content:
    """What a store is of: the simulation on a grid with these seeds, in blocks; the shape that each variable has in one
    run, and its precision."""

    simulation: Simulation
    grid: Grid
    seeds: range
    block: int
    shapes: Mapping[str, tuple[int, ...]]
    precision: str

    def labels(self) -> dict[str, np.ndarray]:
        """The coordinate of every dimension that has one."""
        named = {name: np.asarray(labels) for name, labels in self.simulation.labels.items()}
        return {**self.grid.coordinates(), **named, "seed": np.asarray(self.seeds)}

    def fields(self) -> dict[str, tuple[str, np.ndarray]]:
        """The fields that the labels of named axes set: (axis, values)."""
        taken = {*self.labels(), *self.shapes}
        return {name: each for name, each in self.grid.fields().items() if name not in taken}


def build(content: Content, attributes: Mapping[str, Any]) -> tuple[zarr.Group, dict[str, bytes]]:
    """The frame, as a group in memory and as files; `attributes` are the store's own."""
    files: dict[str, Any] = {}
    root = zarr.open_group(zarr.storage.MemoryStore(files), mode="w", zarr_format=2)

    def add(name: str, dims: Iterable[str], shape: Any, chunks: Any, fill: Any, dtype: str, **words: str) -> zarr.Array:
        given = {"_ARRAY_DIMENSIONS": list(dims), **words}  # at once: each later one is a file written again
        layout = {"shape": tuple(shape), "chunks": tuple(chunks), "dtype": dtype, "fill_value": fill}
        return root.create_array(name, compressors=None, attributes=given, **layout)

    axes, grid = tuple(content.grid.labels), content.grid.shape
    ones, seeds, block = (1,) * len(axes), len(content.seeds), content.block
    fields = content.fields()
    coordinates = {**{name: (name, values) for name, values in content.labels().items()}, **fields}
    for name, (dimension, values) in coordinates.items():
        add(name, [dimension], values.shape, values.shape, None, values.dtype.str)[...] = values
    for name, shape in content.shapes.items():
        variable = content.simulation.variable(name)
        if len(shape) != len(variable.dims):
            raise ValueError(f"{name} has shape {shape}, but its declared dimensions are {variable.dims}")
        dims, chunk = (*axes, "seed", *variable.dims), (*ones, block, *shape)
        words = {"long_name": variable.meaning, "symbol": variable.symbol}
        add(name, dims, (*grid, seeds, *shape), chunk, math.nan, content.precision, **words)
    for name, fill, dtype in zip(LEDGER, ("", "", 0), (f"<U{MESSAGE}", f"<U{DIGEST}", "u1"), strict=True):
        add(name, (*axes, "block"), (*grid, -(-seeds // block)), (*ones, 1), fill, dtype)
    whole = {
        **attributes,
        "variables": list(content.shapes),
        "shapes": {name: list(shape) for name, shape in content.shapes.items()},
        "labels": list(coordinates),
        "coordinates": " ".join(fields),
        "block": block,
        "seed": content.seeds.start,
        "seeds": seeds,
    }
    frame = {name: buffer.to_bytes() for name, buffer in files.items()}
    whole["frame"] = digest_of_files(names_of(whole), frame.get)
    whole["seal"] = _seal(whole)
    root.attrs.put(whole)
    return root, {**frame, ATTRIBUTES: (json.dumps(whole, indent=1) + "\n").encode()}


def names_of(attributes: Mapping[str, Any]) -> list[str]:
    """The files of a frame, by the attributes of its store; these are not among them."""
    labels = attributes["labels"]
    arrays = [*labels, *attributes["variables"], *LEDGER]
    described = [f"{name}/{what}" for name in arrays for what in (".zarray", ATTRIBUTES)]
    return [".zgroup", *described, *(f"{name}/0" for name in labels)]


def digest_of_files(names: Iterable[str], read: Any) -> str:
    """A digest of files and their names; `read` gives the content of one, None if there is none."""
    parts = [part for name in names for part in (name.encode(), read(name) or b"")]
    return digest(*parts).hex()


def _seal(attributes: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in attributes.items() if name != "seal"}
    return digest(json.dumps(rest, sort_keys=True).encode()).hex()


def read_attributes(folder: Path) -> dict[str, Any]:
    """The attributes of the store in a folder; whatever else lies there is refused and left alone.

    A store that an earlier version wrote has no seal; it is of another fingerprint.
    """
    try:
        attributes = json.loads((folder / ATTRIBUTES).read_bytes())
        old = isinstance(attributes["fingerprint"], dict) and not {"seal", "frame"} & attributes.keys()
        if old or attributes["seal"] == _seal(attributes):
            return attributes
        reason = f"its {ATTRIBUTES} is not what was written"
    except FileNotFoundError:
        reason = f"it has no {ATTRIBUTES}"
    except OSError as error:
        reason = f"{error.strerror or error}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        reason = f"its {ATTRIBUTES} is damaged"
    raise UserError(
        f"{folder} cannot be read ({reason}) and is left as it is: remove or rename it, or give another --out "
        "(`lemmata run` also takes --overwrite)."
    )


def identity_at(folder: Path) -> str:
    """The identity of the store that is in this folder now; empty if there is none, or none that can be read."""
    try:
        return json.loads((folder / ATTRIBUTES).read_bytes())["identity"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def gathered(folder: Path, attributes: Mapping[str, Any]) -> bytes:
    """The metadata of all arrays in one file, which a plain `xarray.open_zarr` reads in one go."""
    described = [name for name in names_of(attributes) if Path(name).name.startswith(".z")]
    metadata = {name: json.loads((folder / name).read_bytes()) for name in [ATTRIBUTES, *sorted(described)]}
    return (json.dumps({"metadata": metadata, "zarr_consolidated_format": 1}, indent=1) + "\n").encode()
