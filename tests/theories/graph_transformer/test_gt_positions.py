"""Absolute encodings (oracle 8.10, 3.7): what they hold, and that they stand beside the features."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

from __future__ import annotations

import math
from collections.abc import Iterator

import gt_slow
import jax
import numpy as np
import pytest

from lemmata.datasets.graphs.graph import Graph, make_graph
from lemmata.lab.precision import numerics
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.graphs.positions import encode
from lemmata.theories.graph_transformer.network import initialise
from lemmata.theories.graph_transformer.setting import Setting


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


SMALL = Setting(**gt_slow.SMALL)


def ring_with_tail() -> Graph:
    edges = [(n, (n + 1) % 8) for n in range(8)] + [(0, 8), (8, 9), (2, 5)]
    return make_graph(edges, None, np.zeros(10, int))


KINDS = ("laplacian", "walk", "degree", "centroid")


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_that_are_nearer_in_encoding_have_the_larger_product(kind):
    rows = encode(ring_with_tail(), kind, 4)
    assert rows.shape == (10, 4)
    norms = np.linalg.norm(rows, axis=1)
    assert np.logical_or(np.isclose(norms, math.sqrt(2)), norms == 0).all()
    products = rows @ rows.T
    squares = np.square(rows[:, None] - rows).sum(axis=2)
    for q in np.flatnonzero(norms):
        for c in np.flatnonzero(norms):
            for o in np.flatnonzero(norms):
                assert products[c, q] - products[o, q] == pytest.approx((squares[o, q] - squares[c, q]) / 2, abs=1e-12)


def test_an_encoding_beside_the_features_adds_its_own_share_to_keys_queries_and_values():
    setting = SMALL.replace(positions="laplacian", position_width=3, position_scale=0.5, key_width=9, value_width=9)
    world = prepare(setting, 0)
    bare = prepare(SMALL, 0)
    np.testing.assert_array_equal(world.features[:, :6], bare.features)
    norms = np.linalg.norm(world.features[:, 6:], axis=1)
    np.testing.assert_allclose(norms, 0.5 * math.sqrt(2), rtol=1e-6)
    np.testing.assert_array_equal(world.directions[:6], bare.directions)
    assert not world.directions[6:].any()
    parameters, _ = initialise(setting.problem(), jax.random.key(0), world.directions)
    w, x, beta = np.asarray(parameters.network.key), world.features[:, :6], world.features[:, 6:]
    assert w.shape == (9, 9)
    np.testing.assert_allclose(world.features @ w.T, x @ w[:, :6].T + beta @ w[:, 6:].T, rtol=1e-5, atol=1e-6)
    blind, _ = initialise(setting.replace(positions_in_values=0).problem(), jax.random.key(0), world.directions)
    assert not np.asarray(blind.network.value[:, 6:]).any()
    np.testing.assert_array_equal(blind.network.value[:, :6], parameters.network.value[:, :6])
    np.testing.assert_array_equal(blind.network.key, parameters.network.key)


def test_the_laplacian_encoding_holds_the_first_nontrivial_eigenvectors():
    graph = ring_with_tail()
    a = graph.adjacency.toarray()
    root = np.diag(1 / np.sqrt(a.sum(axis=1)))
    laplacian = np.eye(10) - root @ a @ root
    values, vectors = np.linalg.eigh(laplacian)
    rows = encode(graph, "laplacian", 3)
    expected = math.sqrt(2) * vectors[:, 1:4] / np.linalg.norm(vectors[:, 1:4], axis=1, keepdims=True)
    assert np.diff(values[:5]).min() > 1e-3
    signs = np.sign((rows * expected).sum(axis=0))
    np.testing.assert_allclose(rows, expected * signs, atol=1e-6)  # adjacencies are float32


def test_the_walk_encoding_holds_return_probabilities():
    graph = ring_with_tail()
    a = graph.adjacency.toarray().astype(float)
    walk = a / a.sum(axis=0)
    returns = np.stack([np.diag(np.linalg.matrix_power(walk, k)) for k in range(1, 5)], axis=1)
    expected = math.sqrt(2) * returns / np.linalg.norm(returns, axis=1, keepdims=True)
    np.testing.assert_allclose(encode(graph, "walk", 4), expected, atol=1e-6)
    # an isolated node never returns by a step, so its row is zero
    alone = make_graph([(0, 1)], None, np.zeros(3, int))
    assert not encode(alone, "walk", 2)[2].any()


def test_degrees_and_distances_from_the_centroid_are_binned_in_order():
    graph = ring_with_tail()
    degree = encode(graph, "degree", 3).argmax(axis=1)
    assert degree.tolist() == [{1: 0, 2: 1, 3: 2}[d] for d in graph.degree]
    path = make_graph([(n, n + 1) for n in range(8)], None, np.zeros(9, int))
    assert encode(path, "centroid", 5).argmax(axis=1).tolist() == [4, 3, 2, 1, 0, 1, 2, 3, 4]
    star = make_graph([(4, n) for n in range(4)], None, np.zeros(5, int))
    assert encode(star, "centroid", 2).argmax(axis=1).tolist() == [1, 1, 1, 1, 0]


def test_far_nodes_are_binned_as_far():
    path = make_graph([(n, n + 1) for n in range(200)], None, np.zeros(201, int))
    bins = encode(path, "centroid", 7).argmax(axis=1)
    assert (np.diff(bins[:101]) <= 0).all()
    assert (bins[0], bins[100], bins[200]) == (6, 0, 6)
    apart = make_graph([(0, 1), (0, 2), (3, 4)], None, np.zeros(5, int))
    near = encode(apart, "centroid", 7).argmax(axis=1)
    assert near[3] == near[4] == 6
    assert near[0] == 0
