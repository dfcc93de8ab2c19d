"""Undirected graphs whose nodes have features and labels, whatever their source."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Float, Int

from lemmata.lab.errors import UserError

UNLABELLED = -1
FEW_CLASSES = 1000
"""Class numbers that are believed whatever the number of nodes."""


class Split(NamedTuple):
    """Which nodes are for training, for validation and for testing."""

    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph: every edge once, as (smaller, larger) node; classes from 0 on, -1 for unlabelled."""

    edges: Int[np.ndarray, "edges 2"]
    features: Any
    """Float32 [nodes, features], dense or `scipy.sparse.csr_matrix`."""
    labels: Int[np.ndarray, " nodes"]
    source: str
    splits: tuple[Split, ...] = ()

    @property
    def nodes(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    @functools.cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """A, symmetric, of ones."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        ones = np.ones(len(ends), np.float32)
        return sparse.csr_matrix((ones, (ends[:, 0], ends[:, 1])), shape=(self.nodes, self.nodes))

    @property
    def degree(self) -> Int[np.ndarray, " nodes"]:
        return np.diff(self.adjacency.indptr)

    @property
    def dense_features(self) -> Float[np.ndarray, "nodes features"]:
        return self.features.toarray() if sparse.issparse(self.features) else self.features

    @property
    def homophily(self) -> float:
        """The share of edges between labelled nodes that join two of the same class; NaN without such an edge."""
        ends = self.labels[self.edges]
        ends = ends[(ends != UNLABELLED).all(axis=1)]
        return float(np.mean(ends[:, 0] == ends[:, 1])) if len(ends) else float("nan")


def make_graph(
    edges: Any, features: Any, labels: Any, source: str = "given arrays", splits: tuple[Split, ...] = ()
) -> Graph:
    """A graph from an edge list in any order and direction, repeats and self-loops left out; checked.

    features: [nodes, features], dense or sparse, or None for none; labels: [nodes], see `classes_of`.
    """
    labels = classes_of(labels, source)
    if labels.ndim != 1 or labels.size == 0:
        raise UserError(f"{source}: labels must be one integer for every node.")
    if labels.min() < UNLABELLED or labels.max() < 0:
        raise UserError(f"{source}: labels must be classes from 0 on (-1: unlabelled), and at least one must be known.")
    if labels.max() >= max(len(labels), FEW_CLASSES):
        raise UserError(f"{source}: a label is {labels.max()}; classes must be numbered from 0 on without large gaps.")
    edges = _integers(edges, "edges", source)
    if edges.size == 0:
        edges = edges.reshape(0, 2)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise UserError(f"{source}: edges must be pairs of nodes, not an array of shape {edges.shape}.")
    if edges.size and (edges.min() < 0 or edges.max() >= len(labels)):
        outside = edges[(edges < 0) | (edges >= len(labels))][0]
        raise UserError(f"{source}: an edge names node {outside}, but there are {len(labels)} nodes, counted from 0.")
    ordered = np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)
    # one number for a pair sorts much faster than rows
    pairs = np.unique(ordered[:, 0] * len(labels) + ordered[:, 1])
    unique = np.stack([pairs // len(labels), pairs % len(labels)], axis=1)
    return Graph(unique, _features(features, len(labels), source), labels, source, splits)


def classes_of(labels: Any, source: str = "given labels") -> Int[np.ndarray, " nodes"]:
    """Classes from 0 on, -1 for unlabelled, of labels as people have them.

    Integers (-1: unlabelled) stay as they are; +1 and -1 alone are two classes; floats are integers or NaN (unknown);
    words are numbered in their order, and empty ones, "nan", "none" and "?" are unlabelled; a column counts as a list.
    """
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype == object:
        array = np.asarray(["" if one is None else str(one) for one in array.ravel()]).reshape(array.shape)
    if array.dtype.kind in "US" and array.ndim == 1:
        array = array.astype(str)
        absent = np.isin(np.char.lower(np.char.strip(array)), ["", "nan", "none", "?"])
        try:
            array = np.where(absent, "nan", array).astype(float)
        except ValueError:
            numbered = np.full(len(array), UNLABELLED)
            numbered[~absent] = np.unique(array[~absent], return_inverse=True)[1]
            return numbered
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), UNLABELLED, array)
    array = _integers(array, "labels", source)
    if array.size and np.array_equal(np.unique(array), [-1, 1]):
        return (array > 0).astype(np.int64)
    return array


def from_arrays(
    adjacency: Any, features: Any, labels: Any, *, symmetrize: bool = False, source: str = "given arrays"
) -> Graph:
    """A graph from its adjacency matrix, dense or sparse; an entry other than 0 is an edge.

    A matrix that is not symmetric or has a diagonal is refused, unless `symmetrize` makes every entry an edge.
    """
    try:
        matrix: Any = sparse.csr_matrix(adjacency)
    except (TypeError, ValueError):
        raise UserError(f"{source}: the adjacency must be a square matrix of numbers.") from None
    if matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "fiub":
        raise UserError(f"{source}: the adjacency must be a square matrix of numbers, not {matrix.shape}.")
    if matrix.shape[0] != len(np.atleast_1d(labels)):
        raise UserError(f"{source}: {matrix.shape[0]} nodes in the adjacency, {len(np.atleast_1d(labels))} labels.")
    if not np.isfinite(matrix.data).all():
        raise UserError(f"{source}: the adjacency must be of finite numbers.")
    present: Any = matrix.astype(bool)
    present.eliminate_zeros()
    if not symmetrize:
        if present.diagonal().any():
            raise UserError(f"{source}: the adjacency has self-loops; give symmetrize=True to leave them out.")
        if (present != present.T).nnz:
            raise UserError(f"{source}: the adjacency is not symmetric; symmetrize=True makes every entry an edge.")
    rows, columns = present.nonzero()
    return make_graph(np.stack([rows, columns], axis=1), features, labels, source)


def _integers(values: Any, what: str, source: str) -> np.ndarray:
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{source}: {what} must be integers.") from None
    if array.size and (array.dtype.kind not in "iubf" or not np.array_equal(whole, array)):
        raise UserError(f"{source}: {what} must be integers.")
    return whole


def _features(features: Any, nodes: int, source: str) -> Any:
    if features is None:
        return np.zeros((nodes, 0), np.float32)
    try:
        with np.errstate(over="ignore"):
            kept: Any = _as_numbers(features)
    except (TypeError, ValueError):
        raise UserError(f"{source}: features must be numbers.") from None
    if kept.ndim != 2 or kept.shape[0] != nodes:
        raise UserError(f"{source}: features have shape {kept.shape}; there must be one row for each of {nodes} nodes.")
    if not np.isfinite(kept.data if sparse.issparse(kept) else kept).all():
        raise UserError(f"{source}: features must be finite numbers.")
    return kept


def _as_numbers(features: Any) -> Any:
    if np.iscomplexobj(features):
        raise TypeError
    if sparse.issparse(features):
        return sparse.csr_matrix(features, dtype=np.float32)
    return np.asarray(features, np.float32)
