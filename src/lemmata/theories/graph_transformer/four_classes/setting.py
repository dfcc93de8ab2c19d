"""The setting of four classes: a cluster cycle with two sign sequences, and the loss of both networks."""

from __future__ import annotations

from collections.abc import Iterator

import lemmata as lm
from lemmata.theories.graph_transformer.setting import SEQUENCES, NetworkSetting


class FourSetting(NetworkSetting):
    """Defaults: the reference task of 3.9."""

    nodes: int = lm.size(480, "N", "number of nodes")
    patterns: int = lm.size(12, "M", "number of patterns; the first four decide the label", low=5)
    neurons: int = lm.number(200, "m", "width of the hidden layer of each network", low=1, integer=True)
    bins: int = lm.number(5, "Z", "bins of the distance encoding", low=2, high=200, integer=True)
    discriminative: float = lm.number(
        0.4, "γ_d", "fraction of nodes with a discriminative pattern", low=0, high=1, open_ends="low high"
    )
    first: str = lm.choice("++--++--", "first coordinate of the clusters' labels", *SEQUENCES)
    second: str = lm.choice("+-+-+-+-", "second coordinate of the clusters' labels", *SEQUENCES)
    labelled: int = lm.number(240, "|L|", "labelled nodes", low=1, integer=True)
    batch: int = lm.size(50, "B", "nodes of a step")
    sample: int = lm.size(40, "|S|", "nodes that are drawn from the whole graph")
    steps: int = lm.number(1000, "T", "training steps", low=1, integer=True)
    record_every: int = lm.number(50, "", "steps between records", low=1, integer=True)
    records: int = lm.size(21, "", "room for records", low=2)
    loss: str = lm.choice(
        "coordinates", "training loss: of each coordinate, or joint as printed", "coordinates", "joint"
    )
    defect: str = lm.choice("none", "a deliberate break, for controls", "none", "distances")

    @lm.derived
    def joint(self) -> bool:
        return self.loss == "joint"

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if len(self.first) != len(self.second):
            yield f"first = {self.first} and second = {self.second} must be labels of the same clusters."
        elif self.nodes % len(self.first):
            yield f"nodes = {self.nodes} is not allowed: it must be a multiple of the {len(self.first)} clusters."
        if self.labelled >= self.nodes:
            yield f"labelled = {self.labelled} is not allowed: there are {self.nodes} nodes, some for the test."
        yield from self.exceeding("batch", "labelled", ["batch"])
