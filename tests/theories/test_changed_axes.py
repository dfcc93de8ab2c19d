"""Whatever an axis of an experiment sets can be varied by `--axis`, and any of its labels selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from smoke import each_theory

from lemmata.lab.axes import change_axes, select_labels
from lemmata.lab.declarations import spell
from lemmata.lab.grid import make_grid
from lemmata.lab.registry import load
from lemmata.lab.theory import Preset


def presets(theory: str) -> Iterator[tuple[str, Preset]]:
    for name, experiment in load(theory).experiments.items():
        yield name, experiment.preset("quick")


def named(preset: Preset) -> Iterator[tuple[str, Mapping[Any, Mapping[str, Any]]]]:
    yield from ((axis, values) for axis, values in preset.axes.items() if isinstance(values, Mapping))


@pytest.mark.parametrize("theory", each_theory())
def test_every_field_that_a_named_axis_sets_can_be_an_axis_of_its_own(theory: str) -> None:
    varied = 0
    for name, preset in presets(theory):
        kind = type(preset.setting)
        for _axis, labels in named(preset):
            first = next(iter(labels.values()))
            for field, value in first.items():
                if isinstance(value, np.ndarray):
                    continue
                axes = change_axes(kind, preset.axes, [f"{field}={spell(value)}"], name)
                kept = axes[field]
                assert [spell(each) for each in kept] == [spell(value)], f"{name}: {field}"
                if field in preset.axes:
                    continue  # a label of that axis was kept
                left = [fields for values in axes.values() if isinstance(values, Mapping) for fields in values.values()]
                assert all(field not in fields for fields in left), f"{name}: {field} is set twice"
                varied += 1
    assert varied > 0


@pytest.mark.parametrize("theory", each_theory())
def test_every_label_can_be_selected_and_carries_the_fields_that_it_sets(theory: str) -> None:
    for name, preset in presets(theory):
        for axis, labels in preset.axes.items():
            last = list(labels)[-1]
            axes = select_labels(preset.axes, [f"{axis}={spell(last)}"], name)
            assert [spell(each) for each in axes[axis]] == [spell(last)], f"{name}: {axis}"
        grid = make_grid(preset.setting, preset.axes)
        for axis, labels in named(preset):
            for field in next(iter(labels.values())):
                value = next(iter(labels.values()))[field]
                if field in preset.axes or isinstance(value, np.ndarray):
                    continue
                dimension, values = grid.fields()[field]
                assert (dimension, len(values)) == (axis, len(labels)), f"{name}: {field}"
