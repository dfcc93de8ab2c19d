"""Training (Algorithm 3) and the simulation of one run: exact reductions, stopping, scaling.

Oracles run in float64; the sizes are the same everywhere, so that few programs are compiled.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from vit_training_cases import EXACT, SMALL, identical, pieces, plain_forward, simulated, trained

from lemmata.lab.precision import numerics
from lemmata.networks import losses
from lemmata.networks.shallow import Network, forward, gradient
from lemmata.theories.vit.setting import Setting

# The zero-noise reduction


def test_without_noise_the_output_depends_on_pattern_counts_alone() -> None:
    with numerics("float64"):
        network, signs, data, basis = jax.device_get(pieces(EXACT))
        outputs = np.asarray(forward(network, signs, data.tokens[:8], data.weight[:8]))
    g = basis.T @ network.key.T @ network.query @ basis
    for output, pattern in zip(outputs, data.pattern[:8], strict=True):
        c = np.bincount(pattern, minlength=5)
        w = c[:, None] * np.exp(g)
        w /= w.sum(0)
        hidden = np.maximum(network.output @ network.value @ basis @ w, 0)
        assert output == pytest.approx(float((signs @ hidden) @ c / 10), rel=1e-12)


def test_without_noise_the_number_of_samples_and_their_order_do_not_matter() -> None:
    with numerics("float64"):
        runs = [
            trained(EXACT.replace(samples=samples), data_seed=data_seed)
            for samples, data_seed in ((8, 0), (10, 1), (10, 2))
        ]
        first, *others = jax.device_get(runs)
    assert first.records["train_loss"][0] - first.records["train_loss"][20] > 0.3
    for other in others:
        np.testing.assert_allclose(other.records["train_loss"], first.records["train_loss"], rtol=0, atol=1e-12)
        for one, two in zip(first.state.parameters, other.state.parameters, strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_with_noise_the_number_of_samples_matters() -> None:
    few, many = simulated(SMALL)["train_loss"], simulated(SMALL.replace(samples=10))["train_loss"]
    assert np.max(np.abs(few - many)) > 1e-4


def test_two_samples_of_weighted_patterns_replace_all_tokens() -> None:
    tokens, patterns = simulated(EXACT), simulated(EXACT.replace(reduction="patterns"))
    assert tokens.keys() == patterns.keys()
    assert tokens["reached_step"] == patterns["reached_step"] < 60
    for name in tokens.keys() - {"test_hinge_error"}:
        np.testing.assert_allclose(patterns[name], tokens[name], rtol=0, atol=1e-10, err_msg=name)


# Where training stops


@pytest.mark.parametrize("setting", [SMALL, SMALL.replace(batch=4), SMALL.replace(output="per_token", step_size=2.0)])
def test_parameters_are_constant_to_the_bit_once_the_hinge_loss_is_zero(setting: Setting) -> None:
    result = simulated(setting)
    arrived = int(result["reached_step"])
    assert 10 < arrived < 50
    assert np.all(result["movement"][1 : arrived + 1] > 0)
    np.testing.assert_array_equal(result["movement"][arrived + 1 :], 0)
    for name in ("train_loss", "concentration", "lowest"):
        np.testing.assert_array_equal(
            result[name][arrived:], np.broadcast_to(result[name][arrived], result[name][arrived:].shape)
        )
    with numerics("float64"):
        stopped, whole = trained(setting.replace(steps=arrived)), trained(setting)
        assert identical(stopped.state.parameters, whole.state.parameters)
        assert not identical(trained(setting.replace(steps=arrived - 1)).state.parameters, whole.state.parameters)


def test_a_run_leaves_at_zero_loss_at_small_loss_or_never() -> None:
    whole = simulated(SMALL)
    zero, small = int(whole["reached_step"]), int(whole["small_loss_step"])
    for stop, last in (("zero_loss", zero), ("small_loss", small), ("never", 60)):
        result = simulated(SMALL.replace(stop=stop))
        assert result["last_step"] == last
        assert result["last_loss"] == result["train_loss"][last] == whole["train_loss"][last]
        np.testing.assert_array_equal(result["step"][: last + 1], np.arange(last + 1))
        assert np.all(np.isnan(result["step"][last + 1 :]))
        assert np.all(np.isnan(result["train_loss"][last + 1 :]))


@pytest.mark.parametrize("every", [1, 4])
def test_first_passages_are_the_first_records_below_the_thresholds(every: int) -> None:
    result = simulated(SMALL.replace(record_every=every, step_size=0.1, steps=240 if every == 4 else 60))
    for name, level in (("reached_step", 0.0), ("small_loss_step", 1e-3)):
        below = result["train_loss"] <= level
        expected = result["step"][np.argmax(below)] if np.any(below) else np.inf
        assert result[name] == expected, name
    assert (result["reached_step"] < np.inf) == (every == 4)


def test_the_records_of_a_coarser_grid_lie_on_the_same_trajectory() -> None:
    fine, coarse = simulated(SMALL), simulated(SMALL.replace(record_every=4))
    np.testing.assert_array_equal(coarse["step"][:16], np.arange(0, 61, 4))
    for name in ("train_loss", "concentration", "lowest"):
        np.testing.assert_allclose(coarse[name][:16], fine[name][::4], rtol=1e-12, atol=1e-12)
    assert np.all(np.isnan(coarse["train_loss"][16:]))


def test_a_loss_that_can_be_negative_does_not_stop_the_run() -> None:
    """The linear loss is there to keep the attention growing; below zero it is not solved."""
    result = simulated(SMALL.replace(loss="linear", stop="zero_loss", step_size=0.1))
    assert np.min(result["train_loss"]) < 0
    assert result["last_step"] == 60


# Step size


def test_small_steps_follow_the_gradient_flow() -> None:
    sizes = [0.4, 0.2, 0.1, 0.05]
    fine = SMALL.replace(steps=600, records=601, track="loss", stop="zero_loss")
    runs = [simulated(fine.replace(step_size=eta)) for eta in sizes]
    arrival = np.array([run["reached_step"] for run in runs])
    times = np.array(sizes) * arrival
    assert arrival[-1] / arrival[-2] == pytest.approx(2, abs=0.05)
    assert abs(times[-1] - times[-2]) < 0.5 * abs(times[1] - times[0])
    losses_then = np.array([run["train_loss"][round(6 / eta)] for run, eta in zip(runs, sizes, strict=True)])
    changes = np.abs(np.diff(losses_then))
    assert changes[0] > 1e-3
    # halving the step halves what is left: an error of first order in the step size
    np.testing.assert_allclose(changes[1:] / changes[:-1], 0.5, atol=0.15)


@pytest.mark.parametrize("output", ["shared", "per_token"])
@pytest.mark.parametrize("step_size", [1e3, 1e6, 1e12])
def test_a_diverging_run_is_flagged_and_frozen_at_finite_values(output: str, step_size: float) -> None:
    result = simulated(SMALL.replace(output=output, step_size=step_size), precision="float32")
    assert result["diverged"] == 1
    used = ~np.isnan(result["step"])
    assert result["last_step"] == result["step"][used][-1] < 60
    assert np.all(np.isfinite(result["train_loss"][used]))
    assert result["last_loss"] == result["train_loss"][used][-1]
    assert np.isinf(result["reached_step"])
    for name, value in result.items():
        kept = value[used] if value.ndim else value
        assert not np.any(np.isnan(kept)), name


def test_an_ordinary_run_is_not_flagged() -> None:
    assert simulated(SMALL)["diverged"] == 0


# Frozen attention and the limit in which attention carries no information


def test_frozen_attention_leaves_keys_and_queries_constant_to_the_bit() -> None:
    with numerics("float64"):
        before = pieces(SMALL)[0]
        frozen = trained(SMALL.replace(train_attention=0)).state.parameters
        free = trained(SMALL).state.parameters
        before, frozen, free = jax.device_get((before, frozen, free))
    assert np.array_equal(frozen.key, before.key)
    assert np.array_equal(frozen.query, before.query)
    assert np.max(np.abs(frozen.output - before.output)) > 0.01
    assert np.max(np.abs(frozen.value - before.value)) > 0.01
    assert np.max(np.abs(free.key - before.key)) > 0.01
    assert np.max(np.abs(free.query - before.query)) > 0.01
    concentration = simulated(SMALL.replace(train_attention=0))["concentration"]
    np.testing.assert_array_equal(concentration, np.broadcast_to(concentration[0], concentration.shape))


def test_attention_carries_no_information_when_all_tokens_are_relevant() -> None:
    only = EXACT.replace(relevant_fraction=1.0, confusion_fraction=0.0)
    with numerics("float64"):
        free, frozen = jax.device_get((trained(only), trained(only.replace(train_attention=0))))
    assert free.records["train_loss"][0] - free.records["train_loss"][10] > 0.1
    np.testing.assert_allclose(free.records["train_loss"], frozen.records["train_loss"], rtol=0, atol=1e-12)
    for name in ("output", "value"):
        one, two = getattr(free.state.parameters, name), getattr(frozen.state.parameters, name)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


# Losses and batches


def test_the_recorded_loss_is_the_mean_of_the_chosen_loss() -> None:
    with numerics("float64"):
        network, signs, data, _ = jax.device_get(pieces(SMALL))
    margins = np.array(
        [
            y * plain_forward(network, signs, x, np.ones(10))
            for x, y in zip(data.tokens[:8], data.label[:8], strict=True)
        ]
    )
    for change, loss in (
        ({}, np.maximum(1 - margins, 0)),
        ({"margin": 10.0}, np.maximum(10 - margins, 0)),
        ({"loss": "linear", "step_size": 0.1, "stop": "zero_loss"}, -margins),
        ({"loss": "logistic"}, np.log1p(np.exp(-margins))),
    ):
        assert simulated(SMALL.replace(**change))["train_loss"][0] == pytest.approx(loss.mean(), rel=1e-12), change


def test_training_is_gradient_descent_on_the_mean_loss() -> None:
    with numerics("float64"):
        network, signs, data, _ = pieces(SMALL)
        eight = jax.tree.map(lambda leaf: leaf[:8], data)

        @jax.jit
        def step(network: Network) -> Network:
            slope = lambda outputs: eight.label * losses.hinge().slope(eight.label * outputs) / 8  # noqa: E731
            d = gradient(network, signs, eight.tokens, eight.weight, slope)
            return jax.tree.map(lambda w, g: w - 0.5 * g, network, d)

        for _ in range(20):
            network = step(network)
        found = trained(SMALL.replace(steps=20)).state.parameters
    for one, two in zip(found, network, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)


def test_a_larger_margin_and_a_loss_without_end_keep_the_attention_growing() -> None:
    end = lambda **change: simulated(SMALL.replace(**change))["concentration"][-1, 0]  # noqa: E731
    assert end(margin=10.0) > end() + 0.05
    assert simulated(SMALL.replace(loss="logistic"))["reached_step"] == np.inf


def test_one_pass_sees_each_batch_once_in_order() -> None:
    setting = SMALL.replace(samples=16, batch=4, batches="one_pass")
    with numerics("float64"):
        network, signs, data, _ = pieces(setting)
        run = trained(setting)

        @jax.jit
        def step(network: Network, rows: Any) -> Network:
            y = data.label[rows]
            slope = lambda outputs: y * losses.hinge().slope(y * outputs) / 4  # noqa: E731
            d = gradient(network, signs, data.tokens[rows], data.weight[rows], slope)
            return jax.tree.map(lambda w, g: w - 0.5 * g, network, d)

        for start in (0, 4, 8, 12):
            network = step(network, start + jnp.arange(4))
        run, network = jax.device_get((run, network))
    assert run.last_step == 4
    for one, two in zip(run.state.parameters, network, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scheme", ["epochs", "iid"])
def test_mini_batches_reach_zero_loss_on_another_path(scheme: str) -> None:
    result, full = simulated(SMALL.replace(batch=4, batches=scheme)), simulated(SMALL)
    assert result["train_loss"][0] == full["train_loss"][0]
    assert np.max(np.abs(result["train_loss"] - full["train_loss"])) > 1e-3
    assert result["reached_step"] < 60
