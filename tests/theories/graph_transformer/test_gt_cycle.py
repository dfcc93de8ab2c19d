"""G3, the cluster cycle (2.4): its margins in closed form, and the planner of core distances."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from gt_graphs import CORES, LISTED, distances, expected_margins, graph_of, margins, simple
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.lab.errors import UserError
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.graphs.cycle import plan_cycle
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting

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
