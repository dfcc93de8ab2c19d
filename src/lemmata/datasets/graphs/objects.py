"""Graphs of other libraries, recognised by what they have: NetworkX, PyTorch Geometric, matrices and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse

from lemmata.datasets.graphs.graph import Graph, classes_of, from_arrays, make_graph
from lemmata.lab.errors import UserError

LABELS = ("label", "y", "class", "target", "club", "block", "group", "community")
FEATURES = ("x", "features", "feat", "feature")
"""Names under which the nodes of a NetworkX graph have their label and their features."""
ADVICE = (
    "a graph is a lemmata Graph, a NetworkX graph whose nodes have a label, a PyTorch Geometric Data with edge_index "
    "and y, or a mapping with edges (or adjacency), labels and perhaps features"
)


def from_object(data: Any) -> Graph:
    """The graph of an object of Python."""
    if isinstance(data, Graph):
        return data
    if hasattr(data, "edge_index") and hasattr(data, "y"):
        return _geometric(data)
    if hasattr(data, "adj") and hasattr(data, "nodes"):
        return _networkx(data)
    if isinstance(data, Mapping) and "labels" in data:
        return _mapping(data)
    raise UserError(f"An object of type {type(data).__name__} is no graph: {ADVICE}.")


def _geometric(data: Any) -> Graph:
    if data.y is None or data.edge_index is None:
        raise UserError(f"The PyTorch Geometric graph has no {'y' if data.y is None else 'edge_index'}: {ADVICE}.")
    features = None if getattr(data, "x", None) is None else _array(data.x)
    return make_graph(_array(data.edge_index).T, features, _array(data.y), "PyTorch Geometric graph")


def _networkx(data: Any) -> Graph:
    nodes = list(data.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    named = {name for node in nodes for name in data.nodes[node]}
    label = next((name for name in LABELS if name in named), None)
    if label is None:
        raise UserError(f"No node of the NetworkX graph has a label; it may be named {', '.join(LABELS)}.")
    labels = classes_of(np.asarray([data.nodes[node].get(label) for node in nodes], object), "NetworkX graph")
    place = next((name for name in FEATURES if all(name in data.nodes[node] for node in nodes)), None)
    rows = None if place is None else [np.ravel(_array(data.nodes[node][place])) for node in nodes]
    if rows and len({len(row) for row in rows}) > 1:
        raise UserError("NetworkX graph: its nodes have features of different lengths.")
    features = None if rows is None else np.stack(rows)
    edges = [(number[first], number[second]) for first, second in data.edges()]
    return make_graph(np.asarray(edges, np.int64).reshape(-1, 2), features, labels, "NetworkX graph")


def _mapping(data: Mapping[str, Any]) -> Graph:
    labels, features = classes_of(_array(data["labels"])), data.get("features")
    features = features if features is None else _array(features)
    if "adjacency" in data:
        return from_arrays(data["adjacency"], features, labels, symmetrize=True)
    if "edges" in data:
        return make_graph(_array(data["edges"]), features, labels)
    raise UserError(f"The mapping has neither edges nor adjacency: {ADVICE}.")


def _array(values: Any) -> Any:
    """Of a tensor of any device, or of anything that NumPy reads; a sparse matrix stays one."""
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    try:
        return values if sparse.issparse(values) else np.asarray(values)
    except ValueError:
        raise UserError("given arrays: rows of different lengths are no table.") from None
