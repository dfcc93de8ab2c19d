"""The extensions (P21): absolute encodings, GAT."""

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


def encodings(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Accuracy at the end on other nodes of structures that were never labelled, by encoding and control."""
    figure, (ax,) = draw.panels(1, width=7.0, height=4.4)
    draw.groups(ax, data.final_other_accuracy, "variant", label="every seed", sideways=True)
    draw.claimed(ax, claims["p21-laplacian"], words="claimed of Laplacian eigenvectors", across=True)
    draw.claimed(ax, claims["p21-laplacian-zeroed"], words="claimed of them zeroed", across=True)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.05)
    title = "paper: other absolute encodings carry the label as well"
    draw.finish(ax, title, "encoding, and what is done to it", "accuracy on held-out other nodes at the end", legend=1)
    return figure


def gat(data: xr.Dataset, claims: Mapping[str, lm.Claim]) -> Figure:
    """Losses and accuracy at the end by graph and kind of scores, each with the level that one of the graphs claims."""
    figure, axes = draw.panels(3, width=3.55, height=5.1, sharey=True)
    for ax, name, claim, words, title, x in zip(
        axes,
        ("loss", "other_loss", "accuracy"),
        ("p21-gat-near", "p21-gat-zero-margin", "p21-gat-opposite"),
        ("claimed, chapter's graph", "claimed, ++--++--", "claimed, +-+-"),
        (
            "paper: small where the\nmargin at distance 1 is positive",
            "paper: chance where it is zero",
            "corrected: a negative margin\nis as good as a positive one",
        ),
        ("test loss at the end", "test loss of other nodes at the end", "test accuracy at the end"),
        strict=True,
    ):
        known = draw.present(data, "variant", list(SCORES))
        draw.groups(ax, lm.at_end(data[name].sel(variant=known)), "variant", words=SCORES, sideways=True)
        draw.claimed(ax, claims[claim], words=words, across=True)
        ax.set_xlim(-0.05, 1.3 if name != "accuracy" else 1.05)
        draw.finish(ax, title, "", x, legend=1)
    axes[0].invert_yaxis()
    return figure
