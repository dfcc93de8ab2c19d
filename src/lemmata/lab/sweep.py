"""Sweeps: plan the chunks of a grid, compute the pending ones, write each as it is done.

The plan is a fixed partition of all chunks into calls, whatever is already done, so that a resumed sweep makes the very
calls that an undisturbed one would have made.
"""

from __future__ import annotations

import collections
import contextlib
import json
import math
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.ensemble import Layout, default_layout
from lemmata.lab.errors import AssumptionWarning, FailedCells, UserError, unknown
from lemmata.lab.files import folder_given
from lemmata.lab.grid import Axes, Grid, make_grid
from lemmata.lab.outlook import Foresights, check_results, check_runs, find_shapes, look_ahead
from lemmata.lab.precision import PRECISIONS, Precision
from lemmata.lab.progress import reporting
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation
from lemmata.lab.sources import versions
from lemmata.lab.store import DONE, Chunk, Store
from lemmata.lab.work import Call, Work


class Progress(NamedTuple):
    """How far a sweep is: cells and runs done (failed ones included), failed cells, and all of them.

    `steps`: of the long runs under way, the step and the last step of each.
    """

    cells: int
    all_cells: int
    failed: int
    runs: int
    all_runs: int
    steps: tuple[tuple[int, int], ...] = ()
    unit: str = "cells"


LONG = 120.0
"""Seconds of work that are announced."""
OnProgress = Callable[[Progress], None]
"""Called at the start of a sweep, whenever a call ends, and now and then inside long runs."""


def plan(
    chunks: Sequence[Chunk], layout: Layout, family: Mapping[tuple[int, ...], Hashable] | None = None
) -> list[Call]:
    """Partition the chunks into calls: the cells of a family (without one: each by itself), block by block of seeds.

    A call never mixes blocks of seeds: more seeds then leave the earlier calls, and so their bits, as they were. From
    threads, calls that need other programs come first, so that these are compiled side by side and each only once.
    Where runs are stacked, families of as many cells with the same static fields share a call, in stacks of at most
    `layout.runs` trainings: a stack follows from what is trained, not from how often it is tested.
    """
    together: dict[Any, list[Chunk]] = {}
    for chunk in chunks:
        together.setdefault((family[chunk.cell] if family else chunk.cell, chunk.block), []).append(chunk)
    if layout.kind == "threads":
        calls = [Call(tuple((chunk,) for chunk in members)) for members in together.values()]
        return _programs_first(calls)
    alike: dict[Any, list[list[Chunk]]] = {}
    for (_, block), members in together.items():
        alike.setdefault((block, *(chunk.setting.problem().static for chunk in members)), []).append(members)
    calls = []
    for groups in alike.values():
        fit = max(1, layout.runs // len(groups[0][0].seeds))
        stacks = [groups[i : i + fit] for i in range(0, len(groups), fit)]
        calls += [Call(tuple(zip(*stack, strict=True))) for stack in stacks]
    return calls


def _programs_first(calls: Sequence[Call]) -> list[Call]:
    seen: set[Any] = set()
    first, rest = [], []
    for call in calls:
        needed = {chunk.setting.problem().static for chunk in call.chunks}
        (rest if needed <= seen else first).append(call)
        seen |= needed
    return [*first, *rest]


class Executed(NamedTuple):
    """What executing a sweep gave: failures by place, trainings that were computed, that were known, and of which what
    was kept is damaged."""

    failures: dict[tuple[int, ...], str]
    trained: int
    reused: int
    damaged: int


def execute(
    work: Work,
    grid: Grid,
    engine: Engine,
    family: Mapping[tuple[int, ...], Hashable] | None = None,
    seeds: int | None = None,
    progress: OnProgress | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Executed:
    """Compute what is pending or failed before, of all seeds or the first ones; long work is announced."""
    status = work.store.status()
    chunks = work.store.chunks(grid, seeds)
    pending = {chunk for chunk in chunks if status[chunk.place] != DONE}
    left = collections.Counter(chunk.cell for chunk in pending)
    calls = [call for call in plan(chunks, work.layout, family) if not pending.isdisjoint(call.chunks)]
    total = sum(len(chunk.seeds) for chunk in chunks)
    done = total - sum(len(chunk.seeds) for chunk in pending)
    broken: set[tuple[int, ...]] = set()
    running: dict[Call, tuple[int, int]] = {}
    turn = threading.Lock()
    trained = reused = damaged = 0
    began, at_first = time.monotonic(), done

    def report() -> None:
        if progress:
            steps = tuple(running.values())
            progress(Progress(len(grid.cells) - len(+left), len(grid.cells), len(broken), done, total, steps))

    def look(call: Call, step: int, last: int) -> None:
        with turn:
            running[call] = step, last
            report()

    report()
    with contextlib.closing(engine.run(work, calls, look)) as ended:
        for call, answer in ended:
            with turn:
                running.pop(call, None)
                trained, reused = trained + answer.trained, reused + answer.reused
                damaged += answer.damaged
                for chunk, reason in zip(call.chunks, answer.reasons, strict=True):
                    if chunk in pending:
                        done += len(chunk.seeds)
                        left[chunk.cell] -= 1
                    if reason:
                        broken.add(chunk.cell)
                report()
                if at_first is not None and done > at_first:
                    seconds = (total - done) * (time.monotonic() - began) / (done - at_first)
                    if seconds > LONG:
                        say(f"{total - done} runs are left: about {math.ceil(seconds / 60)} minutes by the first pace.")
                    at_first = None
    return Executed(work.store.failures(), trained, reused, damaged)


def sweep(
    simulation: Simulation,
    setting: Setting,
    axes: Axes | None = None,
    seeds: int = 20,
    *,
    seed: int = 0,
    precision: Precision | None = None,
    engine: str | Engine = "local",
    out: Path | str | None = None,
    folder: Path | str | None = None,
    progress: bool | OnProgress | None = None,
) -> xr.Dataset:
    """Simulate every cell of the product of `axes` with seeds `seed`, ..., `seed + seeds - 1`.

        data = lm.sweep(vit.simulate, vit.Setting(samples=64), {"step_size": [0.1, 0.2]}, seeds=5, progress=True)

    Failed cells raise `lm.FailedCells`, after the others are stored.
    axes: a field -> its values, or a name -> {label: {field: value, ...}}.
    engine: where to compute: "local", "processes[:K]", "dask[:ADDRESS]", or one that `open_engine` gave.
    out: a folder that keeps the data (`data.zarr`, `run.json`): the same call again computes nothing, more seeds are
    added, anything else that differs is refused.
    folder: where the workers of another engine write until the end; the machines of a cluster must share it.
    progress: true for a bar on stderr, or a function that is told how far it is.
    """
    if not isinstance(simulation, Simulation) or not isinstance(setting, Setting):
        raise UserError("A sweep needs a simulation and a setting: lm.sweep(vit.simulate, vit.Setting(), ...).")
    check_seeds(seed, seeds)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise UserError(f"progress = {progress!r} is not allowed: give True, False or a function.")
    kept, folder = folder_given("out", out), folder_given("folder", folder)
    chosen_precision = simulation.precision if precision is None else precision
    if not isinstance(chosen_precision, str) or chosen_precision not in PRECISIONS:
        raise unknown("precision", chosen_precision, PRECISIONS)
    grid = make_grid(setting, {} if axes is None else axes, lambda sentence: warnings.warn(sentence, stacklevel=3))
    simulation.check_axes(grid.labels)
    with contextlib.ExitStack() as stack:
        if isinstance(progress, bool):
            progress = stack.enter_context(reporting("bar" if progress else "quiet", sys.stderr))(simulation.name)
        if kept is not None:
            from lemmata.lab.doors import sweep_into

            chosen = range(seed, seed + seeds)
            return sweep_into(
                kept, simulation, setting, {} if axes is None else axes, chosen, chosen_precision, engine, progress
            )
        for sentence in dict.fromkeys(each for cell in grid.cells.values() for each in cell.warnings()):
            warnings.warn(sentence, AssumptionWarning, stacklevel=2)
        opened = stack.enter_context(open_engine(engine))
        foresights = Foresights(simulation, seed, chosen_precision)
        needs = check_runs(foresights, grid).times(seeds)
        outlook = look_ahead(foresights, grid)
        layout = default_layout(seeds, outlook.families, opened.backend(needs), room=needs.room)
        shapes = find_shapes(foresights, grid)
        check_results(shapes, grid, seeds, chosen_precision)
        path = None
        if opened.remote:
            try:
                path = (
                    Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lemmata-", dir=folder))) / "data.zarr"
                )
            except OSError as error:
                raise UserError(f"{folder or tempfile.gettempdir()} cannot be written: {error.strerror}.") from error
        chosen = range(seed, seed + seeds)
        store = Store.create(path, simulation, grid, chosen, layout.block, shapes, chosen_precision, {})
        work = Work(simulation, store, layout, chosen_precision)
        failures = execute(work, grid, opened, outlook.family, seeds, progress).failures
        data = store.dataset().assign_attrs(_attributes(simulation, setting, chosen, chosen_precision, layout))
        if failures:
            raise FailedCells({grid.describe(place[:-1]): message for place, message in failures.items()}, data)
        return data


def _attributes(
    simulation: Simulation, setting: Setting, seeds: range, precision: str, layout: Layout
) -> dict[str, str]:
    """What a data set is of, in strings that survive every format."""
    about = {"setting": setting.values(), "seeds": [seeds.start, seeds.stop - 1], "layout": layout.asdict()}
    spelled = {name: json.dumps(value) for name, value in {**about, "versions": versions()}.items()}
    return {"lemmata": versions()["lemmata"], "experiment": simulation.name, "precision": precision, **spelled}


def check_seeds(first: int, count: int) -> None:
    """Refuse seeds that are no seeds: they are the integers from 0 to 2^32 - 1, beyond which they would repeat."""
    for name, value, low in (("seed", first, 0), ("seeds", count, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
            raise UserError(f"{name} = {value} is not allowed: {name} is an integer at least {low}.")
    if first + count > 2**32:
        raise UserError(f"Seeds {first} to {first + count - 1} are not allowed: the last seed is at most {2**32 - 1}.")
