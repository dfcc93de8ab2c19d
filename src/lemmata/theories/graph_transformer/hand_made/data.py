"""The node of Figure 3.2, five neighbours at distance 1 and more at distance 2, and its winning margins by counting."""

from typing import Any

import numpy as np

import lemmata as lm
from lemmata.datasets.graphs.distances import distance_blocks
from lemmata.datasets.graphs.graph import make_graph
from lemmata.theories.graph_transformer.margins import count_shells, winning_margins

PATTERN = np.array([2, 0, 1, 1, 1, 0, 0, 0, 0, 1])
"""Patterns from 0: the node, at distance 1 one μ_1 and three μ_2, at distance 2 four μ_1 and one μ_2."""
EDGES = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 5], [2, 6], [3, 7], [4, 8], [4, 9]])


class HandSetting(lm.Setting):
    """The hand-made graph; its node's label is +1, or -1 for the control."""

    label: int = lm.choice(1, "label of the node", 1, -1, symbol="y_n")


@lm.simulation(lm.Variable("margin", ("distance",), "Δ_n(z)", "winning margin at distances 0, 1, 2"), host=True)
def count_margins(setting: HandSetting, seed: int) -> dict[str, Any]:
    """Δ_n(z) by breadth-first search and counting."""
    classes = np.full(len(PATTERN), (1 - setting.label) // 2)
    graph = make_graph(EDGES, None, classes, "hand-made graph")
    group = np.where(PATTERN < 2, PATTERN, -1)
    shells = count_shells(distance_blocks(graph, 3, np.array([0])), group, 2, 3)
    return {"margin": winning_margins(shells, classes)[0][0, :3].astype(np.float32)}
