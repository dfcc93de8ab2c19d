"""The extensions (P21): GAT."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata import figures as draw

SCORES = {
    "G1, dot": "chapter's graph, margin +\nproducts",
    "G1, additive": "chapter's graph, margin +\nadditive scores",
    "+-+-, dot": "cycle +-+-, margin −\nproducts",
    "+-+-, additive": "cycle +-+-, margin −\nadditive scores",
    "++--++--, dot": "cycle ++--++--, margin 0\nproducts",
    "++--++--, additive": "cycle ++--++--, margin 0\nadditive scores",
    "++--++--, z=4": "the same at distance 4\nproducts",
}
"""The graph with the sign of its margin at distance 1, to whose nodes a GAT attends, and how it scores them."""


def gat(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Losses and accuracy at the end by graph and kind of scores, each with the level that one of the graphs claims."""
    figure, axes = draw.panels(3, width=3.55, height=5.1, sharey=True)
    for ax, name, claim, judged, title, x in zip(
        axes,
        ("loss", "other_loss", "accuracy"),
        ("p21-gat-near", "p21-gat-zero-margin", "p21-gat-opposite"),
        ("G1, dot", "++--++--, dot", "+-+-, dot"),
        (
            "paper: small where the\nmargin at distance 1 is positive",
            "paper: chance where it is zero",
            "corrected: a negative margin\nis as good as a positive one",
        ),
        ("test loss at the end", "test loss of other nodes at the end", "test accuracy at the end"),
        strict=True,
    ):
        runs = lm.at_end(lm.cells(data, variant=list(SCORES))[name])
        draw.groups(ax, runs, "variant", words=SCORES, sideways=True)
        draw.claimed(ax, claims[claim], across=True, at=list(SCORES).index(judged))
        ax.set_xlim(-0.05, 1.3 if name != "accuracy" else 1.05)
        draw.finish(ax, title, "", x, legend=1)
    axes[0].invert_yaxis()
    return figure
