"""Files and folders: files written whole or not at all, what the disk refuses in a sentence, a folder's lock."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lemmata.lab.errors import UserError
from lemmata.lab.machine import hold

PARTIAL = ".partial"
"""How the names of files end that are being written."""
LOCK = ".lock"


def write_whole(path: Path, content: bytes, lasting: bool = False) -> None:
    """Write a file whole or not at all. `lasting`: it is on the disk, not only in memory, when this returns."""
    temporary, handle = _begin(path)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        if lasting:
            os.fsync(handle)
        os.replace(temporary, path)
        if lasting:
            sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(handle)


def _begin(path: Path) -> tuple[str, int]:
    """A new file beside this one, held, by which `remove_partials` knows that somebody is at it.

    That may have held and removed it first, in which case it is made again.
    """
    while True:
        temporary = f"{path}.{uuid.uuid4().hex}{PARTIAL}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if hold(handle) and os.fstat(handle).st_nlink:
            return temporary, handle
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system that cannot
            os.fsync(handle)
    finally:
        os.close(handle)


def remove_partials(folder: Path, deep: bool = False) -> None:
    """Remove what processes left half-written when they were killed; what somebody is writing stays."""
    for path in folder.rglob(f"*{PARTIAL}") if deep else folder.glob(f"*{PARTIAL}"):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                if hold(handle):
                    path.unlink()
            finally:
                os.close(handle)


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


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with a digest of itself, by which it is known later whether somebody has changed it."""
    plain = json.loads(format_json(content))
    return {**plain, "seal": _seal(plain)}


def is_sealed(content: Any) -> bool:
    """Whether this is, unchanged, what `sealed` gave."""
    return isinstance(content, dict) and content.get("seal") == _seal({k: v for k, v in content.items() if k != "seal"})


def read_sealed(path: Path) -> dict[str, Any] | None:
    """What `sealed` gave, from its file; None if that cannot be read, or was changed."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads(path.read_bytes())
        if is_sealed(content):
            return {name: value for name, value in content.items() if name != "seal"}
    return None


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def digest_of_file(path: Path) -> str:
    """The digest of a file; empty if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    except OSError:
        return ""


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file whole or not at all."""
    text = format_json(content)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (text + "\n").encode())


def folder_given(name: str, given: Path | str | None) -> Path | None:
    """The folder that somebody names in Python; None if none is named."""
    if given is None:
        return None
    if not isinstance(given, (str, Path)) or not str(given) or "\0" in str(given):
        raise UserError(f"{name} = {given!r} is not allowed: give a folder.")
    return Path(given)


@contextlib.contextmanager
def lock(directory: Path) -> Iterator[bool]:
    """Hold the directory for this process; a second process is refused while the first lives.

    Folders that were made for it and into which nothing was written are removed again. A folder that can only be read
    is not held, which is what this gives: nobody changes it from here.
    """
    handle, new = _take(directory)
    try:
        if handle is not None:
            remove_partials(directory)
        yield handle is not None
    finally:
        if handle is not None:
            if new and [entry.name for entry in directory.iterdir()] == [LOCK]:
                (directory / LOCK).unlink()
                with contextlib.suppress(OSError):
                    for folder in new:
                        folder.rmdir()
            os.close(handle)


def _take(directory: Path) -> tuple[int | None, list[Path]]:
    """The open and locked file of a folder's lock, None in a folder that can only be read; and the folders made."""
    for attempt in itertools.count(1):
        new = [folder for folder in (directory, *directory.parents) if not folder.exists()]
        try:
            directory.mkdir(parents=True, exist_ok=True)
            handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EEXIST) and not directory.exists() and attempt < 1000:
                continue  # whoever held it has removed the folder just now
            if directory.is_dir() and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                return None, []
            if error.errno in (errno.EEXIST, errno.ENOTDIR):
                raise UserError(f"{directory} is not a folder and cannot hold results; give another --out.") from None
            raise UserError(f"{directory} cannot be written: {error.strerror or error}.") from error
        if not hold(handle):
            os.close(handle)
            raise UserError(f"{directory} is in use by another process; wait for it or choose another --out.")
        try:
            if os.path.samestat(os.fstat(handle), os.stat(directory / LOCK)):
                return handle, new
        except FileNotFoundError:
            pass
        os.close(handle)  # the file was removed before it was held, and may be another one by now
    raise AssertionError
