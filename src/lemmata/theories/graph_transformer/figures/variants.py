"""Other samplers, initial weights and models on the chapter's graph."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from lemmata.lab.figures import BLUE, ORANGE, PALETTE, PREDICTED, colour, dodge, labels_of, panels, strip
from lemmata.lab.measures import at_end
from lemmata.theories.graph_transformer.figures.common import end_words, legend, over_time, path, up_to


def variants(data: xr.Dataset) -> Figure:
    """Test losses along training, and losses of all and of other nodes at the end."""
    figure, axes = panels(2, height=4.8)
    cases = labels_of(data, "case")
    for i, case in enumerate(cases):
        part = data.sel(case=case)
        path(axes[0], part, part.loss, case, colour(i), linestyle="-" if i < len(PALETTE) else "--")
    over_time(axes[0], data)
    axes[0].set_ylabel("test loss (hinge, sampled)")
    up_to(axes[0], 1.15)
    kinds = (("loss", "all nodes", BLUE), ("other_loss", "nodes that are not discriminative", ORANGE))
    for shift, (name, label, color) in zip(dodge(2, 0.5), kinds, strict=True):
        for i, case in enumerate(cases):
            values = at_end(data[name].sel(case=case))
            strip(axes[1], i + shift, values, color, label if i == 0 else None, sideways=True)
    axes[1].set_yticks(range(len(cases)), cases, fontsize=8)
    axes[1].set_ylabel("what differs")
    axes[1].invert_yaxis()
    axes[1].set_xlabel(f"test loss {end_words(data)}")
    axes[1].axvline(0.0, label="document: 0 without flipped labels", **PREDICTED)
    axes[1].set_xlim(-0.05, 1.15)
    legend(axes[0])
    legend(axes[1])
    return figure
