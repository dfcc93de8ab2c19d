"""The GPT-2-style model on prompts: what it reads, how it is trained, what it refuses, and its two experiments."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.lab.errors import UserError
from lemmata.lab.grid import make_grid
from lemmata.lab.simulation import stream
from lemmata.networks.causal import Causal, forward
from lemmata.theories.icl.data import Prompts, World, draw_exact, draw_prompts, draw_world, seen, training_prompts
from lemmata.theories.icl.gpt import training
from lemmata.theories.icl.gpt.experiments import EXPERIMENTS
from lemmata.theories.icl.gpt.training import GptSetting, answers, initialise, margins, train
from lemmata.theories.icl.tasks import coefficient_sum

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
SMALL: Any = BY_NAME["f63a-gpt-shift"].presets["smoke"].setting
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world(SMALL.problem(), KEY)


@pytest.fixture(scope="module")
def network() -> Causal:
    """An initial network with larger weights, so that nothing that matters is lost in rounding."""
    return jax.tree.map(lambda leaf: 10 * leaf, jax.device_get(initialise(SMALL.problem(), KEY)))


@jax.jit
def draw_some(world: World, length: int) -> Prompts:
    """Twelve prompts of so many contexts in a room of four."""
    tasks = seen(SMALL.problem(), world.roles)
    return draw_prompts(jax.random.key(7), world.patterns, world.q, tasks, 0.8, length, count=12, room=4)


def some_prompts(world: World, length: int) -> Prompts:
    return jax.device_get(draw_some(world, length))


reply = jax.jit(answers, static_argnums=(2, 3))


def in_room(prompts: Prompts, room: int) -> Prompts:
    """The same prompts with more room, filled with what must never be read."""
    extra = room - prompts.contexts.shape[1]
    count, _, width = prompts.contexts.shape
    return prompts._replace(
        contexts=np.concatenate([prompts.contexts, np.full((count, extra, width), 50.0, np.float32)], axis=1),
        weight=np.concatenate([prompts.weight, np.zeros((count, extra), np.float32)], axis=1),
    )


def test_a_prompt_has_the_same_answer_in_a_larger_room(world, network):
    prompts = some_prompts(world, 4)
    plain = reply(network, prompts, 2, "learned")
    np.testing.assert_allclose(reply(network, in_room(prompts, 9), 2, "learned"), plain, rtol=2e-5, atol=1e-6)
    unmasked = in_room(prompts, 9)._replace(weight=np.ones((12, 9), np.float32))
    assert np.abs(reply(network, unmasked, 2, "learned") - plain).min() > 1e-3


def test_the_answer_is_that_of_the_plain_network_after_its_last_column(world, network):
    prompts = some_prompts(world, 4)
    matrix = np.concatenate([prompts.contexts, prompts.query[:, None]], axis=1)
    expected = jax.jit(lambda n, x: forward(n, x, heads=2)[0][:, 4, 0])(network, matrix)
    np.testing.assert_allclose(reply(network, prompts, 2, "learned"), expected, rtol=2e-5, atol=1e-6)


def test_the_query_is_the_last_token_and_its_label_slot_is_zero(world):
    tokens, weight = some_prompts(world, 3).columns()
    labels = np.asarray(tokens[..., SMALL.dimension :])
    assert (labels[:, -1] == 0).all()
    assert (np.abs(labels[:, :3, 0]) == 1).all()  # q is the first unit vector
    np.testing.assert_array_equal(weight, np.tile([1, 1, 1, 0, 1], (12, 1)))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_the_order_of_the_contexts_matters(world, network, positions):
    """Through the positions; in several causal layers also without any, which the one-layer model cannot."""
    prompts = some_prompts(world, 4)
    if positions != "learned":
        network = network._replace(positions=None)
    turned = prompts._replace(contexts=prompts.contexts[:, ::-1])
    plain, other = (reply(network, p, 2, positions) for p in (prompts, turned))
    assert np.abs(plain - other).max() > 1e-3


def test_margins_in_parts_are_those_of_the_whole(world, network, monkeypatch):
    prompts = some_prompts(world, 4)
    monkeypatch.setattr(training, "CHUNK", 4)
    expected = prompts.label * reply(network, prompts, 2, "learned")
    found = jax.jit(margins)(SMALL.problem(), network, prompts)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def trained(steps: int, **changes) -> lm.lab.training.Run:
    """Training at smoke size: the program of the experiments, with other numbers."""
    problem = SMALL.replace(steps=steps, **changes).problem()
    drawn = draw_world(problem, KEY)
    return train(problem, KEY, initialise(problem, KEY), drawn, draw_exact(problem, KEY, drawn))


def test_one_step_is_adams_on_the_hinge_loss_of_a_fresh_batch():
    problem = SMALL.problem()
    drawn, start = draw_world(problem, KEY), initialise(problem, KEY)
    first = jax.random.fold_in(stream(KEY, "batch"), 0)
    batch = jax.jit(lambda key, world: training_prompts(problem, key, world, 24))(first, drawn)

    def loss(network: Causal) -> jax.Array:
        tokens = jnp.concatenate([batch.contexts, batch.query[:, None]], axis=1)
        margin = batch.label * forward(network, tokens, heads=2)[0][:, -1, 0]
        return jnp.sum(jnp.where(margin < 1, 1 - margin, 0.0)) / 24

    gradient = jax.device_get(jax.jit(jax.grad(loss))(start))
    start = jax.device_get(start)
    # the first step of Adam, with its moments corrected, is the learning rate times g / (|g| + ε)
    by_hand = jax.tree.map(lambda w, g: w - 1e-3 * g / (np.abs(g) + 1e-8), start, gradient)
    found = jax.device_get(trained(1).state.parameters)
    # entries whose gradient is rounding noise (unread rows of the table have none at all) have no certain direction
    clear = jax.tree.map(lambda g: np.abs(g) > 1e-6, gradient)
    assert sum(leaf.sum() for leaf in jax.tree.leaves(clear)) > 500
    for one, other, where in zip(*map(jax.tree.leaves, (found, by_hand, clear)), strict=True):
        np.testing.assert_allclose(one[where], other[where], rtol=0, atol=2e-5)
    assert max(float(np.abs(a - b).max()) for a, b in zip(*map(jax.tree.leaves, (found, start)), strict=True)) > 9e-4


def test_rows_of_the_table_beyond_the_training_prompts_stay_as_drawn():
    start = initialise(SMALL.problem(), KEY).positions
    after = trained(12).state.parameters.positions
    assert start is not None
    np.testing.assert_array_equal(after[7:], start[7:])
    assert (np.abs(after[:7] - start[:7]).max(axis=1) > 1e-3).all()


def test_training_learns_from_true_labels_and_not_from_shuffled_ones():
    """The watched prompts are balanced, so an answer that does not depend on the prompt has a hinge of at least 1.

    Below 0.8 (measured .46) the contexts must have been read; broken gradients, labels or masks leave it at 1. The
    control is the same program with coins for labels: it would be below too if the labels of watched prompts leaked.
    """
    runs = {order: trained(250, step_size=1e-2, label_order=order) for order in ("true", "shuffled")}
    last = {order: float(run.last["watch_hinge"]) for order, run in runs.items()}
    assert last["true"] < 0.8
    assert last["shuffled"] > 0.95


REFUSED = {
    "heads": ({"heads": 3}, "heads = 3 is not allowed: it must divide width = 64."),
    "odd width": (
        {"width": 9, "heads": 1, "positions": "sinusoidal"},
        "width = 9 is not allowed: sinusoidal positions need an even one.",
    ),
    "training": (
        {"rows": 20},
        "rows = 20 is not allowed: with contexts = 20 and the query a prompt needs 21 learned positions.",
    ),
    "testing": (
        {"test_contexts": 41},
        "rows = 41 is not allowed: with test_contexts = 41 and the query a prompt needs 42 learned positions.",
    ),
    "classes": (
        {"class_size": 2, "rounds": 1},
        "class_size = 2 is not allowed: this model is tested on classes of one pattern.",
    ),
    "rate": (
        {"step_size": 0},
        "step_size = 0 is not allowed: step_size (step size of Adam) is a number greater than 0.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_in_one_sentence(name):
    fields, sentence = REFUSED[name]
    with pytest.raises(UserError) as refusal:
        GptSetting(**fields)
    assert str(refusal.value) == sentence


def test_without_learned_positions_prompts_may_be_longer_than_the_table():
    assert GptSetting(positions="none", test_contexts=60).test_contexts == 60


def test_a_table_too_short_for_the_tested_lengths_is_refused_before_anything_runs():
    smoke = BY_NAME["f63b-gpt-contexts"].presets["smoke"]
    with pytest.raises(UserError, match=r"^rows = 40 .* with test_contexts = 40 and the query a prompt needs 41 "):
        make_grid(smoke.setting.replace(rows=40, test_context_room=0), {"test_contexts": smoke.axes["test_contexts"]})
    assert make_grid(SMALL.replace(rows=40), BY_NAME["f63a-gpt-shift"].presets["smoke"].axes).cells


def test_too_few_patterns_for_the_shifted_ones_are_refused():
    few = SMALL.replace(patterns=5, irrelevant=7)
    with pytest.raises(UserError, match="at least 6 relevant and 3 irrelevant"):
        jax.eval_shape(training.simulate.run, few.problem(), KEY)


def test_the_defaults_are_those_of_the_specification():
    base = GptSetting()
    assert (base.width, base.blocks, base.heads, base.positions, base.step_size) == (64, 3, 2, "learned", 1e-3)
    assert (base.rounds, base.batch, base.steps, base.contexts, base.rows) == (4, 96, 3000, 20, 41)
    assert base.batch % (2 * base.seen) == 0
    assert base.warnings() == []


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_the_presets_have_the_sizes_of_the_register(experiment):
    sizes = {name: (p.setting.steps, p.seeds, p.setting.test_prompts) for name, p in experiment.presets.items()}
    assert sizes["quick"] == (600, 2, 1200)
    assert sizes["paper"] == (10_000, 5, 2400)


@pytest.mark.parametrize("name", BY_NAME)
def test_an_experiment_runs_at_smoke_and_its_errors_are_shares(name, left):
    data, axes = left(name), BY_NAME[name].presets["smoke"].axes
    for variable in BY_NAME[name].simulation.variables:
        assert data[variable.name].dims == (*axes, "seed", *variable.dims)
        assert np.isfinite(data[variable.name]).all(), variable.name
        if "error" in variable.name or "no_match" in variable.name:
            assert data[variable.name].min() >= 0
            assert data[variable.name].max() <= 1
    assert data.step.values.reshape(-1, 5).tolist() == [[0, 3, 6, 9, 12]] * (data.step.size // 5)
    # one training and one set of prompts in domain, however patterns out of domain are tested
    for variable in ("seen_hinge", "unseen_error", "unseen_no_match"):
        assert (data[variable] == data[variable].isel(shift_amplitude=0)).all()


def test_both_branches_start_at_the_same_patterns_and_end_at_the_same(left):
    angles = np.asarray(BY_NAME["f63a-gpt-shift"].presets["quick"].axes["angle"], float)
    sums = [
        [coefficient_sum(angle) for angle in branch] for branch in (angles[angles <= 45][::-1], angles[angles >= 45])
    ]
    assert len(sums[0]) == 13
    np.testing.assert_allclose(sums[0], sums[1], atol=1e-12)
    hinge = left("f63a-gpt-shift").shift_hinge
    # 225 and -135 degrees are one angle
    np.testing.assert_allclose(hinge.sel(angle=225), hinge.sel(angle=-135), rtol=1e-5)
    assert (np.abs(hinge.sel(angle=-45) - hinge.sel(angle=135)) > 1e-7).all()


def test_prompts_without_a_match_are_as_frequent_as_the_law_says(left):
    data = left("f63b-gpt-contexts").isel(shift_amplitude=0)
    for alpha in data.test_fraction.values:
        for length in data.test_contexts.values:
            expected = (1 - alpha / 2) ** length
            cell = data.sel(test_fraction=alpha, test_contexts=length)
            pooled = np.stack([cell.unseen_no_match, cell.shift_no_match])
            spread = (expected * (1 - expected) / (pooled.size * 48)) ** 0.5
            assert abs(float(pooled.mean()) - expected) < 4.5 * spread + 1e-6


@pytest.mark.parametrize("name", BY_NAME)
def test_the_figure_is_drawn_with_what_is_predicted_and_without_warnings(name, left, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = BY_NAME[name].plot(left(name))
        figure.savefig(tmp_path / "figure.png")
    words = [[ax.get_title(), *ax.get_legend_handles_labels()[1]] for ax in figure.axes]
    for i, amplitude in enumerate(("0.5", "5")):
        if name == "f63a-gpt-shift":
            assert f"$K'$ = {amplitude} (" in words[i][0]
        else:
            assert all(f"out of domain, K'={amplitude}" in said for said in words)
    predicted = {"f63a-gpt-shift": "paper: below 0.01", "f63b-gpt-contexts": "predicted: "}[name]
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert any(label.startswith(predicted) for label in ax.get_legend_handles_labels()[1])
