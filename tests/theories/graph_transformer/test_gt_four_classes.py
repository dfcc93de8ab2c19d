"""Four classes (3.9): losses, gradients, margins, and how the clusters are labelled."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gt_graphs import expected_margins
from gt_slow import Weights, answer, in_float64, slopes, weights

from lemmata.lab import batches
from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.theories.graph_transformer.extensions.experiments import tiny
from lemmata.theories.graph_transformer.extensions.four_classes import CLASSES, FourSetting, draw_tokens, prepare, train
from lemmata.theories.graph_transformer.extensions.four_classes import slopes as loss_slopes
from lemmata.theories.graph_transformer.network import Tokens, initialise

FIELDS = Weights._fields


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def hinge(margin: np.ndarray) -> np.ndarray:
    return np.maximum(1 - margin, 0)


def four_case(**changed: Any) -> tuple[FourSetting, Any, Any, Any]:
    """Setting, key, world, and both networks with their output signs, as NumPy arrays."""
    setting = FourSetting(**{**tiny(FourSetting), "output_scale": 6.0, "step_size": 0.5, **changed})
    key = jax.random.key(0)
    world = in_float64(prepare(setting, 0))
    pairs = [initialise(setting.problem(), jax.random.fold_in(key, 1000 + j), world.directions) for j in range(2)]
    return setting, key, world, jax.device_get(pairs)


@jax.jit
def _draw(problem: Any, key: Any, world: Any, rows: Any) -> Tokens:
    return draw_tokens(problem, key, world, rows)


def draw_four(setting: FourSetting, key: Any, world: Any, rows: Any) -> Tokens:
    return jax.device_get(_draw(setting.problem().only(("sample",)), key, world, rows))


def first_batch(setting: Any, samples: int, room: int, key: Any) -> Any:
    scheme = batches.epochs(stream(key, "batch"), samples, room, setting.batch)
    return jax.jit(lambda: scheme.draw(scheme.start(), jnp.asarray(0))[1].rows)()


def node_tokens(tokens: Tokens, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert np.asarray(tokens.weight[row]).all()
    return np.asarray(tokens.query[row]), np.asarray(tokens.keys[row]), np.asarray(tokens.bins[row])


def four_answers(pairs: Any, tokens: Tokens) -> np.ndarray:
    """F_1, F_2 of every row."""
    rows = range(len(tokens.query))
    return np.array([[answer(weights(one), signs, *node_tokens(tokens, r)).f for r in rows] for one, signs in pairs])


@pytest.mark.parametrize("loss", ["coordinates", "joint"])
def test_both_networks_descend_on_the_loss_that_is_asked_for(loss: str) -> None:
    setting, key, world, pairs = four_case(loss=loss, steps=1)
    run = jax.device_get(train(setting.problem(), key, world, pairs))
    rows = world.order[first_batch(setting, setting.labelled, setting.nodes, key)]
    tokens = draw_four(setting, jax.random.fold_in(stream(key, "sampler"), 0), world, rows)
    y = np.asarray(world.label[:, rows])
    margin = y * four_answers(pairs, tokens)
    push = np.where(margin.sum(axis=0) < 1 if loss == "joint" else margin < 1, -y, 0.0)
    assert (margin.sum(axis=0) < 1).any()
    assert ((margin.sum(axis=0) < 1) != (margin < 1)).any()
    for j, (one, signs) in enumerate(pairs):
        parts = [slopes(weights(one), signs, *node_tokens(tokens, r)) for r in range(len(rows))]
        moved = weights(jax.tree.map(lambda leaf, j=j: leaf[j], run.state.parameters))
        for i, (field, after) in enumerate(zip(FIELDS, moved, strict=True)):
            step = sum(push[j, r] * part[i] for r, part in enumerate(parts)) / setting.batch
            expected = weights(one)[i] - setting.step_size * step
            np.testing.assert_allclose(after, expected, rtol=1e-9, atol=1e-12, err_msg=field)
    # what is recorded before the first step, on the test's own sample
    test = draw_four(setting, stream(key, "test"), world, world.order)
    margin = np.asarray(world.label[:, world.order]) * four_answers(pairs, test)
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
    setting, key, world, pairs = four_case(loss="joint", steps=1, step_size=0.0)
    pairs = [pairs[0], pairs[0]]
    world = world._replace(label=np.stack([world.label[0], world.label[0]]))
    run = train(setting.problem(), key, world, pairs)
    test = draw_four(setting, stream(key, "test"), world, world.order)
    margin = (np.asarray(world.label[0, world.order]) * four_answers(pairs, test)[0])[setting.labelled :]
    assert float(run.records["joint_loss"][0]) == pytest.approx(np.mean(2 * np.maximum(0.5 - margin, 0)))
    assert float(run.records["coordinate_loss"][0]) == pytest.approx(2 * np.mean(hinge(margin)))
    assert float(run.records["accuracy"][0]) == pytest.approx(np.mean(margin > 0))


def test_slopes_are_the_derivatives_of_both_losses() -> None:
    draws = np.random.default_rng(0)
    f, y = 2 * draws.normal(size=(2, 50)), draws.choice([1.0, -1.0], (2, 50))
    # F = (2, -.5), y = (1, 1): zero joint loss with a wrong sign (9.20)
    f[:, 0], y[:, 0] = [2.0, -0.5], 1.0

    @jax.jit
    def automatic(f: Any) -> Any:
        joint = jax.grad(lambda f: jnp.sum(jnp.maximum(1 - jnp.sum(y * f, axis=0), 0)))
        return joint(f), jax.grad(lambda f: jnp.sum(jnp.maximum(1 - y * f, 0)))(f)

    joint, each = (np.asarray(jax.jit(loss_slopes)(kind, y, f)) for kind in (True, False))
    np.testing.assert_array_equal(joint, automatic(f)[0])
    np.testing.assert_array_equal(each, automatic(f)[1])
    assert (joint[:, 0].tolist(), each[:, 0].tolist()) == ([0, 0], [0, -1])


def test_the_margins_of_each_coordinate_are_those_of_its_own_sequence() -> None:
    setting = FourSetting()
    world = prepare(setting, 0)
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
    world = prepare(FourSetting(), 1)
    marked = world.pattern < 4
    for (a, b), kind in zip(CLASSES, range(4), strict=True):
        here = (world.label[0] == a) & (world.label[1] == b)
        assert here.sum() == 120
        assert (world.pattern[here & marked] == kind).all()
        assert (here & marked).sum() == 48
        counts = np.bincount(world.pattern[here & ~marked], minlength=12)
        assert not counts[:4].any()
        assert (counts[4:] > 0).all()
    assert world.table.max() == 4
    np.testing.assert_array_equal(world.table[0, ::60], [0, 1, 2, 3, 4, 3, 2, 1])
    broken = prepare(FourSetting(defect="distances"), 1)
    np.testing.assert_array_equal(np.bincount(broken.table.ravel()), np.bincount(world.table.ravel()))
    assert (broken.table != world.table).mean() > 0.3
    np.testing.assert_array_equal(broken.margins, world.margins)
