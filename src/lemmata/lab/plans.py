"""Plans: an experiment with the user's changes, validated in every cell, before anything is computed or written."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lemmata.lab import programs
from lemmata.lab.axes import change_axes, check_once, select_labels, set_axes, with_names
from lemmata.lab.ensemble import Layout
from lemmata.lab.errors import require_text
from lemmata.lab.grid import Axes, Grid, make_grid
from lemmata.lab.setting import Setting
from lemmata.lab.sources import digest_of, versions_of
from lemmata.lab.sweep import check_seeds
from lemmata.lab.theory import Experiment, Preset, Theory

if TYPE_CHECKING:
    import xarray as xr


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

    def named(self, kind: type[Setting], axes: Axes) -> Options:
        """These options with the names of fields in place of the paper's symbols."""
        given = {name: with_names(kind, axes, getattr(self, name)) for name in ("changes", "axes", "select")}
        return replace(self, **given)

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

    def named(self, data: xr.Dataset) -> xr.Dataset:
        """The data with the setting that they are of, as claims and figures read it."""
        return data.assign_attrs(setting=json.dumps(self.preset.setting.values()))

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


def command(theory: Theory, what: str, options: Options, verb: str = "run") -> str:
    """What reproduces this: a command line, or the call in Python where the theory is given there."""
    if not theory.in_shell:
        return in_python(["theory"], options)
    name = theory.typed
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


def in_python(given: Sequence[str], options: Options) -> str:
    """The call that examines what is given: `lm.verify(theory, seed=7)`."""
    usual = Options()
    named = {"preset": options.preset, "seed": options.seed, "out": options.out and str(options.out)}
    changed = [f"{name}={value!r}" for name, value in named.items() if value != getattr(usual, name)]
    return f"lm.verify({', '.join([*given, *changed])})"


def plan(theory: Theory, name: str, options: Options, say: Callable[[str], None] = lambda sentence: None) -> Plan:
    """The experiment of this name with the user's changes; every cell of its grid is validated."""
    experiment = theory.experiment(name)
    preset = experiment.preset(options.preset)
    check_seeds(options.seed, preset.seeds if options.seeds is None else options.seeds)
    kind, where = type(preset.setting), experiment.name
    options = options.named(kind, preset.axes)
    changes = kind.parse(options.changes)
    check_once(changes, options.axes)
    axes = change_axes(kind, set_axes(preset.axes, changes, where), options.axes, where)
    axes = select_labels(axes, options.select, where)
    setting = preset.setting.replace(**{field: value for field, value in changes.items() if field not in axes})
    grid = make_grid(setting, axes, lambda sentence: say(f"{name}: {sentence}"))
    experiment.simulation.check_axes(grid.labels)
    own = setting == preset.setting and axes == dict(preset.axes)
    changed = tuple(field for field in changes if field not in axes)
    chosen = Preset(setting, axes, options.seeds or preset.seeds)
    return Plan(theory, experiment, options, chosen, grid, _warnings(grid), preset.setting, changed, own)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _warnings(grid: Grid) -> list[str]:
    """Every distinct warning of the cells, once, with how many cells it concerns."""
    counts: dict[str, int] = {}
    for cell in grid.cells.values():
        for sentence in cell.warnings():
            require_text("A warning of the setting", sentence)
            counts[sentence] = counts.get(sentence, 0) + 1
    total = len(grid.cells)
    return [s if count == total else f"{s} (in {count} of {total} cells)" for s, count in counts.items()]
