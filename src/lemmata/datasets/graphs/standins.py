"""Graphs that are always at hand, as stand-ins for public ones: made, drawn from a bundled image, or written out.

None of them is a public data set except Zachary's karate club; every `source` says so.
"""

from __future__ import annotations

import functools

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Float, Int

from lemmata.datasets.graphs.graph import Graph, Split, make_graph

WORDS_PER_CLASS, COMMON_WORDS = 40, 100
TILE = 20
"""Pixels along one side of a superpixel."""
REGIONS = 3
KARATE = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31), 1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32), 3: (7, 12, 13), 4: (6, 10), 5: (6, 10, 16), 6: (16,), 8: (30, 32, 33), 9: (33,),
    13: (33,), 14: (32, 33), 15: (32, 33), 18: (32, 33), 19: (33,), 20: (32, 33), 22: (32, 33),
    23: (25, 27, 29, 32, 33), 24: (25, 27, 31), 25: (31,), 26: (29, 33), 27: (33,), 28: (31, 33), 29: (32, 33),
    30: (32, 33), 31: (32, 33), 32: (33,),
}  # fmt: skip
OFFICERS = (9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33)
"""The members who left the club with its officer; the others stayed with Mr. Hi."""


def citation(seed: int, nodes: int = 600, classes: int = 4) -> Graph:
    """A sparse block graph whose edges mostly join the same class, with bags of words: four in five, as in Cora."""
    affinity = np.full((classes, classes), 0.2 / max(classes - 1, 1))
    np.fill_diagonal(affinity, 0.8)
    return _blocks(seed, nodes, affinity, degree=4.0, source=f"stand-in: citation-like block graph, seed {seed}")


def heterophilous(seed: int, nodes: int = 600, classes: int = 4) -> Graph:
    """The same with edges that mostly join a class to the two beside it on a circle: neighbours differ."""
    affinity = np.full((classes, classes), 0.1)
    ring = np.arange(classes)
    affinity[ring, (ring + 1) % classes] = affinity[(ring + 1) % classes, ring] = 0.4
    source = f"stand-in: heterophilous block graph, seed {seed}"
    return _blocks(seed, nodes, affinity / affinity.sum(axis=1, keepdims=True), degree=6.0, source=source)


def _blocks(seed: int, nodes: int, affinity: Float[np.ndarray, "classes classes"], degree: float, source: str) -> Graph:
    """Independent edges; a node has `degree` of them on average, shared among the classes as a row of `affinity`."""
    rng = np.random.default_rng(seed)
    classes = len(affinity)
    labels = rng.permutation(np.arange(nodes) % classes)
    first, second = np.triu_indices(nodes, k=1)
    chance = degree * affinity[labels[first], labels[second]] * classes / nodes
    edges = np.stack([first, second], axis=1)[rng.random(len(first)) < chance]
    return make_graph(edges, _words(rng, labels, classes), labels, source, (_split(rng, labels),))


def _words(rng: np.random.Generator, labels: Int[np.ndarray, " nodes"], classes: int) -> sparse.csr_matrix:
    """Bags of words [nodes, classes * 40 + 100], 0 or 1: a class prefers its own 40, and 100 are everyone's."""
    owner = np.repeat(np.arange(classes), WORDS_PER_CLASS)
    chance = np.where(labels[:, None] == owner, 0.10, 0.03)
    chance = np.concatenate([chance, np.full((len(labels), COMMON_WORDS), 0.08)], axis=1)
    return sparse.csr_matrix((rng.random(chance.shape) < chance).astype(np.float32))


def _split(rng: np.random.Generator, labels: Int[np.ndarray, " nodes"]) -> Split:
    """At most 20 nodes a class to train; a third of the others to validate, the rest to test."""
    order = rng.permutation(len(labels))
    few = min(20, len(labels) // (2 * (labels.max() + 1)))
    train = np.concatenate([order[labels[order] == label][:few] for label in range(labels.max() + 1)])
    others = np.setdiff1d(order, train)
    validation = rng.choice(others, len(others) // 3, replace=False)
    return Split(np.sort(train), np.sort(validation), np.setdiff1d(others, validation))


@functools.cache
def superpixels() -> Graph:
    """scikit-learn's photograph of a Chinese temple in tiles of 20 x 20 pixels, joined to the four beside them.

    A tile's 14 features are the mean, deviation, least and largest value of each colour and its place, as in
    PascalVOC-SP; its label is the nearest of three mean colours (k-means from fixed beginnings), dark to bright.
    """
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_sample_image

    image = np.asarray(load_sample_image("china.jpg"), np.float64) / 255
    rows, columns = image.shape[0] // TILE, image.shape[1] // TILE
    tiles = image[: rows * TILE, : columns * TILE].reshape(rows, TILE, columns, TILE, 3)
    pixels = tiles.transpose(0, 2, 1, 3, 4).reshape(rows * columns, TILE * TILE, 3)
    colour = pixels.mean(axis=1)
    dark_to_bright = np.argsort(colour.sum(axis=1), kind="stable")
    beginnings = colour[dark_to_bright[np.linspace(0, len(colour) - 1, REGIONS).astype(int)]]
    labels = KMeans(REGIONS, init=beginnings, n_init="auto").fit_predict(colour)
    number = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    place = np.stack(np.divmod(number.ravel(), columns), axis=1) / [rows, columns]
    features = np.concatenate([colour, pixels.std(axis=1), pixels.min(axis=1), pixels.max(axis=1), place], axis=1)
    source = "stand-in: superpixels of scikit-learn's china.jpg"
    return make_graph(np.concatenate([across, down]), features, labels, source)


def karate() -> Graph:
    """Zachary's karate club (1977): 34 members, 78 friendships, two factions; a member's feature is itself."""
    edges = [(member, friend) for member, friends in KARATE.items() for friend in friends]
    labels = np.zeros(34, np.int64)
    labels[list(OFFICERS)] = 1
    return make_graph(edges, np.eye(34, dtype=np.float32), labels, "Zachary's karate club (stand-in)")
