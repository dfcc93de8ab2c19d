"""Sweeps: plan the chunks of a grid, compute the pending ones, write each as it is done.

The plan is a fixed partition of all chunks into calls, whatever is already done, so that a resumed sweep makes the very
calls that an undisturbed one would have made.
"""

from __future__ import annotations

import collections
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.ensemble import Layout, default_layout, result_shapes
from lemmata.lab.errors import UserError, unknown
from lemmata.lab.grid import Axes, Grid, make_grid
from lemmata.lab.precision import PRECISIONS
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.store import DONE, Chunk, Store
from lemmata.lab.work import Call, Work, describe_error


class Progress(NamedTuple):
    """How far a sweep is: cells and runs done (failed ones included), failed cells, and all of them."""

    cells: int
    all_cells: int
    failed: int
    runs: int
    all_runs: int


OnProgress = Callable[[Progress], None]
"""Called at the start of a sweep and whenever a call ends."""


def plan(chunks: Sequence[Chunk], layout: Layout) -> list[Call]:
    """Partition the chunks into calls of at most `layout.runs` runs that share their static fields and seeds.

    A call never mixes blocks of seeds: more seeds then leave the earlier calls, and so their bits, as they were. From
    threads, chunks that need other programs come first, so that these are compiled side by side and each only once.
    """
    groups: dict[Any, list[Chunk]] = {}
    if layout.kind == "threads":
        for chunk in chunks:
            groups.setdefault(chunk.setting.problem().static, []).append(chunk)
        first = {group[0]: None for group in groups.values()}
        return [[chunk] for chunk in (*first, *(chunk for chunk in chunks if chunk not in first))]
    for chunk in chunks:
        groups.setdefault((chunk.setting.problem().static, chunk.block), []).append(chunk)
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
    work: Work, grid: Grid, engine: Engine, seeds: int | None = None, progress: OnProgress | None = None
) -> dict[tuple[int, ...], str]:
    """Compute what is pending or failed before, of all seeds or the first ones; returns the failures by place."""
    status = work.store.status()
    chunks = work.store.chunks(grid, seeds)
    pending = {chunk for chunk in chunks if status[chunk.place] != DONE}
    left = collections.Counter(chunk.cell for chunk in pending)
    calls = [call for call in plan(chunks, work.layout) if any(chunk in pending for chunk in call)]
    total = sum(len(chunk.seeds) for chunk in chunks)
    done = total - sum(len(chunk.seeds) for chunk in pending)
    broken: set[tuple[int, ...]] = set()

    def report() -> None:
        if progress:
            progress(Progress(len(grid.cells) - len(+left), len(grid.cells), len(broken), done, total))

    report()
    with contextlib.closing(engine.run(work, calls)) as ended:
        for call, reasons in ended:
            for chunk, reason in zip(call, reasons, strict=True):
                if chunk in pending:
                    done += len(chunk.seeds)
                    left[chunk.cell] -= 1
                if reason:
                    broken.add(chunk.cell)
            report()
    return work.store.failures()


def find_shapes(simulation: Simulation, grid: Grid, seed: int, precision: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the first cell that returns what is declared; a broken cell does not stop the others."""
    reasons = []
    for cell, setting in grid.cells.items():
        try:
            shapes = result_shapes(simulation, setting, seed, precision)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            reasons.append(f"{grid.describe(cell)}: {describe_error(error)}")
            continue
        wrong = [name for name, shape in shapes.items() if len(shape) != len(simulation.variable(name).dims)]
        if not wrong:
            return shapes
        dims = simulation.variable(wrong[0]).dims
        reasons.append(f"{grid.describe(cell)}: {wrong[0]} has shape {shapes[wrong[0]]}, its dimensions are {dims}")
    raise RuntimeError(f"every cell failed; first, at {reasons[0]}")


def sweep(
    simulation: Simulation,
    setting: Setting,
    axes: Axes | None = None,
    seeds: int = 20,
    *,
    seed: int = 0,
    precision: str | None = None,
    engine: str | Engine = "local",
    folder: Path | str | None = None,
    progress: OnProgress | None = None,
) -> xr.Dataset:
    """Simulate every cell of the product of `axes` with seeds `seed`, ..., `seed + seeds - 1`. Failed cells raise.

    axes: a field -> its values, or a name -> {label: {field: value, ...}}.
    engine: where to compute: "local", "processes[:K]", "dask[:ADDRESS]", or one that `open_engine` gave.
    folder: where the workers of another engine write until the end; the machines of a cluster must share it.
    """
    if not isinstance(seeds, int) or seeds < 1:
        raise UserError(f"seeds = {seeds} is not allowed: seeds is an integer at least 1.")
    precision = precision or simulation.precision
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    grid = make_grid(setting, axes or {})
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(open_engine(engine))
        layout = default_layout(seeds, len(grid.cells), opened.backend())
        shapes = find_shapes(simulation, grid, seed, precision)
        path = None
        if opened.remote:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lemmata-", dir=folder))) / "data.zarr"
        store = Store.create(path, simulation, grid, range(seed, seed + seeds), layout.block, shapes, precision, {})
        failures = execute(Work(simulation, store, layout, precision), grid, opened, seeds, progress)
        if failures:
            place, message = next(iter(failures.items()))
            raise RuntimeError(f"{len(failures)} chunks failed; first, at {grid.describe(place[:-1])}: {message}")
        return store.dataset()
