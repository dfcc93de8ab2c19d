"""Variants of the network (3.2): several heads, a skip connection, several classes; their training and combinations.

The oracle is written token by token in NumPy from the paper's formulas and shares nothing with the package; a second
one is autodiff of a forward pass written in another way. Everything runs in float64.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.networks import losses
from lemmata.networks.shallow import Network, attention, forward, gradient, products, run_forward, split_heads
from lemmata.theories.vit.data import Data, draw, draw_members, draw_patterns, sparsify
from lemmata.theories.vit.network import Features, aim, draw_signs, initial_errors, initialise, margins
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import Watched, attend, simulate, train

SAMPLES, TOKENS, DIMENSION, VALUE, KEY, NEURONS = 4, 6, 5, 4, 3, 7


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Variant(NamedTuple):
    """`heads` = 0: matrices without a leading axis."""

    heads: int = 0
    skip: bool = False
    outputs: int = 1


VARIANTS = {
    "plain": Variant(),
    "three heads": Variant(heads=3),
    "skip": Variant(skip=True),
    "four classes": Variant(outputs=2),
    "heads and classes": Variant(heads=2, outputs=3),
    "skip and classes": Variant(skip=True, outputs=2),
}
THREE = ("three heads", "skip", "four classes")

few = pytest.mark.parametrize("name", THREE)
positions = pytest.mark.parametrize("per_token", [False, True], ids=["shared", "per token"])


class Case:
    """A random network with random, partly masked and repeated tokens."""

    def __init__(self, seed: int, name: str, per_token: bool = False, masked: bool = True) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.name, self.per_token = name, per_token
        heads, self.skip, outputs = VARIANTS[name]
        wide = DIMENSION if self.skip else VALUE
        shapes = ((NEURONS, wide), (wide, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        leading = (heads,) if heads else ()
        self.network = Network(*(rng.normal(size=leading + shape) / math.sqrt(shape[1]) for shape in shapes))
        layers = (outputs, TOKENS if per_token else 1) if outputs > 1 else (TOKENS,) if per_token else ()
        self.signs = rng.choice([-1.0, 1.0], (*layers, NEURONS)) / math.sqrt(NEURONS)
        self.tokens = rng.normal(size=(SAMPLES, TOKENS, DIMENSION))
        self.weight = np.ones((SAMPLES, TOKENS))
        if masked:
            self.weight = rng.choice([0.0, 1.0, 1.0, 3.0], (SAMPLES, TOKENS))
            self.weight[:, 0] = 1.0
        self.label = rng.choice([-1.0, 1.0], (SAMPLES, outputs) if outputs > 1 else SAMPLES)

    def inputs(self, **changes: Any) -> tuple[Any, ...]:
        order = ("network", "signs", "label", "tokens", "weight", "skip")
        return tuple(changes.get(field, getattr(self, field)) for field in order)


def heads_of(network: Network) -> list[Network]:
    matrices = [np.asarray(w) for w in network]
    if matrices[0].ndim == 2:
        matrices = [w[None] for w in matrices]
    return [Network(*head) for head in zip(*matrices, strict=True)]


def by_hand(
    network: Network, signs: np.ndarray, x: np.ndarray, count: np.ndarray, skip: bool
) -> tuple[np.ndarray, list[Network]]:
    """F of one sample, coordinate by coordinate, with the gradients of every coordinate (8.2).

    signs: [coordinates, tokens or 1, neurons]. The gradients have a leading axis of heads, as the network may.
    """
    heads = heads_of(network)
    outputs, coordinates = [], []
    for layer in np.broadcast_to(signs, (signs.shape[0], len(x), signs.shape[2])):
        f, d = 0.0, [[np.zeros_like(w) for w in head] for head in heads]
        for query, share, a in zip(x, count / count.sum(), layer, strict=True):
            hidden, seen = 0.0, []
            for w_o, w_v, w_k, w_q in heads:
                mass = count * np.exp(x @ w_k.T @ w_q @ query)
                w = mass / mass.sum()
                v_l = w_v @ (x.T @ w) + (query if skip else 0.0)
                seen.append((w, v_l))
                hidden = hidden + w_o @ v_l
            f += share * a @ np.maximum(hidden, 0)
            u = a * (hidden > 0)
            for part, (w_o, w_v, w_k, w_q), (w, v_l) in zip(d, heads, seen, strict=True):
                mean, g = x.T @ w, w_o.T @ u
                v = w_v.T @ g
                h = x.T @ (w * (x @ v)) - mean * (mean @ v)
                part[0] += share * np.outer(u, v_l)
                part[1] += share * np.outer(g, mean)
                part[2] += share * np.outer(w_q @ query, h)
                part[3] += share * np.outer(w_k @ h, query)
        outputs.append(f)
        together = (np.stack(parts) for parts in zip(*d, strict=True))
        coordinates.append(Network(*(part.reshape(w.shape) for part, w in zip(together, network, strict=True))))
    return np.array(outputs), coordinates


def kept_layers(signs: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Signs of the kept positions as [coordinates, tokens or 1, neurons]."""
    layers = signs if signs.ndim == 3 else np.atleast_2d(signs)[None]
    return layers[:, kept] if layers.shape[1] > 1 else layers


def plain_margins(network: Network, signs: Any, label: Any, tokens: Any, weight: Any, skip: bool) -> Any:
    """y^T F for autodiff, all heads at once; log multiplicities are added to the logits."""
    output, value, key, query = (w if w.ndim == 3 else w[None] for w in network)
    logits = jnp.einsum("hkd,nld,hke,nse->hnls", query, tokens, key, tokens) + jnp.log(weight)[None, :, None, :]
    values = jnp.einsum("hnls,hvd,nsd->hnlv", jax.nn.softmax(logits, axis=-1), value, tokens)
    if skip:
        values = values + tokens
    fired = jax.nn.relu(jnp.einsum("hmv,hnlv->nlm", output, values))
    if signs.ndim < 3:
        each = label[:, None] * jnp.sum(signs * fired, axis=-1)
    else:
        each = jnp.sum(label[:, :, None] * jnp.sum(signs * fired[:, None], axis=-1), axis=1)
    return jnp.sum(weight * each, axis=1) / jnp.sum(weight, axis=1)


@functools.partial(jax.jit, static_argnums=5)
def package(
    network: Network, signs: Any, label: Any, tokens: Any, weight: Any, skip: bool, slope: Any
) -> tuple[Any, Any, Network]:
    """The package's F, y^T F and gradient of sum_n slope_n y_n^T F_n."""
    aimed, factor = aim(signs, label)
    d = gradient(network, aimed, tokens, weight, lambda outputs: slope * factor, skip)
    outputs = forward(network, signs, tokens, weight, skip)
    return outputs, margins(network, signs, label, tokens, weight, skip), d


autodiff = jax.jit(jax.grad(lambda *inputs: jnp.sum(inputs[-1] * plain_margins(*inputs[:-1]))), static_argnums=5)
SLOPE = np.arange(1.0, SAMPLES + 1)


def whole_by_hand(case: Case, slope: np.ndarray = SLOPE) -> tuple[Any, Any, Network]:
    """The same in NumPy, with masked tokens deleted together with their signs."""
    outputs, margin, total = [], [], jax.tree.map(np.zeros_like, case.network)
    for x, count, y, c in zip(case.tokens, case.weight, np.reshape(case.label, (SAMPLES, -1)), slope, strict=True):
        kept = np.flatnonzero(count)
        f, each = by_hand(case.network, kept_layers(case.signs, kept), x[kept], count[kept], case.skip)
        outputs.append(f)
        margin.append(y @ f)
        for y_c, d in zip(y, each, strict=True):
            total = jax.tree.map(lambda t, g, factor=c * y_c: t + factor * g, total, d)
    return np.array(outputs).reshape(case.label.shape), np.array(margin), total


def assert_networks(actual: Network, expected: Network, tolerance: float) -> None:
    for field, one, two in zip(Network._fields, actual, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=field)


def assert_same(found: tuple[Any, Any, Network], expected: tuple[Any, Any, Network], tolerance: float = 1e-12) -> None:
    for one, two in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)
    assert_networks(found[2], expected[2], tolerance)


# Outputs and gradients


@positions
@pytest.mark.parametrize("name", VARIANTS)
def test_outputs_margins_and_gradients_equal_the_formulas_and_autodiff(name: str, per_token: bool) -> None:
    for seed in range(4):
        case = Case(seed, name, per_token, masked=seed > 0)
        slope = case.rng.normal(size=SAMPLES)
        found = package(*case.inputs(), slope)
        assert_same(found, whole_by_hand(case, slope))
        assert_networks(found[2], autodiff(*case.inputs(), slope), 1e-12)


@few
def test_a_pass_holds_what_the_hidden_layer_sees_and_does(name: str) -> None:
    case = Case(11, name)
    signs = case.signs if case.signs.ndim == 1 else case.signs[0]
    run = run_forward(products(case.network, case.skip), signs, case.tokens, case.weight, case.skip)
    heads = heads_of(case.network)
    assert len(run.attention) == len(heads)
    np.testing.assert_allclose(run.share, case.weight / case.weight.sum(1, keepdims=True), rtol=1e-14)
    for n, (x, count) in enumerate(zip(case.tokens, case.weight, strict=True)):
        for l, query in enumerate(x):  # noqa: E741
            parts, hidden = [], np.zeros(NEURONS)
            for h, (w_o, w_v, w_k, w_q) in enumerate(heads):
                mass = count * np.exp(x @ w_k.T @ w_q @ query)
                np.testing.assert_allclose(run.attention[h][n, l], mass / mass.sum(), rtol=1e-12)
                parts.append(x.T @ mass / mass.sum())
                hidden += w_o @ (w_v @ parts[-1] + (query if case.skip else 0.0))
            parts += [query] if case.skip else []
            np.testing.assert_allclose(run.mixed[n, l], np.concatenate(parts), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(run.hidden[n, l], hidden, rtol=1e-12, atol=1e-13)
            np.testing.assert_array_equal(run.gate[n, l], np.where(hidden > 0, np.squeeze(signs), 0))


def test_the_attention_of_several_heads_is_their_mean() -> None:
    case = Case(12, "three heads")
    each = [attention(head, case.tokens, case.weight) for head in split_heads(case.network)]
    assert len(each) == 3
    assert np.max(np.abs(each[0] - each[1])) > 0.1
    found = attention(case.network, case.tokens, case.weight)
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-14, atol=1e-16)


def test_a_label_vector_is_folded_into_signs_of_the_samples() -> None:
    signs = np.array([[[1.0, 1.0, -1.0, -1.0]], [[1.0, -1.0, 1.0, -1.0]]])
    label = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    aimed, factor = aim(signs, label)
    np.testing.assert_array_equal(aimed[:, 0], [[2, 0, 0, -2], [0, 2, -2, 0], [0, -2, 2, 0], [-2, 0, 0, 2]])
    np.testing.assert_array_equal(factor, np.ones(4))
    shared, factor = aim(signs[0, 0], label[:, 0])
    np.testing.assert_array_equal(shared, signs[0, 0])
    np.testing.assert_array_equal(factor, label[:, 0])


# Limits (8.14, 8.15)


@positions
def test_a_single_stacked_head_is_the_base_model(per_token: bool) -> None:
    case = Case(20, "plain", per_token)
    stacked = Network(*(w[None] for w in case.network))
    outputs, margin, d = package(*case.inputs(), SLOPE)
    base = (outputs, margin, Network(*(w[None] for w in d)))
    assert_same(package(*case.inputs(network=stacked), SLOPE), base, 1e-14)
    one, two = (attention(network, case.tokens, case.weight) for network in (case.network, stacked))
    np.testing.assert_allclose(one, two, rtol=1e-14, atol=1e-16)


def test_heads_that_attend_alike_are_one_wide_head() -> None:
    case = Case(21, "three heads")
    output, value, key, query = case.network
    alike = Network(output, value, np.stack([key[0]] * 3), np.stack([query[0]] * 3))
    wide = Network(np.concatenate(list(output), axis=1), np.concatenate(list(value)), key[0], query[0])
    outputs, margin, d = package(*case.inputs(network=alike), SLOPE)
    merged = Network(
        np.concatenate(list(d.output), axis=1), np.concatenate(list(d.value)), d.key.sum(0), d.query.sum(0)
    )
    assert_same((outputs, margin, merged), package(*case.inputs(network=wide), SLOPE))


@pytest.mark.parametrize(("zero", "other"), [("key", "query"), ("query", "key")])
def test_a_head_with_zero_keys_or_queries_attends_evenly_and_does_not_train_the_other(zero: str, other: str) -> None:
    case = Case(22, "three heads", masked=False)
    some = getattr(case.network, zero).copy()
    some[0] = 0.0
    network = case.network._replace(**{zero: some})
    heads = [attention(head, case.tokens, case.weight) for head in split_heads(network)]
    np.testing.assert_allclose(heads[0], 1 / TOKENS, rtol=1e-14)
    assert np.max(np.abs(heads[1] - 1 / TOKENS)) > 0.1
    d = package(*case.inputs(network=network), SLOPE)[2]
    np.testing.assert_array_equal(getattr(d, other)[0], 0)
    assert np.max(np.abs(getattr(d, zero)[0])) > 1e-4
    assert np.max(np.abs(getattr(d, other)[1])) > 1e-4
    none = case.network._replace(**{zero: 0 * some})
    np.testing.assert_allclose(attention(none, case.tokens, case.weight), 1 / TOKENS, rtol=1e-14)


@pytest.mark.parametrize("name", ["skip", "skip and classes"])
def test_on_one_token_the_skip_model_is_the_base_model_with_a_larger_value_map(name: str) -> None:
    case = Case(23, name, masked=False)
    larger = case.network._replace(value=case.network.value + np.eye(DIMENSION))
    skip, base = (package(*case.inputs(**c), SLOPE)[1] for c in ({}, {"network": larger, "skip": False}))
    assert np.max(np.abs(skip - base)) > 1e-2, "with more tokens they differ"
    case.weight[:, 1:] = 0.0
    assert_same(package(*case.inputs(), SLOPE), package(*case.inputs(network=larger, skip=False), SLOPE), 1e-13)


@positions
def test_a_duplicated_coordinate_doubles_the_binary_margin(per_token: bool) -> None:
    case = Case(24, "plain", per_token)
    layer = case.signs if per_token else case.signs[None]
    outputs, margin, d = package(*case.inputs(), SLOPE)
    twice = (np.stack([outputs] * 2, axis=1), 2 * margin, jax.tree.map(lambda w: 2 * w, d))
    changes = {"signs": np.stack([layer] * 2), "label": np.stack([case.label] * 2, axis=1)}
    assert_same(package(*case.inputs(**changes), SLOPE), twice, 1e-13)


# Symmetries (8.10), on whole trajectories of mini-batch SGD


@functools.partial(jax.jit, static_argnames="skip")
def descend(
    network: Network, signs: Any, label: Any, tokens: Any, weight: Any, skip: bool = False
) -> tuple[Network, Any]:
    """The last network and the loss of every step: hinge, batches of two in turn."""
    loss = losses.hinge()

    def step(network: Network, t: Any) -> tuple[Network, Any]:
        pick = (2 * t + jnp.arange(2)) % SAMPLES
        aimed, factor = aim(signs, label[pick])
        slope = lambda outputs: factor * loss.slope(factor * outputs) / 2  # noqa: E731
        d = gradient(network, aimed, tokens[pick], weight[pick], slope, skip)
        risk = jnp.mean(loss.value(margins(network, signs, label, tokens, weight, skip)))
        return jax.tree.map(lambda w, g: w - 0.2 * g, network, d), risk

    return jax.lax.scan(step, network, jnp.arange(30))


def rotation(rng: np.random.Generator, size: int, heads: int = 0) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(heads, size, size) if heads else (size, size)))[0]


def swap(w: Any) -> Any:
    return np.swapaxes(w, -1, -2)


Change = tuple[dict[str, Any], Callable[[Network], Network]]


def neurons_permuted(case: Case) -> Change:
    order = case.rng.permutation(NEURONS)
    return {"signs": case.signs[..., order]}, lambda n: n._replace(output=n.output[..., order, :])


def hidden_spaces_rotated(case: Case) -> Change:
    """Every head by a rotation of its own; a skip connection ties the values to the tokens."""
    heads = VARIANTS[case.name].heads
    k = rotation(case.rng, KEY, heads)
    o = np.eye(DIMENSION) if case.skip else rotation(case.rng, VALUE, heads)
    return {}, lambda n: Network(n.output @ swap(o), o @ n.value, k @ n.key, k @ n.query)


def token_space_rotated(case: Case) -> Change:
    r = rotation(case.rng, DIMENSION)

    def rotated(n: Network) -> Network:
        output, value = (n.output @ r.T, r @ n.value) if case.skip else (n.output, n.value)
        return Network(output, value @ r.T, n.key @ r.T, n.query @ r.T)

    return {"tokens": case.tokens @ r.T}, rotated


def a_coordinate_flipped(case: Case) -> Change:
    """The label and its signs; with several coordinates the first of them alone."""
    if case.label.ndim == 1:
        return {"label": -case.label, "signs": -case.signs}, lambda n: n
    flip = np.array([-1.0, *np.ones(case.label.shape[1] - 1)])
    return {"label": case.label * flip, "signs": case.signs * flip[:, None, None]}, lambda n: n


def coordinates_or_heads_permuted(case: Case) -> Change:
    if case.label.ndim == 2:
        return {"label": case.label[:, ::-1], "signs": case.signs[::-1]}, lambda n: n
    order = [1, 2, 0]
    return {}, lambda n: Network(*(w[order] for w in n)) if n.output.ndim == 3 else n


def tokens_permuted(case: Case) -> Change:
    order = np.roll(np.arange(TOKENS), 1)
    signs = case.signs[..., order, :] if case.per_token else case.signs
    return {"tokens": case.tokens[:, order], "weight": case.weight[:, order], "signs": signs}, lambda n: n


SYMMETRIES = (
    neurons_permuted,
    hidden_spaces_rotated,
    token_space_rotated,
    a_coordinate_flipped,
    coordinates_or_heads_permuted,
    tokens_permuted,
)


@pytest.mark.parametrize(("name", "per_token"), [*((name, False) for name in THREE), ("four classes", True)])
def test_symmetries_of_a_variant_are_symmetries_of_its_trajectory(name: str, per_token: bool) -> None:
    case = Case(30, name, per_token)
    last, risk = jax.device_get(descend(*case.inputs()))
    assert risk[0] - risk[-1] > 0.1, "the trajectory must move for its symmetry to mean anything"
    for symmetry in SYMMETRIES:
        changes, moved = symmetry(case)
        again, same = descend(*case.inputs(network=moved(case.network), **changes))
        np.testing.assert_allclose(same, risk, rtol=1e-9, atol=1e-10, err_msg=symmetry.__name__)
        assert_networks(again, moved(last), 1e-9)


def test_signs_per_token_make_the_order_of_tokens_matter_with_several_classes() -> None:
    case = Case(31, "four classes", per_token=True)
    moved = {field: np.roll(getattr(case, field), 1, axis=1) for field in ("tokens", "weight")}
    here, there = (package(*case.inputs(**change), SLOPE)[1] for change in ({}, moved))
    assert np.max(np.abs(here - there)) > 1e-2


# Masks (8.11)


@positions
@few
def test_a_masked_token_is_a_deleted_token(name: str, per_token: bool) -> None:
    case = Case(40, name, per_token, masked=False)
    case.weight[:, [1, 4]] = 0.0
    case.tokens[:, [1, 4]] *= 100
    assert_same(package(*case.inputs(), SLOPE), whole_by_hand(case))


@few
def test_a_multiplicity_is_so_many_equal_tokens(name: str) -> None:
    case = Case(41, name, masked=False)
    counts = np.array([2, 1, 0, 2, 1, 0])
    case.weight[:] = counts
    longer = {"tokens": np.repeat(case.tokens, counts, axis=1), "weight": np.ones((SAMPLES, TOKENS))}
    assert_same(package(*case.inputs(), SLOPE), package(*case.inputs(**longer), SLOPE))


# Initialisation


SMALL = Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=20, records=21)


def start(seed: int = 0, **changes: Any) -> tuple[Network, Features, np.ndarray]:
    problem, key = SMALL.replace(**changes).problem(), jax.random.key(seed)
    basis = draw_patterns(problem, jax.random.fold_in(key, 1))
    network, features = initialise(problem, key, basis)
    return (*jax.tree.map(np.asarray, (network, features)), np.asarray(basis))


@pytest.mark.parametrize(
    "change",
    [
        {"heads": 2},
        {
            "heads": 2,
            "normalise": "layer",
            "value_error_law": "confuse",
            "attention_error_law": "confuse",
            "free_queries": True,
        },
        {"skip": True},
        {"skip": True, "normalise": "layer", "value_error_law": "confuse"},
    ],
    ids=str,
)
def test_the_initial_errors_are_met_with_equality(change: dict[str, Any]) -> None:
    """Assumption 2.3.1 for every head; (A.233) with a skip connection; layer norm bends the patterns."""
    network, features, basis = start(value_error=0.15, attention_error=0.35, **change)
    skip = change.get("skip", False)
    if change.get("normalise") == "layer":
        np.testing.assert_allclose(basis.mean(0), 0, atol=1e-14)
        np.testing.assert_allclose(np.linalg.norm(basis, axis=0), 1, rtol=1e-14)
        assert np.max(np.abs(basis.T @ basis - np.eye(5))) > 0.01
    one_by_one = zip(heads_of(network), heads_of(Network(*features, features.key)), strict=True)  # pyright: ignore
    for (_, value, key, query), (p, q, r, _) in one_by_one:
        for f in (p, q, r):
            np.testing.assert_allclose(f.T @ f, np.eye(5), atol=1e-12)
        seen = value @ basis + (basis if skip else 0.0)
        np.testing.assert_allclose(np.linalg.norm(seen - p, axis=0), 0.15, rtol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(key @ basis - q, axis=0), 0.35, rtol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(query @ basis - r, axis=0), 0.35, rtol=1e-10)
    sigma, delta = initial_errors(network, features, basis, skip)
    assert sigma == pytest.approx(0.15, rel=1e-10)
    assert delta == pytest.approx(0.35, rel=1e-10)


def test_the_errors_of_several_heads_are_the_largest_of_them() -> None:
    network, features, basis = start(heads=2)
    worse = network.value.copy()
    worse[1] += 0.3 * np.outer(features.value[1][:, 3], basis[:, 3])
    network = network._replace(value=worse)
    one = initial_errors(Network(*(w[1] for w in network)), Features(*(f[1] for f in features)), basis)
    both = initial_errors(network, features, basis)
    assert one[0] > 0.11
    np.testing.assert_allclose(both, one, rtol=1e-12)


def test_every_head_has_features_and_weights_of_its_own() -> None:
    network, features, _ = start(heads=2)
    assert network.output.shape == (2, 16, 10)
    assert {w.shape for w in network[1:]} == {(2, 10, 10)}
    for w in (*network, *features):
        assert np.max(np.abs(w[0] - w[1])) > 1e-3
    assert 0.005 < network.output.std() < 0.015
    flat, _, _ = start(heads=1)
    assert {w.ndim for w in flat} == {2}


def test_the_skip_initialisation_subtracts_the_patterns_from_the_plain_one() -> None:
    plain, features, basis = start()
    skip, same, _ = start(skip=True)
    np.testing.assert_array_equal(features.value, same.value)
    np.testing.assert_allclose(skip.value, plain.value - basis @ basis.T, atol=1e-14)
    for name in ("output", "key", "query"):
        np.testing.assert_allclose(getattr(skip, name), getattr(plain, name), atol=1e-15)


def test_given_maps_of_a_skip_network_have_features_near_what_its_hidden_layer_sees() -> None:
    maps = np.random.default_rng(0).normal(size=(3, 10, 10))
    given = dict(zip(("value_map", "key_map", "query_map"), maps, strict=True))
    network, features, basis = start(skip=True, init="given", **given)
    u, _, v = np.linalg.svd(maps[0] @ basis + basis, full_matrices=False)
    np.testing.assert_allclose(features.value, u @ v, atol=1e-12)
    sigma, _ = initial_errors(network, features, basis, skip=True)
    assert sigma == pytest.approx(np.linalg.norm(maps[0] @ basis + basis - u @ v, axis=0).max(), rel=1e-10)


def test_the_defect_shifts_every_neuron_away_from_the_first_feature() -> None:
    plain, features, _ = start(output_scale=0.3)
    shifted, same, _ = start(output_scale=0.3, defect="shifted")
    np.testing.assert_allclose(shifted.output - plain.output, np.tile(-0.6 * features.value[:, 0], (16, 1)), atol=1e-14)
    np.testing.assert_array_equal(features.value, same.value)
    for name in ("value", "key", "query"):
        np.testing.assert_allclose(getattr(shifted, name), getattr(plain, name), atol=1e-15)


def test_every_coordinate_of_the_label_has_a_layer_of_signs_of_its_own() -> None:
    signs = lambda **change: np.asarray(draw_signs(SMALL.replace(**change).problem(), jax.random.key(0)))  # noqa: E731
    shared = signs(classes=4)
    assert shared.shape == (2, 1, 16)
    per_token = signs(classes=4, output="per_token")
    assert per_token.shape == (2, 10, 16)
    for layers in (shared, per_token):
        np.testing.assert_allclose(np.abs(layers), 0.25, rtol=1e-14)
        assert not np.array_equal(layers[0], layers[1])
    assert not np.array_equal(per_token[0, 0], per_token[0, 1])
    np.testing.assert_array_equal(signs(classes=8, patterns=9)[:2], shared)


# Whole runs: the package's training against NumPy


TRAINED = Setting(
    tokens=10, neurons=16, samples=9, test_samples=16, steps=60, records=61, track="neurons", stop="never",
    output_scale=0.1, step_size=0.5,
)  # fmt: skip
RUNS = {
    "heads": TRAINED.replace(heads=2, step_size=0.3),
    "skip": TRAINED.replace(skip=True),
    "classes": TRAINED.replace(classes=4, track="attention", samples=12),
    "sparsified": TRAINED.replace(
        keep=0.7, strategy="attention", output="per_token", step_size=2.0, label_order="shuffled"
    ),
}
"""All of them reach zero training loss within their 60 steps."""
runs = pytest.mark.parametrize("name", RUNS)
FOLLOWED = 10


class Pieces(NamedTuple):
    """What one run starts from."""

    network: Network
    features: Features
    signs: Any
    basis: Any
    members: Any
    data: Data
    test: Data


def pieces(setting: Setting, seed: int = 0) -> Pieces:
    problem, key = setting.problem(), jax.random.key(seed)
    basis = draw_patterns(problem, stream(key, "data"))
    members = draw_members(problem, stream(key, "data"), basis)
    data = draw(problem, stream(key, "data"), members, count=problem.drawn_room)
    test = draw(problem, stream(key, "test"), members, count=problem.drawn_test_room)
    network, features = initialise(problem, stream(key, "init"), basis)
    signs = draw_signs(problem, stream(key, "init"))
    if problem.sparsified:
        sampler = stream(key, "sampler")
        data = sparsify(problem, jax.random.fold_in(sampler, 0), data, attend(problem, network, data))
        test = sparsify(problem, jax.random.fold_in(sampler, 1), test, attend(problem, network, test))
    return Pieces(network, features, signs, basis, members, data, test)


def trained(setting: Setting) -> Run:
    p = pieces(setting)
    batch_key = stream(jax.random.key(0), "batch")
    return train(setting.problem(), batch_key, p.network, p.signs, p.data, Watched(p.test, p.features, p.basis))


@functools.cache
def simulated(setting: Setting) -> dict[str, np.ndarray]:
    with numerics("float64"):
        return jax.device_get(simulate(setting, jax.random.key(0)))


def sample_by_hand(network: Network, signs: np.ndarray, data: Data, n: int, skip: bool) -> tuple[np.ndarray, Any]:
    """F of sample n and its gradients; masked tokens are deleted, with their signs."""
    kept = np.flatnonzero(data.weight[n])
    return by_hand(network, kept_layers(signs, kept), data.tokens[n, kept], data.weight[n, kept], skip)


class Reference:
    """Full-batch (or one-pass) hinge SGD in NumPy: the network of every step."""

    def __init__(self, setting: Setting, steps: int = FOLLOWED) -> None:
        self.start = start = jax.device_get(pieces(setting))
        self.skip = setting.skip
        path = [start.network]
        for t in range(steps):
            rows = range(t * setting.batch, (t + 1) * setting.batch) if setting.batch else range(setting.samples)
            size = setting.step_size / len(rows)
            network = path[-1]
            step = jax.tree.map(np.zeros_like, network)
            for n in rows:
                f, each = sample_by_hand(network, start.signs, start.data, n, self.skip)
                y = np.atleast_1d(start.data.label[n])
                if y @ f < 1:
                    for y_c, d in zip(y, each, strict=True):
                        step = jax.tree.map(lambda s, g, c=y_c: s - c * g, step, d)
            path.append(jax.tree.map(lambda w, s, eta=size: w - eta * s, network, step))
        self.path = path

    def by_coordinate(self, t: int, data: Data, label: np.ndarray, count: int) -> np.ndarray:
        """y_c F_c of the first samples."""
        outputs = [sample_by_hand(self.path[t], self.start.signs, data, n, self.skip)[0] for n in range(count)]
        return np.reshape(label[:count], (count, -1)) * outputs

    def margins(self, t: int, count: int) -> np.ndarray:
        return self.by_coordinate(t, self.start.data, self.start.data.label, count).sum(1)

    def test(self, t: int) -> np.ndarray:
        """y_c F_c of the test samples, by their true labels."""
        return self.by_coordinate(t, self.start.test, self.start.test.vote, 16)


@functools.cache
def reference(setting: Setting) -> Reference:
    with numerics("float64"):
        return Reference(setting)


@runs
def test_training_a_variant_is_gradient_descent_on_the_mean_loss(name: str) -> None:
    setting = RUNS[name]
    expected = reference(setting)
    found = jax.device_get(trained(setting.replace(steps=FOLLOWED)))
    assert_networks(found.state.parameters, expected.path[-1], 1e-10)
    result = simulated(setting)
    for t in range(0, FOLLOWED + 1, 5):
        margin = expected.margins(t, setting.samples)
        assert result["train_loss"][t] == pytest.approx(np.maximum(1 - margin, 0).mean(), rel=1e-10)
        if setting.track == "neurons":
            assert result["margin_mean"][t] == pytest.approx(margin.mean(), rel=1e-9)
            assert result["margin_least"][t] == pytest.approx(margin.min(), rel=1e-9)
            risk = np.maximum(1 - expected.test(t).sum(1), 0).mean()
            assert result["test_loss"][t] == pytest.approx(risk, rel=1e-10)
    assert result["train_loss"][0] - result["train_loss"][FOLLOWED] > 0.05


def test_a_batch_of_several_classes_is_aimed_at_its_own_labels() -> None:
    setting = RUNS["classes"].replace(samples=16, batch=4, batches="one_pass", track="loss")
    found = jax.device_get(trained(setting))
    assert found.last_step == 4
    assert_networks(found.state.parameters, Reference(setting, 4).path[-1], 1e-10)


@runs
def test_the_evaluation_of_a_variant_reads_its_trained_network(name: str) -> None:
    setting = RUNS[name].replace(steps=FOLLOWED)
    expected, result = reference(RUNS[name]), simulated(setting)
    for t, prefix in ((0, "untrained_"), (-1, "")):
        by_coordinate = expected.test(t)
        hinge = np.maximum(1 - by_coordinate.sum(1), 0)
        assert result[prefix + "test_hinge"] == pytest.approx(hinge.mean(), rel=1e-10)
        assert result[prefix + "test_error"] == np.mean(np.any(by_coordinate <= 0, axis=1))
    assert result["test_hinge_error"] == pytest.approx(hinge.std(ddof=1) / 4, rel=1e-9)
    assert result["test_margin"] == pytest.approx(by_coordinate.sum(1).min(), rel=1e-9)
    assert result["untrained_test_error"] > 0


@runs
def test_parameters_of_a_variant_are_constant_to_the_bit_once_the_hinge_loss_is_zero(name: str) -> None:
    result = simulated(RUNS[name])
    arrived = int(result["reached_step"])
    assert FOLLOWED < arrived < 58
    assert np.all(result["movement"][1 : arrived + 1] > 0)
    np.testing.assert_array_equal(result["movement"][arrived + 1 :], 0)
    np.testing.assert_array_equal(result["train_loss"][arrived:], 0)


@runs
def test_concentration_in_a_variant_is_the_attention_on_kept_relevant_tokens(name: str) -> None:
    expected = reference(RUNS[name])
    data, result = expected.start.data, simulated(RUNS[name])
    for t in (0, FOLLOWED):
        found = []
        for n in range(RUNS[name].samples):
            kept = np.flatnonzero(data.weight[n])
            x = data.tokens[n, kept]
            bits = np.atleast_1d(data.vote[n]) < 0
            own = bits @ (2 ** np.arange(len(bits))[::-1])
            for query in x:
                masses = [np.exp(x @ k.T @ q @ query) for _, _, k, q in heads_of(expected.path[t])]
                found.append(np.mean([m[data.pattern[n, kept] == own].sum() / m.sum() for m in masses]))
        assert result["concentration"][t, 0] == pytest.approx(np.mean(found), rel=1e-10)
        assert result["lowest"][t] == pytest.approx(np.min(found), rel=1e-10)


def test_neurons_of_a_class_move_towards_its_pattern_and_away_from_the_opposite_one() -> None:
    setting = RUNS["classes"].replace(steps=FOLLOWED)
    expected = reference(RUNS["classes"])
    before, after = expected.path[0].output, expected.path[-1].output
    table = np.zeros((4, 4))
    code = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    signs = expected.start.signs[:, 0] * 4
    for own in range(4):
        rows = [i for i in range(16) if np.array_equal(np.round(signs[:, i]), code[own])]
        assert rows, "every class has neurons"
        for k in range(4):
            table[own, k] = np.mean([(after[i] - before[i]) @ expected.start.features.value[:, k] for i in rows])
    found = simulated(setting)["class_displacement"]
    np.testing.assert_allclose(found, table, rtol=1e-9, atol=1e-12)
    assert np.all(np.diag(found) > 0)


# Combinations


ALLOWED: list[dict[str, Any]] = [
    {"classes": 4, "track": "neurons"},
    {"classes": 4, "heads": 2},
    {"classes": 4, "heads": 2, "output": "per_token", "track": "neurons"},
    {"classes": 4, "skip": True, "keep": 0.5, "label_order": "shuffled"},
    {"heads": 2, "members": 2, "dimension": 15},
    {"skip": True, "members": 2, "dimension": 15, "value_width": 15, "track": "neurons"},
    {"heads": 2, "reduction": "patterns", "token_noise": 0.0, "track": "neurons"},
    {"skip": True, "normalise": "layer", "track": "neurons", "batch": 4},
    {"heads": 2, "loss": "logistic", "track": "neurons", "keep": 0.5, "strategy": "attention"},
]


@pytest.mark.parametrize("change", ALLOWED, ids=str)
def test_every_combination_that_a_setting_allows_can_be_simulated(change: dict[str, Any]) -> None:
    """Traced without computing: every declared dimension is there, and every output has the run's precision."""
    found = jax.eval_shape(simulate, SMALL.replace(**change).problem(), jax.random.key(0))
    assert {v.dtype.name for v in found.values()} == {"float64"}
    for name, value in found.items():
        assert len(value.shape) == len(simulate.variable(name).dims), name
    side = {"side": 2, "group": 3, "gate_group": 4, "pair": 2, "query": 4, "record": 21, "pattern": 5, "class": 4}
    for name, value in found.items():
        for dim, size in zip(simulate.variable(name).dims, value.shape, strict=True):
            assert size == side.get(dim, size), (name, dim)
