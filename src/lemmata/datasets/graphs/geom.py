"""Geom-GCN's text files (Pei 2020): `out1_graph_edges.txt` and `out1_node_feature_label.txt` in a folder.

A node's features are a list of zeros and ones, or, in Actor ("film"), the indices of the ones.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from lemmata.datasets import files
from lemmata.datasets.files import DamagedError, require
from lemmata.datasets.graphs.graph import Graph, Split
from lemmata.datasets.graphs.parts import MOST_FEATURES, columns, graph_at, split_of_masks

EDGES, NODES = "out1_graph_edges.txt", "out1_node_feature_label.txt"
SPLITS = "*_split_0.6_0.2_*.npz"
FILM, FILM_FEATURES = "film", 932
ADVICE = f"a Geom-GCN folder holds {EDGES} and {NODES}, tab-separated with a header, and may hold {SPLITS}"


def is_here(folder: Path) -> bool:
    return (folder / EDGES).is_file() or (folder / NODES).is_file()


def files_of(folder: Path) -> list[Path]:
    return [folder / EDGES, folder / NODES, *sorted(folder.glob(SPLITS), key=_number)]


def load(folder: Path) -> Graph:
    """The graph of a folder, with a split for every `*_split_0.6_0.2_*.npz` beside it, in their order."""
    width = FILM_FEATURES if folder.name == FILM else 0
    features, labels = files.read(folder / NODES, lambda content: _nodes(content, width), "a Geom-GCN graph", ADVICE)
    edges = files.read(folder / EDGES, _edges, "a Geom-GCN graph", ADVICE)
    found = files_of(folder)[2:]
    splits = tuple(files.read(file, lambda content: _split(content, labels), "a split", ADVICE) for file in found)
    return graph_at(folder, edges, features, labels, source=f"{folder.name}, Geom-GCN files", splits=splits)


class Line(NamedTuple):
    """A node's line: its number, its list of features as written, and its label."""

    node: int
    listed: np.ndarray
    label: int


def _edges(content: bytes) -> np.ndarray:
    return columns(files.text(content), int, 2, header=True)


def _nodes(content: bytes, width: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Features [nodes, max(width, features listed)] and labels [nodes], put into the order of the nodes' numbers."""
    rows = files.text(content).splitlines()[1:]
    lines = sorted((_line(row, at) for at, row in enumerate(rows, start=2) if row.strip()), key=lambda line: line.node)
    require(len(lines) > 0, "it has no nodes")
    require(
        [line.node for line in lines] == list(range(len(lines))), f"its nodes are not 0 to {len(lines) - 1}, each once"
    )
    lengths = np.asarray([len(line.listed) for line in lines])
    values = np.concatenate([line.listed for line in lines])
    owner = np.repeat(np.arange(len(lines)), lengths)
    if values.max(initial=0) <= 1:
        require(bool((lengths == lengths[0]).all()), "its nodes have lists of zeros and ones of different lengths")
        features = sparse.csr_matrix(values.reshape(len(lines), lengths[0]))
    else:
        width = max(width, int(values.max()) + 1)
        require(width <= MOST_FEATURES, f"it names feature {width - 1}; at most {MOST_FEATURES} are read")
        require(bool(lengths.max() <= width), f"a node lists {lengths.max()} features, but the largest is {width - 1}")
        features = sparse.csr_matrix((np.ones(len(values)), (owner, values)), shape=(len(lines), width))
        features.data[:] = 1  # a feature that is listed twice counts once
    return features, np.asarray([line.label for line in lines])


def _line(row: str, at: int) -> Line:
    try:
        node, listed, label = row.split("\t")
        values = [int(value) for value in listed.split(",") if value.strip()]
        if min(values, default=0) >= 0:
            return Line(int(node), np.asarray(values, np.int64), int(label))
    except (ValueError, OverflowError):
        pass
    raise DamagedError(f"line {at} is not a node, its features between commas and its label, with tabs between them")


def _number(file: Path) -> int:
    last = re.search(r"(\d+)\.npz$", file.name)
    return int(last[1]) if last else 0


def _split(content: bytes, labels: np.ndarray) -> Split:
    arrays = files.arrays(content)
    return split_of_masks(arrays["train_mask"], arrays["val_mask"], arrays["test_mask"], labels)
