"""An edge list with labels, and features if there are any: as files in a folder, or as arrays of Python.

`edges.csv` (or .txt, .tsv) has two nodes a line, `labels.csv` (.txt, .npy) a class a line, -1 for unknown, and
`features.csv` (.npy, or .npz of scipy.sparse) a row a node. Commas, spaces and tabs separate; # begins a comment; the
first line of a text may be a header.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from lemmata.datasets import files
from lemmata.datasets.files import require
from lemmata.datasets.graphs.graph import Graph, make_graph
from lemmata.datasets.graphs.parts import MOST_FEATURES, MOST_NODES, columns, csr, graph_at, within
from lemmata.lab.errors import UserError

EDGES = ("edges.csv", "edges.txt", "edges.tsv")
LABELS = ("labels.csv", "labels.txt", "labels.npy")
FEATURES = ("features.csv", "features.npy", "features.npz")
ADVICE = (
    "a folder with an edge list holds edges.csv, .txt or .tsv (two nodes a line), labels.csv, .txt or .npy (a class a "
    "node) and, if there are features, features.csv, .npy or .npz (a row a node)"
)


def from_edge_list(edges: Any, labels: Any, features: Any = None) -> Graph:
    """A graph from edges [edges, 2] in any order and direction, labels [nodes] and features [nodes, features]."""
    return make_graph(edges, features, labels, "given edge list")


def is_here(folder: Path) -> bool:
    return _first(folder, EDGES) is not None


def load(folder: Path) -> Graph:
    """The graph of a folder with an edge list."""
    edges, labels, features = (_first(folder, names) for names in (EDGES, LABELS, FEATURES))
    if edges is None or labels is None:
        missing = EDGES if edges is None else LABELS
        raise UserError(f"{folder} has no {', '.join(missing[:-1])} or {missing[-1]}; {ADVICE}.")
    pairs = files.read(edges, lambda content: columns(files.text(content), int, 2, header=True), "an edge list", ADVICE)
    classes = files.read(labels, lambda content: _labels(content, labels.suffix), "labels", ADVICE)
    rows = None
    if features is not None:
        rows = files.read(features, lambda content: _features(content, features.suffix), "features", ADVICE)
    return graph_at(folder, pairs, rows, classes, source=f"{folder.name}, edge list")


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _labels(content: bytes, suffix: str) -> np.ndarray:
    if suffix != ".npy":
        return columns(files.text(content), int, 1, header=True)[:, 0]
    labels = files.array(content)
    require(labels.ndim == 1 and labels.dtype.kind in "iu", "it is not one integer for every node")
    return labels


def _features(content: bytes, suffix: str) -> Any:
    if suffix == ".npz":
        return _sparse(content)
    features = files.array(content) if suffix == ".npy" else columns(files.text(content), float, header=True)
    require(features.ndim == 2 and features.dtype.kind in "biuf", "it is not a row of numbers for every node")
    return features


def _sparse(content: bytes) -> Any:
    """A matrix as `scipy.sparse.save_npz` writes it: compressed rows, compressed columns, or a list of entries."""
    arrays = files.arrays(content)
    layout = arrays["format"].item()
    layout = layout.decode() if isinstance(layout, bytes) else layout
    require(layout in {"csr", "csc", "coo"}, "it is neither a csr, a csc nor a coo matrix")
    rows, width = (int(size) for size in arrays["shape"])
    require(0 <= rows <= MOST_NODES and 0 <= width <= MOST_FEATURES, f"it claims to be {rows} x {width}")
    if layout == "csr":
        return csr(arrays["data"], arrays["indices"], arrays["indptr"], (rows, width))
    if layout == "csc":
        return csr(arrays["data"], arrays["indices"], arrays["indptr"], (width, rows), MOST_NODES).T.tocsr()
    data, row, column = arrays["data"], arrays["row"], arrays["col"]
    require(data.ndim == 1 and data.shape == row.shape == column.shape, "its entries are not three lists")
    require(row.dtype.kind in "iu" and column.dtype.kind in "iu", "its entries have no integer positions")
    require(within(row, rows) and within(column, width), "it has an entry outside its shape")
    return sparse.csr_matrix((data, (row, column)), shape=(rows, width))
