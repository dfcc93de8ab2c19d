"""Graphs from arrays: what is kept, what is left out, and what is refused with one sentence."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.datasets import graphs
from lemmata.datasets.graphs import Graph
from lemmata.lab.errors import UserError

PATH = [(0, 1), (1, 2), (2, 3)]


def test_an_edge_counts_once_whatever_its_direction_and_a_loop_not_at_all() -> None:
    graph = graphs.make_graph([(2, 1), (1, 2), (0, 1), (0, 1), (3, 3)], None, [0, 1, 0, 1])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.degree.tolist() == [1, 2, 1, 0]
    assert graph.features.shape == (4, 0)
    assert graph.classes == 2


def test_homophily_is_the_share_of_edges_between_known_nodes_of_one_class() -> None:
    graph = graphs.make_graph([*PATH, (0, 2)], None, [0, 0, 1, -1])
    assert graph.homophily == pytest.approx(1 / 3)
    assert np.isnan(graphs.make_graph([], None, [0, 1]).homophily)


def test_a_graph_without_edges_is_a_graph() -> None:
    graph = graphs.make_graph([], [[1.0], [2.0]], [0, 1])
    assert graph.edges.shape == (0, 2)
    assert graph.adjacency.nnz == 0
    assert graph.degree.tolist() == [0, 0]


@given(st.integers(1, 12), st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_the_adjacency_gives_the_same_graph_back(nodes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = graphs.make_graph(rng.integers(0, nodes, (rng.integers(0, 30), 2)), None, rng.integers(0, 3, nodes))
    dense = graph.adjacency.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert not dense.diagonal().any()
    for adjacency in (dense, graph.adjacency, sparse.coo_matrix(dense), dense.astype(bool), dense.tolist()):
        np.testing.assert_array_equal(graphs.from_arrays(adjacency, None, graph.labels).edges, graph.edges)


@pytest.mark.parametrize(("adjacency", "said"), [([[0, 1], [0, 0]], "not symmetric"), ([[1, 1], [1, 0]], "self-loops")])
def test_an_adjacency_that_is_not_simple_is_refused_unless_symmetrized(adjacency: list[list[int]], said: str) -> None:
    with pytest.raises(UserError, match=f"{said}.*symmetrize=True"):
        graphs.from_arrays(adjacency, None, [0, 1])
    assert graphs.from_arrays(adjacency, None, [0, 1], symmetrize=True).edges.tolist() == [[0, 1]]


def test_an_adjacency_with_nan_is_refused() -> None:
    with pytest.raises(UserError, match="finite"):
        graphs.from_arrays([[0, np.nan], [np.nan, 0]], None, [0, 1])


def test_a_stored_zero_is_no_edge() -> None:
    adjacency = sparse.csr_matrix(([1.0, 1.0, 0.0], ([0, 1, 0], [1, 0, 2])), shape=(3, 3))
    assert graphs.from_arrays(adjacency, None, [0, 1, 1]).edges.tolist() == [[0, 1]]


def test_sparse_features_stay_sparse_and_equal_the_dense_ones() -> None:
    dense = np.eye(4)
    graph = graphs.from_edge_list(PATH, [0, 1, 0, 1], sparse.coo_matrix(dense))
    assert sparse.issparse(graph.features)
    assert graph.features.dtype == np.float32
    np.testing.assert_array_equal(graph.dense_features, graphs.from_edge_list(PATH, [0, 1, 0, 1], dense).dense_features)


REFUSED = {
    "no node": lambda: graphs.make_graph([], None, []),
    "no label is known": lambda: graphs.make_graph([], None, [-1, -1]),
    "label below -1": lambda: graphs.make_graph([], None, [-2, 1]),
    "label that no number of classes explains": lambda: graphs.make_graph([], None, [0, 10**12]),
    "label of 1.5": lambda: graphs.make_graph([], None, [0, 1.5]),
    "label infinite": lambda: graphs.make_graph([], None, [0, float("inf")]),
    "labels in a table": lambda: graphs.make_graph([], None, [[0, 1], [1, 0]]),
    "node out of range": lambda: graphs.make_graph([(0, 4)], None, [0, 1, 0, 1]),
    "negative node": lambda: graphs.make_graph([(0, -1)], None, [0, 1]),
    "node too large for any integer": lambda: graphs.make_graph([(0, 2**70)], None, [0, 1]),
    "three nodes to an edge": lambda: graphs.make_graph([(0, 1, 2)], None, [0, 1, 0]),
    "ragged edges": lambda: graphs.make_graph([(0, 1), (0,)], None, [0, 1]),
    "features of another number of nodes": lambda: graphs.make_graph(PATH, np.ones((3, 2)), [0, 1, 0, 1]),
    "features in a line": lambda: graphs.make_graph(PATH, np.ones(4), [0, 1, 0, 1]),
    "features in words": lambda: graphs.make_graph([], [["a"], ["b"]], [0, 1]),
    "features complex": lambda: graphs.make_graph([], [[1j], [2.0]], [0, 1]),
    "sparse features complex": lambda: graphs.make_graph([], sparse.csr_matrix([[1j], [2.0]]), [0, 1]),
    "features NaN": lambda: graphs.make_graph([], [[1.0], [float("nan")]], [0, 1]),
    "features beyond 32 bits": lambda: graphs.make_graph([], [[1.0], [1e300]], [0, 1]),
    "sparse features infinite": lambda: graphs.make_graph([], sparse.csr_matrix([[1.0], [np.inf]]), [0, 1]),
    "adjacency not square": lambda: graphs.from_arrays(np.ones((2, 3)), None, [0, 1]),
    "adjacency in words": lambda: graphs.from_arrays([["a", "b"], ["c", "d"]], None, [0, 1]),
    "adjacency of other size": lambda: graphs.from_arrays(np.zeros((3, 3)), None, [0, 1]),
    "no adjacency": lambda: graphs.from_arrays(None, None, [0, 1]),
    "ragged adjacency": lambda: graphs.from_arrays([[0, 1], [1]], None, [0, 1]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_graph_is_refused_with_one_sentence_and_no_warning(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserError, match=r"^given arrays: [^\n]*\.$"):
            REFUSED[case]()


def test_a_graph_cannot_be_changed_by_assignment() -> None:
    graph: Graph = graphs.make_graph(PATH, None, [0, 1, 0, 1])
    with pytest.raises(AttributeError):
        graph.labels = np.zeros(4)  # type: ignore[misc]
