"""Four classes (3.9) and labels of whole graphs (3.8): losses, gradients, margins, and the generators' facts."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gt_slow import Weights, answer, in_float64, slopes, weights

from lemmata.lab import batches
from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.graph_transformer.experiments.extensions import FOUR_TINY, GRAPH_TINY
from lemmata.theories.graph_transformer.extensions import four, graphs
from lemmata.theories.graph_transformer.extensions.four import FourSetting
from lemmata.theories.graph_transformer.extensions.graphs import GraphSetting
from lemmata.theories.graph_transformer.generators.cycle import expected_margins
from lemmata.theories.graph_transformer.network import Parameters, Tokens, initialise, run_sampled

FIELDS = Weights._fields


pytestmark = pytest.mark.usefixtures("hasty_programs")


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Four classes


def hinge(margin: np.ndarray) -> np.ndarray:
    return np.maximum(1 - margin, 0)


def four_case(**changed: Any) -> tuple[FourSetting, Any, Any, Any, Any]:
    """Setting, key, world, both networks and their output signs."""
    setting = FourSetting(**{**FOUR_TINY, "output_scale": 6.0, "step_size": 0.5, **changed})
    key = jax.random.key(0)
    world = jax.tree.map(jnp.asarray, in_float64(four.prepare(setting, 0)))
    pairs = [initialise(setting.problem(), jax.random.fold_in(key, 1000 + j), world.directions) for j in range(2)]
    both, signs = (jax.tree.map(lambda *leaves: jnp.stack(leaves), *part) for part in zip(*pairs, strict=True))
    return setting, key, world, both, signs


@jax.jit
def _draw(problem: Any, key: Any, world: Any, rows: Any) -> Tokens:
    return four.draw_tokens(problem, key, world, rows)


def draw_four(setting: FourSetting, key: Any, world: Any, rows: Any) -> Tokens:
    return jax.device_get(_draw(setting.problem().only(("sample",)), key, world, rows))


def first_batch(setting: Any, samples: int, room: int, key: Any) -> Any:
    scheme = batches.epochs(stream(key, "batch"), samples, room, setting.batch)
    return jax.jit(lambda: scheme.draw(scheme.start(), jnp.asarray(0))[1].rows)()


def one(both: Any, j: int) -> Weights:
    return weights(jax.tree.map(lambda leaf: leaf[j], both))


def node_tokens(tokens: Tokens, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert np.asarray(tokens.weight[row]).all()
    return np.asarray(tokens.query[row]), np.asarray(tokens.keys[row]), np.asarray(tokens.bins[row])


def four_answers(both: Any, signs: Any, tokens: Tokens) -> np.ndarray:
    """F_1, F_2 of every row."""
    rows = range(len(tokens.query))
    return np.array(
        [[answer(one(both, j), np.asarray(signs[j]), *node_tokens(tokens, r)).f for r in rows] for j in (0, 1)]
    )


@pytest.mark.parametrize("loss", ["coordinates", "joint"])
def test_both_networks_descend_on_the_loss_that_is_asked_for(loss: str) -> None:
    setting, key, world, both, signs = four_case(loss=loss, steps=1)
    run = four.train(setting.problem(), key, world, both, signs)
    rows = world.order[first_batch(setting, setting.labelled, setting.nodes, key)]
    tokens = draw_four(setting, jax.random.fold_in(stream(key, "sampler"), 0), world, rows)
    y = np.asarray(world.label[:, rows])
    margin = y * four_answers(both, signs, tokens)
    push = np.where(margin.sum(axis=0) < 1 if loss == "joint" else margin < 1, -y, 0.0)
    assert (margin.sum(axis=0) < 1).any()
    assert ((margin.sum(axis=0) < 1) != (margin < 1)).any()
    for j in range(2):
        parts = [slopes(one(both, j), np.asarray(signs[j]), *node_tokens(tokens, r)) for r in range(len(rows))]
        for i, (field, after) in enumerate(zip(FIELDS, one(run.state.parameters, j), strict=True)):
            step = sum(push[j, r] * part[i] for r, part in enumerate(parts)) / setting.batch
            expected = one(both, j)[i] - setting.step_size * step
            np.testing.assert_allclose(after, expected, rtol=1e-9, atol=1e-12, err_msg=field)
    # what is recorded before the first step, on the test's own sample
    test = draw_four(setting, stream(key, "test"), world, world.order)
    margin = np.asarray(world.label[:, world.order]) * four_answers(both, signs, test)
    known = margin[:, setting.labelled :]
    other = np.asarray(world.pattern[world.order] >= 4)[setting.labelled :]
    right = (known > 0).all(axis=0)
    records = {name: float(values[0]) for name, values in run.records.items() if values.ndim == 1}
    assert records == pytest.approx(
        {
            "joint_loss": hinge(known.sum(axis=0)).mean(), "coordinate_loss": hinge(known).sum(axis=0).mean(),
            "accuracy": right.mean(), "other_accuracy": right[other].mean(),
        }
    )  # fmt: skip


def test_a_duplicated_network_has_twice_the_binary_loss_or_twice_that_of_margin_one_half() -> None:
    setting, key, world, both, signs = four_case(loss="joint", steps=1, step_size=0.0)
    both, signs = jax.tree.map(lambda leaf: jnp.stack([leaf[0], leaf[0]]), (both, signs))
    world = world._replace(label=jnp.stack([world.label[0], world.label[0]]))
    run = four.train(setting.problem(), key, world, both, signs)
    test = draw_four(setting, stream(key, "test"), world, world.order)
    margin = (np.asarray(world.label[0, world.order]) * four_answers(both, signs, test)[0])[setting.labelled :]
    assert float(run.records["joint_loss"][0]) == pytest.approx(np.mean(2 * np.maximum(0.5 - margin, 0)))
    assert float(run.records["coordinate_loss"][0]) == pytest.approx(2 * np.mean(hinge(margin)))
    assert float(run.records["accuracy"][0]) == pytest.approx(np.mean(margin > 0))


def test_slopes_are_the_derivatives_of_both_losses() -> None:
    draws = np.random.default_rng(0)
    f, y = jnp.asarray(2 * draws.normal(size=(2, 50))), jnp.asarray(draws.choice([1.0, -1.0], (2, 50)))
    joint = jax.grad(lambda f: jnp.sum(jnp.maximum(1 - jnp.sum(y * f, axis=0), 0)))(f)
    each = jax.grad(lambda f: jnp.sum(jnp.maximum(1 - y * f, 0)))(f)
    np.testing.assert_array_equal(four.slopes("joint", y, f), joint)
    np.testing.assert_array_equal(four.slopes("coordinates", y, f), each)
    # F = (2, -.5), y = (1, 1): zero joint loss with a wrong sign (9.20)
    wrong = jnp.array([[2.0], [-0.5]])
    assert not four.slopes("joint", jnp.ones((2, 1)), wrong).any()
    assert four.slopes("coordinates", jnp.ones((2, 1)), wrong).ravel().tolist() == [0, -1]


def test_the_margins_of_each_coordinate_are_those_of_its_own_sequence() -> None:
    setting = FourSetting()
    world = four.prepare(setting, 0)
    u, each = 24, 60
    closed = {"first": [0, -u, 0, u], "second": [-2 * u, 3 * u, -2 * u, u]}
    for found, (name, margins), text in zip(
        world.margins, closed.items(), (setting.first, setting.second), strict=True
    ):
        margins[1] -= u / each  # the node itself is missing from its own cluster
        np.testing.assert_allclose(found[1:5], margins, rtol=1e-6, err_msg=name)
        signs = np.array([1 if s == "+" else -1 for s in text])
        np.testing.assert_allclose(found[1:5], expected_margins(signs, u, each), rtol=1e-6)
        assert not found[5:].any()
    assert [1 + int(np.argmax(m[1:5])) for m in world.margins] == [4, 2]


def test_clusters_carry_the_pattern_of_their_class() -> None:
    world = four.prepare(FourSetting(), 1)
    marked = world.pattern < 4
    for (a, b), kind in zip(four.CLASSES, range(4), strict=True):
        here = (world.label[0] == a) & (world.label[1] == b)
        assert here.sum() == 120
        assert (world.pattern[here & marked] == kind).all()
        assert (here & marked).sum() == 48
        counts = np.bincount(world.pattern[here & ~marked], minlength=12)
        assert not counts[:4].any()
        assert (counts[4:] > 0).all()
    assert world.table.max() == 4
    np.testing.assert_array_equal(world.table[0, ::60], [0, 1, 2, 3, 4, 3, 2, 1])
    broken = four.prepare(FourSetting(defect="distances"), 1)
    np.testing.assert_array_equal(np.bincount(broken.table.ravel()), np.bincount(world.table.ravel()))
    assert (broken.table != world.table).mean() > 0.3
    np.testing.assert_array_equal(broken.margins, world.margins)


# Whole graphs

answers = jax.jit(graphs.answers)


def graph_case(**changed: Any) -> tuple[GraphSetting, Any, Any, Any, Any]:
    setting = GraphSetting(**{**GRAPH_TINY, "output_scale": 0.5, **changed})
    key = jax.random.key(0)
    data = jax.tree.map(jnp.asarray, in_float64(graphs.prepare(setting, 0)))
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
    total = answers(parameters, signs * graphs.NODES, data.features[:3], bins)
    w = weights(parameters)
    slow = [node_sum(w, np.asarray(signs), np.asarray(x), np.asarray(bins)) for x in data.features[:3]]
    np.testing.assert_allclose(total, slow, rtol=1e-9)
    np.testing.assert_allclose(mean, np.array(slow) / 25, rtol=1e-9)
    assert graphs.NODES == 25
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
    fast = jax.jit(lambda p: graphs.gradient(p, signs, x, bins, slope))(parameters)
    loss = lambda p: jnp.mean(jnp.maximum(1 - label * answers(p, signs, x, bins), 0))  # noqa: E731
    auto = jax.jit(jax.grad(loss))(parameters)
    for field, one_, two in zip(FIELDS, weights(fast), weights(auto), strict=True):
        np.testing.assert_allclose(one_, two, rtol=1e-9, atol=1e-14, err_msg=field)
        assert np.abs(two).max() > 1e-4


@pytest.mark.parametrize(("readout", "factor"), [("mean", 1), ("sum", 25)])
def test_training_on_graphs_is_plain_sgd_with_the_readout_that_is_asked_for(readout: str, factor: int) -> None:
    setting, key, data, parameters, signs = graph_case(readout=readout, steps=1, train_b=int(factor > 1))
    run = graphs.train(setting.problem(), key, data, parameters, signs)
    bins = jnp.minimum(data.table, setting.bins - 1)
    rows = first_batch(setting, setting.samples, setting.samples, key)
    label, x = data.label[rows], data.features[rows]

    @jax.jit
    def loss(p: Parameters) -> Any:
        return jnp.mean(jnp.maximum(1 - label * answers(p, factor * signs, x, bins), 0))

    step = weights(jax.jit(jax.grad(loss))(parameters))
    step = step._replace(b=step.b * setting.train_b)
    after = weights(run.state.parameters)
    for field, one_, before, d in zip(FIELDS, after, weights(parameters), step, strict=True):
        np.testing.assert_allclose(one_, before - setting.step_size * d, rtol=1e-9, atol=1e-13, err_msg=field)
    assert after.b.any() == (setting.train_b > 0)
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
    setting = GraphSetting(balance=balance)
    pattern, label = graphs.draw_patterns(setting, 2000, np.random.default_rng(0))
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
    counting = graphs.prepare(GraphSetting(balance=balance), 0).counting
    assert set(counting) <= {0.5, 1.0}
    assert low <= counting.mean() <= high


def test_layers_are_at_their_distance_from_the_root() -> None:
    table = graphs.layers()
    np.testing.assert_array_equal(table[0], [0, *[1] * 8, *[2] * 8, *[3] * 8])
    np.testing.assert_array_equal(table, table.T)
    # two nodes of one layer meet in the next one; layers 1 and 3 lie two apart
    np.testing.assert_array_equal(table[1, [1, 2, 8, 9, 16, 17, 24]], [0, 2, 2, 1, 1, 2, 2])
    np.testing.assert_array_equal(table[9, [9, 10, 17, 1]], [0, 2, 1, 1])
