"""Training (section 4): plain SGD on fresh batches and samples, what each model trains, records and stops."""

import functools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gt_slow import SMALL, Case, Weights, answer, make_case, slopes, weights

from lemmata.lab.precision import numerics
from lemmata.theories.graph_transformer import training
from lemmata.theories.graph_transformer.data import prepare
from lemmata.theories.graph_transformer.measures import SUCCESS
from lemmata.theories.graph_transformer.probes import losses
from lemmata.theories.graph_transformer.sampling import draw_tokens
from lemmata.theories.graph_transformer.setting import Setting

STEPS = 4
FIELDS = Weights._fields


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Trained(NamedTuple):
    case: Case
    before: Weights
    after: Weights
    run: Any


@functools.cache
def cached_case(**changed: Any) -> Case:
    return make_case(**changed)


@functools.cache
def trained(**changed: Any) -> Trained:
    """A run of the small setting, in float64."""
    return train(cached_case(**changed))


def train(case: Case) -> Trained:
    run = training.train(case.problem, case.key, case.world, case.parameters, case.signs, case.watched)
    run = jax.device_get(run)
    return Trained(case, weights(case.parameters), weights(run.state.parameters), run)


STATIC = ("bin_room", "batch", "single_pass", "draw", "sample", "per_shell", "extra", "include_self")


@functools.partial(jax.jit, static_argnames="count", compiler_options={"xla_backend_optimization_level": 0})
def draw_batches(problem: Any, key: Any, world: Any, count: int) -> Any:
    scheme = training.step_batches(problem, key, world)
    state, found = scheme.start(), []
    for t in range(count):
        state, (batch, sampler) = scheme.draw(state, jnp.asarray(t))
        rows = world.order[batch.rows]
        found.append((rows, *draw_tokens(problem, sampler, world, rows, jnp.zeros(7))))
    return found


def batches(case: Case, count: int) -> Any:
    """Nodes, keys and weights of the keys of the first steps."""
    return jax.device_get(draw_batches(case.problem.only(STATIC), case.key, case.world, count=count))


def step(case: Case, w: Weights, rows: np.ndarray, keys: np.ndarray, weight: np.ndarray, moving: Weights) -> Weights:
    """W - η/B sum_n grad loss, node by node; `moving`: factors of the updates."""
    setting = case.setting
    total = [np.zeros_like(part) for part in w]
    for node, some, used in zip(rows, keys, weight, strict=True):
        tokens = case.tokens(node, some, used)
        y = case.world.taught[node]
        if y * answer(w, case.signs, *tokens).f < setting.margin:
            for sum_, part in zip(total, slopes(w, case.signs, *tokens), strict=True):
                sum_ -= y * part
    scale = setting.step_size / len(rows)
    return Weights(*(part - scale * factor * sum_ for part, factor, sum_ in zip(w, moving, total, strict=True)))


B0 = np.array([0.0, 1, 1, 1, 1, 1, 1])
VARIANTS: dict[str, tuple[dict[str, Any], Weights]] = {
    "gt": ({}, Weights(1, 1, 1, 1, 1)),
    "no_pe": ({"model": "no_pe"}, Weights(1, 1, 1, 1, 0)),
    "gcn": ({"model": "gcn"}, Weights(1, 1, 0, 0, 0)),
    "frozen_init": ({"model": "frozen_init"}, Weights(1, 1, 0, 0, 0)),
    "train_attention": ({"train_attention": 0}, Weights(1, 1, 0, 0, 1)),
    "train_values": ({"train_values": 0}, Weights(1, 0, 1, 1, 1)),
    "train_output": ({"train_output": 0}, Weights(0, 1, 1, 1, 1)),
    "train_encoding": ({"train_encoding": 0}, Weights(1, 1, 1, 1, 0)),
    "freeze_zero_bin": ({"freeze_zero_bin": 1}, Weights(1, 1, 1, 1, B0)),
    "margin 10": ({"margin": 10.0}, Weights(1, 1, 1, 1, 1)),
    "margin .05": ({"margin": 0.05}, Weights(1, 1, 1, 1, 1)),
    "label noise": ({"label_noise": 0.3}, Weights(1, 1, 1, 1, 1)),
    "training labels permuted": ({"defect": "training_labels"}, Weights(1, 1, 1, 1, 1)),
    "two bins": ({"bins": 2}, Weights(1, 1, 1, 1, 1)),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_training_is_plain_sgd_on_a_fresh_batch_and_sample_at_every_step(name: str) -> None:
    changed, moving = VARIANTS[name]
    run = trained(**changed)
    w, losses_seen = run.before, set()
    for rows, keys, weight in batches(run.case, 8)[:STEPS]:
        assert len(set(rows)) == run.case.setting.batch
        losses_seen |= {
            run.case.world.taught[n] * answer(w, run.case.signs, *run.case.tokens(n, k, u)).f < run.case.setting.margin
            for n, k, u in zip(rows, keys, weight, strict=True)
        }
        w = step(run.case, w, rows, keys, weight, moving)
    for field, one, two, start, factor in zip(FIELDS, run.after, w, run.before, moving, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13, err_msg=field)
        still = np.broadcast_to(factor, one.shape) == 0
        np.testing.assert_array_equal(one[still], start[still], err_msg=field)
        assert not np.any(factor) or np.abs(one - start).max() > 1e-4, field
    assert run.run.last_step == STEPS
    # both sides of the kink are met where the margin is within reach
    assert losses_seen == {True, False} or name not in ("gt", "margin .05")
    assert losses_seen == {True} or name != "margin 10"


def test_a_gcn_attends_uniformly_and_the_frozen_model_keeps_its_initial_attention() -> None:
    gcn, frozen, gt = (cached_case(**VARIANTS[name][0]) for name in ("gcn", "frozen_init", "gt"))
    assert not weights(gcn.parameters).k.any()
    assert not weights(gcn.parameters).q.any()
    for one, two in zip(weights(frozen.parameters), weights(gt.parameters), strict=True):
        np.testing.assert_array_equal(one, two)
    for part in ("o", "v"):
        np.testing.assert_array_equal(getattr(weights(gcn.parameters), part), getattr(weights(gt.parameters), part))
    np.testing.assert_array_equal(gcn.watched.keys, gt.watched.keys)
    np.testing.assert_array_equal(gcn.world.order, gt.world.order)


def test_in_the_first_steps_only_the_output_layer_is_trained() -> None:
    run = trained(pretraining=2)
    w = run.before
    for t, drawn in enumerate(batches(run.case, 8)[:STEPS]):
        w = step(run.case, w, *drawn, Weights(1, *[1.0 * (t >= 2)] * 4))
    for field, one, two in zip(FIELDS, run.after, w, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13, err_msg=field)
    alone = trained(pretraining=STEPS)
    for field, one, start in zip(FIELDS, alone.after, alone.before, strict=True):
        assert (one == start).all() == (field != "o"), field


def test_neurons_beyond_the_width_are_never_moved() -> None:
    run = trained()
    width = run.case.setting.neurons
    np.testing.assert_array_equal(run.after.o[width:], run.before.o[width:])
    assert (np.abs(run.after.o[:width] - run.before.o[:width]).max(axis=1) > 0).sum() > width / 2


def test_the_sum_of_the_encoding_never_changes() -> None:
    run = trained(steps=20)
    b = run.run.records["distance_bias"]
    assert np.abs(b.sum(axis=1)).max() < 1e-13
    assert np.abs(b[-1]).max() > 1e-2
    assert not b[:, run.case.setting.bins :].any()
    frozen = trained(freeze_zero_bin=1).run.records["distance_bias"][: STEPS + 1]
    assert not frozen[:, 0].any()


# What a step sees


def places(case: Case, count: int) -> list[np.ndarray]:
    """Places in the order of the nodes that the first steps see."""
    where = np.argsort(case.world.order)
    return [where[rows] for rows, _, _ in batches(case, count)]


def test_epochs_use_every_label_once_and_reshuffle() -> None:
    first, second = (np.concatenate(found) for found in np.split(np.stack(places(cached_case(), 8)), 2))
    for epoch in (first, second):
        assert sorted(epoch) == list(range(40))
    assert (first != second).any()
    assert not np.array_equal(np.sort(first[:10]), np.sort(second[:10]))


def test_a_single_pass_uses_every_label_once() -> None:
    assert sorted(np.concatenate(places(cached_case(single_pass=True), 8)[:4])) == list(range(40))


def test_fewer_labels_than_the_batch_holds_are_all_used_with_equal_weight() -> None:
    # only a batch that is asked for must not be larger than the labelled nodes
    fields = {name: value for name, value in SMALL.items() if name != "batch"}
    problem = Setting(**{**fields, "labelled": 6}).problem()
    case = cached_case()

    @jax.jit
    def first() -> Any:
        scheme = training.step_batches(problem, case.key, case.world)
        return scheme.draw(scheme.start(), jnp.asarray(0))[1][0]

    batch = first()
    assert sorted(np.asarray(batch.rows)[:6]) == list(range(6))
    np.testing.assert_allclose(batch.weight, [1 / 6] * 6 + [0] * 94)


def test_a_full_batch_with_fixed_samples_descends_on_all_labelled_nodes() -> None:
    run = trained(batch=0, fresh_samples=False)
    case, w = run.case, run.before
    known = np.flatnonzero(case.watched.labelled)
    np.testing.assert_array_equal(case.watched.node[known], case.world.order[:40])
    for _ in range(STEPS):
        drawn = case.watched.node[known], case.watched.keys[0, known], case.watched.weight[0, known]
        w = step(case, w, *drawn, Weights(1, 1, 1, 1, 1))
    for field, one, two in zip(FIELDS, run.after, w, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13, err_msg=field)


def test_fresh_samples_differ_from_step_to_step_and_from_those_of_the_test() -> None:
    case = cached_case()
    drawn = {}
    for rows, keys, _ in batches(case, 8):
        for n, k in zip(rows, keys, strict=True):
            drawn.setdefault(n, []).append(tuple(sorted(k)))
    assert np.mean([len(set(found)) == 2 for found in drawn.values()]) > 0.9
    row = {n: i for i, n in enumerate(case.watched.node)}
    assert np.mean([tuple(sorted(case.watched.keys[0, row[n]])) in found for n, found in drawn.items()]) < 0.1


def test_without_gradient_nothing_moves() -> None:
    still = trained(step_size=0.0)
    for field, one, start in zip(FIELDS, still.after, still.before, strict=True):
        np.testing.assert_array_equal(one, start, err_msg=field)
    loss = still.run.records["loss"][: STEPS + 1]
    assert (loss == loss[0]).all()
    # every node answered right by more than the margin: the loss of all batches is zero
    case = cached_case(batch=0, fresh_samples=False, margin=1e-6)
    found = np.array([answer(weights(case.parameters), case.signs, *case.watched_tokens(0, i)).f for i in range(80)])
    assert np.abs(found).min() > 1e-6
    label = np.zeros(80)
    label[case.watched.node] = np.sign(found)
    run = train(case._replace(world=case.world._replace(taught=label)))
    for field, one, start in zip(FIELDS, run.after, run.before, strict=True):
        np.testing.assert_array_equal(one, start, err_msg=field)


POSITIONS: dict[str, Any] = {"positions": "laplacian", "position_width": 2, "dimension": 4}


@pytest.mark.parametrize("inside", [1.0, 0.0])
def test_an_absolute_encoding_enters_the_values_only_where_it_is_asked_to(inside: float) -> None:
    run = trained(**POSITIONS, positions_in_values=inside)
    w = run.before
    columns = np.append(np.ones(4), [inside] * 2)
    for drawn in batches(run.case, 8)[:STEPS]:
        w = step(run.case, w, *drawn, Weights(1, columns, 1, 1, 1))
    for field, one, two in zip(FIELDS, run.after, w, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13, err_msg=field)
    assert run.case.world.features.shape == (80, 6)
    assert run.before.v[:, 4:].any() == run.after.v[:, 4:].any() == bool(inside)
    assert np.abs(run.after.k[:, 4:] - run.before.k[:, 4:]).max() > 1e-6


# Records and stops

LONG: dict[str, Any] = {
    "output_scale": 0.5,
    "neurons": 200,
    "steps": 200,
    "record_every": 10,
    "feature_noise": 0.0,
    "confusion": 0.0,
    "labelled": 60,
}


def test_records_do_not_influence_training() -> None:
    rare = trained(steps=20, record_every=5)
    often = trained(steps=20)
    for field, one, two in zip(FIELDS, rare.after, often.after, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=field)
    np.testing.assert_array_equal(rare.run.step[:5], [0, 5, 10, 15, 20])
    assert np.isnan(rare.run.step[5:]).all()
    for name in ("loss", "train_loss", "other_loss", "accuracy"):
        np.testing.assert_array_equal(rare.run.records[name][:5], often.run.records[name][[0, 5, 10, 15, 20]])


CONDITIONS = {
    "reached": ("loss", 0.3), "tight": ("loss", 0.01), "success": ("loss", 1e-3), "trained": ("train_clean_loss", 0.1),
}  # fmt: skip


NOISY: dict[str, Any] = {**LONG, "label_noise": 0.05, "steps": 100, "record_every": 5, "step_size": 0.3}


def test_first_passages_are_the_first_records_below_their_tolerance() -> None:
    for fields in (LONG, NOISY):
        run = trained(**fields, tolerance=0.3).run
        for name, (loss, tolerance) in CONDITIONS.items():
            below = np.flatnonzero(run.records[loss] < tolerance)
            assert run.first[name] == (run.step[below[0]] if len(below) else np.inf), name
    # with flipped labels the loss on clean ones is lower, and it is that which counts as trained
    assert run.first["trained"] < run.step[np.argmax(run.records["train_loss"] < 0.1)]
    quiet = trained(**LONG, tolerance=0.3).run
    assert 0 < quiet.first["reached"] < quiet.first["tight"] < np.inf
    assert (training.TRAINED, training.TIGHT, training.SUCCESS) == (0.1, 0.01, SUCCESS) == (0.1, 0.01, 1e-3)


@pytest.mark.parametrize("stop", ["reached", "trained"])
def test_a_run_stops_at_its_first_passage_and_is_the_same_until_then(stop: str) -> None:
    whole = trained(**LONG, tolerance=0.3)
    run = trained(**LONG, tolerance=0.3, stop=stop)
    last = min(whole.run.first[stop], 200)
    assert run.run.last_step == last
    used = int(last // 10) + 1
    np.testing.assert_array_equal(run.run.step[:used], whole.run.step[:used])
    assert np.isnan(run.run.step[used:]).all()
    for name in ("loss", "train_clean_loss"):
        np.testing.assert_allclose(run.run.records[name][:used], whole.run.records[name][:used], rtol=1e-9, atol=1e-12)
        assert np.isnan(run.run.records[name][used:]).all()
    assert run.run.first[stop] == whole.run.first[stop]


# What is evaluated


def test_losses_and_accuracies_are_means_over_their_groups() -> None:
    world: Any = SimpleNamespace(
        pattern=np.array([0, 1, 2, 3, 2, 0]),
        label=np.array([1.0, 1, -1, 1, 1, -1]),
        clean=np.array([1.0, -1, -1, 1, 1, 1]),
    )
    node = np.array([5, 4, 3, 2, 1, 0])
    labelled = np.arange(6) < 2
    watched_by: Any = lambda tested: SimpleNamespace(node=node, labelled=labelled, tested=tested)  # noqa: E731
    # nodes 5 4 | 3 2 1 0 in two draws
    f = np.array([[0.5, 2.0, -1.0, -0.25, 0.5, 0.0], [-2.0, 0.5, 3.0, 0.0, 0.5, 1.0]])
    measure: Any = jax.jit(lambda tested: losses(world, watched_by(tested), f))
    found = {name: float(value) for name, value in measure(~labelled).items()}
    # hinge of the tested nodes: 3: 2, 0; 2: .75, 1; 1: .5, .5; 0: 1, 0
    assert found == pytest.approx(
        {
            "loss": 5.75 / 8, "other_loss": 3.75 / 4, "marked_loss": 2.0 / 4,
            "clean_loss": (2 + 0 + 0.75 + 1 + 1.5 + 1.5 + 1 + 0) / 8, "accuracy": 5 / 8, "other_accuracy": 2 / 4,
            "train_loss": (1.5 + 0 + 0 + 0.5) / 4, "train_clean_loss": (0.5 + 0 + 3 + 0.5) / 4,
        }
    )  # fmt: skip
    assert np.isnan(measure(np.zeros(6, bool))["loss"])


def test_all_candidates_as_keys_are_what_full_evaluation_sees() -> None:
    by_sample, by_all = (trained(draw="all", watch=watch, steps=2).run for watch in ("sampled", "full"))
    for name in ("loss", "other_loss", "marked_loss", "accuracy", "train_loss", "train_clean_loss"):
        np.testing.assert_allclose(by_sample.records[name][:3], by_all.records[name][:3], rtol=1e-9, err_msg=name)
    assert np.ptp(by_all.records["loss"][:3]) > 1e-3


def simulated(case: Case) -> dict[str, np.ndarray]:
    """The variables of a run in float64."""
    found = training.simulate.run(case.problem, case.key, case.world)
    return {name: np.asarray(value) for name, value in found.items()}


def test_a_run_ends_with_its_last_record_and_the_facts_of_its_graph() -> None:
    case = cached_case(label_noise=0.3)
    found, path = simulated(case), trained(label_noise=0.3).run
    np.testing.assert_allclose(found["time"][:5], 0.5 * np.arange(5))
    np.testing.assert_array_equal(found["step"][:5], np.arange(5))
    for name in ("loss", "other_loss", "accuracy", "other_accuracy"):
        np.testing.assert_array_equal(found[name], path.records[name])
        np.testing.assert_allclose(found[f"final_{name}"], found[name][4], rtol=1e-9, err_msg=name)
    test = case.world.order[40:]
    assert found["flipped"] == pytest.approx(np.mean(case.world.label[test] != case.world.clean[test]))
    assert 0 < found["flipped"] < 0.5
    assert (found["core_distance"], found["bins_used"], found["lonely"], found["diverged"]) == (1, 4, 0, 0)
    assert found["reached_step"] == path.first["reached"]
    assert found["last_step"] == 4


def test_full_evaluation_takes_all_nodes_of_the_shells_and_the_node_itself() -> None:
    case = cached_case(step_size=0.0)
    found, world = simulated(case), case.world
    margins = []
    for n in world.order[40:]:
        keys = np.flatnonzero(world.table[n] <= 2)
        assert n in keys
        tokens = case.tokens(n, keys, np.ones(len(keys)))
        margins.append(world.label[n] * answer(weights(case.parameters), case.signs, *tokens).f)
    hinge, right, other = (
        np.maximum(1 - np.array(margins), 0),
        np.array(margins) > 0,
        world.pattern[world.order[40:]] >= 2,
    )
    np.testing.assert_allclose(found["full_loss"], hinge.mean())
    np.testing.assert_allclose(found["full_other_loss"], hinge[other].mean())
    np.testing.assert_allclose(found["full_accuracy"], right.mean())
    np.testing.assert_allclose(found["full_other_accuracy"], right[other].mean())
    np.testing.assert_allclose(found["margin_quantile"], np.quantile(margins, [0.05, 0.25, 0.5, 0.75, 0.95]))


def test_worlds_of_one_seed_differ_in_what_is_changed_only() -> None:
    few, many = (prepare(Setting(**{**SMALL, "labelled": n}), 3) for n in (10, 40))
    for name in ("features", "label", "clean", "taught", "order", "table", "first", "count"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name), err_msg=name)
    little, much = (prepare(Setting(**{**SMALL, "label_noise": e}), 3) for e in (0.1, 0.3))
    flipped = [set(np.flatnonzero(world.label != world.clean)) for world in (little, much)]
    assert [len(found) for found in flipped] == [8, 24]
    assert flipped[0] < flipped[1]
    np.testing.assert_array_equal(little.order, many.order)
    np.testing.assert_array_equal(little.features, many.features)
    permuted = prepare(Setting(**{**SMALL, "defect": "training_labels"}), 3)
    np.testing.assert_array_equal(permuted.label, many.label)
    assert sorted(permuted.taught) == sorted(many.label)
    assert (permuted.taught != many.label).any()
