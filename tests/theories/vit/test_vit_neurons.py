"""Single neurons and feature coordinates (probes 5.5 to 5.9): brute force over neurons, samples and tokens in NumPy."""

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.networks.shallow import Network, Pass, gradient, products, run_forward
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import Features, draw_signs, initialise
from lemmata.theories.vit.neurons import (
    Lucky,
    class_displacement,
    find_lucky,
    member_cosines,
    neuron_probe,
    single_fractions,
)
from lemmata.theories.vit.probes import feature_coordinates
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import HALVES, Watched, simulate, train

CAPACITY, USED, TOKENS, DIMENSION, PATTERNS, VALUE, KEY, NEURONS = 6, 4, 7, 6, 4, 5, 4, 24


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Case:
    """Random data of which the last two samples are unused and some tokens masked, and a random network.

    Training labels differ from the true ones; the lucky sets are random sets of neurons of their sign.
    """

    def __init__(self, seed: int, heads: int = 0, skip: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.skip = skip
        wide = DIMENSION if skip else VALUE
        leading = (heads,) if heads else ()
        shapes = ((NEURONS, wide), (wide, DIMENSION), (KEY, DIMENSION), (KEY, DIMENSION))
        self.network = Network(*(rng.normal(size=leading + shape) / math.sqrt(shape[1]) for shape in shapes))
        frame = lambda rows: np.linalg.qr(rng.normal(size=(*leading, rows, PATTERNS)))[0]  # noqa: E731
        self.features = Features(frame(wide), frame(KEY), frame(KEY))
        self.basis = np.linalg.qr(rng.normal(size=(DIMENSION, PATTERNS)))[0]
        self.signs = rng.choice([-1.0, 1.0], NEURONS) / math.sqrt(NEURONS)
        vote = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
        pattern = rng.permuted(np.tile([0, 0, 1, 1, 2, 3, 3], (CAPACITY, 1)), axis=1)
        tokens = self.basis.T[pattern] + 0.3 * rng.normal(size=(CAPACITY, TOKENS, DIMENSION))
        weight = rng.choice([0.0, 1.0, 1.0, 1.0], (CAPACITY, TOKENS))
        for n in range(CAPACITY):  # a kept relevant token in every sample
            weight[n, np.argmax(pattern[n] == (vote[n] < 0))] = 1.0
        label = vote * np.array([1, -1, -1, 1, -1, 1])
        self.data = Data(tokens, label, vote, pattern, weight, np.zeros((CAPACITY, TOKENS)))
        self.weight = np.where(np.arange(CAPACITY) < USED, 1 / USED, 0.0)
        self.unsolved = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
        sign = np.stack([self.signs > 0, self.signs < 0])
        draws = rng.random((2, 2, NEURONS)) < 0.5
        self.lucky = Lucky(draws[0], draws[0] & sign, draws[1] & sign)

    def probe(self) -> dict[str, np.ndarray]:
        fields = ("network", "features", "basis", "signs", "data", "weight", "unsolved", "lucky")
        return jax.device_get(probed(*(getattr(self, field) for field in fields), skip=self.skip))


@functools.partial(jax.jit, static_argnames="skip")
def probed(
    network: Network,
    features: Features,
    basis: Any,
    signs: Any,
    data: Data,
    weight: Any,
    unsolved: Any,
    lucky: Lucky,
    skip: bool = False,
) -> dict[str, Any]:
    run = run_forward(products(network, skip), signs, data.tokens, data.weight, skip)
    return neuron_probe(run, network, features, basis, signs, data, weight, unsolved, lucky)


def heads_of(network: Network) -> list[tuple[np.ndarray, ...]]:
    matrices = [np.asarray(w) for w in network]
    return list(zip(*(w if w.ndim == 3 else w[None] for w in matrices), strict=True))


def pooled_and_hidden(network: Network, x: np.ndarray, query: np.ndarray, skip: bool) -> tuple[np.ndarray, np.ndarray]:
    """X w_l of a query, averaged over the heads, and the hidden layer before its ReLU."""
    pooled, hidden = [], 0.0
    for w_o, w_v, w_k, w_q in heads_of(network):
        mass = np.exp(x @ w_k.T @ w_q @ query)
        pooled.append(mass @ x / mass.sum())
        hidden = hidden + w_o @ (w_v @ pooled[-1] + (query if skip else 0.0))
    return np.mean(pooled, axis=0), np.asarray(hidden)


def brute_force(
    network: Network,
    features: Features,
    basis: np.ndarray,
    signs: np.ndarray,
    data: Data,
    used: int,
    unsolved: np.ndarray,
    lucky: Lucky,
    skip: bool = False,
) -> dict[str, np.ndarray]:
    """Probes 5.7 and 5.8 as the paper words them: means over lists of neurons, samples and kept tokens."""
    m, k_heads = len(signs), len(heads_of(network))
    rows = [np.concatenate([head[0][i] for head in heads_of(network)]) for i in range(m)]
    frames = features.value if features.value.ndim == 3 else features.value[None]
    directions = [np.concatenate([p[:, j] for p in frames]) / math.sqrt(k_heads) for j in range(basis.shape[1])]
    plus, minus = (set(np.flatnonzero(mask)) for mask in lucky.signed)
    groups = [sorted(plus), sorted(minus), sorted(set(range(m)) - plus - minus)]
    halves = [np.flatnonzero(mask) for mask in lucky.halves]

    growth = np.zeros((2, m))
    firing: list[list[np.ndarray]] = [[], []]
    outputs: list[list[np.ndarray]] = [[], []]
    has_loss: list[list[float]] = [[], []]
    for n in range(used):
        kept = np.flatnonzero(data.weight[n])
        x = data.tokens[n, kept]
        side = 0 if data.vote[n] > 0 else 1
        added = np.zeros(m)
        for position, query in zip(kept, x, strict=True):
            pooled, hidden = pooled_and_hidden(network, x, query, skip)
            if data.pattern[n, position] == side:
                firing[side].append(hidden > 0)
            added += np.abs(signs) * np.maximum(hidden, 0) / len(kept)
            for k in range(2):
                push = -data.label[n] * unsolved[n] * signs * (hidden > 0) * (pooled @ basis[:, k])
                growth[k] += push / len(kept) / used
        outputs[side].append(added)
        has_loss[side].append(unsolved[n])
    cosine = lambda i, j: rows[i] @ directions[j] / np.linalg.norm(rows[i])  # noqa: E731
    persisting = lambda who, side: np.mean([active[i] for active in firing[side] for i in who])  # noqa: E731
    return {
        "alignment": np.array([np.mean([cosine(i, j) for i in groups[j]]) for j in range(2)]),
        "component": np.array([[np.mean([abs(rows[i] @ p) for i in g]) for p in directions] for g in groups]),
        "square_norm": np.array([np.mean([rows[i] @ rows[i] for i in g]) for g in groups]),
        "persistence": np.array(
            [persisting(who, side) for who, side in zip((*groups[:2], *halves), (0, 1, 0, 1), strict=True)]
        ),
        "value_growth": np.array([[np.mean(growth[k, g]) for k in range(2)] for g in groups]),
        "value_size": np.array([[np.mean(np.abs(growth[k, g])) for k in range(2)] for g in groups]),
        "group_output": np.array([[np.mean([o[g].sum() for o in outputs[k]]) for k in range(2)] for g in groups]),
        "unsolved": np.array([np.mean(has_loss[k]) for k in range(2)]),
    }


# Lucky sets


def random_pass(seed: int, share_active: float = 0.93) -> tuple[Pass, Case]:
    """A pass of which only the hidden layer matters: every neuron is active on most tokens."""
    case = Case(seed)
    rng = np.random.default_rng(seed)
    hidden = np.where(rng.random((CAPACITY, TOKENS, NEURONS)) < share_active, 1.0, -1.0)
    hidden[0, 0, 0] = 0.0  # exactly zero is not active
    nothing = np.zeros(0)
    return Pass([], nothing, jnp.asarray(hidden), *[nothing] * 5), case  # pyright: ignore


def active_neurons(run: Pass, case: Case, side: int, samples: int, masked: bool) -> set[int]:
    """Neurons active on all relevant tokens of the class, by loops; optionally on the masked ones too."""
    found = set(range(NEURONS))
    for n in range(samples):
        for l in range(TOKENS):  # noqa: E741
            own = case.data.vote[n] == (1, -1)[side] and case.data.pattern[n, l] == side
            if own and (masked or case.data.weight[n, l] > 0):
                found &= set(np.flatnonzero(run.hidden[n, l] > 0))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_lucky_neurons_are_active_on_every_kept_relevant_token_of_the_used_samples(seed: int) -> None:
    run, case = random_pass(seed)
    lucky = find_lucky(run, case.signs, case.data, case.weight, jax.random.key(seed))
    for side, sign in ((0, case.signs > 0), (1, case.signs < 0)):
        expected = active_neurons(run, case, side, USED, masked=False)
        assert set(np.flatnonzero(lucky.unsigned[side])) == expected
        assert set(np.flatnonzero(lucky.signed[side])) == expected & set(np.flatnonzero(sign))
        assert 0 < len(expected) < NEURONS
    groups = np.asarray(lucky.groups())
    np.testing.assert_array_equal(groups.sum(0), 1)
    np.testing.assert_array_equal(groups[:2], lucky.signed)


def test_unused_samples_and_masked_tokens_would_change_the_lucky_sets() -> None:
    """Without this the test above could not tell them apart."""
    changed = {"samples": 0, "tokens": 0}
    for seed in range(4):
        run, case = random_pass(seed)
        for side in range(2):
            right = active_neurons(run, case, side, USED, masked=False)
            changed["samples"] += right != active_neurons(run, case, side, CAPACITY, masked=False)
            changed["tokens"] += right != active_neurons(run, case, side, USED, masked=True)
    assert min(changed.values()) >= 4


def test_a_random_half_has_half_the_neurons_of_its_sign() -> None:
    run, case = random_pass(0)
    signs = np.where(np.arange(NEURONS) < 9, 1.0, -1.0) / math.sqrt(NEURONS)
    seen = []
    for seed in range(6):
        halves = np.asarray(find_lucky(run, signs, case.data, case.weight, jax.random.key(seed)).halves)
        assert list(halves.sum(1)) == [5, 8]
        assert not np.any(halves[0] & (signs < 0))
        assert not np.any(halves[1] & (signs > 0))
        seen.append(tuple(halves.any(0)))
    assert len(set(seen)) == 6, "another key, another half"
    one_sign = find_lucky(run, np.abs(signs), case.data, case.weight, jax.random.key(0)).halves
    assert list(np.sum(one_sign, axis=1)) == [12, 0]


@pytest.mark.parametrize("seed", range(3))
def test_single_fractions_read_the_first_kept_relevant_token_of_each_class(seed: int) -> None:
    run, case = random_pass(seed, share_active=0.5)
    unsigned, signed = single_fractions(run, case.signs, case.data)
    for side, n in ((0, 0), (1, 1)):
        kept = case.data.weight[n] > 0
        position = np.flatnonzero((case.data.pattern[n] == side) & kept)[0]
        active = np.asarray(run.hidden[n, position] > 0)
        sign = case.signs > 0 if side == 0 else case.signs < 0
        assert unsigned[side] == pytest.approx(np.mean(active), rel=1e-12)
        assert signed[side] == pytest.approx(np.mean(active & sign), rel=1e-12)


# The probe of a network


CASES = {"plain": {}, "skip": {"skip": True}, "two heads": {"heads": 2}}


@pytest.mark.parametrize("name", CASES)
def test_every_output_of_the_neuron_probe_equals_brute_force(name: str) -> None:
    for seed in range(3):
        case = Case(seed, **CASES[name])
        found = case.probe()
        expected = brute_force(
            case.network, case.features, case.basis, case.signs, case.data, USED, case.unsolved, case.lucky, case.skip
        )
        assert found.keys() == expected.keys()
        for output, value in expected.items():
            assert np.all(np.isfinite(value)), output
            np.testing.assert_allclose(found[output], value, rtol=1e-11, atol=1e-13, err_msg=output)
        assert np.all((found["persistence"][[0, 1, 3]] > 0) & (found["persistence"][[0, 1, 3]] < 1))


def test_an_empty_group_is_absent_and_leaves_the_others() -> None:
    case = Case(0)
    full = case.probe()
    none = np.stack([np.zeros(NEURONS, bool), np.asarray(case.lucky.signed[1])])
    case.lucky = case.lucky._replace(signed=none)
    found = case.probe()
    for name in ("alignment", "component", "square_norm", "persistence", "value_growth", "value_size"):
        assert np.all(np.isnan(found[name][0])), name
        np.testing.assert_allclose(found[name][1], full[name][1], rtol=1e-12, err_msg=name)
    np.testing.assert_array_equal(found["group_output"][0], 0)
    np.testing.assert_allclose(found["group_output"].sum(0), full["group_output"].sum(0), rtol=1e-12)


def test_a_class_without_samples_is_absent_and_leaves_the_other() -> None:
    case = Case(0)
    full = case.probe()
    case.weight = np.where(np.arange(CAPACITY) == 0, 1.0, 0.0)
    found = case.probe()
    assert np.isnan(found["unsolved"][1])
    assert np.all(np.isnan(found["persistence"][[1, 3]]))
    assert np.all(np.isnan(found["group_output"][:, 1]))
    assert found["unsolved"][0] == 1
    assert np.all(np.isfinite(found["group_output"][:, 0]))
    np.testing.assert_allclose(found["component"], full["component"], rtol=1e-12)


def test_the_outputs_of_the_groups_add_up_to_the_whole_hidden_layer() -> None:
    case = Case(1)
    run = run_forward(products(case.network), case.signs, case.data.tokens, case.data.weight)
    fired = np.maximum(run.hidden, 0) * np.abs(case.signs)
    whole = np.einsum("nl,nli->n", run.share, fired)
    expected = [whole[:USED][case.data.vote[:USED] == y].mean() for y in (1, -1)]
    np.testing.assert_allclose(case.probe()["group_output"].sum(0), expected, rtol=1e-12)


@pytest.mark.parametrize("skip", [False, True])
def test_values_grow_by_the_coefficients_of_the_neurons(skip: bool) -> None:
    """(A.176): minus the gradient of the loss with respect to W_V, applied to mu_k, is -sum_i V_i^(k) W_O,i."""
    case = Case(10, skip=skip)
    y, x, c = case.data.label, case.data.tokens, case.data.weight

    @jax.jit
    def both(network: Network) -> tuple[Any, Any]:
        loss_slope = lambda outputs: jnp.where(y * outputs < 1, -y, 0.0) * case.weight  # noqa: E731
        d = gradient(network, case.signs, x, c, loss_slope, skip)
        run = run_forward(products(network, skip), case.signs, x, c, skip)
        unsolved = (y * run.output < 1) * 1.0

        def coefficient(one: Any) -> Any:
            alone = Lucky(*(jnp.stack([one, jnp.zeros_like(one)]) for _ in range(3)))
            rest = (case.basis, case.signs, case.data, case.weight, unsolved, alone)
            return neuron_probe(run, network, case.features, *rest)["value_growth"][0]

        return d.value, jax.vmap(coefficient)(jnp.eye(NEURONS, dtype=bool)), unsolved

    d_value, coefficients, unsolved = jax.device_get(both(case.network._replace(output=20 * case.network.output)))
    assert 0 < np.sum(unsolved[:USED]) < USED, "samples with and without loss must both occur"
    for k in range(2):
        expected = -sum(v * w for v, w in zip(coefficients[:, k], 20 * case.network.output, strict=True))
        np.testing.assert_allclose(-d_value @ case.basis[:, k], expected, rtol=1e-11, atol=1e-13)
    assert np.max(np.abs(coefficients)) > 1e-2


def test_heads_that_attend_alike_grow_their_values_by_the_same_coefficients() -> None:
    case = Case(4, heads=2)
    output, value, key, query = case.network
    case.network = Network(output, value, np.stack([key[0]] * 2), np.stack([query[0]] * 2))
    wide = Case(4, heads=2)
    wide.network = Network(np.concatenate(list(output), axis=1), np.concatenate(list(value)), key[0], query[0])
    wide.features = Features(
        np.concatenate(list(case.features.value)) / math.sqrt(2), case.features.key[0], case.features.query[0]
    )
    found, expected = case.probe(), wide.probe()
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-14, err_msg=name)


# Displacements


@pytest.mark.parametrize("outputs", [2, 3])
def test_the_displacement_of_a_class_is_that_of_the_neurons_whose_signs_name_it(outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    neurons, classes = 40, 2**outputs
    before, after = (Network(rng.normal(size=(neurons, 9)), *np.zeros((3, 1, 1))) for _ in range(2))
    p = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    signs = rng.choice([-1.0, 1.0], (outputs, 1, neurons)) / math.sqrt(neurons)
    found = class_displacement(before, after, Features(p, p, p), signs)
    assert found.shape == (classes, classes)
    code = [[1 - 2 * int(bit) for bit in f"{own:0{outputs}b}"] for own in range(classes)]
    for own in range(classes):
        rows = [i for i in range(neurons) if list(np.sign(signs[:, 0, i])) == code[own]]
        for k in range(classes):
            expected = np.mean([(after.output[i] - before.output[i]) @ p[:, k] for i in rows])
            assert found[own, k] == pytest.approx(expected, rel=1e-11)


def test_cosines_of_displacements_on_members_of_one_set_and_of_two() -> None:
    rng = np.random.default_rng(0)
    before, after = (Network(*np.zeros((3, 1, 1)), rng.normal(size=(4, 6))) for _ in range(2))
    members = rng.normal(size=(6, 3, 2))
    moved = after.query - before.query
    one, same, other = (moved @ members[:, set_, b] for set_, b in ((0, 0), (0, 1), (1, 0)))
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    np.testing.assert_allclose(
        member_cosines(before, after, members), [cosine(one, same), cosine(one, other)], rtol=1e-12
    )
    np.testing.assert_array_equal(member_cosines(before, before, members), [0, 0])


# Feature coordinates


@pytest.mark.parametrize("skip", [False, True])
def test_feature_coordinates_are_the_maps_between_patterns_and_features(skip: bool) -> None:
    case = Case(5, skip=skip)
    found = feature_coordinates(case.network, case.features, case.basis, skip)
    _, w_v, w_k, w_q = case.network
    for j in range(PATTERNS):
        mu = case.basis[:, j]
        seen = w_v @ mu + (mu if skip else 0.0)
        for i in range(PATTERNS):
            q, p = case.features.key[:, i], case.features.value[:, i]
            assert found["query_features"][i, j] == pytest.approx(q @ w_q @ mu, rel=1e-11)
            assert found["key_features"][i, j] == pytest.approx(q @ w_k @ mu, rel=1e-11)
            assert found["value_features"][i, j] == pytest.approx(p @ seen, rel=1e-11)
            logit = (w_k @ case.basis[:, i]) @ (w_q @ mu)
            assert found["pattern_logits"][i, j] == pytest.approx(logit, rel=1e-11)


def test_feature_coordinates_of_several_heads_are_their_mean() -> None:
    case = Case(6, heads=2)
    found = feature_coordinates(case.network, case.features, case.basis)
    one_head = lambda h: (Network(*(w[h] for w in case.network)), Features(*(f[h] for f in case.features)))  # noqa: E731
    each = [feature_coordinates(*one_head(h), case.basis) for h in range(2)]
    for name, matrix in found.items():
        np.testing.assert_allclose(matrix, (each[0][name] + each[1][name]) / 2, rtol=1e-12, atol=1e-14)


# Along training


TRAINED = Setting(
    tokens=10, neurons=16, samples=9, test_samples=16, steps=60, records=61, track="neurons", stop="never",
    output_scale=0.1, step_size=0.5,
)  # fmt: skip
"""Nine samples have room for eleven; zero training loss comes within the 60 steps."""
RUNS = {
    "heads": TRAINED.replace(heads=2, step_size=0.3),
    "skip": TRAINED.replace(skip=True),
}
SPARSIFIED = TRAINED.replace(keep=0.7, strategy="attention", output="per_token", step_size=2.0, label_order="shuffled")
runs = pytest.mark.parametrize("name", RUNS)


@functools.cache
def simulated(setting: Setting) -> dict[str, np.ndarray]:
    with numerics("float64"):
        return jax.device_get(simulate(setting, jax.random.key(0)))


def pieces(setting: Setting) -> tuple[Network, Features, Any, Any, Data, Data]:
    problem, key = setting.problem(), jax.random.key(0)
    basis = draw_patterns(problem, stream(key, "data"))
    data = draw(problem, stream(key, "data"), basis[:, :, None], count=problem.drawn_room)
    test = draw(problem, stream(key, "test"), basis[:, :, None], count=problem.drawn_test_room)
    network, features = initialise(problem, stream(key, "init"), basis)
    return network, features, draw_signs(problem, stream(key, "init")), basis, data, test


def trained(setting: Setting) -> Run:
    network, features, signs, basis, data, test = pieces(setting)
    batch_key = stream(jax.random.key(0), "batch")
    return train(setting.problem(), batch_key, network, signs, data, Watched(test, features, basis))


def initial_lucky(setting: Setting, network: Network, signs: Any, data: Data) -> Lucky:
    """The lucky sets of the initial network by loops, and the package's random halves."""
    sides = []
    for side in range(2):
        found = np.ones(setting.neurons, bool)
        for n in range(setting.samples):
            for l in range(setting.tokens):  # noqa: E741
                if data.vote[n] == (1, -1)[side] and data.pattern[n, l] == side:
                    found &= pooled_and_hidden(network, data.tokens[n], data.tokens[n, l], setting.skip)[1] > 0
        sides.append(found)
    unsigned, sign = np.stack(sides), np.stack([signs > 0, signs < 0])
    marks = np.asarray(
        jax.random.uniform(jax.random.fold_in(stream(jax.random.key(0), "batch"), HALVES), (setting.neurons,))
    )
    halves = np.stack([s & (marks <= np.median(marks[s])) for s in sign])
    return Lucky(unsigned, unsigned & sign, halves)


@runs
def test_the_neuron_path_follows_the_lucky_sets_of_the_initial_network(name: str) -> None:
    setting = RUNS[name]
    result = simulated(setting)
    start, features, signs, basis, data, _ = jax.device_get(pieces(setting))
    lucky = initial_lucky(setting, start, signs, data)
    assert np.all(lucky.signed.any(1))
    for t in (0, 12):
        network = jax.device_get(trained(setting.replace(steps=t)).state.parameters)
        margins = []
        for n in range(setting.samples):
            x = data.tokens[n]
            each = [np.maximum(pooled_and_hidden(network, x, query, setting.skip)[1], 0) @ signs for query in x]
            margins.append(data.label[n] * np.mean(each))
        assert result["margin_mean"][t] == pytest.approx(np.mean(margins), rel=1e-9)
        assert result["margin_least"][t] == pytest.approx(np.min(margins), rel=1e-9)
        unsolved = (np.array(margins) < 1) * 1.0
        expected = brute_force(
            network, features, basis, signs, data, setting.samples, unsolved, lucky, skip=setting.skip
        )
        for output, value in expected.items():
            np.testing.assert_allclose(result[output][t], value, rtol=1e-8, atol=1e-10, err_msg=f"{output} at {t}")


@runs
def test_growth_factors_are_ratios_of_successive_coordinates(name: str) -> None:
    """1 + K(t) = <W_Q(t+1) mu_k, q_k> / <W_Q(t) mu_k, q_k>, and 1 + Q(t) the same with W_K (probe 5.5)."""
    setting = RUNS[name]
    result = simulated(setting)
    _, features, _, basis, _, _ = jax.device_get(pieces(setting))
    now, after = (jax.device_get(trained(setting.replace(steps=t)).state.parameters) for t in (5, 6))
    frames = features.key if features.key.ndim == 3 else features.key[None]

    def coordinate(maps: np.ndarray, k: int) -> float:
        maps = maps if maps.ndim == 3 else maps[None]
        return float(np.mean([(w @ basis[:, k]) @ q[:, k] for w, q in zip(maps, frames, strict=True)]))

    for k in range(2):
        for field, matrix in (("query_features", "query"), ("key_features", "key")):
            factor = coordinate(getattr(after, matrix), k) / coordinate(getattr(now, matrix), k)
            found = result[field][6, k, k] / result[field][5, k, k]
            assert found == pytest.approx(factor, rel=1e-10)
            assert abs(factor - 1) > 1e-6
    arrived = int(result["reached_step"])
    for field in ("query_features", "key_features", "value_features", "pattern_logits"):
        stays = result[field][arrived:]
        np.testing.assert_array_equal(stays, np.broadcast_to(stays[0], stays.shape))


@pytest.mark.parametrize("setting", [*RUNS.values(), SPARSIFIED], ids=[*RUNS, "sparsified"])
def test_the_recorded_test_loss_ends_at_the_evaluated_one_and_gives_its_first_passage(setting: Setting) -> None:
    result = simulated(setting)
    assert result["test_loss"][0] == pytest.approx(result["untrained_test_hinge"], rel=1e-12)
    assert result["test_loss"][-1] == pytest.approx(result["test_hinge"], rel=1e-10, abs=1e-15)
    below = np.flatnonzero(result["test_loss"] < 1e-3)
    assert result["small_test_step"] == (result["step"][below[0]] if below.size else np.inf)
    unsolved = result["margin_least"] < 1
    np.testing.assert_array_equal(unsolved, result["train_loss"] > 0)


def test_a_shared_run_reaches_small_test_loss_and_one_that_does_not_is_never_there() -> None:
    reached, early = simulated(RUNS["skip"]), simulated(RUNS["skip"].replace(steps=5))
    assert 0 < reached["small_test_step"] < 60
    assert early["small_test_step"] == np.inf


def test_signs_per_token_leave_single_neurons_absent_and_nothing_else() -> None:
    result = simulated(SPARSIFIED)
    single = ("alignment", "component", "square_norm", "persistence", "value_growth", "value_size", "group_output")
    for name in (*single, "unsolved"):
        assert np.all(np.isnan(result[name])), name
    for name in ("test_loss", "margin_mean", "margin_least", "query_features", "pattern_logits", "lowest"):
        assert np.all(np.isfinite(result[name])), name


def test_unsolved_shares_average_to_the_share_of_samples_with_loss() -> None:
    """At a step where some but not all samples are solved."""
    setting = RUNS["skip"]
    result = simulated(setting)
    data = jax.device_get(pieces(setting)[4])
    plus = np.mean(data.vote[:9] > 0)
    whole = plus * result["unsolved"][:, 0] + (1 - plus) * result["unsolved"][:, 1]
    assert whole[0] == pytest.approx(1)
    assert whole[-1] == 0
    partly = (whole > 0) & (whole < 1)
    assert np.any(partly)
    np.testing.assert_allclose(whole * 9, np.round(whole * 9), atol=1e-9)
