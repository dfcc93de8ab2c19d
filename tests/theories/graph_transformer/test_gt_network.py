"""The one-layer graph transformer and its kin (3.1 - 3.7): oracles 8.1 - 8.4, 8.7 and 8.9 - 8.11, in float64.

Oracles are NumPy loops over nodes and keys, written from the specification; keys of weight 0 are left out by hand.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import gt_slow
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.datasets.graphs.graph import Graph, make_graph
from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.graphs.positions import encode
from lemmata.theories.graph_transformer.network import (
    Parameters,
    Tokens,
    gradient,
    initialise,
    run_sampled,
    semi_orthogonal,
    tokens_of,
)
from lemmata.theories.graph_transformer.sampling import draw_tokens
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.training import train

FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
ROWS, KEYS, INPUTS, KEY, VALUE, NEURONS, BINS = 6, 5, 4, 3, 4, 7, 3


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Case:
    """Random parameters and random keys of some nodes, some of which are not used."""

    def __init__(self, seed: int, masked: bool = True) -> None:
        rng = np.random.default_rng(seed)
        shapes = ((NEURONS, VALUE), (VALUE, INPUTS), (KEY, INPUTS), (KEY, INPUTS))
        network = Network(*(rng.normal(size=shape) / math.sqrt(shape[1]) for shape in shapes))
        self.parameters = Parameters(network, rng.normal(size=BINS), rng.normal(size=2 * KEY))
        self.signs = rng.choice([-1.0, 1.0], NEURONS) / math.sqrt(NEURONS)
        weight = rng.choice([0.0, 1.0, 1.0], (ROWS, KEYS)) if masked else np.ones((ROWS, KEYS))
        weight[:, 0] = 1
        self.tokens = Tokens(
            2 * rng.normal(size=(ROWS, INPUTS)), 2 * rng.normal(size=(ROWS, KEYS, INPUTS)), weight,
            rng.integers(0, BINS, (ROWS, KEYS)),
        )  # fmt: skip
        self.label = rng.choice([-1.0, 1.0], ROWS)


class Reference(NamedTuple):
    """One node as the specification reads."""

    output: float
    attention: np.ndarray
    gradient: Parameters


def by_hand(parameters: Parameters, a: np.ndarray, x: np.ndarray, keys: np.ndarray, bins: np.ndarray) -> Reference:
    """3.1 and 8.2 for one node x and the keys it attends to; dF, not the loss."""
    (w_o, w_v, w_k, w_q), b, _ = jax.tree.map(lambda leaf: np.asarray(leaf, float), parameters)
    mass = np.array([math.exp((w_k @ s) @ (w_q @ x) + b[z]) for s, z in zip(keys, bins, strict=True)])
    alpha = mass / mass.sum()
    mean = sum(weight * s for weight, s in zip(alpha, keys, strict=True))
    v = w_v @ mean
    c = a * (w_o @ v > 0)
    r = w_o.T @ c
    e = np.array([r @ w_v @ s for s in keys])
    w = alpha * (e - alpha @ e)
    tilted = sum(weight * s for weight, s in zip(w, keys, strict=True))
    d_b = np.array([sum(w[bins == z]) for z in range(len(b))])
    network = Network(np.outer(c, v), np.outer(r, mean), np.outer(w_q @ x, tilted), np.outer(w_k @ tilted, x))
    return Reference(float(a @ np.maximum(w_o @ v, 0)), alpha, Parameters(network, d_b, np.zeros(2 * len(w_k))))


def references(case: Case) -> list[Reference]:
    return [
        by_hand(case.parameters, case.signs, x, keys[weight > 0], bins[weight > 0])
        for x, keys, weight, bins in zip(*case.tokens, strict=True)
    ]


run = jax.jit(run_sampled, static_argnames="scores", **FAST)


@functools.partial(jax.jit, static_argnames="scores", **FAST)
def closed(parameters: Parameters, signs: Any, tokens: Tokens, label: Any, scores: str = "dot") -> Parameters:
    """The gradient of the mean hinge loss."""
    loss = hinge()
    return gradient(parameters, signs, tokens, lambda f: label * loss.slope(label * f) / ROWS, scores)


unit = jax.jit(lambda parameters, signs, tokens: gradient(parameters, signs, tokens, jnp.ones_like), **FAST)
"""dF, summed over the nodes."""


def plain_outputs(parameters: Parameters, signs: Any, tokens: Tokens, scores: str) -> Any:
    """F as the definition reads, without the project's forward pass."""
    network, b, c = parameters
    if scores == "dot":
        keys, query = tokens.keys @ network.key.T, tokens.query @ network.query.T
        logits = jnp.einsum("nsk,nk->ns", keys, query) + jnp.asarray(b)[tokens.bins]
    else:
        own, others = tokens.query @ network.key.T, tokens.keys @ network.key.T
        both = jnp.concatenate([jnp.broadcast_to(own[:, None], others.shape), others], axis=-1)
        logits = jax.nn.leaky_relu(both @ c, 0.2)
    mass = jnp.where(tokens.weight > 0, jnp.exp(logits), 0.0)
    mixed = jnp.einsum("ns,nsd->nd", mass / mass.sum(axis=1, keepdims=True), tokens.keys)
    return jax.nn.relu(mixed @ network.value.T @ network.output.T) @ signs


@functools.partial(jax.jit, static_argnames="scores", **FAST)
def automatic(parameters: Parameters, signs: Any, tokens: Tokens, label: Any, scores: str = "dot") -> Parameters:
    def loss(p: Parameters) -> Any:
        return jnp.mean(jnp.maximum(0.0, 1 - label * plain_outputs(p, signs, tokens, scores)))

    return jax.grad(loss)(parameters)


def assert_trees(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    for one, two in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(two).max())))


# 8.1: numbers by hand


HAND = Parameters(
    Network(np.array([[1.0, 0, 0], [0, 1, 0]]), np.eye(3), np.eye(3), np.eye(3)), np.array([0, math.log(2), 0]),
    np.zeros(6),
)  # fmt: skip
HAND_SIGNS = np.array([1.0, -1]) / math.sqrt(2)
HAND_TOKENS = Tokens(
    np.eye(3)[[2]], np.eye(3)[[2, 0, 0, 1]][None], np.ones((1, 4)), np.array([[0, 1, 1, 2]])
)  # fmt: skip


def test_the_forward_pass_of_the_hand_made_node():
    passed = run(HAND, HAND_SIGNS, HAND_TOKENS)
    np.testing.assert_allclose(
        passed.attention[0][0, 0], [0.3521874284, 0.2591250287, 0.2591250287, 0.1295625143], atol=1e-10
    )
    np.testing.assert_allclose(passed.mixed[0, 0], [0.5182500573, 0.1295625143, 0.3521874284], atol=1e-10)
    assert float(passed.output[0]) == pytest.approx(0.2748435974, abs=1e-10)
    assert float(passed.answer[0, 0]) == pytest.approx(0.2748435974, abs=1e-10)
    assert float(hinge().value(passed.output[0])) == pytest.approx(0.7251564026, abs=1e-10)


def test_the_gradient_of_the_hand_made_node():
    found = unit(HAND, HAND_SIGNS, HAND_TOKENS)
    b = [-0.0967964598, 0.2240204198, -0.1272239600]
    np.testing.assert_allclose(found.encoding, b, atol=1e-10)
    column = np.array([0.2240204198, -0.1272239600, -0.0967964598])
    np.testing.assert_allclose(found.network.query, np.outer(column, [0, 0, 1]), atol=1e-10)
    np.testing.assert_allclose(found.network.key, np.outer([0, 0, 1], column), atol=1e-10)
    row = np.array([0.3664581299, 0.0916145325, 0.2490341188])
    np.testing.assert_allclose(found.network.output, [row, -row], atol=1e-10)
    np.testing.assert_allclose(found.network.value, [row, -row, np.zeros(3)], atol=1e-10)
    # the hinge of label +1 takes the gradient away, that of label -1 adds it
    for label in (1.0, -1.0):
        loss = closed(HAND, HAND_SIGNS, HAND_TOKENS, np.array([label]))
        assert_trees(loss, jax.tree.map(lambda leaf, y=label: -y * leaf / ROWS, found))


# 8.2: forward and gradients


@pytest.mark.parametrize("seed", range(4))
def test_outputs_attention_and_gradients_are_the_closed_forms(seed):
    case = Case(seed)
    passed = run(case.parameters, case.signs, case.tokens)
    expected = references(case)
    np.testing.assert_allclose(passed.output, [r.output for r in expected], rtol=1e-12, atol=1e-14)
    for n, reference in enumerate(expected):
        used = case.tokens.weight[n] > 0
        np.testing.assert_allclose(passed.attention[0][n, 0][used], reference.attention, rtol=1e-12)
        assert (np.asarray(passed.attention[0][n, 0])[~used] == 0).all()
    slopes = [-y if y * r.output < 1 else 0.0 for y, r in zip(case.label, expected, strict=True)]
    total = jax.tree.map(
        lambda *leaves: sum(s * leaf for s, leaf in zip(slopes, leaves, strict=True)) / ROWS,
        *(r.gradient for r in expected),
    )
    assert_trees(closed(case.parameters, case.signs, case.tokens, case.label), total)


@pytest.mark.parametrize("scores", ["dot", "additive"])
@pytest.mark.parametrize("seed", range(10, 16))
def test_gradients_equal_automatic_differentiation_of_the_definition(seed, scores):
    case = Case(seed)
    outputs = plain_outputs(case.parameters, case.signs, case.tokens, scores)
    np.testing.assert_allclose(run(case.parameters, case.signs, case.tokens, scores=scores).output, outputs, rtol=1e-11)
    found = closed(case.parameters, case.signs, case.tokens, case.label, scores=scores)
    assert_trees(found, automatic(case.parameters, case.signs, case.tokens, case.label, scores=scores), 1e-11)
    assert max(float(np.abs(leaf).max()) for leaf in jax.tree.leaves(found.network)) > 1e-3


def test_additive_attention_is_that_of_the_definition():
    case = Case(3)
    (_, _, w, _), _, c = case.parameters
    passed = run(case.parameters, case.signs, case.tokens, scores="additive")
    for n in range(ROWS):
        used = case.tokens.weight[n] > 0
        raw = np.array([c @ np.concatenate([w @ case.tokens.query[n], w @ s]) for s in case.tokens.keys[n][used]])
        mass = np.exp(np.where(raw > 0, raw, 0.2 * raw))
        np.testing.assert_allclose(passed.attention[0][n, 0][used], mass / mass.sum(), rtol=1e-12)
    found = closed(case.parameters, case.signs, case.tokens, case.label, scores="additive")
    assert not np.asarray(found.encoding).any()
    assert not np.asarray(found.network.query).any()
    assert np.abs(found.additive).max() > 1e-3


# 8.3: invariances of one pass


def test_a_constant_added_to_the_encoding_changes_nothing_and_its_gradient_adds_up_to_zero():
    case = Case(5)
    shifted = case.parameters._replace(encoding=case.parameters.encoding + 3.7)
    arguments = (case.signs, case.tokens, case.label)
    found = closed(case.parameters, *arguments)
    np.testing.assert_allclose(
        run(shifted, case.signs, case.tokens).output, run(case.parameters, case.signs, case.tokens).output, rtol=1e-12
    )
    assert_trees(closed(shifted, *arguments), found)
    assert abs(float(jnp.sum(found.encoding))) < 1e-15
    assert np.abs(found.encoding).max() > 1e-3


def test_the_order_of_keys_and_of_nodes_does_not_matter():
    case, rng = Case(6), np.random.default_rng(0)
    keys, nodes = rng.permutation(KEYS), rng.permutation(ROWS)
    query, tokens, weight, bins = case.tokens
    moved = Tokens(query[nodes], tokens[nodes][:, keys], weight[nodes][:, keys], bins[nodes][:, keys])
    np.testing.assert_allclose(
        run(case.parameters, case.signs, moved).output,
        np.asarray(run(case.parameters, case.signs, case.tokens).output)[nodes], rtol=1e-12,
    )  # fmt: skip
    assert_trees(
        closed(case.parameters, case.signs, moved, case.label[nodes]),
        closed(case.parameters, case.signs, case.tokens, case.label),
    )


def test_negating_the_output_weights_negates_the_answer_and_with_the_labels_nothing_changes():
    case = Case(7)
    forward = run(case.parameters, case.signs, case.tokens).output
    np.testing.assert_array_equal(run(case.parameters, -case.signs, case.tokens).output, -forward)
    assert_trees(
        closed(case.parameters, -case.signs, case.tokens, -case.label),
        closed(case.parameters, case.signs, case.tokens, case.label), 0.0,
    )  # fmt: skip


def test_an_orthogonal_map_of_the_features_is_undone_by_the_same_map_of_the_matrices():
    case = Case(8)
    r = np.linalg.qr(np.random.default_rng(1).normal(size=(INPUTS, INPUTS)))[0]
    swap = np.eye(INPUTS)[[1, 0, 2, 3]]
    for turn in (r, swap):
        network = case.parameters.network
        turned = case.parameters._replace(
            network=Network(network.output, network.value @ turn.T, network.key @ turn.T, network.query @ turn.T)
        )
        tokens = case.tokens._replace(query=case.tokens.query @ turn.T, keys=case.tokens.keys @ turn.T)
        forward = run(case.parameters, case.signs, case.tokens).output
        np.testing.assert_allclose(run(turned, case.signs, tokens).output, forward, rtol=1e-11)
        assert np.abs(np.asarray(run(case.parameters, case.signs, tokens).output) - forward).max() > 0.01
        found = closed(turned, case.signs, tokens, case.label).network
        plain = closed(case.parameters, case.signs, case.tokens, case.label).network
        expected = Network(plain.output, plain.value @ turn.T, plain.key @ turn.T, plain.query @ turn.T)
        assert_trees(found, expected, 1e-11)


# 8.4: conservation, Euler identities, homogeneity


def conserved(network: Network) -> tuple[Any, Any]:
    o, v, k, q = network
    return o.T @ o - v @ v.T, q @ q.T - k @ k.T


@pytest.mark.parametrize("seed", [20, 21, 22])
def test_one_step_changes_the_conserved_matrices_by_exactly_the_squares_of_its_gradients(seed):
    case = Case(seed)
    eta = 0.3
    g = jax.tree.map(np.asarray, closed(case.parameters, case.signs, case.tokens, case.label).network)
    after = Network(*(w - eta * d for w, d in zip(case.parameters.network, g, strict=True)))
    for before, now, d in zip(conserved(case.parameters.network), conserved(after), conserved(g), strict=True):
        np.testing.assert_allclose(now - before, eta**2 * d, atol=1e-12, rtol=0)
        assert np.abs(now - before).max() > 1e-6


@pytest.mark.parametrize("seed", [23, 24])
def test_eulers_identities_and_homogeneity(seed):
    case = Case(seed)
    w, answers = case.parameters.network, references(case)
    for n, reference in enumerate(answers):
        one = jax.tree.map(lambda leaf, n=n: leaf[n : n + 1], case.tokens)
        d = jax.tree.map(np.asarray, unit(case.parameters, case.signs, one).network)
        assert np.sum(w.output * d.output) == pytest.approx(reference.output, abs=1e-12)
        assert np.sum(w.value * d.value) == pytest.approx(reference.output, abs=1e-12)
        assert np.sum(w.query * d.query) == pytest.approx(np.sum(w.key * d.key), abs=1e-12)
    assert np.abs([r.output for r in answers]).max() > 0.1
    forward = np.asarray(run(case.parameters, case.signs, case.tokens).output)
    network = case.parameters.network
    for scaled in (network._replace(output=2.5 * network.output), network._replace(value=2.5 * network.value)):
        found = run(case.parameters._replace(network=scaled), case.signs, case.tokens).output
        np.testing.assert_allclose(found, 2.5 * forward, rtol=1e-12)


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


# 8.9: special cases


def test_a_gcn_is_a_graph_transformer_with_zero_logits_and_averages():
    case = Case(30)
    network = case.parameters.network
    zero = Parameters(
        network._replace(key=0 * network.key, query=0 * network.query), np.zeros(BINS), case.parameters.additive
    )
    passed = run(zero, case.signs, case.tokens)
    weight = case.tokens.weight
    mean = np.einsum("ns,nsd->nd", weight / weight.sum(axis=1, keepdims=True), case.tokens.keys)
    expected = np.maximum(mean @ network.value.T @ network.output.T, 0) @ case.signs
    np.testing.assert_allclose(passed.output, expected, rtol=1e-12)
    np.testing.assert_allclose(passed.attention[0][:, 0], weight / weight.sum(axis=1, keepdims=True), rtol=1e-14)


def test_an_encoding_of_equal_entries_is_none():
    case = Case(31)
    same, none = (case.parameters._replace(encoding=np.full(BINS, value)) for value in (1.3, 0.0))
    arguments = (case.signs, case.tokens, case.label)
    np.testing.assert_allclose(run(same, *arguments[:2]).output, run(none, *arguments[:2]).output, rtol=1e-12)
    assert_trees(closed(same, *arguments), closed(none, *arguments))


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


# 8.10 and 3.7: absolute encodings


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
