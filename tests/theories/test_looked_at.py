"""Trained networks of the theories: cut to what the setting uses, trained on, evaluated elsewhere, saved and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from smoke import each_theory

import lemmata as lm
from lemmata.lab.theory import Theory

NAMED = {
    "vit": {"network", "initial", "data", "test", "signs", "basis"},
    "icl": {"network", "initial", "data", "test", "signs", "world"},
    "graph_transformer": {"network", "initial", "data", "test", "signs"},
    "exp_regression": {"network", "initial", "data", "head", "constants"},
    "teacher_student": {"network", "initial", "test", "teacher"},
    "cot": {"network", "initial", "data", "basis", "system"},
}
"""What a run of the theory's own simulation names."""


def small(theory: Theory) -> Any:
    """The setting of the smoke preset that the tests of a theory share."""
    return next(e for e in theory.experiments.values() if e.simulation is theory.simulate).presets["smoke"].setting


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", each_theory(*NAMED))
def test_a_trained_network_is_looked_at_saved_read_and_trained_on(name: str, tmp_path: Path) -> None:
    theory = lm.load(name)
    t = lm.trained(theory.simulate, small(theory), seed=1)
    assert NAMED[name] == set(dir(t)) - {"setting", "seed", "records", "save"}
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves((t.network, t.initial)))
    assert not same(t.network, t.initial)
    t.save(tmp_path / "run.npz")
    again = lm.trained(tmp_path / "run.npz")
    assert same(again.network, t.network)
    assert again.setting == t.setting
    assert again.records.identical(t.records)
    more = lm.trained(theory.simulate, t.setting, seed=1, network=again.network)
    assert same(more.initial, t.network)


@pytest.mark.xdist_group("vit")
def test_a_vit_has_as_many_samples_as_its_setting_and_goes_on_where_it_stopped() -> None:
    from lemmata.theories import vit

    setting = small(vit.theory).replace(samples=11, batch=0, steps=20, track="loss", stop="never")
    half = lm.trained(vit.simulate, setting.replace(steps=10))
    assert half.data.tokens.shape[0] == half.data.label.shape[0] == 11
    assert half.test.label.shape[0] == setting.test_samples
    whole, rest = (
        lm.trained(vit.simulate, setting),
        lm.trained(vit.simulate, setting.replace(steps=10), network=half.network),
    )
    np.testing.assert_allclose(rest.network.output, whole.network.output, rtol=1e-5, atol=1e-7)
    assert not np.allclose(rest.network.output, half.network.output, rtol=1e-5, atol=1e-7)


@pytest.mark.xdist_group("vit")
def test_a_vit_is_evaluated_on_other_data() -> None:
    from lemmata.theories import vit
    from lemmata.theories.vit.training import evaluate

    setting = small(vit.theory)
    t, other = (lm.trained(vit.simulate, setting, seed) for seed in (0, 1))
    here, there = (evaluate(setting, t.network, t.signs, each.test) for each in (t, other))
    assert float(here["test_hinge"]) == pytest.approx(float(t.records.test_hinge), rel=1e-6)
    assert float(there["test_hinge"]) != pytest.approx(float(t.records.test_hinge), rel=1e-3)


@pytest.mark.xdist_group("exp_regression")
def test_the_neurons_of_exp_regression_are_those_that_are_used() -> None:
    from lemmata.networks.activations import ACTIVATIONS
    from lemmata.theories import exp_regression
    from lemmata.theories.exp_regression.network import forward

    setting = small(exp_regression.theory).replace(neurons=6, step="given", step_size=1e-3, horizon="given", steps=20)
    half = lm.trained(exp_regression.simulate, setting)
    assert half.network.shape == (setting.dimension, 6)
    assert set(np.abs(half.head.signs)) == {1.0}
    with lm.numerics("float64"):
        answers = np.asarray(forward(half.network, half.head, half.data.x, ACTIVATIONS[setting.activation]))
    assert float(np.sum((answers - half.data.y) ** 2)) == pytest.approx(float(half.records.final_square), rel=1e-12)
    whole = lm.trained(exp_regression.simulate, setting.replace(steps=40))
    rest = lm.trained(exp_regression.simulate, setting, network=half.network)
    np.testing.assert_allclose(rest.network, whole.network, rtol=1e-12)


@pytest.mark.xdist_group("icl")
def test_the_prompts_of_icl_have_no_room_that_is_not_used() -> None:
    from lemmata.theories import icl

    setting = small(icl.theory)
    room = setting.replace(context_room=setting.contexts + 3, test_context_room=setting.test_contexts + 5)
    t = lm.trained(icl.simulate, room)
    assert t.data.contexts.shape[1] == setting.contexts
    assert t.test.contexts.shape[1] == setting.test_contexts
    assert t.world.roles.shape[0] == setting.total


@pytest.mark.xdist_group("graph_transformer")
def test_a_graph_transformer_has_as_many_neurons_and_bins_as_its_setting() -> None:
    from lemmata.theories import graph_transformer

    setting = small(graph_transformer.theory)
    assert setting.neuron_room > setting.neurons
    t = lm.trained(graph_transformer.simulate, setting)
    assert t.network.network.output.shape[0] == t.signs.shape[0] == setting.neurons
    assert t.network.encoding.shape == (setting.bins,)
    assert np.all(t.signs != 0)


@pytest.mark.xdist_group("teacher_student")
@pytest.mark.parametrize("dynamics", ["population", "online"])
def test_a_student_answers_as_its_records_say(dynamics: str) -> None:
    from lemmata.theories import teacher_student
    from lemmata.theories.teacher_student.network import half_mean_square, position_scores, respond

    setting = small(teacher_student.theory).replace(dynamics=dynamics, track="outputs", steps=20)
    t = lm.trained(teacher_student.simulate, setting)
    with lm.numerics("float64"):
        scores = position_scores(t.network.attention, t.teacher.positions, setting.temperature)
        answers = respond(t.network.values, scores, t.test.inputs, setting.negative_slope)
        excess = float(half_mean_square(answers - t.test.labels))
    recorded = t.records.batch_excess.dropna("record")[-1]
    assert excess == pytest.approx(float(recorded), rel=1e-9)


@pytest.mark.xdist_group("teacher_student")
def test_population_descent_goes_on_where_it_stopped() -> None:
    from lemmata.theories import teacher_student

    setting = small(teacher_student.theory).replace(dynamics="population", steps=20, escapes=0)
    half = lm.trained(teacher_student.simulate, setting)
    whole = lm.trained(teacher_student.simulate, setting.replace(steps=40))
    rest = lm.trained(teacher_student.simulate, setting, network=half.network)
    for name in ("values", "attention"):
        np.testing.assert_allclose(getattr(rest.network, name), getattr(whole.network, name), rtol=1e-9, atol=1e-12)
    assert float(rest.records.worst_values) < 1e-9


@pytest.mark.xdist_group("teacher_student")
def test_an_exact_path_has_its_scalars_and_no_network() -> None:
    from lemmata.theories import teacher_student

    setting = small(teacher_student.theory).replace(dynamics="recursion", steps=20, defect="none")
    t = lm.trained(teacher_student.simulate, setting)
    assert np.isfinite(t.path.value).any()
    with pytest.raises(AttributeError, match="has no 'network'"):
        _ = t.network
