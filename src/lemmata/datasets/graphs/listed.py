"""An edge list with labels, and features if there are any: as files in a folder, or as arrays of Python.

`edges.csv` (or .txt, .tsv) has two nodes a line, and perhaps a weight; `labels.csv` (.txt, .npy) a class a line, -1
for unknown, or a node and its class; classes may be words, and so may nodes that are named. `features.csv` (.npy, or
.npz of scipy.sparse) has a row a node. Commas, semicolons, spaces and tabs separate; words may stand in quotes; #
begins a comment; the first line of a text may be a header.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from lemmata.datasets import files
from lemmata.datasets.files import require
from lemmata.datasets.graphs.graph import UNLABELLED, Graph, classes_of, make_graph
from lemmata.datasets.graphs.parts import MOST_FEATURES, MOST_NODES, columns, csr, graph_at, within, words_of
from lemmata.lab.errors import UserError

EDGES = ("edges.csv", "edges.txt", "edges.tsv")
LABELS = ("labels.csv", "labels.txt", "labels.npy")
FEATURES = ("features.csv", "features.npy", "features.npz")
HEADS = ("label", "labels", "class", "classes", "y", "target")
"""Last words of a first line of labels that is a header."""
ADVICE = (
    "a folder with an edge list holds edges.csv, .txt or .tsv (two nodes a line, perhaps with a weight), labels.csv, "
    ".txt or .npy (a class a line, or a node and its class) and, if there are features, features.csv, .npy or .npz (a "
    "row a node)"
)


def from_edge_list(edges: Any, labels: Any, features: Any = None) -> Graph:
    """A graph from edges [edges, 2] in any order and direction, labels [nodes] and features [nodes, features]."""
    return make_graph(edges, features, labels, "given edge list")


def is_here(folder: Path) -> bool:
    return _first(folder, EDGES) is not None


def files_of(folder: Path) -> list[Path]:
    found = (_first(folder, names) for names in (EDGES, LABELS, FEATURES))
    return [file for file in found if file is not None]


def load(folder: Path) -> Graph:
    """The graph of a folder with an edge list."""
    edges, labels, features = (_first(folder, names) for names in (EDGES, LABELS, FEATURES))
    if edges is None or labels is None:
        missing = EDGES if edges is None else LABELS
        raise UserError(f"{folder} has no {', '.join(missing[:-1])} or {missing[-1]}; {ADVICE}.")
    return _read(folder, f"{folder.name}, edge list", edges, labels, features)


def load_files(given: list[Path]) -> Graph:
    """The graph of an edge list, labels and perhaps features, in this order."""
    if not 2 <= len(given) <= 3:
        raise UserError(f"{len(given)} files are no graph: give the edge list, the labels and perhaps the features.")
    return _read(given[0], f"{given[0].stem}, edge list", given[0], given[1], given[2] if len(given) > 2 else None)


def _read(place: Path, source: str, edges: Path, labels: Path, features: Path | None) -> Graph:
    names, classes = files.read(labels, lambda content: _labels(content, labels.suffix), "labels", ADVICE)
    pairs = files.read(edges, lambda content: _pairs(files.text(content), names is None), "an edge list", ADVICE)
    rows = None
    if features is not None:
        rows = files.read(features, lambda content: _features(content, features.suffix), "features", ADVICE)
    if names is not None:
        pairs, classes = _placed(pairs, names, classes, None if rows is None else rows.shape[0], str(labels))
    return graph_at(place, pairs, rows, classes, source=source)


def _pairs(text: str, numbered: bool) -> np.ndarray:
    """Two nodes a line; a third column is a weight, and edges of weight 0 are none."""
    if numbered:
        lines = [words for words in map(words_of, text.splitlines()) if words]
        if not lines or len(lines[-1]) != 3:
            return columns(text, int, 2, header=True)
        table = columns(text, float, 3, header=True)
        require(bool((table[:, :2] == np.floor(table[:, :2])).all()), "its nodes are not integers")
        return table[table[:, 2] != 0, :2].astype(np.int64)
    rows = _words(text)
    require(all(len(row) in {2, 3} for row in rows), "its lines are not two nodes, perhaps with a weight")
    kept = [row[:2] for row in rows if len(row) == 2 or not _is_zero(row[2])]
    return np.asarray(kept, dtype=str).reshape(-1, 2)


def _is_zero(word: str) -> bool:
    try:
        return float(word) == 0
    except ValueError:
        return False


def _words(text: str) -> list[list[str]]:
    """The words of every line, between commas or tabs if there are any in the file, else between spaces."""
    lines = [line.split("#", 1)[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    between = next((mark for mark in (",", "\t", ";") if all(mark in line for line in lines)), None)
    return [[word.strip().strip("\"'") for word in line.split(between)] for line in lines]


def _placed(
    pairs: np.ndarray, names: np.ndarray, classes: np.ndarray, rows: int | None, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """Edges and labels by the number of a node.

    Names that are integers from 0 on are numbers already; others are numbered as they appear, labelled nodes first.
    """
    if len(np.unique(names)) < len(names):
        raise UserError(f"{source} names a node twice.")
    if len(pairs) and not np.isin(pairs, names).any():
        named, joined = names[0][:40], pairs[-1][0][:40]
        raise UserError(f"{source} names nodes such as '{named}', the edge list others such as '{joined}'.")
    if len(pairs) and not np.isin(pairs[0], names).any() and not np.isin(pairs[0], pairs[1:]).any():
        pairs = pairs[1:]  # a header
    used = np.concatenate([names, pairs.ravel()])
    whole = all(word.isascii() and word.isdigit() and len(word) < 10 for word in used)
    if whole and used.astype(np.int64).max(initial=0) < max(10 * len(used), rows or 0):
        place = names.astype(np.int64)
        count = max(int(used.astype(np.int64).max(initial=-1)) + 1, rows or 0)
        numbers = pairs.astype(np.int64)
    else:
        order = {name: i for i, name in enumerate(dict.fromkeys(used.tolist()))}
        place = np.arange(len(names))
        count = len(order)
        numbers = np.asarray([order[name] for name in pairs.ravel().tolist()], np.int64).reshape(-1, 2)
    labels = np.full(count, UNLABELLED)
    labels[place] = classes
    return numbers, labels


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _labels(content: bytes, suffix: str) -> tuple[np.ndarray | None, np.ndarray]:
    """The nodes that are named, if they are, and their classes: a class a line, or a node and its class."""
    if suffix == ".npy":
        return None, classes_of(files.array(content))
    rows = _words(files.text(content))
    width = len(rows[0]) if rows else 0
    require(
        width in {1, 2} and all(len(row) == width for row in rows), "its lines are not a class, or a node and its class"
    )
    if rows[0][-1].lower() in HEADS:
        rows = rows[1:]
    classes = classes_of(np.asarray([row[-1] for row in rows], dtype=str))
    return (None if width == 1 else np.asarray([row[0] for row in rows], dtype=str)), classes


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
