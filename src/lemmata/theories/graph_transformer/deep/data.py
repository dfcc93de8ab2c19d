"""The graph as the networks read it, made once and shared by all runs, and which of its nodes are labelled.

A graph is large and the same for all runs of a cell, so it is put on the device once and passed to compiled code
unstacked; runs therefore follow one another also on a GPU.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.datasets import graphs
from lemmata.datasets.graphs import standins
from lemmata.datasets.graphs.distances import distance_table
from lemmata.datasets.graphs.graph import UNLABELLED, Graph
from lemmata.theories.graph_transformer.deep.setting import DeepSetting
from lemmata.theories.graph_transformer.sampling import Ordered, order_by_distance

SPARSE = 8
"""Features are kept as lists of entries if the longest list, times this, is shorter than a row."""
STANDIN_SEED = 0

_lock = threading.Lock()


class Entries(NamedTuple):
    """Sparse features: the entries of every node, padded with zeros."""

    column: Int[Array, "node entry"]
    value: Float[Array, "node entry"]


class Inputs(NamedTuple):
    """What both networks read: features, and the edges of D^-1/2 (A + I) D^-1/2 in the order of their targets."""

    features: Any
    source: Int[Array, " edge"]
    target: Int[Array, " edge"]
    weight: Float[Array, " edge"]


class Split(NamedTuple):
    """Labels, and the nodes that are trained and tested on, as weights that add up to 1."""

    label: Int[np.ndarray, " node"]
    train: Float[np.ndarray, " node"]
    test: Float[np.ndarray, " node"]


class Prepared(NamedTuple):
    """A run's data. `shells` is None for graph convolutions, which need no distances."""

    inputs: Inputs
    shells: Ordered | None
    split: Split
    columns: int
    classes: int


def prepare(setting: DeepSetting, seed: int) -> Prepared:
    """Read the graph, search its distances, and draw the labelled nodes of this seed."""
    with _lock:  # two threads must not search the same graph
        graph = read(setting.graph)
        inputs = shared_inputs(graph, setting.row_normalise)
        # bins and single shells up to Z are exact; one more stands for all beyond
        shells = shared_shells(graph, setting.bins + 1) if setting.model == "gt" else None
    return Prepared(inputs, shells, draw_split(graph, setting, seed), graph.features.shape[1], graph.classes)


def read(name: str) -> Graph:
    """The graph of a name; the same object while its files do not change."""
    return _standin() if name == "standin" else graphs.load(graphs.find(name))


@functools.lru_cache(maxsize=1)
def _standin() -> Graph:
    return standins.citation(STANDIN_SEED)


@functools.lru_cache(maxsize=4)
def shared_shells(graph: Graph, cap: int) -> Ordered:
    ordered = order_by_distance(distance_table(graph, cap), cap)
    return Ordered(*jax.device_put((ordered.node, ordered.start)))


@functools.lru_cache(maxsize=4)
def shared_inputs(graph: Graph, row_normalise: bool) -> Inputs:
    features = sparse.csr_matrix(graph.features, dtype=np.float32)
    if row_normalise:
        total = np.asarray(features.sum(axis=1)).ravel()
        features = sparse.csr_matrix(
            sparse.diags_array(1 / np.where(total == 0, 1, total)) @ features, dtype=np.float32
        )
    return Inputs(*jax.device_put((laid_out(features), *normalised_edges(graph))))


def laid_out(features: sparse.csr_matrix) -> Any:
    """Lists of entries where they are few, else a plain matrix."""
    counts = np.diff(features.indptr)
    most = max(1, int(counts.max(initial=0)))
    if most * SPARSE > features.get_shape()[1]:
        return features.toarray()
    used = np.arange(most) < counts[:, None]
    column, value = np.zeros(used.shape, np.int32), np.zeros(used.shape, np.float32)
    column[used], value[used] = features.indices, features.data
    return Entries(jnp.asarray(column), jnp.asarray(value))


def normalised_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(source, target, weight) of D^-1/2 (A + I) D^-1/2, where D has the degrees of A + I."""
    root = 1 / np.sqrt(graph.degree + 1.0)
    looped = sparse.csr_matrix(graph.adjacency + sparse.eye_array(graph.nodes))
    target = np.repeat(np.arange(graph.nodes), np.diff(looped.indptr))
    source = looped.indices
    return source.astype(np.int32), target.astype(np.int32), (root[source] * root[target]).astype(np.float32)


def draw_split(graph: Graph, setting: DeepSetting, seed: int) -> Split:
    """The labelled nodes of a seed: equally many of every class, or an equal share of it; more of them extend fewer.

    All other nodes with a known label are for the test; with the public split its own test nodes are.
    """
    if setting.split == "public":
        if not graph.splits:
            raise lm.UserError(f"split = public is not allowed: {graph.source} has no split of its own.")
        chosen = graph.splits[0]
        return _split(graph, chosen.train, chosen.test)
    rng = np.random.default_rng([seed, 1])
    train = []
    for c in range(graph.classes):
        members = rng.permutation(np.flatnonzero(graph.labels == c))
        share = round(setting.labelled * len(members), 9)
        count = max(1, int(np.rint(share))) if setting.labelled else setting.per_class
        if count >= len(members):
            field = "labelled" if setting.labelled else "per_class"
            raise lm.UserError(
                f"{field} = {getattr(setting, field):g} is not allowed: {graph.source} has {len(members)} nodes of "
                f"class {c}, and at least one of them is for the test."
            )
        train.append(members[:count])
    known = np.flatnonzero(graph.labels != UNLABELLED)
    labelled = np.concatenate(train)
    return _split(graph, labelled, known[~np.isin(known, labelled)])


def _split(graph: Graph, train: np.ndarray, test: np.ndarray) -> Split:
    def weights(nodes: np.ndarray) -> np.ndarray:
        return (np.bincount(nodes, minlength=graph.nodes) / len(nodes)).astype(np.float32)

    return Split(np.maximum(graph.labels, 0).astype(np.int32), weights(train), weights(test))
