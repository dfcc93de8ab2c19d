"""Truncated distances against breadth-first searches of SciPy and networkx."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from lemmata.datasets.graphs import Graph, distance_blocks, distance_table, distances, make_graph
from lemmata.lab.errors import UserError


def unlabelled(nodes: int, edges: object) -> Graph:
    return make_graph(edges, None, np.zeros(nodes, int))


def by_scipy(graph: Graph, cap: int) -> np.ndarray:
    return np.minimum(shortest_path(graph.adjacency, unweighted=True), cap).astype(np.uint8)


def random_graph(nodes: int, edges: int, seed: int) -> Graph:
    return unlabelled(nodes, np.random.default_rng(seed).integers(0, nodes, (edges, 2)))


def test_distances_on_a_path_are_differences() -> None:
    place = np.arange(10)
    graph = unlabelled(10, np.stack([place[:-1], place[1:]], axis=1))
    apart = np.abs(place[:, None] - place)
    np.testing.assert_array_equal(distance_table(graph, 20), apart)
    np.testing.assert_array_equal(distance_table(graph, 4), np.minimum(apart, 4))


def test_distances_on_a_cycle_go_the_shorter_way() -> None:
    place = np.arange(9)
    apart = np.abs(place[:, None] - place)
    graph = unlabelled(9, np.stack([place, (place + 1) % 9], axis=1))
    np.testing.assert_array_equal(distance_table(graph, 20), np.minimum(apart, 9 - apart))


@pytest.mark.parametrize("cap", [1, 2, 7, 255])
def test_the_cap_stands_for_what_cannot_be_reached(cap: int) -> None:
    table = distance_table(unlabelled(4, [(0, 1)]), cap)
    np.testing.assert_array_equal(table, np.where(np.eye(4), 0, [[1, 1, cap, cap], [1, 1, cap, cap]] + [[cap] * 4] * 2))


def test_a_graph_without_edges_has_only_capped_distances() -> None:
    np.testing.assert_array_equal(distance_table(unlabelled(5, []), 3), 3 - 3 * np.eye(5))


@given(st.integers(1, 90), st.integers(0, 200), st.integers(1, 30), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_random_graphs_agree_with_scipy(nodes: int, edges: int, cap: int, seed: int) -> None:
    graph = random_graph(nodes, edges, seed)
    np.testing.assert_array_equal(distance_table(graph, cap), by_scipy(graph, cap))


def test_a_random_graph_agrees_with_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    graph = random_graph(60, 70, 1)
    other = networkx.Graph(graph.edges.tolist())
    other.add_nodes_from(range(60))
    expected = np.full((60, 60), 9)
    for source, reached in networkx.all_pairs_shortest_path_length(other, cutoff=8):
        expected[source, list(reached)] = list(reached.values())
    np.testing.assert_array_equal(distance_table(graph, 9), expected)


@pytest.mark.parametrize("words", [1, 3, 8, 11])
def test_distances_do_not_depend_on_the_size_of_a_block(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(700, 900, 2)
    monkeypatch.setattr(distances, "WORDS", words)
    np.testing.assert_array_equal(distance_table(graph, 12), by_scipy(graph, 12))


def test_blocks_are_the_rows_of_the_sources_in_their_order() -> None:
    graph = random_graph(600, 800, 3)
    sources = np.random.default_rng(0).integers(0, 600, 530)
    blocks = list(distance_blocks(graph, 6, sources))
    assert len(blocks) == 2
    np.testing.assert_array_equal(np.concatenate([block for block, _ in blocks]), sources)
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in blocks]), by_scipy(graph, 6)[sources])
    assert list(distance_blocks(graph, 6, sources[:0])) == []


def test_no_table_is_made_beyond_the_limit_but_blocks_are() -> None:
    graph = unlabelled(distances.LARGEST_TABLE + 1, [(0, 1), (1, distances.LARGEST_TABLE)])
    with pytest.raises(UserError, match=r"20001 nodes.*at most 20000\.$"):
        distance_table(graph, 5)
    ((_, rows),) = distance_blocks(graph, 5, np.asarray([0]))
    assert rows[0, [0, 1, 2, -1]].tolist() == [0, 1, 5, 2]
