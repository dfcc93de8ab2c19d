"""The network (2.1): numbers by hand, closed-form gradients, symmetries, masks, limits and initialisations.

Oracles are computed in float64 by code that shares nothing with the package: NumPy loops over samples and tokens for
the formulas, and autodiff of a forward pass written in another way.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata.lab.precision import numerics
from lemmata.networks import losses
from lemmata.networks.shallow import Network, attention, forward, gradient
from lemmata.theories.vit.data import draw, draw_patterns
from lemmata.theories.vit.network import Features, draw_signs, initial_errors, initialise, polar
from lemmata.theories.vit.probes import attention_by_query
from lemmata.theories.vit.setting import Setting

SMALL = Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=20, records=21)
SAMPLES, TOKENS, DIMENSION, VALUE, KEY, NEURONS = 4, 6, 5, 4, 3, 7

seeds = st.integers(0, 2**31 - 1)
few = settings(deadline=None, max_examples=15)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Case:
    """A random network with random, partly masked and repeated tokens."""

    def __init__(self, seed: int, per_token: bool, masked: bool = True) -> None:
        self.rng = rng = np.random.default_rng(seed)
        shapes = ((NEURONS, VALUE), (VALUE, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        self.network = Network(*(rng.normal(size=shape) / math.sqrt(shape[1]) for shape in shapes))
        self.signs = rng.choice([-1.0, 1.0], (TOKENS, NEURONS) if per_token else NEURONS) / math.sqrt(NEURONS)
        self.tokens = rng.normal(size=(SAMPLES, TOKENS, DIMENSION))
        self.weight = np.ones((SAMPLES, TOKENS))
        if masked:
            self.weight = rng.choice([0.0, 1.0, 1.0, 3.0], (SAMPLES, TOKENS))
            self.weight[:, 0] = 1.0
        self.label = rng.choice([-1.0, 1.0], SAMPLES)

    def forward(self) -> np.ndarray:
        return np.asarray(jitted_forward(self.network, self.signs, self.tokens, self.weight))


def softmax(logits: np.ndarray, multiplicity: np.ndarray) -> np.ndarray:
    mass = multiplicity * np.exp(logits - logits.max())
    return mass / mass.sum()


def by_hand(network: Network, signs: np.ndarray, x: np.ndarray, count: np.ndarray) -> tuple[float, Network]:
    """F of one sample and its four gradients, token by token, as the paper's formulas read."""
    w_o, w_v, w_k, w_q = (np.asarray(w) for w in network)
    total, output, d = count.sum(), 0.0, [np.zeros_like(w) for w in (w_o, w_v, w_k, w_q)]
    for position, (query, share) in enumerate(zip(x, count / total, strict=True)):
        a = signs[position] if signs.ndim == 2 else signs
        w = softmax(x @ w_k.T @ w_q @ query, count)
        mean = x.T @ w
        v_l = w_v @ mean
        hidden = w_o @ v_l
        output += share * a @ np.maximum(hidden, 0)
        u = a * (hidden > 0)
        g = w_o.T @ u
        v = w_v.T @ g
        h = x.T @ (w * (x @ v)) - mean * (mean @ v)
        d[0] += share * np.outer(u, v_l)
        d[1] += share * np.outer(g, mean)
        d[2] += share * np.outer(w_q @ query, h)
        d[3] += share * np.outer(w_k @ h, query)
    return output, Network(*d)  # pyright: ignore[reportArgumentType]


def plain_forward(network: Network, signs: Any, tokens: Any, weight: Any) -> Any:
    """The network written matrix by matrix for autodiff; log multiplicities are added to the logits."""

    def one(x: Any, count: Any) -> Any:
        logits = (x @ network.query.T) @ (x @ network.key.T).T + jnp.log(count)[None, :]
        values = jax.nn.softmax(logits, axis=-1) @ (x @ network.value.T)
        per_token = jnp.sum(signs * jax.nn.relu(values @ network.output.T), axis=-1)
        return jnp.sum(count * per_token) / jnp.sum(count)

    return jax.vmap(one)(tokens, weight)


jitted_forward = jax.jit(forward)
jitted_gradient = jax.jit(lambda n, a, x, c, slope: gradient(n, a, x, c, lambda outputs: slope))
autodiff = jax.jit(jax.grad(lambda n, a, x, c, slope: jnp.sum(slope * plain_forward(n, a, x, c))))


def assert_networks(actual: Network, expected: Network, tolerance: float) -> None:
    for name, one, two in zip(Network._fields, actual, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=name)


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


def start(setting: Setting, seed: int = 0) -> tuple[Network, Features, np.ndarray]:
    key = jax.random.key(seed)
    basis = draw_patterns(setting.problem(), jax.random.fold_in(key, 1))
    network, features = initialise(setting.problem(), key, basis)
    return (*jax.tree.map(np.asarray, (network, features)), np.asarray(basis))


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


# Initialisations


@pytest.mark.parametrize("error", ["random", "confuse"])
@pytest.mark.parametrize("free", [False, True])
def test_assumption_2_3_1_is_met_with_equality(error: str, free: bool) -> None:
    setting = SMALL.replace(
        value_error_law=error, attention_error_law=error, free_queries=free, value_error=0.15, attention_error=0.35
    )
    network, features, basis = start(setting)
    for f in features:
        np.testing.assert_allclose(f.T @ f, np.eye(5), atol=1e-12)
    for w, f, size in (
        (network.value, features.value, 0.15),
        (network.key, features.key, 0.35),
        (network.query, features.query, 0.35),
    ):
        np.testing.assert_allclose(np.linalg.norm(w @ basis - f, axis=0), size, rtol=1e-11)
        # the maps vanish on the complement of the patterns
        np.testing.assert_allclose(w @ (np.eye(10) - basis @ basis.T), 0, atol=1e-12)
    sigma, delta = initial_errors(network, features, basis)
    assert sigma == pytest.approx(0.15, rel=1e-11)
    assert delta == pytest.approx(0.35, rel=1e-11)


def test_query_features_are_the_key_features_unless_they_are_free() -> None:
    _, tied, _ = start(SMALL)
    np.testing.assert_array_equal(tied.query, tied.key)
    _, free, _ = start(SMALL.replace(free_queries=True))
    np.testing.assert_allclose(free.query[:, :2], free.key[:, :2], atol=1e-14)
    # the neutral ones are random in the eight-dimensional complement, not aligned with their keys
    assert np.all(np.abs(np.sum(free.query * free.key, axis=0)[2:]) < 0.95)
    assert np.linalg.norm(free.query - free.key) > 0.5


def test_confusing_errors_point_at_the_neighbouring_feature() -> None:
    network, features, basis = start(
        SMALL.replace(
            value_error_law="confuse",
            attention_error_law="confuse",
            free_queries=True,
            value_error=0.3,
            attention_error=0.4,
        )
    )
    neighbour = [1, 0, 1, 2, 3]
    p, q, r = features
    np.testing.assert_allclose(network.value @ basis, p + 0.3 * p[:, neighbour], atol=1e-12)
    np.testing.assert_allclose(network.key @ basis, q + 0.4 * q[:, neighbour], atol=1e-12)
    np.testing.assert_allclose(network.query @ basis, r + 0.4 * r[:, neighbour], atol=1e-12)


def test_value_errors_in_full_make_the_two_discriminative_features_collide() -> None:
    network, _, basis = start(
        SMALL.replace(
            value_error_law="confuse",
            attention_error_law="confuse",
            free_queries=True,
            value_error=1.0,
            attention_error=0.4,
        )
    )
    np.testing.assert_allclose(network.value @ basis[:, 0], network.value @ basis[:, 1], atol=1e-12)


def test_random_errors_of_keys_and_queries_are_independent() -> None:
    network, features, basis = start(SMALL)
    e_k, e_q = network.key @ basis - features.key, network.query @ basis - features.query
    cosines = np.sum(e_k * e_q, axis=0) / 0.2**2
    assert np.all(np.abs(cosines) < 0.95)


def test_given_error_directions_are_used() -> None:
    directions = np.eye(10)[:, [9, 8, 7, 6, 5]]
    network, features, basis = start(SMALL.replace(value_error_law="given", value_error_directions=directions))
    np.testing.assert_allclose(network.value @ basis, features.value + 0.1 * directions, atol=1e-12)


def test_the_literal_initialisation_is_400_times_the_identity_and_100_times_an_orthogonal_map() -> None:
    network, _, _ = start(SMALL.replace(init="literal"))
    np.testing.assert_allclose(network.key, 400 * np.eye(10), rtol=1e-12)
    np.testing.assert_allclose(network.query, 400 * np.eye(10), rtol=1e-12)
    np.testing.assert_allclose(network.value.T @ network.value, 1e4 * np.eye(10), rtol=1e-12, atol=1e-8)


def test_given_maps_are_the_initial_maps_and_their_errors_are_measured() -> None:
    rng = np.random.default_rng(0)
    w_v, w_k, w_q = rng.normal(size=(3, 10, 10))
    network, features, basis = start(SMALL.replace(init="given", value_map=w_v, key_map=w_k, query_map=w_q))
    np.testing.assert_array_equal(network.value, w_v)
    np.testing.assert_array_equal(network.key, w_k)
    np.testing.assert_array_equal(network.query, w_q)
    sigma, delta = initial_errors(network, features, basis)
    u, _, v = np.linalg.svd(w_v @ basis, full_matrices=False)
    assert sigma == pytest.approx(np.linalg.norm(w_v @ basis - u @ v, axis=0).max(), rel=1e-10)
    u, _, v = np.linalg.svd((w_k + w_q) @ basis / 2, full_matrices=False)
    worst = max(np.linalg.norm(w @ basis - u @ v, axis=0).max() for w in (w_k, w_q))
    assert delta == pytest.approx(worst, rel=1e-10)


def test_given_maps_of_integers_become_floating_point() -> None:
    maps = {name: np.eye(10, dtype=int).tolist() for name in ("value_map", "key_map", "query_map")}
    network, _, _ = start(SMALL.replace(init="given", **maps))
    assert {leaf.dtype for leaf in network} == {np.dtype(float)}


def test_clipping_divides_by_spectral_norms_above_one_only() -> None:
    loose, _, _ = start(SMALL.replace(value_error=0.0))
    tight, features, basis = start(SMALL.replace(value_error=0.0, clip_spectral=True))
    np.testing.assert_allclose(tight.value, loose.value, atol=1e-12)
    for name in ("key", "query"):
        one, two = getattr(loose, name), getattr(tight, name)
        norm = np.linalg.norm(one, 2)
        assert norm > 1.05
        np.testing.assert_allclose(two, one / norm, rtol=1e-12, atol=1e-14)
    half = 0.5 * np.eye(10)
    shrunk, _, _ = start(
        SMALL.replace(init="given", clip_spectral=True, value_map=half, key_map=half, query_map=3 * half)
    )
    np.testing.assert_allclose(shrunk.value, half, rtol=1e-12)
    np.testing.assert_allclose(shrunk.query, np.eye(10), rtol=1e-12, atol=1e-14)
    sigma, delta = initial_errors(tight, features, basis)
    assert sigma == pytest.approx(0, abs=1e-12)
    assert delta > 0.01


def test_output_weights_are_gaussian_with_the_rules_scale() -> None:
    given_scale, _, _ = start(SMALL)
    wide = SMALL.replace(output_rule="inv_sqrt_m")
    by_neurons, _, _ = start(wide)
    by_patterns, _, _ = start(SMALL.replace(output_rule="inv_sqrt_M"))
    np.testing.assert_allclose(by_neurons.output, 25 * given_scale.output, rtol=1e-12)
    np.testing.assert_allclose(by_patterns.output, 100 / math.sqrt(5) * given_scale.output, rtol=1e-12)
    entries = np.concatenate([start(SMALL, seed)[0].output.ravel() for seed in range(20)]) / 0.01
    assert abs(entries.mean()) < 4 / math.sqrt(entries.size)
    assert abs(entries.std() - 1) < 4 / math.sqrt(2 * entries.size)


def test_the_initial_maps_do_not_depend_on_the_sizes_of_their_errors() -> None:
    _, one, _ = start(SMALL)
    other_network, other, _ = start(SMALL.replace(value_error=0.4, attention_error=0.0, output_scale=0.5))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(other_network.output, 50 * start(SMALL)[0].output, rtol=1e-12)


# Output signs and the polar factor


def signs(setting: Setting, seed: int = 0) -> np.ndarray:
    return np.asarray(draw_signs(setting.problem(), jax.random.key(seed)))


def test_output_signs_have_magnitude_one_over_root_m() -> None:
    np.testing.assert_allclose(np.abs(signs(SMALL)), np.full(16, 0.25), rtol=1e-12)
    np.testing.assert_allclose(np.abs(signs(SMALL.replace(output="per_token"))), np.full((10, 16), 0.25), rtol=1e-12)


def test_shared_signs_are_fair_and_vary_in_number() -> None:
    positive = np.array([np.sum(signs(SMALL, seed) > 0) for seed in range(60)])
    assert abs(positive.mean() - 8) < 4 * 2 / math.sqrt(60)
    assert 1 < positive.std() < 3


def test_signs_per_token_are_fair_and_independent_across_positions() -> None:
    drawn = signs(SMALL.replace(output="per_token")) * 4
    assert abs(drawn.mean()) < 4 / math.sqrt(160)
    agreement = (drawn @ drawn.T / 16)[np.triu_indices(10, 1)]
    assert np.all(np.abs(agreement) < 1)
    assert abs(agreement.mean()) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_balanced_signs_are_half_positive_in_random_order(seed: int) -> None:
    drawn = signs(SMALL.replace(balanced_signs=True), seed)
    assert np.sum(drawn > 0) == 8
    assert not np.array_equal(drawn, np.sort(drawn)[::-1])


def test_the_polar_factor_is_the_nearest_orthonormal_set() -> None:
    rng = np.random.default_rng(0)
    p = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    root = rng.normal(size=(3, 3))
    np.testing.assert_allclose(polar(p @ (root @ root.T + 0.1 * np.eye(3))), p, atol=1e-12)


def test_initial_errors_are_the_largest_over_patterns_and_maps() -> None:
    features = Features(np.eye(3), np.eye(3), np.eye(3))
    off = lambda size, column: np.eye(3) + size * np.outer([0, 0.6, 0.8], np.eye(3)[column])  # noqa: E731
    network = Network(np.zeros((2, 3)), off(0.3, 2), off(0.1, 0), off(0.2, 1))
    sigma, delta = initial_errors(network, features, np.eye(3))
    assert sigma == pytest.approx(0.3)
    assert delta == pytest.approx(0.2)
    sigma, delta = initial_errors(network._replace(key=off(0.4, 0)), features, np.eye(3))
    assert delta == pytest.approx(0.4)
