"""What the tests of graphs count by themselves: distances by powers of the adjacency, margins by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.theories.graph_transformer.graphs import draw_graph
from lemmata.theories.graph_transformer.graphs.cycle import cluster_margins
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting

LISTED = {
    "+-+-": (-2, 2),
    "++--++--": (0, -1, 0, 1),
    "++--++--++--": (0, -1, 0, 2, 0, -1),
    "++++-+-+----": (0, 5 / 3, -2 / 3, -2 / 3, 0, -1 / 3),
    "+++---+++---": (2 / 3, 1 / 3, -2, -2 / 3, 2 / 3, 1),
    "+-+-+-+-": (-2, 3, -2, 1),
}
"""Mean margins of the listed sequences in units of u, the node itself not left out (2.4, 3.9)."""
CORES = {"+-+-": 2, "++--++--": 4, "++--++--++--": 4, "++++-+-+----": 2, "+++---+++---": 6, "+-+-+-+-": 2}
SMALL: dict[str, Any] = {"nodes": 200, "degree": 24, "labelled": 60, "batch": 20}


def distances(adjacency: np.ndarray) -> np.ndarray:
    """Shortest paths; one more than the number of nodes where there is none."""
    nodes = len(adjacency)
    found = np.where(np.eye(nodes, dtype=bool), 0, nodes + 1)
    reached, front = np.eye(nodes, dtype=bool), np.eye(nodes, dtype=bool)
    for z in range(1, nodes):
        front = (front.astype(np.float32) @ adjacency.astype(np.float32) > 0) & ~reached
        if not front.any():
            break
        found[front], reached = z, reached | front
    return found


def margins(drawn: Drawn, label: np.ndarray | None = None, far: int = 8) -> np.ndarray:
    """Δ_n(z), z = 0 .. far - 1, by counting."""
    label = drawn.label if label is None else label
    distance = distances(drawn.adjacency)
    sign = np.where(drawn.pattern == 0, 1, np.where(drawn.pattern == 1, -1, 0))
    return np.stack([label * ((distance == z) @ sign) for z in range(far)], axis=1)


def simple(adjacency: np.ndarray) -> bool:
    return bool((adjacency == adjacency.T).all() and not adjacency.diagonal().any())


def own_counts(drawn: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of every node with the pattern of its label, and with the other discriminative one."""
    own = (1 - drawn.label) // 2
    by_pattern = np.stack([drawn.adjacency[:, drawn.pattern == j].sum(axis=1) for j in (0, 1)], axis=1)
    nodes = np.arange(len(own))
    return by_pattern[nodes, own], by_pattern[nodes, 1 - own]


def graph_of(seed: int = 0, **given: Any) -> Drawn:
    return draw_graph(Setting(**given), seed)


def expected_margins(
    signs: Int[np.ndarray, " clusters"], marked: int, per_cluster: int
) -> Float[np.ndarray, " distance"]:
    """Δ̄(z), z = 1 .. C/2, exact for p = 1: the node itself is missing from its own cluster."""
    mean = marked * cluster_margins(signs).mean(axis=1)
    mean[1] -= marked / per_cluster
    return mean
