"""The outlook of a sweep, before anything is computed: which cells share their trainings, and what has no effect.

A run is foreseen along every axis, the other axes at their first label. Cells whose trainings have the same names are a
family and are planned together; should two axes act on each other, a family is too large or too small, which costs time
and changes no result, since a training is recognised by its very own name.
"""

from __future__ import annotations

import collections
import functools
import math
import sys
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
from jax.interpreters.partial_eval import dce_jaxpr

from lemmata.lab import names, room
from lemmata.lab.devices import Needs
from lemmata.lab.ensemble import result_shapes
from lemmata.lab.errors import FILE_MODULE, Broken, UserError, describe_error, is_for_the_user, is_of, place_of
from lemmata.lab.grid import Grid
from lemmata.lab.interrupts import errors_of_theories
from lemmata.lab.precision import numerics
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Foresight, Simulation

LOOKED_AT = 32
"""Kinds of runs whose room is looked at, at most."""


class Outlook(NamedTuple):
    """The family of every cell, and the axes whose labels all give the same runs."""

    family: Mapping[tuple[int, ...], Hashable]
    idle: list[str]

    @property
    def families(self) -> int:
        return len(set(self.family.values()))

    def numbers(self) -> list[int]:
        """The family of every cell, in order, as a number."""
        number = {family: i for i, family in enumerate(dict.fromkeys(self.family.values()))}
        return [number[family] for family in self.family.values()]


def look_ahead(simulation: Simulation, grid: Grid, seed: int, precision: str) -> Outlook:
    """The outlook of this grid; of a host simulation nothing is known."""
    if simulation.host or len(grid.cells) == 1:
        return Outlook({cell: cell for cell in grid.cells}, [])
    foresee = functools.cache(lambda cell: _foresee(simulation, grid.cells[cell], seed, precision))
    classes: list[list[Hashable]] = []
    idle = []
    for axis, name in enumerate(grid.labels):
        cells = _along(grid, axis, (0,) * len(grid.shape))
        distinct = len(set(_classes([foresee(cell) for cell in cells[:2]]))) == 2
        if distinct and grid.is_field(name):  # two values of one field are two trainings, and so are all
            classes.append(list(range(len(cells))))
        else:
            classes.append(_classes([foresee(cell) for cell in cells]))
        others = (cell for cell in grid.cells if cell[axis] == 0)
        lines = (((grid.cells[each], foresee(each)) for each in _along(grid, axis, cell)) for cell in others)
        if len(cells) > 1 and all(_all_alike(simulation, line, seed, precision) for line in lines):
            idle.append(name)
    family = {cell: tuple(classes[axis][label] for axis, label in enumerate(cell)) for cell in grid.cells}
    return Outlook(family, idle)


def _along(grid: Grid, axis: int, cell: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The cells with every label of this axis, otherwise like `cell`."""
    return [(*cell[:axis], label, *cell[axis + 1 :]) for label in range(grid.shape[axis])]


def _classes(seen: list[Foresight | None]) -> list[Hashable]:
    """Labels with the same trainings are of one class; a run without any, or with unknown ones, is alone."""
    trainings = [each.trainings if each else () for each in seen]
    return [names if names and None not in names else label for label, names in enumerate(trainings)]


def find_shapes(simulation: Simulation, grid: Grid, seed: int, precision: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the first cell that returns what is declared; a broken one does not stop the others."""
    reasons, too_large = list[str](), 0
    for cell, setting in grid.cells.items():
        try:
            shapes = result_shapes(simulation, setting, seed, precision)
        except errors_of_theories() as error:
            if is_for_the_user(error):
                raise
            too_large += isinstance(error, MemoryError) and not is_of(error, FILE_MODULE)
            reasons.append(f"{grid.describe(cell)}: {describe_error(error, simulation.function)}")
            continue
        wrong = [name for name, shape in shapes.items() if len(shape) != len(simulation.variable(name).dims)]
        if not wrong:
            return shapes
        dims = simulation.variable(wrong[0]).dims
        told = f"{wrong[0]} has shape {shapes[wrong[0]]}, its dimensions are {dims}{place_of(simulation.function)}"
        reasons.append(f"{grid.describe(cell)}: {told}")
    if too_large == len(reasons):
        raise UserError(f"No cell fits into memory; first, at {reasons[0]}.")
    raise Broken(f"every cell failed; first, at {reasons[0]}")


def check_runs(simulation: Simulation, grid: Grid, seed: int, precision: str) -> Needs:
    """What one seed of this grid needs; cells whose runs do not fit into memory are refused, before anything is
    compiled. A broken cell is none of these."""
    most, steps, cells, operations = 0, collections.Counter[Any](), collections.Counter[Any](), dict[Any, float]()

    def needs(setting: Setting) -> int:
        try:
            return max((piece.room for piece in simulation.foresee(setting, seed, precision).pieces), default=0)
        except OverflowError:  # sizes that no array has
            return sys.maxsize

    for cell, setting in grid.cells.items():
        if simulation.host:
            break
        try:
            static = setting.problem().static
            cells[static] += 1
            steps[static] += getattr(setting, "steps", 0)
            if static not in operations and len(operations) < LOOKED_AT:
                operations[static] = 0.0
                lower = functools.partial(room.field_to_lower, setting, needs)
                room.check(f"A run at {grid.describe(cell)}", needs(setting), lower)
                pieces = simulation.foresee(setting, seed, precision).pieces
                operations[static] = sum(piece.operations for piece in pieces)
                most = max([most, *(piece.room for piece in pieces)])
        except errors_of_theories() as error:
            if is_for_the_user(error):
                raise
    work = sum(steps[static] * each for static, each in operations.items())
    step = max((cells[static] * each for static, each in operations.items()), default=0.0)
    return Needs(most, work, step)


def check_results(shapes: Mapping[str, tuple[int, ...]], grid: Grid, seeds: int, precision: str) -> None:
    """Refuse results that do not fit into memory."""
    numbers = len(grid.cells) * seeds * (1 + sum(math.prod(shape) for shape in shapes.values()))
    size = 8 if precision == "float64" else 4
    what = f"What {len(grid.cells)} cells with {seeds} seeds each give"
    room.check(what, numbers * size, lambda: f"the number of seeds, {seeds}")


def idle_fields(
    simulation: Simulation, setting: Setting, usual: Setting, given: Iterable[str], seed: int, precision: str
) -> list[str]:
    """Those of the given fields that change nothing: with their usual values the run is the same."""
    if simulation.host:
        return []
    found = []
    for name in given:
        other = setting.replace(**{name: getattr(usual, name)})
        pair = [(each, _foresee(simulation, each, seed, precision)) for each in (setting, other)]
        if other != setting and _all_alike(simulation, pair, seed, precision):
            found.append(name)
    return found


def _foresee(simulation: Simulation, setting: Setting, seed: int, precision: str) -> Foresight | None:
    try:
        return simulation.foresee(setting, seed, precision)
    except errors_of_theories() as error:
        if is_for_the_user(error):
            raise
        return None  # a broken cell fails when it is computed, with its reason


def _all_alike(
    simulation: Simulation, runs: Iterable[tuple[Setting, Foresight | None]], seed: int, precision: str
) -> bool:
    """Whether these settings give the same runs: the same pieces, and nothing else that reads what differs."""
    settings, first = [], None
    for setting, seen in runs:
        first = first or seen
        if seen is None or first is None or seen.pieces != first.pieces or None in [each.name for each in seen.pieces]:
            return False
        settings.append(setting)
    return len({_whole_run(simulation, setting, seed, precision) for setting in settings}) == 1


def _whole_run(simulation: Simulation, setting: Setting, seed: int, precision: str) -> bytes:
    """The name of all that a run returns: by the whole of its program and the numbers that this uses."""
    with numerics(precision):
        problem, key, prepared = setting.problem(), jax.random.key(seed), simulation.prepared(setting, seed)
        closed: Any = jax.make_jaxpr(lambda problem: simulation.run(problem, key, prepared))(problem)
        pruned, used = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
        numbers = [names.name_of(x) for x, is_used in zip(jax.tree.leaves(problem), used, strict=True) if is_used]
        return names.digest(str(pruned).encode(), *(names.plain(c).tobytes() for c in closed.consts), *numbers)
