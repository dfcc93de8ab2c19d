"""Trajectories of training and their invariances (oracles 8.3, 8.4, 8.7, 8.9); initial weights (3.2); in float64."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import gt_slow
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gt_slow import FAST, assert_trees, conserved, run

from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.network import (
    Parameters,
    Tokens,
    gradient,
    initialise,
    semi_orthogonal,
    tokens_of,
)
from lemmata.theories.graph_transformer.sampling import draw_tokens
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import train


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Training: the invariances of whole trajectories, with all labelled nodes and fixed samples at every step

CHANGED = {"batch": 0, "fresh_samples": False, "steps": 60, "record_every": 60, "step_size": 0.2, "output_scale": 0.3}
SMALL = Setting(**{**gt_slow.SMALL, **CHANGED})


class Trained(NamedTuple):
    """What training starts from: everything but the setting's numbers."""

    world: Any
    parameters: Parameters
    signs: Any
    watched: Any

    def __call__(self, setting: Setting = SMALL, **changes: Any) -> Parameters:
        """The parameters at the end."""
        case = self._replace(**changes)
        run = train(setting.problem(), jax.random.key(0), case.world, case.parameters, case.signs, case.watched)
        assert float(run.diverged) == 0
        assert float(run.last_step) == setting.steps
        return jax.tree.map(np.asarray, run.state.parameters)

    def tokens(self) -> tuple[Tokens, np.ndarray]:
        """Keys and labels of the labelled nodes."""
        rows = self.watched.node[:40]
        keys, weight = self.watched.keys[0, :40], self.watched.weight[0, :40]
        return tokens_of(self.world, rows, keys, weight, 4), np.asarray(self.world.label[rows])


@pytest.fixture(scope="module")
def trained() -> Trained:
    with numerics("float64"):
        case = gt_slow.make_case(**CHANGED)
        return Trained(case.world, case.parameters, case.signs, case.watched)


def moved(one: Parameters, two: Parameters) -> float:
    return max(
        float(np.abs(np.asarray(a) - b).max())
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    )  # fmt: skip


def test_training_keeps_the_sum_of_the_encoding(trained):
    end = trained()
    assert np.abs(end.encoding).max() > 1e-3
    assert abs(end.encoding.sum()) < 1e-13
    assert not end.encoding[4:].any()


def test_negating_output_weights_and_all_labels_leaves_the_trajectory_as_it_is(trained):
    world = trained.world
    negated = world._replace(label=-world.label, clean=-world.clean, taught=-world.taught)
    assert_trees(trained(world=negated, signs=-trained.signs), trained(), 0.0)
    assert moved(trained(world=negated), trained()) > 1e-3


def test_a_constant_in_the_initial_encoding_stays_there(trained):
    shifted = trained.parameters._replace(encoding=trained.parameters.encoding + 2.0)
    end = trained(parameters=shifted)
    assert_trees(end._replace(encoding=end.encoding - 2.0), trained(), 1e-11)


def test_an_orthogonal_map_of_features_and_matrices_leaves_the_trajectory_as_it_is(trained):
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    o, v, k, q = trained.parameters.network
    start = trained.parameters._replace(network=Network(o, v @ turn.T, k @ turn.T, q @ turn.T))
    world = trained.world._replace(features=trained.world.features @ turn.T, directions=turn @ trained.world.directions)
    end, plain = trained(world=world, parameters=start), trained()
    o, v, k, q = plain.network
    assert_trees(end.network, Network(o, v @ turn.T, k @ turn.T, q @ turn.T), 1e-10)
    assert_trees(end.encoding, plain.encoding, 1e-10)


def test_relabelling_the_nodes_leaves_the_trajectory_as_it_is(trained):
    world, watched = trained.world, trained.watched
    place = np.random.default_rng(3).permutation(80).astype(np.int32)  # node n becomes place[n]
    back = np.argsort(place)
    renamed = world._replace(
        features=world.features[back], label=world.label[back], clean=world.clean[back], taught=world.taught[back],
        pattern=world.pattern[back], order=place[world.order], table=world.table[back][:, back],
    )  # fmt: skip
    samples = watched._replace(node=place[watched.node], keys=place[watched.keys])
    assert_trees(trained(world=renamed, watched=samples), trained(), 0.0)


def test_one_training_step_is_one_step_of_the_gradient_of_the_mean_loss(trained):
    tokens, label = trained.tokens()
    g = jax.jit(
        lambda p: gradient(p, trained.signs, tokens, lambda f: label * hinge().slope(label * f) / 40), **FAST
    )(trained.parameters)  # fmt: skip
    after = trained(SMALL.replace(steps=1, record_every=1))
    assert_trees(after, jax.tree.map(lambda w, d: w - 0.2 * d, trained.parameters, g))
    g = jax.tree.map(np.asarray, g.network)
    start = jax.tree.map(np.asarray, trained.parameters.network)
    for before, now, d in zip(conserved(start), conserved(after.network), conserved(g), strict=True):
        np.testing.assert_allclose(now - before, 0.2**2 * d, atol=1e-12, rtol=0)
        assert np.abs(d).max() > 1e-5


def test_halving_the_step_size_halves_the_drift_of_the_conserved_matrices(trained):
    start = conserved(jax.tree.map(np.asarray, trained.parameters.network))

    def drift(eta: float) -> list[float]:
        steps = round(20 / eta)
        end = trained(SMALL.replace(step_size=eta, steps=steps, record_every=steps)).network
        return [float(np.linalg.norm(now - then)) for now, then in zip(conserved(end), start, strict=True)]

    for coarse, fine in zip(drift(0.1), drift(0.05), strict=True):
        assert coarse > 1e-5
        assert 1.8 <= coarse / fine <= 2.2


def test_without_a_step_size_or_a_loss_nothing_moves(trained):
    start = jax.tree.map(np.asarray, trained.parameters)
    assert_trees(trained(SMALL.replace(step_size=0.0)), start, 0.0)
    tokens, _ = trained.tokens()
    answer = np.asarray(run(trained.parameters, trained.signs, tokens).output)
    label = np.zeros(80)
    label[np.asarray(trained.watched.node[:40])] = np.sign(answer)
    assert np.abs(answer).min() > 1e-9
    sure = trained.signs / np.abs(answer).min() * 1.01
    world = trained.world._replace(taught=jnp.asarray(label))
    assert_trees(trained(world=world, signs=sure), start, 0.0)
    assert moved(trained(world=world._replace(taught=-world.taught), signs=sure), start) > 1e-3


@pytest.mark.parametrize(
    ("changes", "frozen"),
    [
        ({"model": "gcn"}, {"key", "query", "encoding"}), ({"model": "frozen_init"}, {"key", "query", "encoding"}),
        ({"model": "no_pe"}, {"encoding"}), ({"train_encoding": 0}, {"encoding"}),
        ({"train_attention": 0}, {"key", "query"}),
        ({"train_values": 0}, {"value"}), ({"train_output": 0}, {"output"}), ({}, set()),
        ({"pretraining": 60}, {"key", "query", "encoding", "value"}),
    ],
)  # fmt: skip
def test_models_and_flags_freeze_what_they_name(trained, changes, frozen):
    setting = SMALL.replace(**changes)
    start = initialise(setting.problem(), jax.random.key(0), trained.world.directions)[0]
    end = trained(setting, parameters=start)
    still = {
        name for name in ("output", "value", "key", "query")
        if np.array_equal(getattr(start.network, name), getattr(end.network, name))
    }  # fmt: skip
    if np.array_equal(start.encoding, end.encoding):
        still.add("encoding")
    assert still == (frozen | {"key", "query"} if setting.model == "gcn" else frozen)
    if setting.model == "gcn":
        assert not end.network.key.any()
        assert not end.network.query.any()


def test_the_entry_of_distance_zero_can_be_frozen_alone(trained):
    end = trained(SMALL.replace(freeze_zero_bin=1))
    assert end.encoding[0] == 0
    assert np.abs(end.encoding[1:3]).min() > 0


def test_all_models_of_a_seed_start_from_the_same_values_and_outputs(trained):
    start = {
        model: initialise(SMALL.replace(model=model).problem(), jax.random.key(0), trained.world.directions)
        for model in ("gt", "no_pe", "gcn", "frozen_init")
    }
    for parameters, signs in start.values():
        np.testing.assert_array_equal(signs, trained.signs)
        np.testing.assert_array_equal(parameters.network.output, trained.parameters.network.output)
        np.testing.assert_array_equal(parameters.network.value, trained.parameters.network.value)
        assert not np.asarray(parameters.encoding).any()
    for model in ("no_pe", "frozen_init"):
        np.testing.assert_array_equal(start[model][0].network.key, trained.parameters.network.key)
    assert not np.asarray(start["gcn"][0].network.query).any()


# 8.7: masses at noise-free initial weights


def mass_on(parameters: Parameters, signs: Any, mu: np.ndarray, own: int, keys: list[int], relevant: int) -> float:
    """The attention of a node with pattern `own` on keys of the pattern `relevant`."""
    tokens = Tokens(mu[:, [own]].T, mu[:, keys].T[None], np.ones((1, len(keys))), np.zeros((1, len(keys)), int))
    attention = np.asarray(run(parameters, signs, tokens).attention[0][0, 0])
    return float(attention[np.array(keys) == relevant].sum())


@pytest.mark.parametrize("model", ["gt", "gcn"])
def test_initial_masses_without_noise_are_the_closed_forms(trained, model):
    setting = SMALL.replace(init="identity", model=model)
    mu = np.asarray(trained.world.directions)
    parameters, signs = initialise(setting.problem(), jax.random.key(3), mu)
    keys = [0, 0, 0, 1, 2, 2, 3, 3]
    size, e = len(keys), math.e if model == "gt" else 1.0
    # the features are float32 patterns: their products are 0 and 1 to 1e-6
    assert mass_on(parameters, signs, mu, 0, keys, 0) == pytest.approx(3 * e / (3 * e + size - 3), rel=1e-5)
    assert mass_on(parameters, signs, mu, 2, keys, 0) == pytest.approx(3 / (2 * e + size - 2), rel=1e-5)
    assert mass_on(parameters, signs, mu, 2, keys, 1) == pytest.approx(1 / (2 * e + size - 2), rel=1e-5)


drawing = jax.jit(draw_tokens, **FAST)


def test_dot_product_gat_is_a_graph_transformer_on_the_neighbours(trained):
    """All keys at distance 1, b = 0: the attention of every neighbour by the definition."""
    setting = SMALL.replace(model="no_pe", shells="single", distance=1, draw="all", include_self=False)
    world, (parameters, signs) = prepare(setting, 0), (trained.parameters, trained.signs)
    rows = np.arange(10)
    keys, weight = drawing(setting.problem(), jax.random.key(1), world, rows, parameters.encoding)
    bins = np.minimum(world.table[rows[:, None], keys], 3).astype(int)
    tokens = Tokens(world.features[rows].astype(float), world.features[keys].astype(float), weight, bins)
    found = np.asarray(run(parameters, signs, tokens).output)
    network, x = jax.tree.map(np.asarray, parameters.network), world.features.astype(float)
    for n in rows:
        beside = np.flatnonzero(world.table[n] == 1)
        mass = np.exp([(network.key @ x[s]) @ (network.query @ x[n]) for s in beside])
        v = network.value @ (mass / mass.sum() @ x[beside])
        assert found[n] == pytest.approx(np.maximum(network.output @ v, 0) @ np.asarray(signs), rel=1e-10)


def test_trained_parameters_are_counted(trained):
    def count(**changes: Any) -> int:
        return int(SMALL.replace(**changes).trained_parameters)

    (o, v, k, q), _, _ = trained.parameters
    assert count(model="gcn") == 12 * o.shape[1] + v.size == 12 * 6 + 6 * 6
    assert count() == count(model="gcn") + k.size + q.size + SMALL.bins
    assert count(model="no_pe") == count() - SMALL.bins
    assert count(key_width=5, value_width=7, neurons=11) == 11 * 7 + 7 * 6 + 2 * 5 * 6 + 4
    assert count(model="gcn", key_width=5, value_width=7, neurons=11) == 11 * 7 + 7 * 6


# 3.2: initial weights


DIRECTIONS = np.linalg.qr(np.random.default_rng(9).normal(size=(6, 6)))[0][:, :4]


def initial(seed: int = 0, **changes: Any) -> tuple[Network, np.ndarray]:
    parameters, signs = initialise(SMALL.replace(**changes).problem(), jax.random.key(seed), DIRECTIONS)
    assert not np.asarray(parameters.encoding).any()
    return jax.tree.map(np.asarray, parameters.network), np.asarray(signs)


def test_assumed_weights_are_orthogonal_up_to_errors_that_attain_their_bounds():
    exact, _ = initial(key_error=0.0, value_error=0.0)
    np.testing.assert_array_equal(exact.key, exact.query)
    for matrix in (exact.key, exact.value):
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(6), atol=1e-12)
    assert np.abs(exact.key - exact.value).max() > 0.1
    near, _ = initial(key_error=0.2, value_error=0.1)
    errors = {}
    for name, bound in (("key", 0.2), ("query", 0.2), ("value", 0.1)):
        errors[name] = getattr(near, name) - getattr(exact, name)
        assert np.linalg.norm(errors[name] @ DIRECTIONS, axis=0).max() == pytest.approx(bound, rel=1e-12)
    assert np.abs(errors["key"] - errors["query"]).max() > 0.01
    identity, _ = initial(init="identity")
    assert_trees(identity._replace(output=exact.output), exact, 0.0)


def test_the_literal_weights_are_scaled_identities():
    literal, _ = initial(init="literal", feature_noise=0.01, key_error=0.2, value_error=0.1)
    np.testing.assert_allclose(literal.key, 400 * np.eye(6), rtol=1e-12)
    np.testing.assert_allclose(literal.query, 400 * np.eye(6), rtol=1e-12)
    np.testing.assert_allclose(literal.value.T @ literal.value, 100**2 * np.eye(6), rtol=1e-10, atol=1e-8)


def test_gaussian_weights_have_unit_rows_on_average():
    networks = [initial(seed, init="gaussian")[0] for seed in range(30)]
    for name in ("key", "query", "value"):
        entries = np.stack([getattr(network, name) for network in networks])
        assert entries.var() == pytest.approx(1 / 6, rel=0.2)
        assert abs(entries.mean()) < 0.06


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (5, 3), (4, 4)])
def test_semi_orthogonal_matrices_keep_lengths_as_far_as_they_can(rows, columns):
    matrix = np.asarray(semi_orthogonal(jax.random.key(rows), rows, columns))
    small = matrix @ matrix.T if rows < columns else matrix.T @ matrix
    assert matrix.shape == (rows, columns)
    np.testing.assert_allclose(small, np.eye(min(rows, columns)), atol=1e-12)


def test_output_weights_have_the_declared_spread_and_signs_are_fair():
    network, signs = initial(neurons=400, output_scale=0.01)
    assert network.output.std() == pytest.approx(0.01, rel=0.06)
    assert initial(neurons=400, output_scale=0.01, row_norm=True)[0].output.std() == pytest.approx(
        0.01 / math.sqrt(6), rel=0.06
    )
    np.testing.assert_allclose(np.abs(signs), 1 / 20, rtol=1e-12)
    assert abs((signs > 0).sum() - 200) < 45


def test_a_narrower_network_is_the_beginning_of_a_wider_one():
    narrow, wide = initial(neurons=5), initial(neurons=20)
    assert_trees(narrow[0], wide[0], 0.0)
    np.testing.assert_allclose(narrow[1][:5], 2 * wide[1][:5], rtol=1e-12)
    assert not narrow[1][5:].any()
    assert not wide[1][20:].any()
    assert np.abs(wide[1][:20]).min() > 0


def test_neurons_beyond_the_width_never_matter(trained):
    start = trained.parameters
    filled = np.array(start.network.output)
    filled[12:] = np.random.default_rng(0).normal(size=filled[12:].shape)
    other = trained(parameters=start._replace(network=start.network._replace(output=jnp.asarray(filled))))
    plain = trained()
    np.testing.assert_array_equal(other.network.output[12:], filled[12:])
    assert_trees(other.network._replace(output=other.network.output[:12]),
                 plain.network._replace(output=plain.network.output[:12]))  # fmt: skip
    narrow = jax.tree.map(jnp.asarray, plain.network._replace(output=plain.network.output[:12]))
    tokens, _ = trained.tokens()
    whole = run(jax.tree.map(jnp.asarray, other), trained.signs, tokens).output
    cut = run(Parameters(narrow, jnp.asarray(plain.encoding), start.additive), trained.signs[:12], tokens).output
    np.testing.assert_allclose(whole, cut, rtol=1e-9, atol=1e-12)
