"""Engines: the same bits wherever the work is done, from the names that the command takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest
from command import Lemmata
from engine_toys import Cluster, contents

import lemmata as lm
from lemmata.lab.engines import dask as dask_engine
from lemmata.lab.engines.processes import Processes, Worker, share_machine
from lemmata.lab.engines.worker import CORES
from lemmata.lab.errors import UserError
from lemmata.lab.parcels import _unpack_work

TRACED = '''
import os
import jax, jax.numpy as jnp
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "step size", low=0)
    width: int = lm.size(300, "m", "width")


@lm.piece("width")
def train(problem, key):
    """Products that are large enough for XLA to share them between threads."""
    weights = jax.random.normal(key, (problem.width, problem.width)) / problem.width**0.5
    with open(os.environ["TRACES"], "a") as log:  # once per compilation
        log.write(f"{os.getpid()}\\n")
    return jax.lax.fori_loop(0, 20, lambda i, x: x - problem.rate * jnp.tanh(weights.T @ (weights @ x)), weights)


@lm.simulation(lm.Variable("norm", (), "n", "norm"), lm.Variable("row", ("column",), "w", "a row"))
def simulate(problem, key, prepared=None):
    last = train(problem, lm.stream(key, "init"))
    return {"norm": jnp.sum(last**2), "row": last[0, :9]}
'''
FILE = (
    TRACED
    + """
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
PRESETS = {"smoke": lm.Preset(Setting(), {"rate": [0.1, 0.2], "width": [300, 257]}, 7)}
EXPERIMENT = lm.Experiment("e1-toy", "How large?", "(1)", simulate, PRESETS, lambda data: Figure(figsize=(1, 1)))
theory = lm.Theory(CARD, Setting, simulate, [EXPERIMENT], [])
"""
)
SCRIPT = """
import os
import numpy as np
import lemmata as lm


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "step size", low=0)


def scaled(setting, seed):
    return setting.rate * seed


@lm.simulation(lm.Variable("value", (), "v", "value"), lm.Variable("process", (), "p", "process"), host=True)
def simulate(setting, seed):
    return {"value": np.float32(scaled(setting, seed)), "process": np.float32(os.getpid())}


if __name__ == "__main__":
    data = lm.sweep(simulate, Setting(), axes={"rate": [0.5, 2.0]}, seeds=3, engine="processes:1")
    print(data.value.values.tolist(), (data.process != os.getpid()).all().item())
"""


@pytest.fixture(autouse=True)
def _no_default_scheduler() -> Iterator[None]:
    """A Dask client that found no scheduler stays the default one of this process."""
    yield
    if "dask" in sys.modules:
        sys.modules["dask"].config.config.pop("scheduler", None)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TRACES", str(tmp_path / "traces"))
    path = Path("toy.py")
    path.write_text(FILE)
    return path


def test_all_engines_write_the_same_bytes(toy: Path, lemmata: Lemmata, tmp_path: Path) -> None:
    """A compiled simulation of a theory in one file, which no worker can import; seeds in two unequal blocks."""
    stored: dict[str, dict[str, bytes]] = {}
    with Cluster(tmp_path, 2) as cluster:
        for kind in ("local", "processes:2", "dask", cluster.engine):
            Path("traces").unlink(missing_ok=True)
            out = str(len(stored))
            done = lemmata("run", "toy.py/e1-toy", "--preset", "smoke", "--engine", kind, "--out", out)
            assert done.code == 0, done.err
            assert done.err == ""
            stored[kind] = contents(Path(out, "toy/e1-toy/data.zarr"))
            if kind != "local":
                traces = Path("traces").read_text().split()
                assert str(os.getpid()) in traces, "the shapes"
                away = [process for process in traces if process != str(os.getpid())]
                assert 2 <= len(away) <= 4, "each of two workers traces each of two programs at most once"
    first = stored.pop("local")
    assert len([name for name in first if name.startswith("row/") and name[4] != "."]) == 8
    for kind, files in stored.items():
        assert files == first, kind


def test_a_simulation_of_a_script_runs_in_worker_processes(toy: Path) -> None:
    Path("script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[[0.0, 0.5, 1.0], [0.0, 2.0, 4.0]] True\n", done.stderr


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "step size", low=0)


def seen(setting: Setting, seed: int) -> dict[str, Any]:
    """How many cores a worker may use, and the threads that its XLA has started."""
    jax.block_until_ready(jax.jit(lambda x: x @ x)(jax.numpy.ones((400, 400))))
    names = [Path(f"/proc/self/task/{task}/comm").read_text() for task in os.listdir("/proc/self/task")]
    threads = sum("XLAEigen" in name for name in names)
    return {"cores": float(len(os.sched_getaffinity(0))), "threads": float(threads), "process": float(os.getpid())}


VARIABLES = tuple(lm.Variable(name, (), name, name) for name in ("cores", "threads", "process"))


@pytest.fixture(scope="module")
def pair() -> Iterator[Processes]:
    engine = Processes(2)
    yield engine
    engine.close()


def test_a_worker_has_its_share_of_the_cores_and_serves_sweep_after_sweep(pair: Processes) -> None:
    look = lm.Simulation(seen, VARIABLES, host=True, precision="float64")
    data = lm.sweep(look, Setting(), seeds=2, engine=pair)
    cores = len(os.sched_getaffinity(0))
    assert (data.cores == max(1, cores // 2)).all()
    assert (data.threads == cores).all(), "as in this process, for the same bits"
    processes = {worker.process.pid for worker in pair.workers}
    assert set(data.process.values) <= processes
    pair.forget_programs()
    assert set(lm.sweep(look, Setting(), seeds=2, engine=pair).process.values) <= processes


def test_a_worker_that_died_between_two_sweeps_is_started_again(pair: Processes) -> None:
    look = lm.Simulation(lambda setting, seed: {"process": float(os.getpid())}, VARIABLES[2:], host=True)
    before = {worker.process.pid for worker in pair.workers}
    for worker in pair.workers:
        worker.process.kill()
        worker.process.wait()
    pair.forget_programs()
    data = lm.sweep(look, Setting(), seeds=1, engine=pair)
    after = {worker.process.pid for worker in pair.workers}
    assert set(data.process.values) <= after - before


def test_cores_are_divided_among_workers_and_each_has_one_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4, 6, 7})
    monkeypatch.delenv("PJRT_NPROC", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [each[CORES] for each in share_machine(2)] == ["3,6", "4,7"]
    assert [each[CORES] for each in share_machine(3)] == ["3,7", "4", "6"]
    assert [each[CORES] for each in share_machine(6)] == ["3", "4", "6", "7", "3", "4"]
    assert len(share_machine()) == 4
    for each in share_machine():
        assert (each["PJRT_NPROC"], each["OMP_NUM_THREADS"]) == ("4", "3"), "as in this process, for the same bits"
    assert "CUDA_VISIBLE_DEVICES" not in share_machine()[0]


@pytest.mark.parametrize(
    ("visible", "count", "cards"),
    [("", None, ["0", "1", "2"]), ("4,6", None, ["4", "6"]), ("4,6", 3, ["4", "6", "4"]), ("", 1, ["0"])],
)
def test_every_worker_has_a_gpu_where_there_are_some(
    visible: str, count: int | None, cards: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "local_device_count", lambda: 3)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    shared = share_machine(count)
    assert [each["CUDA_VISIBLE_DEVICES"] for each in shared] == cards
    assert all(each["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false" for each in shared)


def test_a_worker_with_other_sources_is_one_sentence(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(lm.__file__).parent
    skipped = shutil.ignore_patterns("__pycache__", "theories")
    shutil.copytree(source, "other/lemmata", ignore=skipped)
    with open("other/lemmata/lab/grid.py", "a") as file:
        file.write("CHANGED = True\n")
    engine = Processes(1)
    engine.close()
    engine.workers[0] = Worker({"PYTHONPATH": str(Path("other").resolve())})
    engine._idle.get()
    engine._idle.put(engine.workers[0])
    try:
        with pytest.raises(
            UserError, match=r"The worker on .* has sources \w+, but this command has \w+: use the same"
        ):
            lm.sweep(lm.load("toy.py").simulate, lm.load("toy.py").setting(width=9), seeds=1, engine=engine)
    finally:
        engine.close()


def test_work_of_other_versions_or_unknown_modules_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    from lemmata.lab.parcels import _environment

    newer = {**_environment(), "jax": "99.0"}
    with pytest.raises(UserError, match=r"has jax [\d.]+, but this command has 99\.0: use the same environment"):
        _unpack_work(pickle.dumps((newer, {}, b"never read")))
    absent = b"cnowhere_to_be_found\nthing\n."
    with pytest.raises(UserError, match=r"cannot load this theory .*nowhere_to_be_found"):
        _unpack_work(pickle.dumps((_environment(), {}, absent)))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--engine", "proceses"], "There is no engine 'proceses'; did you mean 'processes'?"),
        (["--engine", "processes:0"], "The engine 'processes:0' is not allowed: processes:K has a number"),
        (["--engine", "processes:many"], "The engine 'processes:many' is not allowed: processes:K has a number"),
        (["--engine", "local:2"], "The engine 'local' takes no argument, but got '2'."),
        (["--engine", ""], "There is no engine ''"),
        (["--engine", "dask:absent.json"], "There is no scheduler file absent.json."),
        (["--engine", "dask:broken.json"], "broken.json is not a scheduler file: it has no address in JSON."),
        (["--engine", "dask:empty.json"], "empty.json is not a scheduler file: it has no address in JSON."),
        (["--engine", "dask:foo://"], "No Dask scheduler answers at foo://: unknown address scheme 'foo'"),
        (["--engine", "dask:tcp://127.0.0.1:9"], "No Dask scheduler answers at tcp://127.0.0.1:9: "),
        (["--progress", "loud"], "There is no progress 'loud'"),
    ],
)
def test_a_bad_engine_or_progress_is_one_sentence_and_nothing_is_written(
    options: list[str], sentence: str, toy: Path, lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("broken.json").write_text("{")
    Path("empty.json").write_text("[]")
    monkeypatch.setattr(dask_engine, "CONNECT", 1)
    before = sorted(Path().rglob("*"))
    done = lemmata("run", "toy.py/e1-toy", "--preset", "smoke", *options)
    assert done.code == 2
    assert done.out == ""
    assert len(done.sentences) == 1
    assert done.sentences[0].startswith(sentence)
    assert [path for path in sorted(Path().rglob("*")) if "__pycache__" not in str(path)] == before


def test_without_dask_the_sentence_names_what_to_install(
    toy: Path, lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = lemmata("run", "toy.py/e1-toy", "--preset", "smoke", "--engine", "dask")
    assert done.code == 2
    assert done.sentences == ["The engine 'dask' needs Dask; install it with: pip install 'lemmata[cluster]'."]
    assert not Path("results").exists()
