"""Whole graphs are classified with the encoding, and without it no better than by counting (P21)."""

from __future__ import annotations

import xarray as xr

import lemmata as lm


@lm.evidence("p21-graph")
def accuracy(data: xr.Dataset, train_encoding: int, beyond_counting: bool = False) -> xr.DataArray:
    """Accuracy at the end of training, or how far it exceeds that of counting on the same graphs."""
    data = lm.cells(data, train_encoding=train_encoding)
    end = lm.at_end(data.accuracy)
    return end - data.counting_accuracy if beyond_counting else end


CLAIMS = (
    lm.Claim(
        "p21-graph-pe",
        "(B.224)",
        "comparison",
        "Whole graphs are classified with the encoding: accuracy at least .95.",
        accuracy(1),
        lm.at_least(0.95, "clear"),
        lm.Control("without the encoding", train_encoding=0),
    ),
    lm.Claim(
        "p21-graph-without",
        "(B.224)",
        "comparison",
        "Without it nothing is learned beyond counting the patterns: accuracy at most that of counting plus .05.",
        accuracy(0, beyond_counting=True),
        lm.at_most(0.05, "clear"),
        lm.Control("with the encoding", train_encoding=1),
        source="derived",
    ),
)
