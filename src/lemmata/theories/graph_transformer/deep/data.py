"""The setting of the deep models on real graphs (3.10); the graph as the networks read it, made once and shared by all
runs, and which of its nodes are labelled.

A graph is large and the same for all runs of a cell, so it is put on the device once and passed to compiled code
unstacked; runs therefore follow one another also on a GPU.
"""

import functools
import threading
from collections.abc import Iterator
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
from lemmata.theories.graph_transformer.sampling import Ordered, order_by_distance

GRAPHS = ("standin", "cora", "citeseer", "pubmed", "actor", "pascal", "arxiv")
SAMPLERS = ("whole", "stratified", "single")
SPARSE = 8
"""Features are kept as lists of entries if the longest list, times this, is shorter than a row."""
STANDIN_SEED = 0

_lock = threading.Lock()


class DeepSetting(lm.Setting):
    """One graph, one split of its nodes, one network."""

    graph: str = lm.choice("cora", "the graph; standin is drawn, the others are read from $LEMMATA_DATA", *GRAPHS)
    model: str = lm.choice("gt", "graph transformer, or graph convolutions", "gt", "gcn")
    sampler: str = lm.choice("whole", "keys of the whole graph, of near shells and the graph, or of one", *SAMPLERS)
    split: str = lm.choice("random", "labelled nodes: drawn by every seed, or those of the data", "random", "public")
    row_normalise: bool = lm.flag(False, "features of a node divided by their sum")
    decayed: str = lm.choice("all", "layers with weight decay", "all", "first")

    train_encoding: int = lm.number(1, "", "1: b is trained, 0: it stays 0 (no encoding)", low=0, high=1, integer=True)
    distance: int = lm.number(1, "z", "the shell of the sampler single", low=1, high=250, integer=True)
    labelled: float = lm.number(0.0, "", "labelled share of a class (0: per_class)", low=0, high=1, open_ends="high")
    per_class: int = lm.number(20, "", "labelled nodes of every class where labelled is 0", low=1, integer=True)
    steps: int = lm.number(200, "T", "training steps, each on all labelled nodes", low=0, high=10**6, integer=True)
    step_size: float = lm.number(1e-3, "η", "step size of Adam", low=0, open_ends="low")
    weight_decay: float = lm.number(5e-4, "", "weight decay, added to the gradient", low=0)
    dropout: float = lm.number(0.2, "", "share of dropped entries in training", low=0, high=1, open_ends="high")

    sample: int = lm.size(20, "|S|", "nodes drawn for a node (whole, single)")
    reach: int = lm.size(4, "", "the stratified sampler draws from shells 1, 2, ... up to this one")
    per_shell: int = lm.size(4, "", "nodes drawn from each of them, and as many more from the whole graph")
    bins: int = lm.size(20, "Z", "distances that b tells apart; the last stands for all from Z - 1 on", low=2, high=250)
    layers: int = lm.size(4, "", "layers")
    heads: int = lm.size(4, "", "attention heads")
    width: int = lm.size(64, "", "width of a node inside the transformer")
    feedforward: int = lm.size(128, "", "hidden width of its perceptrons")
    gcn_width: int = lm.size(0, "", "width of the GCN (0: as many parameters as the transformer)", low=0)
    eval_samples: int = lm.size(5, "", "samples over which a test averages the outputs")
    records: int = lm.size(5, "", "records of loss and accuracy", low=2)

    @lm.derived
    def first_shell(self) -> int:
        """The shells from which `sample` nodes are drawn: one, or all (whole and single are one program)."""
        return self.distance if self.sampler == "single" else 1

    @lm.derived
    def last_shell(self) -> int:
        return self.distance if self.sampler == "single" else self.bins + 1

    @lm.fixed
    def strata(self) -> int:
        return self.reach if self.sampler == "stratified" else 0

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from self.indivisible("heads", "width")
        yield from self.exceeding("distance", "bins", ["distance"])
        yield from self.exceeding("reach", "bins", ["reach"])
        if self.decayed == "first" and self.model != "gcn":
            yield "decayed = first is not allowed with model = gt: only graph convolutions have such a first layer."

    def warnings(self) -> list[str]:
        return ["the graph is a drawn stand-in, not real data."] if self.graph == "standin" else []


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


standin = functools.lru_cache(maxsize=1)(lambda: standins.citation(STANDIN_SEED))


def read(name: str) -> Graph:
    """The graph of a name; the same object while its files do not change."""
    return standin() if name == "standin" else graphs.load(graphs.find(name))


@functools.lru_cache(maxsize=4)
def shared_shells(graph: Graph, cap: int) -> Ordered:
    ordered = order_by_distance(distance_table(graph, cap), cap)
    return Ordered(*jax.device_put((ordered.node, ordered.start)))


@functools.lru_cache(maxsize=4)
def shared_inputs(graph: Graph, row_normalise: bool) -> Inputs:
    features = sparse.csr_matrix(graph.features, dtype=np.float32)
    if row_normalise:
        total = np.asarray(features.sum(axis=1)).ravel()
        scale = sparse.diags_array(1 / np.where(total == 0, 1, total))
        features = sparse.csr_matrix(scale @ features, dtype=np.float32)
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
    field = "labelled" if setting.labelled else "per_class"
    for c in range(graph.classes):
        members = rng.permutation(np.flatnonzero(graph.labels == c))
        share = round(setting.labelled * len(members), 9)
        count = max(1, int(np.rint(share))) if setting.labelled else setting.per_class
        if count >= len(members):
            asked = f"{field} = {getattr(setting, field):g} is not allowed"
            has = f"{graph.source} has {len(members)} nodes of class {c}, and at least one of them is for the test"
            raise lm.UserError(f"{asked}: {has}.")
        train.append(members[:count])
    known = np.flatnonzero(graph.labels != UNLABELLED)
    labelled = np.concatenate(train)
    return _split(graph, labelled, known[~np.isin(known, labelled)])


def _split(graph: Graph, train: np.ndarray, test: np.ndarray) -> Split:
    def weights(nodes: np.ndarray) -> np.ndarray:
        return (np.bincount(nodes, minlength=graph.nodes) / len(nodes)).astype(np.float32)

    return Split(np.maximum(graph.labels, 0).astype(np.int32), weights(train), weights(test))
