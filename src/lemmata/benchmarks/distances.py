"""Truncated distances of a graph of PubMed's size against SciPy's breadth-first search from every node.

A user would call `scipy.sparse.csgraph.shortest_path(unweighted=True)`, whose full result is a float matrix of 3 GB
here; it is therefore timed on some sources and scaled up.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np

from lemmata.datasets.graphs.distances import distance_table
from lemmata.datasets.graphs.graph import Graph, make_graph

NODES, EDGES, CAP = 19_717, 44_324, 20
SOURCES = 400
"""Sources from which SciPy searches."""


def random_graph(nodes: int, edges: int) -> Graph:
    """Edges that prefer nodes of large degree, as citations do."""
    draws = np.random.default_rng(0)
    weight = 1 / np.arange(1, nodes + 1) ** 0.5
    ends = draws.choice(nodes, (edges, 2), p=weight / weight.sum())
    return make_graph(ends, None, np.zeros(nodes, int), "random graph")


def distances(quiet: bool = False) -> list[dict[str, Any]]:
    """Seconds of both, their ratio, and the memory that ours allocates at its peak."""
    from scipy.sparse.csgraph import shortest_path

    graph = random_graph(NODES, EDGES)
    sources = np.linspace(0, NODES - 1, SOURCES).astype(int)
    began = time.perf_counter()
    table = distance_table(graph, CAP)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    theirs = shortest_path(graph.adjacency, unweighted=True, indices=sources)
    scipy = (time.perf_counter() - began) * NODES / SOURCES
    assert np.array_equal(table[sources], np.minimum(theirs, CAP)), "the distances differ"
    del table
    tracemalloc.start()
    distance_table(graph, CAP)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    row = {"nodes": NODES, "edges": len(graph.edges), "seconds": {"lemmata": ours, "scipy": scipy},
           "ratio": scipy / ours, "peak_MiB": peak}  # fmt: skip
    if not quiet:
        print(
            f"distances up to {CAP} between {NODES} nodes, {len(graph.edges)} edges: {ours:.1f} s, {peak:.0f} MiB at "
            f"the peak; SciPy's search {scipy:.0f} s (scaled up from {SOURCES} nodes): {scipy / ours:.1f} times as long"
        )
    return [row]
