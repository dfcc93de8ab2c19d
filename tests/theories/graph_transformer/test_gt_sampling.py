"""Samplers (section 4): which nodes a node attends to, and with what probabilities; full evaluation; oracle 8.8.

One call draws for many rows, so a row that names the same node many times shows the distribution of its samples. All
tests share one hand-made graph:

    0 is joined to 1 .. 6; 1 to 7 and 8; 2 to 9; 7 to 10; 10 to 11; 12 and 13 to each other; 14 to none.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import stream
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import World, prepare
from lemmata.theories.graph_transformer.network import Parameters, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import Watched, draw_watched, full
from lemmata.theories.graph_transformer.sampling import SAMPLER, draw_positions, draw_tokens, order_by_distance
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.studies.random_samples import violations

FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
NODES, MANY = 15, 20_000
EDGES = [
    (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (1, 7), (1, 8), (2, 9), (7, 10), (10, 11), (12, 13),
]  # fmt: skip
ADJACENCY = np.zeros((NODES, NODES), int)
for one, two in EDGES:
    ADJACENCY[one, two] = ADJACENCY[two, one] = 1
PATTERN = np.array([3, 1, 1, 2, 2, 3, 3, 1, 2, 2, 1, 3, 1, 2, 3])
LABELS = np.array([1, 1, 1, -1, -1, 1, -1, 1, -1, -1, 1, 1, 1, -1, -1])
BASE: dict[str, Any] = {
    "generator": "given", "nodes": NODES, "dimension": 4, "patterns": 3, "key_width": 5, "value_width": 5,
    "labelled": NODES, "batch": 5, "bins": 3, "sample": 3, "adjacency": ADJACENCY, "labels": LABELS, "pattern": PATTERN,
    "features": np.random.default_rng(0).normal(size=(NODES, 4)), "neurons": 6,
}  # fmt: skip
FROM_ZERO = [0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 99, 99, 99]
ZERO = jnp.zeros(7)


def world_of(**changes: Any) -> tuple[Setting, World]:
    setting = Setting(**{**BASE, **changes})
    return setting, prepare(setting, 0)


@functools.partial(jax.jit, **FAST)
def _drawing(problem: Problem, key: Any, world: World, rows: Any, encoding: Any) -> Any:
    return draw_tokens(problem, key, world, rows, encoding)


def drawing(problem: Problem, key: Any, world: World, rows: Any, encoding: Any) -> Any:
    """Settings that differ in what a sampler does not read share a program."""
    return _drawing(problem.only(SAMPLER), key, world._replace(facts={}), rows, encoding)


def draws(rows: Any, encoding: Any = ZERO, seed: int = 0, **changes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the samples of every row."""
    setting, world = world_of(**changes)
    nodes, weight = drawing(setting.problem(), jax.random.key(seed), world, jnp.asarray(rows), encoding)
    return np.asarray(nodes), np.asarray(weight)


def samples_of(node: int, encoding: Any = ZERO, **changes: Any) -> list[list[int]]:
    """What one node attends to, many times; the node itself is always the first slot."""
    nodes, weight = draws(np.full(MANY, node), encoding, **changes)
    assert (nodes[:, 0] == node).all()
    assert set(np.unique(weight)) <= {0, 1}
    return [row[used > 0].tolist() for row, used in zip(nodes, weight, strict=True)]


def goodness(observed: Any, weights: Any) -> float:
    observed, weights = np.asarray(observed, float), np.asarray(weights, float)
    return chisquare(observed, observed.sum() * weights / weights.sum()).pvalue


# Positions


position = jax.jit(draw_positions, static_argnames="size", **FAST)


@pytest.mark.parametrize("size", [3])
def test_every_set_of_positions_is_equally_likely(size):
    drawn, weight = position(jax.random.key(1), jnp.full(MANY, 6), size)
    assert (np.asarray(weight) == 1).all()
    found = Counter(tuple(sorted(row)) for row in np.asarray(drawn).tolist())
    subsets = list(itertools.combinations(range(6), size))
    assert set(found) == set(subsets)
    assert goodness([found[s] for s in subsets], np.ones(len(subsets))) > 1e-3


def test_positions_differ_and_stay_below_the_count_and_all_are_taken_where_there_are_fewer():
    count = np.tile(np.arange(8), MANY // 8)
    drawn, weight = (np.asarray(part) for part in position(jax.random.key(2), jnp.asarray(count), 3))
    for among in range(8):
        rows, used = drawn[count == among], weight[count == among] > 0
        assert (used.sum(axis=1) == min(among, 3)).all()
        if among <= 3:
            assert (rows == np.where(np.arange(3) < among, np.arange(3), 0)).all()
        else:
            assert rows.min() == 0
            assert rows.max() == among - 1
            assert all(len(set(row)) == 3 for row in rows.tolist())
            inclusion = np.bincount(rows.ravel(), minlength=among)
            # inclusions of one draw exclude each other: their counts vary less than chisquare assumes
            assert np.abs(inclusion - len(rows) * 3 / among).max() < 4.5 * math.sqrt(len(rows) * 0.25)


# Order by distance


def test_rows_list_all_nodes_by_distance_and_shells_begin_where_they_say():
    _, world = world_of()
    assert world.node[0].tolist() == list(range(NODES))
    assert world.shell[0].tolist() == [0, 1, 7, 10, 15, 15]
    ordered = order_by_distance(np.minimum(world.table, 3), 3)
    for n in range(NODES):
        assert sorted(ordered.node[n]) == list(range(NODES))
        assert ordered.node[n, 0] == n
        for z in range(4):
            shell = ordered.node[n, ordered.start[n, z] : ordered.start[n, z + 1]]
            assert shell.tolist() == np.flatnonzero(world.table[n] == z).tolist()


# Uniform samples of ranges of distances


RANGES = [
    ({"shells": "near", "reach": 1}, lambda z: z == 1),
    ({"shells": "near", "reach": 2}, lambda z: 1 <= z <= 2),
    ({"shells": "near", "reach": 3}, lambda z: 1 <= z <= 3),
    ({"shells": "whole"}, lambda z: z >= 1),
    ({"shells": "single", "distance": 2}, lambda z: z == 2),
    ({"shells": "single", "distance": 4}, lambda z: z == 4),
]


@pytest.mark.parametrize(("changes", "allowed"), RANGES)
def test_candidates_are_the_nodes_at_the_named_distances(changes, allowed):
    _, world = world_of(**changes)
    graph_distance = np.full((NODES, NODES), 99)
    np.fill_diagonal(graph_distance, 0)
    for z in range(1, NODES):
        near = (graph_distance == z - 1).astype(int) @ ADJACENCY > 0
        graph_distance[near & (graph_distance == 99)] = z
    assert graph_distance[0].tolist() == FROM_ZERO
    for n in range(NODES):
        expected = [s for s in range(NODES) if allowed(graph_distance[n, s])]
        assert sorted(world.node[n, world.first[n] : world.first[n] + world.count[n]]) == expected
    nodes, weight = draws(np.repeat(np.arange(NODES), 40), **changes)
    for row, used in zip(nodes, weight, strict=True):
        others = row[1:][used[1:] > 0]
        assert all(allowed(graph_distance[row[0], s]) for s in others)
        assert len(others) == len(set(others)) == min(3, int(world.count[row[0]]))


def test_the_core_is_sampled_at_the_core_distance_alone():
    for bins in (2, 3, 5):
        setting, world = world_of(shells="core", bins=bins)
        core = int(world.core)
        assert 1 <= core < bins
        assert int(world.nearest) == int(world.farthest) == core
        assert world.count.tolist() == (world.table == core).sum(axis=1).tolist()
        assert setting.bins == bins
    cycle = prepare(Setting(generator="cycle", nodes=80, bins=5, shells="core", labelled=9), 0)
    assert int(cycle.core) == 4
    nodes = cycle.node[3, cycle.first[3] : cycle.first[3] + cycle.count[3]]
    assert sorted(nodes) == list(range(40, 50))


def test_uniform_samples_have_equal_inclusions_and_pairs():
    found = samples_of(0, shells="near", reach=2, include_self=False)
    assert all(len(row) == len(set(row)) == 3 for row in found)
    sets = Counter(frozenset(row) for row in found)
    triples = [frozenset(t) for t in itertools.combinations(range(1, 10), 3)]
    assert set(sets) == set(triples)
    assert goodness([sets[t] for t in triples], np.ones(84)) > 1e-3
    pairs = Counter(pair for row in found for pair in itertools.combinations(sorted(row), 2))
    expected = MANY * 3 * 2 / (9 * 8)
    assert all(abs(count - expected) < 4.5 * math.sqrt(expected) for count in pairs.values())
    assert len(pairs) == 36


def test_rows_of_one_draw_are_independent_and_keys_decide():
    nodes, _ = draws(np.full(MANY, 0), shells="whole")
    first, second = nodes[::2, 1], nodes[1::2, 1]
    table = np.bincount(15 * first + second, minlength=225).reshape(15, 15)[1:, 1:]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    used = expected > 0
    assert chisquare(table[used], expected[used], ddof=25).pvalue > 1e-3
    again, other = draws([0] * 50, shells="whole")[0], draws([0] * 50, shells="whole", seed=1)[0]
    assert (again == draws([0] * 50, shells="whole")[0]).all()
    assert not (again == other).all()


def test_the_node_itself_is_added_on_top_of_the_sample_or_left_out():
    with_self = samples_of(0, shells="near", reach=2)
    assert all(row[0] == 0 and len(row) == 4 and 0 not in row[1:] for row in with_self)
    without = samples_of(0, shells="near", reach=2, include_self=False)
    assert all(0 not in row and len(row) == 3 for row in without)


@pytest.mark.parametrize("draw", ["uniform", "all", "biased", "biased_apart", "encoding"])
@pytest.mark.parametrize("include_self", [True, False])
def test_a_node_without_candidates_attends_to_itself_alone_and_is_counted(draw, include_self):
    changes: dict[str, Any] = {"draw": draw, "shells": "near", "reach": 1, "include_self": include_self}
    setting, world = world_of(**changes)
    assert world.facts["lonely"] == 1
    nodes, weight = draws(np.arange(NODES), **changes)
    assert nodes[14][weight[14] > 0].tolist() == [14]
    # the other isolated pair has one neighbour each
    assert sorted(nodes[12][weight[12] > 0]) == sorted([12] * include_self + [13] * (3 if draw == "biased" else 1))
    assert (weight.sum(axis=1) > 0).all()
    assert setting.require_candidates is False


# Other samplers


def test_stratified_samples_have_so_many_nodes_of_each_distance_and_no_node_twice():
    found = samples_of(0, draw="stratified", reach=3, per_shell=2, extra=3, include_self=False)
    extras: Counter[int] = Counter()
    for row in found:
        assert len(row) == len(set(row))
        distances = Counter(FROM_ZERO[s] for s in row[:5])
        assert distances == {1: 2, 2: 2, 3: 1}
        assert len(row) <= 8
        extras.update(row[5:])
    assert 0 not in extras
    assert set(extras) == set(range(1, NODES)) - {10}  # 10, the only node at distance 3, is always drawn already
    far = [extras[s] for s in (11, 12, 13, 14)]
    assert goodness(far, np.ones(4)) > 1e-3
    assert sum(far) / 4 / MANY == pytest.approx(3 / 14, abs=0.01)
    near = Counter(s for row in found for s in row[:4])
    assert goodness([near[s] for s in range(1, 7)], np.ones(6)) > 1e-6
    assert sum(near[s] for s in range(1, 7)) == 2 * MANY
    # a node at distance 1 is an extra only where it is not among the two of six of its shell
    assert extras[1] / MANY == pytest.approx(3 / 14 * (1 - 2 / 6), abs=0.01)


def test_stratified_samples_take_all_nodes_of_small_shells_and_end_at_the_reach():
    for row in samples_of(12, draw="stratified", reach=2, per_shell=2, extra=1):
        assert row[:2] == [12, 13]
        assert len(row) in (2, 3)
    near = samples_of(0, draw="stratified", reach=1, per_shell=2, extra=0)
    assert all(len(row) == 3 and all(1 <= s <= 6 for s in row[1:]) for row in near)


RELEVANT = [1, 2, 7]
"""Nodes of pattern 1 within two steps of node 0, whose label is +1."""


def test_biased_samples_are_independent_draws_by_weight():
    found = samples_of(0, draw="biased", shells="near", reach=2, preference=3.0, include_self=False)
    assert all(len(row) == 3 for row in found)
    assert any(len(set(row)) < 3 for row in found)
    weights = [3 if s in RELEVANT else 1 for s in range(1, 10)]
    for slot in range(3):
        counts = np.bincount([row[slot] for row in found], minlength=10)
        assert counts[0] == 0
        assert goodness(counts[1:], weights) > 1e-3
    pairs = Counter((row[0], row[1]) for row in found)
    listed = list(itertools.product(range(1, 10), repeat=2))
    assert goodness([pairs[p] for p in listed], [weights[i - 1] * weights[j - 1] for i, j in listed]) > 1e-3


def test_what_is_preferred_is_the_pattern_of_the_nodes_own_label():
    found = samples_of(6, draw="biased", shells="near", reach=2, preference=3.0, include_self=False)
    weights = {0: 1, 1: 1, 2: 1, 3: 3, 4: 3, 5: 1}  # node 6 has label -1: patterns 2 count
    counts = np.bincount([row[0] for row in found], minlength=NODES)
    assert counts[6:].sum() == 0
    assert goodness([counts[s] for s in weights], list(weights.values())) > 1e-3


def successive(weights: dict[int, float]) -> dict[tuple[int, int], float]:
    """The first two of draws one after the other without replacement, by weight."""
    total = sum(weights.values())
    return {
        (i, j): weights[i] / total * weights[j] / (total - weights[i])
        for i, j in itertools.permutations(weights, 2)
    }  # fmt: skip


def test_biased_samples_without_replacement_are_successive_draws_by_weight():
    found = samples_of(0, draw="biased_apart", shells="near", reach=2, preference=3.0, include_self=False)
    assert all(len(row) == len(set(row)) == 3 for row in found)
    law = successive({s: 3.0 if s in RELEVANT else 1.0 for s in range(1, 10)})
    pairs = Counter((row[0], row[1]) for row in found)
    assert set(pairs) <= set(law)
    assert goodness([pairs[p] for p in law], list(law.values())) > 1e-3


def test_the_encoding_samples_distances_by_its_exponentials():
    b = jnp.asarray([5.0, 1.0, -0.5, 0.7, 9.0, 9.0, 9.0])
    found = samples_of(0, b, draw="encoding", shells="whole", bins=4, include_self=False)
    assert all(len(row) == len(set(row)) == 3 for row in found)
    law = successive({s: math.exp(float(b[min(FROM_ZERO[s], 3)])) for s in range(1, NODES)})
    pairs = Counter((row[0], row[1]) for row in found)
    assert goodness([pairs[p] for p in law], list(law.values())) > 1e-3
    # with two bins, all distances beyond the first are one
    lumped = samples_of(0, b, draw="encoding", shells="whole", bins=2, include_self=False)
    counts = np.bincount([row[0] for row in lumped], minlength=NODES)
    assert goodness(counts[1:], np.ones(NODES - 1)) > 1e-3


@pytest.mark.parametrize("draw", ["biased_apart", "encoding"])
def test_fewer_candidates_than_wanted_are_all_taken(draw):
    for row in samples_of(10, draw=draw, shells="near", reach=1, include_self=False):
        assert sorted(row) == [7, 11]
    wide = samples_of(0, draw=draw, shells="near", reach=2, sample=20, include_self=False)
    assert all(sorted(row) == list(range(1, 10)) for row in wide[:50])


def test_all_candidates_are_keys_once():
    for include_self in (True, False):
        nodes, weight = draws(np.arange(NODES), draw="all", shells="near", reach=2, include_self=include_self)
        assert sorted(nodes[0][weight[0] > 0]) == list(range(0 if include_self else 1, 10))
        assert sorted(nodes[11][weight[11] > 0]) == [7, 10] + [11] * include_self
        assert nodes[14][weight[14] > 0].tolist() == [14]


# Watched nodes, full evaluation


def test_watched_samples_have_their_own_seed_and_split():
    setting, world = world_of(shells="whole", test_draws=2, labelled=9)
    watched = draw_watched(setting.problem(), jax.random.key(3), world)
    assert watched.keys.shape == (2, NODES, 4)
    assert (np.asarray(watched.node) == world.order).all()
    assert np.asarray(watched.labelled).tolist() == [True] * 9 + [False] * 6
    assert (np.asarray(watched.tested) == ~np.asarray(watched.labelled)).all()
    assert not (watched.keys[0] == watched.keys[1]).all()
    again = draw_watched(setting.replace(labelled=4, batch=2).problem(), jax.random.key(3), world)
    assert (again.keys == watched.keys).all()
    own = jax.random.split(stream(jax.random.key(3), "test"), 2)
    for key, keys in zip(own, watched.keys, strict=True):
        assert (drawing(setting.problem(), key, world, watched.node, ZERO)[0] == keys).all()


def test_the_test_can_begin_later_in_the_order_than_the_labels_end():
    setting, world = world_of(shells="whole", labelled=9, test_from=7)
    watched = draw_watched(setting.problem(), jax.random.key(3), world)
    assert (np.asarray(watched.node) == world.order[7:]).all()
    assert np.asarray(watched.labelled).tolist() == [True] * 2 + [False] * 6


def test_the_bin_of_a_key_is_its_distance_and_the_last_one_holds_all_beyond_and_unreachable_nodes():
    for bins in (2, 3, 5):
        _, world = world_of(bins=bins)
        tokens = tokens_of(world, jnp.asarray([0, 12]), jnp.tile(jnp.arange(NODES), (2, 1)), jnp.ones((2, NODES)), bins)
        assert tokens.bins[0].tolist() == [min(z, bins - 1) for z in FROM_ZERO]
        assert tokens.bins[1].tolist() == [{12: 0, 13: 1}.get(s, bins - 1) for s in range(NODES)]
        np.testing.assert_array_equal(tokens.query, world.features[[0, 12]])
        np.testing.assert_array_equal(tokens.keys, np.stack([world.features] * 2))


def test_samples_outside_the_interval_of_the_proof_are_counted():
    """(B.182): | |S_i ∩ N_z|/|S| - |D_i ∩ N_z|/N | > √(log|S|/|S|), z = 1, 2."""
    shares = []
    for sample in (1, 2, 3):
        setting, world = world_of(shells="near", reach=2, sample=sample)
        rows, key = np.arange(NODES), jax.random.key(5)
        keys, weight = drawing(setting.problem(), stream(key, "sampler"), world, rows, ZERO)
        outside = []
        for n in rows:
            drawn = np.asarray(keys)[n][np.asarray(weight)[n] > 0]
            for z, i in itertools.product((1, 2), range(3)):
                inside = [s for s in drawn if world.table[n, s] == z and world.pattern[s] == i]
                there = np.sum((world.table[n] == z) & (world.pattern == i))
                outside.append(abs(len(inside) / sample - there / NODES) > math.sqrt(math.log(sample) / sample))
        found = float(violations(setting.problem(), key, world))
        assert found == pytest.approx(np.mean(outside))
        shares.append(found)
    assert shares[0] > shares[1] > shares[2] >= 0


@functools.partial(jax.jit, **FAST)
def both_ways(problem: Problem, world: World, parameters: Parameters, signs: Any) -> Any:
    """F with all candidates as a sample and by full evaluation, and the attention of the latter."""
    rows = jnp.arange(NODES)
    keys, weight = draw_tokens(problem, jax.random.key(0), world, rows, parameters.encoding)
    tokens = tokens_of(world, rows, keys, weight, problem.bins)
    by_sample = run_sampled(parameters, signs, tokens, problem.scores).answer[:, 0]
    by_all = full(problem, parameters, signs, world, Watched(rows, rows > 5, rows <= 5, keys[None], weight[None]))
    return keys, weight, by_sample, by_all.answer[0], by_all.attention[0][0]


@pytest.mark.parametrize("scores", ["dot", "additive"])
@pytest.mark.parametrize(
    "changes",
    [
        {"shells": "near", "reach": 1}, {"shells": "whole", "bins": 4}, {"shells": "single", "distance": 2},
        {"shells": "near", "reach": 2, "include_self": False},
    ],
)  # fmt: skip
def test_full_evaluation_is_that_of_a_sample_of_all_candidates(changes, scores):
    setting, world = world_of(**changes, draw="all", scores=scores)
    rng = np.random.default_rng(4)
    network = Network(*(rng.normal(size=shape) for shape in ((6, 5), (5, 4), (5, 4), (5, 4))))
    parameters = Parameters(network, np.linspace(-1, 2, 7), rng.normal(size=10))
    signs = rng.choice([-1.0, 1.0], 6)
    with numerics("float64"):
        keys, weight, by_sample, by_all, attention = both_ways(
            setting.problem().only((*SAMPLER, "scores")), world, parameters, signs
        )
    np.testing.assert_allclose(by_all, by_sample, rtol=1e-12, atol=1e-14)
    assert np.abs(by_sample).max() > 0.1
    expected = np.zeros((NODES, NODES))
    np.put_along_axis(expected, np.asarray(keys), np.asarray(weight), axis=1)
    assert ((np.asarray(attention) > 0) == (expected > 0)).all()
