"""The figure of a diagnosis: margins with intervals and null bands, core distances, and the sizes of shells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lemmata.theories.graph_transformer.diagnose.quantities import Quantities


def draw(source: str, measured: Quantities) -> Figure:
    """Margins with intervals and null bands, by counts and normalised, with core distances; and the sizes of shells."""
    from matplotlib.ticker import MaxNLocator

    from lemmata import figures

    table, facts = measured.table, measured.facts
    figure, axes = figures.panels(3, width=4.9, height=4.3)
    z = table.distance.values
    kinds = (
        ("margin", measured.core, figures.BLUE, r"mean winning margin $\bar\Delta(z)$ (nodes)"),
        ("normalised", measured.normalised_core, figures.ORANGE, r"normalised margin (share of the shell)"),
    )
    # distances that hardly any node reaches would set the scale
    shown = np.isfinite(table.normalised_null.values)
    for ax, (name, core, color, label) in zip(axes, kinds, strict=False):
        mean, low, high = (table[name + end].values for end in ("", "_low", "_high"))
        band = table[f"{name}_null_low"], table[f"{name}_null_high"]
        ax.fill_between(z, *band, color=figures.GREY, alpha=0.3, linewidth=0, label="null band: labels permuted")
        known = shown & np.isfinite(low)
        ends = np.stack([mean - low, high - mean])[:, known]
        ax.errorbar(z[known], mean[known], ends, color=color, linestyle="none", capsize=2.5, linewidth=1)
        ax.plot(z[shown], mean[shown], "o-", color=color, markersize=4.5, label="mean over nodes, 95 % interval")
        ax.axhline(0, color="black", linewidth=0.7)
        ax.axvline(core.distance, color="black", linestyle=":", linewidth=1.2, label=f"core distance {core.distance}")
        ax.set_ylabel(label)
    axes[2].bar(z, table.shell_size, color=figures.GREEN, alpha=0.75, label="mean size")
    axes[2].plot(z, table.largest_shell, ".", color=figures.GREY, label="largest")
    axes[2].set_yscale("log")
    axes[2].set_ylabel("nodes in the shell")
    titles = ("which distances vote for the label", "the same as a share of the shell", "how large shells are")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_xlim(0.4, z[-1] + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        figures.finish(ax, title, x="distance $z$", legend=1)
    homophily = f"adjusted homophily {facts['adjusted_homophily']:.2f}"
    figure.suptitle(f"{source}: {facts['nodes']} nodes, {facts['classes']} classes, {homophily}", fontsize=10)
    return figure
