"""Winning margins and the core distance (Definition 3.4.1, probes 1 and 13), on any graph and any number of classes.

Everything is read off the shells of a node: how many nodes, and how many discriminative nodes of every class, lie at
each distance from it. Shells are counted block by block, so that no table of distances is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt8

from lemmata.datasets.graphs.distances import distance_blocks
from lemmata.datasets.graphs.graph import Graph

Blocks = Iterable[tuple[Int[np.ndarray, " block"], UInt8[np.ndarray, "block nodes"]]]
"""Roots with their distances to every node, as `distance_blocks` gives them."""
PAIRS = 16_000_000
"""Pairs of nodes that are held at once."""
ALL_ROOTS, SOME_ROOTS = 20_000, 2_000
"""Up to so many nodes the margins of a graph are measured from all of them, beyond it from a sample."""


class Shells(NamedTuple):
    """The shells of some roots; the last distance holds all nodes that are farther or cannot be reached."""

    root: Int[np.ndarray, " root"]
    size: Int[np.ndarray, "root distance"]
    members: Int[np.ndarray, "root distance group"]

    def lumped(self, bins: int) -> Shells:
        """The same with distances from bins - 1 on as one shell, which is what the encoding's last bin sees."""

        def tail(counts: np.ndarray) -> np.ndarray:
            return np.concatenate([counts[:, : bins - 1], counts[:, bins - 1 :].sum(axis=1, keepdims=True)], axis=1)

        return Shells(self.root, tail(self.size), tail(self.members))


def count_shells(blocks: Blocks, group: Int[np.ndarray, " nodes"], groups: int, cap: int) -> Shells:
    """Count the nodes of every group (-1: of none) at distances 0 .. cap from the roots of the blocks."""
    counted = []
    for root, distances in blocks:
        kinds = groups + 1
        code = (distances.astype(np.int32) * kinds + (group + 1).astype(np.int32)).ravel()
        code += np.repeat(np.arange(len(root), dtype=np.int32) * ((cap + 1) * kinds), distances.shape[1])
        counts = np.bincount(code, minlength=len(root) * (cap + 1) * kinds).reshape(len(root), cap + 1, kinds)
        counted.append((root, counts.sum(axis=2), counts[:, :, 1:]))
    return Shells(*(np.concatenate(part) for part in zip(*counted, strict=True)))


def choose_roots(graph: Graph, sources: int | None, seed: int) -> Int[np.ndarray, " root"]:
    """The labelled nodes to measure from: all of them, or a uniform sample."""
    labelled = np.flatnonzero(graph.labels >= 0)
    if sources is None:
        sources = len(labelled) if graph.nodes <= ALL_ROOTS else SOME_ROOTS
    if sources >= len(labelled):
        return labelled
    return np.sort(np.random.default_rng(seed).choice(labelled, sources, replace=False))


def shells_from(
    graph: Graph,
    group: np.ndarray,
    cap: int,
    roots: np.ndarray,
    groups: int | None = None,
    tell: Callable[[float], None] = lambda share: None,
) -> Shells:
    """The shells of these roots of any graph, a bounded number of pairs at a time; as many groups as classes."""
    rows = max(1, PAIRS // graph.nodes)

    def told() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        done = 0
        for root, distances in distance_blocks(graph, cap, roots):
            for first in range(0, len(root), rows):
                yield root[first : first + rows], distances[first : first + rows]
            done += len(root)
            tell(done / len(roots))

    return count_shells(told(), group, groups or graph.classes, cap)


def winning_margins(
    shells: Shells, label: Int[np.ndarray, " nodes"]
) -> tuple[Float[np.ndarray, "root distance"], Float[np.ndarray, "root distance"]]:
    """Δ_n(z) of every root, and Δ_n(z)/|N_z^n|, NaN where the shell is empty.

    Δ_n(z) is the number of discriminative nodes of the root's class at distance z less the mean number of those of the
    other classes; with two classes that is Definition 3.4.1.
    """
    own = np.take_along_axis(shells.members, label[shells.root][:, None, None], axis=2)[:, :, 0]
    others = shells.members.sum(axis=2) - own
    delta = own - others / max(shells.members.shape[2] - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return delta, np.where(shells.size > 0, delta / shells.size, np.nan)


def mean_margins(delta: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Δ̄(z) over all roots, and the normalised one over the roots whose shell is not empty; 0 where all are."""
    known = np.isfinite(share)
    return delta.mean(axis=0), np.where(known, share, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def core_distance(mean: Float[np.ndarray, " distance"], bins: int) -> int:
    """z_m, the distance from 1 to Z - 1 with the largest mean margin (the first one where several share it)."""
    return 1 + int(np.argmax(mean[1:bins]))
