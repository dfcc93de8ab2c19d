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

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gt_slow import FAST, assert_trees, conserved, run

from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.network import (
    Parameters,
    Tokens,
    gradient,
)

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
