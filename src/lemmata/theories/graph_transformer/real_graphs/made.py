"""Made graphs of two dozen kinds, on which the advice of `lemmata diagnose graph` is tested: with and without something
that the graph tells, in the features, the neighbours, the number of neighbours, or nowhere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lemmata.datasets.graphs import Graph, make_graph

NODES, GIVEN = 700, 220
"""Nodes, and how many of them have a label that is given."""
SIDE = 26
"""Of the grid."""


class Blocks(NamedTuple):
    """A stochastic block model with Gaussian features around a mean for each class."""

    within: float = 1.0
    """Weight of an edge inside a class against one between two."""
    length: float = 1.3
    """Of the class means."""
    classes: int = 3
    width: int = 10
    degree: int = 6
    given: int = GIVEN
    nodes: int = NODES
    rare: float | None = None
    """Share of the second class."""


FEW, TINY = (
    {"degree": 8, "given": 36},
    {"classes": 2, "length": 1.0, "width": 5, "degree": 4, "given": 30, "nodes": 130},
)
RARE, BARE = {"classes": 2, "given": 300, "rare": 0.08}, {"classes": 2, "width": 0, "degree": 8, "given": 350}
BLOCKS = {
    "homophily": Blocks(4.0),
    "weak homophily": Blocks(1.8),
    "heterophily": Blocks(0.15),
    "features decide": Blocks(length=2.0),
    "many features": Blocks(length=3.0, classes=4, width=120, degree=4),
    "no signal": Blocks(length=0.0),
    "useless features": Blocks(5.0, 0.0, classes=2, degree=8),
    "no features": Blocks(4.0, **BARE),
    "no features, no signal": Blocks(**BARE),
    "rare class": Blocks(10.0, **RARE),
    "rare class, no signal": Blocks(**RARE),
    "36 labels": Blocks(5.0, **FEW),
    "36 labels, no signal": Blocks(**FEW),
    "30 labels, 130 nodes": Blocks(4.0, **TINY),
    "30 labels, 130 nodes, no signal": Blocks(**TINY),
}

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Edges, features, labels."""


def block_edges(rng: np.random.Generator, group: np.ndarray, within: float, degree: int) -> np.ndarray:
    """Edges without repetition, more or fewer of them inside a group."""
    wanted = len(group) * degree // 2
    edges = rng.integers(0, len(group), (12 * wanted, 2))
    weight = np.where(group[edges[:, 0]] == group[edges[:, 1]], within, 1.0) / max(within, 1.0)
    edges = np.sort(edges[(rng.random(len(edges)) < weight) & (edges[:, 0] != edges[:, 1])], axis=1)
    return rng.permutation(np.unique(edges, axis=0))[:wanted]


def around_means(rng: np.random.Generator, group: np.ndarray, length: float, width: int = 10) -> np.ndarray:
    means = rng.normal(size=(group.max() + 1, width))
    means *= length / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    return means[group] + rng.normal(size=(len(group), width))


def _blocks(rng: np.random.Generator, kind: Blocks) -> Drawn:
    labels = rng.integers(0, kind.classes, kind.nodes)
    if kind.rare is not None:
        labels = (rng.random(kind.nodes) < kind.rare).astype(int)
    edges = block_edges(rng, labels, kind.within, kind.degree)
    return edges, around_means(rng, labels, kind.length, kind.width), labels


def two_hops(rng: np.random.Generator) -> Drawn:
    """The features of the nodes at distance 2 decide."""
    edges, features = block_edges(rng, np.zeros(NODES, int), 1.0, 3), rng.normal(size=(NODES, 6))
    near: Any = make_graph(edges, None, np.zeros(NODES)).adjacency
    far = (near @ near > 0).astype(float) - (near > 0)
    far.setdiag(0)
    total = far.maximum(0) @ features[:, 0]
    return edges, features, (np.where(total == 0, rng.normal(size=NODES), total) > 0).astype(int)


def degree(rng: np.random.Generator) -> Drawn:
    """One class has more neighbours."""
    labels = rng.integers(0, 2, NODES)
    chance = np.where(labels, 2.5, 1.0)
    edges = rng.choice(NODES, (2 * NODES, 2), p=chance / chance.sum())
    return edges, around_means(rng, labels, 0.8, 8), labels


def patches(rng: np.random.Generator) -> Drawn:
    """A grid on which labels are smooth, and features as well, but independent of them."""
    from scipy.ndimage import gaussian_filter

    def smooth(width: float) -> np.ndarray:
        return gaussian_filter(rng.normal(size=(SIDE, SIDE)), width, mode="wrap").ravel()

    place = np.arange(SIDE**2).reshape(SIDE, SIDE)
    sides = (place[:, :-1], place[:, 1:]), (place[:-1], place[1:])
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in sides])
    return edges, np.stack([smooth(1.5) for _ in range(6)], axis=1), (smooth(3.0) > 0).astype(int)


def components(rng: np.random.Generator, told: bool = True) -> Drawn:
    """Components of five nodes, of one class or not."""
    labels = np.repeat(rng.integers(0, 3, NODES // 5), 5) if told else rng.integers(0, 3, NODES)
    pairs = [5 * c + np.argwhere(np.triu(rng.random((5, 5)) < 0.6, 1)) for c in range(NODES // 5)]
    return np.concatenate(pairs), around_means(rng, labels, 1.0), labels


def hubs(rng: np.random.Generator, told: bool = True) -> Drawn:
    """Eight hubs with leaves, three quarters of them of the hub's class or not."""
    labels = rng.integers(0, 2, NODES)
    labels[:8] = np.arange(8) % 2
    side = np.where(rng.random(NODES) < 0.75, labels, 1 - labels) if told else rng.integers(0, 2, NODES)
    hub = 2 * rng.integers(0, 4, NODES) + side
    leaves = np.stack([hub, np.arange(NODES)], axis=1)[8:]
    chain = np.stack([np.arange(7), np.arange(1, 8)], axis=1)
    return np.concatenate([leaves, chain]), around_means(rng, labels, 1.3, 6), labels


def communities(rng: np.random.Generator, told: bool = True) -> Drawn:
    """Eight communities whose nodes mostly have the same class, or features of their own that tell nothing."""
    group, labels = rng.integers(0, 8, NODES), rng.integers(0, 3, NODES)
    if told:
        labels = np.where(rng.random(NODES) < 0.6, rng.integers(0, 3, 8)[group], labels)
    features = around_means(rng, labels, 1.3) + (0.0 if told else 0.7 * around_means(rng, group, 3.0))
    return block_edges(rng, group, 60.0, 6), features, labels


OTHERS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "two hops": two_hops,
    "number of neighbours": degree,
    "patches on a grid": patches,
    "small components": components,
    "small components, no signal": lambda rng: components(rng, told=False),
    "hubs of a class": hubs,
    "hubs, no signal": lambda rng: hubs(rng, told=False),
    "communities of a class": communities,
    "communities, no signal": lambda rng: communities(rng, told=False),
}
KINDS = (*BLOCKS, *OTHERS)


def make(kind: str, seed: int) -> tuple[Graph, np.ndarray]:
    """A graph of a kind with all its labels, and which of them are given."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    edges, features, labels = _blocks(rng, BLOCKS[kind]) if kind in BLOCKS else OTHERS[kind](rng)
    given = BLOCKS[kind].given if kind in BLOCKS else GIVEN
    return make_graph(edges, features, labels, kind), rng.permutation(len(labels)) < given
