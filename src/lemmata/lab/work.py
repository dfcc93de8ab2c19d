"""Work: computing the chunks of a call and writing them, wherever that happens.

Whoever computes a chunk writes it to the store and then its status. `lab.parcels` takes work to other processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lemmata.lab import devices, live, names
from lemmata.lab.ensemble import Layout, compile_piece, foresee_runs, simulate_runs
from lemmata.lab.errors import Interrupted, describe_error, is_for_the_user, place_of
from lemmata.lab.inputs import noting
from lemmata.lab.interrupts import errors_of_theories
from lemmata.lab.shelf import Shelf
from lemmata.lab.simulation import Simulation
from lemmata.lab.sources import numeric_versions
from lemmata.lab.store import Chunk, Store

FORESEEN = 32
"""Kinds of calls of a sweep whose programs are compiled ahead, at most."""


@dataclass(frozen=True)
class Call:
    """Chunks that one worker computes, in layers: the chunks of a layer together, in one call of each program where the
    layout stacks runs; the layers one after the other, with the same trainings, each of which is computed once."""

    layers: tuple[tuple[Chunk, ...], ...]

    @property
    def chunks(self) -> list[Chunk]:
        return [chunk for layer in self.layers for chunk in layer]


class Answer(NamedTuple):
    """What computing a call gave: for every chunk why it failed (empty if it did not), how many trainings were
    computed, how many were known, and how many of those that were kept are damaged."""

    reasons: list[str]
    trained: int = 0
    reused: int = 0
    damaged: int = 0


Ended = Generator[tuple[Call, Answer], None, None]
"""Calls as they end; closing it stops the rest."""

Report = Callable[[Call, int, int], None]
"""Told how far the run is that a call computes now: its step, and the last one."""


@dataclass(frozen=True)
class Work:
    """What the calls of one sweep share. `pieces`: the folder in which trainings are kept."""

    simulation: Simulation
    store: Store
    layout: Layout
    precision: str
    pieces: Path | None = None

    def compute(
        self,
        call: Call,
        stopping: Callable[[], bool] = lambda: False,
        report: Callable[[int, int], None] = lambda step, last: None,
    ) -> Answer:
        """Compute a call, and write what was not done yet."""
        shelf = self._shelf()
        room = len(call.layers[0]) * len(call.chunks[0].seeds) if len(call.layers) > 1 else 0
        look = lambda moment: report(moment.step, moment.last)  # noqa: E731
        with live.around(live.Live(shelf, room, stopping, look)) as around:
            reasons = [reason for layer in call.layers for reason in self._compute_layer(layer)]
        return Answer(reasons, around.trained, around.reused, len(shelf.damaged) if shelf else 0)

    def foresee(self, calls: Sequence[Call]) -> list[live.Foreseen]:
        """The pieces that these calls will compute, each program once; a training that is known needs none."""
        shelf, seen = self._shelf(), set()
        found: dict[Callable[[], None], live.Foreseen] = {}
        for layer in (layer for call in calls for layer in call.layers):
            shape = tuple(chunk.setting.problem().static for chunk in layer), len(layer[0].seeds)
            if shape in seen or len(seen) == FORESEEN:
                continue
            seen.add(shape)
            runs = [(chunk.setting, seed) for chunk in layer for seed in chunk.seeds]
            with contextlib.suppress(Exception):  # a broken cell fails when it is computed, with its reason
                for piece in foresee_runs(self.simulation, runs, self.layout, self.precision):
                    if not (piece.trains and piece.name and shelf and shelf.has(piece.name)):
                        found[piece.compile] = piece
        return list(found.values())

    def compile(self, piece: live.Foreseen) -> None:
        """Compile the program of a piece; should that fail, the call that needs it says so."""
        with contextlib.suppress(Exception):
            compile_piece(piece, self.layout, self.precision)

    def _shelf(self) -> Shelf | None:
        return None if self.pieces is None else Shelf(self.pieces, self._stamp())

    def _stamp(self) -> bytes:
        """What decides bits beside programs and their inputs."""
        with devices.computing(self.layout.platform):
            device = devices.device()
        used = tuple(numeric_versions().items())
        return names.stamp(used, device.platform, device.device_kind, self.layout.kind, self.layout.shared_by)

    def _compute_layer(self, layer: Sequence[Chunk]) -> list[str]:
        """An exception fails the chunk; chunks that are stacked are then tried alone, so that it hits only its own."""
        pending = [chunk for chunk in layer if not self.store.is_done(chunk)]
        if not pending:
            return [""] * len(layer)
        runs = [(chunk.setting, seed) for chunk in layer for seed in chunk.seeds]
        try:
            with noting() as inputs:
                results = iter(simulate_runs(self.simulation, runs, self.layout, self.precision))
        except errors_of_theories() as error:
            if isinstance(error, Interrupted) or is_for_the_user(error):
                raise
            if len(layer) > 1:
                return [reason for chunk in layer for reason in self._compute_layer([chunk])]
            reason = describe_error(error, self.simulation.function)
            self.store.fail(layer[0], reason)
            return [reason]
        reasons = []
        for chunk in layer:
            mine = [next(results) for _ in chunk.seeds]
            reason = self._defect(mine) if chunk in pending else ""
            if reason:
                reason += place_of(self.simulation.function)
                self.store.fail(chunk, reason)
            elif chunk in pending:
                self.store.write(chunk, mine, inputs)
            reasons.append(reason)
        return reasons

    def _defect(self, results: Sequence[Mapping[str, np.ndarray]]) -> str:
        """Why these results cannot be stored: a variable, a type, a shape or an unflagged NaN; empty if they can."""
        shapes = self.store.shapes()
        for name in sorted(shapes.keys() ^ results[0].keys()):
            return f"{name} is {'returned' if name in results[0] else 'not returned'}, unlike in the first cell"
        for result in results:
            for name, value in result.items():
                variable = self.simulation.variable(name)
                if value.dtype.kind != "f":
                    return f"{name} is {value.dtype}, not floating point"
                if value.shape != shapes[name]:
                    return f"{name} has shape {value.shape}, but the first cell has {shapes[name]}"
                along = variable.dims[:1] == ("record",)
                if not variable.optional and np.isnan(value[0] if along else value).any():
                    return f"{name} is NaN"
                if not variable.optional and along and np.isnan(value[_taken(result, value)]).any():
                    return f"{name} is NaN at a record that the run has taken"
        return ""


def _taken(result: Mapping[str, np.ndarray], value: np.ndarray) -> np.ndarray:
    """The records that a run has taken, by its clock; without one only the first is sure."""
    step = result.get("step", np.empty(0))
    if step.dtype.kind == "f" and step.shape == value.shape[:1]:
        return np.isfinite(step)
    return np.arange(len(value)) < 1
