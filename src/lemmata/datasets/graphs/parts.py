"""What the readers of several graph formats share: columns of numbers, sparse features and splits."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Bool, Int

from lemmata.datasets.files import DamagedError, require
from lemmata.datasets.graphs.graph import UNLABELLED, Graph, Split, make_graph

MOST_FEATURES = 1_000_000
MOST_NODES = 10_000_000
"""Rows of a sparse matrix that are believed, filled or not."""
SEPARATORS = str.maketrans(",;\t\"'", "     ")


def graph_at(
    path: Path, edges: Any, features: Any, labels: Any, *, source: str, splits: tuple[Split, ...] = ()
) -> Graph:
    """The checked graph; an error names the path, the graph itself only its source, which is the same everywhere."""
    return dataclasses.replace(make_graph(edges, features, labels, str(path), splits), source=source)


def csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any, widest: int = MOST_FEATURES
) -> sparse.csr_matrix:
    """A matrix from the three arrays of compressed rows, every one checked against the others.

    SciPy's own check passes over some arrays on which its routines then read beyond their memory.
    """
    require(data.ndim == indices.ndim == indptr.ndim == 1, "its sparse features are not three lists")
    require(data.dtype.kind in "biuf", "its sparse features are not real numbers")
    require(indices.dtype.kind in "iu" and indptr.dtype.kind in "iu", "its sparse features have no integer positions")
    rows, columns = (int(size) for size in shape)
    require(len(indptr) == rows + 1, "its sparse features have another number of rows than their shape says")
    require(0 <= columns <= widest, f"it has {columns} features; at most {widest} are read")
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    require(
        len(data) == len(indices) == indptr[-1] and indptr[0] == 0 and bool((np.diff(indptr) >= 0).all()),
        "the rows of its sparse features do not fit its entries",
    )
    require(within(indices, columns), "its sparse features have an entry outside their shape")
    matrix = sparse.csr_matrix((data, indices, indptr), shape=(rows, columns))
    matrix.sum_duplicates()
    return matrix


def within(positions: np.ndarray, size: int) -> bool:
    """Whether all positions are from 0 to size - 1."""
    return not positions.size or bool(positions.min() >= 0 and positions.max() < size)


def split_of(train: Any, validation: Any, test: Any, labels: Int[np.ndarray, " nodes"]) -> Split:
    """A split from three lists of nodes, in order; a node without a label belongs to no part."""

    def part(nodes: Any) -> np.ndarray:
        nodes = np.asarray(nodes)
        require(nodes.ndim == 1 and (nodes.dtype.kind in "iu" or not nodes.size), "a split is no list of nodes")
        nodes = nodes.astype(np.int64)
        require(within(nodes, len(labels)), "a split names an unknown node")
        return nodes[labels[nodes] != UNLABELLED]

    return Split(part(train), part(validation), part(test))


def split_of_masks(
    train: Bool[np.ndarray, " nodes"],
    validation: Bool[np.ndarray, " nodes"],
    test: Bool[np.ndarray, " nodes"],
    labels: Int[np.ndarray, " nodes"],
) -> Split:
    """A split from three masks."""

    def nodes(mask: np.ndarray) -> np.ndarray:
        require(mask.shape == labels.shape, "a split has not one entry for every node")
        require(mask.dtype.kind in "biu", "a split is no mask")
        return np.flatnonzero(mask)

    return split_of(nodes(train), nodes(validation), nodes(test), labels)


def columns(text: str, dtype: type, count: int | None = None, *, header: bool = False) -> np.ndarray:
    """The numbers of a text [lines, columns], see `words_of`.

    With `header`, a first line without a single number is passed over. `count` is the number of columns.
    """
    lines = text.translate(SEPARATORS).splitlines()
    if header:
        first = next((i for i, line in enumerate(lines) if words_of(line)), 0)
        if lines and not any(_are_numbers(word, float, None) for word in words_of(lines[first])):
            lines[first] = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that there is nothing to read is no reason to warn
            warnings.simplefilter("error", DeprecationWarning)  # that 1.5 is read as the integer 1 is one to stop
            table = np.loadtxt(lines, np.int64 if dtype is int else np.float64, ndmin=2)
        if count is not None and table.size == 0:
            table = table.reshape(0, count)
        if count is None or table.shape[1] == count:
            return table
    except (ValueError, OverflowError, DeprecationWarning):
        pass
    raise DamagedError(_first_fault(lines, dtype, count))


def words_of(line: str) -> list[str]:
    """What stands between commas, semicolons, spaces and tabs, without quotes and comment."""
    return line.split("#", 1)[0].translate(SEPARATORS).split()


def _are_numbers(line: str, dtype: type, count: int | None) -> bool:
    words = words_of(line)
    try:
        [dtype(word) for word in words]
    except ValueError:
        return False
    return not words or count is None or len(words) == count


def _first_fault(lines: list[str], dtype: type, count: int | None) -> str:
    width = count or next((len(words_of(line)) for line in lines if words_of(line)), 0)
    kind = "integer" if dtype is int else "number"
    wanted = f"{width} {kind}{'s' * (width != 1)}"
    for number, line in enumerate(lines, start=1):
        if not _are_numbers(line, dtype, width):
            shown = " ".join(words_of(line))
            return f"line {number} should be {wanted}, not '{shown[:40]}{'...' * (len(shown) > 40)}'"
    return f"its lines should be {wanted} each"
