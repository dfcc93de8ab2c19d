"""Token sparsification (Figure 2.5)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata import figures as draw


def sparsification(data: xr.Dataset) -> Figure:
    """Test loss against the fraction of removed tokens by strategy, and what the removal does to the data."""
    figure, axes = draw.panels(3, width=4.9, height=4.2)
    data = data.sortby("keep", ascending=False)
    removed = (1 - data.keep.values).round(9)
    panels = (
        ("test_hinge", "test loss (Figure 2.5)", "test hinge loss"),
        ("relevant_share", r"paper: irrelevant raises $\alpha_*$", r"fraction of label-relevant tokens $\alpha_*$"),
        ("noise_norm", r"paper: noisy lowers $\tau$", r"largest noise of a kept token, $\tau$"),
    )
    for ax, (name, title, y) in zip(axes, panels, strict=True):
        draw.curves(ax, data[name], "keep", "strategy", "{} dropped first", x=removed)
        if name == "test_hinge" and data.keep.values[0] == 1:
            whole = float(data.test_hinge.isel(keep=0, strategy=0).mean("seed"))
            draw.predicted(ax, whole, "paper: random stays here, irrelevant and noisy fall")
        draw.from_zero(ax, 1.05 if name == "relevant_share" else 0.0)
        ax.set_xticks(removed, [f"{share:g}" for share in removed])
        draw.finish(ax, title, y, "fraction of removed tokens")
    return figure
