"""Winning margins, core distance and what shells say (Definition 3.4.1, probes 1 and 13, P17 - P20, oracle 8.5).

The oracle goes through pairs of nodes with networkx's shortest paths and counts by the definition.
"""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.datasets.graphs.distances import distance_blocks, distance_table
from lemmata.datasets.graphs.graph import Graph, make_graph
from lemmata.theories.graph_transformer.data import prepare, shells_of
from lemmata.theories.graph_transformer.graphs import draw_graph
from lemmata.theories.graph_transformer.hand_made.data import HandSetting, count_margins
from lemmata.theories.graph_transformer.margins import (
    Shells,
    core_distance,
    count_shells,
    mean_margins,
    winning_margins,
)
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies import shells as variance
from lemmata.theories.graph_transformer.studies.shells import (
    examine_shells,
    exchange_values,
    initial_logits,
    largest_shells,
    ring_masses,
    vary_masses,
)

CAP = 6


class Case:
    """A random graph with groups and labels; sparse enough that it often falls apart."""

    def __init__(self, seed: int, nodes: int, classes: int = 2, connected: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.nodes, self.classes = nodes, classes
        edges = np.argwhere(np.triu(rng.random((nodes, nodes)) < rng.uniform(0.5, 2.5) / nodes, 1))
        if connected:
            # every node hangs on an earlier one
            tree = [[int(rng.integers(max(0, n - 3), n)), n] for n in range(1, nodes)]
            edges = np.concatenate([edges.reshape(-1, 2), np.array(tree)])
        self.label = rng.integers(0, classes, nodes)
        self.group = rng.integers(-1, classes, nodes)
        self.graph: Graph = make_graph(edges, None, np.append(self.label[:-1], classes - 1))
        self.path = dict(nx.all_pairs_shortest_path_length(nx.Graph(self.graph.adjacency)))

    def distance(self, n: int, s: int, cap: int) -> int:
        return min(self.path[n].get(s, cap), cap)

    def shells(self, cap: int = CAP) -> Shells:
        return count_shells(distance_blocks(self.graph, cap), self.group, self.classes, cap)

    def margins(self, cap: int = CAP) -> tuple[np.ndarray, np.ndarray]:
        """Δ_n(z) and |N_z^n| by the definition."""
        delta, size = np.zeros((self.nodes, cap + 1)), np.zeros((self.nodes, cap + 1))
        for n in range(self.nodes):
            for s in range(self.nodes):
                z = self.distance(n, s, cap)
                size[n, z] += 1
                if self.group[s] == self.label[n]:
                    delta[n, z] += 1
                elif self.group[s] >= 0:
                    delta[n, z] -= 1 / (self.classes - 1)
        return delta, size


cases = {"seed": st.integers(0, 10**6), "nodes": st.integers(2, 20)}


@settings(max_examples=40, deadline=None)
@given(**cases, classes=st.sampled_from([2, 3, 5]))
def test_margins_are_counted_as_the_definition_says_for_any_number_of_classes(seed, nodes, classes):
    case = Case(seed, nodes, classes)
    shells = case.shells()
    delta, size = case.margins()
    np.testing.assert_array_equal(shells.size, size)
    found, share = winning_margins(shells, case.label)
    np.testing.assert_allclose(found, delta, atol=1e-12)
    assert (np.isnan(share) == (size == 0)).all()
    np.testing.assert_allclose(share[size > 0], (delta / np.maximum(size, 1))[size > 0], atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(**cases, block=st.integers(1, 7))
def test_shells_of_some_roots_in_any_blocks_are_those_of_all(seed, nodes, block):
    case = Case(seed, nodes)
    table = distance_table(case.graph, CAP)
    roots = np.random.default_rng(seed).permutation(nodes)[: max(1, nodes // 2)]
    parts = [(roots[i : i + block], table[roots[i : i + block]]) for i in range(0, len(roots), block)]
    some, everything = count_shells(parts, case.group, 2, CAP), case.shells()
    np.testing.assert_array_equal(some.root, roots)
    np.testing.assert_array_equal(some.size, everything.size[roots])
    np.testing.assert_array_equal(some.members, everything.members[roots])
    np.testing.assert_array_equal(
        winning_margins(some, case.label)[0], winning_margins(everything, case.label)[0][roots]
    )


@settings(max_examples=40, deadline=None)
@given(**cases, bins=st.integers(2, CAP + 1))
def test_lumped_shells_are_those_of_distances_truncated_at_the_last_bin(seed, nodes, bins):
    case = Case(seed, nodes)
    lumped = case.shells().lumped(bins)
    delta, size = case.margins(bins - 1)
    np.testing.assert_array_equal(lumped.size, size)
    np.testing.assert_allclose(winning_margins(lumped, case.label)[0], delta, atol=1e-12)


def sum_of(case: Case, n: int) -> int:
    """8.5: y_n (|D_1| - |D_2|) - 1 if n is discriminative with its pattern's label, + 1 with the other."""
    total = int((case.group == case.label[n]).sum() - (case.group == 1 - case.label[n]).sum())
    return total - int(case.group[n] >= 0) * (1 if case.group[n] == case.label[n] else -1)


@settings(max_examples=40, deadline=None)
@given(**cases)
def test_the_margins_of_a_node_add_up_to_the_surplus_of_its_class_on_a_connected_graph(seed, nodes):
    case = Case(seed, nodes, connected=True)
    cap = nodes + 1
    shells = case.shells(cap)
    assert shells.size[:, cap].sum() == 0
    delta = winning_margins(shells, case.label)[0]
    assert delta[:, 1:].sum(axis=1).tolist() == [sum_of(case, n) for n in range(nodes)]


@settings(max_examples=40, deadline=None)
@given(**cases)
def test_unreachable_nodes_count_as_one_further_shell(seed, nodes):
    case = Case(seed, nodes)
    cap = nodes + 1
    delta = winning_margins(case.shells(cap), case.label)[0]
    # the last shell is what the reachable ones leave over of the sum of all
    reachable = case.margins(cap)[0][:, :cap]
    missing = np.array([sum_of(case, n) for n in range(nodes)]) - reachable[:, 1:].sum(axis=1)
    np.testing.assert_array_equal(delta[:, cap], missing)
    np.testing.assert_array_equal(delta[:, 1:].sum(axis=1), [sum_of(case, n) for n in range(nodes)])


def test_with_balanced_patterns_margins_add_up_to_zero_and_less_the_node_itself_if_it_is_discriminative():
    drawn = draw_graph(Setting(nodes=200, degree=20, labelled=1), 0)
    table = distance_table(make_graph(np.argwhere(np.triu(drawn.adjacency)), None, (1 - drawn.label) // 2), 9)
    shells = shells_of(table, drawn.pattern, 9)
    other = drawn.pattern >= 2
    for flipped in (False, True):
        label = -drawn.label if flipped else drawn.label
        delta = winning_margins(shells, (1 - label) // 2)[0]
        total = delta[:, 1:].sum(axis=1)
        assert set(total[other]) == {0}
        assert set(total[~other]) == {1 if flipped else -1}
        assert set(delta[other, 1]) == {-18 if flipped else 18}


def test_means_leave_out_empty_shells_only_where_margins_are_relative():
    delta = np.array([[1.0, 2, 0, 0], [1, 4, 3, 0], [-1, 0, 0, 0]])
    share = np.array([[1.0, 0.5, np.nan, np.nan], [1, 1, 0.25, np.nan], [-1, np.nan, np.nan, np.nan]])
    counts, relative = mean_margins(delta, share)
    np.testing.assert_allclose(counts, [1 / 3, 2, 1, 0])
    np.testing.assert_allclose(relative, [1 / 3, 0.75, 0.25, 0])


@pytest.mark.parametrize(
    ("mean", "bins", "core"),
    [
        ([9.0, 1, 2, 0, 5], 5, 4), ([9.0, 1, 2, 0, 5], 4, 2), ([9.0, 1, 2, 0, 5], 2, 1), ([0.0, 3, 3, 3], 4, 1),
        ([0.0, -3, -1, -2], 4, 2), ([9.0, 1, 2, 0, 5, 7], 5, 4),
    ],
)  # fmt: skip
def test_the_core_distance_is_the_first_largest_of_one_to_the_last_bin(mean, bins, core):
    assert core_distance(np.array(mean), bins) == core


def test_a_run_knows_the_margins_of_its_bins_and_the_core_by_exact_distances():
    path = np.diag(np.ones(7), 1)
    pattern = np.array([1, 3, 3, 3, 3, 3, 3, 1])
    s = Setting(
        generator="given", nodes=8, dimension=3, patterns=3, key_width=4, value_width=4, labelled=1, batch=1, bins=4,
        adjacency=path + path.T, features=np.ones((8, 3)), labels=np.array([1, 1, 1, -1, 1, 1, 1, 1]), pattern=pattern,
    )  # fmt: skip
    world = prepare(s, 0)
    distance = np.abs(np.arange(8)[:, None] - np.arange(8))
    sign = np.where(pattern == 1, 1, np.where(pattern == 2, -1, 0))
    exact = np.stack([world.label * ((distance == z) @ sign) for z in range(8)], axis=1)
    lumped = np.concatenate([exact[:, :3], exact[:, 3:].sum(axis=1, keepdims=True)], axis=1)
    size = np.stack([(distance == z).sum(axis=1) for z in range(3)] + [(distance >= 3).sum(axis=1)], axis=1)
    np.testing.assert_allclose(world.facts["count_margin"][:4], lumped.mean(axis=0), rtol=1e-6)
    relative = np.array([np.mean(lumped[size[:, z] > 0, z] / size[size[:, z] > 0, z]) for z in range(4)])
    np.testing.assert_allclose(world.facts["normalised_margin"][:4], relative, rtol=1e-6)
    np.testing.assert_array_equal(world.facts["largest_shell"][:4], size.max(axis=0))
    assert world.facts["count_margin"][4:].tolist() == [0, 0, 0]
    # the last bin has the largest lumped margin, but among exact distances it is the first that wins
    assert np.argmax(lumped.mean(axis=0)[1:]) == 2
    assert int(world.core) == 1 + np.argmax(exact.mean(axis=0)[1:4]) == 1
    assert world.facts["positive_share"] == pytest.approx(np.mean(exact[:, 1] > 0))


def test_bins_that_the_candidates_of_labelled_nodes_reach_are_known():
    path = np.diag(np.ones(7), 1)
    given: dict[str, Any] = {
        "generator": "given", "nodes": 8, "dimension": 3, "patterns": 3, "key_width": 4, "value_width": 4, "bins": 4,
        "labelled": 8, "batch": 8, "adjacency": path + path.T, "features": np.ones((8, 3)),
        "labels": np.array([1, -1] * 4), "pattern": np.array([1, 2, 3, 3, 1, 2, 3, 3]),
    }  # fmt: skip

    def reached(**changes: Any) -> list[float]:
        return prepare(Setting(**given, **changes), 0).facts["reached_bins"][:4].tolist()

    assert reached(shells="near", reach=1) == [0, 1, 0, 0]
    assert reached(shells="near", reach=2) == [0, 1, 1, 0]
    assert reached(shells="whole") == [0, 1, 1, 1]
    assert reached(shells="single", distance=2) == [0, 0, 1, 0]
    assert reached(shells="single", distance=6) == [0, 0, 0, 1]


# Figure 3.2


def test_the_margins_of_the_drawing_are_minus_two_and_three():
    assert count_margins(HandSetting(), 0)["margin"].tolist() == [0, -2, 3]
    assert count_margins(HandSetting(label=-1), 0)["margin"].tolist() == [0, 2, -3]


# Uniformity of shells (probe 13)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), nodes=st.integers(3, 14))
def test_exchange_values_are_counted_as_the_proof_writes_them(seed, nodes):
    case = Case(seed, nodes)
    rng = np.random.default_rng(seed)
    pattern, label = rng.integers(0, 4, nodes), rng.choice([1, -1], nodes)
    shells = count_shells(distance_blocks(case.graph, CAP), pattern, 4, CAP)
    found = exchange_values(shells, label, np.bincount(pattern, minlength=4))
    assert found.shape == (nodes, CAP + 1, 2)
    for n in range(nodes):
        for z in range(CAP + 1):
            shell = {s for s in range(nodes) if case.distance(n, s, CAP) == z}
            star = set(np.flatnonzero(pattern == (0 if label[n] == 1 else 1)))
            for i in (2, 3):
                plain = set(np.flatnonzero(pattern == i))
                expected = len(star & shell) * len(plain - shell) - len(plain & shell) * len(star - shell)
                assert found[n, z, i - 2] == expected


def test_shells_of_the_chapters_graph_are_not_uniform_and_those_of_a_complete_cycle_are():
    chapter = examine_shells(Setting(nodes=200, degree=24, labelled=1), 0)
    assert chapter["positive_first"] == 1
    assert chapter["core_distance"] == 1
    drawn = draw_graph(Setting(nodes=200, degree=24, labelled=1), 0)
    own = np.where(drawn.label == 1, 0, 1)
    relevant = [np.mean(drawn.pattern[drawn.adjacency[n]] == own[n]) for n in range(200)]
    assert chapter["relevant_share"] == pytest.approx(np.mean(relevant), rel=1e-6)
    marked = [np.mean(drawn.pattern[drawn.adjacency[n]] < 2) for n in range(200)]
    assert chapter["marked_share_error"][1] == pytest.approx(np.mean(np.abs(np.array(marked) - 0.4)), rel=1e-5)
    assert chapter["marked_share_error"][1] > 0.3
    cycle = examine_shells(Setting(generator="cycle", nodes=400, patterns=4, bins=5, labelled=1), 0)
    np.testing.assert_allclose(cycle["marked_share_error"][[1, 3, 4]], 0, atol=1e-6)
    np.testing.assert_allclose(cycle["plain_share_error"][[1, 3, 4]], 0, atol=1e-6)
    np.testing.assert_allclose(cycle["count_margin"][1:5], [0, -20 - 20 / 50, 0, 20], atol=1e-4)
    assert cycle["core_distance"] == 4
    # (B.200) in units of u = 20 relevant and 15 plain nodes of each kind per cluster, 4 clusters of each label
    assert cycle["least_exchange"][4] == 0
    assert cycle["mean_exchange"][1] > 0


# The variance of the initial masses (P17)


RING: dict[str, Any] = {"generator": "ring", "bins": 3, "nodes": 60, "labelled": 60}


def masses_by_hand(pattern: np.ndarray, own: np.ndarray, logits: np.ndarray) -> list[float]:
    nodes, found = len(pattern), []
    for n in range(nodes):
        keys = [(n + shift) % nodes for shift in (-2, -1, 1, 2)]
        mass = [math.exp(logits[pattern[s], pattern[n]]) for s in keys]
        found.append(sum(m for s, m in zip(keys, mass, strict=True) if pattern[s] == own[n]) / sum(mass))
    return found


def test_the_masses_of_a_ring_are_attention_on_the_four_nearest_nodes():
    s = Setting(**{**RING, "nodes": 40, "labelled": 40}, patterns=4, dimension=6, key_width=6)
    logits = np.random.default_rng(1).normal(size=(4, 4))
    found = ring_masses(s, logits, np.random.default_rng(5))
    again = np.random.default_rng(5)
    pattern = again.choice(4, 40, p=[0.2, 0.2, 0.3, 0.3])
    own = np.where(pattern < 2, pattern, again.integers(0, 2, 40))
    np.testing.assert_allclose(found, masses_by_hand(pattern, own, logits), atol=1e-12)


def test_initial_logits_are_the_identity_up_to_the_error_of_keys_and_queries():
    exact = initial_logits(Setting(key_error=0.0), np.random.default_rng(0))
    np.testing.assert_allclose(exact, np.eye(10), atol=1e-12)
    near = initial_logits(Setting(key_error=0.2), np.random.default_rng(0))
    # |<q_i + n_i, q_j + o_j> - <q_i, q_j>| <= 2 δ + δ²
    off = np.abs(near - np.eye(10))
    assert 0.05 < off.max() <= 0.2 * 2 + 0.04


@pytest.mark.parametrize(("dimension", "key_width"), [(20, 25), (20, 12)])
def test_initial_logits_exist_for_wider_and_narrower_keys(dimension, key_width):
    s = Setting(dimension=dimension, key_width=key_width, key_error=0.0)
    logits = initial_logits(s, np.random.default_rng(0))
    assert logits.shape == (10, 10)
    assert np.linalg.eigvalsh((logits + logits.T) / 2).max() <= 1 + 1e-9


def test_the_bound_on_the_variance_is_that_of_the_shells():
    ring = Setting(**RING)
    assert largest_shells(ring, 0) == [2, 2]
    found = vary_masses(ring, 0)
    assert found["bound"] == pytest.approx(2 * (1 + 4 + 4) / 60)
    assert found["mass_mean"].shape == found["coin_mean"].shape == (variance.REDRAWS,)
    assert found["mass_mean"].var() < found["bound"]
    assert set(found["coin_mean"]) == {0, 1}
    assert found["coin_mean"].var() > found["bound"] / 2
    chapter = Setting(bins=3, labelled=1000)
    deltas = largest_shells(chapter, 0)
    drawn = draw_graph(Setting(), 0)
    assert deltas[0] == drawn.adjacency.sum(axis=1).max()
    assert vary_masses(chapter, 0)["bound"] == pytest.approx(2 * (1 + sum(d * d for d in deltas)) / 1000)
    masses = vary_masses(chapter, 0)["mass_mean"]
    measured = masses[~np.isnan(masses)]  # of the chapter's graph fewer are drawn
    assert 1 < measured.size < variance.REDRAWS
    assert measured.var() < vary_masses(chapter, 0)["bound"]


def test_the_bound_is_known_for_any_number_of_nodes_that_the_chapters_graph_allows():
    small = Setting(bins=3, nodes=390, discriminative=0.8, labelled=1)
    drawn = draw_graph(Setting(nodes=390, discriminative=0.8, labelled=1), 0)
    assert largest_shells(small, 0)[0] == drawn.adjacency.sum(axis=1).max()
