"""Graphs, features, labels and splits of a run (2.2 - 2.6, 3.7): what every generator promises, counted from its edges.

Distances are found here by powers of the adjacency, margins by counting, so that neither is taken from the program.
"""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from gt_graphs import SMALL, distances, graph_of, margins, own_counts, simple
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lemmata.lab.errors import UserError
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.graphs import draw_graph
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting

# G1, the chapter's graph


@settings(max_examples=30, deadline=None)
@given(
    nodes=st.integers(40, 130), fraction=st.floats(0.25, 1), degree=st.integers(1, 18), confusion=st.floats(0, 0.49),
    intra=st.sampled_from([-1, 0, 3]), patterns=st.integers(3, 9), seed=st.integers(0, 99),
)  # fmt: skip
def test_the_chapters_graph_has_exactly_the_numbers_that_its_rules_name(
    nodes, fraction, degree, confusion, intra, patterns, seed
):
    pairs = round(fraction * nodes / 2)
    relevant = round(degree * (1 - confusion))
    assume(pairs > max(degree, intra) and 2 * pairs <= nodes)
    drawn = graph_of(
        seed, nodes=nodes, discriminative=fraction, degree=degree, confusion=confusion, intra_degree=intra,
        patterns=patterns, labelled=1,
    )  # fmt: skip
    counts = np.bincount(drawn.pattern, minlength=patterns)
    assert counts[:2].tolist() == [pairs, pairs]
    assert np.ptp(counts[2:]) <= 1
    assert counts.sum() == nodes
    marked = drawn.pattern < 2
    assert (drawn.label[marked] == np.where(drawn.pattern[marked] == 0, 1, -1)).all()
    assert set(np.unique(drawn.label)) <= {1, -1}

    adjacency = drawn.adjacency
    assert simple(adjacency)
    assert not adjacency[~marked][:, ~marked].any()
    assert not adjacency[drawn.pattern == 0][:, drawn.pattern == 1].any()
    own, other = own_counts(drawn)
    assert (own[~marked] == relevant).all()
    assert (other[~marked] == degree - relevant).all()
    assert adjacency.sum(axis=1).min() >= degree
    assert own[marked].min(initial=nodes) >= (degree if intra < 0 else intra)
    margin = margins(drawn, far=2)[:, 1]
    assert (margin[~marked] == relevant - (degree - relevant)).all()


@pytest.fixture(scope="module")
def chapter() -> tuple[Drawn, np.ndarray]:
    """The default graph and its margins."""
    drawn = draw_graph(Setting(), 0)
    return drawn, margins(drawn)


def test_the_default_graph_has_the_numbers_of_the_chapter(chapter):
    drawn, margin = chapter
    marked = drawn.pattern < 2
    degree = drawn.adjacency.sum(axis=1)
    assert degree[~marked].tolist() == [120] * 600
    assert degree[marked].mean() == pytest.approx(320, abs=3)
    assert 345 <= degree.max() <= 375
    assert own_counts(drawn)[0][marked].mean() == pytest.approx(139, abs=2)
    assert margin.mean(axis=0)[1] == pytest.approx(120.4, abs=0.8)
    assert margin.mean(axis=0)[2] == pytest.approx(-120.7, abs=0.8)
    assert margin[:, 1].min() > 0
    assert margin[~marked, 1].tolist() == [108] * 600


def test_the_chapters_default_setting_is_the_one_of_the_table():
    s = Setting()
    assert (s.nodes, s.patterns, s.dimension, s.feature_noise, s.discriminative, s.degree) == (
        1000,
        10,
        20,
        0.01,
        0.4,
        120,
    )
    assert (s.confusion, s.label_noise, s.intra, s.on_infeasible, s.unit_features) == (0.05, 0, 120, "error", False)


def test_labels_of_other_nodes_are_fair_coins_and_their_neighbours_uniform():
    coins, edges = [], np.zeros(40)
    for seed in range(60):
        drawn = graph_of(seed, **SMALL)
        coins.append(drawn.label[80:])
        edges += drawn.adjacency[80:, :40][drawn.label[80:] == 1].sum(axis=0)
    coins = np.concatenate(coins)
    assert abs(coins.mean()) < 4.5 / math.sqrt(coins.size)
    expected = (coins == 1).sum() * 23 / 40
    assert np.abs(edges - expected).max() < 4.5 * math.sqrt(expected * (1 - 23 / 40))


@pytest.mark.parametrize("confusion", [0.0, 0.05])
def test_the_literal_graph_is_bipartite_and_has_the_margins_of_the_document(confusion):
    drawn = graph_of(1, intra_degree=0, confusion=confusion)
    marked = drawn.pattern < 2
    assert not drawn.adjacency[marked][:, marked].any()
    assert nx.is_bipartite(nx.Graph(drawn.adjacency))
    margin = margins(drawn)
    assert (margin[marked, 1] == 0).all()
    mean = margin.mean(axis=0)
    assert mean[0] == pytest.approx(0.4)
    if confusion == 0:
        assert nx.number_connected_components(nx.Graph(drawn.adjacency)) == 2
        assert mean[1] == pytest.approx(72, abs=1e-9)
        assert mean[2:4] == pytest.approx([79.6, 48], abs=1e-9)
        assert prepare(Setting(intra_degree=0, confusion=0), 1).core == 2
    else:
        assert nx.is_connected(nx.Graph(drawn.adjacency))
        assert mean[1] == pytest.approx(64.8, abs=1e-9)
        # a few pairs of both patterns have no common neighbour and are at distance 4
        assert mean[2:5] == pytest.approx([-0.4, -64.8, 0], abs=0.02)
        assert prepare(Setting(intra_degree=0), 1).core == 1


@pytest.mark.parametrize(("fraction", "inside"), [(0.4, 0), (0.45, 0), (0.6, 50), (0.8, 111)])
def test_the_literal_rule_adds_edges_inside_a_pattern_only_at_large_fractions(fraction, inside):
    drawn = graph_of(0, intra_degree=0, discriminative=fraction)
    marked = drawn.pattern < 2
    found = drawn.adjacency[marked][:, marked].sum(axis=1).mean()
    assert found == 0 if fraction == 0.4 else found == pytest.approx(inside, abs=1.5)
    assert drawn.adjacency.sum(axis=1).min() >= 120


@pytest.mark.parametrize(
    ("given", "smallest"),
    [
        ({"discriminative": 0.2, "confusion": 0.0}, 0.242),
        ({"discriminative": 0.2, "confusion": 0.0, "intra_degree": 0}, 0.24),
        ({"discriminative": 0.2, "confusion": 0.05, "intra_degree": 0}, 0.228),
        ({"discriminative": 0.3, "intra_degree": 150}, 0.302),
        ({"nodes": 500, "labelled": 9, "discriminative": 0.3, "intra_degree": 0}, 0.456),
    ],
)
def test_an_infeasible_degree_is_refused_with_the_smallest_feasible_fraction(given, smallest):
    with pytest.raises(UserError, match=f"smallest feasible γ_d is {smallest:g} "):
        Setting(**given)
    Setting(**{**given, "discriminative": smallest})
    with pytest.raises(UserError, match="smallest feasible"):
        Setting(**{**given, "discriminative": smallest - 0.004})


@pytest.mark.parametrize("confusion", [0.0, 0.2])
def test_a_capped_degree_keeps_the_confusion_ratio(confusion):
    wanted = {**SMALL, "discriminative": 0.2, "degree": 40, "confusion": confusion, "on_infeasible": "cap"}
    drawn = graph_of(3, **wanted)
    marked = drawn.pattern < 2
    own, other = own_counts(drawn)
    assert (own[~marked] == 20).all()
    assert (other[~marked] == (5 if confusion else 0)).all()
    assert (own[marked] == 19).all()
    assert drawn.adjacency.sum(axis=1)[marked].min() >= 40
    assert any("capped" in sentence for sentence in Setting(**wanted).warnings())
    assert not Setting(**SMALL, on_infeasible="cap").warnings()


def test_a_graph_of_discriminative_nodes_alone_needs_an_even_number_of_nodes():
    drawn = graph_of(nodes=8, discriminative=1, degree=2, labelled=1)
    assert np.bincount(drawn.pattern).tolist() == [4, 4]
    with pytest.raises(UserError, match="discriminative"):
        Setting(nodes=7, discriminative=1, degree=2, labelled=1)


def test_a_degree_beyond_what_the_nodes_of_a_pattern_can_have_is_refused():
    with pytest.raises(UserError, match="degree"):
        graph_of(nodes=200, discriminative=1, degree=100, confusion=0, intra_degree=0, labelled=1)


# G2, planted blocks


@pytest.mark.parametrize("heterophily", [False, True])
def test_edges_of_blocks_have_the_planted_frequencies(heterophily):
    nodes, degree, confusion = 600, 8 if heterophily else 40, 0.05
    same = 2 * confusion if heterophily else 2 * (1 - confusion)
    joined = {(kind, agree): [0, 0] for kind in (0, 1, 2) for agree in (False, True)}
    for seed in range(3):
        drawn = graph_of(
            seed, generator="blocks", nodes=nodes, degree=degree, confusion=confusion, heterophily=heterophily
        )
        assert simple(drawn.adjacency)
        assert np.bincount(drawn.pattern)[:2].tolist() == [120, 120]
        assert drawn.label.sum() == 0
        marked = drawn.pattern < 2
        assert (drawn.label[marked] == 1 - 2 * drawn.pattern[marked]).all()
        upper = np.triu_indices(nodes, 1)
        kinds = (marked[:, None].astype(int) + marked)[upper]
        agrees, edges = (drawn.label[:, None] == drawn.label)[upper], drawn.adjacency[upper]
        for (kind, agree), counts in joined.items():
            among = (kinds == kind) & (agrees == agree)
            counts[0] += edges[among].sum()
            counts[1] += among.sum()
    for (kind, agree), (found, pairs) in joined.items():
        factor = same if agree else 2 - same
        if kind == 0 and not heterophily:
            factor = 1
        probability = factor * degree / nodes
        assert abs(found - pairs * probability) < 4.5 * math.sqrt(pairs * probability * (1 - probability)), (
            kind,
            agree,
        )


@pytest.mark.parametrize(("fraction", "confusion"), [(0.4, 0.05), (0.6, 0.2)])
def test_class_relevant_nodes_are_the_same_share_of_every_neighbourhood_in_blocks(fraction, confusion):
    shares: list[list[float]] = [[], []]
    for seed in range(3):
        drawn = graph_of(seed, generator="blocks", nodes=600, degree=40, discriminative=fraction, confusion=confusion)
        own, degree = own_counts(drawn)[0], drawn.adjacency.sum(axis=1)
        for kind in (0, 1):
            among = (drawn.pattern < 2) == bool(kind)
            shares[kind].append(own[among].sum() / degree[among].sum())
    for kind in (0, 1):
        assert np.mean(shares[kind]) == pytest.approx(fraction * (1 - confusion), abs=0.006)


def test_heterophilous_blocks_have_an_even_core_distance_and_homophilous_ones_do_not_reverse():
    far = prepare(Setting(generator="blocks", nodes=600, degree=8, heterophily=True, bins=5), 0)
    assert far.core % 2 == 0
    assert far.facts["count_margin"][1] < 0 < far.facts["count_margin"][2]
    near = prepare(Setting(generator="blocks", nodes=600, degree=40, bins=5), 0)
    assert near.facts["count_margin"][1] > 0


@pytest.mark.parametrize(("degree", "allowed"), [(63, True), (64, False)])
def test_an_edge_probability_above_one_is_refused(degree, allowed):
    given: dict[str, Any] = {"generator": "blocks", "nodes": 120, "degree": degree, "labelled": 1}
    if allowed:
        Setting(**given)
    else:
        with pytest.raises(UserError, match="exceeds 1"):
            Setting(**given)


# Structures (3.7)


@pytest.mark.parametrize("structure", ["clusters", "cycles", "degrees", "rings"])
def test_structures_alternate_labels_hold_out_the_second_half_and_mislead_a_twelfth(structure):
    drawn = graph_of(1, generator="structures", structure=structure, nodes=480)
    kind = np.arange(480) // 60
    assert simple(drawn.adjacency)
    assert (drawn.label == np.where(kind % 2 == 0, 1, -1)).all()
    for k in range(8):
        counts = np.bincount(drawn.pattern[kind == k], minlength=10)
        assert counts[[k % 2, 1 - k % 2]].tolist() == [22, 2]
        assert np.ptp(counts[2:]) <= 1
    assert drawn.order is not None
    assert set(kind[drawn.order[:240]]) == {0, 1, 2, 3}
    assert sorted(drawn.order) == list(range(480))
    s = Setting(generator="structures", structure=structure, nodes=480, labelled=240)
    assert (prepare(s, 1).order == drawn.order).all()


def test_clusters_are_dense_inside_and_sparse_across():
    kind = np.arange(480) // 60
    inside = (kind[:, None] == kind) & ~np.eye(480, dtype=bool)
    found = [graph_of(seed, generator="structures", nodes=480).adjacency for seed in range(3)]
    for among, p in ((inside, 0.3), (kind[:, None] != kind, 0.01)):
        pairs = 3 * among.sum() / 2
        edges = sum(adjacency[among].sum() / 2 for adjacency in found)
        assert abs(edges - pairs * p) < 4.5 * math.sqrt(pairs * p * (1 - p))


def test_cycles_are_triangles_for_one_label_and_pentagons_for_the_other():
    drawn = graph_of(0, generator="structures", structure="cycles", nodes=240, labelled=1)
    graph = nx.Graph(drawn.adjacency)
    assert all(degree == 2 for _, degree in graph.degree())
    components = [sorted(component) for component in nx.connected_components(graph)]
    assert all(len({n // 30 for n in component}) == 1 for component in components)
    assert all(len(component) == (3 if drawn.label[component[0]] > 0 else 5) for component in components)
    # which nodes form a cycle says nothing about patterns: the nodes of a cycle are not consecutive
    assert np.mean([np.ptp(component) for component in components]) > 8


def test_degree_structures_have_the_two_degrees_and_no_edge_across():
    degree: dict[int, list[float]] = {1: [], -1: []}
    for seed in range(3):
        drawn = graph_of(seed, generator="structures", structure="degrees", nodes=480)
        kind = np.arange(480) // 60
        assert not drawn.adjacency[kind[:, None] != kind].any()
        for sign in (1, -1):
            degree[sign].append(drawn.adjacency.sum(axis=1)[drawn.label == sign].mean())
    assert np.mean(degree[1]) == pytest.approx(4 * 59 / 60, abs=0.3)
    assert np.mean(degree[-1]) == pytest.approx(12 * 59 / 60, abs=0.5)


def test_rings_lie_around_a_centre_that_is_the_centroid():
    drawn = graph_of(0, generator="structures", structure="rings", nodes=160, labelled=1)
    distance = distances(drawn.adjacency)
    kind = np.arange(160) // 20
    assert distance[0, 0] == 0
    assert (distance[0, 1:] == kind[1:] + 1).all()
    assert int(np.argmin(distance.max(axis=1))) == 0


@pytest.mark.parametrize(("structure", "nodes"), [("clusters", 484), ("cycles", 300), ("rings", 8)])
def test_structures_of_unequal_size_are_refused(structure, nodes):
    with pytest.raises(UserError, match="multiple of"):
        Setting(generator="structures", structure=structure, nodes=nodes, labelled=1)


# A ring


def test_a_ring_has_two_neighbours_a_node_and_patterns_by_their_law() -> None:
    setting = Setting(generator="ring", nodes=4000, patterns=6, discriminative=0.4, labelled=1)
    drawn = draw_graph(setting, 0)
    assert (drawn.adjacency.sum(axis=0) == 2).all()
    assert (drawn.adjacency == drawn.adjacency.T).all()
    assert nx.is_connected(nx.from_numpy_array(drawn.adjacency))
    shares = np.bincount(drawn.pattern, minlength=6) / 4000
    np.testing.assert_allclose(shares, [0.2, 0.2, 0.15, 0.15, 0.15, 0.15], atol=0.03)
    assert (drawn.label[drawn.pattern == 0] == 1).all()
    assert (drawn.label[drawn.pattern == 1] == -1).all()
    assert abs(drawn.label[drawn.pattern >= 2].mean()) < 0.1


@pytest.mark.parametrize("given", [{"nodes": 4}, {"nodes": 10, "patterns": 2, "discriminative": 1.0}])
def test_a_ring_that_is_too_short_or_has_no_other_patterns_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="ring"):
        Setting(generator="ring", labelled=1, **given)
