"""Ctrl-C, SIGTERM, a closed pipe and closed streams at any moment: the contract's exit code, one line, no traceback."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from command import Lemmata
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


WAITING = """
import time
from pathlib import Path
import numpy as np
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    seconds: float = lm.number(0.0, "t", "seconds that a run waits", low=0)
    lines: int = lm.number(0, "n", "long lines that it prints", low=0, integer=True)


@lm.simulation(lm.Variable("height", (), "h", "height"), host=True)
def simulate(setting, seed):
    if setting.lines or (setting.seconds and seed):
        Path("began").touch()
    for _ in range(setting.lines):
        print("x" * 1000, flush=True)
    time.sleep(setting.seconds if seed else 0)
    return {"height": np.float64(1 + 0.01 * seed)}


def experiment(name, **fields):
    presets = {"smoke": lm.Preset(Setting(**fields), {}, 4)}
    return lm.Experiment(name, "?", "(1)", simulate, presets, lambda data: Figure(figsize=(1, 1)))


@lm.evidence("short")
def short(data, factor=1.0):
    "The height."
    return factor * data.height


@lm.evidence("long")
def long(data, factor=1.0):
    "The height."
    return factor * data.height


def claim(name, evidence):
    made = lm.Claim(name, "(1)", "bound").states("It is high.")
    return made.judged(evidence, lm.at_least(0.5), lm.Control("nothing", factor=0.0))


CARD = {"name": "wait", "title": "T", "authors": "A.", "question": "?", "answer": "!", "headlines": []}
EXPERIMENTS = [experiment("short"), experiment("long", seconds=60.0), experiment("talk", lines=1000)]
theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, [claim("c1", short()), claim("c2", long())])
"""
SOON = 30.0
"""Seconds that are less than a run takes, and more than a loaded machine needs to end a command that ends at once."""


def wait_until_begun() -> None:
    deadline = time.monotonic() + 120
    while not Path("began").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_reader_that_goes_away_ends_the_command_while_it_computes(lemmata: Lemmata) -> None:
    """`lemmata verify | head -1`: not when the next row is there to be written, but now."""
    Path("wait.py").write_text(WAITING)
    assert lemmata("run", "wait.py/short", "--preset", "smoke", "--out", "out").code == 0
    reader, writer = os.pipe()
    process = start("verify", "wait.py", "--preset", "smoke", "--out", "out", stdout=writer)
    os.close(writer)
    assert os.read(reader, 3) == b"1/2"
    wait_until_begun()
    os.close(reader)
    began = time.monotonic()
    _, err = process.communicate(timeout=120)
    assert time.monotonic() - began < SOON
    assert (process.returncode, err) == (0, "")
    assert [row["claim"] for row in json.loads(Path("out/verdicts.json").read_text())] == ["c1"]


@pytest.mark.parametrize("moment", ["when it is started", "when it computes"])
def test_no_worker_outlives_the_command_nor_is_started_when_it_ends(moment: str) -> None:
    """Whatever the command has started holds the pipe of stderr, which ends with the last of them."""
    Path("wait.py").write_text(WAITING)
    process = start("run", "wait.py/long", "--preset", "smoke", "--out", "out", "--engine", "processes:1")
    if moment == "when it computes":
        wait_until_begun()
    while not psutil.Process(process.pid).children():
        time.sleep(0.02)
    assert process.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    hung_up = select.poll()
    hung_up.register(process.stderr.fileno(), 0)
    assert hung_up.poll(2000), "somebody still has it open"


def test_a_pipe_that_is_full_keeps_nobody_from_leaving() -> None:
    """Nobody reads what is said on stderr: the sentence of leaving waits behind it."""
    Path("wait.py").write_text(WAITING)
    process = start("run", "wait.py/talk", "--preset", "smoke")
    wait_until_begun()
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(SOON) == 143
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("engine", ["local", "processes:1"])
def test_a_reader_of_stderr_that_goes_away_costs_no_result(engine: str) -> None:
    Path("wait.py").write_text(WAITING)
    reader, writer = os.pipe()
    os.close(reader)
    process = start("run", "wait.py/talk", "--preset", "smoke", "--json", "--engine", engine, stderr=writer)
    os.close(writer)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert json.loads(out)["failed"] == 0


def test_a_signal_that_comes_while_the_handlers_change_is_not_lost() -> None:
    """One is sent from within every call that puts a handler in place or takes it away."""
    code = """
import os, signal, sys
from lemmata.lab.interrupts import leaving_on_signals
put, calls = signal.signal, 0
def put_and_send(number, handler):
    global calls
    before = put(number, handler)
    calls += 1
    if calls == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGTERM)
    return before
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
signal.signal = put_and_send
with leaving_on_signals():
    pass
import time
time.sleep(3)
print(calls)
"""
    for which in range(1, 5):
        done = subprocess.run([sys.executable, "-c", code, str(which)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 143, (which, done)


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


def test_ctrl_c_ends_a_long_plan() -> None:
    """Of many cells it is said at once that they are planned; nothing of them is there when that is interrupted."""
    Path("wait.py").write_text(WAITING)
    values = ",".join(map(str, range(20_000)))
    process = start("run", "wait.py/long", "--preset", "smoke", "--out", "out", "--axis", f"seconds={values}")
    assert process.stderr
    assert process.stderr.readline() == "long: 20000 cells are planned before anything is computed.\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SOON)
    assert (process.returncode, len(err.splitlines())) == (130, 1), err
    assert not list(Path().rglob("data.zarr"))


LATE = """
import atexit, os, sys
class Last:
    def __del__(self, kill=os.kill, write=os.write, me=os.getpid(), number=int(sys.argv.pop(1))):
        write(2, b"sent"); kill(me, number)
sys.last = Last()
atexit.register(Last)
from lemmata.entry import main
main()
"""
"""The command, in which a signal comes when its exit is under way (what is registered first is called last), and when
Python clears up."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_end_changes_nothing(number: int) -> None:
    line = [sys.executable, "-c", HEARING, sys.executable, "-c", LATE, str(int(number)), "list"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "sentsent")
    assert done.stdout.endswith("what a theory claims, and what to try\n")
