"""MNIST from the user's disk: the four public IDX files, gzipped or plain, or one of their two pairs.

An IDX file is a magic number (two zero bytes, the type of the entries, how many dimensions), one big-endian uint32 per
dimension, and the entries. Whatever is missing or damaged is one sentence that names the file.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lemmata.datasets import files
from lemmata.datasets.files import require
from lemmata.datasets.images import Images, unsplit
from lemmata.lab.errors import UserError
from lemmata.lab.inputs import remember

PARTS = ("train", "t10k")
CLASSES, SIDE, BYTES = 10, 28, 8
"""Digits, pixels along one side, and IDX's number for entries of one unsigned byte."""
ALLOWED = (
    "MNIST is a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte, gzipped (.gz) or not, or one of the two pairs"
)
Pair = tuple[Path, Path]
"""The files of images and of labels."""


def find() -> Path:
    """Where the user keeps MNIST: the folder mnist of the one that LEMMATA_DATA names."""
    return files.home("MNIST", "mnist", ALLOWED)


def available() -> bool:
    """There is a folder where MNIST is looked for."""
    return bool(os.environ.get("LEMMATA_DATA")) and find().is_dir()


def load(path: str | Path) -> Images:
    """MNIST from its folder. Of a folder with one pair only, train or t10k, all images are a source without a split."""
    pairs = {part: pair for part in PARTS if (pair := _pair(Path(path), part))}
    if not pairs:
        raise UserError(f"There is no MNIST at {path}: {ALLOWED}.")
    changed = tuple(file.stat().st_mtime_ns for pair in pairs.values() for file in pair if file.is_file())
    return _remembered(tuple(pairs.values()), tuple(pairs), changed)


def _pair(folder: Path, part: str) -> Pair | None:
    """The files of one part, or None where neither is there; a missing one has its usual name."""

    def place(what: str) -> tuple[Path, bool]:
        places = [folder / f"{part}-{what}-ubyte{packed}" for packed in (".gz", "")]
        places += [folder / f"{part}-{what.replace('-', '.')}-ubyte{packed}" for packed in (".gz", "")]
        there = [file for file in places if file.exists()]
        return (there or places)[0], bool(there)

    (images, has_images), (labels, has_labels) = place("images-idx3"), place("labels-idx1")
    return (images, labels) if has_images or has_labels else None


@remember(1)
def _remembered(pairs: tuple[Pair, ...], parts: tuple[str, ...], changed: tuple[int, ...]) -> Images:
    """Read once, not once a run; `changed` (the times of the last change) tells new files from old ones."""
    names = tuple(str(digit) for digit in range(CLASSES))
    read = [_part(*pair) for pair in pairs]
    if len(read) == 1:
        return unsplit(*read[0], names, f"MNIST, its {parts[0]} files alone")
    return Images(*read[0], *read[1], names, "MNIST")


def _part(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels [n, 28, 28, 1] in [0, 1] and labels [n] of one pair of files."""

    def pictures(content: bytes) -> np.ndarray:
        pixels = _entries(content, 3)
        require(pixels.shape[1:] == (SIDE, SIDE), f"its images are {pixels.shape[1]} x {pixels.shape[2]} pixels")
        require(len(pixels) > 0, "it has no images")
        return pixels[..., None].astype(np.float32) / 255

    pixels = _read(images, pictures)

    def classes(content: bytes) -> np.ndarray:
        found = _entries(content, 1)
        require(len(found) == len(pixels), f"it has {len(found)} labels for the {len(pixels)} images of {images.name}")
        require(int(found.max()) < CLASSES, "a label is outside 0 to 9")
        return found.astype(np.int32)

    return pixels, _read(labels, classes)


def _read(file: Path, parse: Callable[[bytes], np.ndarray]) -> np.ndarray:
    def opened(content: bytes) -> np.ndarray:
        return parse(files.unzipped(content) if file.suffix == ".gz" else content)

    return files.read(file, opened, "MNIST", f"{ALLOWED}, complete and unchanged")


def _entries(content: bytes, dimensions: int) -> np.ndarray:
    """The bytes of an IDX file in the shape that its header states; a header that lies costs no memory."""
    start = 4 + 4 * dimensions
    require(len(content) >= 4 and content[:2] == b"\0\0", "it does not begin like an IDX file")
    require(content[2] == BYTES, f"its entries are of IDX type {content[2]:#04x}, not unsigned bytes")
    require(content[3] == dimensions, f"it has {content[3]} dimensions, not {dimensions}")
    require(len(content) >= start, "its header is cut short")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    there = len(content) - start
    require(math.prod(shape) == there, f"its header promises {math.prod(shape)} entries and {there} bytes follow")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
