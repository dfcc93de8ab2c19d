"""Workers whose disk fails, or who die over it, at any single operation: the same command goes on, on every engine.

With `--long`: worker processes at every operation, a worker of a cluster at some.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from disk import DISK, Killed, Orders
from test_crash_points import plain
from toys import HOST, OUT, TRAINED, run_toy, write_theory

from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.engines.processes import Processes, Worker
from lemmata.lab.files import PARTIAL
from lemmata.lab.theory import Theory

FAR = Path(__file__).parent / "far"
FAULTS = {"all die": "kill", "a worker dies": "kill", "full": "full", "error": "error"}


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Orders:
    """Workers that are started from now on have a disk that fails as these orders say."""
    found = Orders(tmp_path / "orders.json")
    found.give(OUT)
    monkeypatch.syspath_prepend(FAR)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAR), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("LEMMATA_TEST_ORDERS", str(found.file))
    revive = Worker.revive

    def revive_if_alive(worker: Worker) -> None:
        if DISK.dead is not None and DISK.dead.exists():
            raise Killed
        revive(worker)

    monkeypatch.setattr(Worker, "revive", revive_if_alive)
    return found


@pytest.fixture(params=["processes", "dask"])
def engine(request: pytest.FixtureRequest, orders: Orders, tmp_path: Path) -> Iterator[Engine]:
    """An engine with one worker, so that its operations have an order."""
    if request.param == "processes":
        with open_engine("processes:1") as opened:
            yield opened
        return
    if not request.config.getoption("--long"):
        pytest.skip("a cluster is costly: with --long")
    request.getfixturevalue("monkeypatch").syspath_prepend(Path(__file__).parents[1] / "lab")
    from engine_toys import Cluster

    with Cluster(tmp_path, 1) as cluster, open_engine(cluster.engine) as opened:
        yield opened


@pytest.mark.parametrize("name", ["e1-host", "e2-trained"])
def test_wherever_a_workers_disk_fails_the_same_command_goes_on(
    name: str, engine: Engine, orders: Orders, request: pytest.FixtureRequest
) -> None:
    theory = write_theory()
    few = not request.config.getoption("--long")
    every = not few and isinstance(engine, Processes)
    if name == "e2-trained" and few:
        pytest.skip("the worker writes the same files, and trainings beside them: with --long")
    right = run_toy(theory, name, engine)
    assert right.data is not None
    operations = orders.count
    assert operations > 20
    for kind, fault in FAULTS.items():
        some = [operations // 3 + len(kind)] if few else np.linspace(1, operations, 3).astype(int).tolist()
        tried = list(range(1, operations + 1)) if every else some
        for number in tried:
            shutil.rmtree(OUT)
            orders.give(OUT, number, fault)
            place = f"{name} {kind} {number} of {operations}"
            with DISK.failing(OUT, dead=orders.fired if kind == "all die" else None):
                try:
                    said = run_toy(theory, name, engine)
                except Killed:
                    said = None
            if kind == "a worker dies":
                assert said is not None
                assert said.data is not None, (place, said.refused)
            elif said is not None and said.refused:
                assert "\n" not in said.refused, place
                assert "cannot be written" in said.refused, (place, said.refused)
            orders.give(OUT.with_name("elsewhere"))
            check_completes(theory, name, engine, right.data, place)
        print(f"{name}: {kind} at {len(tried)} of {operations} operations", flush=True)


def check_completes(theory: Theory, name: str, engine: Engine, right: xr.Dataset, place: str) -> None:
    again = run_toy(theory, name, engine)
    assert again.data is not None, (place, again.refused)
    xr.testing.assert_identical(plain(again.data), plain(right))
    left = [file.name for file in OUT.rglob("*") if file.name.endswith((PARTIAL, ".new", ".old"))]
    assert not left, place
    folder = HOST if name == "e1-host" else TRAINED
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG"), place
