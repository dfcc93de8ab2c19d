"""Planetoid's eight files `ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index}`: Cora, CiteSeer and PubMed (Yang 2016).

Seven are pickles of Python 2; arrays, compressed sparse rows and tables of lists are read from them and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from lemmata.datasets import files, pickles
from lemmata.datasets.files import require
from lemmata.datasets.graphs.graph import UNLABELLED, Graph
from lemmata.datasets.graphs.parts import csr, graph_at, split_of
from lemmata.lab.errors import UserError

PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
VALIDATION = 500
WIDEST_GAP = 1000
"""Nodes without features among the test nodes that are believed; CiteSeer has 15."""


def stem_of(path: Path) -> Path | None:
    """FOLDER/ind.NAME of one of the eight files or of itself, if at least one of the files is there."""
    for name in [path.name, *(path.name.removesuffix(f".{part}") for part in PARTS)]:
        if name.startswith("ind.") and any(file.is_file() for file in files_of(path.with_name(name))):
            return path.with_name(name)
    return None


def files_of(stem: Path) -> list[Path]:
    return [stem.with_name(f"{stem.name}.{part}") for part in PARTS]


def load(stem: Path) -> Graph:
    """The graph of FOLDER/ind.NAME, with the public split: len(y) nodes to train, the next 500 to validate.

    Nodes have the order of the standard loader: the rows of allx, then those of tx at the places that test.index
    names. A place among them that it leaves out (CiteSeer has 15) is a node without features and without a label:
    its label is -1, where many loaders say 0. So is that of a node whose one-hot row is all zero.
    """

    def part(name: str, parse: Callable[[bytes], Any]) -> Any:
        advice = f"a Planetoid graph is the eight files {stem.name}.{{{','.join(PARTS)}}}, complete and unchanged"
        return files.read(stem.with_name(f"{stem.name}.{name}"), parse, "part of a Planetoid graph", advice)

    known, tested = part("allx", _matrix), part("tx", _matrix)
    known_labels, tested_labels = part("ally", _labels), part("ty", _labels)
    places, train = part("test.index", _places), len(part("y", _labels))
    part("x", _matrix)  # the first rows of allx once more
    sizes = [known.shape[0], tested.shape[0], len(known_labels), len(tested_labels)]
    nodes = int(places.max(initial=-1)) + 1
    if not (
        sizes[0] == sizes[2]
        and sizes[1] == sizes[3] == len(places) == len(np.unique(places))
        and known.shape[1] == tested.shape[1]
        and train <= sizes[0] <= places.min(initial=sizes[0])
        and nodes <= sum(sizes[:2]) + WIDEST_GAP
    ):
        raise UserError(f"{stem}.* are not the eight files of one Planetoid graph: their sizes contradict one another.")
    nodes = max(nodes, sizes[0])
    labels = np.full(nodes, UNLABELLED)
    labels[: sizes[0]], labels[places] = known_labels, tested_labels
    # row i of the stacked matrix belongs at place order[i]
    order = np.concatenate([np.arange(sizes[0]), places])
    stacked: Any = sparse.coo_matrix(sparse.vstack([known, tested]))
    features = sparse.csr_matrix((stacked.data, (order[stacked.row], stacked.col)), shape=(nodes, known.shape[1]))
    validation = np.arange(train, min(train + VALIDATION, sizes[0]))
    split = split_of(np.arange(train), validation, np.sort(places), labels)
    name = stem.name.removeprefix("ind.")
    edges = part("graph", _edges)
    return graph_at(stem, edges, features, labels, source=f"{name}, Planetoid files", splits=(split,))


class PickledMatrix:
    """The state of a sparse matrix, not yet checked."""

    state: Any = None

    def __init__(self, *_: Any) -> None: ...

    def describe(self, state: Any) -> None:
        self.state = state


def _table_of_lists(*_: Any) -> dict[Any, Any]:
    return {}


ADMITTED = {
    **pickles.ARRAYS,
    ("scipy.sparse.csr", "csr_matrix"): PickledMatrix,
    ("scipy.sparse._csr", "csr_matrix"): PickledMatrix,
    ("collections", "defaultdict"): _table_of_lists,
    ("__builtin__", "list"): pickles.only_a_name,
    ("builtins", "list"): pickles.only_a_name,
}


def _unpickled(content: bytes) -> Any:
    return pickles.load(content, ADMITTED, needed_by="no Planetoid graph")


def _matrix(content: bytes) -> sparse.csr_matrix:
    found = _unpickled(content)
    if isinstance(found, pickles.PickledArray):
        dense = pickles.array(found)
        require(dense.ndim == 2, "its features are no table")
        return sparse.csr_matrix(dense)
    require(isinstance(found, PickledMatrix) and isinstance(found.state, dict), "it holds no sparse matrix")
    state = found.state
    shape = state["_shape"] if "_shape" in state else state["shape"]
    require(pickles.is_shape(shape) and len(shape) == 2, "its sparse matrix has no shape")
    data, indices, indptr = (pickles.array(state[name]) for name in ("data", "indices", "indptr"))
    return csr(data, indices, indptr, shape)


def _labels(content: bytes) -> np.ndarray:
    """Classes [rows] of one-hot rows."""
    one_hot = pickles.array(_unpickled(content))
    require(one_hot.ndim == 2 and one_hot.shape[1] > 0, "its labels are no one-hot rows")
    require(bool(np.isin(one_hot, (0, 1)).all() and (one_hot.sum(axis=1) <= 1).all()), "its labels are no one-hot rows")
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNLABELLED)


def _edges(content: bytes) -> np.ndarray:
    """Edges [listed, 2], in both directions where the file has both."""
    table = _unpickled(content)
    require(isinstance(table, dict), "it holds no table of neighbours")
    lists = list(table.values())
    require(all(type(neighbours) is list for neighbours in lists), "its neighbours are no lists")
    lengths = [len(neighbours) for neighbours in lists]
    require(sum(lengths) <= len(content), "it repeats its lists")
    ends = [end for neighbours in lists for end in neighbours]
    require(all(type(node) is int for node in [*table, *ends]), "a node is no integer")
    return np.stack([np.repeat(np.asarray(list(table), np.int64), lengths), np.asarray(ends, np.int64)], axis=1)


def _places(content: bytes) -> np.ndarray:
    words = content.decode().split()
    require(all(word.isascii() and word.isdigit() and len(word) < 19 for word in words), "a line is not one integer")
    return np.asarray([int(word) for word in words], np.int64)
