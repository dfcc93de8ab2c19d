"""A disk that fails: at the n-th operation that changes it the process is as good as dead, or the operation is refused.

Operations are seen by an audit hook (opening to write, renaming, removing, making and removing folders) and, for what
is written into files, by a stand-in for `os.write` and `os.fsync`; so nothing in Lemmata has to be prepared for it.
Workers are other processes: their disk (`FarDisk`) is set up when Python starts, and fails as `Orders` say.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WATCHED = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "shutil.rmtree")


class Killed(BaseException):
    """The process is dead: nothing that it does from now on reaches the disk."""


class Disk:
    """Counts the operations on files below a folder, and lets one of them, or all from it on, go wrong."""

    def __init__(self) -> None:
        self.below = ""
        self.count, self.at, self.fault, self.last = 0, 0, "", ""
        self.dead: Path | None = None
        self.written: set[str] = set()
        self.synced: set[str] = set()
        self._write, self._fsync = os.write, os.fsync
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: Any) -> None:
        if not self.below:
            return
        if event == "open":
            path, _, flags = args
            if isinstance(path, (str, os.PathLike)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._count(event, os.fspath(path))
        elif event in WATCHED and isinstance(args[0], (str, os.PathLike)):
            self._count(event, os.fspath(args[0]))
            if event == "os.rename":
                self._moved(os.path.abspath(args[0]), os.path.abspath(args[1]))

    def _moved(self, old: str, new: str) -> None:
        for known in (self.written, self.synced):
            inside = {path for path in known if path == old or path.startswith(old + "/")}
            known.difference_update(inside)
            if known is self.synced:
                known.discard(new)
            known.update(new + path[len(old) :] for path in inside)

    def _count(self, event: str, path: str) -> None:
        if not os.path.abspath(path).startswith(self.below) or path.endswith(".lock"):
            return
        self.count += 1
        if self.dead is not None and self.dead.exists():
            raise Killed
        if not self.at or self.count < self.at:
            return
        self.last = self.last or f"{event} {os.path.basename(path)}"
        if self.fault == "kill":
            raise Killed
        if self.fault == "full" and event != "os.remove":  # from here on; what is removed needs no space
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if self.fault == "error" and self.count == self.at:  # once
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def write(self, handle: int, content: Any) -> int:
        path = os.readlink(f"/proc/self/fd/{handle}")
        if self.below and path.startswith(self.below):
            self.written.add(path)
            dying = self.fault == "kill" and self.at == self.count + 1
            if dying:  # half of it is there
                self._write(handle, memoryview(content)[: len(content) // 2])
            self._count("write", path)
        return self._write(handle, content)

    def fsync(self, handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        if self.below and path.startswith(self.below) and os.path.isfile(path):
            self.synced.add(path)
        self._fsync(handle)

    @contextmanager
    def failing(self, below: Path, at: int = 0, fault: str = "", dead: Path | None = None) -> Iterator[Disk]:
        """Operations below this folder are counted; from number `at` on they go wrong in this way (0: none does).

        `dead`: a file; as soon as it is there, this process is as good as dead.
        """
        self.count, self.at, self.fault, self.last, self.dead = 0, at, fault, "", dead
        self.written.clear()
        self.synced.clear()
        os.write, os.fsync = self.write, self.fsync
        self.below = str(below.resolve())
        try:
            yield self
        finally:
            self.below, self.dead = "", None
            os.write, os.fsync = self._write, self._fsync


class Orders:
    """What the disks of all workers are to do; a file that they read before every operation."""

    def __init__(self, file: Path) -> None:
        self.file, self._number = file, 0
        self.fired, self.counted = file.with_suffix(".fired"), file.with_suffix(".counted")

    def give(self, below: Path, at: int = 0, fault: str = "") -> None:
        """From now on: operations below this folder are counted anew, and number `at` goes wrong in this way."""
        self._number += 1
        for file in (self.fired, self.counted):
            file.unlink(missing_ok=True)
        order = {"number": self._number, "below": str(below.resolve()), "at": at, "fault": fault}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(order))
        new.replace(self.file)

    @property
    def count(self) -> int:
        """The operations of the workers since then."""
        return self.counted.stat().st_size if self.counted.exists() else 0


class FarDisk(Disk):
    """The disk of a worker. What kills it does so once, and without a last word; so does an I/O error."""

    def __init__(self, orders: Path) -> None:
        super().__init__()
        self._orders, self._number = Orders(orders), 0
        self.below = "/"  # until there are orders: only to be asked
        os.write, os.fsync = self.write, self.fsync

    def _count(self, event: str, path: str) -> None:
        order = json.loads(self._orders.file.read_text())
        if not os.path.abspath(path).startswith(order["below"]) or path.endswith(".lock"):
            return
        if order["number"] != self._number:
            self._number, self.count = order["number"], 0
        self.count, at, fault = self.count + 1, order["at"], order["fault"]
        if not at:
            handle = os.open(self._orders.counted, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            self._write(handle, b"x")
            os.close(handle)
        elif self.count >= at and fault == "full" and event != "os.remove":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        elif self.count == at and fault != "full" and self._first():
            if fault == "error":
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
            os.kill(os.getpid(), signal.SIGKILL)

    def _first(self) -> bool:
        """Whether no worker before has failed by these orders."""
        try:
            os.close(os.open(self._orders.fired, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True


DISK = Disk()
