"""The setting of whole graphs: how many, how their layers are drawn, and how their nodes are read out."""

from __future__ import annotations

from collections.abc import Iterator

import lemmata as lm
from lemmata.theories.graph_transformer.setting import NetworkSetting

LAYER, LAYERS, MAJORITY = 8, 3, 7
"""Nodes of a layer, layers around the root, and how many of a discriminative layer carry its majority's pattern."""
NODES = 1 + LAYER * LAYERS


class GraphSetting(NetworkSetting):
    """Defaults: the reference task of 3.8."""

    neurons: int = lm.number(100, "m", "width of the hidden layer", low=1, integer=True)
    patterns: int = lm.size(10, "M", "number of patterns; the third marks the root", low=4)
    step_size: float = lm.number(0.5, "η", "step size", low=0)
    steps: int = lm.number(400, "T", "training steps", low=1, integer=True)
    record_every: int = lm.number(20, "", "steps between records", low=1, integer=True)
    records: int = lm.size(21, "", "room for records", low=2)
    samples: int = lm.size(400, "", "training graphs", low=2)
    test_samples: int = lm.size(200, "", "test graphs", low=2)
    batch: int = lm.size(40, "B", "graphs of a step")
    readout: str = lm.choice("mean", "K of (B.224)", "mean", "sum")
    layer_balance: str = lm.choice(
        "independent", "majority of the other discriminative layer: a coin, or opposite", "independent", "strict"
    )

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        yield from self.exceeding("batch", "samples", ["batch"])

    @lm.derived
    def readout_factor(self) -> int:
        """K |T|."""
        return NODES ** (self.readout == "sum")
