"""Running an experiment, in three steps: plan it, compute what is not stored yet, publish its figure and record.

`plan` validates everything and touches no disk. `compute` leaves `data.zarr`, resumed if interrupted; `publish` leaves
`figure.png` and `figure.svg` (or `table.json`) and `run.json`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab import devices, inputs, programs
from lemmata.lab.engines import Engine
from lemmata.lab.engines.local import Local
from lemmata.lab.ensemble import Layout, default_layout
from lemmata.lab.errors import UserError
from lemmata.lab.files import lock, writing
from lemmata.lab.lanes import prints_aside
from lemmata.lab.outlook import Foresights, check_results, check_runs, find_shapes, idle_fields, look_ahead
from lemmata.lab.plans import Options, Plan, plan
from lemmata.lab.publish import Computed, publish
from lemmata.lab.store import DONE, INPUTS, Store
from lemmata.lab.sweep import OnProgress, execute
from lemmata.lab.theory import Theory
from lemmata.lab.work import Work

WORDS = {"cells": "cell settings", "sources": "version of the sources", "versions": "version of the libraries"}
"""Parts of a fingerprint, as they are called in sentences."""
PIECES = ".pieces"
"""The folder of a theory's results in which trainings are kept; it can be deleted at any time."""


@dataclass(frozen=True)
class Outcome:
    """What running an experiment gave."""

    data: xr.Dataset
    path: Path
    seconds: float
    failures: Mapping[str, str]
    warnings: Sequence[str]
    identity: str
    """of the store that holds the data"""

    @property
    def failed(self) -> int:
        return len(self.failures)

    def json(self) -> dict[str, Any]:
        """The answer of `lemmata run --json`."""
        return {
            "path": str(self.path),
            "dims": {str(name): count for name, count in self.data.sizes.items()},
            "variables": [str(name) for name in self.data.data_vars],
            "seconds": round(self.seconds, 3),
            "failed": self.failed,
        }


def run(
    theory: Theory,
    name: str,
    options: Options,
    progress: OnProgress | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: Engine | None = None,
) -> Outcome:
    """Run one experiment, or what is left of it, and write its folder."""
    return carry_out(plan(theory, name, options, say), engine or Local(), progress, say)


def carry_out(plan: Plan, engine: Engine, progress: OnProgress | None, say: Callable[[str], None]) -> Outcome:
    """Compute and publish a plan, holding its folder."""
    began = time.perf_counter()
    for sentence in plan.warnings:
        say(f"{plan.name}: {sentence}")
    with lock(plan.directory) as held, prints_aside():
        computed = compute(plan, engine, progress, say)
        data = computed.store.dataset(len(plan.seeds))
        publish(plan, computed, data, say, held)
    seconds = time.perf_counter() - began
    return Outcome(data, plan.directory, seconds, computed.failures, plan.warnings, computed.store.identity)


def compute(plan: Plan, engine: Engine, progress: OnProgress | None, say: Callable[[str], None]) -> Computed:
    """Compute what is not stored yet. Stored data of something else are refused, or given up where stale ones may be.

    The layout is that of what is stored, so that a resumed experiment ends as it began.
    """
    began = time.perf_counter()
    experiment, grid, seeds, path = plan.experiment, plan.grid, plan.seeds, plan.directory / "data.zarr"
    simulation, precision = experiment.simulation, experiment.precision
    store = None if plan.options.overwrite else Store.open(path)
    if store and _is_stale(store, plan.fingerprint(Layout(**store.fingerprint["layout"])), plan, say):
        store = None
    if store and not _restore(store, plan, say):
        store = None
    if store and np.all(store.status() == DONE):
        return Computed(store, {}, False, began, time.perf_counter() - began)
    if store and not engine.remote and devices.device(store.fingerprint["layout"]["platform"]) is None:
        _give_up(plan, f"device ({store.fingerprint['layout']['device']}), which is not there", say)
        store = None
    if store is None:
        store = _create(plan, engine, say)
    layout = Layout(**store.fingerprint["layout"])
    work = Work(simulation, store, layout, precision, plan.directory.parent / PIECES)
    family = dict(zip(grid.cells, store.notes["families"], strict=True))
    tell = lambda sentence: say(f"{plan.name}: {sentence}")  # noqa: E731
    done = execute(work, grid, engine, family, len(seeds), progress, tell)
    if done.damaged:
        say(f"{plan.name}: {done.damaged} of the trainings that were kept are damaged; they are computed again.")
    failures = {f"{grid.describe(p[:-1])}, seed block {p[-1]}": message for p, message in done.failures.items()}
    return Computed(store, failures, True, began, time.perf_counter() - began, done.trained, done.reused)


def _restore(store: Store, plan: Plan, say: Callable[[str], None]) -> bool:
    """Make a stored sweep whole: its frame, room for all seeds, and no chunk done that is not as it was written.

    False if its data are of other data files than those that are there.
    """
    content = store.content(plan.experiment.simulation, plan.grid, plan.experiment.precision)
    with writing(store.path):
        if store.mend(content):
            say(f"{plan.name}: labels or metadata of the stored data were damaged or incomplete; they are made anew.")
        lost = len(store.check())
        others, gone = inputs.changed(store.inputs())
        if others:
            _give_up(plan, f"{', '.join(others)} (that file has changed)", say)
            return False
        store.extend(content, plan.seeds)
    if gone:
        say(f"{plan.name}: the stored data were computed from {', '.join(gone)}, which cannot be compared: it is gone.")
    if lost:
        what = "1 stored chunk is" if lost == 1 else f"{lost} stored chunks are"
        say(f"{plan.name}: {what} damaged or missing; computing {'it' if lost == 1 else 'them'} again.")
    return True


def _create(plan: Plan, engine: Engine, say: Callable[[str], None]) -> Store:
    """The store of a plan of which nothing is computed, with what is foreseen of it."""
    experiment, grid, seeds, path = plan.experiment, plan.grid, plan.seeds, plan.directory / "data.zarr"
    simulation = experiment.simulation
    foresights = Foresights(simulation, seeds.start, experiment.precision)
    effort = programs.OF_PRESET[plan.options.preset]
    with programs.compiling(effort), inputs.noting() as read:
        needs = check_runs(foresights, grid).times(len(seeds))
        outlook = look_ahead(foresights, grid)
        idle = [*outlook.idle, *idle_fields(foresights, plan.preset.setting, plan.usual, plan.changed)]
        shapes = find_shapes(foresights, grid)
    check_results(shapes, grid, len(seeds), experiment.precision)
    remarks = [f"{name} has no effect here." for name in idle]
    if plan.theory.typed.endswith(".py"):  # studies of ours share one list of variables
        declared = [each.name for each in simulation.variables]
        remarks += [
            f"{name} is declared, and {simulation.name} does not return it." for name in declared if name not in shapes
        ]
    for sentence in remarks:
        say(f"{plan.name}: {sentence}")
    layout = default_layout(len(seeds), outlook.families, engine.backend(needs), effort, needs.room)
    notes = {"families": outlook.numbers(), "remarks": remarks, INPUTS: {**plan.theory.inputs, **read}}
    of = (simulation, grid, seeds, layout.block, shapes, experiment.precision, plan.fingerprint(layout))
    with writing(path):
        return Store.create(path, *of, notes)


def _is_stale(store: Store, fingerprint: Mapping[str, Any], plan: Plan, say: Callable[[str], None]) -> bool:
    """Whether other data are stored; refused unless stale data may be computed again."""
    difference = store.difference(fingerprint)
    if difference:
        _give_up(plan, ", ".join(WORDS.get(name, name) for name in difference.split(", ")), say)
    return bool(difference)


def _give_up(plan: Plan, difference: str, say: Callable[[str], None]) -> None:
    """Refuse stored data that differ in this, or say that they are computed again where stale ones may be."""
    if not plan.options.recompute_stale:
        raise UserError(f"{plan.directory} holds data with another {difference}; {plan.way_out}.")
    say(f"{plan.name}: stored data have another {difference}; computing again.")
