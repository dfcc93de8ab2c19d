"""The figures, by topic, and what they share: names and colours, means with their interval over seeds, scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from lemmata.lab.figures import BLUE, GREEN, GREY, NEVER, ORANGE, PREDICTED, RED, legend_below
from lemmata.lab.intervals import mean_interval
from lemmata.theories.icl.measures import DEFAULT

ATTENTION = {"trained": ("trained attention", BLUE), "frozen": ("frozen attention", ORANGE)}
ORDERS = {
    "smallest": ("smallest first", BLUE), "random": ("random", GREEN), "random large": ("random, large only", ORANGE),
    "largest": ("largest first", RED),
}  # fmt: skip
CLAIM: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.3}
"""How the level at which a claim is decided is drawn."""


def chosen(data: xr.Dataset, axis: str, value: str | float) -> xr.Dataset:
    """The cell of an axis, or its first one if the experiment was run without it."""
    values = data[axis].values.tolist()
    return data.isel({axis: values.index(value) if value in values else 0})


def summary(values: xr.DataArray) -> np.ndarray:
    """Mean over the seeds that have a value, and the ends of its 95 % t interval, first dimension; NaN without any.

    One seed has no interval: its value stands for both ends.
    """
    rows = values.transpose("seed", ...).values
    found = []
    for column in rows.reshape(len(rows), -1).T:
        mean = mean_interval(column[np.isfinite(column)])
        known = np.isfinite(mean.low)
        found.append((mean.value, mean.low if known else mean.value, mean.high if known else mean.value))
    return np.array(found).T.reshape(3, *rows.shape[1:])


def centre(values: xr.DataArray) -> float:
    """The mean of all finite values; NaN without any."""
    flat = values.values[np.isfinite(values.values)]
    return float(flat.mean()) if flat.size else float("nan")


def along(ax: Axes, x: Any, values: xr.DataArray, label: str | None, color: str, **style: Any) -> None:
    """Mean and interval over seeds of what is never negative, at every value of an axis, joined by a line."""
    mean, low, high = summary(values)
    low = np.maximum(low, 0)
    bars = np.maximum(np.stack([mean - low, high - mean]), 0)
    how = {"marker": "o", "markersize": 4, "linewidth": 1.3, "capsize": 2.5, "elinewidth": 1, **style}
    ax.errorbar(x, mean, yerr=bars, color=color, label=label, **how)


def path(ax: Axes, step: xr.DataArray, values: xr.DataArray, label: str | None, color: str, **style: Any) -> None:
    """Mean over seeds along training, in a band that is its interval."""
    t = summary(step)[0]
    mean, low, high = summary(values)
    ax.fill_between(t, low, high, color=color, alpha=0.15, linewidth=0)
    ax.plot(t, mean, color=color, label=label, **{"linewidth": 1.4, "marker": "o", "markersize": 2.5, **style})


def predict(ax: Axes, value: float, words: str, **style: Any) -> None:
    """A horizontal line for what the paper says."""
    ax.axhline(value, label=words, **{**PREDICTED, **style})


def claim(ax: Axes, value: float, words: str | None) -> None:
    """A horizontal line for the level at which a claim is decided."""
    ax.axhline(value, label=words, **CLAIM)


def between(ax: Axes, place: float, value: float, words: str | None = None, half: float = 0.42, **style: Any) -> None:
    """A predicted value that belongs to one place of a categorical axis."""
    ax.plot([place - half, place + half], [value, value], label=words, **{**PREDICTED, **style})


def error_scale(ax: Axes, least: float = 1e-3, top: float = 1.3) -> None:
    """A logarithmic scale of errors and losses that ends in 0."""
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    ax.set_ylim(-0.15 * least, top)
    ticks = [0.0, *(10.0**k for k in range(round(np.log10(least)), 1))]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.yaxis.set_minor_locator(NullLocator())


def names(ax: Axes, words: Sequence[str], label: str = "") -> None:
    """A categorical x axis."""
    ax.set_xticks(range(len(words)), list(words), fontsize=8)
    ax.set_xlim(-0.6, len(words) - 0.4)
    ax.set_xlabel(label)


def runs(ax: Axes, x: Any, rows: np.ndarray, color: str, label: str | None, **style: Any) -> None:
    """Every run rows[seed, x] a point over a numeric axis; runs that never arrive stand at the upper edge."""
    for i, row in enumerate(rows):
        how = {"marker": "o", "markersize": 4, "alpha": 0.45, "linestyle": "none", **style}
        ax.plot(x, np.where(np.isfinite(row), row, np.nan), color=color, label=label if i == 0 else None, **how)
        late = np.isposinf(row)
        if late.any():
            words = None if NEVER in ax.get_legend_handles_labels()[1] else NEVER
            edge = {"marker": "^", "markersize": 6, "linestyle": "none", "clip_on": False}
            ax.plot(
                np.asarray(x)[late], np.full(late.sum(), 0.97), color=color, transform=ax.get_xaxis_transform(),
                label=words, **edge,
            )  # fmt: skip


def signed(value: float) -> str:
    """Two decimals with a proper minus sign, and none before zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def stated(values: xr.DataArray) -> str:
    """Mean and interval over seeds for a legend; "none" where there is no value."""
    mean, low, high = summary(values)
    if not np.isfinite(mean):
        return "none"
    return f"{signed(float(mean))} [{signed(float(low))}, {signed(float(high))}]"


def neuron_count(data: xr.Dataset) -> int:
    """m, or that of the default setting if no draw says it."""
    width = centre(data.width)
    return round(width) if np.isfinite(width) else DEFAULT.neurons


def legend(ax: Axes, columns: int = 2) -> None:
    """A legend under the panel if there is anything to name."""
    if ax.axison and ax.get_legend_handles_labels()[0]:
        legend_below(ax, columns)
