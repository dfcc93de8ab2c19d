"""The figure of a diagnosis: what each arm gains, the margins with intervals and null band, the sizes of shells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lemmata.theories.graph_transformer.diagnose.reading import tried
from lemmata.theories.graph_transformer.diagnose.trial import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lemmata.theories.graph_transformer.diagnose.quantities import Quantities


def draw(source: str, measured: Quantities, trial: Trial | None) -> Figure:
    """Gains of the arms on features alone; normalised margins; shells."""
    from matplotlib.ticker import MaxNLocator

    from lemmata import figures

    table, facts = measured.table, measured.facts
    figure, axes = figures.panels(3, width=5.2, height=4.5)
    _gains(axes[0], trial)
    z = table.distance.values
    # distances at which hardly any node has a labelled one would set the scale
    shown = np.isfinite(table.normalised_null.values)
    mean, low, high = (table[f"normalised{end}"].values for end in ("", "_low", "_high"))
    band = table.normalised_null_low, table.normalised_null_high
    axes[1].fill_between(z, *band, color=figures.GREY, alpha=0.3, linewidth=0, label="null band: labels permuted")
    known = shown & np.isfinite(low)
    ends = np.stack([mean - low, high - mean])[:, known]
    axes[1].errorbar(z[known], mean[known], ends, color=figures.ORANGE, linestyle="none", capsize=2.5, linewidth=1)
    axes[1].plot(z[shown], mean[shown], "o-", color=figures.ORANGE, markersize=4.5, label="mean, 95 % interval")
    axes[1].axhline(0, color="black", linewidth=0.7)
    axes[2].bar(z, table.shell_size, color=figures.GREEN, alpha=0.75, label="mean size")
    axes[2].plot(z, table.largest_shell, ".", color=figures.GREY, label="largest")
    if table.shell_size.values.any():
        axes[2].set_yscale("log")
    titles = ("the theory: do labels around a node agree?", "how large shells are")
    heights = ("winning margin / labelled nodes there", "nodes at the distance")
    for ax, title, y in zip(axes[1:], titles, heights, strict=True):
        ax.set_xlim(0.4, z[-1] + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        figures.finish(ax, title, y, "distance $z$", legend=1)
    figure.suptitle(f"{source}: {facts['nodes']} nodes, {facts['labelled']} labelled, {facts['classes']} classes")
    return figure


def _gains(ax: Axes, trial: Trial | None) -> None:
    """A line an arm, the first on top."""
    from matplotlib.ticker import MaxNLocator

    from lemmata import figures

    if trial is None:
        ax.text(0.5, 0.5, "too few labelled nodes to try", ha="center", transform=ax.transAxes)
        figures.finish(ax, "measured: what using the graph gains")
        return
    rows = tried(trial)[1:]
    place = -np.arange(len(rows))
    value, low, high = (np.array([row[name] for row in rows]) for name in ("gain", "gain_low", "gain_high"))
    color = [figures.BLUE if a > 0 else figures.RED if b < 0 else figures.GREY for a, b in zip(low, high, strict=True)]
    ax.hlines(place, low, high, colors=color, linewidth=2)
    ax.scatter(value, place, c=color, s=22, zorder=3)
    ax.axvline(0, color="black", linewidth=0.7)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_yticks(place, [row["arm"] for row in rows], fontsize=7)
    unit = "AUC" if trial.unit != "accuracy" else trial.unit
    score = f"{trial.score(trial.arms[0]):.3f}"
    figures.finish(ax, "measured: what using the graph gains", x=f"{unit} less that of features alone ({score})")
