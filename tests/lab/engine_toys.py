"""Shared by the tests of the engines: a theory whose runs can be counted, held and spoiled, and its command."""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from command import Result
from forge import Forked

from lemmata.lab.registry import load
from lemmata.lab.runner import Options, Outcome, run
from lemmata.lab.store import DONE, Store

THEORY = '''
import json, os, resource, signal, sys, time
from pathlib import Path
import numpy as np
import lemmata as lm
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "step size", low=0)


class Unreadable(lm.UserError):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two} are missing.")
        self.held = lambda: None


def peek(name):
    """What a file says, "" if there is none; opened as if to write, since it steers runs and is no input of theirs."""
    return open(HERE / name, "r+").read() if (HERE / name).exists() else ""


def spoil(fault):
    """What goes wrong in a run; the result that it returns if it does."""
    match fault:
        case "raises":
            raise ArithmeticError("no convergence")
        case "unreadable":
            raise type("Local", (Exception,), {"__reduce__": lambda self: 1 / 0})("cannot travel")
        case "exits":
            sys.exit("over")
        case "missing":
            raise Unreadable("train.csv", "test.csv")
        case "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        case "nan":
            return np.full(3, np.nan)
        case "shape":
            return np.zeros((3, 2))
        case "prints":
            print("hello from a run")


def wait(run):
    """Logs what begins, then waits while the file `hold` names it."""
    with open(HERE / "calls.log", "a") as log:
        log.write(f"{run} {os.getpid()}\\n")
    while run in peek("hold"):
        time.sleep(0.02)


@lm.simulation(lm.Variable("place", ("part",), "x", "where it ends"), host=True)
def simulate(setting, seed):
    """Goes wrong as the file `faults` says."""
    wait(f"{setting.rate:g} {seed}")
    time.sleep(float(peek("pause") or 0))
    faults = json.loads(peek("faults") or "{}")
    spoilt = spoil(faults.get(f"{setting.rate:g}"))
    return {"place": np.sin(setting.rate + seed + np.arange(3)) if spoilt is None else spoilt}


def plot(data):
    wait("plot 0")
    if (HERE / "limit").exists():
        size = int((HERE / "limit").read_text())
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    return Figure(figsize=(1, 1))


EXPERIMENT = lm.Experiment(
    "e1-toy", "Where does it end?", "(1)", simulate,
    {"smoke": lm.Preset(Setting(), {"rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, 2)}, plot,
)
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, [EXPERIMENT], [])
'''
RATES, SEEDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 2
"""A cell is one chunk."""
# SIGINT may be ignored in a process whose parent runs in the background; a terminal's Ctrl-C is not
MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from lemmata.cli import main; main()"
DATA = Path("out/toy/e1-toy/data.zarr")
LIMIT = 180
"""Seconds after which something hangs."""


Process = Forked | subprocess.Popen[str]


def start(engine: str = "local", *more: str, out: Path | str = "out", **options: Any) -> Process:
    """The command, in a process group of its own as from a terminal; `before` is what its process does first.

    It is forked unless its process must be begun in a special way.
    """
    arguments = ["run", "toy.py/e1-toy", "--preset", "smoke", "--out", str(out), "--engine", engine, *more]
    if not options:
        return Forked(arguments)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **options.pop("environment", {})}
    line = [sys.executable, "-c", MAIN, *arguments]
    if before := options.pop("before", ""):
        line = [sys.executable, "-c", f"{before}; import os, sys; os.execv(sys.argv[1], sys.argv[1:])", *line]
    return subprocess.Popen(
        line, env=environment, text=True, start_new_session=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )  # fmt: skip


@contextmanager
def started(*arguments: str, **options: Any) -> Iterator[Process]:
    """The command; it does not outlive the block."""
    process = start(*arguments, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finish(process: Process) -> Result:
    out, err = process.communicate(timeout=LIMIT)
    return Result(process.returncode, out, err)


def command(*arguments: str, **options: Any) -> Result:
    """The command, to its end."""
    with started(*arguments, **options) as process:
        return finish(process)


def wait_until(condition: Callable[[], Any], process: Process | None = None) -> None:
    """Until it is so; the process must live on."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happened for minutes"
        time.sleep(0.05)


def runs(rates: Iterable[float] = RATES, seeds: Iterable[int] = range(SEEDS)) -> list[str]:
    """How the log names runs."""
    return [f"{rate:g} {seed}" for rate in rates for seed in seeds]


def hold(*names: str) -> None:
    """Make these runs wait; none: let all go on."""
    Path("hold.new").write_text("\n".join(names))
    os.replace("hold.new", "hold")


def spoil(**faults: str) -> None:
    """What goes wrong in the cells of these rates, written r2 for 0.2."""
    Path("faults").write_text(json.dumps({f"0.{rate[1:]}": fault for rate, fault in faults.items()}))


def log() -> list[tuple[str, int]]:
    """The runs that began so far, each with its process."""
    lines = Path("calls.log").read_text().splitlines() if Path("calls.log").exists() else []
    return [(line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in lines]


def process_of(name: str, but: int | None = None) -> int:
    """Which process is at this run now, other than the command, which takes shapes from the first; 0 if none is."""
    return next((process for run, process in reversed(log()) if run == name and process != but), 0)


def calls(but: int | None = None) -> collections.Counter[str]:
    """How often each run began, in processes other than this one."""
    return collections.Counter(run for run, process in log() if process != but and not run.startswith("plot"))


def status() -> np.ndarray:
    store = Store.open(DATA)
    return np.zeros((len(RATES), 1)) if store is None else store.status()


def done() -> int:
    """How many chunks are done; cheap, for polling."""
    return sum(file.read_bytes() == bytes([DONE]) for file in (DATA / "status").glob("[0-9]*.[0-9]"))


def contents(data: Path = DATA) -> dict[str, bytes]:
    """Every file of a store, but for those that hold its identity."""
    files = {str(file.relative_to(data)): file.read_bytes() for file in sorted(data.rglob("*")) if file.is_file()}
    return {name: content for name, content in files.items() if name not in (".zmetadata", ".zattrs")}


def undisturbed() -> dict[str, bytes]:
    """The files of the same experiment where nothing happens to it."""
    kept = Path("calls.log").read_bytes()
    run(load("toy.py"), "e1-toy", Options("smoke", out=Path("elsewhere")))
    Path("calls.log").write_bytes(kept)
    return contents(Path("elsewhere/toy/e1-toy/data.zarr"))


def repeat() -> Outcome:
    """The same command, quickly: in this process."""
    return run(load("toy.py"), "e1-toy", Options("smoke", out=Path("out")))


def below(process: int) -> list[psutil.Process]:
    """The processes that this one started, and they."""
    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


class Cluster:
    """A real Dask scheduler with workers, in processes of their own."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.file = folder / "scheduler.json"
        self.environment = {
            **os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1",
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
        }  # fmt: skip
        self.processes: list[subprocess.Popen[bytes]] = []
        self.folder, self.workers = folder, workers

    def __enter__(self) -> Cluster:
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        wait_until(self.file.exists)
        if self.workers:
            self._start("worker", "--nworkers", str(self.workers), "--nthreads", "1", "--no-dashboard")
        return self

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.file), *options],
            env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def __exit__(self, *error: object) -> None:
        ended = [child for process in self.processes for child in [psutil.Process(process.pid), *below(process.pid)]]
        for process in ended:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for process in self.processes:
            process.wait()

    @property
    def engine(self) -> str:
        return f"dask:{self.file}"
