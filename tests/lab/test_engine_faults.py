"""Engines when processes die: what was finished is kept, the rest is computed, the numbers are the same bit for bit."""

from __future__ import annotations

import collections
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from engine_toys import (
    LIMIT,
    RATES,
    THEORY,
    Cluster,
    below,
    calls,
    command,
    contents,
    done,
    finish,
    hold,
    kill,
    log,
    process_of,
    repeat,
    runs,
    spoil,
    started,
    status,
    undisturbed,
    wait_until,
)

from lemmata.lab.errors import UserError
from lemmata.lab.registry import load
from lemmata.lab.runner import Options, run
from lemmata.lab.store import DONE, FAILED, PENDING


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    """The toy; no run of it is held on the cluster after the test."""
    Path("toy.py").write_text(THEORY)
    yield
    hold()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers for all tests of this file."""
    with Cluster(tmp_path_factory.mktemp("cluster"), 2) as cluster:
        yield cluster


@pytest.fixture(params=["processes", "dask"])
def engine(request: pytest.FixtureRequest) -> str:
    return "processes:2" if request.param == "processes" else request.getfixturevalue("cluster").engine


def test_a_worker_that_is_killed_in_the_middle_of_a_chunk_costs_only_this_chunk(engine: str) -> None:
    hold("0.2 1")
    with started(engine) as process:
        wait_until(lambda: process_of("0.2 1"), process)
        kill(process_of("0.2 1"))
        hold()
        result = finish(process)
    assert result.code == 0, result.err
    assert result.err == ""
    twice = collections.Counter(runs([0.2]))
    assert calls(but=process.pid) == collections.Counter(runs()) + twice
    assert contents() == undisturbed()


def test_a_cell_that_kills_its_worker_every_time_has_failed_and_takes_no_other_with_it(engine: str) -> None:
    spoil(r2="kills")
    hold("0.1 1", "0.2 0")
    with started(engine) as process:
        wait_until(lambda: process_of("0.1 1") and process_of("0.2 0"), process)
        hold()  # by now others wait behind these two on a worker of a cluster
        result = finish(process)
    assert result.code == 1
    assert result.sentences[0].startswith("failed: rate=0.2")
    assert "died" in result.sentences[0]
    assert len(result.sentences) == 2
    assert status().ravel().tolist() == [FAILED if rate == 0.2 else DONE for rate in RATES]
    spoil()
    Path("calls.log").unlink()
    assert repeat().failed == 0
    assert calls() == collections.Counter(runs([0.2]))


def test_a_killed_command_ends_its_workers_frees_its_folder_and_goes_on_when_it_is_repeated(engine: str) -> None:
    hold("0.2 1")
    with started(engine) as first:
        wait_until(lambda: process_of("0.2 1") and done() == len(RATES) - 1, first)
        workers = below(first.pid)
        with pytest.raises(UserError, match="out/toy/e1-toy is in use by another process"):
            repeat()
        kill(first.pid)
        first.wait()
        # they wait in the middle of a run and end all the same
        assert not psutil.wait_procs(workers, timeout=LIMIT)[1]
    assert engine.startswith("dask") or len(workers) == 2
    hold()
    Path("calls.log").unlink()
    result = command(engine)
    assert result.code == 0, result.err
    # a worker of a cluster may have finished its call
    assert calls() == collections.Counter(runs([0.2])) or (engine.startswith("dask") and not calls())
    assert contents() == undisturbed()


def test_what_a_killed_command_left_on_a_cluster_does_not_write_into_a_newer_store(cluster: Cluster) -> None:
    import distributed

    hold("0.2 1")
    with started(cluster.engine) as first:
        wait_until(lambda: process_of("0.2 1"), first)
        kill(first.pid)
        first.wait()
    run(load("toy.py"), "e1-toy", Options("smoke", seed=10, out=Path("out"), overwrite=True))
    before = contents()
    hold()
    with distributed.Client(scheduler_file=str(cluster.file)) as client:
        wait_until(lambda: not any(client.run(lambda dask_worker: len(dask_worker.state.executing)).values()))
    assert contents() == before


def test_a_scheduler_that_is_gone_is_one_sentence_and_another_one_completes_the_work(
    tmp_path: Path, cluster: Cluster
) -> None:
    hold("0.4 0")
    with Cluster(tmp_path, 1) as doomed, started(doomed.engine) as process:
        wait_until(lambda: process_of("0.4 0") and done() >= 3, process)
        doomed.scheduler.kill()
        result = finish(process)
    assert result.code == 2
    assert result.out == ""
    assert len(result.sentences) == 1, result.err
    assert "is gone; what was finished is kept, the same command goes on from there." in result.err
    finished = status().ravel() == DONE
    assert not finished.all()
    hold()
    Path("calls.log").unlink()
    again = command(cluster.engine)
    assert again.code == 0, again.err
    assert calls() == collections.Counter(runs([rate for rate, have in zip(RATES, finished, strict=True) if not have]))
    assert contents() == undisturbed()


@pytest.mark.parametrize("engine", ["processes:2", "dask"])
def test_ctrl_c_ends_command_and_workers_and_the_same_command_completes(engine: str) -> None:
    hold("0.2 1", "0.5 1")
    spoil(r1="prints", r3="prints", r4="prints")
    with started(engine) as process:
        wait_until(lambda: process_of("0.2 1") and process_of("0.5 1") and done() >= 1, process)
        workers = below(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        began = time.monotonic()
        result = finish(process)
    assert time.monotonic() - began < LIMIT / 2
    assert result.code == 130
    assert result.out == ""
    said = [sentence for sentence in result.sentences if sentence != "hello from a run"]
    assert said == ["interrupted; what was finished is kept, the same command goes on from there"]
    assert len(workers) >= 2
    assert not psutil.wait_procs(workers, timeout=LIMIT)[1]
    left = [rate for rate, state in zip(RATES, status().ravel(), strict=True) if state == PENDING]
    assert {0.2, 0.5} <= set(left)
    hold()
    Path("calls.log").unlink()
    assert repeat().failed == 0
    assert calls() == collections.Counter(runs(left))
    assert contents() == undisturbed()


BAD = {"r1": "unreadable", "r2": "nan", "r3": "shape", "r4": "exits", "r5": "raises", "r6": "prints"}


def test_poisoned_cells_fail_with_their_message_and_only_they_are_computed_again(engine: str) -> None:
    spoil(**BAD)
    result = command(engine, "--json")
    assert result.code == 1
    assert '"failed": 5' in result.out
    assert result.out.startswith("{"), "what a simulation prints is no result"
    failed = [line for line in result.sentences if line.startswith("failed: ")]
    for line, (rate, words) in zip(
        failed,
        {
            "0.1": "Local: cannot travel (toy.py:", "0.2": "place is NaN", "0.3": "place has shape (3, 2)",
            "0.4": "SystemExit: over (toy.py:", "0.5": "ArithmeticError: no convergence (toy.py:",
        }.items(),
        strict=True,
    ):  # fmt: skip
        assert f"rate={rate}" in line
        assert words in line
    assert result.sentences[-1] == "5 failed; the same command tries only these again."
    assert not any("Traceback" in line for line in result.sentences)
    assert status().ravel().tolist() == [FAILED] * 5 + [DONE]
    spoil(r5="raises")
    Path("calls.log").unlink()
    assert repeat().failed == 1
    assert calls() == collections.Counter(runs(RATES[:5])) - collections.Counter(runs([0.5], [1]))
    assert status().ravel().tolist() == [DONE] * 4 + [FAILED, DONE]


def test_a_run_that_exits_or_prints_does_neither_to_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    spoil(**BAD)
    failures = repeat().failures
    assert len(failures) == 5
    assert failures["rate=0.4, seed block 0"].startswith("SystemExit: over (toy.py:")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "hello from a run" in printed.err


def test_what_a_theory_of_ones_own_misses_at_a_worker_is_its_failed_cell_with_its_words(engine: str) -> None:
    """The exception is of the user's own class and cannot travel."""
    spoil(r3="missing")
    result = command(engine)
    assert result.code == 1
    assert "Unreadable: train.csv and test.csv are missing. (toy.py:" in result.err
    assert status().ravel().tolist() == [DONE] * 2 + [FAILED] + [DONE] * 3


COMMAND, WORKER = True, False


@pytest.mark.parametrize(
    ("engine", "kills"),
    [("local", [(COMMAND, 0.0), (COMMAND, 0.8)]), ("processes:2", [(WORKER, 0.5), (COMMAND, 0.3)])],
    ids=["local", "processes"],
)
def test_however_often_it_is_killed_the_work_ends_as_if_nothing_had_happened(
    engine: str, kills: list[tuple[bool, float]]
) -> None:
    """Every kill hits the command, or a worker of it, somewhere between its first run and its end."""
    Path("pause").write_text("0.05")
    for command_dies, moment in kills:
        seen = len(log())
        with started(engine) as process:
            wait_until(lambda process=process, seen=seen: process.poll() is not None or len(log()) > seen + 1)
            time.sleep(0.4 * moment)
            workers = [] if command_dies else below(process.pid)
            (workers[-1] if workers else process).kill()
            process.wait(LIMIT)
    assert repeat().failed == 0
    assert (status() == DONE).all()
    assert contents() == undisturbed()
