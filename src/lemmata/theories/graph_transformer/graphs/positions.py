"""Absolute positional encodings (3.7): vectors that tell a node's place in the graph, beside its features."""

import numpy as np
from jaxtyping import Bool, Float

from lemmata.datasets.graphs.distances import distance_table
from lemmata.datasets.graphs.graph import Graph

LENGTH = np.sqrt(2.0)
"""The norm of an encoding that is not zero."""
Encoding = Float[np.ndarray, "nodes width"]


def encode(graph: Graph, kind: str, width: int) -> Encoding:
    """The encoding of every node, rows of norm √2; zero rows stay zero."""
    adjacency = graph.adjacency.toarray() > 0
    if kind in ("laplacian", "walk"):
        rows = {"laplacian": laplacian, "walk": return_probabilities}[kind](adjacency, width)
    else:
        rows = binned(graph.degree if kind == "degree" else distance_from_centroid(graph), width)
    return LENGTH * unit_rows(rows)


def unit_rows(rows: Encoding) -> Encoding:
    """Rows of norm 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(norms > 0, rows / np.where(norms > 0, norms, 1.0), 0.0)


def laplacian(adjacency: Bool[np.ndarray, "nodes nodes"], width: int) -> Encoding:
    """The first non-trivial eigenvectors of I - D^-1/2 A D^-1/2; the largest entry of each is positive."""
    degree = adjacency.sum(axis=1)
    root = 1 / np.sqrt(np.maximum(degree, 1))
    matrix = np.eye(len(degree)) - root[:, None] * adjacency * root
    vectors = np.linalg.eigh(matrix)[1][:, 1 : width + 1]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return vectors * np.sign(largest)


def return_probabilities(adjacency: Bool[np.ndarray, "nodes nodes"], width: int) -> Encoding:
    """((A D^-1)^k)_nn, k = 1 .. width: how likely a random walk is back after k steps."""
    walk = adjacency / np.maximum(adjacency.sum(axis=0), 1)
    power, columns = np.eye(len(walk)), []
    for _ in range(width):
        power = power @ walk
        columns.append(np.diag(power))
    return np.stack(columns, axis=1)


def binned(values: np.ndarray, width: int) -> Encoding:
    """One-hot vectors of `width` bins of equal length over the range of the values."""
    low, high = values.min(), values.max()
    place = ((values - low) * width / max(high - low + 1, 1)).astype(int)
    return np.eye(width)[np.minimum(place, width - 1)]


def distance_from_centroid(graph: Graph) -> np.ndarray:
    """The distance to the node of smallest eccentricity, the first one where several share it."""
    table = distance_table(graph, 254)
    return table[np.argmin(table.max(axis=1))].astype(int)
