"""Labels of whole graphs (3.8): answers, gradients, training, and how the layers are drawn."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gt_slow import Weights, answer, in_float64, weights

from lemmata.lab import batches
from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.graph_transformer.extensions import whole_graphs as network
from lemmata.theories.graph_transformer.extensions.experiments import tiny
from lemmata.theories.graph_transformer.extensions.whole_graphs import (
    NODES,
    GraphSetting,
    draw_patterns,
    layers,
    prepare,
    train,
)
from lemmata.theories.graph_transformer.network import Parameters, Tokens, initialise, run_sampled

FIELDS = Weights._fields


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def hinge(margin: np.ndarray) -> np.ndarray:
    return np.maximum(1 - margin, 0)


def first_batch(setting: Any, samples: int, room: int, key: Any) -> Any:
    scheme = batches.epochs(stream(key, "batch"), samples, room, setting.batch)
    return jax.jit(lambda: scheme.draw(scheme.start(), jnp.asarray(0))[1].rows)()


answers = jax.jit(network.answers)


def graph_case(**changed: Any) -> tuple[GraphSetting, Any, Any, Any, Any]:
    setting = GraphSetting(**{**tiny(GraphSetting, samples=20, test_samples=10), "output_scale": 0.5, **changed})
    key = jax.random.key(0)
    data = jax.tree.map(jnp.asarray, in_float64(prepare(setting, 0)))
    return setting, key, data, *initialise(setting.problem(), key, data.directions)


def away(parameters: Parameters) -> Parameters:
    """The same with an encoding that is not zero."""
    return parameters._replace(encoding=jnp.asarray(np.random.default_rng(1).normal(size=7)))


def node_sum(w: Weights, a: np.ndarray, features: np.ndarray, table: np.ndarray) -> float:
    return sum(answer(w, a, features[n], features, table[n]).f for n in range(len(features)))


def test_the_answer_of_a_graph_is_the_mean_or_the_sum_of_its_nodes_answers() -> None:
    setting, _, data, parameters, signs = graph_case()
    parameters = away(parameters)
    bins = jnp.minimum(data.table, setting.bins - 1)
    mean = answers(parameters, signs, data.features[:3], bins)
    total = answers(parameters, signs * NODES, data.features[:3], bins)
    w = weights(parameters)
    slow = [node_sum(w, np.asarray(signs), np.asarray(x), np.asarray(bins)) for x in data.features[:3]]
    np.testing.assert_allclose(total, slow, rtol=1e-9)
    np.testing.assert_allclose(mean, np.array(slow) / 25, rtol=1e-9)
    assert NODES == 25
    alone = data.features[:3, :1]
    single = answers(parameters, signs, alone, jnp.zeros((1, 1), int))
    tokens = Tokens(alone[:, 0], alone, jnp.ones((3, 1)), jnp.zeros((3, 1), int))
    np.testing.assert_allclose(single, run_sampled(parameters, signs, tokens).output, rtol=1e-12)


def test_the_gradient_of_a_graph_is_that_of_automatic_differentiation() -> None:
    setting, _, data, parameters, signs = graph_case()
    parameters = away(parameters)
    bins = jnp.minimum(data.table, setting.bins - 1)
    label, x = data.label[:6], data.features[:6]
    slope = lambda f: -label * (label * f < 1) / 6  # noqa: E731
    fast = jax.jit(lambda p: network.gradient(p, signs, x, bins, slope))(parameters)
    loss = lambda p: jnp.mean(jnp.maximum(1 - label * answers(p, signs, x, bins), 0))  # noqa: E731
    auto = jax.jit(jax.grad(loss))(parameters)
    for field, one_, two in zip(FIELDS, weights(fast), weights(auto), strict=True):
        np.testing.assert_allclose(one_, two, rtol=1e-9, atol=1e-14, err_msg=field)
        assert np.abs(two).max() > 1e-4


@pytest.mark.parametrize(("readout", "factor"), [("mean", 1), ("sum", 25)])
def test_training_on_graphs_is_plain_sgd_with_the_readout_that_is_asked_for(readout: str, factor: int) -> None:
    setting, key, data, parameters, signs = graph_case(readout=readout, steps=1, train_encoding=int(factor > 1))
    run = train(setting.problem(), key, data, parameters, signs)
    bins = jnp.minimum(data.table, setting.bins - 1)
    rows = first_batch(setting, setting.samples, setting.samples, key)
    label, x = data.label[rows], data.features[rows]

    @jax.jit
    def loss(p: Parameters) -> Any:
        return jnp.mean(jnp.maximum(1 - label * answers(p, factor * signs, x, bins), 0))

    step = weights(jax.jit(jax.grad(loss))(parameters))
    step = step._replace(b=step.b * setting.train_encoding)
    after = weights(run.state.parameters)
    for field, one_, before, d in zip(FIELDS, after, weights(parameters), step, strict=True):
        np.testing.assert_allclose(one_, before - setting.step_size * d, rtol=1e-9, atol=1e-13, err_msg=field)
    assert after.b.any() == (setting.train_encoding > 0)
    margin = np.asarray(data.label * answers(parameters, factor * signs, data.features, bins))
    records = {name: float(values[0]) for name, values in run.records.items() if values.ndim == 1}
    assert records == pytest.approx(
        {
            "train_loss": hinge(margin[:20]).mean(),
            "loss": hinge(margin[20:]).mean(),
            "accuracy": (margin[20:] > 0).mean(),
        }
    )


def layers_of(pattern: np.ndarray) -> np.ndarray:
    """Graphs by layer: how many nodes carry the first and the second pattern."""
    blocks = pattern[:, 1:].reshape(len(pattern), 3, 8)
    return np.stack([(blocks == j).sum(axis=2) for j in (0, 1)], axis=2)


@pytest.mark.parametrize("balance", ["independent", "strict"])
def test_the_core_layer_decides_the_label_seven_to_one(balance: str) -> None:
    setting = GraphSetting(layer_balance=balance)
    pattern, label = draw_patterns(setting, 2000, np.random.default_rng(0))
    counts = layers_of(pattern)
    assert (pattern[:, 0] == 2).all()
    assert label.sum() == 0
    majority = np.where(label > 0, counts[:, 1, 0], counts[:, 1, 1])
    assert (majority == 7).all()
    assert (counts[:, 1].sum(axis=1) == 8).all()
    # one of the other layers is discriminative seven to one, the last one holds patterns from the fourth on
    marked = counts[:, [0, 2]].sum(axis=2)
    assert set(map(tuple, marked)) == {(8, 0), (0, 8)}
    assert abs((marked[:, 0] == 8).mean() - 0.5) < 0.05
    beside = np.where(marked[:, :1] == 8, counts[:, 0], counts[:, 2])
    assert set(map(tuple, beside)) == {(7, 1), (1, 7)}
    plain = pattern[:, 1:].reshape(-1, 3, 8)[:, [0, 2]][marked == 0]
    assert set(np.unique(plain)) == set(range(3, 10))
    agrees = (beside[:, 0] == 7) == (label > 0)
    if balance == "strict":
        assert not agrees.any()
    else:
        assert abs(agrees.mean() - 0.5) < 0.05
        assert abs(agrees[label > 0].mean() - agrees[label < 0].mean()) < 0.1
    # the decisive patterns of the whole graph tie exactly where both layers disagree, those of the core never
    assert ((counts.sum(axis=1)[:, 0] == counts.sum(axis=1)[:, 1]) == ~agrees).all()


@pytest.mark.parametrize(("balance", "low", "high"), [("independent", 0.7, 0.8), ("strict", 0.5, 0.5)])
def test_counting_patterns_gives_three_quarters_or_one_half(balance: str, low: float, high: float) -> None:
    counting = prepare(GraphSetting(layer_balance=balance), 0).counting
    assert low <= counting <= high


def test_layers_are_at_their_distance_from_the_root() -> None:
    table = layers()
    np.testing.assert_array_equal(table[0], [0, *[1] * 8, *[2] * 8, *[3] * 8])
    np.testing.assert_array_equal(table, table.T)
    # two nodes of one layer meet in the next one; layers 1 and 3 lie two apart
    np.testing.assert_array_equal(table[1, [1, 2, 8, 9, 16, 17, 24]], [0, 2, 2, 1, 1, 2, 2])
    np.testing.assert_array_equal(table[9, [9, 10, 17, 1]], [0, 2, 1, 1])
