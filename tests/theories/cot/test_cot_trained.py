"""Trained networks: the first gradient (O12), blind directions (O16), and what `lm.trained` gives to look at."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_cot_model import SMALL, answered, trials_piece, weights_along

import lemmata as lm
from lemmata.networks.causal import sinusoidal
from lemmata.theories import cot
from lemmata.theories.cot import data, network, probes
from lemmata.theories.cot.deep import training as deep
from lemmata.theories.cot.deep.experiments import TINY
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies import answer_trials, draw_noise


def test_the_first_gradient_has_the_projections_and_blocks_of_the_oracle() -> None:
    problem = Setting().problem()

    @jax.jit
    def part(key: jax.Array) -> Any:
        return network.gradient(jnp.zeros((60, 60)), data.training_prompts(problem, key, key, 9000, 0), 20, 3)

    G = np.mean([part(jax.random.key(seed)) for seed in range(4)], axis=0)
    relations = jax.jit(lambda G: probes.relations(G, 20, 3))(G)
    np.testing.assert_allclose(relations, [-0.0325, 0.0086, -0.0272, 0.0140], rtol=0.03)
    means = jax.jit(probes.diagonal_means)
    pattern, step = (np.asarray(means(G[at, at])) for at in (slice(20), slice(20, 23)))
    assert pattern[0] == pytest.approx(-0.00509, rel=0.03)
    np.testing.assert_allclose(step, [-0.0274, 0.0137], rtol=0.03)
    for cross in (G[:20, 20:23], G[20:23, :20]):
        assert abs(cross.mean()) < 1e-5


@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_a_column_with_the_blind_pattern_keeps_its_initial_logit_for_every_query(scale: float) -> None:
    given = {**SMALL, "step_size": 10.0, "initial_scale": scale, "pattern_law": "blind"}
    tested = cot.simulate.prepared(Setting(**given), 0).tested

    def logits(steps: int) -> np.ndarray:
        """p̃ᵀ W p̃_query of inputs μ'_1 and μ'_2, by query pattern and step."""
        W = weights_along(Setting(**given, steps=steps, record_every=5))[-1]
        with lm.numerics("float64"):
            return np.asarray(jax.jit(lambda W, tested: network.trial_table(W, tested, 6).input[:2])(W, tested))

    start, end = logits(0), logits(40)
    np.testing.assert_allclose(end[0], start[0], atol=1e-12)
    assert np.abs(end[1] - start[1]).max() > 0.1
    if not scale:
        assert np.abs(end[0]).max() < 1e-12


def test_the_attention_of_a_trained_network_takes_three_lines() -> None:
    t = lm.trained(cot.simulate, Setting(**SMALL, step_size=10.0, steps=60))
    attention = network.attend(t.network, t.data, t.setting.patterns, t.setting.reasoning_steps)
    groups = probes.training_groups(attention, t.data).mean(axis=0)
    np.testing.assert_allclose(groups, t.records.train_groups.dropna("record", how="all").isel(record=-1), atol=1e-5)
    before = probes.training_groups(network.attend(t.initial, t.data, 6, 2), t.data).mean(axis=0)
    assert groups[0] > 2 * before[0]
    assert {"network", "initial", "data", "system", "basis"} <= set(dir(t))


def test_a_tested_model_answers_again_from_what_was_kept() -> None:
    t = lm.trained(answer_trials, Setting(**SMALL, step_size=10.0, steps=60))
    problem, key = t.setting.problem(), jax.random.key(0)
    trials = trials_piece(problem, key, t.system, draw_noise(problem, key, t.system.noise))
    outputs = answered(6, t.network, trials, t.system)[0]
    wrong = np.mean(np.asarray(outputs) != np.asarray(trials.truth)[:, 1:], axis=0)
    np.testing.assert_allclose(wrong, t.records.cot_error, atol=1e-6)


def sequence_of(setting: deep.DeepSetting, prompts: Any, basis: np.ndarray) -> Any:
    return jax.jit(lambda prompts, basis: deep.sequence(setting.problem(), prompts, basis))(prompts, basis)


@pytest.mark.parametrize("positions", ["orthonormal", "sinusoidal"])
def test_the_deep_network_says_again_what_was_recorded_and_its_five_groups_add_up(positions: str) -> None:
    setting = deep.DeepSetting(**TINY, heads=2, positions=positions)
    t = lm.trained(deep.train_deep, setting)
    columns, weight, target = sequence_of(setting, t.data, t.basis.astype(np.float32))
    said, shown = jax.jit(lambda *given: deep.answer(*given, 2, ("attention",)))(t.network, columns, weight)
    loss = 0.5 * np.mean(np.sum((np.asarray(said) - np.asarray(target)) ** 2, axis=1))
    assert loss == pytest.approx(float(t.records.train_loss[-1]), rel=1e-4)
    groups = t.records.head_groups
    assert groups.shape == (4, 3, 2, 5)
    np.testing.assert_allclose(groups.sum("five_group"), 1, atol=1e-5)
    attention = np.asarray(shown["attention"])[:, :, :, -1]
    np.testing.assert_allclose(attention[..., -1].mean(axis=1), groups.isel(record=-1, five_group=4), atol=1e-5)


def test_columns_of_the_deep_network_stand_example_by_example_and_the_query_at_its_own_number() -> None:
    setting = deep.DeepSetting(**TINY, positions="sinusoidal")
    K, room = setting.reasoning_steps, setting.examples
    order = deep.column_order(K, room)
    assert order[:4].tolist() == [0, room, 1, room + 1]
    problem, basis = setting.problem(), data.haar(np.random.default_rng(0), setting.dimension).astype(np.float32)
    prompts = data.watched_prompts(problem, jax.random.key(0), 0)
    with_places, plain = (
        np.asarray(sequence_of(each, prompts, basis)[0]) for each in (setting, setting.replace(position_scale=0.0))
    )
    added = (with_places - plain) / setting.position_scale
    table = np.asarray(sinusoidal(K * room + K + 1, 2 * setting.dimension))
    np.testing.assert_allclose(added[0, :3], table[1:4], atol=1e-5)
    for n in range(len(added)):
        np.testing.assert_allclose(added[n, -1], table[K * room + int(prompts.query_step[n]) + 1], atol=1e-5)
