"""Workers that stop answering: it is said for whom the command waits, and a timeout gives them up."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from command import Lemmata
from engine_toys import THEORY, finish, hold, process_of, started, wait_until

from lemmata.lab.engines import dask, processes


@pytest.fixture(autouse=True)
def _theory() -> None:
    Path("toy.py").write_text(THEORY)


def test_a_worker_that_is_stopped_is_given_up_after_the_timeout_and_its_call_repeated() -> None:
    hold("0.2 0")
    with started("processes:1", "--timeout", "3") as process:
        wait_until(lambda: process_of("0.2 0", but=process.pid), process)
        stopped = process_of("0.2 0", but=process.pid)
        os.kill(stopped, signal.SIGSTOP)
        hold()
        result = finish(process)
    assert result.code == 0, result.err
    (sentence,) = [line for line in result.sentences if "Worker" in line]
    assert sentence.startswith(f"Worker {stopped}, at cell 1, seeds 0 to ")
    assert "was silent for 3 s: given up" in sentence


def test_without_a_timeout_it_is_said_who_is_waited_for(monkeypatch: pytest.MonkeyPatch, lemmata: Lemmata) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.5)
    Path("pause").write_text("3")
    done = lemmata("run", "toy.py/e1-toy", "--preset", "smoke", "--select", "rate=0.1", "--seeds", "1",
                   "--engine", "processes:1")  # fmt: skip
    assert done.code == 0
    waiting = [line for line in done.sentences if line.startswith("Waiting for worker ")]
    assert waiting
    assert "--timeout SECONDS would give it up" in waiting[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--timeout", "5"], "--timeout is for workers"),
        (["--timeout", "0", "--engine", "processes:1"], "greater than 0"),
    ],
)
def test_a_timeout_that_means_nothing_is_refused(arguments: list[str], said: str, lemmata: Lemmata) -> None:
    done = lemmata("run", "toy.py/e1-toy", "--preset", "smoke", *arguments)
    assert done.code == 2
    assert said in done.err


def test_a_cluster_that_does_not_start_is_a_sentence(monkeypatch: pytest.MonkeyPatch, lemmata: Lemmata) -> None:
    distributed = pytest.importorskip("distributed")

    def fail(**options: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    done = lemmata("run", "toy.py/e1-toy", "--preset", "smoke", "--engine", "dask")
    assert done.code == 2
    assert done.sentences == ["No Dask cluster could be started on this machine: Nanny failed to start.; try it again."]


def test_a_silent_dask_cluster_is_given_up_after_the_timeout() -> None:
    pytest.importorskip("distributed")
    hold("0.2 0")
    with started("dask", "--timeout", "4") as process:
        wait_until(lambda: process_of("0.2 0", but=process.pid), process)
        result = finish(process)
    assert result.code == 2, result.err
    assert "has given a sign of life for 4 s (waiting for the Dask workers tcp://" in result.sentences[-1]
    assert dask.SILENCE > 60
