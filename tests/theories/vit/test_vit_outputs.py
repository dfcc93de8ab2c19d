"""Every output of a run: rooms, precision, evaluation, statistics of the data, attention by type of query."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from vit_training_cases import EXACT, SMALL, pieces, plain_attention, plain_forward, resized, simulated

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.vit.data import Data, draw
from lemmata.theories.vit.network import initialise
from lemmata.theories.vit.probes import attention_by_query, similarities
from lemmata.theories.vit.training import describe, evaluate, simulate

# Outputs


@pytest.mark.parametrize("change", [{"batch": 4}, {"label_order": "shuffled"}])
def test_no_output_depends_on_the_room(change: dict[str, Any]) -> None:
    setting = SMALL.replace(samples=9, **change)
    tight = resized(setting, sample_room=9, drawn_room=9, drawn_test_room=16)
    loose = resized(setting, sample_room=11, drawn_room=256, drawn_test_room=256)
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
        network, signs, data, basis = pieces(setting)
        features = initialise(setting.problem(), stream(jax.random.key(0), "init"), basis)[1]
        weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], data.weight.shape)
        weight[:, :2] = 1.0
        data = data._replace(weight=jnp.asarray(weight))
        result = describe(setting.problem(), network, network, features, basis, basis, signs, data)
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
