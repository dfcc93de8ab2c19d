"""Running an experiment, in three steps: plan it, compute what is not stored yet, publish its figure and record.

`plan` validates everything and touches no disk. `compute` leaves `data.zarr`, resumed if interrupted; `publish` leaves
`figure.png` and `figure.svg` (or `table.json`) and `run.json`.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lemmata.lab import devices, inputs, programs
from lemmata.lab.axes import change_axes, select_labels, set_axes
from lemmata.lab.engines import Engine
from lemmata.lab.engines.local import Local
from lemmata.lab.ensemble import Layout, default_layout
from lemmata.lab.errors import UserError, describe_error
from lemmata.lab.files import digest_of_file, is_sealed, lock, sealed, write_json, write_whole, writing
from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.lanes import prints_aside
from lemmata.lab.outlook import check_results, check_runs, find_shapes, idle_fields, look_ahead
from lemmata.lab.setting import Setting
from lemmata.lab.sources import digest_of, versions, versions_of
from lemmata.lab.store import DONE, INPUTS, Store
from lemmata.lab.sweep import OnProgress, check_seeds, execute
from lemmata.lab.theory import Experiment, Preset, Theory
from lemmata.lab.work import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("figure.png", "figure.svg")
TABLE = "table.json"
RECORD = "run.json"
_drawing = threading.Lock()  # of matplotlib, which is not meant for several threads
WORDS = {"cells": "cell settings", "sources": "version of the sources", "versions": "version of the libraries"}
"""Parts of a fingerprint, as they are called in sentences."""
PIECES = ".pieces"
"""The folder of a theory's results in which trainings are kept; it can be deleted at any time."""


@dataclass(frozen=True)
class Options:
    """How experiments are run."""

    preset: str = "quick"
    seed: int = 0
    seeds: int | None = None
    changes: Sequence[str] = ()
    out: Path | None = None
    overwrite: bool = False
    recompute_stale: bool = False
    axes: Sequence[str] = ()
    select: Sequence[str] = ()
    draw: bool = True
    """whether figures and tables are made"""
    timeout: float | None = None
    """seconds after which a worker that gives no sign of life is given up"""

    def changed(self) -> list[tuple[str, str]]:
        """What the user has changed: options of the command line with their values."""
        given = {"--set": self.changes, "--axis": self.axes, "--select": self.select}
        return [(option, value) for option, values in given.items() for value in values]

    @property
    def directory(self) -> Path:
        if self.out is not None:
            return self.out
        return Path("results") / (self.preset + (f"-seed{self.seed}" if self.seed else ""))


@dataclass(frozen=True)
class Plan:
    """An experiment with the user's changes: valid, nothing of it computed."""

    theory: Theory
    experiment: Experiment
    options: Options
    preset: Preset
    grid: Grid
    warnings: Sequence[str]
    usual: Setting
    """the preset's own setting"""
    changed: Sequence[str]
    """the fields that the user has set in it"""
    own: bool
    """whether it is the preset's own grid: what a user has changed lies in a folder of its own"""

    way_out = "use --overwrite to replace them or --out for another folder"
    """what to do where other data are stored"""

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def seeds(self) -> range:
        return range(self.options.seed, self.options.seed + self.preset.seeds)

    @property
    def directory(self) -> Path:
        folder = self.name if self.own else f"{self.name}@{_digest(self._what())[:8]}"
        return self.options.directory / self.theory.name / folder

    def _what(self) -> dict[str, Any]:
        """What is computed, whoever asks for it."""
        return {
            "setting": self.preset.setting.values(),
            "axes": {axis: list(map(str, labels)) for axis, labels in self.grid.labels.items()},
            "fields": self.grid.sets,
            "cells": _digest([cell.values() for cell in self.grid.cells.values()]),
        }

    def fingerprint(self, layout: Layout) -> dict[str, Any]:
        """What its data are of, computed in this layout."""
        simulation = self.experiment.simulation
        reached = simulation.function, simulation.prepare, type(self.preset.setting)
        return {
            **self._what(),
            "seed": self.options.seed,
            "precision": self.experiment.precision,
            "layout": layout.asdict(),
            "compiler": programs.describe(layout.effort),
            "sources": digest_of(*reached),
            "versions": versions_of(*reached),
        }


@dataclass(frozen=True)
class Computed:
    """What computing a plan left in its folder: the data, why cells failed, whether anything was new, how long it took.

    `began` is on the clock of `time.perf_counter`. `trained` and `reused` count trainings that were computed and that
    were known already.
    """

    store: Store
    failures: Mapping[str, str]
    new: bool
    began: float
    seconds: float
    trained: int = 0
    reused: int = 0


@dataclass(frozen=True)
class Outcome:
    """What running an experiment gave."""

    data: xr.Dataset
    path: Path
    seconds: float
    failures: Mapping[str, str]
    warnings: Sequence[str]

    @property
    def failed(self) -> int:
        return len(self.failures)


def command(theory: Theory, what: str, options: Options, verb: str = "run") -> str:
    """The command line that reproduces this."""
    name = str(theory.source) if theory.source is not None and theory.source.is_file() else theory.name
    parts = ["lemmata", verb, name if verb == "verify" and name.endswith(".py") else f"{name}/{what}"]
    if options.preset != "quick" or verb == "run":
        parts += ["--preset", options.preset]
    if options.seed:
        parts += ["--seed", str(options.seed)]
    if options.seeds is not None:
        parts += ["--seeds", str(options.seeds)]
    for option, value in options.changed():
        parts += [option, value]
    return shlex.join(parts)


def plan(theory: Theory, name: str, options: Options) -> Plan:
    """The experiment of this name with the user's changes; every cell of its grid is validated."""
    experiment = theory.experiment(name)
    check_seeds(options.seed, options.seeds if options.seeds is not None else 1)
    preset = experiment.preset(options.preset)
    kind, where = type(preset.setting), experiment.name
    changes = kind.parse(options.changes)
    axes = change_axes(kind, set_axes(preset.axes, changes, where), options.axes, where)
    axes = select_labels(axes, options.select, where)
    setting = preset.setting.replace(**{field: value for field, value in changes.items() if field not in axes})
    grid = make_grid(setting, axes)
    own = setting == preset.setting and axes == dict(preset.axes)
    changed = tuple(field for field in changes if field not in axes)
    chosen = Preset(setting, axes, options.seeds or preset.seeds)
    return Plan(theory, experiment, options, chosen, grid, _warnings(grid), preset.setting, changed, own)


def run(
    theory: Theory,
    name: str,
    options: Options,
    progress: OnProgress | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: Engine | None = None,
) -> Outcome:
    """Run one experiment, or what is left of it, and write its folder."""
    return carry_out(plan(theory, name, options), engine or Local(), progress, say)


def carry_out(plan: Plan, engine: Engine, progress: OnProgress | None, say: Callable[[str], None]) -> Outcome:
    """Compute and publish a plan, holding its folder."""
    began = time.perf_counter()
    for sentence in plan.warnings:
        say(f"{plan.name}: {sentence}")
    with lock(plan.directory), prints_aside():
        computed = compute(plan, engine, progress, say)
        data = computed.store.dataset(len(plan.seeds))
        publish(plan, computed, data, say)
    return Outcome(data, plan.directory, time.perf_counter() - began, computed.failures, plan.warnings)


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
    simulation, given = experiment.simulation, (seeds.start, experiment.precision)
    effort = programs.OF_PRESET[plan.options.preset]
    with programs.compiling(effort), inputs.noting() as read:
        needs = check_runs(simulation, grid, *given).times(len(seeds))
        outlook = look_ahead(simulation, grid, *given)
        idle = [*outlook.idle, *idle_fields(simulation, plan.preset.setting, plan.usual, plan.changed, *given)]
        shapes = find_shapes(simulation, grid, *given)
    check_results(shapes, grid, len(seeds), experiment.precision)
    remarks = [f"{name} has no effect here." for name in idle]
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


def publish(plan: Plan, computed: Computed, data: xr.Dataset, say: Callable[[str], None]) -> None:
    """Draw the figure and write `run.json`, unless those of this very command, by these sources, are there."""
    drawn = {"command": command(plan.theory, plan.name, plan.options), "drawn_by": plan.theory.digest()}
    computed.store.finish()
    infinite = [] if not computed.new else _infinite(plan, data)
    for sentence in infinite:
        say(f"{plan.name}: {sentence}")
    if not computed.new and _is_drawn(plan.directory, drawn, plan.options.draw):
        return
    if plan.options.draw:
        with _drawing:
            _draw(plan, computed, data, say)
    about = {
        "theory": plan.theory.name,
        "experiment": plan.name,
        "question": plan.experiment.question,
        "reference": plan.experiment.reference,
        **drawn,
        "preset": plan.options.preset,
        "changed": [f"{option} {value}" for option, value in plan.options.changed()],
    }
    pictures = {name: digest for name in (*FIGURES, TABLE) if (digest := digest_of_file(plan.directory / name))}
    made = {"data": computed.store.identity, "figures": pictures}
    write_json(plan.directory / RECORD, sealed(about | record(plan, computed, infinite) | made))


def record(plan: Plan, computed: Computed, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """What was computed, how, with what and in which time."""
    fingerprint = computed.store.fingerprint
    return {
        "setting": plan.preset.setting.values(),
        "axes": {axis: [_plain(label) for label in labels] for axis, labels in plan.grid.labels.items()},
        "seeds": [plan.seeds.start, plan.seeds.stop - 1],
        "precision": plan.experiment.precision,
        "layout": fingerprint["layout"],
        "sources": fingerprint["sources"],
        "versions": versions(),
        "timings": {
            "compute": round(computed.seconds, 3),
            "total": round(time.perf_counter() - computed.began, 3),
        },
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "trained": computed.trained,
        "reused": computed.reused,
        "warnings": [*plan.warnings, *computed.store.notes["remarks"], *remarks],
        "failures": computed.failures,
    }


def _infinite(plan: Plan, data: xr.Dataset) -> list[str]:
    """Sentences on variables that are infinite and not declared to be so where something never happens."""
    counts = {str(name): int(np.isinf(values).sum()) for name, values in data.data_vars.items()}
    return [
        f"{name} is infinite at {count} of {data[name].size} places, which it is not declared to be."
        for name, count in counts.items()
        if count and not plan.experiment.simulation.variable(name).is_never
    ]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _is_drawn(directory: Path, drawn: Mapping[str, str], figures: bool) -> bool:
    """The record of this very command, by these sources, is there, and so are its figures if they are asked for."""
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not is_sealed(record) or not drawn.items() <= record.items():
        return False
    whole = all(digest_of_file(directory / name) == digest for name, digest in record["figures"].items())
    return whole and (not figures or TABLE in record["figures"] or all(name in record["figures"] for name in FIGURES))


def _draw(plan: Plan, computed: Computed, data: xr.Dataset, say: Callable[[str], None]) -> None:
    """Draw the figure, or write the table; the data are kept where that is not possible (failed cells).

    Where the experiment's own figure cannot draw what the user has made of its axes, the default figure is drawn.
    """
    from lemmata.lab.default_figures import default_figure

    table = plan.experiment.table
    if table is not None:
        try:
            content = table(data).asdict()
        except Exception as error:
            (plan.directory / TABLE).unlink(missing_ok=True)
            say(f"{plan.name}: no table could be made of these data ({describe_error(error)}).")
            return
        write_json(plan.directory / TABLE, content)
        return
    changed = [text.partition("=")[0].strip() for text in plan.options.axes]
    for draw in (
        lambda: plan.experiment.draw(data, plan.theory.claims),
        lambda: default_figure(data, first=changed),
    ):
        try:
            pictures = _render(draw(), _stamp(plan))
            break
        except Exception as error:
            reason = describe_error(error)
            if plan.own and not computed.failures:
                say(f"{plan.name}: its own figure could not be drawn ({reason}); trying the default one.")
    else:
        for name in FIGURES:
            (plan.directory / name).unlink(missing_ok=True)
        say(f"{plan.name}: no figure could be drawn of these data ({reason}).")
        return
    for name, picture in pictures.items():
        with writing(plan.directory / name):
            write_whole(plan.directory / name, picture)


def _render(figure: Figure, stamp: str) -> dict[str, bytes]:
    """The figure in every format, with a line at its foot that says what it is of."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    foot = 0.16 / figure.get_figheight()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, foot, 1, 1 - foot))
    figure.text(0.995, 0.2 * foot, stamp, ha="right", va="bottom", fontsize=6.5, color="#8a8a8a")
    pictures = {}
    for name in FIGURES:
        image = io.BytesIO()
        figure.savefig(image, dpi=110, format=Path(name).suffix[1:])
        pictures[name] = image.getvalue()
        figure.set_layout_engine("none")  # it is laid out now; doing that again takes as long as drawing
    return pictures


def _stamp(plan: Plan) -> str:
    """What a figure is of: preset, seeds, and what the user changed."""
    seeds = f"{len(plan.seeds)} seeds" if len(plan.seeds) > 1 else "1 seed"
    first = f" from {plan.seeds.start}" if plan.seeds.start else ""
    changed = [value for _, value in plan.options.changed()]
    return " · ".join([f"{plan.theory.name}/{plan.name}", f"preset {plan.options.preset}", seeds + first, *changed])


def _plain(label: Any) -> Any:
    return label if isinstance(label, (str, int, float, bool)) else str(label)


def _warnings(grid: Grid) -> list[str]:
    """Every distinct warning of the cells, once, with how many cells it concerns."""
    counts: dict[str, int] = {}
    for cell in grid.cells.values():
        for sentence in cell.warnings():
            counts[sentence] = counts.get(sentence, 0) + 1
    total = len(grid.cells)
    return [s if count == total else f"{s} (in {count} of {total} cells)" for s, count in counts.items()]
