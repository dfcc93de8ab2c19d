"""Single neurons and feature coordinates along training, against brute force in NumPy."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from vit_neuron_cases import brute_force, pooled_and_hidden

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.networks.shallow import Network
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import Features, draw_signs, initialise
from lemmata.theories.vit.neurons import (
    Lucky,
)
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import HALVES, Watched, simulate, train


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


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
    data = draw(problem, stream(key, "data"), basis, count=problem.drawn_room)
    test = draw(problem, stream(key, "test"), basis, count=problem.drawn_test_room)
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
