"""Running an experiment: from its preset to `data.zarr`, `figure.png` and `run.json`, resumed if interrupted."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import io
import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lemmata.lab.engines import Engine
from lemmata.lab.engines.local import Local
from lemmata.lab.ensemble import Layout, default_layout
from lemmata.lab.errors import UserError
from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.setting import Setting
from lemmata.lab.store import DONE, Store, lock, write_whole, writing
from lemmata.lab.sweep import OnProgress, execute, find_shapes
from lemmata.lab.theory import Experiment, Preset, Theory, source_hash
from lemmata.lab.work import Work, versions


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

    @property
    def directory(self) -> Path:
        if self.out is not None:
            return self.out
        return Path("results") / (self.preset + (f"-seed{self.seed}" if self.seed else ""))


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
    for change in options.changes:
        parts += ["--set", change]
    return shlex.join(parts)


def configured(experiment: Experiment, options: Options) -> tuple[Preset, Grid]:
    """The preset with the user's changes, and its validated grid."""
    preset = experiment.preset(options.preset)
    changes = type(preset.setting).parse(options.changes)
    axes: dict[str, Any] = dict(preset.axes)
    for name, value in changes.items():
        for axis, values in axes.items():
            if isinstance(values, Mapping) and any(name in fields for fields in values.values()):
                raise UserError(f"{name} is set by the axis {axis} of {experiment.name} and cannot be set as well.")
        if name in axes:
            axes[name] = [value]
    setting = preset.setting.replace(**{name: v for name, v in changes.items() if name not in axes})
    preset = Preset(setting, axes, options.seeds or preset.seeds)
    return preset, make_grid(setting, axes)


def run(
    theory: Theory,
    name: str,
    options: Options,
    progress: OnProgress | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: Engine | None = None,
) -> Outcome:
    """Run one experiment, or what is left of it, and write its folder."""
    engine = engine or Local()
    experiment = theory.experiment(name)
    preset, grid = configured(experiment, options)
    directory = options.directory / theory.name / name
    layout = _layout(directory) or default_layout(preset.seeds, len(grid.cells), engine.backend())
    seeds = range(options.seed, options.seed + preset.seeds)
    fingerprint = {
        "setting": preset.setting.values(),
        "axes": {axis: list(map(str, labels)) for axis, labels in grid.labels.items()},
        "cells": _digest([cell.values() for cell in grid.cells.values()]),
        "seed": options.seed,
        "precision": experiment.precision,
        "layout": layout.asdict(),
        "sources": source_hash(theory),
    }
    warnings = _warnings(grid)
    for sentence in warnings:
        say(f"{name}: {sentence}")
    began = time.perf_counter()
    # what a simulation prints is no result of the command
    with lock(directory), contextlib.redirect_stdout(sys.stderr):
        store = _stored(directory, fingerprint, options, lambda difference: say(f"{name}: {difference}"))
        if store is None:
            shapes = find_shapes(experiment.simulation, grid, options.seed, experiment.precision)
            path = directory / "data.zarr"
            with writing(path):
                store = Store.create(
                    path, experiment.simulation, grid, seeds, layout.block, shapes, experiment.precision, fingerprint
                )
        with writing(store.path):
            store.extend(seeds)
        unfinished = bool(np.any(store.status() != DONE))
        work = Work(experiment.simulation, store, layout, experiment.precision)
        broken = execute(work, grid, engine, len(seeds), progress)
        computed = time.perf_counter() - began
        data = store.dataset(len(seeds))
        failures = {f"{grid.describe(p[:-1])}, seed block {p[-1]}": message for p, message in broken.items()}
        drawn = {"command": command(theory, name, options), "drawn_by": source_hash(theory, readers=True)}
        if unfinished or not _is_drawn(directory, drawn):
            store.finish()
            record = {
                "theory": theory.name,
                "experiment": name,
                "question": experiment.question,
                "reference": experiment.reference,
                **drawn,
                "preset": options.preset,
                "setting": preset.setting.values(),
                "axes": {axis: [_plain(label) for label in labels] for axis, labels in grid.labels.items()},
                "seeds": [seeds.start, seeds.stop - 1],
                "precision": experiment.precision,
                "layout": layout.asdict(),
                "sources": fingerprint["sources"],
                "versions": versions(),
                "timings": {"compute": round(computed, 3), "total": round(time.perf_counter() - began, 3)},
                "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "warnings": warnings,
                "failures": failures,
            }
            _draw(experiment, data, directory / "figure.png", say)
            write_json(directory / "run.json", record)
    return Outcome(data, directory, time.perf_counter() - began, failures, warnings)


def _stored(
    directory: Path, fingerprint: Mapping[str, Any], options: Options, say: Callable[[str], None]
) -> Store | None:
    """What is stored of this very experiment; other data are refused, or given up where stale data may be."""
    store = None if options.overwrite else Store.open(directory / "data.zarr")
    difference = store.difference(fingerprint) if store else ""
    if not difference:
        return store
    difference = difference.replace("cells", "cell settings").replace("sources", "version of the sources")
    if not options.recompute_stale:
        raise UserError(
            f"{directory} holds data with another {difference}; "
            "use --overwrite to replace them or --out for another folder."
        )
    say(f"stored data have another {difference}; computing again.")
    return None


def _layout(directory: Path) -> Layout | None:
    """The layout of what is stored, so that a resumed experiment ends as it began."""
    store = Store.open(directory / "data.zarr")
    return store.layout() if store else None


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _is_drawn(directory: Path, drawn: Mapping[str, str]) -> bool:
    """The figure and the record of this very command, by these sources, are there."""
    try:
        record = json.loads((directory / "run.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return False
    return drawn.items() <= record.items() and (directory / "figure.png").exists()


def _draw(experiment: Experiment, data: xr.Dataset, path: Path, say: Callable[[str], None]) -> None:
    """Draw the figure; the data are kept where it cannot be drawn (failed cells, an axis that the user narrowed)."""
    image = io.BytesIO()
    try:
        experiment.plot(data).savefig(image, dpi=110)
    except Exception as error:
        path.unlink(missing_ok=True)
        say(f"{experiment.name}: no figure could be drawn of these data ({type(error).__name__}: {error}).")
        return
    with writing(path):
        write_whole(path, image.getvalue())


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


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file whole or not at all."""
    text = json.dumps(content, indent=1, allow_nan=False, default=str)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (text + "\n").encode())


def setting_rows(setting: type[Setting]) -> list[dict[str, Any]]:
    """The declarations as rows for `lemmata show`."""
    rows = []
    for name, d in setting.declarations().items():
        rows.append(
            {
                "name": name, "symbol": d.symbol, "meaning": d.meaning, "kind": d.kind, "default": d.default,
                "low": d.low, "high": d.high, "choices": list(d.choices) or None,
            }
        )  # fmt: skip
    return rows
