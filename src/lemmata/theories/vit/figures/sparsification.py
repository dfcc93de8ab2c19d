"""Token sparsification (Figure 2.5)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PREDICTED,
    curve,
    from_zero,
    panels,
)

# what is dropped first: words, colour, marker
STRATEGIES = {
    "random": ("at random", BLUE, "o"),
    "irrelevant": ("label-irrelevant first", GREEN, "s"),
    "nondiscriminative": ("non-discriminative first", PALETTE[5], "D"),
    "noisy": ("noisiest first", ORANGE, "^"),
    "attention": ("least attended first", PALETTE[4], "v"),
    "relevant": ("relevant first (control)", GREY, "x"),
}


def sparsification(data: xr.Dataset) -> Figure:
    """Test loss against the fraction of removed tokens by strategy, and what the removal does to the data."""
    figure, axes = panels(3, width=4.9, height=4.2)
    data = data.sortby("keep", ascending=False)
    removed = 1 - data.keep.values
    for strategy in map(str, data.strategy.values):
        words, color, marker = STRATEGIES[strategy]
        line = ":" if strategy == "relevant" else "-"
        part = data.sel(strategy=strategy)
        for ax, name in zip(axes, ("test_hinge", "relevant_share", "noise_norm"), strict=True):
            curve(ax, part[name], removed, words, color, marker=marker, linestyle=line, markersize=5)
        confusion = part.confusion_share.mean("seed")
        axes[1].plot(removed, confusion, color=color, linewidth=1, marker=marker, markersize=3, linestyle=line)
    left, middle, right = axes
    if data.keep.values[0] == 1:
        whole = float(data.test_hinge.isel(keep=0, strategy=0).mean("seed"))
        left.axhline(whole, label="paper: random stays flat", **PREDICTED)
        below = "paper: irrelevant and noisy fall"
        left.axhspan(0, whole, color="black", alpha=0.07, linewidth=0, label=below)
    left.set_ylabel("test hinge loss")
    left.set_title("test loss, seeds and mean (Figure 2.5)", fontsize=10)
    middle.set_ylabel(r"fractions $\alpha_*$ (upper curves), $\alpha_\#$ (lower)")
    middle.set_title(r"paper: irrelevant raises $\alpha_*$", fontsize=10)
    right.set_ylabel(r"largest noise of a kept token, $\tau$")
    right.set_title(r"paper: noisy lowers $\tau$", fontsize=10)
    for ax in axes:
        from_zero(ax)
        ax.set_xticks(removed, [f"{share:g}" for share in removed.round(9)])
        ax.set_xlabel("fraction of removed tokens")
    middle.set_ylim(0, 1.05)
    entries = left.get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure
