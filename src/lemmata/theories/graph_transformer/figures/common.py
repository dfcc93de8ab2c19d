"""What the figures of this theory share: paths along training, runs over an axis, predictions, laws, categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from lemmata.lab.figures import GREY, NEVER, ORANGE, PREDICTED, legend_below
from lemmata.lab.fits import power_law
from lemmata.lab.intervals import CannotFit

CLAIM: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.4}
"""How the level at which a claim is decided is drawn."""
CORRECTED: dict[str, Any] = {"color": ORANGE, "linestyle": "-.", "linewidth": 1.3}
"""How a prediction is drawn that stands in the place of the paper's one."""


def clock(data: xr.Dataset) -> tuple[xr.DataArray, str]:
    """What the records of a run are drawn over: η t where it is known, else the step."""
    return (data.time, r"$\eta t$ (steps times step size)") if "time" in data else (data.step, "training step $t$")


def mean_of(values: xr.DataArray) -> np.ndarray:
    """The mean over seeds that have a value; NaN without any."""
    rows = values.transpose("seed", ...).values.astype(float)
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    total = np.where(known, rows, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def path(ax: Axes, data: xr.Dataset, values: xr.DataArray, label: str | None, color: str, **style: Any) -> None:
    """Along training: the mean over seeds, and every seed as a faint line."""
    x, y = (of.transpose("record", "seed").values for of in (clock(data)[0], values))
    how = {"color": color, "linewidth": 1.5, **style}
    ax.plot(x, y, **{**how, "linewidth": 0.8, "alpha": 0.35})
    ax.plot(mean_of(clock(data)[0]), mean_of(values), label=label, **how)


def over_time(ax: Axes, data: xr.Dataset) -> None:
    """The x axis of paths."""
    times, words = clock(data)
    ax.set_xlabel(words)
    last = float(times.max()) if np.isfinite(times.values).any() else 1.0
    ax.set_xlim(-0.02 * last, 1.02 * last)


def end_words(data: xr.Dataset) -> str:
    """When training ends."""
    times = clock(data)[0].values
    if not np.isfinite(times).any():
        return "at the end"
    return rf"at $\eta t$ = {np.nanmax(times):g}" if "time" in data else f"after {np.nanmax(times):g} steps"


def runs(ax: Axes, x: Any, rows: np.ndarray, color: str, label: str | None, **style: Any) -> None:
    """Every run rows[seed, x] a point over a numeric axis; runs that never arrive stand at the upper edge."""
    how = {"marker": "o", "markersize": 4, "alpha": 0.45, "linestyle": "none", **style}
    for i, row in enumerate(rows):
        ax.plot(x, np.where(np.isfinite(row), row, np.nan), color=color, label=label if i == 0 else None, **how)
        never(ax, np.asarray(x, float)[np.isposinf(row)], color)


def never(ax: Axes, x: np.ndarray, color: str, words: str = NEVER) -> None:
    """Triangles at the upper edge; one entry of the legend for all of them."""
    if not x.size:
        return
    label = None if words in ax.get_legend_handles_labels()[1] else words
    edge = {"marker": "^", "markersize": 6, "linestyle": "none", "clip_on": False}
    ax.plot(x, np.full(x.size, 0.97), color=color, transform=ax.get_xaxis_transform(), label=label, **edge)


def predict(ax: Axes, value: float, words: str | None, **style: Any) -> None:
    """A horizontal line for what the paper says."""
    ax.axhline(value, label=words, **{**PREDICTED, **style})


def claim(ax: Axes, value: float, words: str | None) -> None:
    """A horizontal line for the level at which a claim is decided."""
    ax.axhline(value, label=words, **CLAIM)


def between(ax: Axes, place: float, value: float, words: str | None = None, half: float = 0.42, **style: Any) -> None:
    """A predicted value that belongs to one place of a categorical axis."""
    ax.plot([place - half, place + half], [value, value], label=words, **{**PREDICTED, **style})


def centres(times: np.ndarray) -> np.ndarray:
    """Geometric means over seeds of rows[seed, x], where every run arrives; NaN elsewhere."""
    arrives = np.isfinite(times).all(axis=0) & (times > 0).all(axis=0)
    return np.where(arrives, np.exp(np.log(np.where(arrives, times, 1.0)).mean(axis=0)), np.nan)


def through(values: np.ndarray, law: np.ndarray) -> np.ndarray | None:
    """A law with an open constant, put through the geometric centre of the values; None where there are none."""
    known = np.isfinite(values) & (values > 0) & np.isfinite(law) & (law > 0)
    if not known.any():
        return None
    return law * np.exp(np.mean(np.log(values[known] / law[known])))


def law(ax: Axes, x: np.ndarray, values: np.ndarray, powers: np.ndarray, words: str, **style: Any) -> None:
    """The paper's law `powers` at x, through the centre of the values."""
    found = through(values, powers)
    if found is not None:
        order = np.argsort(x)
        ax.plot(x[order], found[order], label=words, **{**PREDICTED, **style})


def fitted(ax: Axes, x: np.ndarray, rows: np.ndarray, color: str, name: str = "fit") -> None:
    """The power law of all runs, its exponent and the interval of that in the legend; nothing if there is no fit."""
    try:
        fit = power_law(x, rows)
    except CannotFit:
        return
    low, high = (signed(end) if np.isfinite(end) else "?" for end in (fit.exponent.low, fit.exponent.high))
    order = np.argsort(x)
    ax.plot(
        x[order], fit.prefactor * x[order] ** fit.exponent.value, color=color, linewidth=1.3,
        label=f"{name}: exponent {signed(fit.exponent.value)} [{low}, {high}]",
    )  # fmt: skip


def signed(value: float) -> str:
    """Two decimals with a proper minus sign, and none before zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def loss_scale(ax: Axes, least: float = 1e-3, top: float = 2.0) -> None:
    """A logarithmic scale of losses that ends in 0 and reaches up to `top`, or to the data if they lie higher."""
    top = max(top, 1.3 * ax.dataLim.y1) if np.isfinite(ax.dataLim.y1) else top
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    ax.set_ylim(-0.15 * least, top)
    ticks = [0.0, *(10.0**k for k in range(round(np.log10(least)), 1))]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.yaxis.set_minor_locator(NullLocator())


def up_to(ax: Axes, top: float, bottom: float = -0.03) -> None:
    """A y axis from 0 to `top`, or to the data if they lie higher."""
    ax.set_ylim(bottom, max(top, 1.04 * ax.dataLim.y1) if np.isfinite(ax.dataLim.y1) else top)


def names(ax: Axes, words: Sequence[str], label: str = "") -> None:
    """A categorical x axis."""
    ax.set_xticks(range(len(words)), list(words), fontsize=8)
    ax.set_xlim(-0.6, len(words) - 0.4)
    ax.set_xlabel(label)


def distances(ax: Axes, last: int, first: int = 1) -> None:
    """An x axis of distances z."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xticks(range(first, last + 1))
    ax.set_xlim(first - 0.5, last + 0.5)
    ax.set_xlabel("distance $z$")


def bins_of(data: xr.Dataset) -> int:
    """Z, the bins that the encoding has."""
    known = data.bins_used.values[np.isfinite(data.bins_used.values)]
    return int(known.max()) if known.size else data.sizes["bin"]


def legend(ax: Axes, columns: int = 2) -> None:
    """A legend under the panel if there is anything to name."""
    if ax.axison and ax.get_legend_handles_labels()[0]:
        legend_below(ax, columns)
