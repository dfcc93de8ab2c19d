"""The one-layer transformer (3.1, 3.2) and its neurons (5.4, 5.5, 3.6): numbers by hand, gradients, symmetries.

Oracles are NumPy loops in float64, written from the specification: heads are concatenated before one wide W_O, prompts
and contexts are gone through one by one, and pruned neurons are deleted rows.
"""

# NumPy arrays go where JAX arrays are declared, and the other way round
# pyright: reportArgumentType=false

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network, Pass
from lemmata.theories.icl.data import Patterns, Prompts, World
from lemmata.theories.icl.network import attention_on, gradient, initialise, neurons, run_forward
from lemmata.theories.icl.neurons import (
    ORDERS,
    RATES,
    find_lucky,
    lucky_activity,
    neuron_blocks,
    otsu,
    prune,
    prune_order,
)
from lemmata.theories.icl.probes import scores
from lemmata.theories.icl.setting import Setting

PROMPTS, CONTEXTS, FEATURES, LABELS, KEY, VALUE, NEURONS = 5, 6, 3, 2, 3, 4, 7
WIDTH = FEATURES + LABELS
FAST: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
SMALL = Setting(
    dimension=10, patterns=6, irrelevant=4, label_dimension=2, neurons=12, key_width=12, value_width=12,
    basis="canonical",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Reference(NamedTuple):
    """One prompt as the specification reads: F, the attention and the gradients of the hinge loss."""

    output: float
    attention: list[np.ndarray]
    hidden: np.ndarray
    gradient: Network


def by_hand(network: Network, a: np.ndarray, p: np.ndarray, query: np.ndarray, z: float = 1.0) -> Reference:
    """p: the tokens that are attended to, one per row. Several heads: one W_O of width H m_b on their concatenation."""
    leaves = [np.asarray(leaf, float) for leaf in network]
    w_o, w_v, w_k, w_q = (leaf if leaf.ndim == 3 else leaf[None] for leaf in leaves)
    wide, heads = np.concatenate(list(w_o), axis=1), len(w_o)
    attention, means = [], []
    for k, q in zip(w_k, w_q, strict=True):
        mass = np.array([math.exp((k @ token) @ (q @ query)) for token in p])
        attention.append(mass / mass.sum())
        means.append(sum(weight * token for weight, token in zip(attention[-1], p, strict=True)))
    v = np.concatenate([value @ mean for value, mean in zip(w_v, means, strict=True)])
    hidden = wide @ v
    output = float(sum(s * max(h, 0.0) for s, h in zip(a, hidden, strict=True)))
    c = -z if z * output < 1 else 0.0
    gate = a * (hidden > 0)
    d_wide = c * np.outer(gate, v)
    d = [np.split(d_wide, heads, axis=1), [], [], []]
    for head, g in enumerate(np.split(wide.T @ gate, heads)):
        u = [g @ w_v[head] @ token for token in p]
        w = sum(s * score * (token - means[head]) for s, score, token in zip(attention[head], u, p, strict=True))
        d[1].append(c * np.outer(g, means[head]))
        d[2].append(c * np.outer(w_q[head] @ query, w))
        d[3].append(c * np.outer(w_k[head] @ w, query))
    flat = [np.stack(parts) if leaves[0].ndim == 3 else parts[0] for parts in d]
    return Reference(output, attention, hidden, Network(*flat))


def make_prompts(contexts: Any, query: Any, weight: Any = None, label: Any = None) -> Prompts:
    """Prompts of which only the tokens matter."""
    count, length, _ = contexts.shape
    none = np.zeros((count, length), int)
    weight = np.ones((count, length)) if weight is None else weight
    label = np.ones(count) if label is None else label
    return Prompts(contexts, query, weight, label, none, none[:, 0], np.zeros((count, length)), np.zeros((count, 2)))


class Case:
    """A random network and random prompts, some contexts of which are not used."""

    def __init__(self, seed: int, heads: int = 1, masked: bool = True, value: int = VALUE) -> None:
        self.rng = rng = np.random.default_rng(seed)
        leading = (heads,) if heads > 1 else ()
        shapes = ((NEURONS, value), (value, WIDTH), (KEY, WIDTH), (KEY, WIDTH))
        self.network = Network(*(rng.normal(size=leading + shape) / math.sqrt(shape[1]) for shape in shapes))
        self.signs = rng.choice([-1.0, 1.0], NEURONS) / 2
        weight = np.ones((PROMPTS, CONTEXTS))
        if masked:
            weight = rng.choice([0.0, 1.0, 1.0], (PROMPTS, CONTEXTS))
            weight[:, 2] = 1.0
        query = rng.normal(size=(PROMPTS, WIDTH))
        query[:, FEATURES:] = 0
        label = rng.choice([-1.0, 1.0], PROMPTS)
        self.prompts = make_prompts(2 * rng.normal(size=(PROMPTS, CONTEXTS, WIDTH)), query, weight, label)

    def references(self, include_query: bool = False) -> list[Reference]:
        found = []
        for p, query, weight, z, *_ in zip(*self.prompts, strict=True):
            kept = p[weight > 0]
            tokens = np.concatenate([kept, query[None]]) if include_query else kept
            found.append(by_hand(self.network, self.signs, tokens, query, z))
        return found


run = jax.jit(run_forward, static_argnames="include_query", **FAST)
score = jax.jit(scores, **FAST)
on_contexts = jax.jit(attention_on, **FAST)


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


# Scores


def test_scores_count_an_output_of_zero_as_an_error_and_separate_prompts_without_a_match() -> None:
    case = Case(11)
    pattern = np.zeros((PROMPTS, CONTEXTS), int)
    pattern[1:3] = 1
    prompts = case.prompts._replace(pattern=pattern, weight=np.ones((PROMPTS, CONTEXTS)), label=np.ones(PROMPTS))
    found: Pass = run(case.network, case.signs, prompts)
    found = found._replace(output=jnp.array([0.0, 2.0, -1.0, 0.5, 3.0]))
    result = score(found, prompts)
    assert result["error"] == pytest.approx(2 / 5)
    assert result["hinge"] == pytest.approx((1 + 0 + 2 + 0.5 + 0) / 5)
    assert result["margin"] == pytest.approx(4.5 / 5)
    assert result["no_match"] == pytest.approx(2 / 5)
    assert result["error_match"] == pytest.approx(1 / 3)
    assert result["error_no_match"] == pytest.approx(1 / 2)
    assert result["concentration"][0] == pytest.approx(1)


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
