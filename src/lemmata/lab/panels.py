"""Panels: the common look of all figures, their scales, and the words and numbers that stand in them.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; markers and dashes repeat what they say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from lemmata.lab.intervals import Estimate, mean_interval

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#6b6b6b"
PALETTE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY)
MARKERS = ("o", "s", "D", "^", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (4, 1.2, 1.2, 1.2)), (0, (7, 1, 1, 1, 1, 1)), "-")
PREDICTED: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}
"""How what the paper says is drawn."""
CORRECTED: dict[str, Any] = {"color": ORANGE, "linestyle": "-.", "linewidth": 1.5}
"""How a law is drawn that is derived, or that stands in the place of the paper's."""
CLAIMED: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.5}
"""How the level at which a claim is decided is drawn."""
NEVER = "never reached"
MOST_PANELS = 9


class Look(NamedTuple):
    """How one of several things is told apart."""

    color: str
    marker: str = "o"
    linestyle: Any = "-"


def look(i: int) -> Look:
    """The i-th look; after the last colour the first again, with another marker and dash."""
    count = len(PALETTE)
    shifted = (i + i // count) % count
    return Look(PALETTE[i % count], MARKERS[shifted], DASHES[shifted])


def panels(
    count: int = 1, *, rows: int = 1, width: float = 5.2, height: float = 3.9, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels side by side, in `rows` rows; `width` and `height` are those of one panel."""
    assert count <= MOST_PANELS, f"{count} panels cannot be read at the width of a page"
    columns = -(-count // rows)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)  # lays out what it draws: else every word is measured once for either
    axes = list(np.ravel(figure.subplots(rows, columns, **shared)))
    for ax in axes:
        ax.grid(True, color="#e4e4e4", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[count:]:
        ax.set_axis_off()
    return figure, axes[:count]


def finish(ax: Axes, title: str = "", y: str = "", x: str = "", *, legend: int = 2, **style: Any) -> None:
    """The words of a panel: title, what its axes show, and a legend in so many columns under it (0: none)."""
    ax.set_title(title or ax.get_title(), fontsize=10)
    ax.set_ylabel(y or ax.get_ylabel())
    ax.set_xlabel(x or ax.get_xlabel())
    if legend and ax.axison and ax.get_legend_handles_labels()[0]:
        lines = max((text.get_text().count("\n") for text in ax.get_xticklabels()), default=0)
        below = 14 + 10 * lines + (20 + 10 * ax.get_xlabel().count("\n") if ax.get_xlabel() else 0)
        down = ScaledTranslation(0, -below / 72, ax.get_figure(root=True).dpi_scale_trans)  # pyright: ignore[reportOptionalMemberAccess]
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + down}
        look = {"fontsize": 8, "frameon": False, "columnspacing": 1.2, "handlelength": 2.2, "borderaxespad": 0.3}
        ax.legend(**{**place, **look, "ncols": legend, **style})


def names(ax: Axes, labels: Sequence[str], words: str = "", *, sideways: bool = False, **style: Any) -> None:
    """A categorical axis."""
    axis, limits = (ax.yaxis, ax.set_ylim) if sideways else (ax.xaxis, ax.set_xlim)
    axis.set_ticks(range(len(labels)), list(labels), **{"fontsize": 8, **style})
    axis.set_minor_locator(NullLocator())
    limits(-0.6, max(len(labels), 1) - 0.4)
    if words:
        (ax.set_ylabel if sideways else ax.set_xlabel)(words)


def numbers(ax: Axes, values: Any, words: str = "") -> None:
    """A logarithmic x axis with a tick at every value, written out."""
    values = np.unique(positive(values))
    values = values[np.isfinite(values)]
    ax.set_xlabel(words or ax.get_xlabel())
    if values.size:
        ax.set_xscale("log")
        ax.set_xticks(values, [f"{v:g}" if v < 1e5 and v == round(v) else f"{v:.3g}" for v in values], fontsize=8)
        ax.xaxis.set_minor_locator(NullLocator())
        room = max((values.max() / values.min()) ** 0.08, 1.03) if values.size > 1 else 2.0
        ax.set_xlim(values.min() / room, values.max() * room)


def loss_scale(ax: Axes, least: float = 1e-3, top: float = 1.3) -> None:
    """A logarithmic scale of losses or errors that ends in 0 and reaches to `top`, or to the data if these do."""
    top = max(top, 1.3 * ax.dataLim.y1) if np.isfinite(ax.dataLim.y1) else top
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    ax.set_ylim(-0.15 * least, top)
    ticks = [0.0, *(10.0**k for k in range(round(np.log10(least)), max(1, int(np.log10(top)) + 1)))]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.yaxis.set_minor_locator(NullLocator())


def log_y(ax: Axes) -> None:
    """A logarithmic y axis with a tick a decade, or plain ticks where it spans little; nothing to show has no scale."""
    if not (np.isfinite(ax.dataLim.y1) and ax.dataLim.y1 > 0):
        ax.set_yticks([])
        return
    if ax.dataLim.y1 < 1.001 * ax.dataLim.y0:
        ax.set_ylim(ax.dataLim.y1 / 3, 3 * ax.dataLim.y1)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 8 * low:
        ax.set_yticks([tick for tick in MaxNLocator(6).tick_values(low, high) if low <= tick <= high])
        ax.yaxis.set_minor_locator(NullLocator())
    elif high < 1e4 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
        ax.yaxis.set_minor_formatter(NullFormatter())
    if high < 1e4 * low:
        ax.yaxis.set_major_formatter("{x:g}")


def log_x(ax: Axes) -> None:
    """A logarithmic x axis of positive numbers, with ticks at 1, 2 and 5 where it spans little."""
    if not (np.isfinite(ax.dataLim.x1) and ax.dataLim.x1 > 0):
        return
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    if high < 100 * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())


def from_zero(ax: Axes, top: float = 0.0) -> None:
    """A y axis from 0 to `top`, or beyond the data if they are higher; without any it has no scale."""
    if not np.isfinite(ax.dataLim.y1):
        ax.set_yticks([])
        return
    ax.set_ylim(min(0, ax.get_ylim()[0]) if ax.dataLim.y0 < 0 else 0, max(top, 1.06 * ax.dataLim.y1) or 1.0)


def word(label: Any) -> str:
    """A label of an axis in words: numbers without trailing zeros, names without underscores, mathematics as it is."""
    if isinstance(label, (int, float, np.number)):
        return f"{label:g}"
    return str(label) if "$" in str(label) else re.sub("(?<=[a-z0-9])_(?=[a-z0-9])", " ", indexed(str(label)))


def indexed(text: str) -> str:
    """A text whose letters with an index, like W_Q, are set as mathematics."""
    return text if "$" in text else re.sub(r"(?<![\w.])([A-Za-zα-ω])_([A-Za-z0-9*])(?!\w)", r"$\1_{\2}$", text)


def signed(value: float) -> str:
    """Two decimals with a proper minus sign, and none before zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def stated(values: Estimate | xr.DataArray) -> str:
    """An estimate, or the mean over seeds, with its 95 % interval for a legend; "none" where there is no value."""
    estimate = values if isinstance(values, Estimate) else mean_interval(values.values[np.isfinite(values.values)])
    if not np.isfinite(estimate.value):
        return "none"
    if not np.isfinite(estimate.low) or not np.isfinite(estimate.high):
        return signed(estimate.value)
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]"


def labels_of(data: xr.Dataset | xr.DataArray, axis: str) -> list[str]:
    return [str(label) for label in data[axis].values]


def present(data: xr.Dataset, axis: str, wanted: Sequence[str]) -> list[str]:
    """Those of the wanted labels that the data have."""
    known = labels_of(data, axis)
    return [label for label in wanted if label in known]


def dodge(count: int, width: float = 0.6) -> np.ndarray:
    """Where `count` groups stand beside each other around a position of a categorical axis."""
    return (np.arange(count) - (count - 1) / 2) * width / count


def positive(values: Any) -> Any:
    """What a logarithmic axis can show; anything else is absent."""
    if isinstance(values, xr.DataArray):
        return values.where(np.isfinite(values) & (values > 0))
    values = np.asarray(values, float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)
