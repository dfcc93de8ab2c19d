"""Single neurons and feature coordinates (probes 5.5 to 5.9), against brute force in NumPy."""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from vit_neuron_cases import CAPACITY, NEURONS, PATTERNS, TOKENS, USED, Case, brute_force

from lemmata.lab.precision import numerics
from lemmata.networks.shallow import Network, Pass, gradient, products, run_forward
from lemmata.theories.vit.network import Features
from lemmata.theories.vit.neurons import (
    Lucky,
    class_displacement,
    find_lucky,
    member_cosines,
    neuron_probe,
    single_fractions,
)
from lemmata.theories.vit.probes import feature_coordinates


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


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
