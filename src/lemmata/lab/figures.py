"""Figures: a common look, and the few drawings that experiments share. Plots take a data set and return a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

BLUE, ORANGE, GREEN, RED, GREY = "#1f5fa8", "#d9742b", "#3a8f4d", "#b3373a", "#6b6b6b"
PALETTE = (BLUE, ORANGE, GREEN, RED, "#7a5195", "#8c6d31")
PREDICTED: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1}
"""How what a document predicts is drawn beside a measurement."""
NEVER = "never reached"


def colour(i: int) -> str:
    """The i-th colour, from the first again after the last."""
    return PALETTE[i % len(PALETTE)]


def labels_of(data: xr.Dataset, axis: str) -> list[str]:
    return [str(label) for label in data[axis].values]


def present(data: xr.Dataset, axis: str, wanted: Sequence[str]) -> list[str]:
    """Those of the wanted labels that the data have."""
    known = labels_of(data, axis)
    return [label for label in wanted if label in known]


def panels(
    count: int = 1, *, rows: int = 1, width: float = 5.2, height: float = 3.9, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels side by side, in `rows` rows; `width` and `height` are those of one panel."""
    columns = count // rows
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = list(np.ravel(figure.subplots(rows, columns, **shared)))
    for ax in axes:
        ax.grid(True, color="#e4e4e4", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def curve(ax: Axes, values: xr.DataArray, x: Any, label: str, color: str, **style: Any) -> None:
    """The seed mean over x with every seed as a faint point."""
    seeds = values.transpose("seed", ...).values
    ax.plot(
        x,
        np.mean(np.where(np.isfinite(seeds), seeds, np.nan), axis=0),
        color=color,
        label=label,
        **{"marker": "o", **style},
    )
    for row in seeds:
        ax.plot(x, row, ".", color=color, alpha=0.3, markersize=4)


def trajectory(ax: Axes, step: xr.DataArray, values: xr.DataArray, label: str, color: str, **style: Any) -> None:
    """One thin line per seed over the training steps; the label once."""
    for i in range(values.sizes["seed"]):
        ax.plot(
            step.isel(seed=i), values.isel(seed=i), color=color, label=label if i == 0 else None,
            **{"alpha": 0.8, "linewidth": 1.3, **style},
        )  # fmt: skip


def strip(
    ax: Axes, position: float, values: Any, color: str, label: str | None = None, *, sideways: bool = False,
    width: float = 0.12, median: bool = False, **style: Any,
) -> None:  # fmt: skip
    """One group of runs at a position of a categorical axis: every seed a point, their mean or median a bar.

    Runs that never arrive (inf) stand as triangles at the far edge of the panel. Then there is no mean, and a median
    only if most runs arrive.
    """
    values = np.ravel(np.asarray(values, float))
    places = position + (np.linspace(-width, width, values.size) if values.size > 1 else np.zeros(values.size))

    def draw(place: Any, value: Any, **how: Any) -> None:
        ax.plot(*((value, place) if sideways else (place, value)), color=color, **how)

    finite = np.where(np.isfinite(values), values, np.nan)
    point = {"marker": "o", "markersize": 5, "alpha": 0.75, "linestyle": "none", **style}
    draw(places, finite, label=label, **point)
    never = np.isposinf(values)
    if never.any():
        edge = ax.get_yaxis_transform() if sideways else ax.get_xaxis_transform()
        arrow = {"marker": ">" if sideways else "^", "markersize": 6, "linestyle": "none", "clip_on": False}
        label = None if NEVER in ax.get_legend_handles_labels()[1] else NEVER
        draw(places[never], np.full(never.sum(), 0.97), transform=edge, label=label, **arrow)
    known = values[~np.isnan(values)]
    middle = (np.median if median else np.mean)(known) if known.size else np.nan
    if np.isfinite(middle):
        draw(np.array([-1.6, 1.6]) * width + position, np.full(2, middle), linewidth=2)


def dodge(count: int, width: float = 0.6) -> np.ndarray:
    """Where `count` groups stand beside each other around a position of a categorical axis."""
    return (np.arange(count) - (count - 1) / 2) * width / count


def from_zero(ax: Axes) -> None:
    """Let the y axis begin at 0 and leave some room above the data; without any it has no scale."""
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    if not np.isfinite(ax.dataLim.y1):
        ax.set_yticks([])


def legend_below(ax: Axes, columns: int = 2, **style: Any) -> None:
    """A legend under the panel, where it covers nothing."""
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns, borderaxespad=0.0,
        **{"fontsize": 7.5, "frameon": False, "columnspacing": 1.2, "handlelength": 1.8, **style},
    )  # fmt: skip


def heat(ax: Axes, rates: np.ndarray, x: Sequence[str], y: Sequence[str]) -> Any:
    """Success rates [x, y] as a grey map, black 0 and white 1."""
    ax.grid(False)
    image = ax.imshow(rates.T, cmap="gray", vmin=0, vmax=1, origin="lower", aspect="auto")
    ax.set_xticks(range(len(x)), x, fontsize=8)
    ax.set_yticks(range(len(y)), y)
    return image


def log_numbers(ax: Axes, values: Any, words: str) -> None:
    """A logarithmic x axis with a tick at every value."""
    values = np.unique(np.asarray(values, float))
    ax.set_xscale("log")
    ax.set_xticks(values, [f"{value:.3g}" for value in values], fontsize=8)
    ax.xaxis.set_minor_locator(NullLocator())
    room = max((values.max() / values.min()) ** 0.08, 1.03)
    ax.set_xlim(values.min() / room, values.max() * room)
    ax.set_xlabel(words)


def log_times(ax: Axes) -> None:
    """A logarithmic y axis of positive numbers with plain ticks; without anything to show it has no scale."""
    if not (np.isfinite(ax.dataLim.y1) and ax.dataLim.y1 > 0):
        ax.set_yticks([])
        return
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high / low < 8:
        ax.set_yticks([tick for tick in MaxNLocator(6).tick_values(low, high) if low <= tick <= high])
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 1e4 else (1,)))
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter("{x:g}")


def log_y(ax: Axes) -> None:
    """A logarithmic y axis with a tick a decade, or 1, 2, 5 where it spans little; nothing to show has no scale."""
    if not (np.isfinite(ax.dataLim.y1) and ax.dataLim.y1 > 0):
        ax.set_yticks([])
        return
    if ax.dataLim.y1 < 1.001 * ax.dataLim.y0:
        ax.set_ylim(ax.dataLim.y1 / 3, 3 * ax.dataLim.y1)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 100 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
