"""Neurons (5.4, 5.5, 3.6): large ones, their blocks, lucky ones, and pruned ones, which are deleted rows."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import math
from collections.abc import Iterator

import jax
import numpy as np
import pytest
from icl_networks import FAST, FEATURES, LABELS, NEURONS, PROMPTS, WIDTH, Case, by_hand, run, score
from scipy import stats

from lemmata.lab.precision import numerics
from lemmata.theories.icl.data import Patterns, World
from lemmata.theories.icl.network import neurons
from lemmata.theories.icl.probes import (
    ORDERS,
    RATES,
    find_lucky,
    lucky_activity,
    neuron_blocks,
    otsu,
    prune,
    prune_order,
)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Large neurons


def two_groups(values: np.ndarray) -> np.ndarray:
    """The larger group of the split with the largest variance between groups, by trying every split."""
    best, chosen = -1.0, values > np.inf
    for threshold in np.unique(values)[1:]:
        large = values >= threshold
        between = large.mean() * (1 - large.mean()) * (values[large].mean() - values[~large].mean()) ** 2
        if between > best:
            best, chosen = between, large
    return chosen


def test_the_large_neurons_are_those_of_the_best_split() -> None:
    split = jax.jit(otsu, **FAST)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        share, apart = rng.uniform(0.1, 0.9), rng.uniform(0, 4)
        values = np.abs(rng.normal(size=40) + apart * (rng.uniform(size=40) < share))
        np.testing.assert_array_equal(split(values), two_groups(values))
    rng = np.random.default_rng(30)
    member = rng.permutation(np.arange(40) < 13)
    values = np.where(member, 3.0, 0.4) + 0.1 * rng.normal(size=40)
    np.testing.assert_array_equal(split(values), member)
    # on logarithms a single tiny neuron would be split off
    values[np.flatnonzero(~member)[0]] = 1e-9
    np.testing.assert_array_equal(split(values), member)


class Trained(Case):
    """A case with the world that lucky neurons and blocks are measured in."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, value=WIDTH)
        basis = 3 * np.linalg.qr(self.rng.normal(size=(FEATURES, FEATURES)))[0]
        q = self.rng.normal(size=LABELS)
        self.world = World(basis, Patterns(basis[:, :2], basis[:, 2:], np.asarray(0.5)), q, np.zeros((2, 2)))
        self.run = run(self.network, self.signs, self.prompts)


def test_blocks_of_neurons_have_their_norms_and_cosines() -> None:
    case = Trained(12)
    rows = case.network.output @ case.network.value
    found = jax.jit(neuron_blocks, **FAST)(rows, case.signs, case.world)
    towards = (case.world.basis[:, 0] + case.world.basis[:, 1]) / 2
    for i, row in enumerate(rows):
        feature, label = row[:FEATURES], row[FEATURES:]
        q = math.copysign(1, case.signs[i]) * np.asarray(case.world.q)
        size = np.linalg.norm
        assert found["neuron_norm"][i] == pytest.approx(size(row))
        assert found["feature_norm"][i] == pytest.approx(size(feature))
        assert found["label_norm"][i] == pytest.approx(size(label))
        assert found["feature_cosine"][i] == pytest.approx(feature @ towards / size(feature) / size(towards))
        assert found["label_cosine"][i] == pytest.approx(label @ q / size(label) / size(q))


def test_lucky_neurons_are_those_of_the_definition() -> None:
    members = 0
    for seed in range(13, 19):
        case = Trained(seed)
        lucky = jax.jit(find_lucky, **FAST)(case.network, case.signs, case.prompts, case.run, case.world)
        union = np.zeros((2, NEURONS), bool)
        own = np.zeros((PROMPTS, NEURONS), bool)
        for n, one in enumerate(case.references()):
            kept = case.prompts.contexts[n][case.prompts.weight[n] > 0]
            v = case.network.value @ (one.attention[0] @ kept)
            for i, row in enumerate(case.network.output):
                both = row[:FEATURES] @ v[:FEATURES] > 0 and row[FEATURES:] @ v[FEATURES:] > 0
                assert lucky.unsigned[n, i] == both
                own[n, i] = both and (case.signs[i] > 0) == (case.prompts.label[n] > 0)
                union[int(case.prompts.label[n] < 0), i] |= own[n, i]
        np.testing.assert_array_equal(lucky.own, own)
        np.testing.assert_array_equal(lucky.union, union)
        members += own.sum()
        if not own.any():
            continue
        active = case.rng.uniform(size=own.shape) < 0.5
        shares = jax.jit(lucky_activity, **FAST)(active, case.prompts, lucky)
        assert shares["own_active"] == pytest.approx(active[own].mean())
        every = union[(case.prompts.label < 0).astype(int)]
        assert shares["all_active"] == pytest.approx(active[every].mean())
    assert members > 12


# Pruning


def test_the_orders_of_pruning_are_permutations_by_size_and_at_random() -> None:
    rng = np.random.default_rng(0)
    size, large = rng.normal(size=20), rng.uniform(size=20) < 0.6
    order = jax.jit(prune_order, **FAST)
    smallest, random, largest, random_large = np.asarray(order(jax.random.key(0), size, large))
    np.testing.assert_array_equal(np.argsort(smallest), np.argsort(size))
    np.testing.assert_array_equal(np.argsort(largest), np.argsort(-size))
    for place in (smallest, random, largest, random_large):
        np.testing.assert_array_equal(np.sort(place), np.arange(20))
    # first the large neurons, then the small ones, both in the random order
    expected = sorted(range(20), key=lambda i: (not large[i], random[i]))
    np.testing.assert_array_equal(np.argsort(random_large), expected)
    firsts = [int(np.argmin(np.asarray(order(jax.random.key(seed), size, large))[1])) for seed in range(200)]
    assert stats.chisquare(np.bincount(firsts, minlength=20)).pvalue > 1e-4


def test_pruned_losses_are_those_of_the_network_without_the_rows() -> None:
    case = Trained(20)
    key = jax.random.key(2)
    rows = np.asarray(neurons(case.network))
    norms = np.linalg.norm(np.asarray(case.network.output), axis=1)
    found = jax.device_get(jax.jit(prune, **FAST)(key, rows, norms, case.signs, case.run, case.prompts))
    large = two_groups(np.linalg.norm(rows, axis=1))
    assert 1 < large.sum() < NEURONS - 1
    places = np.asarray(jax.jit(prune_order, **FAST)(key, norms, large))

    def without(removed: np.ndarray) -> tuple[float, float]:
        network = case.network._replace(output=case.network.output[~removed])
        margins = []
        for p, query, weight, z, *_ in zip(*case.prompts, strict=True):
            margins.append(z * by_hand(network, case.signs[~removed], p[weight > 0], query).output)
        return float(np.maximum(0, 1 - np.array(margins)).mean()), float(np.mean(np.array(margins) <= 0))

    for order, name in enumerate(ORDERS):
        for r, rate in enumerate(RATES):
            removed = places[order] < round(rate * NEURONS)
            assert removed.sum() == round(rate * NEURONS)
            pair = found["pruned_hinge"][order, r], found["pruned_error"][order, r]
            if name == "random large" and removed.sum() > large.sum():
                assert np.isnan(pair).all()
                continue
            if name == "random large":
                assert np.all(large[removed])
            np.testing.assert_allclose(pair, without(removed), rtol=1e-7)
    whole = score(case.run, case.prompts)
    np.testing.assert_allclose(found["pruned_hinge"][:, 0], whole["hinge"], rtol=1e-12)
    np.testing.assert_allclose(found["pruned_error"][:, 0], whole["error"], rtol=1e-7)
    np.testing.assert_allclose((found["large_hinge"], found["large_error"]), without(~large), rtol=1e-7)
    assert found["pruned_large_share"] == pytest.approx(large.mean())
    assert len(np.unique(np.round(found["pruned_hinge"][:3, 5], 6))) == 3, "the orders must differ"
