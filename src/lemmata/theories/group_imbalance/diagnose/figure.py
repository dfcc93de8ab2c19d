"""The figure of the diagnosis: risks along the learning curve, one more row of a group, predicted against measured."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures
from lemmata.theories.group_imbalance.diagnose.check import Check
from lemmata.theories.group_imbalance.diagnose.columns import Columns
from lemmata.theories.group_imbalance.diagnose.prediction import Fitted, change


def draw(data: Columns, found: Check, at: Fitted, errors: np.ndarray) -> Figure:
    """Three panels: the learning curve, what one more row does, and the check."""
    figure, axes = figures.panels(3, width=5.2, height=4.5)
    _curve(axes[0], data, found)
    _one_more(axes[1], data, at, errors)
    _agreement(axes[2], data, found)
    figure.suptitle(f"{data.source}: {len(data.y)} rows, {len(data.groups)} groups, {data.x.shape[1]} inputs")
    return figure


def _colors(count: int) -> list[str]:
    return [figures.look(i).color for i in range(count)]


def _bars(ends: list[lm.Estimate]) -> tuple[np.ndarray, np.ndarray]:
    """The values of intervals, and how far they reach below and above."""
    low, value, high = (np.array([getattr(end, name) for end in ends]) for name in ("low", "value", "high"))
    return value, np.stack([value - low, high - value])


def _curve(ax: Axes, data: Columns, found: Check) -> None:
    """Held-out risk less that of the largest base, against rows; dashed: the theory's tr(F_l N⁻¹)/2, less the same."""
    for k, (name, color) in enumerate(zip(data.groups, _colors(len(data.groups)), strict=True)):
        relative = 1e3 * (found.risk - found.risk[:, -1:])[:, :, k]
        theory = 1e3 * (found.expected_excess - found.expected_excess[:, -1:])[:, :, k].mean(0)
        value, bars = _bars([found.interval(relative[:, s]) for s in range(len(found.rows) - 1)])
        known = found.rows[:-1] * (1 + 0.03 * k)
        ax.errorbar(known, value, bars, fmt="o", color=color, markersize=4, capsize=2.5, label=name)
        ax.plot(found.rows, theory, "--", color=color, linewidth=1)
    ax.axhline(0, color="black", linewidth=0.7)
    ax.set_xscale("log")
    last = f"{found.rows[-1]:.0f}"
    figures.finish(ax, "learning curve (dashed: theory)", f"log loss less that at {last} rows, ×10⁻³", "rows fitted")


def _one_more(ax: Axes, data: Columns, at: Fitted, errors: np.ndarray) -> None:
    """A line a pair: whose risk, when one more row of the coloured group is added."""
    groups = len(data.groups)
    for g, color in enumerate(_colors(groups)):
        found = change(at, g, 1.0)
        place = -np.arange(groups) + 0.6 * ((groups - 1) / 2 - g) / groups
        ax.errorbar(
            1e6 * found.both, place, xerr=1.96e6 * errors[:-1, g], fmt="o", color=color, markersize=4, capsize=2,
            label=f"one more of {data.groups[g]}",
        )  # fmt: skip
        ax.plot(1e6 * found.theory, place, "|", color=color, markersize=9)
    ax.axvline(0, color="black", linewidth=0.7)
    ax.set_yticks(-np.arange(groups), data.groups, fontsize=8)
    ax.set_xscale("symlog", linthresh=float(np.median(1e6 * np.abs(errors))) or 1.0)
    figures.finish(ax, "one more row (bar |: theory alone)", "risk of", "predicted change of log loss, ×10⁻⁶", legend=1)


def _agreement(ax: Axes, data: Columns, found: Check) -> None:
    """Measured against predicted change when a group's count is doubled, a point a pair of groups and size."""
    groups, marks = len(data.groups), "v^o"
    every = 1e3 * np.concatenate([found.measured.mean(0).ravel(), found.predicted.mean(0).ravel()])
    ends = np.array([every.min(), every.max()])
    small = float(np.median(np.abs(every))) or 1.0
    for g, color in enumerate(_colors(groups)):
        for s, rows in enumerate(found.rows):
            value, bars = _bars([found.interval(1e3 * found.measured[:, s, g, k]) for k in range(groups)])
            predicted = 1e3 * found.predicted[:, s, g, :-1].mean(0)
            ax.errorbar(predicted, value, bars, fmt=marks[s], color=color, markersize=4, capsize=2, linewidth=0.8,
                        label=f"{rows:.0f} rows" if g == 0 else None)  # fmt: skip
    ax.plot(ends, ends, color="black", linewidth=0.7)
    for scale in (ax.set_xscale, ax.set_yscale):
        scale("symlog", linthresh=small)
    figures.finish(
        ax, "a group's count doubled", "measured change, ×10⁻³", "predicted change of log loss, ×10⁻³", legend=1
    )
