"""Features, given graphs, labels, splits and streams of a run (2.5, 2.6): what is paired, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gt_graphs import SMALL, distances, graph_of, margins, simple

from lemmata.lab.errors import UserError
from lemmata.theories.graph_transformer.data import World, draw, prepare
from lemmata.theories.graph_transformer.graphs.drawn import Drawn
from lemmata.theories.graph_transformer.setting import Setting

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
