"""What the initial network satisfies: lucky shares, the noise bound and the attention bounds, against NumPy.

Nine samples have room for eleven, so that an average over the room would show.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

from lemmata.lab.errors import UserError
from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import stream
from lemmata.networks.shallow import Network
from lemmata.theories.vit import theory
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import Features, draw_signs, initialise
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.studies.initial import BOUNDS, measure, measure_initial

SMALL = Setting(tokens=10, neurons=16, samples=9, noise_law="ball", noise_radius=0.06, attention_error=0.3)
"""Noise above 0.05 normalises the tokens."""
DOCUMENT, THEOREM, WITHOUT = range(3)


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


@functools.cache
def measured(setting: Setting, seed: int = 0) -> dict[str, np.ndarray]:
    with numerics("float64"):
        return jax.device_get(measure_initial(setting, jax.random.key(seed)))


def pieces(setting: Setting, seed: int = 0) -> tuple[Network, Features, np.ndarray, np.ndarray, Data]:
    problem, key = setting.problem(), jax.random.key(seed)
    basis = draw_patterns(problem, stream(key, "data"))
    data = draw(problem, stream(key, "data"), basis, count=problem.drawn_room)
    network, features = initialise(problem, stream(key, "init"), basis)
    return jax.device_get((network, features, draw_signs(problem, stream(key, "init")), basis, data))


def resized(setting: Setting, **sizes: int) -> Problem:
    """The problem with other static capacities."""
    leaves, (names, static) = setting.problem().tree_flatten()
    return Problem.tree_unflatten((names, tuple((dict(static) | sizes).items())), leaves)


def attention_of(network: Network, x: np.ndarray) -> np.ndarray:
    mass = np.exp(x @ network.query.T @ network.key @ x.T)
    return mass / mass.sum(1, keepdims=True)


# Lucky shares


@pytest.mark.parametrize("seed", range(3))
def test_lucky_shares_equal_loops_over_samples_and_tokens(seed: int) -> None:
    network, _, signs, _, data = pieces(SMALL, seed)
    result = measured(SMALL, seed)
    for side, y in ((0, 1), (1, -1)):
        active, first = np.ones(16, bool), None
        for n in range(9):
            x = data.tokens[n]
            hidden = attention_of(network, x) @ x @ network.value.T @ network.output.T
            for token in range(10):
                if data.vote[n] == y and data.pattern[n, token] == side:
                    active &= hidden[token] > 0
                    first = hidden[token] > 0 if first is None else first
        sign = signs * y > 0
        assert first is not None
        assert result["active_on_one"][side] == pytest.approx(np.mean(first), rel=1e-12)
        assert result["lucky_on_one"][side] == pytest.approx(np.mean(first & sign), rel=1e-12)
        assert result["active_on_all"][side] == pytest.approx(np.mean(active), rel=1e-12)
        assert result["lucky_on_all"][side] == pytest.approx(np.mean(active & sign), rel=1e-12)
        assert result["lucky_on_all"][side] <= result["lucky_on_one"][side] <= result["active_on_one"][side]
    assert result["neurons"] == 16


def test_shifted_output_weights_leave_few_neurons_active_on_the_first_pattern() -> None:
    plain, shifted = (
        np.mean([measured(SMALL.replace(defect=defect), seed)["active_on_one"] for seed in range(4)], axis=0)
        for defect in ("none", "shifted")
    )
    assert plain[0] == pytest.approx(0.5, abs=0.2)
    assert shifted[0] < 0.15


# The response to noise


@pytest.mark.parametrize("seed", range(3))
def test_noise_ratios_equal_their_definition_and_keep_to_cauchy_schwarz(seed: int) -> None:
    network, features, _, basis, data = pieces(SMALL, seed)
    sigma = max(np.linalg.norm(network.value @ basis[:, j] - features.value[:, j]) for j in range(5))
    tau = max(np.linalg.norm(data.tokens[n, t] - basis[:, data.pattern[n, t]]) for n in range(9) for t in range(10))
    norm = np.linalg.norm(network.value, 2)
    with_error, without = [], []
    for n in range(9):
        for token in range(10):
            rest = network.value @ data.tokens[n, token] - features.value[:, data.pattern[n, token]]
            for row in network.output:
                with_error.append(abs(row @ rest) / ((sigma + norm * tau) * np.linalg.norm(row)))
                without.append(abs(row @ rest) / (norm * tau * np.linalg.norm(row)))
    result = measured(SMALL, seed)
    assert result["noise_ratio"] == pytest.approx(max(with_error), rel=1e-10)
    assert result["noise_ratio_without_error"] == pytest.approx(max(without), rel=1e-10)
    assert result["noise_ratio"] <= 1 < result["noise_ratio_without_error"]


# Attention bounds


def bounds_by_hand(setting: Setting, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """conc of every relevant query and its three lower bounds (5.4, V24), one row per query."""
    network, features, _, basis, data = pieces(setting, seed)
    keys, queries = network.key @ basis, network.query @ basis
    delta = max(
        max(np.linalg.norm(keys[:, j] - features.key[:, j]), np.linalg.norm(queries[:, j] - features.query[:, j]))
        for j in range(basis.shape[1])
    )
    tau = setting.noise_radius
    norm = max(np.linalg.norm(network.key, 2), np.linalg.norm(network.query, 2))
    found, bounds = [], []
    for n in range(setting.samples):
        own = 0 if data.vote[n] > 0 else 1
        if setting.init == "given" and own:
            continue
        relevant = data.pattern[n] == own
        n_1, n_0 = relevant.sum(), (~relevant).sum()
        square = (keys[:, own] @ features.key[:, own]) * (queries[:, own] @ features.key[:, own])
        g = square - (delta + tau) * math.sqrt(square)
        row = [n_1 * math.exp(g) / (n_1 * math.exp(g) + n_0)]
        for error in (delta, 0.0):
            d = error + norm * tau
            same, cross = n_1 * math.exp(1 - 2 * d - d**2), n_0 * math.exp(2 * d + d**2)
            row.append(same / (same + cross))
        for query in np.flatnonzero(relevant):
            found.append(attention_of(network, data.tokens[n])[query, relevant].sum())
            bounds.append(row)
    return np.array(found), np.array(bounds)


CASES = {
    "random": SMALL,
    "confuse": SMALL.replace(attention_error_law="confuse", attention_error=0.4),
    "noisy": SMALL.replace(noise_radius=0.2, attention_error=0.1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_margin_over_every_attention_bound_equals_its_definition(name: str) -> None:
    for seed in range(3):
        found, bounds = bounds_by_hand(CASES[name], seed)
        result = measured(CASES[name], seed)
        excess = found[:, None] - bounds
        np.testing.assert_allclose(result["attention_excess"], excess.min(0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(result["attention_broken"], np.mean(excess < -1e-6, axis=0), rtol=1e-12)
        assert result["attention_least"] == pytest.approx(found.min(), rel=1e-12)


def test_the_theorem_is_never_broken_by_random_or_confusing_errors() -> None:
    """V24 at t = 0, for errors and noise of any size; without the errors in the bound it is broken."""
    rng = np.random.default_rng(0)
    broken = []
    for seed in range(15):
        for directions in ("random", "confuse"):
            setting = SMALL.replace(
                attention_error_law=directions,
                attention_error=float(rng.uniform(0, 0.6)),
                noise_radius=float(rng.uniform(0, 0.2)),
            )
            result = measured(setting, seed)
            assert result["attention_excess"][THEOREM] >= -1e-12, (seed, setting)
            assert result["attention_broken"][THEOREM] == 0
            broken.append(result["attention_broken"][WITHOUT])
    assert np.sum(np.array(broken) > 0) >= 3


def test_without_error_and_noise_every_bound_is_met_with_equality() -> None:
    setting = SMALL.replace(attention_error=0.0, noise_radius=0.0)
    result = measured(setting)
    np.testing.assert_allclose(result["attention_excess"], 0, atol=1e-12)
    np.testing.assert_array_equal(result["attention_broken"], 0)
    assert result["attention_least"] == pytest.approx(4 * math.e / (4 * math.e + 6), rel=1e-12)


def counter_example() -> Setting:
    """The counter-example of V24, as the experiment has it, at fewer samples and tokens."""
    axis = theory.experiments["v24-initial-attention"].presets["quick"]
    return axis.setting.replace(**axis.axes["variant"]["counter-example"], tokens=10, neurons=16, samples=9)


def test_the_counter_example_lies_below_the_papers_bound_and_above_the_theorem() -> None:
    result = measured(counter_example())
    conc, p_n = math.exp(0.2) / (math.exp(0.2) + 1), 1 / (1 + math.exp(-0.6))
    assert conc == pytest.approx(0.549834, abs=1e-6)
    assert p_n == pytest.approx(0.645656, abs=1e-6)
    assert result["attention_least"] == pytest.approx(conc, rel=1e-12)
    assert result["attention_excess"][DOCUMENT] == pytest.approx(conc - p_n, rel=1e-10)
    # D = 0.4: same-pattern logits are at least 0.04, the others at most 0.96
    assert result["attention_excess"][THEOREM] == pytest.approx(conc - 1 / (1 + math.exp(0.92)), rel=1e-10)
    assert result["attention_excess"][WITHOUT] == pytest.approx(conc - math.e / (math.e + 1), rel=1e-10)
    np.testing.assert_array_equal(result["attention_broken"], [1, 0, 1])


def test_the_bounds_hold_with_gaussian_noise_too() -> None:
    """Its radius is that of the noisiest token."""
    setting = SMALL.replace(noise_law="gaussian", noise_radius=0.0, token_noise=0.1, attention_error=0.0)
    for seed in range(3):
        assert measured(setting, seed)["attention_broken"][THEOREM] == 0


def test_weighted_patterns_have_the_bounds_of_all_tokens() -> None:
    """Without noise two samples of weighted patterns stand for any number of samples (oracle 8.3)."""
    exact = SMALL.replace(noise_law="gaussian", noise_radius=0.0, token_noise=0.0, samples=10)
    tokens, patterns = measured(exact), measured(exact.replace(reduction="patterns"))
    for name in tokens.keys() - {"noise_ratio_without_error"}:  # which divides by the absent noise
        np.testing.assert_allclose(patterns[name], tokens[name], rtol=1e-10, atol=1e-12, err_msg=name)


# Outputs


def test_no_measure_depends_on_the_room() -> None:
    tight = resized(SMALL, sample_room=9)
    one, two = (jax.device_get(measure_initial(problem, jax.random.key(5))) for problem in (tight, SMALL.problem()))
    assert SMALL.problem().sample_room == 11
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-11, atol=1e-13, err_msg=name)


def test_samples_beyond_the_used_ones_are_not_looked_at() -> None:
    """The first two samples have one class; the room has samples of the other."""
    setting = SMALL.replace(samples=2)
    network, features, signs, basis, data = pieces(SMALL)
    order = np.argsort(-data.vote[:8], kind="stable")
    data = jax.tree.map(lambda leaf: leaf[:8][order], data)
    one, two = (
        jax.device_get(measure(resized(setting, sample_room=size), network, features, basis, signs, data))
        for size in (2, 8)
    )
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-12, err_msg=name)


def test_unused_samples_enter_no_measure() -> None:
    network, features, signs, basis, data = pieces(SMALL)
    problem = SMALL.problem()

    def measures(data: Data) -> dict[str, np.ndarray]:
        return jax.device_get(measure(problem, network, features, basis, signs, data))

    tokens, noise = data.tokens.copy(), data.noise.copy()
    tokens[9:] *= -1  # far from their patterns; a relevant query then attends to everything else
    noise[9:] = 2
    before, after = measures(data), measures(data._replace(tokens=tokens, noise=noise))
    assert before.keys() == {v.name for v in measure_initial.variables}
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_measures_have_the_precision_of_the_run_and_their_declared_dimensions(precision: str) -> None:
    with numerics(precision):
        found = jax.eval_shape(measure_initial, SMALL.problem(), jax.random.key(0))
    assert found.keys() == {v.name for v in measure_initial.variables}
    sizes = {"side": 2, "bound": len(BOUNDS)}
    for name, value in found.items():
        assert value.dtype.name == precision, name
        assert value.shape == tuple(sizes[dim] for dim in measure_initial.variable(name).dims), name


@pytest.mark.parametrize(
    "change",
    [{"heads": 2}, {"classes": 4}, {"output": "per_token"}, {"members": 2, "dimension": 15}, {"skip": True}],
    ids=str,
)
def test_a_variant_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="is measured with heads = 1, skip = false"):
        jax.eval_shape(measure_initial, SMALL.replace(**change).problem(), jax.random.key(0))
