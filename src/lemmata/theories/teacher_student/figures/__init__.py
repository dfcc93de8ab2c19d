"""What the figures of this theory share: activations, runs over time, laws with fitted exponents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from lemmata.lab.claims import NotApplicable
from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    NEVER,
    ORANGE,
    PREDICTED,
    colour,
    legend_below,
    log_numbers,
    trajectory,
)
from lemmata.lab.fits import slope
from lemmata.lab.intervals import CannotFit, Estimate, mean_interval
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.measures import late_slope, task_of

PURPLE = "#7a5195"
DERIVED: dict[str, Any] = {"color": ORANGE, "linestyle": "-.", "linewidth": 1.4}
"""How a law is drawn that is derived, or that stands in the place of the paper's one."""
CLAIM: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.4}
"""How the level at which a claim is decided is drawn."""
NAMED = {1.0: ("identity", BLUE), 0.1: ("leaky", GREEN), 0.0: ("ReLU", PURPLE)}
"""Activations by κ, and their colours."""


def by_slope(data: xr.Dataset) -> Iterator[tuple[xr.Dataset, str, str]]:
    """The runs of every activation, with its name and colour."""
    for i, kappa in enumerate(data.negative_slope.values):
        name, color = NAMED.get(float(kappa), ("leaky", colour(i + 3)))
        shown = name if name != "leaky" else rf"leaky ($\kappa$ = {kappa:g})"
        yield data.isel(negative_slope=i), shown, color


def positive(values: Any) -> Any:
    """What a logarithmic axis can show; anything else is absent."""
    if isinstance(values, xr.DataArray):
        return values.where(np.isfinite(values) & (values > 0))
    values = np.asarray(values, float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def scalar_task(cell: xr.Dataset) -> Task:
    """The reduced problem of one run as plain numbers; of the first seed if there are several."""
    first = cell.isel(seed=0) if "seed" in cell.dims else cell
    return Task(*(float(field) for field in task_of(first)[:5]))


def late_excess(data: xr.Dataset, first: float = 0.0) -> xr.DataArray:
    """The derived late law KD(D - K)/(4ηT) at every record from `first` T* on."""
    D, K = data.token_count, data.support_count
    time = data.step.where((data.step > 0) & (data.step >= first * data.escape_step))
    return K * D * (D - K) / (4 * data.eta * time)


def follow(ax: Axes, data: xr.Dataset, values: xr.DataArray, label: str | None, color: str, **style: Any) -> None:
    """A positive quantity along training, over steps, one line a seed."""
    trajectory(ax, positive(data.step), positive(values), label, color, **style)  # pyright: ignore[reportArgumentType]


def finite_mean(values: Any) -> float:
    """The mean of the finite values; NaN without any."""
    flat = np.ravel(np.asarray(values, float))
    flat = flat[np.isfinite(flat)]
    return float(flat.mean()) if flat.size else float("nan")


def ends(values: Any) -> tuple[float, float] | None:
    """The smallest and the largest of the positive finite values; None without any."""
    flat = positive(values)
    flat = np.ravel(flat)[np.isfinite(np.ravel(flat))]
    return (float(flat.min()), float(flat.max())) if flat.size else None


def signed(value: float, digits: int = 2) -> str:
    """A number with a proper minus sign, and none before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def stated(estimate: Estimate) -> str:
    """A fitted number, with its interval where seeds differ."""
    low, high = signed(estimate.low), signed(estimate.high)
    spread = np.isfinite([estimate.low, estimate.high]).all() and low != high
    return signed(estimate.value) + (f" [{low}, {high}]" if spread else "")


def slope_of(values: xr.DataArray, data: xr.Dataset, low: float = 1e2, high: float = 1e4) -> str | None:
    """The exponent in T over [low, high] T*, with its interval over seeds; over several cells its range."""
    try:
        slopes = late_slope(values, data, low, high)
    except NotApplicable:
        return None
    flat = np.ravel(slopes.values)
    if not np.isfinite(flat).all():
        return None
    if slopes.dims == ("seed",):
        return stated(mean_interval(flat))
    first, last = signed(flat.max()), signed(flat.min())
    return first if first == last else f"{first} to {last}"


def fitted(ax: Axes, x: np.ndarray, rows: np.ndarray, color: str, name: str) -> Estimate | None:
    """The power law of rows[seed, x] as a line, its exponent in the legend; the points alone if there is no fit."""
    x, rows = np.asarray(x, float), np.atleast_2d(np.asarray(rows, float))
    late = np.isposinf(rows).any(axis=0)
    if late.any():
        words = None if NEVER in ax.get_legend_handles_labels()[1] else NEVER
        edge = {"marker": "^", "markersize": 6, "linestyle": "none", "clip_on": False}
        top = np.full(late.sum(), 0.97)
        ax.plot(x[late], top, color=color, transform=ax.get_xaxis_transform(), label=words, **edge)
    rows = positive(rows)
    ax.plot(np.broadcast_to(x, rows.shape).ravel(), rows.ravel(), "o", color=color, markersize=5, alpha=0.8)
    try:
        found = slope(np.log(x), np.log(rows))
    except CannotFit:
        ax.plot([], [], "o-", color=color, label=name)
        return None
    centre = np.log(rows).mean() - found.value * np.log(x).mean()
    label = f"{name}: exponent {stated(found)}"
    ax.plot(x, np.exp(centre) * x**found.value, color=color, linewidth=1.3, marker="o", markersize=5, label=label)
    return found


def law(ax: Axes, x: Any, values: Any, powers: Any, words: str | None, **style: Any) -> None:
    """A law with an open constant, through the geometric centre of the positive values[..., x]."""
    x, ratio = np.asarray(x, float), positive(positive(values) / np.asarray(powers, float))
    if np.isfinite(ratio).any():
        order = np.argsort(x)
        constant = np.exp(np.nanmean(np.log(ratio)))
        ax.plot(x[order], constant * np.asarray(powers, float)[order], label=words, **{**PREDICTED, **style})


def anchored(ax: Axes, x: Any, start: float, power: float, words: str | None, **style: Any) -> None:
    """A power law over [x_0, x_1] that begins at `start`: a slope to compare with."""
    span = np.asarray(x, float)
    ax.plot(span, start * (span / span[0]) ** power, label=words, **{**PREDICTED, **style})


def between(ax: Axes, place: float, value: float, words: str | None = None, half: float = 0.42, **style: Any) -> None:
    """A predicted value that belongs to one place of a categorical axis."""
    ax.plot([place - half, place + half], [value, value], label=words, **{**PREDICTED, **style})


def level(ax: Axes, value: float, words: str | None, **style: Any) -> None:
    """A horizontal line at which a claim is decided."""
    ax.axhline(value, label=words, **{**CLAIM, **style})


def accept(ax: Axes, low: float, high: float, words: str | None) -> None:
    """The band in which a claim holds."""
    ax.axhspan(low, high, color=GREY, alpha=0.18, linewidth=0, label=words)


def moment(ax: Axes, x: float, words: str, left: bool = False, height: float = 0.02) -> None:
    """A vertical line with its name at the foot of the panel."""
    if not np.isfinite(x) or x <= 0:
        return
    ax.axvline(x, color=GREY, linewidth=1)
    ax.annotate(
        words, (x, height), (-3 if left else 3, 0), xycoords=ax.get_xaxis_transform(), textcoords="offset points",
        fontsize=8.5, color="#404040", ha="right" if left else "left",
    )  # fmt: skip


def log_x(ax: Axes, words: str = "training step $t$", plain: bool = False) -> None:
    """A logarithmic x axis; one that is `plain`, or spans little, has ticks at 1, 2 and 5."""
    ax.set_xlabel(words)
    if not (np.isfinite(ax.dataLim.x1) and ax.dataLim.x1 > 0):
        return
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    if plain or high < 15 * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())


def numbers(ax: Axes, values: Any, words: str) -> None:
    """A logarithmic x axis with a tick at every value, written out."""
    values = np.unique(positive(values))
    values = values[np.isfinite(values)]
    ax.set_xlabel(words)
    if values.size:
        log_numbers(ax, values, words)
        ax.set_xticks(values, [f"{value:g}" if value > 9.5 else f"{value:.3g}" for value in values], fontsize=8)


def names(ax: Axes, words: Sequence[str], label: str = "", **style: Any) -> None:
    """A categorical x axis."""
    ax.set_xticks(range(len(words)), list(words), **{"fontsize": 8, **style})
    ax.set_xlim(-0.6, max(len(words), 1) - 0.4)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(label)


def legend(ax: Axes, columns: int = 2, **style: Any) -> None:
    """A legend under the panel if there is anything to name."""
    if ax.axison and ax.get_legend_handles_labels()[0]:
        legend_below(ax, columns, **style)
