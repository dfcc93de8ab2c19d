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
from lemmata.lab.errors import UserError, unknown
from lemmata.lab.grid import Axes, Grid, make_grid
from lemmata.lab.precision import PRECISIONS
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.store import DONE, Chunk, Store

Call = Sequence[Chunk]
Progress = Callable[[int, int], None]
"""Called with (runs done, runs in all) whenever a call ends."""


def plan(grid: Grid, chunks: Sequence[Chunk], layout: Layout) -> list[Call]:
    """Partition the chunks into calls of at most `layout.runs` runs that share their static fields and seeds.

    A call never mixes blocks of seeds: more seeds then leave the earlier calls, and so their bits, as they were. From
    threads, chunks that need other programs come first, so that these are compiled side by side and each only once.
    """
    groups: dict[Any, list[Chunk]] = {}
    if layout.kind == "threads":
        for chunk in chunks:
            groups.setdefault(grid.cells[chunk.cell].problem().static, []).append(chunk)
        first = {group[0]: None for group in groups.values()}
        return [[chunk] for chunk in (*first, *(chunk for chunk in chunks if chunk not in first))]
    for chunk in chunks:
        groups.setdefault((grid.cells[chunk.cell].problem().static, chunk.block), []).append(chunk)
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
    seeds: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Compute what is pending or failed before, of all seeds or the first ones; returns the number of failed chunks."""
    status = store.status()
    shapes = store.shapes()
    chunks = store.chunks(grid, seeds)
    pending = {chunk for chunk in chunks if status[(*chunk.cell, chunk.block)] != DONE}
    calls = [call for call in plan(grid, chunks, layout) if any(chunk in pending for chunk in call)]
    total = sum(len(chunk.seeds) for chunk in chunks)
    done = total - sum(len(chunk.seeds) for chunk in pending)
    if progress:
        progress(done, total)
    for call, results in _local(simulation, grid, calls, layout, precision):
        for chunk, mine in zip(call, results, strict=True):
            if chunk not in pending:
                continue
            message = mine if isinstance(mine, str) else _defect(simulation, shapes, mine)
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
) -> Iterator[tuple[Call, list[list[dict[str, np.ndarray]] | str]]]:
    """The local engine: calls from a pool of threads, yielded as they end, with the results of every chunk.

    An exception becomes its message; the chunks of a longer call are then tried alone, so that it hits only its own.
    """
    stop = threading.Event()

    def compute(call: Call) -> list[list[dict[str, np.ndarray]] | str]:
        runs = [(grid.cells[chunk.cell], seed) for chunk in call for seed in chunk.seeds]
        try:
            results = iter(simulate_runs(simulation, runs, layout, precision, stop.is_set))
            return [[next(results) for _ in chunk.seeds] for chunk in call]
        except (Interrupted, UserError):
            # what the user must put right (a missing data file) is no result of a cell
            raise
        except Exception as error:
            return [_message(error)] if len(call) == 1 else [compute([chunk])[0] for chunk in call]

    with concurrent.futures.ThreadPoolExecutor(workers(layout)) as pool:
        futures = {pool.submit(compute, call): call for call in calls}
        try:
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _defect(
    simulation: Simulation, shapes: Mapping[str, tuple[int, ...]], results: Sequence[Mapping[str, np.ndarray]]
) -> str:
    """Why these results cannot be stored: a variable, a type, a shape or an unflagged NaN; empty if they can."""
    for name in sorted(shapes.keys() ^ results[0].keys()):
        return f"{name} is {'returned' if name in results[0] else 'not returned'}, unlike in the first cell"
    for result in results:
        for name, value in result.items():
            variable = simulation.variable(name)
            if value.dtype.kind != "f":
                return f"{name} is {value.dtype}, not floating point"
            if value.shape != shapes[name]:
                return f"{name} has shape {value.shape}, but the first cell has {shapes[name]}"
            first = value[0] if variable.dims[:1] == ("record",) else value
            if not variable.optional and np.isnan(first).any():
                return f"{name} is NaN"
    return ""


def find_shapes(simulation: Simulation, grid: Grid, seed: int, precision: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the first cell that returns what is declared; a broken cell does not stop the others."""
    reasons = []
    for cell, setting in grid.cells.items():
        try:
            shapes = result_shapes(simulation, setting, seed, precision)
        except UserError:
            raise
        except Exception as error:
            reasons.append(f"{grid.describe(cell)}: {_message(error)}")
            continue
        wrong = [name for name, shape in shapes.items() if len(shape) != len(simulation.variable(name).dims)]
        if not wrong:
            return shapes
        dims = simulation.variable(wrong[0]).dims
        reasons.append(f"{grid.describe(cell)}: {wrong[0]} has shape {shapes[wrong[0]]}, its dimensions are {dims}")
    raise RuntimeError(f"every cell failed; first, at {reasons[0]}")


def _message(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def sweep(
    simulation: Simulation,
    setting: Setting,
    axes: Axes | None = None,
    seeds: int = 20,
    *,
    seed: int = 0,
    precision: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Simulate every cell of the product of `axes` with seeds `seed`, ..., `seed + seeds - 1`; in memory.

    `axes` maps a field to its values, or a name to {label: {field: value, ...}}. Failed cells raise.
    """
    if not isinstance(seeds, int) or seeds < 1:
        raise UserError(f"seeds = {seeds} is not allowed: seeds is an integer at least 1.")
    precision = precision or simulation.precision
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    grid = make_grid(setting, axes or {})
    layout = default_layout(seeds, len(grid.cells))
    shapes = find_shapes(simulation, grid, seed, precision)
    store = Store.create(None, simulation, grid, range(seed, seed + seeds), layout.block, shapes, precision, {})
    execute(simulation, grid, store, layout, precision, seeds, progress)
    failures = store.failures()
    if failures:
        where, message = next(iter(failures.items()))
        cell = tuple(int(i) for i in where.split(",")[:-1])
        raise RuntimeError(f"{len(failures)} chunks failed; first, at {grid.describe(cell)}: {message}")
    return store.dataset()
