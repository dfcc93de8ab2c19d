"""Sweeps: plan the chunks of a grid, compute the pending ones, write each as it is done.

The plan is a fixed partition of all chunks into calls, whatever is already done, so that a resumed sweep makes the very
calls that an undisturbed one would have made.
"""

from __future__ import annotations

import concurrent.futures
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.ensemble import Interrupted, Layout, default_layout, result_shapes, simulate_runs, workers
from lemmata.lab.grid import Axes, Grid, make_grid
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.store import DONE, Chunk, Store

Call = Sequence[Chunk]
Progress = Callable[[int, int], None]
"""Called with (runs done, runs in all) whenever a call ends."""


def plan(grid: Grid, chunks: Sequence[Chunk], layout: Layout) -> list[Call]:
    """Partition the chunks into calls of at most `layout.runs` runs that share their static fields."""
    if layout.kind == "threads":
        return [[chunk] for chunk in chunks]
    groups: dict[Any, list[Chunk]] = {}
    for chunk in chunks:
        groups.setdefault(grid.cells[chunk.cell].problem().static, []).append(chunk)
    calls: list[Call] = []
    for group in groups.values():
        call: list[Chunk] = []
        for chunk in group:
            if call and sum(len(c.seeds) for c in call) + len(chunk.seeds) > layout.runs:
                calls.append(call)
                call = []
            call.append(chunk)
        calls.append(call)
    return calls


def execute(
    simulation: Simulation,
    grid: Grid,
    store: Store,
    layout: Layout,
    precision: str,
    progress: Progress | None = None,
) -> int:
    """Compute what is pending and what failed before; the number of failed chunks is returned."""
    status = store.status()
    chunks = store.chunks(grid)
    pending = {chunk for chunk in chunks if status[(*chunk.cell, chunk.block)] != DONE}
    calls = [call for call in plan(grid, chunks, layout) if any(chunk in pending for chunk in call)]
    total = sum(len(chunk.seeds) for chunk in chunks)
    done = total - sum(len(chunk.seeds) for chunk in pending)
    if progress:
        progress(done, total)
    for call, results in _local(simulation, grid, calls, layout, precision):
        at = 0
        for chunk in call:
            mine = results if isinstance(results, str) else results[at : at + len(chunk.seeds)]
            at += len(chunk.seeds)
            if chunk not in pending:
                continue
            message = mine if isinstance(mine, str) else _defect(simulation, store, mine)
            if message:
                store.fail(chunk, message)
            else:
                store.write(chunk, mine)  # pyright: ignore[reportArgumentType]
            done += len(chunk.seeds)
        if progress:
            progress(done, total)
    return len(store.failures())


def _local(
    simulation: Simulation, grid: Grid, calls: Sequence[Call], layout: Layout, precision: str
) -> Iterator[tuple[Call, list[dict[str, np.ndarray]] | str]]:
    """The local engine: calls from a pool of threads, yielded as they end. An exception becomes its message."""
    stop = threading.Event()

    def compute(call: Call) -> list[dict[str, np.ndarray]] | str:
        runs = [(grid.cells[chunk.cell], seed) for chunk in call for seed in chunk.seeds]
        try:
            return simulate_runs(simulation, runs, layout, precision, stop.is_set)
        except Interrupted:
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"

    with concurrent.futures.ThreadPoolExecutor(workers(layout)) as pool:
        futures = {pool.submit(compute, call): call for call in calls}
        try:
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _defect(simulation: Simulation, store: Store, results: Sequence[Mapping[str, np.ndarray]]) -> str:
    """Why these results cannot be stored: a type, a shape or an unflagged NaN; empty if they can."""
    for result in results:
        for name, value in result.items():
            variable = simulation.variable(name)
            if value.dtype.kind != "f":
                return f"{name} is {value.dtype}, not floating point"
            if value.shape != store.shape(name):
                return f"{name} has shape {value.shape}, but the first cell has {store.shape(name)}"
            first = value[0] if variable.dims[:1] == ("record",) else value
            if not variable.optional and np.isnan(first).any():
                return f"{name} is NaN"
    return ""


def sweep(
    simulation: Simulation,
    setting: Setting,
    axes: Axes | None = None,
    seeds: int = 20,
    *,
    seed: int = 0,
    precision: str = "float32",
    progress: Progress | None = None,
) -> xr.Dataset:
    """Simulate every cell of the product of `axes` with seeds `seed`, ..., `seed + seeds - 1`; in memory.

    `axes` maps a field to its values, or a name to {label: {field: value, ...}}. Failed cells raise.
    """
    grid = make_grid(setting, axes or {})
    layout = default_layout()
    first = next(iter(grid.cells.values()))
    shapes = result_shapes(simulation, first, seed, precision)
    store = Store.create(None, simulation, grid, range(seed, seed + seeds), layout.block, shapes, precision, {})
    execute(simulation, grid, store, layout, precision, progress)
    failures = store.failures()
    if failures:
        where, message = next(iter(failures.items()))
        cell = tuple(int(i) for i in where.split(",")[:-1])
        raise RuntimeError(f"{len(failures)} chunks failed; first, at {grid.describe(cell)}: {message}")
    return store.dataset()
