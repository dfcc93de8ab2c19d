"""Files of unknown origin: whatever is wrong with one becomes one sentence that names it.

Archives are looked at before they are opened, so that a header that lies about a size costs no memory.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from lemmata.lab.errors import UserError

Parsed = TypeVar("Parsed")
LARGEST = 8 * 2**30
"""Bytes that the arrays of one file may take, all together."""
DENSEST, SMALL = 200, 64 * 2**20
"""A gzipped file may grow to `DENSEST` times its size, or to `SMALL` bytes; numbers and images shrink less."""


class DamagedError(Exception):
    """Why a file is not what its format promises, in words."""


def require(condition: bool, reason: str) -> None:
    if not condition:
        raise DamagedError(reason)


def home(what: str, folder: str, allowed: str) -> Path:
    """Where the user keeps a data set: a folder of the one that LEMMATA_DATA names."""
    place = os.environ.get("LEMMATA_DATA")
    if not place:
        raise UserError(
            f"{what} is looked for in $LEMMATA_DATA/{folder}, but the environment variable LEMMATA_DATA is not set; "
            f"set it to a folder of data sets ({allowed})."
        )
    return Path(place) / folder


def read(file: Path, parse: Callable[[bytes], Parsed], what: str, advice: str) -> Parsed:
    """What `parse` makes of the file's content; anything wrong with it is one sentence, which ends with the advice."""
    try:
        return parse(file.read_bytes())
    except FileNotFoundError:
        reason = "there is no such file"
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
    except DamagedError as error:
        # words of the file itself must not steer a terminal
        reason = "".join(letter if letter.isprintable() else "?" for letter in str(error))
    except UserError as error:  # after what it is about
        reason = str(error).rpartition(": ")[2].rstrip(".")
    except Exception:  # a damaged archive or pickle may raise anything
        reason = "it is cut short or of another format"
    raise UserError(f"{file} cannot be read as {what}: {reason}; {advice}.")


def unzipped(content: bytes) -> bytes:
    """What a gzipped content holds; one that would grow beyond measure is refused before it does."""
    require(content[:2] == b"\x1f\x8b", "it is not gzipped")
    most = max(SMALL, DENSEST * len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            content = stream.read(most + 1)
    except (OSError, EOFError, zlib.error):
        raise DamagedError("its compression is damaged") from None
    require(len(content) <= most, f"unpacked it is more than {DENSEST} times as long")
    return content


def text(content: bytes, *, gzipped: bool = False) -> str:
    return (unzipped(content) if gzipped else content).decode("utf-8-sig")


def array(content: bytes) -> np.ndarray:
    """The array of an npy file."""
    _declared(io.BytesIO(content), len(content))
    return np.load(io.BytesIO(content), allow_pickle=False)


def arrays(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an npz file, by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        require(sum(member.file_size for member in members) <= LARGEST, f"its arrays take more than {LARGEST} bytes")
        for member in members:
            with archive.open(member) as stream:
                _declared(stream, member.file_size)
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return {member.filename[: -len(".npy")]: found[member.filename] for member in members}


def _declared(stream: IO[bytes], length: int) -> None:
    """The header of an array must promise what the file has room for, and nothing that needs a pickle."""
    version = np.lib.format.read_magic(stream)
    require(version in {(1, 0), (2, 0)}, "an array is of an unknown version")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    require(not dtype.hasobject, "an array holds objects, not numbers")
    require(math.prod(shape) * dtype.itemsize <= min(length, LARGEST), "an array is larger than its file")
