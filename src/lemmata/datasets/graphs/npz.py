"""A graph in one npz file, in one of three layouts told apart by the names of their arrays.

The layout of collected citation graphs (`edges`, compressed rows `x_*`, `y`, public and Geom-GCN splits), that of
Platonov's heterophilous graphs (`node_features`, `node_labels`, `edges`, `*_masks`), and the neutral one
(`edge_index`, `y` and, if there are features, `x`) into which any graph can be written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lemmata.datasets import files
from lemmata.datasets.files import DamagedError, require
from lemmata.datasets.graphs.graph import UNLABELLED, Graph, Split, classes_of
from lemmata.datasets.graphs.parts import csr, graph_at, split_of, split_of_masks

Arrays = dict[str, np.ndarray]
COLLECTED = {"edges", "x_data", "x_indices", "x_indptr", "x_shape", "y"}
HETEROPHILOUS = {"edges", "node_features", "node_labels"}
NEUTRAL = {"edge_index", "y"}
LAYOUTS = "an npz file holds edge_index and y (and x), or edges, node_features and node_labels, or edges, x_* and y"


class Contents(NamedTuple):
    """What every layout comes to."""

    edges: np.ndarray
    features: Any
    labels: np.ndarray
    splits: tuple[Split, ...] = ()


def load(file: Path) -> Graph:
    """The graph of a file in any of the three layouts; its splits are the public one, if there is one, then others."""
    contents = files.read(file, _contents, "a graph", LAYOUTS)
    return graph_at(file, contents.edges, contents.features, contents.labels, source=file.stem, splits=contents.splits)


def _contents(content: bytes) -> Contents:
    arrays = files.arrays(content)
    for needed, understand in ((COLLECTED, _collected), (HETEROPHILOUS, _heterophilous), (NEUTRAL, _neutral)):
        if needed <= arrays.keys():
            return understand(arrays)
    shown = ascii(", ".join(sorted(arrays)[:12]))
    raise DamagedError(f"its arrays are {shown[:200]}")


def _collected(arrays: Arrays) -> Contents:
    shape = arrays["x_shape"]
    require(shape.shape == (2,) and shape.dtype.kind in "iu", "x_shape is not two integers")
    features = csr(arrays["x_data"], arrays["x_indices"], arrays["x_indptr"], shape)
    labels = classes_of(arrays["y"])
    if "isolated_unlabelled_idx" in arrays:
        unknown = split_of(arrays["isolated_unlabelled_idx"], [], [], np.zeros_like(labels)).train
        labels[unknown] = UNLABELLED
    splits: tuple[Split, ...] = ()
    if arrays.keys() >= {"train_idx", "val_idx", "test_idx"}:
        splits = (split_of(arrays["train_idx"], arrays["val_idx"], arrays["test_idx"], labels),)
    return Contents(arrays["edges"], features, labels, splits + _splits(arrays, "geom_", labels))


def _heterophilous(arrays: Arrays) -> Contents:
    labels = classes_of(arrays["node_labels"])
    return Contents(arrays["edges"], arrays["node_features"], labels, _splits(arrays, "", labels))


def _neutral(arrays: Arrays) -> Contents:
    """Edges as [2, edges] or [edges, 2]; 2 x 2 is read as [2, edges]."""
    edges = arrays["edge_index"]
    require(edges.ndim == 2 and 2 in edges.shape, f"edge_index has shape {edges.shape}, not [2, edges]")
    return Contents(edges.T if edges.shape[0] == 2 else edges, arrays.get("x"), classes_of(arrays["y"]))


def _splits(arrays: Arrays, prefix: str, labels: np.ndarray) -> tuple[Split, ...]:
    names = [f"{prefix}{part}_masks" for part in ("train", "val", "test")]
    if not arrays.keys() >= set(names):
        return ()
    train, validation, test = (arrays[name] for name in names)
    require(train.ndim == 2 and train.shape == validation.shape == test.shape, "its masks are not [splits, nodes]")
    return tuple(split_of_masks(*three, labels=labels) for three in zip(train, validation, test, strict=True))
