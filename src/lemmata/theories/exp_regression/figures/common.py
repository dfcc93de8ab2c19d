"""What the figures of this theory share: axes of widths, seeds around their centre, errors in the claimed time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from lemmata.lab.claims import NotApplicable
from lemmata.lab.figures import BLUE, GREEN, GREY, ORANGE, PALETTE, PREDICTED, RED, strip
from lemmata.theories.exp_regression.measures import geometric_slope
from lemmata.theories.exp_regression.training import FLOOR

INIT_COLORS = {"coupled": BLUE, "independent": ORANGE}
ACTIVATION_COLORS = {"exp": BLUE, "cosh": ORANGE, "sinh": GREEN, "relu": RED}
TINY = 1e-18
"""Where exact zeros are drawn on a logarithmic axis."""


def coloured(values: Any) -> Iterator[tuple[Any, str]]:
    """The values of an axis, each with a colour; the palette begins again after its end."""
    for i, value in enumerate(values):
        yield value, PALETTE[i % len(PALETTE)]


def word(value: Any) -> str:
    """A label of an axis as it stands in a legend: numbers without trailing zeros, names without underscores."""
    return f"{value:g}" if isinstance(value, (int, float, np.number)) else str(value).replace("_", " ")


def positive(values: Any) -> Any:
    """What a logarithmic axis can show; anything else is absent."""
    if isinstance(values, xr.DataArray):
        return values.where(np.isfinite(values) & (values > 0))
    values = np.asarray(values, float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def centre(values: np.ndarray) -> np.ndarray:
    """The median over the first dimension; runs that never arrive count as late, absent ones not at all."""
    known = ~np.isnan(values)
    filled = np.where(known.any(axis=0), values, 0.0)
    return np.where(known.any(axis=0), np.nanmedian(filled, axis=0), np.nan)


def band(values: xr.DataArray) -> np.ndarray:
    """The 5 % and 95 % quantiles over the seeds, where there are any."""
    rows = values.transpose("seed", ...).values
    known = np.isfinite(rows).all(axis=0)
    return positive(np.where(known, np.quantile(np.where(known, rows, 0.0), [0.05, 0.95], axis=0), np.nan))


def number_axis(ax: Axes, values: Any, label: str) -> None:
    """A logarithmic x axis with a tick at every value of an axis of the experiment."""
    values = positive(values)
    values = values[np.isfinite(values)]
    ax.set_xlabel(label)
    if not values.size:
        return
    ax.set_xscale("log")
    ax.set_xticks(values, [f"{value:g}" if value < 1e5 else f"{value:.0e}" for value in values], fontsize=8)
    ax.minorticks_off()
    room = 1.25 if values.size > 1 else 2.0
    ax.set_xlim(values.min() / room, values.max() * room)


def width_axis(ax: Axes, values: Any) -> None:
    """The x axis of widths m."""
    number_axis(ax, values, "width $m$")


def names_axis(ax: Axes, names: Sequence[str], label: str = "") -> None:
    """A categorical x axis."""
    ax.set_xticks(range(len(names)), list(names), fontsize=8)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_xlabel(label)


def over(
    ax: Axes, x: Any, values: xr.DataArray, along: str, label: str, color: str, middle: Any = None, **style: Any
) -> None:
    """Every seed a faint point and their median, or the given middle, a line, along an axis of the experiment."""
    rows = positive(values.transpose("seed", along).values)
    for row in rows:
        ax.plot(x, row, ".", color=color, alpha=0.25, markersize=4)
    line = centre(rows) if middle is None else positive(middle)
    ax.plot(x, line, color=color, label=label, **{"marker": "o", "markersize": 5, **style})


def predicted(ax: Axes, x: Any, y: Any, label: str | None = None) -> None:
    """A predicted curve over an axis of the experiment; a bar where that has only one value."""
    y = positive(np.asarray(y, float))
    single = {"marker": "_", "markersize": 16} if np.size(x) == 1 else {}
    ax.plot(x, y, label=label, **PREDICTED, **single)


def seeds_at(
    ax: Axes, place: float, values: Any, color: str, label: str | None = None, width: float = 0.1, **style: Any
) -> None:
    """One group of runs at a place of a categorical axis: every seed a point, their median a bar."""
    strip(ax, place, values, color, label, width=width, median=True, **{"markersize": 4, "alpha": 0.6, **style})


def signed(value: float) -> str:
    """Two decimals with a proper minus sign, and none before zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def slope_words(values: xr.DataArray, along: str, slope: Callable[[xr.DataArray, str], float] = geometric_slope) -> str:
    """The fitted exponent for a legend, or nothing where there is none."""
    if values.sizes[along] < 2:
        return ""
    try:
        return f" (slope {signed(slope(positive(values), along))})"
    except (NotApplicable, np.linalg.LinAlgError):
        return ""


def claimed_decay(data: xr.Dataset) -> xr.DataArray:
    """-ln(1 - m η λ/2) per step, λ of the infinite-width kernel: the claimed decay of ‖e‖²."""
    return -np.log1p(-np.clip(data.rate * data.limit_least / 2, 0.0, 1 - 1e-12))


def relative_square(data: xr.Dataset, name: str = "square") -> xr.DataArray:
    """‖e(t)‖²/‖e(0)‖² at every record above rounding."""
    return (data[name] / data.initial_square).where((data[name] > 0.01 * FLOOR) & np.isfinite(data[name]))


def decay_curves(ax: Axes, data: xr.Dataset, label: str, color: str) -> None:
    """The error in the claimed time of every seed, the first one with its linearised prediction."""
    time = claimed_decay(data) * data.step
    error, linear = relative_square(data), relative_square(data, "linear_square")
    for i in reversed(range(data.sizes["seed"])):
        shown: dict[str, Any] = {"alpha": 1.0, "linewidth": 1.6} if i == 0 else {"alpha": 0.3, "linewidth": 0.8}
        ax.plot(time.isel(seed=i), error.isel(seed=i), color=color, label=label if i == 0 else None, **shown)
    ax.plot(time.isel(seed=0), linear.isel(seed=0), color="black", linestyle=":", linewidth=1, zorder=3)


def decay_axes(ax: Axes, claim: str = r"claimed: $(1-m\eta\lambda/2)^t$") -> None:
    """The claimed bound, which in its own time is a straight line, and the words of such a panel."""
    right = ax.dataLim.x1 if np.isfinite(ax.dataLim.x1) and ax.dataLim.x1 > 0 else 1.0
    right = min(right, 60.0)
    grid = np.linspace(0, right, 50)
    ax.plot(grid, np.exp(-grid), label=claim, **PREDICTED)
    ax.plot([], [], color="black", linestyle=":", linewidth=1, label="linearised dynamics (first seed)")
    ax.set_yscale("log")
    ax.set_xlim(0, 1.02 * right)
    ax.set_xlabel(r"claimed time $-t\,\ln(1-m\eta\lambda/2)$")
    ax.set_ylabel(r"$\|e(t)\|^2/\|e(0)\|^2$")


def limits(
    ax: Axes, groups: Sequence[tuple[str, Any]], color: str = BLUE, label: str | None = "runs and median"
) -> None:
    """Left side / right side of several bounds, one group of runs each, below the line 1."""
    for i, (_, values) in enumerate(groups):
        seeds_at(ax, i, positive(values), color, label if i == 0 else None)
    bound_line(ax, names=[name for name, _ in groups])


def bound_line(ax: Axes, words: str = r"paper: at most 1", *, names: Sequence[str] | None = None) -> None:
    """The line 1 that a ratio of left side to right side may not cross."""
    ax.axhline(1.0, label=words, **PREDICTED)
    if names is not None:
        names_axis(ax, names)
    ax.set_ylabel("left side / right side")


def faint(ax: Axes, value: float, words: str) -> None:
    """A horizontal line for what is claimed of the measurement but not by the paper."""
    ax.axhline(value, color=GREY, linestyle=":", linewidth=1, label=words)
