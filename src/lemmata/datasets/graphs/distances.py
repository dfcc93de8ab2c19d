"""Shortest-path distances, truncated, by breadth-first search from many nodes at once.

A word of 64 bits per node holds which of 64 searches have arrived there. A level of all of them is one pass over the
edges of the nodes that some search may reach now: a node is reached by the searches that have reached a neighbour. For
PubMed (19,717 nodes, distances up to 20) that is a few seconds, where a search per node takes minutes. Memory is one
byte per pair, and blocks of sources never hold more than a block: no dense matrix at all is needed, and none is made
beyond `LARGEST_TABLE` nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int, UInt8

from lemmata.datasets.graphs.graph import Graph
from lemmata.lab.errors import UserError

LARGEST_TABLE = 20_000
WORDS = 8
"""Words of 64 searches that one block of sources takes side by side."""


def distance_blocks(
    graph: Graph, cap: int, sources: Int[np.ndarray, " sources"] | None = None
) -> Iterator[tuple[Int[np.ndarray, " block"], UInt8[np.ndarray, "block nodes"]]]:
    """Blocks of sources with min(distance, cap) to every node; `cap` also stands for nodes that cannot be reached."""
    assert 1 <= cap <= 255, cap
    adjacency = graph.adjacency
    sources = np.arange(graph.nodes) if sources is None else sources
    for first in range(0, len(sources), 64 * WORDS):
        block = sources[first : first + 64 * WORDS]
        which = np.arange(len(block))
        word, bit = which // 64, np.uint64(1) << (which % 64).astype(np.uint64)
        seen = np.zeros((graph.nodes, word[-1] + 1), np.uint64)
        np.bitwise_or.at(seen, (block, word), bit)
        everyone = np.bitwise_or.reduce(seen, axis=0)
        front = seen.copy()
        distances = np.zeros((graph.nodes, len(block)), np.uint8)
        for _ in range(cap):
            missing = _unpacked(~seen, len(block))
            if not front.any():
                distances[missing.view(bool)] = cap
                break
            distances += missing
            near = adjacency @ front.any(axis=1) > 0
            open_rows = np.flatnonzero(near & (seen != everyone).any(axis=1))
            links = adjacency[open_rows]
            arrived = np.zeros_like(seen)
            if len(open_rows):
                beside = front.take(links.indices, axis=0)
                arrived[open_rows] = np.bitwise_or.reduceat(beside, links.indptr[:-1], axis=0)
            front = arrived & ~seen
            seen |= front
        yield block, _turned(distances)


def _turned(table: UInt8[np.ndarray, "nodes count"]) -> UInt8[np.ndarray, "count nodes"]:
    """Rows as columns, a few thousand at a time, which the processor's cache can hold."""
    turned = np.empty(table.shape[::-1], table.dtype)
    for first in range(0, len(table), 4096):
        turned[:, first : first + 4096] = table[first : first + 4096].T
    return turned


def _unpacked(words: np.ndarray, count: int) -> UInt8[np.ndarray, "nodes count"]:
    """The first `count` bits of every row, as 0 and 1."""
    little = words.astype("<u8", copy=False)
    return np.unpackbits(little.view(np.uint8), axis=1, count=count, bitorder="little")


def distance_table(graph: Graph, cap: int) -> UInt8[np.ndarray, "nodes nodes"]:
    """min(distance, cap) of every pair of nodes."""
    if graph.nodes > LARGEST_TABLE:
        raise UserError(
            f"{graph.source} has {graph.nodes} nodes; a table of all distances is made for at most {LARGEST_TABLE}."
        )
    table = np.empty((graph.nodes, graph.nodes), np.uint8)
    for block, distances in distance_blocks(graph, cap):
        table[block] = distances
    return table
