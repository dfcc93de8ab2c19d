"""Default figures: what is drawn of a data set whose experiment has no figure of its own, or cannot draw these axes.

Trajectories are paths over the steps, sweeps curves over a numeric axis, other axes groups of runs, and what is 0 or 1
over two numeric axes is a success map. Axes that do not fit into a panel stand at their first label, which it says.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lemmata.lab import figures as draw
from lemmata.lab.claims import Claim
from lemmata.lab.panels import indexed

MOST = 6
"""Panels of a default figure, and lines of a panel."""


def show(*variables: str, levels: Mapping[str, str] | None = None) -> Callable[..., Figure]:
    """The default figure of these variables; `levels`: variable -> the claim whose level is drawn in its panel.

    plot = lm.show("gap", levels={"gap": "margin-rate"})
    """

    def plot(data: xr.Dataset, claims: Mapping[str, Claim]) -> Figure:
        return default_figure(data, variables, {variable: claims[name] for variable, name in (levels or {}).items()})

    return plot


def default_figure(
    data: xr.Dataset,
    variables: tuple[str, ...] = (),
    levels: Mapping[str, Claim] | None = None,
    first: Collection[str] = (),
) -> Figure:
    """A panel for each of these variables, or for the first few that can be drawn; `first`: axes to be shown before
    others."""
    shown = list(variables or drawable(data))[:MOST]
    figure, axes = draw.panels(len(shown) or 1, rows=2 if len(shown) > 3 else 1)
    for ax, name in zip(axes, shown, strict=False):
        _panel(ax, data, name, first)
        if levels and name in levels:
            draw.claimed(ax, levels[name])
            draw.finish(ax)
    return figure


def drawable(data: xr.Dataset) -> list[str]:
    """Variables of numbers by cell, seed and, maybe, record, in the order in which they are declared."""
    axes = {*(str(dim) for dim in data.sizes if dim in data.coords), "seed", "record"}
    names = [str(name) for name, values in data.data_vars.items() if set(values.dims) <= axes]
    return [name for name in names if name not in ("step", "last_step", "diverged")]


def _is_numeric(values: xr.DataArray, axis: str) -> bool:
    return values[axis].dtype.kind in "fi" and values.sizes[axis] > 1


def _panel(ax: Axes, data: xr.Dataset, name: str, first: Collection[str]) -> None:
    values = data[name]
    axes = [str(dim) for dim in values.dims if dim not in ("seed", "record")]
    axes = sorted(axes, key=lambda axis: (axis not in first, -values.sizes[axis]))
    numeric = [axis for axis in axes if _is_numeric(values, axis)]
    drawn = numeric[:1] if numeric else axes[:1]
    by = [axis for axis in axes if axis not in drawn and 1 < values.sizes[axis] <= MOST][:1]
    rates = np.isin(values.values[np.isfinite(values.values)], (0.0, 1.0)).all()
    if "record" in values.dims:
        drawn, by = [], [axis for axis in axes if 1 < values.sizes[axis] <= MOST][:1]
    elif len(numeric) > 1 and rates:
        drawn, by = numeric[:2], []
    fixed = {axis: values[axis].values[0] for axis in axes if axis not in (*drawn, *by)}
    values = values.sel(fixed)
    label = f"{draw.word(by[0])} {{}}" if by else "{}"
    if "record" in values.dims:
        steps = data.get("step", xr.DataArray(np.arange(values.sizes["record"]), dims="record"))
        steps = steps.sel({axis: label for axis, label in fixed.items() if axis in steps.dims})
        draw.paths(ax, data, values, *by, label=label, clock=steps)
        ax.set_xlabel("training step $t$")
    elif len(drawn) == 2:
        draw.success_map(ax, values, *drawn)
        ax.set_xlabel(draw.word(drawn[0]))
        ax.set_ylabel(draw.word(drawn[1]))
    elif drawn and drawn[0] in numeric:
        draw.curves(ax, values, drawn[0], *by, label=label)
        x = values[drawn[0]].values
        if x.min() > 0 and x.max() > 8 * x.min():
            draw.numbers(ax, x)
        ax.set_xlabel(draw.word(drawn[0]))
    elif drawn:
        sideways = values.sizes[drawn[0]] > MOST - 1
        draw.groups(ax, values, drawn[0], *by, label=label, sideways=sideways)
        (ax.set_ylabel if sideways else ax.set_xlabel)(draw.word(drawn[0]))
    else:
        draw.strip(ax, 0, values, draw.BLUE)
        draw.names(ax, ["all seeds"])
    words = indexed("\n".join(textwrap.wrap(str(data[name].attrs.get("long_name", "")) or draw.word(name), 36)))
    at = ", ".join(
        f"{draw.word(axis)} {draw.word(label)}" for axis, label in fixed.items() if values.sizes.get(axis, 2) > 1
    )
    title = draw.word(name) + (f" ({at})" if at else "")
    if len(drawn) == 2:
        draw.finish(ax, title)
    elif ax.get_ylabel():
        draw.finish(ax, title, x=words)
    else:
        draw.finish(ax, title, words)
