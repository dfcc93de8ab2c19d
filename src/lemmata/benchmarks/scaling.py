"""`lemmata bench scaling`: one and two workers (processes, Dask) against the local engine.

Three numbers for each: runs per second of a real training (that of `vit` F1a: m = 100, L = 50, N = 64, full batch,
about a second a run, one run a chunk); what a chunk costs besides its own second, measured with runs that sleep exactly
one second and return 30 variables, from the first that is stored to the last; and the time from opening the engine to
the first result that is stored, programs from the cache. `PJRT_NPROC=1` in the environment gives every run one thread.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lemmata.lab.declarations import number
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation, Variable, simulation
from lemmata.lab.sweep import Progress, sweep

WORKERS = (1, 2)
CHUNKS = 16
ROUNDS = 2
SECOND = 1.0


class Pause(Setting):
    """A run that only waits."""

    cell: float = number(0.0, "", "which cell")
    seconds: float = number(1.0, "", "how long it waits", low=0)


@simulation(*(Variable(f"value_{i}", (), "", "a number") for i in range(30)), host=True)
def pause(setting: Pause, seed: int) -> dict[str, Any]:
    """Wait."""
    time.sleep(setting.seconds)
    return {f"value_{i}": np.float32(setting.cell) for i in range(30)}


def training() -> Setting:
    """The network of F1a, trained for about a second on one core."""
    from lemmata.theories import vit

    return vit.Setting(
        output="per_token", neurons=100, samples=64, steps=1000, record_every=1000, records=2, stop="never"
    )


@contextlib.contextmanager
def open_workers(kind: str, workers: int) -> Iterator[Engine]:
    """An engine with this many workers; "local" has its threads."""
    if kind != "dask":
        with open_engine(kind if kind == "local" else f"{kind}:{workers}") as engine:
            yield engine
        return
    import distributed

    from lemmata.lab.engines.processes import share_machine

    cluster: Any = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, env=share_machine(workers)[0], dashboard_address=":0"
    )
    with cluster, open_engine(f"dask:{cluster.scheduler_address}") as engine:
        yield engine


def timed(engine: Engine, run: Simulation, setting: Setting, axis: str, values: Sequence[float]) -> list[float]:
    """Seconds until each of the runs was stored."""
    marks: list[float] = []
    began = time.perf_counter()

    def progress(seen: Progress) -> None:
        if seen.runs:
            marks.append(time.perf_counter() - began)

    sweep(run, setting, {axis: list(values)}, seeds=1, engine=engine, progress=progress)
    return marks


def measure(kind: str, workers: int) -> dict[str, Any]:
    """One engine's row."""
    from lemmata.theories.vit import simulate

    network, rates = training(), np.linspace(0.05, 0.1, CHUNKS).tolist()
    began = time.perf_counter()
    with open_workers(kind, workers) as engine:
        opened = time.perf_counter() - began
        first = opened + timed(engine, simulate, network, "step_size", rates[: 2 * workers])[0]
        trained = timed(engine, simulate, network, "step_size", rates)[-1]
        waited = timed(engine, pause, Pause(seconds=SECOND), "cell", range(CHUNKS))
    later = CHUNKS - workers
    overhead = (waited[-1] - waited[workers - 1]) * workers / later - SECOND
    return {
        "engine": kind, "workers": workers, "runs_per_second": CHUNKS / trained, "overhead_seconds": overhead,
        "first_result_seconds": first,
    }  # fmt: skip


def scaling(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows: the best of the rounds."""
    from lemmata.lab.ensemble import CPU, workers

    cases = [("local", workers(CPU)), *((kind, count) for kind in ("processes", "dask") for count in WORKERS)]
    rounds = [[measure(*case) for case in cases] for _ in range(ROUNDS)]
    rows = []
    for results in zip(*rounds, strict=True):
        best = {"runs_per_second": max(r["runs_per_second"] for r in results)}
        best |= {key: min(r[key] for r in results) for key in ("overhead_seconds", "first_result_seconds")}
        rows.append({**results[0], **best})
    alone = {row["engine"]: row["runs_per_second"] for row in rows if row["workers"] == 1}
    for row in rows:
        row["ratio"] = row["runs_per_second"] / alone[row["engine"]] if row["engine"] in alone else None
    if not quiet:
        print(
            f"{'engine':<10} {'workers':>7}  {'runs/s':>7}  {'of one':>7}  {'a chunk costs':>15}  {'first result':>12}"
        )
        for row in rows:
            ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}x"
            cost = f"{1e3 * row['overhead_seconds']:.1f} ms ({100 * row['overhead_seconds']:.1f} %)"
            print(
                f"{row['engine']:<10} {row['workers']:>7}  {row['runs_per_second']:7.2f}  {ratio:>7}  {cost:>15}  "
                f"{row['first_result_seconds']:10.1f} s"
            )
        print(f"best of {ROUNDS} rounds, {CHUNKS} chunks of one run; a chunk's cost is that besides its own second")
    return rows
