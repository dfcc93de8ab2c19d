"""The network (2.1): numbers by hand, closed-form gradients, symmetries, masks and limits, in float64."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vit_network_cases import (
    DIMENSION,
    KEY,
    NEURONS,
    SAMPLES,
    SMALL,
    TOKENS,
    VALUE,
    Case,
    assert_networks,
    autodiff,
    by_hand,
    few,
    jitted_forward,
    jitted_gradient,
    plain_forward,
    seeds,
    start,
)

from lemmata.lab.precision import numerics
from lemmata.networks import losses
from lemmata.networks.shallow import Network, attention, forward, gradient
from lemmata.theories.vit.data import draw
from lemmata.theories.vit.probes import attention_by_query


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Numbers by hand


HAND = Network(*(np.eye(2) for _ in range(4)))
HAND_SIGNS = np.array([1.0, -1.0]) / math.sqrt(2)
HAND_TOKENS = np.eye(2)[[0, 0, 1]][None]
HAND_WEIGHT = np.ones((1, 3))


def test_the_hand_example_has_its_attention_values_and_output() -> None:
    w = attention(HAND, HAND_TOKENS, HAND_WEIGHT)[0]
    first = [0.4223188, 0.4223188, 0.1553624]
    np.testing.assert_allclose(w, [first, first, [0.2119416, 0.2119416, 0.5761169]], atol=1e-7)
    values = [[0.8446376, 0.1553624], [0.8446376, 0.1553624], [0.4238831, 0.5761169]]
    np.testing.assert_allclose(w @ HAND_TOKENS[0], values, atol=1e-7)
    output = forward(HAND, HAND_SIGNS, HAND_TOKENS, HAND_WEIGHT)
    np.testing.assert_allclose(output, [0.2890456], atol=1e-7)
    np.testing.assert_allclose(losses.hinge().value(output), [0.7109544], atol=1e-7)


def test_the_hand_example_has_its_four_gradients() -> None:
    d = gradient(HAND, HAND_SIGNS, HAND_TOKENS, HAND_WEIGHT, jnp.ones_like)
    outer = [[0.4980762, 0.2090306], [-0.4980762, -0.2090306]]
    np.testing.assert_allclose(d.output, outer, atol=1e-7)
    np.testing.assert_allclose(d.value, outer, atol=1e-7)
    np.testing.assert_allclose(d.query, [[0.1237201, 0.1151199], [-0.1237201, -0.1151199]], atol=1e-7)
    np.testing.assert_allclose(d.key, [[0.1237201, -0.1237201], [0.1151199, -0.1151199]], atol=1e-7)


# Gradients


@few
@given(seed=seeds, per_token=st.booleans(), masked=st.booleans())
def test_outputs_and_gradients_equal_the_formulas_and_autodiff(seed: int, per_token: bool, masked: bool) -> None:
    case = Case(seed, per_token, masked)
    slope = case.rng.normal(size=SAMPLES)
    inputs = (case.network, case.signs, case.tokens, case.weight)
    outputs, each = zip(
        *(by_hand(case.network, case.signs, x, c) for x, c in zip(case.tokens, case.weight, strict=True)), strict=True
    )
    np.testing.assert_allclose(jitted_forward(*inputs), outputs, rtol=1e-12, atol=1e-12)
    total = jax.tree.map(lambda *d: sum(s * part for s, part in zip(slope, d, strict=True)), *each)
    found = jitted_gradient(*inputs, slope)
    assert_networks(found, total, 1e-12)
    assert_networks(found, autodiff(*inputs, slope), 1e-12)


LOSSES: dict[str, tuple[losses.MarginLoss, Callable[[Any], Any]]] = {
    "hinge": (losses.hinge(), lambda m: jax.nn.relu(1 - m)),
    "margin": (losses.hinge(0.3), lambda m: jax.nn.relu(0.3 - m)),
    "logistic": (losses.logistic(), lambda m: jnp.log1p(jnp.exp(-m))),
    "linear": (losses.linear(), lambda m: -m),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_every_loss_equals_autodiff(name: str) -> None:
    loss, plain = LOSSES[name]

    @jax.jit
    def closed(network: Network, signs: Any, tokens: Any, weight: Any, y: Any) -> Network:
        return gradient(network, signs, tokens, weight, lambda outputs: y * loss.slope(y * outputs) / SAMPLES)

    @jax.jit
    @jax.grad
    def automatic(network: Network, signs: Any, tokens: Any, weight: Any, y: Any) -> Any:
        return jnp.mean(plain(y * plain_forward(network, signs, tokens, weight)))

    active = []
    for seed in range(8):
        case = Case(seed, per_token=True)
        case.network = case.network._replace(output=3 * case.network.output)
        inputs = (case.network, case.signs, case.tokens, case.weight, case.label)
        assert_networks(closed(*inputs), automatic(*inputs), 1e-12)
        active += [case.label * case.forward() < 1]
    assert 0 < np.mean(active) < 1, "samples with and without hinge loss must both occur"


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_and_its_slope_agree_with_autodiff(name: str) -> None:
    loss, plain = LOSSES[name]
    margins = np.linspace(-3.05, 3.05, 51)
    np.testing.assert_allclose(loss.value(margins), plain(margins), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(loss.slope(margins), jax.vmap(jax.grad(plain))(margins), rtol=1e-13, atol=1e-15)


def test_slopes_by_hand() -> None:
    margins = jnp.array([-1.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    np.testing.assert_array_equal(losses.hinge().slope(margins), [-1, -1, 0, 0, 0, 0])
    np.testing.assert_array_equal(losses.hinge(2.0).slope(margins), [-1, -1, -1, -1, 0, 0])
    np.testing.assert_array_equal(losses.hinge(2.0).value(margins), [3, 1.5, 1, 0.5, 0, 0])
    np.testing.assert_array_equal(losses.linear().slope(margins), -np.ones(6))
    assert losses.logistic().slope(jnp.asarray(0.0)) == -0.5
    assert losses.logistic().value(jnp.asarray(-800.0)) == 800
    assert losses.hinge().slope(jnp.float32(0.5)).dtype == jnp.float32


def test_a_neuron_at_exactly_zero_has_no_gradient() -> None:
    d = gradient(HAND._replace(output=np.zeros((2, 2))), HAND_SIGNS, HAND_TOKENS, HAND_WEIGHT, jnp.ones_like)
    for leaf in d:
        np.testing.assert_array_equal(leaf, np.zeros((2, 2)))


# Symmetries, on outputs and on whole trajectories of mini-batch SGD


@functools.partial(jax.jit, static_argnames="steps")
def descend(network: Network, signs: Any, tokens: Any, weight: Any, label: Any, steps: int = 40) -> tuple[Network, Any]:
    """The last network and the loss of every step: hinge, batches of two in turn."""
    loss = losses.hinge()

    def step(network: Network, t: Any) -> tuple[Network, Any]:
        pick = (2 * t + jnp.arange(2)) % SAMPLES
        y = label[pick]
        slope = lambda outputs: y * loss.slope(y * outputs) / 2  # noqa: E731
        d = gradient(network, signs, tokens[pick], weight[pick], slope)
        risk = jnp.mean(loss.value(label * forward(network, signs, tokens, weight)))
        return jax.tree.map(lambda w, g: w - 0.2 * g, network, d), risk

    return jax.lax.scan(step, network, jnp.arange(steps))


def orthogonal(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


class Symmetric(Case):
    """A case together with its trajectory."""

    def __init__(self, seed: int, per_token: bool) -> None:
        super().__init__(seed, per_token)
        self.last, self.risk = descend(self.network, self.signs, self.tokens, self.weight, self.label)
        assert self.risk[0] - self.risk[-1] > 0.05, "the trajectory must move for its symmetry to mean anything"

    def again(self, **changes: Any) -> tuple[Network, Any]:
        inputs = {
            name: changes.get(name, getattr(self, name)) for name in ("network", "signs", "tokens", "weight", "label")
        }
        return descend(**inputs)


@pytest.mark.parametrize("per_token", [False, True])
def test_permuting_neurons_with_their_signs_is_free(per_token: bool) -> None:
    case = Symmetric(1, per_token)
    order = case.rng.permutation(NEURONS)
    moved = case.network._replace(output=case.network.output[order])
    last, risk = case.again(network=moved, signs=case.signs[..., order])
    np.testing.assert_allclose(risk, case.risk, rtol=1e-9, atol=1e-10)
    assert_networks(last, case.last._replace(output=case.last.output[order]), 1e-9)


@pytest.mark.parametrize("per_token", [False, True])
def test_rotating_the_hidden_spaces_rotates_the_trajectory(per_token: bool) -> None:
    case = Symmetric(2, per_token)
    o, k = orthogonal(case.rng, VALUE), orthogonal(case.rng, KEY)

    def rotated(n: Network) -> Network:
        return Network(n.output @ o.T, o @ n.value, k @ n.key, k @ n.query)

    last, risk = case.again(network=rotated(case.network))
    np.testing.assert_allclose(risk, case.risk, rtol=1e-9, atol=1e-10)
    assert_networks(last, rotated(case.last), 1e-9)


@pytest.mark.parametrize("per_token", [False, True])
def test_rotating_token_space_rotates_the_trajectory(per_token: bool) -> None:
    case = Symmetric(3, per_token)
    r = orthogonal(case.rng, DIMENSION)

    def rotated(n: Network) -> Network:
        return Network(n.output, n.value @ r.T, n.key @ r.T, n.query @ r.T)

    last, risk = case.again(network=rotated(case.network), tokens=case.tokens @ r.T)
    np.testing.assert_allclose(risk, case.risk, rtol=1e-9, atol=1e-10)
    assert_networks(last, rotated(case.last), 1e-9)


@pytest.mark.parametrize("per_token", [False, True])
def test_flipping_labels_and_signs_together_changes_nothing(per_token: bool) -> None:
    case = Symmetric(4, per_token)
    last, risk = case.again(label=-case.label, signs=-case.signs)
    np.testing.assert_array_equal(risk, case.risk)
    assert_networks(last, case.last, 0.0)


def test_shared_signs_make_the_order_of_tokens_irrelevant() -> None:
    case = Symmetric(5, per_token=False)
    order = case.rng.permutation(TOKENS)
    last, risk = case.again(tokens=case.tokens[:, order], weight=case.weight[:, order])
    np.testing.assert_allclose(risk, case.risk, rtol=1e-9, atol=1e-10)
    assert_networks(last, case.last, 1e-9)


def test_signs_per_token_make_the_order_of_tokens_matter_unless_they_move_along() -> None:
    case = Symmetric(6, per_token=True)
    order = np.roll(np.arange(TOKENS), 1)
    moved = (case.tokens[:, order], case.weight[:, order])
    output = jitted_forward(case.network, case.signs, *moved)
    assert np.max(np.abs(output - case.forward())) > 1e-2
    last, risk = case.again(tokens=moved[0], weight=moved[1], signs=case.signs[order])
    np.testing.assert_allclose(risk, case.risk, rtol=1e-9, atol=1e-10)
    assert_networks(last, case.last, 1e-9)


# Masks and multiplicities


@pytest.mark.parametrize("per_token", [False, True])
def test_a_masked_token_is_a_deleted_token(per_token: bool) -> None:
    case = Case(7, per_token, masked=False)
    kept = [0, 2, 3, 5]
    case.weight[:, [1, 4]] = 0.0
    case.tokens[:, [1, 4]] *= 100
    shorter = (case.signs[kept] if per_token else case.signs, case.tokens[:, kept], np.ones((SAMPLES, len(kept))))
    output = jitted_forward(case.network, *shorter)
    np.testing.assert_allclose(case.forward(), output, rtol=1e-13, atol=1e-14)
    slope = np.arange(1.0, SAMPLES + 1)
    masked = jitted_gradient(case.network, case.signs, case.tokens, case.weight, slope)
    assert_networks(masked, jitted_gradient(case.network, *shorter, slope), 1e-12)
    w = attention(case.network, case.tokens, case.weight)
    np.testing.assert_array_equal(w[:, :, [1, 4]], 0)
    np.testing.assert_allclose(
        w[np.ix_(range(SAMPLES), kept, kept)], attention(case.network, *shorter[1:]), rtol=1e-13, atol=1e-15
    )


def test_a_multiplicity_is_so_many_equal_tokens() -> None:
    case = Case(8, per_token=False, masked=False)
    counts = np.array([2, 1, 0, 3, 1, 1])
    case.weight[:] = counts
    repeated = np.repeat(case.tokens, counts, axis=1)
    longer = (repeated, np.ones(repeated.shape[:2]))
    np.testing.assert_allclose(case.forward(), jitted_forward(case.network, case.signs, *longer), rtol=1e-13)
    slope = np.arange(1.0, SAMPLES + 1)
    weighted = jitted_gradient(case.network, case.signs, case.tokens, case.weight, slope)
    assert_networks(weighted, jitted_gradient(case.network, case.signs, *longer, slope), 1e-12)


def test_large_logits_do_not_overflow() -> None:
    case = Case(9, per_token=False)
    case.network = case.network._replace(key=1e4 * case.network.key)
    assert np.all(np.isfinite(case.forward()))
    w = attention(case.network, case.tokens, case.weight)
    np.testing.assert_allclose(w.sum(-1), 1, rtol=1e-12)


# Limits


@pytest.mark.parametrize(("zero", "other"), [("key", "query"), ("query", "key")])
def test_zero_keys_or_queries_give_uniform_attention_and_no_gradient_for_the_other(zero: str, other: str) -> None:
    case = Case(10, per_token=True, masked=False)
    network = case.network._replace(**{zero: np.zeros((KEY, DIMENSION))})
    np.testing.assert_allclose(attention(network, case.tokens, case.weight), 1 / TOKENS, rtol=1e-14)
    d = jitted_gradient(network, case.signs, case.tokens, case.weight, np.ones(SAMPLES))
    np.testing.assert_array_equal(getattr(d, other), 0)
    assert np.max(np.abs(getattr(d, zero))) > 1e-3


def test_uniform_attention_concentrates_exactly_the_relevant_fraction() -> None:
    setting = SMALL.replace(uniform_attention=True)
    network, _, basis = start(setting)
    np.testing.assert_array_equal(network.key, 0)
    data = draw(setting.problem(), jax.random.key(1), basis, count=64)
    probed = attention_by_query(network, data, jnp.full(64, 1 / 64))
    np.testing.assert_allclose(probed["concentration"], 0.4, rtol=1e-12)
    np.testing.assert_allclose(probed["confused"], 0.1, rtol=1e-12)
    assert probed["lowest"] == pytest.approx(0.4, rel=1e-12)


def test_ideal_initial_maps_give_the_softmax_of_the_identity() -> None:
    setting = SMALL.replace(relevant_fraction=0.5, value_error=0.0, attention_error=0.0, token_noise=0.0)
    network, _, basis = start(setting)
    data = draw(setting.problem(), jax.random.key(1), basis, count=64)
    w, pattern = np.asarray(attention(network, data.tokens, data.weight)), np.asarray(data.pattern)
    half = attention_by_query(network, data, jnp.full(64, 1 / 64))["concentration"]
    assert half[1] == pytest.approx(0.731059, abs=1e-6)
    for sample, patterns in zip(w, pattern, strict=True):
        counts = np.bincount(patterns, minlength=5)
        assert sorted(counts) == [1, 1, 1, 2, 5]
        for query, own in zip(sample, patterns, strict=True):
            expected = counts / (counts[own] * math.e + 10 - counts[own])
            expected[own] *= math.e
            np.testing.assert_allclose(np.bincount(patterns, query, 5), expected, rtol=1e-12)
