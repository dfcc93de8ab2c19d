"""Grids: the axes of a sweep and the validated setting of every cell.

An axis is a declared field with values, or a named axis whose labels each set several fields; a data set carries these
as coordinates of that axis, so that nobody parses a label. Every cell, cross-field rules included, is validated here,
on the host, before anything compiles.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lemmata.lab.declarations import spell
from lemmata.lab.errors import UserError, require_name, unknown
from lemmata.lab.setting import Setting

Axes = Mapping[str, Sequence[Any] | Mapping[Any, Mapping[str, Any]]]
MANY = 5_000
"""Cells that take seconds to plan, which is said."""
MOST = 10_000_000
"""Cells beyond which no plan is made: their settings alone would fill gigabytes."""


@dataclass(frozen=True)
class Grid:
    """The full product of the axes: labels per axis and one setting per cell."""

    labels: dict[str, list[Any]]
    cells: dict[tuple[int, ...], Setting]
    sets: dict[str, list[str]]
    """the fields that the labels of every axis set"""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.labels.values())

    def is_field(self, axis: str) -> bool:
        """Whether this axis is a field with values, not a named axis whose labels set several."""
        first = next(iter(self.cells.values()))
        return axis in first.declarations() and getattr(first, axis) == self.labels[axis][0]

    def describe(self, cell: tuple[int, ...]) -> str:
        """A cell in words."""
        parts = [f"{name}={spell(labels[i])}" for (name, labels), i in zip(self.labels.items(), cell, strict=True)]
        return ", ".join(parts) or "the only cell"

    def coordinates(self) -> dict[str, np.ndarray]:
        """The labels as coordinate arrays: numbers where all are numbers, else strings."""
        return {name: _as_coordinate(labels) for name, labels in self.labels.items()}

    def fields(self) -> dict[str, tuple[str, np.ndarray]]:
        """The fields that the labels of named axes set: (axis, a value for every label)."""
        first = (0,) * len(self.shape)
        found = {}
        for place, (axis, fields) in enumerate(self.sets.items()):
            cells = [self.cells[(*first[:place], i, *first[place + 1 :])] for i in range(self.shape[place])]
            for name in fields:
                values = [getattr(cell, name) for cell in cells]
                if name not in self.labels and not any(isinstance(value, np.ndarray) for value in values):
                    found[name] = axis, _as_coordinate(values)
        return found


def _as_coordinate(labels: Sequence[Any]) -> np.ndarray:
    numeric = all(isinstance(label, numbers.Real) and not isinstance(label, bool) for label in labels)
    with contextlib.suppress(OverflowError):  # an integer that no number of the machine is
        if numeric:
            return np.asarray(labels, float)
    return np.asarray([spell(label) for label in labels])


def make_grid(setting: Setting, axes: Axes, say: Callable[[str], None] = lambda sentence: None) -> Grid:
    """Validate every cell of the product of `axes` around `setting`; of many it is said how many there are."""
    changes: dict[str, list[tuple[Any, dict[str, Any]]]] = {}
    if not isinstance(axes, Mapping):
        raise UserError(f"The axes {axes} are not allowed: give a mapping from fields to lists of values.")
    for name, values in axes.items():
        require_name("an axis", name)
        if isinstance(values, str) or not isinstance(values, (Mapping, Sequence, np.ndarray)):
            raise UserError(f"The axis {name} = {values} is not allowed: give a list of values, or labels with fields.")
        if isinstance(values, Mapping):
            for label, fields in values.items():
                if not isinstance(fields, Mapping):
                    raise UserError(f"The label {label} of the axis {name} is {spell(fields)}: give it fields to set.")
                for field in fields:
                    if not isinstance(field, str):
                        raise unknown("field", field, setting.declarations())
            changes[name] = [(label, dict(fields)) for label, fields in values.items()]
        else:
            declaration = setting.declaration(name)
            if declaration.kind == "array":
                raise UserError(f"{name} is an array and cannot be an axis.")
            changes[name] = [(value, {name: value}) for value in values]
            accepted = [declaration.accept(name, value) for value in values]
            for value, count in collections.Counter(accepted).items():
                if count > 1:
                    raise UserError(f"The axis {name} has the value {spell(value)} twice.")
        if not changes[name]:
            raise UserError(f"The axis {name} has no values.")
    count = math.prod(map(len, changes.values()))
    if count > MOST:
        raise UserError(f"The axes have {count} cells together; at most {MOST} are allowed: give fewer values.")
    if count >= MANY:
        say(f"{count} cells are planned before anything is computed.")
    cells = {}
    for combination in itertools.product(*[list(enumerate(options)) for options in changes.values()]):
        merged: dict[str, Any] = {}
        for _, (_, fields) in combination:
            twice = merged.keys() & fields.keys()
            if twice:
                raise UserError(f"Two axes set the field {sorted(twice)[0]}.")
            merged |= fields
        cells[tuple(index for index, _ in combination)] = setting.replace(**merged)
    labels = {name: [label for label, _ in options] for name, options in changes.items()}
    sets = {
        name: list(dict.fromkeys(field for _, fields in options for field in fields))
        for name, options in changes.items()
    }
    return Grid(labels, cells, sets)
