"""The one-layer transformer (3.1, 3.2): numbers by hand, gradients, symmetries, initialisation."""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from icl_networks import (
    CONTEXTS,
    FAST,
    KEY,
    PROMPTS,
    WIDTH,
    Case,
    make_prompts,
    on_contexts,
    run,
    score,
)
from scipy import stats

from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import Prompts
from lemmata.theories.icl.network import gradient, initialise, neurons, run_forward
from lemmata.theories.icl.setting import Setting

SMALL = Setting(
    dimension=10, patterns=6, irrelevant=4, label_dimension=2, neurons=12, key_width=12, value_width=12,
    basis="canonical",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


@functools.partial(jax.jit, static_argnames="include_query", **FAST)
def closed(network: Network, signs: Any, prompts: Prompts, include_query: bool = False) -> Network:
    z, loss = prompts.label, hinge()
    return gradient(network, signs, prompts, lambda outputs: z * loss.slope(z * outputs), include_query)


@functools.partial(jax.jit, static_argnames="include_query", **FAST)
@functools.partial(jax.grad, argnums=0)
def automatic(network: Network, signs: Any, prompts: Prompts, include_query: bool = False) -> Any:
    outputs = run_forward(network, signs, prompts, include_query).output
    return jnp.mean(jnp.maximum(0.0, 1 - prompts.label * outputs))


def assert_networks(actual: Network, expected: Network, tolerance: float) -> None:
    for name, one, two in zip(Network._fields, actual, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance * np.abs(two).max(), err_msg=name)


# Forward pass


def test_the_hand_example_has_its_attention_value_hidden_layer_output_and_loss() -> None:
    first = np.array([[1.0, 0, 0], [0, 1, 0]])
    network = Network(np.array([[1.0, 0, 1], [0, 1, -1]]), np.eye(3), first, first)
    prompts = make_prompts(np.array([[[1, 0.2, 1], [0, 1, -1]]]), np.array([[1, -0.4, 0]]))
    found = run(network, np.array([0.5, -0.5]), prompts)
    np.testing.assert_allclose(found.attention[0][0, 0], [0.78918, 0.21082], atol=5e-6)
    np.testing.assert_allclose(found.mixed[0, 0], [0.789182, 0.368655, 0.578363], atol=1e-6)
    np.testing.assert_allclose(found.hidden[0, 0], [1.367545, -0.209709], atol=1e-6)
    np.testing.assert_allclose(found.output, [0.683773], atol=1e-6)
    assert score(found, prompts)["hinge"] == pytest.approx(0.316227, abs=1e-6)
    np.testing.assert_allclose(neurons(network), network.output, rtol=0)


@pytest.mark.parametrize("include_query", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_outputs_and_gradients_equal_the_formulas_and_autodiff(heads: int, include_query: bool) -> None:
    active = []
    for seed in range(6):
        case = Case(seed, heads)
        inputs = (case.network, case.signs, case.prompts)
        references = case.references(include_query)
        found = run(*inputs, include_query=include_query)
        np.testing.assert_allclose(found.output, [one.output for one in references], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(found.hidden[:, 0], [one.hidden for one in references], rtol=1e-10, atol=1e-12)
        mean = jax.tree.map(lambda *parts: sum(parts) / PROMPTS, *(one.gradient for one in references))
        d = closed(*inputs, include_query=include_query)
        assert_networks(d, mean, 1e-10)
        assert_networks(d, automatic(*inputs, include_query=include_query), 1e-10)
        active += [z * one.output < 1 for z, one in zip(case.prompts.label, references, strict=True)]
    assert 0 < np.mean(active) < 1, "prompts with and without hinge loss must both occur"


def test_heads_are_concatenated_before_the_output_matrix() -> None:
    case = Case(3, heads=2)
    one, two = (Network(*(np.asarray(leaf)[head] for leaf in case.network)) for head in range(2))
    parts = [(run(head, case.signs, case.prompts), head) for head in (one, two)]
    wide = np.concatenate([one.output, two.output], axis=1)
    values = np.concatenate([np.asarray(part.mixed[:, 0]) @ head.value.T for part, head in parts], axis=1)
    found = run(case.network, case.signs, case.prompts)
    np.testing.assert_allclose(found.hidden[:, 0], values @ wide.T, rtol=1e-11, atol=1e-12)
    rows = np.concatenate([one.output @ one.value, two.output @ two.value], axis=1)
    np.testing.assert_allclose(neurons(case.network), rows)


def test_attention_is_measured_by_head_and_over_the_contexts_alone() -> None:
    case = Case(4, heads=2)
    target = (np.arange(CONTEXTS) % 2 == 0) * np.ones((PROMPTS, 1))
    for include_query in (False, True):
        found = run(case.network, case.signs, case.prompts, include_query=include_query)
        on = np.asarray(on_contexts(found, target))
        for n, one in enumerate(case.references()):
            kept = case.prompts.weight[n] > 0
            expected = [np.sum(w * target[n, kept]) for w in one.attention]
            np.testing.assert_allclose(on[:, n], expected, rtol=1e-10)


# Symmetries


def test_the_order_of_the_contexts_does_not_matter() -> None:
    case = Case(5)
    order = case.rng.permutation(CONTEXTS)
    moved = case.prompts._replace(contexts=case.prompts.contexts[:, order], weight=case.prompts.weight[:, order])
    for include_query in (False, True):
        one, two = (run(case.network, case.signs, p, include_query=include_query).output for p in (case.prompts, moved))
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_contexts_that_are_all_doubled_change_nothing_unless_the_query_is_a_key() -> None:
    case = Case(6)
    twice = make_prompts(
        np.tile(case.prompts.contexts, (1, 2, 1)), case.prompts.query, np.tile(case.prompts.weight, (1, 2))
    )
    one, two = (run(case.network, case.signs, p).output for p in (case.prompts, twice))
    np.testing.assert_allclose(one, two, rtol=1e-12)
    one, two = (run(case.network, case.signs, p, include_query=True).output for p in (case.prompts, twice))
    assert np.max(np.abs(one - two)) > 1e-2


def test_the_negative_output_layer_gives_the_negative_output() -> None:
    case = Case(7)
    one, two = (run(case.network, signs, case.prompts).output for signs in (case.signs, -case.signs))
    assert np.min(np.abs(one)) > 1e-3
    np.testing.assert_array_equal(one, -two)


def test_zero_queries_attend_to_all_contexts_alike() -> None:
    case = Case(8)
    network = case.network._replace(query=np.zeros((KEY, WIDTH)))
    weight = case.prompts.weight
    uniform = weight / weight.sum(axis=1, keepdims=True)
    found = run(network, case.signs, case.prompts)
    np.testing.assert_allclose(found.attention[0][:, 0], uniform, rtol=1e-14)
    np.testing.assert_array_equal(closed(network, case.signs, case.prompts).key, 0)
    assert np.max(np.abs(closed(network, case.signs, case.prompts).query)) > 1e-3


def test_room_that_is_not_used_is_not_seen() -> None:
    case = Case(9)
    unused = case.prompts.weight[..., None] == 0
    assert unused.any()
    other = case.prompts._replace(contexts=np.where(unused, 100.0, case.prompts.contexts))
    assert_networks(closed(case.network, case.signs, other), closed(case.network, case.signs, case.prompts), 0.0)
    found = [run(case.network, case.signs, p) for p in (case.prompts, other)]
    np.testing.assert_array_equal(found[0].output, found[1].output)
    np.testing.assert_array_equal(found[0].attention[0][:, 0][unused[..., 0]], 0)


@pytest.mark.parametrize("heads", [1, 2])
def test_a_single_context_gives_no_gradient_to_keys_and_queries(heads: int) -> None:
    case = Case(10, heads)
    only = case.prompts._replace(weight=np.eye(CONTEXTS)[np.full(PROMPTS, 2)])
    d = closed(case.network, case.signs, only)
    np.testing.assert_array_equal(d.key, 0)
    np.testing.assert_array_equal(d.query, 0)
    assert np.max(np.abs(d.value)) > 1e-3


# Initialisation


def start(setting: Setting, seed: int = 0) -> tuple[Network, np.ndarray]:
    return jax.device_get(initialise(setting.problem(), jax.random.key(seed)))


def rectangle(rows: int, columns: int, ones: int, value: float) -> np.ndarray:
    matrix = np.zeros((rows, columns))
    for i in range(ones):
        matrix[i, i] = value
    return matrix


def test_initial_maps_are_delta_on_the_diagonal_and_of_keys_and_queries_on_the_features_only() -> None:
    network, _ = start(SMALL.replace(initial_scale=0.2))
    np.testing.assert_array_equal(network.value, rectangle(12, 12, 12, 0.2))
    np.testing.assert_array_equal(network.key, rectangle(12, 12, 10, 0.2))
    np.testing.assert_array_equal(network.query, rectangle(12, 12, 10, 0.2))
    narrow, _ = start(SMALL.replace(key_width=7, value_width=15))
    np.testing.assert_array_equal(narrow.value, rectangle(15, 12, 12, 0.1))
    np.testing.assert_array_equal(narrow.key, rectangle(7, 12, 7, 0.1))
    np.testing.assert_array_equal(narrow.query, narrow.key)
    assert narrow.output.shape == (12, 15)


def test_initial_output_weights_are_gaussian_of_variance_one_over_m() -> None:
    network, _ = start(SMALL.replace(neurons=96, value_width=50, key_width=7))
    entries = network.output.ravel() * math.sqrt(96)
    assert entries.size == 4800
    assert stats.kstest(entries, "norm").pvalue > 1e-4
    assert abs(entries.std() - 1) < 4 / math.sqrt(2 * 4800)


@pytest.mark.parametrize(("scale", "size"), [("1/m", 1 / 96), ("1/sqrt(m)", 1 / math.sqrt(96))])
def test_the_output_layer_has_fair_signs_of_the_given_size(scale: str, size: float) -> None:
    drawn = [start(SMALL.replace(neurons=96, value_width=50, key_width=7, a_scale=scale), s)[1] for s in range(4)]
    signs = np.concatenate(drawn) / size
    np.testing.assert_allclose(np.abs(signs), 1, rtol=1e-12)
    assert stats.binomtest(int(np.sum(signs > 0)), signs.size).pvalue > 1e-4
    assert len({tuple(one > 0) for one in drawn}) == 4


def test_heads_start_equal_but_for_their_blocks_of_the_output_matrix() -> None:
    single, signs = start(SMALL)
    network, same = start(SMALL.replace(heads=2))
    np.testing.assert_array_equal(signs, same)
    for name in ("value", "key", "query"):
        np.testing.assert_array_equal(getattr(network, name), [getattr(single, name)] * 2)
    assert abs(np.corrcoef(network.output[0].ravel(), network.output[1].ravel())[0, 1]) < 4 / 12
    equal, _ = start(SMALL.replace(heads=2, equal_heads=True))
    np.testing.assert_array_equal(equal.output[0], equal.output[1])
    assert equal.output.shape == (2, 12, 12)


def eight_of_twenty(amplitude: float) -> Prompts:
    """Prompts with eight contexts of the query's pattern among twenty, in any order, with canonical patterns."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, 6, 30)
    pattern = np.stack([rng.permutation([j] * 8 + rng.choice(np.delete(np.arange(6), j), 12).tolist()) for j in query])

    def inputs(index: np.ndarray) -> np.ndarray:
        kappa = amplitude * rng.uniform(-1, 1, (*index.shape, 1))
        return 3 * np.eye(12)[index] + 3 * kappa * np.eye(12)[rng.integers(6, 10, index.shape)]

    contexts, asked = inputs(pattern), inputs(query)
    contexts[..., 10] = rng.choice([-1.0, 1.0], pattern.shape)
    return make_prompts(contexts, asked)._replace(pattern=pattern, query_pattern=query)


@pytest.mark.parametrize(("delta", "value"), [(0.2, 0.48864), (0.1, 0.42178)])
def test_eight_matches_among_twenty_contexts_have_their_initial_concentration(delta: float, value: float) -> None:
    setting = SMALL.replace(initial_scale=delta)
    prompts = eight_of_twenty(0.0)
    found = run(*start(setting), prompts)
    np.testing.assert_allclose(on_contexts(found, prompts.matches() * 1.0)[0], value, atol=5e-6)
    growth = math.exp(delta**2 * 9)
    np.testing.assert_allclose(
        on_contexts(found, prompts.matches() * 1.0)[0], 8 * growth / (8 * growth + 12), rtol=1e-12
    )
    assert score(found, prompts)["concentration"][0] == pytest.approx(value, abs=5e-6)


def test_initial_logits_add_coinciding_irrelevant_patterns() -> None:
    setting = SMALL.replace(initial_scale=0.2)
    prompts = eight_of_twenty(0.5)
    found = run(*start(setting), prompts)
    nu, nu_query = prompts.contexts[..., 6:10] / 3, prompts.query[:, 6:10] / 3
    logits = 0.36 * (prompts.matches() + np.einsum("nlk,nk->nl", nu, nu_query))
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.attention[0][:, 0], expected, rtol=1e-10)
    assert np.std(expected[prompts.matches()]) > 1e-4
