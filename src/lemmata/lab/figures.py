"""Figures: a common look, and the few drawings that experiments share. Plots take a data set and return a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, GREY = "#1f5fa8", "#d9742b", "#3a8f4d", "#b3373a", "#6b6b6b"
PALETTE = (BLUE, ORANGE, GREEN, RED, "#7a5195", "#8c6d31")


def panels(count: int = 1, *, width: float = 5.2, height: float = 3.9, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels side by side."""
    figure = Figure(figsize=(width * count, height), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, count, **shared)))
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
            step.isel(seed=i), values.isel(seed=i), color=color, label=label if i == 0 else None, alpha=0.8,
            linewidth=1.3, **style,
        )  # fmt: skip


def heat(ax: Axes, rates: np.ndarray, x: Sequence[str], y: Sequence[str]) -> Any:
    """Success rates [x, y] as a grey map, black 0 and white 1."""
    ax.grid(False)
    image = ax.imshow(rates.T, cmap="gray", vmin=0, vmax=1, origin="lower", aspect="auto")
    ax.set_xticks(range(len(x)), x, fontsize=8)
    ax.set_yticks(range(len(y)), y)
    return image
