"""Work: computing the chunks of a call and writing them, wherever that happens.

Whoever computes a chunk writes it to the store and then its status. `lab.parcels` takes work to other processes.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lemmata.lab.ensemble import Layout, simulate_runs
from lemmata.lab.errors import Interrupted, UserError
from lemmata.lab.simulation import Simulation
from lemmata.lab.store import Chunk, Store

Call = Sequence[Chunk]
"""Chunks that are computed together, in one call of a compiled program where the layout stacks runs."""

Ended = Generator[tuple[Call, list[str]], None, None]
"""Calls as they end, each with why its chunks failed (empty where they did not); closing it stops the rest."""


@dataclass(frozen=True)
class Work:
    """What the calls of one sweep share."""

    simulation: Simulation
    store: Store
    layout: Layout
    precision: str

    def compute(self, call: Call, stopping: Callable[[], bool] = lambda: False) -> list[str]:
        """Compute a call, write what was not done yet; returns for every chunk why it failed, empty if it did not.

        An exception fails the chunk; the chunks of a longer call are then tried alone, so that it hits only its own.
        """
        pending = [chunk for chunk in call if not self.store.is_done(chunk)]
        if not pending:
            return [""] * len(call)
        runs = [(chunk.setting, seed) for chunk in call for seed in chunk.seeds]
        try:
            results = iter(simulate_runs(self.simulation, runs, self.layout, self.precision, stopping))
        except (Interrupted, UserError):
            # what the user must put right (a missing data file) is no result of a cell
            raise
        except (Exception, SystemExit) as error:
            if len(call) > 1:
                return [self.compute([chunk], stopping)[0] for chunk in call]
            self.store.fail(call[0], describe_error(error))
            return [describe_error(error)]
        reasons = []
        for chunk in call:
            mine = [next(results) for _ in chunk.seeds]
            reason = self._defect(mine) if chunk in pending else ""
            if reason:
                self.store.fail(chunk, reason)
            elif chunk in pending:
                self.store.write(chunk, mine)
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
                first = value[0] if variable.dims[:1] == ("record",) else value
                if not variable.optional and np.isnan(first).any():
                    return f"{name} is NaN"
        return ""


def describe_error(error: BaseException) -> str:
    """An exception of a simulation in one line, with the place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
