"""Variants of the network (3.2): outputs and gradients, limits, symmetries, masks, initialisation."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from vit_variant_cases import (
    DIMENSION,
    KEY,
    NEURONS,
    SAMPLES,
    SLOPE,
    SMALL,
    THREE,
    TOKENS,
    VALUE,
    VARIANTS,
    Case,
    assert_networks,
    assert_same,
    autodiff,
    few,
    heads_of,
    package,
    positions,
    whole_by_hand,
)

from lemmata.lab.precision import numerics
from lemmata.networks import losses
from lemmata.networks.shallow import Network, attention, gradient, products, run_forward, split_heads
from lemmata.theories.vit.data import draw_patterns
from lemmata.theories.vit.network import Features, aim, draw_signs, initial_errors, initialise, margins


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


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
