"""CIFAR-10 from the user's disk: the public python or binary batches, or a subset of them in one npz file.

Python batches are pickles; NumPy arrays and plain containers are read from them and nothing else, so that a file of
unknown origin cannot run code. Whatever is missing or damaged is one sentence that names the file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.datasets import files, pickles
from lemmata.datasets.files import require
from lemmata.datasets.images import Images
from lemmata.lab.errors import UserError
from lemmata.lab.inputs import remember

SUBSET, PYTHON, BINARY = "cifar10_part1.npz", "cifar-10-batches-py", "cifar-10-batches-bin"
CLASSES, SIDE, CHANNELS = 10, 32, 3
PIXELS = CHANNELS * SIDE * SIDE
ALLOWED = f"CIFAR-10 is the folder {PYTHON}, the folder {BINARY} or the file {SUBSET}"
Part = tuple[np.ndarray, np.ndarray]
"""uint8 pixels [n, 3072], channel after channel, and labels [n]."""


def find() -> Path:
    """Where the user keeps CIFAR-10: the folder cifar10 of the one that LEMMATA_DATA names."""
    return files.home("CIFAR-10", "cifar10", ALLOWED)


def load(path: str | Path) -> Images:
    """CIFAR-10 from the npz subset, a folder of python or binary batches, or the folder that holds one of them."""
    path = Path(path)
    if path.is_file() and path.suffix == ".npz":
        return _remembered(path, "subset", path.stat().st_mtime_ns)
    kinds = {"python": (PYTHON, "data_batch_1"), "binary": (BINARY, "data_batch_1.bin")}
    for kind, (name, first) in kinds.items():
        for folder in (path, path / name):
            if (folder / first).exists() or (folder.name == name and folder.is_dir()):
                return _remembered(folder, kind, folder.stat().st_mtime_ns)
    if (path / SUBSET).is_file():
        return load(path / SUBSET)
    raise UserError(f"There is no CIFAR-10 at {path}: {ALLOWED}.")


@remember(1)
def _remembered(path: Path, kind: str, changed: int) -> Images:
    """Read once, not once a run; `changed` (the time of the last change) tells a new file from an old one."""
    return {"subset": _subset, "python": _python, "binary": _binary}[kind](path)


def _subset(file: Path) -> Images:
    def part(arrays: Mapping[str, np.ndarray], name: str) -> Part:
        pixels = arrays[f"{name}_images"]
        require(pixels.ndim == 4 and pixels.shape[1:] == (SIDE, SIDE, CHANNELS), f"{name}_images has another shape")
        return pixels.transpose(0, 3, 1, 2).reshape(len(pixels), PIXELS), arrays[f"{name}_labels"]

    def read(content: bytes) -> tuple[Part, Part, list[str]]:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return _sound(part(arrays, "train")), _sound(part(arrays, "test")), _named(arrays["class_names"])

    train, test, names = _read(file, read)
    return _images(train, test, names, f"CIFAR-10, {len(train[1])} of its training images")


def _python(folder: Path) -> Images:
    def batch(content: bytes) -> Part:
        table = _unpickled(content)
        return _sound((pickles.array(table[b"data"]), _integers(table[b"labels"])))

    def meta(content: bytes) -> list[str]:
        return _named([name.decode() for name in _unpickled(content)[b"label_names"]])

    train = [_read(folder / f"data_batch_{i}", batch) for i in range(1, 6)]
    return _images(_joined(train), _read(folder / "test_batch", batch), _read(folder / "batches.meta", meta))


def _binary(folder: Path) -> Images:
    def batch(content: bytes) -> Part:
        require(len(content) % (1 + PIXELS) == 0, f"its length is no multiple of {1 + PIXELS} bytes")
        rows = np.frombuffer(content, np.uint8).reshape(-1, 1 + PIXELS)
        return _sound((rows[:, 1:], rows[:, 0]))

    def meta(content: bytes) -> list[str]:
        return _named(content.decode().split())

    train = [_read(folder / f"data_batch_{i}.bin", batch) for i in range(1, 6)]
    return _images(_joined(train), _read(folder / "test_batch.bin", batch), _read(folder / "batches.meta.txt", meta))


def _unpickled(content: bytes) -> Any:
    return pickles.load(content, pickles.ARRAYS, needed_by="no image batch", old_strings_are_bytes=True)


def _integers(labels: Any) -> np.ndarray:
    if isinstance(labels, pickles.PickledArray):
        return pickles.array(labels)
    require(isinstance(labels, list) and all(type(label) is int for label in labels), "its labels are not integers")
    return np.asarray(labels)


def _read(file: Path, parse: Callable[[bytes], Any]) -> Any:
    return files.read(file, parse, "CIFAR-10", f"{ALLOWED}, complete and unchanged")


def _sound(part: Part) -> Part:
    """The part itself if it is what every format promises."""
    pixels, labels = part
    require(isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8, "its pixels are not bytes")
    require(pixels.ndim == 2 and pixels.shape[1] == PIXELS, f"its images do not have {PIXELS} values")
    require(labels.shape == pixels.shape[:1] and len(labels) > 0, "it has not one label for every image")
    require(labels.dtype.kind in "iu", "its labels are not integers")
    require(bool(labels.min() >= 0 and labels.max() < CLASSES), "a label is outside 0 to 9")
    return part


def _named(names: Iterable[Any]) -> list[str]:
    words = [str(name) for name in names]
    require(len(words) == CLASSES, f"it has not the names of {CLASSES} classes")
    return words


def _joined(parts: list[Part]) -> Part:
    return np.concatenate([pixels for pixels, _ in parts]), np.concatenate([labels for _, labels in parts])


def _images(train: Part, test: Part, names: list[str], source: str = "CIFAR-10") -> Images:
    def scaled(pixels: np.ndarray) -> np.ndarray:
        channels_last = pixels.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
        return channels_last.astype(np.float32) / 255

    return Images(
        scaled(train[0]), train[1].astype(np.int32), scaled(test[0]), test[1].astype(np.int32), tuple(names), source
    )
