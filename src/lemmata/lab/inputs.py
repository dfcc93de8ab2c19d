"""Inputs: the data files that a run reads, with their digests, so that results are known to be of these very files.

A file counts that is opened for reading alone while somebody notes it in the same thread, whoever opens it and however;
not what belongs to Python, to installed packages or to the system, which the versions speak of.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

HOME = "$LEMMATA_DATA"
CODE = {".py", ".pyc", ".pyi", ".so", ".pth", ".dylib"}
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/lib", "/usr/share/", "/lib", "/run/")


class _Thread(threading.local):
    opened: set[str] | None = None


_here = _Thread()
_digests: dict[str, tuple[Any, str]] = {}


class Noted(dict[str, str]):
    """Data files by name, with their digests; complete when the noting has ended."""


@contextlib.contextmanager
def opening() -> Iterator[set[str]]:
    """The files that this thread opens meanwhile; whoever listens around it is told too."""
    _listen()
    before, _here.opened = _here.opened, set()
    try:
        yield _here.opened
    finally:
        opened, _here.opened = _here.opened, before
        tell(opened)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """What this thread opens meanwhile is the laboratory's own and no data file."""
    before, _here.opened = _here.opened, None
    try:
        yield
    finally:
        _here.opened = before


def tell(opened: Iterable[str]) -> None:
    """Whoever listens in this thread has read these files: it is given what was made of them before."""
    if _here.opened is not None:
        _here.opened.update(opened)


@contextlib.contextmanager
def noting() -> Iterator[Noted]:
    """Note which data files this thread reads meanwhile."""
    noted = Noted()
    with opening() as opened:
        yield noted
    noted.update({_name(path): digest for path in sorted(opened) if (digest := _digest(path))})


def remember(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Like `functools.lru_cache`, for functions that read files: whoever is given what is remembered has read them."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.lru_cache(maxsize)
        def read(*args: Any, **given: Any) -> tuple[R, frozenset[str]]:
            with opening() as opened:
                result = function(*args, **given)
            return result, frozenset(opened)

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> R:
            result, opened = read(*args, **given)
            tell(opened)
            return result

        return cast("Callable[P, R]", call)

    return decorate


def changed(known: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Of the files that were read those that are others now, and those that are not there any more."""
    found = {name: _digest(_path(name)) for name in known}
    others = [name for name, digest in found.items() if digest and digest != known[name]]
    return others, [name for name, digest in found.items() if not digest]


@functools.cache
def _listen() -> None:
    sys.addaudithook(_hear)


def _hear(event: str, args: Any) -> None:
    if event == "open" and _here.opened is not None:
        path, _, flags = args
        if isinstance(path, (str, os.PathLike)) and not flags & (os.O_WRONLY | os.O_RDWR):
            _here.opened.add(os.path.abspath(path))


def _digest(path: str) -> str:
    """The digest of a data file; empty if it is none, or is not there."""
    if Path(path).suffix in CODE or path.startswith((*SYSTEM, *_packages())) or "site-packages" in path:
        return ""
    if path in [os.path.abspath(program) for program in sys.argv[:1]]:  # the command itself, wherever it is installed
        return ""
    try:
        status = os.stat(path)
        version = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = _digests.get(path)
        if known is None or known[0] != version:
            with open(path, "rb") as file:
                known = _digests[path] = version, hashlib.file_digest(file, "sha256").hexdigest()[:32]
        return known[1]
    except (OSError, ValueError):
        return ""


def _packages() -> tuple[str, ...]:
    from lemmata.lab.programs import programs_folder

    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, programs_folder() or sys.prefix}
    return tuple(os.path.join(folder, "") for folder in folders)


def _name(path: str) -> str:
    """How a file is called: from the folder of data sets, if it lies in there."""
    home = os.environ.get("LEMMATA_DATA")
    if home and path.startswith(os.path.join(os.path.abspath(home), "")):
        return f"{HOME}/{os.path.relpath(path, os.path.abspath(home))}"
    return path


def _path(name: str) -> str:
    return os.path.abspath(name.replace(HOME, os.environ.get("LEMMATA_DATA") or "/dev/null", 1))
