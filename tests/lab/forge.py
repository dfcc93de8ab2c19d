"""Commands in processes of their own, at a tenth of the price: one process has imported what they need, and forks.

What a command does, what signals do to it and what it starts are those of a process that Python started; only imports
are not repeated. `serve` is the main program of the process that forks.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PRELOADED = (
    "lemmata.cli", "lemmata.lab.verify", "matplotlib.figure", "matplotlib.backends.backend_agg", "cloudpickle",
    "distributed",
)  # fmt: skip


def serve() -> None:
    """Fork a command for every line that asks for one, and tell how those of other lines ended."""
    import importlib

    for name in PRELOADED:
        importlib.import_module(name)
    ended: dict[int, int] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "poll" in asked:
            process = asked["poll"]
            if process not in ended:
                found, status = os.waitpid(process, os.WNOHANG)
                if found:
                    ended[process] = os.waitstatus_to_exitcode(status)
            answer = ended.get(process)
        else:
            ready, begun = os.pipe()
            answer = os.fork()
            if not answer:
                _become(asked, begun)
            os.close(begun)
            os.read(ready, 1)  # its pipes may be unlinked now
            os.close(ready)
        print(json.dumps(answer), flush=True)


def _become(asked: Mapping[str, Any], begun: int) -> None:
    """Be the command: its session, its folder, its environment, its output."""
    os.setsid()
    for number, (path, mode) in enumerate(
        [(os.devnull, os.O_RDONLY), (asked["out"], os.O_WRONLY), (asked["err"], os.O_WRONLY)]
    ):
        opened = os.open(path, mode)
        os.dup2(opened, number)
        os.close(opened)
    os.close(begun)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    # SIGINT may be ignored in a process whose parent runs in the background; a terminal's Ctrl-C is not
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.argv = ["lemmata", *asked["arguments"]]
    sys.path[0] = ""
    code: Any = 0
    try:
        from lemmata.cli import main

        main()
    except SystemExit as left:
        code = left.code
    except BaseException:
        traceback.print_exc()
        code = 1
    with contextlib.suppress(BaseException):
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()  # which may close streams
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


class _Server:
    """The process that forks."""

    def __init__(self) -> None:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), environment.get("PYTHONPATH", "")])
        line = [sys.executable, "-c", "from forge import serve; serve()"]
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._turn = threading.Lock()
        atexit.register(self._process.communicate)

    def ask(self, **question: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        with self._turn:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())


server = functools.cache(_Server)
"""One for all tests of this process; it ends with it."""


class Forked:
    """A command, with what the tests use of `subprocess.Popen`; its output goes into pipes."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.returncode: int | None = None
        self._read = {"out": b"", "err": b""}
        with tempfile.TemporaryDirectory(prefix="command-") as folder:
            paths = {name: os.path.join(folder, name) for name in self._read}
            for path in paths.values():
                os.mkfifo(path)
            self._pipes = {name: os.open(path, os.O_RDWR | os.O_NONBLOCK) for name, path in paths.items()}
            self.pid: int = server().ask(
                arguments=list(arguments),
                folder=os.getcwd(),
                environment={**os.environ, "JAX_PLATFORMS": "cpu", **(environment or {})},
                **paths,
            )

    def said(self) -> tuple[str, str]:
        """What it has written so far."""
        for name, pipe in self._pipes.items():
            with contextlib.suppress(BlockingIOError):
                while more := os.read(pipe, 1 << 16):
                    self._read[name] += more
        return self._read["out"].decode(), self._read["err"].decode()

    def __del__(self) -> None:
        for pipe in self._pipes.values():
            os.close(pipe)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.said()  # lest it wait for room in a pipe
            self.returncode = server().ask(poll=self.pid)
        return self.returncode

    def wait(self, timeout: float = 240) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("lemmata", timeout)
            time.sleep(0.02)
        return code

    def communicate(self, timeout: float = 240) -> tuple[str, str]:
        self.wait(timeout)
        return self.said()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
