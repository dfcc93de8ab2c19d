"""Training (Algorithm 3) and the simulation of one run: exact reductions, stopping, scaling and every output.

Oracles run in float64; the sizes are the same everywhere, so that few programs are compiled.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.lab.setting import Problem
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.networks import losses
from lemmata.networks.shallow import Network, forward, gradient
from lemmata.theories.vit.data import Data, draw, draw_patterns
from lemmata.theories.vit.network import draw_signs, initialise
from lemmata.theories.vit.probes import attention_by_query, similarities
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import describe, evaluate, simulate, train

SMALL = Setting(
    tokens=10, neurons=16, samples=8, test_samples=16, steps=60, records=61, track="attention", stop="never",
    output_scale=0.1, step_size=0.5,
)  # fmt: skip
"""Reaches zero training loss after about 25 steps."""
EXACT = SMALL.replace(token_noise=0.0)


@functools.cache
def simulated(setting: Setting, seed: int = 0, precision: str = "float64") -> dict[str, np.ndarray]:
    with numerics(precision):
        return jax.device_get(simulate(setting, jax.random.key(seed)))


def pieces(setting: Setting, seed: int = 0, data_seed: int | None = None) -> tuple[Network, Any, Data, Any]:
    """Initial network, signs, training data and patterns (columns) of a run."""
    problem, key = setting.problem(), jax.random.key(seed)
    basis = draw_patterns(problem, stream(key, "data"))
    data_key = stream(key if data_seed is None else jax.random.key(data_seed), "data")
    data = draw(problem, data_key, basis, count=problem.drawn_room)
    network, _ = initialise(problem, stream(key, "init"), basis)
    return network, draw_signs(problem, stream(key, "init")), data, basis


def trained(setting: Setting, seed: int = 0, data_seed: int | None = None) -> Run:
    network, signs, data, _ = pieces(setting, seed, data_seed)
    return train(setting.problem(), stream(jax.random.key(seed), "batch"), network, signs, data)


def resized(setting: Setting, **sizes: int) -> Problem:
    """The problem with other static capacities."""
    leaves, (names, static) = setting.problem().tree_flatten()
    return Problem.tree_unflatten((names, tuple((dict(static) | sizes).items())), leaves)


def identical(one: Network, two: Network) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def plain_attention(network: Network, x: np.ndarray, count: np.ndarray) -> np.ndarray:
    logits = x @ np.asarray(network.query).T @ np.asarray(network.key) @ x.T
    mass = count * np.exp(logits)
    return mass / mass.sum(-1, keepdims=True)


def plain_forward(network: Network, signs: np.ndarray, x: np.ndarray, count: np.ndarray) -> float:
    values = plain_attention(network, x, count) @ x @ np.asarray(network.value).T
    per_token = np.sum(np.asarray(signs) * np.maximum(values @ np.asarray(network.output).T, 0), axis=1)
    return float(count @ per_token / count.sum())


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
            for samples, data_seed in ((2, 0), (10, 1), (40, 2), (40, 3))
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


def test_a_batch_above_the_samples_acts_as_the_full_batch() -> None:
    large = SMALL.replace(samples=100).replace(batch=64).replace(samples=8)
    assert large.batch == 64
    np.testing.assert_allclose(simulated(large)["train_loss"], simulated(SMALL)["train_loss"], rtol=0, atol=1e-10)


# Outputs


@pytest.mark.parametrize("change", [{}, {"batch": 4}, {"batch": 4, "batches": "iid"}, {"label_order": "shuffled"}])
def test_no_output_depends_on_the_room(change: dict[str, Any]) -> None:
    setting = SMALL.replace(samples=9, **change)
    tight = resized(setting, sample_room=9, drawn_room=9, drawn_test_room=16)
    loose = resized(setting, sample_room=13, drawn_room=256, drawn_test_room=256)
    with numerics("float64"):
        one, two = (jax.device_get(simulate(problem, jax.random.key(0))) for problem in (tight, loose))
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_outputs_have_the_precision_of_the_run(precision: str) -> None:
    result = simulated(SMALL, precision=precision)
    assert {name: value.dtype.name for name, value in result.items()} == dict.fromkeys(result, precision)


def test_a_seed_has_the_same_data_and_initial_weights_in_every_cell() -> None:
    base = simulated(SMALL)
    for change in ({"step_size": 0.05}, {"train_attention": 0}, {"steps": 10}, {"batch": 4}, {"margin": 10.0}):
        other = simulated(SMALL.replace(**change))
        for name in ("concentration", "complement", "lowest"):
            np.testing.assert_array_equal(other[name][0], base[name][0], err_msg=str(change))
        for name in ("noise_norm", "similarity"):
            assert other[name] == base[name], change
    assert simulated(SMALL, seed=1)["noise_norm"] != base["noise_norm"]
    assert simulated(SMALL, seed=1)["train_loss"][0] != base["train_loss"][0]


def test_the_test_samples_are_not_the_training_samples() -> None:
    result = simulated(SMALL.replace(samples=16, steps=0))
    assert result["last_step"] == 0
    assert abs(result["test_hinge"] - result["train_loss"][0]) > 1e-6


def test_evaluation_measures_the_first_test_samples_by_their_true_labels() -> None:
    setting = SMALL.replace(label_order="shuffled", token_noise=0.3)
    with numerics("float64"):
        network, signs, _, basis = pieces(setting)
        network = network._replace(output=20 * network.output)
        test = draw(setting.problem(), jax.random.key(7), basis, count=256)
        result = jax.device_get(evaluate(setting.problem(), network, signs, test))
    network, signs, test = jax.device_get((network, signs, test))
    outputs = np.array([plain_forward(network, signs, x, np.ones(10)) for x in test.tokens[:16]])
    margins = test.vote[:16] * outputs
    hinge = np.maximum(1 - margins, 0)
    assert 0 < np.mean(margins <= 0) < 1
    assert result["test_hinge"] == pytest.approx(hinge.mean(), rel=1e-10)
    assert result["test_hinge_error"] == pytest.approx(hinge.std(ddof=1) / 4, rel=1e-10)
    assert result["test_error"] == np.mean(margins <= 0)
    assert result["test_margin"] == pytest.approx(margins.min(), rel=1e-10)


def test_a_run_describes_its_training_samples_and_kept_tokens_alone() -> None:
    setting = SMALL.replace(label_order="shuffled", token_noise=0.3)
    with numerics("float64"):
        network, _, data, basis = pieces(setting)
        features = initialise(setting.problem(), stream(jax.random.key(0), "init"), basis)[1]
        weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], data.weight.shape)
        weight[:, :2] = 1.0
        data = data._replace(weight=jnp.asarray(weight))
        result = describe(setting.problem(), network, features, basis, basis[:, :, None], data)
    result, data = jax.device_get((result, data))
    kept = weight[:8] > 0
    assert result["noise_norm"] == pytest.approx(np.max(data.noise[:8][kept]), rel=1e-12)
    assert result["noise_norm"] < np.max(data.noise[:8]) < np.max(data.noise), "masked or unused tokens are noisier"
    assert result["condition_slack"] == pytest.approx(setting.condition_slack, rel=1e-12)
    products = {True: [], False: []}
    shares = {"relevant_share": [], "confusion_share": [], "neutral_share": []}
    for x, y, z, c in zip(data.tokens[:8], data.vote, data.pattern, weight, strict=False):
        own, other = (0, 1) if y > 0 else (1, 0)
        shares["relevant_share"].append(c[z == own].sum() / c.sum())
        shares["confusion_share"].append(c[z == other].sum() / c.sum())
        shares["neutral_share"].append(c[z > 1].sum() / c.sum())
        for l in np.flatnonzero(c):  # noqa: E741
            for s in np.flatnonzero(c):
                products[bool(z[l] == z[s])].append(x[l] @ x[s])
    assert result["similarity"] == pytest.approx(max(products[False]), rel=1e-10)
    assert result["own_similarity"] == pytest.approx(min(products[True]), rel=1e-10)
    for name, share in shares.items():
        assert result[name] == pytest.approx(np.mean(share), rel=1e-12), name
    assert result["pattern_distance"] == pytest.approx(math.sqrt(2), rel=1e-12)
    assert result["initial_value_error"] == pytest.approx(setting.value_error, rel=1e-10)
    assert result["initial_attention_error"] == pytest.approx(setting.attention_error, rel=1e-10)


def test_one_test_sample_gives_no_unflagged_nan() -> None:
    result = simulated(SMALL.replace(test_samples=1, steps=0))
    absent = [v.name for v in simulate.variables if v.optional]
    for name in ("test_hinge", "test_hinge_error", "test_error", "test_margin"):
        assert name in absent or not np.isnan(result[name]), name


def test_an_output_of_exactly_zero_is_an_error_and_does_not_train() -> None:
    result = simulated(SMALL.replace(output_scale=0.0))
    np.testing.assert_array_equal(result["train_loss"], 1)
    np.testing.assert_array_equal(result["movement"], 0)
    assert result["test_error"] == 1
    assert result["test_hinge"] == 1


# Attention by type of query


def test_concentration_and_its_complement_add_up_to_one() -> None:
    for precision, tolerance in (("float32", 1e-6), ("float64", 1e-14)):
        result = simulated(SMALL, precision=precision)
        np.testing.assert_allclose(result["concentration"] + result["complement"], 1, rtol=0, atol=tolerance)
    assert np.all(result["confused"] > 0)
    assert np.all(result["confused"] < result["complement"])


def test_concentration_by_type_of_query_equals_its_definition() -> None:
    with numerics("float64"):
        network, _, data, _ = pieces(SMALL)
        data = jax.tree.map(lambda leaf: leaf[:6], data)
        rng = np.random.default_rng(0)
        weight = rng.choice([0.0, 1.0, 2.0], (6, 10))
        weight[:, 0] = 1.0
        data = data._replace(weight=jnp.asarray(weight))
        sample_weight = jnp.asarray([0.25, 0.25, 0.25, 0.25, 0.0, 0.0])
        found = jax.device_get(attention_by_query(network, data, sample_weight))
    network, data = jax.device_get((network, data))
    rows: dict[str, list[tuple[float, float, float, float]]] = {}
    for n in range(4):
        w = plain_attention(network, data.tokens[n], weight[n])
        own, other = (0, 1) if data.vote[n] > 0 else (1, 0)
        z = data.pattern[n]
        for l in range(10):  # noqa: E741
            kind = "relevant" if z[l] == own else "confusion" if z[l] == other else "neutral"
            on = w[l, z == own].sum(), w[l, z != own].sum(), w[l, z == other].sum()
            if weight[n, l] > 0:
                rows.setdefault(kind, []).append((weight[n, l], *on))
                rows.setdefault("all", []).append((weight[n, l], *on))
    for column, name in enumerate(("concentration", "complement", "confused"), start=1):
        expected = []
        for kind in ("all", "relevant", "confusion", "neutral"):
            table = np.array(rows[kind])
            expected.append(np.average(table[:, column], weights=table[:, 0]))
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, err_msg=name)
    assert found["lowest"] == pytest.approx(min(row[1] for row in rows["all"]), rel=1e-12)


def test_a_type_without_queries_is_absent() -> None:
    result = simulated(EXACT.replace(confusion_fraction=0.0))
    assert np.all(np.isnan(result["concentration"][:, 2]))
    assert np.all(np.isfinite(result["concentration"][:, [0, 1, 3]]))


def test_similarities_ignore_masked_tokens_and_unused_samples() -> None:
    tokens = np.zeros((2, 4, 2))
    tokens[0] = [[1.0, 0.0], [0.6, 0.8], [2.0, 2.0], [-0.6, 0.8]]
    tokens[1] = [[5.0, 0.0], [5.0, 0.0], [5.0, 0.0], [-5.0, 0.0]]
    pattern = np.array([[0, 1, 2, 1], [0, 1, 2, 0]])
    ones = np.ones(2)
    weight = np.array([[1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    data = jax.tree.map(jnp.asarray, Data(tokens, ones, ones, pattern, weight, np.zeros((2, 4))))
    found = similarities(data, jnp.array([1.0, 0.0]))
    assert found["similarity"] == pytest.approx(0.6)
    assert found["own_similarity"] == pytest.approx(0.28)
    assert similarities(data, jnp.ones(2))["own_similarity"] == pytest.approx(-25)
    same = data._replace(pattern=np.zeros((2, 4), int))
    assert similarities(same, jnp.ones(2))["similarity"] == -1


def test_concentration_rises_on_relevant_queries_of_a_trained_network_only() -> None:
    free, frozen = simulated(SMALL), simulated(SMALL.replace(train_attention=0))
    assert free["concentration"][-1, 1] - free["concentration"][0, 1] > 0.03
    assert math.isclose(frozen["concentration"][-1, 1], frozen["concentration"][0, 1], rel_tol=0)
