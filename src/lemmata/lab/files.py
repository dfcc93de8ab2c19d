"""Files and folders: files written whole or not at all, what the disk refuses in a sentence, a folder's lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lemmata.lab.errors import UserError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: Path | None) -> Iterator[None]:
    """Says in a sentence what the disk refuses."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}; what was finished is kept, the same command goes on "
            "from there."
        ) from error


def format_json(content: Any) -> str:
    """JSON as all files have it: one space of indentation, no NaN."""
    return json.dumps(content, indent=1, allow_nan=False, default=str)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file whole or not at all."""
    text = format_json(content)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (text + "\n").encode())


@contextlib.contextmanager
def lock(directory: Path) -> Iterator[None]:
    """Hold the directory for this process; a second process is refused while the first lives.

    Folders that were made for it and into which nothing was written are removed again.
    """
    new = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{directory} is in use by another process; wait for it or choose another --out.") from None
        yield
    finally:
        if new and [entry.name for entry in directory.iterdir()] == [".lock"]:
            (directory / ".lock").unlink()
            with contextlib.suppress(OSError):
                for folder in new:
                    folder.rmdir()
        os.close(handle)
