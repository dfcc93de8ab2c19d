"""What an experiment found, for whoever has just run it: its claims judged on these data, or its main variable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab.declarations import spell
from lemmata.lab.default_figures import drawable
from lemmata.lab.judged import row_text
from lemmata.lab.measures import at_end
from lemmata.lab.page.numbers import number
from lemmata.lab.plans import Plan, command
from lemmata.lab.publish import FIGURES, TABLE
from lemmata.lab.rows import Occasion, Row
from lemmata.lab.runner import Outcome
from lemmata.lab.terminal import COMMAND, NAME, QUIET, indent, line, table
from lemmata.lab.verify import examine_with

MOST = 8
"""Rows of a table; further labels are left to the figure."""
CLAIMS = 5
"""So many claims are told in full."""


def finding_text(plan: Plan, outcome: Outcome) -> RenderableType:
    """The question, what was found, and where the figure lies."""
    rows = judge(plan, outcome)
    told: list[RenderableType] = [line((plan.experiment.question, NAME))]
    told += [row_text(row) for row in rows[:CLAIMS]] or [variable_text(plan, outcome.data)]
    if remark := _remark(plan, rows):
        told.append(line((remark, QUIET)))
    files = [name for name in (FIGURES[0], TABLE) if (outcome.path / name).exists()]
    where = [(line((word, QUIET)), line((path, COMMAND))) for word, path in _places(outcome, files)]
    return Group(*told, Text(), table(where))


def _remark(plan: Plan, rows: Sequence[Row]) -> str:
    """What is said of claims that are not shown."""
    readers = plan.theory.readers(plan.name)
    if len(rows) > CLAIMS:
        return f"And {len(rows) - CLAIMS} more claims read it: lemmata show {plan.theory.typed}/{plan.name}"
    if rows or not readers:
        return ""
    if not plan.own or plan.options.seeds is not None:
        return "Its claims speak of the unchanged experiment and are not judged here."
    if plan.options.preset == "smoke":
        return "The preset smoke only shows that it runs; with --preset quick its claims are judged too."
    return f"Claims that read it and others: {', '.join(readers)}."


def _places(outcome: Outcome, files: Sequence[str]) -> list[tuple[str, str]]:
    words = {FIGURES[0]: "figure", TABLE: "table"}
    sizes = ", ".join(f"{name} {count}" for name, count in outcome.data.sizes.items())
    data = f"{outcome.path / 'data.zarr'}  ({len(outcome.data.data_vars)} variables; {sizes})"
    return [*((words[name], str(outcome.path / name)) for name in files), ("data", data)]


def judge(plan: Plan, outcome: Outcome) -> list[Row]:
    """The claims that read this experiment alone, judged on its data.

    None at the preset smoke, which decides nothing, and none where the user has changed something.
    """
    if not plan.own or outcome.failed or plan.options.seeds is not None or plan.options.preset == "smoke":
        return []
    rows = []
    for name in plan.theory.readers(plan.name):
        claim = plan.theory.claim(name)
        if list(claim.reads) == [plan.name]:
            found, _ = examine_with(claim, {plan.name: outcome}, plan.options.seed)
            asked = command(plan.theory, name, plan.options, verb="verify")
            given = plan.options.preset, 0.0, asked, "", Occasion(asked, "", ""), {plan.name: outcome.identity}
            rows.append(Row.of(plan.theory.name, found, *given))
    return rows


def variable_text(plan: Plan, data: xr.Dataset) -> RenderableType:
    """The main variable (the first that is declared) at the end of every run: mean and range over the seeds along its
    longest axis."""
    names = drawable(data)
    if not names:
        return Text(f"{len(data.data_vars)} variables: {', '.join(map(str, data.data_vars))}")
    values = data[names[0]]
    if "record" in values.dims:
        values = at_end(values)
    declared = plan.experiment.simulation.variable(names[0])
    symbol = f"{declared.symbol}: " if declared.symbol else ""
    head = line((names[0], NAME), f"  {symbol}{declared.meaning}")
    axes = sorted((str(dim) for dim in values.dims if dim != "seed"), key=lambda axis: -values.sizes[axis])
    if not axes:
        return Group(head, indent(Text(_spread(values)), 2))
    axis = axes[0]
    labels = list(values[axis].values)
    named = [f"{axis} = {spell(_plain(label))}" for label in labels[:MOST]]
    shown = table([(name, _spread(values.isel({axis: i}))) for i, name in enumerate(named)], 2)
    left = [line((f"  and {len(labels) - MOST} more", QUIET))] if len(labels) > MOST else []
    return Group(head, shown, *left)


def _spread(values: xr.DataArray) -> str:
    """Mean and range of the numbers there are."""
    known = values.values[np.isfinite(values.values)]
    if not known.size:
        return "no value"
    low, high = float(known.min()), float(known.max())
    told = number(float(known.mean()))
    return told if low == high else f"mean {told}, from {number(low)} to {number(high)}"


def _plain(label: object) -> object:
    return label.item() if isinstance(label, np.generic) else label
