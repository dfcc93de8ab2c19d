"""Ctrl-C, SIGTERM, a closed pipe and closed streams at any moment: the contract's exit code, one line, no traceback."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toys import THEORY

LINE = [sys.executable, "-c", "from lemmata.entry import main; main()"]
# SIGINT may be ignored in a process whose parent runs in the background; a terminal's Ctrl-C is not
HEARING = (
    "import os, sys; from signal import *; signal(SIGINT, default_int_handler); os.execv(sys.argv[1], sys.argv[1:])"
)
EARLY = (
    "import os, signal; from lemmata import entry; [signal.signal(each, entry.leave) for each in entry.CODES]; "
    "os.write({0}, b'x'); os.close({0}); entry.main()"
)
"""The command, which tells when it has done its first line: before that a signal is Python's own."""


def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
    line = [sys.executable, "-c", HEARING, *LINE, *arguments]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment, **options}
    return subprocess.Popen(line, start_new_session=True, **given)  # pyright: ignore


def moments(request: pytest.FixtureRequest) -> list[float]:
    chance = random.Random(4)
    if request.config.getoption("--long"):
        return [chance.uniform(0, 6) for _ in range(300)]
    return [0.0, 0.05, 0.4, 1.5]


def test_a_signal_at_any_moment_ends_the_command_with_one_line(request: pytest.FixtureRequest) -> None:
    """From the first line of ours on, imports included; or the command had finished."""
    Path("toy.py").write_text(THEORY)
    for number, after in enumerate(moments(request)):
        code = {signal.SIGINT: 130, signal.SIGTERM: 143}
        which = list(code)[number % 2]
        begun, told = os.pipe()
        line = [sys.executable, "-c", HEARING, sys.executable, "-c", EARLY.format(told)]
        process = subprocess.Popen(
            [*line, "verify", "toy.py", "--preset", "smoke", "--out", f"out{number}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, pass_fds=[told],
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )  # fmt: skip
        os.close(told)
        os.read(begun, 1)
        os.close(begun)
        time.sleep(after)
        process.send_signal(which)
        began = time.monotonic()
        _, err = process.communicate(timeout=60)
        assert "Traceback" not in err, (after, err)
        assert process.returncode in (code[which], 0), (after, process.returncode, err)
        if process.returncode:
            assert err.splitlines()[-1].startswith("interrupted"), (after, err)
            assert len(err.splitlines()) == 1, (after, err)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("arguments", [("list",), ("verify", "toy.py", "--preset", "smoke")])
def test_a_closed_pipe_ends_the_command_quietly(arguments: tuple[str, ...]) -> None:
    Path("toy.py").write_text(THEORY)
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*arguments, stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_closed_streams_are_no_error_and_no_file_takes_their_place() -> None:
    Path("toy.py").write_text(THEORY)
    shell = "exec {} -c 'from lemmata.entry import main; main()' verify toy.py --preset smoke --out {} {}"
    for number, closed in enumerate(("2>&-", ">&- 2>&- <&-")):
        done = subprocess.run(
            ["sh", "-c", shell.format(sys.executable, f"out{number}", closed)], capture_output=True, text=True,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )  # fmt: skip
        assert done.returncode == 0, (closed, done)
        assert (Path(f"out{number}") / "index.html").read_text().startswith("<!doctype html>")
