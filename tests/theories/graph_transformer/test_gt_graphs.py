"""Graphs, features, labels and splits of a run (2.2 - 2.6, 3.7): what every generator promises, counted from its edges.

Distances are found here by powers of the adjacency, margins by counting, so that neither is taken from the program.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lemmata.lab.errors import UserError
from lemmata.theories.graph_transformer.data import World, draw, prepare
from lemmata.theories.graph_transformer.graphs import draw_graph
from lemmata.theories.graph_transformer.graphs.cycle import expected_margins, plan_cycle
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting

LISTED = {
    "+-+-": (-2, 2),
    "++--++--": (0, -1, 0, 1),
    "++--++--++--": (0, -1, 0, 2, 0, -1),
    "++++-+-+----": (0, 5 / 3, -2 / 3, -2 / 3, 0, -1 / 3),
    "+++---+++---": (2 / 3, 1 / 3, -2, -2 / 3, 2 / 3, 1),
    "+-+-+-+-": (-2, 3, -2, 1),
}
"""Mean margins of the listed sequences in units of u, the node itself not left out (2.4, 3.9)."""
CORES = {"+-+-": 2, "++--++--": 4, "++--++--++--": 4, "++++-+-+----": 2, "+++---+++---": 6, "+-+-+-+-": 2}
SMALL: dict[str, Any] = {"nodes": 200, "degree": 24, "labelled": 60, "batch": 20}


def distances(adjacency: np.ndarray) -> np.ndarray:
    """Shortest paths; one more than the number of nodes where there is none."""
    nodes = len(adjacency)
    found = np.where(np.eye(nodes, dtype=bool), 0, nodes + 1)
    reached, front = np.eye(nodes, dtype=bool), np.eye(nodes, dtype=bool)
    for z in range(1, nodes):
        front = (front.astype(np.float32) @ adjacency.astype(np.float32) > 0) & ~reached
        if not front.any():
            break
        found[front], reached = z, reached | front
    return found


def margins(drawn: Drawn, label: np.ndarray | None = None, far: int = 8) -> np.ndarray:
    """Δ_n(z), z = 0 .. far - 1, by counting."""
    label = drawn.label if label is None else label
    distance = distances(drawn.adjacency)
    sign = np.where(drawn.pattern == 0, 1, np.where(drawn.pattern == 1, -1, 0))
    return np.stack([label * ((distance == z) @ sign) for z in range(far)], axis=1)


def simple(adjacency: np.ndarray) -> bool:
    return bool((adjacency == adjacency.T).all() and not adjacency.diagonal().any())


def own_counts(drawn: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of every node with the pattern of its label, and with the other discriminative one."""
    own = (1 - drawn.label) // 2
    by_pattern = np.stack([drawn.adjacency[:, drawn.pattern == j].sum(axis=1) for j in (0, 1)], axis=1)
    nodes = np.arange(len(own))
    return by_pattern[nodes, own], by_pattern[nodes, 1 - own]


def graph_of(seed: int = 0, **given: Any) -> Drawn:
    return draw_graph(Setting(**given), seed)


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


# G3, the cluster cycle


def closed_form(signs: np.ndarray, marked: int, per_cluster: int) -> list[float]:
    """2.4 as it reads, with c(h) the correlation of the labels."""
    half = len(signs) // 2
    c = [float(np.mean(signs * np.roll(signs, -h))) for h in range(half + 1)]
    mean = [2 * marked * c[h] if h < half else marked * c[h] for h in range(half + 1)]
    mean[2] += marked - marked / per_cluster
    return mean[1:]


def cycle(seed: int = 0, per_cluster: int = 10, **given: Any) -> Drawn:
    length = len(given["cluster_signs"]) if "cluster_signs" in given else len(given["sequence"])
    return graph_of(seed, generator="cycle", nodes=per_cluster * length, labelled=1, **given)


@pytest.mark.parametrize("sequence", LISTED)
def test_the_margins_of_the_listed_sequences_are_the_closed_forms(sequence):
    signs = np.array([1 if s == "+" else -1 for s in sequence])
    drawn = cycle(sequence=sequence)
    margin = margins(drawn)
    half = len(sequence) // 2
    expected = 4 * np.array(LISTED[sequence]) - 4 / 10 * (np.arange(1, half + 1) == 2)
    found = margin.mean(axis=0)[1 : half + 1]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(expected_margins(signs, 4, 10), expected, atol=1e-12)
    np.testing.assert_allclose(closed_form(signs, 4, 10), expected, atol=1e-12)
    core = CORES[sequence]
    assert 1 + int(np.argmax(found)) == core
    assert margin[:, core].min() > 0
    s = Setting(generator="cycle", nodes=10 * len(sequence), sequence=sequence, bins=half + 1, labelled=1)
    assert prepare(s, 0).core == core


@settings(max_examples=15, deadline=None)
@given(half=st.integers(2, 6), marked=st.integers(1, 5), data=st.data())
def test_the_margins_of_any_balanced_sequence_are_the_closed_forms(half, marked, data):
    signs = np.array(data.draw(st.permutations([1, -1] * half)))
    drawn = cycle(cluster_signs=signs, per_cluster=5, discriminative=marked / 5)
    assert np.bincount(drawn.pattern)[:2].tolist() == [half * marked] * 2
    assert (drawn.label == np.repeat(signs, 5)).all()
    found = margins(drawn).mean(axis=0)[1 : half + 1]
    np.testing.assert_allclose(found, closed_form(signs, marked, 5), atol=1e-12)
    np.testing.assert_allclose(found, expected_margins(signs, marked, 5), atol=1e-12)


def test_distances_of_a_complete_cycle_are_hops_and_two_inside_a_cluster():
    drawn = cycle(sequence="++--++--", per_cluster=4)
    cluster = np.arange(32) // 4
    hops = np.minimum((cluster[:, None] - cluster) % 8, (cluster - cluster[:, None]) % 8)
    expected = np.where(hops == 0, 2, hops)
    np.fill_diagonal(expected, 0)
    assert (distances(drawn.adjacency) == expected).all()


def test_missing_edges_of_a_cycle_move_pairs_from_distance_one_to_three():
    drawn = cycle(sequence="+-+-+-+-", per_cluster=40, edge_probability=0.6)
    assert simple(drawn.adjacency)
    cluster = np.arange(320) // 40
    hops = np.minimum((cluster[:, None] - cluster) % 8, (cluster - cluster[:, None]) % 8)
    distance = distances(drawn.adjacency)
    assert set(np.unique(distance[hops == 1])) == {1, 3}
    for hop in (2, 3, 4):
        assert (distance[hops == hop] == hop).all()
    share = (distance[hops == 1] == 1).mean()
    assert share == pytest.approx(0.6, abs=4.5 * math.sqrt(0.24 / (320 * 40)))
    u, mean = 16, margins(drawn).mean(axis=0)
    assert mean[1] == pytest.approx(-2 * u * 0.6, abs=1)
    assert mean[2:5] == pytest.approx([3 * u - u / 40, -2 * u - 2 * u * 0.4, u], abs=1)


def signs_of(sequence: str) -> np.ndarray:
    return np.array([1 if s == "+" else -1 for s in sequence])


def per_cluster(signs: np.ndarray) -> np.ndarray:
    """Δ/u of every cluster at z = 1 .. C/2: every cluster at that hop once, and the own one at distance 2."""
    clusters = len(signs)
    rows = []
    for z in range(1, clusters // 2 + 1):
        at = [{(k + z) % clusters, (k - z) % clusters} | ({k} if z == 2 else set()) for k in range(clusters)]
        rows.append([signs[k] * sum(signs[j] for j in at[k]) for k in range(clusters)])
    return np.array(rows, float)


def gap(signs: np.ndarray, z: int) -> float:
    mean = per_cluster(signs).mean(axis=1)
    return float(mean[z - 1] - np.delete(mean, z - 1).max())


@pytest.mark.parametrize(
    ("clusters", "z", "best"),
    [(4, 2, 4), (8, 2, 2), (8, 4, 1), (10, 2, 1), (12, 2, 5 / 3), (12, 4, 2), (12, 6, 1 / 3)],
)
def test_the_planner_finds_the_best_gaps(clusters, z, best):
    signs = signs_of(plan_cycle(clusters, z))
    assert signs.sum() == 0
    assert signs[0] == 1
    assert per_cluster(signs)[z - 1].min() > 0
    assert gap(signs, z) == pytest.approx(best)


@pytest.mark.parametrize(("clusters", "z"), [(4, 2), (6, 2), (8, 2), (8, 4)])
def test_of_equal_sequences_the_planner_gives_the_lexicographically_first(clusters, z):
    best, first = 0.0, ""
    for rest in itertools.product("+-", repeat=clusters - 1):
        signs = signs_of("+" + "".join(rest))
        if signs.sum() == 0 and per_cluster(signs)[z - 1].min() > 0 and gap(signs, z) > best + 1e-9:
            best, first = gap(signs, z), "+" + "".join(rest)
    assert plan_cycle(clusters, z) == first


@pytest.mark.parametrize(("clusters", "z"), [(10, 4), (4, 1), (8, 1), (8, 3), (10, 5), (12, 3)])
def test_the_planner_says_where_no_sequence_exists_and_that_odd_distances_are_impossible(clusters, z):
    with pytest.raises(UserError, match="No odd core distance" if z % 2 else "No balanced sequence"):
        plan_cycle(clusters, z)


@pytest.mark.parametrize(("clusters", "z"), [(5, 2), (2, 1), (16, 2), (8, 0), (8, 5)])
def test_the_planner_refuses_cycles_and_distances_beyond_its_range(clusters, z):
    with pytest.raises(UserError, match="not allowed"):
        plan_cycle(clusters, z)


@pytest.mark.parametrize(
    "given",
    [
        {"cluster_signs": [1, 1, -1]}, {"cluster_signs": [1, -1, 1, 1]}, {"cluster_signs": [1, -1, 0, 0]},
        {"cluster_signs": [1, -1]},
        {"cluster_signs": [[1, -1], [1, -1]]}, {"nodes": 1001}, {"discriminative": 0.001},
    ],
)  # fmt: skip
def test_a_cycle_that_cannot_be_drawn_is_refused(given):
    with pytest.raises(UserError):
        Setting(**{"generator": "cycle", "nodes": 48, "labelled": 1, **given})


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


# Features


def test_features_are_orthonormal_patterns_with_noise():
    s = Setting(generator="cycle", nodes=480, feature_noise=0.1, labelled=9)
    plain, unit = prepare(s.replace(normalise="no"), 2), prepare(s, 2)
    mu = plain.directions.astype(float)
    np.testing.assert_allclose(mu.T @ mu, np.eye(10), atol=1e-6)
    noise = plain.features - mu.T[plain.pattern]
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(0.1, abs=0.004)
    assert np.abs(noise.mean(axis=0)).max() < 5 * 0.1 / math.sqrt(480)
    np.testing.assert_allclose(np.linalg.norm(unit.features, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        unit.features, plain.features / np.linalg.norm(plain.features, axis=1)[:, None], atol=1e-6
    )
    clean = prepare(s.replace(feature_noise=0.0), 2)
    np.testing.assert_allclose(clean.features, mu.T[clean.pattern], atol=1e-6)


def test_features_are_unit_vectors_everywhere_but_on_the_chapters_graph():
    unit = {}
    for name in ("chapter", "blocks", "cycle", "structures"):
        world = prepare(Setting(generator=name, nodes=240, degree=10, feature_noise=0.1, labelled=9), 0)
        unit[name] = bool(np.allclose(np.linalg.norm(world.features, axis=1), 1, atol=1e-5))
    assert unit == {
        "chapter": False, "blocks": True, "cycle": True, "structures": True,
    }  # fmt: skip


# Given graphs (2.5)


NODES = 12


def given_arrays(seed: int = 0, **changes: Any) -> dict[str, Any]:
    """A small graph of one's own: features along two axes for discriminative nodes, scattered for the others."""
    rng = np.random.default_rng(seed)
    adjacency = np.triu(rng.random((NODES, NODES)) < 0.3, 1)
    labels = np.repeat([1, -1], NODES // 2)
    features = np.zeros((NODES, 4))
    features[:4, 0] = features[6:10, 1] = 1
    features[[4, 5]] = [[0, 0, 1, 0], [0, 0, -1, 0]]
    features[[10, 11]] = [[0, 0, 0, 1], [0, 0, 0, -1]]
    pattern = np.array([1, 1, 1, 1, 3, 4, 2, 2, 2, 2, 3, 4])
    return {
        "generator": "given", "nodes": NODES, "dimension": 4, "patterns": 4, "key_width": 8, "value_width": 8,
        "labelled": 6, "batch": 3, "adjacency": adjacency + adjacency.T, "features": features, "labels": labels,
        "pattern": pattern, **changes,
    }  # fmt: skip


def test_a_given_graph_is_taken_as_it_is():
    arrays = given_arrays(normalise="no")
    world = prepare(Setting(**arrays), 0)
    drawn = Drawn(arrays["adjacency"], arrays["pattern"] - 1, arrays["labels"])
    np.testing.assert_array_equal(world.features, arrays["features"].astype(np.float32))
    np.testing.assert_array_equal(world.label, arrays["labels"])
    np.testing.assert_array_equal(world.pattern, arrays["pattern"] - 1)
    np.testing.assert_array_equal(world.table, np.minimum(distances(drawn.adjacency), 4))
    np.testing.assert_allclose(world.facts["count_margin"][1:3], margins(drawn).mean(axis=0)[1:3], rtol=1e-6)
    np.testing.assert_allclose(world.directions.T @ world.directions, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(world.directions[:, :2], np.eye(4)[:, :2], atol=1e-6)


def test_without_patterns_the_discriminative_nodes_of_a_given_graph_are_found():
    world = prepare(Setting(**given_arrays(pattern=None)), 0)
    assert world.pattern.tolist() == [0, 0, 0, 0, 2, 2, 1, 1, 1, 1, 2, 2]


def test_every_entry_becomes_an_edge_on_request():
    arrays = given_arrays()
    once = np.triu(arrays["adjacency"]).astype(int)
    once[0, 0] = 1
    symmetrised = prepare(Setting(**{**arrays, "adjacency": once, "symmetrize": True}), 0)
    np.testing.assert_array_equal(symmetrised.table, prepare(Setting(**arrays), 0).table)


# Labels, splits and streams


@pytest.mark.parametrize(("noise", "flips"), [(0.0, 0), (0.012, 2), (0.0126, 3), (0.1, 20), (0.49, 98)])
def test_exactly_the_rounded_number_of_labels_is_flipped(noise, flips):
    world = prepare(Setting(**SMALL, label_noise=noise), 4)
    drawn = graph_of(4, **SMALL)
    assert (world.clean == drawn.label).all()
    assert int((world.label != world.clean).sum()) == flips
    assert (world.taught == world.label).all()


def test_a_larger_share_flips_the_same_labels_and_more_uniformly_over_the_nodes():
    few, many = (prepare(Setting(**SMALL, label_noise=noise), 4) for noise in (0.1, 0.3))
    changed = few.label != few.clean
    assert (many.label != many.clean)[changed].all()
    hits = sum((prepare(Setting(**SMALL, label_noise=0.3), seed).label != graph_of(seed, **SMALL).label) * 1.0
               for seed in range(40))  # fmt: skip
    assert np.abs(hits - 12).max() < 4.5 * math.sqrt(40 * 0.21)


def test_margins_are_those_of_observed_labels():
    s = Setting(**SMALL, label_noise=0.25)
    world, drawn = prepare(s, 1), graph_of(1, **SMALL)
    margin = margins(drawn, world.label)
    np.testing.assert_allclose(world.facts["count_margin"][1:3], margin.mean(axis=0)[1:3], rtol=1e-5)
    other = drawn.pattern >= 2
    flipped = world.label != world.clean
    assert set(margin[other & ~flipped, 1]) == {22}
    assert set(margin[other & flipped, 1]) == {-22}
    assert world.facts["positive_share"] == pytest.approx(np.mean(margin[:, int(world.core)] > 0))


def same(one: World, two: World, *names: str) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


PAIRED = ("features", "directions", "pattern", "label", "clean", "order", "table", "node")


def test_the_nodes_that_are_labelled_first_do_not_depend_on_their_number():
    few, many = (prepare(Setting(**{**SMALL, "labelled": count}), 3) for count in (40, 160))
    assert same(few, many, *PAIRED)
    assert sorted(few.order) == list(range(200))


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "gcn"}, {"model": "no_pe"}, {"scores": "additive"}, {"neurons": 7}, {"init": "gaussian"},
        {"shells": "core"}, {"draw": "biased", "preference": 3.0}, {"step_size": 0.3}, {"reach": 3}, {"bins": 6},
    ],
)  # fmt: skip
def test_all_models_of_a_seed_see_the_same_graph_features_and_split(changes):
    base, other = prepare(Setting(**SMALL), 3), prepare(Setting(**SMALL, **changes), 3)
    names = [name for name in PAIRED if name not in ("table", "node")]
    assert same(base, other, *names)
    np.testing.assert_array_equal(np.minimum(base.table, 3), np.minimum(other.table, 3))


def test_graph_features_split_and_noise_come_from_separate_streams():
    base = prepare(Setting(**SMALL), 3)
    noisy = prepare(Setting(**SMALL, label_noise=0.2), 3)
    assert same(base, noisy, "features", "order", "table", "clean", "pattern")
    loud = prepare(Setting(**SMALL, feature_noise=0.5), 3)
    assert same(base, loud, "order", "table", "label", "directions")
    sparse = prepare(Setting(**{**SMALL, "degree": 12}), 3)
    assert same(base, sparse, "order")
    wide = prepare(Setting(**SMALL, dimension=25), 3)
    assert same(base, wide, "order", "table", "label", "pattern")
    other = prepare(Setting(**SMALL), 4)
    assert not any(same(base, other, name) for name in ("features", "order", "table", "label", "directions"))


def test_a_graph_is_drawn_once_for_all_cells_of_its_seed():
    base, noisy = (draw(Setting(**SMALL, label_noise=noise), 5) for noise in (0.0, 0.3))
    assert base[1] is noisy[1]
    assert base[0].adjacency is noisy[0].adjacency


def test_distances_are_told_apart_as_far_as_bins_and_samplers_need():
    path = np.diag(np.ones(NODES - 1), 1)
    arrays = given_arrays(adjacency=path + path.T, bins=3, reach=2, shells="single", distance=5)
    world = prepare(Setting(**arrays), 0)
    expected = np.abs(np.arange(NODES)[:, None] - np.arange(NODES))
    np.testing.assert_array_equal(world.table, np.minimum(expected, 6))
    assert world.count.tolist() == [int((row == 5).sum()) for row in expected]


def test_deliberate_breaks_permute_what_they_name_and_nothing_else():
    base = prepare(Setting(**SMALL), 3)
    labels = prepare(Setting(**SMALL, defect="labels"), 3)
    assert same(base, labels, "features", "order", "table", "pattern")
    assert sorted(labels.label) == sorted(base.label)
    assert not same(base, labels, "label")
    taught = prepare(Setting(**SMALL, defect="training_labels"), 3)
    assert same(base, taught, "label", "clean", "features", "table")
    assert sorted(taught.taught) == sorted(base.taught)
    assert not same(base, taught, "taught")
    patterns = prepare(Setting(**SMALL, defect="patterns"), 3)
    assert same(base, patterns, "label", "table", "order")
    assert (np.bincount(patterns.pattern) == np.bincount(base.pattern)).all()
    assert not same(base, patterns, "pattern")
    far = prepare(Setting(**SMALL, defect="distances"), 3)
    assert same(base, far, "label", "features", "pattern", "core")
    assert (np.bincount(far.table.ravel()) == np.bincount(base.table.ravel())).all()
    assert simple(far.table)
    assert not same(base, far, "table")


# What is refused (2.6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"discriminative": 0.0}, "γ|discriminative"), ({"discriminative": 1.01}, "discriminative"),
        ({"discriminative": -0.1}, "discriminative"), ({"confusion": 0.5}, "confusion"),
        ({"confusion": -0.01}, "confusion"), ({"label_noise": 0.5}, "label_noise"),
        ({"label_noise": -0.1}, "label_noise"), ({"patterns": 1}, "patterns"), ({"patterns": 21}, "patterns"),
        ({"patterns": 2}, "patterns"), ({"bins": 1}, "bins"), ({"labelled": 1001}, "labelled"),
        ({"labelled": 0}, "labelled"), ({"labelled": 50, "batch": 51}, "batch"), ({"sample": 0}, "sample"),
        ({"intra_degree": 200}, "intra_degree"), ({"key_error": 0.5}, "key_error"),
        ({"single_pass": True, "steps": 5}, "single_pass"), ({"single_pass": True, "batch": 0}, "single_pass"),
        ({"stop": "success"}, "a success is a full"), ({"track": "masses", "watch": "full"}, "recorded on samples"),
        ({"fresh_samples": False, "test_from": 10}, "test_from = 0"), ({"draw": "stratified", "reach": 5}, "strata"),
        ({"test_from": 1000}, "test_from"), ({"reach": 0}, "reach"), ({"preference": 0.0}, "preference"),
    ],
)  # fmt: skip
def test_a_setting_outside_the_theory_is_refused_in_one_sentence(given, words):
    with pytest.raises(UserError, match=words) as refused:
        Setting(**given)
    one_sentence(str(refused.value))


def one_sentence(message: str) -> None:
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labels": np.repeat([1, 0], 6)}, "labels"), ({"labels": np.repeat([1, 2], 6)}, "labels"),
        ({"labels": np.ones(5)}, "labels"), ({"adjacency": np.triu(np.ones((12, 12)), 1)}, "not symmetric"),
        ({"adjacency": np.ones((12, 12))}, "self-loops"), ({"adjacency": np.ones((12, 11))}, "adjacency"),
        ({"adjacency": None}, "adjacency"), ({"features": np.full((12, 4), np.nan)}, "features"),
        ({"features": np.full((12, 4), np.inf)}, "features"), ({"features": np.ones((12, 3))}, "features"),
        ({"pattern": np.repeat([0, 1], 6)}, "pattern"), ({"pattern": np.repeat([1, 5], 6)}, "pattern"),
        ({"pattern": np.ones(11, int)}, "pattern"), ({"pattern": np.repeat([1.5, 2], 6)}, "pattern"),
    ],
)  # fmt: skip
def test_a_given_graph_that_is_not_one_is_refused_in_one_sentence(changes, words):
    with pytest.raises(UserError, match=words) as refused:
        Setting(**given_arrays(**changes))
    one_sentence(str(refused.value))


def test_symmetrising_is_offered_where_it_helps():
    for adjacency in (np.triu(np.ones((12, 12)), 1), np.ones((12, 12))):
        with pytest.raises(UserError, match="symmetrize=True"):
            Setting(**given_arrays(adjacency=adjacency))
        Setting(**given_arrays(adjacency=adjacency, symmetrize=True))


def test_a_labelled_node_without_candidates_is_counted_and_refused_only_if_asked():
    path = np.diag(np.ones(NODES - 1), 1)
    path[10, 11] = 0
    arrays = given_arrays(adjacency=path + path.T, labelled=NODES, batch=NODES, shells="near", reach=1)
    assert prepare(Setting(**arrays), 0).facts["lonely"] == 1
    with pytest.raises(UserError, match="1 of 12 labelled nodes") as refused:
        prepare(Setting(**arrays, require_candidates=True), 0)
    one_sentence(str(refused.value))
    known = prepare(Setting(**arrays), 0).order
    few = int(np.flatnonzero(known == 11)[0])
    if few:
        prepare(Setting(**{**arrays, "labelled": few, "batch": few}, require_candidates=True), 0)


@pytest.mark.parametrize(
    ("widths", "warned"), [((10, 20), True), ((20, 10), True), ((11, 11), False), ((9, 20), True), ((20, 20), False)]
)
def test_as_many_patterns_as_rows_only_warn(widths, warned):
    s = Setting(key_width=widths[0], value_width=widths[1])
    assert bool(s.warnings()) == warned


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
