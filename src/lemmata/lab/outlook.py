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
from collections.abc import Hashable, Iterable, Mapping, Sequence
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


class Foresights:
    """The runs of a simulation as they are foreseen: a setting is looked at once, whoever asks."""

    def __init__(self, simulation: Simulation, seed: int, precision: str) -> None:
        self.simulation, self.seed, self.precision = simulation, seed, precision
        self._known: dict[int, tuple[Setting, Foresight]] = {}
        self._programs: dict[Hashable, tuple[bytes, list[bool]]] = {}

    def __call__(self, setting: Setting) -> Foresight:
        known = self._known.get(id(setting))  # a setting may hold arrays, which have no hash
        if known is None:
            known = setting, self.simulation.foresee(setting, self.seed, self.precision)
            self._known[id(setting)] = known
        return known[1]

    def unless_broken(self, setting: Setting) -> Foresight | None:
        """None for a broken cell, which fails when it is computed, with its reason."""
        try:
            return self(setting)
        except errors_of_theories() as error:
            if is_for_the_user(error):
                raise
            return None

    def shapes(self, setting: Setting) -> dict[str, tuple[int, ...]]:
        """The shapes of what a run of this setting returns; only a host simulation is run for it."""
        if self.simulation.host:
            return result_shapes(self.simulation, setting, self.seed, self.precision)
        return self(setting).shapes

    def kind(self, setting: Setting) -> Hashable:
        """What decides the program of a run: two settings of one kind have the same. None: this one has its own."""
        if self.simulation.prepare:  # what is prepared is a part of the program
            return None
        leaves, structure = jax.tree.flatten(setting.problem())
        return structure, tuple(map(jax.typeof, leaves))

    def whole_run(self, setting: Setting) -> bytes:
        """The name of all that a run returns: by the whole of its program and the numbers that this uses."""
        with numerics(self.precision):
            kind = self.kind(setting)
            name, used = self._programs.get(kind) or self._program(setting)
            if kind is not None:
                self._programs[kind] = name, used
            leaves = jax.tree.leaves(setting.problem())
            return names.digest(name, *(names.name_of(x) for x, is_used in zip(leaves, used, strict=True) if is_used))

    def _program(self, setting: Setting) -> tuple[bytes, list[bool]]:
        """The name of the program of a run, and which numbers it uses."""
        simulation, key = self.simulation, jax.random.key(self.seed)
        prepared = simulation.prepared(setting, self.seed)
        closed: Any = jax.make_jaxpr(lambda problem: simulation.run(problem, key, prepared))(setting.problem())
        pruned, used = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
        return names.digest(names.digest_program(pruned), *(names.plain(c).tobytes() for c in closed.consts)), used


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


def look_ahead(foresights: Foresights, grid: Grid) -> Outlook:
    """The outlook of this grid; of a host simulation nothing is known."""
    if foresights.simulation.host or len(grid.cells) == 1:
        return Outlook({cell: cell for cell in grid.cells}, [])

    def foresee(cell: tuple[int, ...]) -> Foresight | None:
        return foresights.unless_broken(grid.cells[cell])

    classes: list[list[Hashable]] = []
    idle = []
    for axis, name in enumerate(grid.labels):
        cells = _along(grid, axis, (0,) * len(grid.shape))
        others = (cell for cell in grid.cells if cell[axis] == 0)
        lines = ([grid.cells[each] for each in _along(grid, axis, cell)] for cell in others)
        distinct = len(set(_classes([foresee(cell) for cell in cells[:2]]))) == 2
        if len(cells) > 1 and all(_all_alike(foresights, line) for line in lines):
            idle.append(name)
            classes.append(_classes([foresee(cells[0])] * len(cells)))
        elif distinct and grid.is_field(name):  # two values of one field are two trainings, and so are all
            classes.append(list(range(len(cells))))
        else:
            classes.append(_classes([foresee(cell) for cell in cells]))
    family = {cell: tuple(classes[axis][label] for axis, label in enumerate(cell)) for cell in grid.cells}
    return Outlook(family, idle)


def _along(grid: Grid, axis: int, cell: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The cells with every label of this axis, otherwise like `cell`."""
    return [(*cell[:axis], label, *cell[axis + 1 :]) for label in range(grid.shape[axis])]


def _classes(seen: list[Foresight | None]) -> list[Hashable]:
    """Labels with the same trainings are of one class; a run without any, or with unknown ones, is alone."""
    trainings = [each.trainings if each else () for each in seen]
    return [names if names and None not in names else label for label, names in enumerate(trainings)]


def find_shapes(foresights: Foresights, grid: Grid) -> dict[str, tuple[int, ...]]:
    """The shapes of the first cell that returns what is declared; a broken one does not stop the others."""
    reasons, too_large, simulation = list[str](), 0, foresights.simulation
    for cell, setting in grid.cells.items():
        try:
            shapes = foresights.shapes(setting)
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


def check_runs(foresights: Foresights, grid: Grid) -> Needs:
    """What one seed of this grid needs; cells whose runs do not fit into memory are refused, before anything is
    compiled. A broken cell is none of these."""
    most, steps, cells, operations = 0, collections.Counter[Any](), collections.Counter[Any](), dict[Any, float]()

    def look(setting: Setting) -> tuple[int, float]:
        """The bytes that a run needs at least, and the operations of a step of it."""
        try:
            pieces = foresights(setting).pieces
        except OverflowError:  # sizes that no array has
            return sys.maxsize, 0.0
        return max((piece.room for piece in pieces), default=0), sum(piece.operations for piece in pieces)

    for cell, setting in grid.cells.items():
        if foresights.simulation.host:
            break
        try:
            static = setting.problem().static
            cells[static] += 1
            steps[static] += getattr(setting, "steps", 0)
            if static not in operations and len(operations) < LOOKED_AT:
                operations[static] = 0.0
                needed, operations[static] = look(setting)
                lower = functools.partial(room.field_to_lower, setting, lambda other: look(other)[0])
                room.check(f"A run at {grid.describe(cell)}", needed, lower)
                most = max(most, needed)
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


def idle_fields(foresights: Foresights, setting: Setting, usual: Setting, given: Iterable[str]) -> list[str]:
    """Those of the given fields that change nothing: with their usual values the run is the same."""
    if foresights.simulation.host:
        return []
    found = []
    for name in given:
        other = setting.replace(**{name: getattr(usual, name)})
        if other != setting and _all_alike(foresights, (setting, other)):
            found.append(name)
    return found


def _all_alike(foresights: Foresights, settings: Sequence[Setting]) -> bool:
    """Whether these settings give the same runs: the same pieces, and nothing else that reads what differs.

    The first two are foreseen, and of further ones one of a kind: these can differ only by the numbers that are used.
    """
    kinds, first = set[Hashable](), None
    for place, setting in enumerate(settings):
        kind = foresights.kind(setting)
        if place < 2 or kind is None or kind not in kinds:
            kinds.add(kind)
            seen = foresights.unless_broken(setting)
            first = first or seen
            if seen is None or first is None or seen.pieces != first.pieces or None in [p.name for p in seen.pieces]:
                return False
    whole = foresights.whole_run(settings[0])
    return all(foresights.whole_run(setting) == whole for setting in settings)
