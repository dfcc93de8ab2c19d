"""Ctrl-C and SIGTERM: one line at once, all gone within two seconds, and the same command goes on inside the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import xarray as xr
from forge import Forked

import lemmata as lm
from lemmata.lab.interrupts import INTERRUPTED
from lemmata.lab.programs import compiling
from lemmata.lab.registry import load
from lemmata.lab.store import Store

THEORY = """
import os, time
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    steps: int = lm.number(1_600, "T", "steps, each of which waits a little", low=0, integer=True)
    layers: int = lm.size(1, "", "layers, each of which takes long to compile")
    busy: str = lm.choice("no", "work on the host that never ends", "no", "yes")


def wait(x):
    time.sleep(0.004)
    return x


@lm.piece("layers")
def train(problem, key):
    def step(t, x):
        for _ in range(problem.layers):
            x = x @ (jnp.eye(4) * 0.999) + 1e-3 * jax.random.normal(jax.random.fold_in(key, t), x.shape)
        return jax.pure_callback(wait, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    probe = lambda x, _: {"size": jnp.sum(x**2)}
    return lm.loop(step, jnp.ones((4, 4)), probe, lm.record_steps(problem.steps, 5))


@lm.simulation(lm.Variable("size", ("record",), "", "size"))
def simulate(problem, key, prepared=None):
    Path("began").touch()
    while problem.busy == "yes" and not Path("free").exists():
        pass
    return {"size": train(problem, lm.stream(key, "batch")).records["size"]}


def experiment(name, **fields):
    presets = {"smoke": lm.Preset(Setting(**fields), {}, 2)}
    return lm.Experiment(name, "?", "(1)", simulate, presets, lambda data: Figure(figsize=(1, 1)))


EXPERIMENTS = [experiment("e1-long"), experiment("e2-compile", layers=3000), experiment("e3-busy", busy="yes")]
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, [])
"""
# SIGINT may be ignored in a process whose parent runs in the background; a terminal's Ctrl-C is not
START = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from lemmata.cli import main; main()"
LONG = 10.0
"""Seconds after which a command has waited for something; it takes about one and a half (a loaded machine more)."""


class Command:
    """A command in a process of its own; `early` if signals may come while Python imports."""

    def __init__(self, experiment: str, *options: str, early: bool = False) -> None:
        arguments = ["run", f"toy.py/{experiment}", "--preset", "smoke", "--out", "out", "--progress", "json", *options]
        self.everyone: list[psutil.Process] = []
        if early:
            line, environment = [sys.executable, "-c", START, *arguments], {**os.environ, "JAX_PLATFORMS": "cpu"}
            with Path("stderr.log").open("w") as log:
                self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=log, env=environment)
        else:
            self.process = Forked(arguments)

    def said(self) -> list[str]:
        err = self.process.said()[1] if isinstance(self.process, Forked) else Path("stderr.log").read_text()
        return err.splitlines()

    def steps(self) -> list[list[list[int]]]:
        """The steps of the long runs under way, from the events that have any."""
        events = [json.loads(line)["steps"] for line in self.said() if line.startswith("{")]
        return [steps for steps in events if steps]

    def wait_for(self, condition: str) -> None:
        """Until every run has a checkpoint or has ended, not all have, a progress event has steps, or a file exists."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.said()
            there = [path.suffix for path in Path("out/toy/.pieces").glob("*") if path.suffix in ("", ".part")]
            kept = condition == "checkpoints" and len(there) == 2 and ".part" in there
            if kept or Path(condition).exists() or (condition == "steps" and self.steps()):
                return
            time.sleep(0.05)
        raise AssertionError(f"{condition} never came: {self.said()}")

    def end(self, number: signal.Signals) -> float:
        """Send the signal; how long the process and all that it had started took to go."""
        parent = psutil.Process(self.process.pid)
        self.everyone = [parent, *parent.children(recursive=True)]
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(20)
        psutil.wait_procs(self.everyone, timeout=20)
        return time.monotonic() - began

    def finish(self) -> int:
        return self.process.wait(240)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(THEORY)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """The data of the long runs in one go."""
    file = tmp_path_factory.mktemp("whole") / "toy.py"
    file.write_text(THEORY)
    theory = load(str(file))
    with compiling("fast"):  # as at the preset smoke
        return lm.sweep(theory.simulate, theory.experiments["e1-long"].preset("smoke").setting, seeds=2)


CASES = {
    "local": ("local", signal.SIGINT, 130),
    "processes": ("processes:2", signal.SIGINT, 130),
    "dask": ("dask", signal.SIGTERM, 143),
}


@pytest.mark.parametrize("case", CASES)
def test_a_long_run_is_left_within_two_seconds_and_goes_on_inside(case: str, whole: xr.Dataset) -> None:
    engine, number, code = CASES[case]
    command = Command("e1-long", "--engine", engine)
    command.wait_for("checkpoints")
    took = command.end(number)
    assert command.process.returncode == code
    assert took < LONG
    assert [line for line in command.said() if not line.startswith("{")] == [INTERRUPTED]
    checkpoints = list(Path("out/toy/.pieces").glob("*.part"))
    assert checkpoints, "where the runs were is kept"
    assert not list(Path("out").rglob("*.partial"))

    again = Command("e1-long", "--engine", "local")
    again.wait_for("steps")
    assert again.steps()[0][0][0] > 40, "it began anew"
    assert again.finish() == 0
    store = Store.open(Path("out/toy/e1-long/data.zarr"))
    assert store is not None
    assert store.dataset().equals(whole)
    assert not list(Path("out/toy/.pieces").glob("*.part"))


@pytest.mark.parametrize("experiment", ["e2-compile", "e3-busy"])
def test_a_compilation_or_work_of_the_host_is_abandoned(experiment: str) -> None:
    command = Command(experiment)
    command.wait_for("began")
    time.sleep(1)
    took = command.end(signal.SIGINT)
    assert command.process.returncode == 130
    assert took < LONG
    assert [line for line in command.said() if not line.startswith("{")] == [INTERRUPTED]


@pytest.mark.parametrize("after", [0.7, 1.2, 1.8, 2.4])
def test_whenever_the_signal_comes_the_exit_code_says_so(after: float) -> None:
    """While Python imports, traces, compiles or writes: nowhere is the interrupt swallowed."""
    command = Command("e1-long", "--set", "steps=200000", early=True)
    time.sleep(after)
    command.end(signal.SIGINT)
    ended_by_python = after < 1 and any("KeyboardInterrupt" in line for line in command.said())
    assert command.process.returncode == 130 or ended_by_python, command.said()
