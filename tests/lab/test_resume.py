"""Interrupted work: a killed or interrupted command goes on where it was, and ends with the very same numbers."""

from __future__ import annotations

import collections
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from forge import Forked

from lemmata.lab.errors import UserError
from lemmata.lab.registry import load
from lemmata.lab.runner import Options, run
from lemmata.lab.store import DONE, Store

THEORY = '''
import threading, time
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "step size", low=0)


WRITING = threading.Lock()


def prepare(setting, seed):
    """One line per simulate call; held back where the test asks for it."""
    with WRITING, open("calls.log", "a") as log:
        print(f"{setting.rate:g} {seed}", file=log)
    if Path("slow").exists():
        time.sleep(0.25)
    while setting.rate == 0.3 and Path("hold").exists():
        time.sleep(0.02)
    return np.full(3, seed, np.float32)


@lm.piece()
def walk(problem, key, start):
    def step(i, x):
        return x - problem.rate * jnp.sin(x) + 0.1 * jax.random.normal(jax.random.fold_in(key, i), (3,))
    return jax.lax.fori_loop(0, 50, step, start)


@lm.simulation(lm.Variable("place", ("part",), "x", "where the walk ends"), prepare=prepare)
def simulate(problem, key, prepared=None):
    return {"place": walk(problem, lm.stream(key, "noise"), prepared)}


EXPERIMENT = lm.Experiment(
    "e1-walk", "Where does it end?", "(1)", simulate,
    {"smoke": lm.Preset(Setting(), {"rate": [0.1, 0.2, 0.3]}, 10)}, lambda data: Figure(figsize=(1, 1)),
)
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, [EXPERIMENT], [])
'''
RUN = ["run", "toy.py/e1-walk", "--preset", "smoke", "--out", "out"]
DATA = Path("out/toy/e1-walk/data.zarr")


@pytest.fixture
def start() -> Iterator[Callable[[], Forked]]:
    """Starts the command in a process of its own; none outlives the test."""
    Path("toy.py").write_text(THEORY)
    processes: list[Forked] = []

    def launch() -> Forked:
        processes.append(Forked(RUN))
        return processes[-1]

    yield launch
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def undisturbed() -> Callable[[], xr.Dataset]:
    """What the command gives when nothing happens to it."""

    def compute() -> xr.Dataset:
        return run(load("toy.py"), "e1-walk", Options("smoke", out=Path("elsewhere"))).data

    return compute


def wait_until(condition: Callable[[], bool], process: Forked) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.02)


def status() -> np.ndarray:
    store = Store.open(DATA)
    return np.zeros((3, 2)) if store is None else store.status()


def calls() -> collections.Counter[str]:
    return collections.Counter(Path("calls.log").read_text().splitlines())


def expected_calls(pending: np.ndarray) -> collections.Counter[str]:
    """One call per seed of every chunk that was not done."""
    cells = [(rate, block) for i, rate in enumerate((0.1, 0.2, 0.3)) for block in range(2) if pending[i, block]]
    return collections.Counter(f"{rate:g} {seed}" for rate, block in cells for seed in range(5 * block, 5 * block + 5))


def finish(process: Forked) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_killed_run_computes_only_what_was_unfinished_and_ends_bit_for_bit_the_same(
    start: Callable[[], Forked], undisturbed: Callable[[], xr.Dataset]
) -> None:
    """SIGKILL inside the experiment; a second process is refused while the first lives and free once it is dead."""
    Path("hold").touch()
    first = start()
    wait_until(lambda: int((status() == DONE).sum()) == 4, first)
    second = start()
    code, out, err = finish(second)
    assert code == 2
    assert out == ""
    assert err.strip().splitlines() == [
        "out/toy/e1-walk is in use by another process; wait for it or choose another --out."
    ]
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    done = status() == DONE
    assert done.tolist() == [[True, True], [True, True], [False, False]]
    partial = Store.open(DATA)
    assert partial is not None
    assert partial.dataset().place.sel(rate=0.3).isnull().all()

    Path("hold").unlink()
    Path("calls.log").unlink()
    code, _, err = finish(start())
    assert code == 0, err
    assert calls() == expected_calls(~done)
    store = Store.open(DATA)
    assert store is not None
    xr.testing.assert_identical(store.dataset(), undisturbed())


def test_ctrl_c_leaves_with_130_keeps_what_is_finished_and_the_same_command_completes(
    start: Callable[[], Forked], undisturbed: Callable[[], xr.Dataset]
) -> None:
    Path("slow").touch()
    process = start()
    wait_until(lambda: int((status() == DONE).sum()) >= 2, process)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    code, out, err = finish(process)
    assert time.monotonic() - began < 8
    assert code == 130
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert err.strip().startswith("interrupted")
    done = status() == DONE
    assert 2 <= done.sum() < 6, "it went on to the end instead of stopping"

    Path("slow").unlink()
    Path("calls.log").unlink()
    code, _, err = finish(start())
    assert code == 0, err
    assert calls() == expected_calls(~done)
    store = Store.open(DATA)
    assert store is not None
    xr.testing.assert_identical(store.dataset(), undisturbed())


def test_more_seeds_compute_new_blocks_and_a_last_block_that_was_not_full() -> None:
    Path("toy.py").write_text(THEORY)
    options = {"preset": "smoke", "out": Path("out")}
    few = run(load("toy.py"), "e1-walk", Options(**options, seeds=11)).data
    Path("calls.log").unlink()
    many = run(load("toy.py"), "e1-walk", Options(**options, seeds=17)).data
    assert calls() == collections.Counter(f"{rate:g} {seed}" for rate in (0.1, 0.2, 0.3) for seed in range(10, 17))
    xr.testing.assert_identical(many.isel(seed=slice(0, 11)), few)
    at_once = run(load("toy.py"), "e1-walk", Options("smoke", out=Path("elsewhere"), seeds=17)).data
    xr.testing.assert_identical(many, at_once)


def test_an_experiment_that_is_complete_computes_nothing() -> None:
    Path("toy.py").write_text(THEORY)
    options = Options("smoke", out=Path("out"))
    first = run(load("toy.py"), "e1-walk", options)
    Path("calls.log").unlink()
    again = run(load("toy.py"), "e1-walk", options)
    assert not Path("calls.log").exists()
    xr.testing.assert_identical(first.data, again.data)


def test_a_store_whose_attributes_are_gone_is_refused_and_left_alone() -> None:
    """It is put in place whole, so that no interruption leaves such a one."""
    Path("toy.py").write_text(THEORY)
    options = Options("smoke", out=Path("out"))
    whole = run(load("toy.py"), "e1-walk", options).data
    (DATA / ".zattrs").unlink()
    with pytest.raises(UserError, match=r"cannot be read .it has no \.zattrs. and is left as it is"):
        run(load("toy.py"), "e1-walk", options)
    xr.testing.assert_identical(run(load("toy.py"), "e1-walk", replace(options, overwrite=True)).data, whole)


def test_what_was_cut_short_while_a_store_was_created_is_removed() -> None:
    Path("toy.py").write_text(THEORY)
    options = Options("smoke", out=Path("out"))
    whole = run(load("toy.py"), "e1-walk", options).data
    DATA.rename(DATA.with_name("data.zarr.0123.new"))
    xr.testing.assert_identical(run(load("toy.py"), "e1-walk", options).data, whole)
    assert [path.name for path in DATA.parent.glob("data.zarr*")] == ["data.zarr"]
