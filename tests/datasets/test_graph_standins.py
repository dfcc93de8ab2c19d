"""Graphs that need no file: what they are like, that they are the same every time, and that they say what they are."""

import numpy as np
import pytest
import scipy.sparse as sparse

from lemmata.datasets.graphs import Graph, standins

BLOCKS = {"citation": standins.citation, "heterophilous": standins.heterophilous}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_seed_gives_one_graph_and_another_seed_another(name: str) -> None:
    first, again, other = (BLOCKS[name](seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.edges, again.edges)
    np.testing.assert_array_equal(first.dense_features, again.dense_features)
    assert first.edges.shape != other.edges.shape or (first.edges != other.edges).any()


@pytest.mark.parametrize("seed", range(3))
def test_the_citation_graph_is_sparse_homophilous_and_has_bags_of_words(seed: int) -> None:
    graph = standins.citation(seed)
    assert (graph.nodes, graph.classes) == (600, 4)
    assert graph.homophily == pytest.approx(0.8, abs=0.05)
    assert graph.degree.mean() == pytest.approx(4, abs=0.4)
    assert sparse.issparse(graph.features)
    assert set(np.unique(graph.dense_features)) == {0, 1}
    assert standins.citation(seed, nodes=120, classes=3).classes == 3


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_in_the_heterophilous_graph_mostly_differ(seed: int) -> None:
    assert standins.heterophilous(seed).homophily < 0.2


@pytest.mark.parametrize("name", BLOCKS)
def test_words_tell_the_class(name: str) -> None:
    graph = BLOCKS[name](0)
    own = graph.dense_features[:, : 4 * standins.WORDS_PER_CLASS].reshape(-1, 4, standins.WORDS_PER_CLASS).sum(axis=2)
    assert np.mean(own.argmax(axis=1) == graph.labels) > 0.7


@pytest.mark.parametrize("name", BLOCKS)
def test_the_split_has_twenty_nodes_a_class_and_every_node_once(name: str) -> None:
    graph = BLOCKS[name](0)
    (split,) = graph.splits
    assert np.bincount(graph.labels[split.train]).tolist() == [20] * 4
    assert sorted(np.concatenate(split).tolist()) == list(range(600))


def test_superpixels_are_a_grid_with_connected_regions_of_colour() -> None:
    graph = standins.superpixels()
    rows, columns = 427 // 20, 640 // 20
    assert graph.nodes == rows * columns
    assert len(graph.edges) == rows * (columns - 1) + columns * (rows - 1)
    assert set(np.diff(graph.edges, axis=1).ravel()) == {1, columns}
    assert graph.features.shape == (graph.nodes, 14)
    assert graph.homophily > 0.7
    assert np.bincount(graph.labels).min() > 50
    brightness = [graph.features[graph.labels == label, :3].mean() for label in range(3)]
    assert brightness == sorted(brightness)
    standins.superpixels.cache_clear()
    np.testing.assert_array_equal(standins.superpixels().labels, graph.labels)


def test_the_karate_club_is_that_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    graph = standins.karate()
    assert {tuple(edge) for edge in graph.edges.tolist()} == {tuple(sorted(edge)) for edge in club.edges}
    assert [club.nodes[member]["club"] != "Mr. Hi" for member in range(34)] == graph.labels.astype(bool).tolist()
    assert (graph.nodes, len(graph.edges)) == (34, 78)
    np.testing.assert_array_equal(graph.features, np.eye(34))


def everyone() -> list[Graph]:
    return [standins.citation(0), standins.heterophilous(0), standins.superpixels(), standins.karate()]


def test_every_stand_in_says_that_it_is_one() -> None:
    assert all("stand-in" in graph.source for graph in everyone())
