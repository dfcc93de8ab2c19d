"""Training (section 4): plain SGD on fresh batches, when it is recorded, and when it stops.

Every run of this file is in float64 and has room for more contexts than its prompts have.
"""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.networks.shallow import Network
from lemmata.theories.icl.data import World, draw_world, training_prompts
from lemmata.theories.icl.experiments import TINY
from lemmata.theories.icl.network import initialise
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import REGISTER, train_network

FAST: Any = {"compiler_options": {"xla_backend_optimization_level": 0}}
ROOM, CONTEXTS = 9, 6
FIELDS: dict[str, Any] = {
    **TINY, "steps": 300, "record_every": 10, "records": 31, "context_room": ROOM, "contexts": CONTEXTS,
    "a_scale": "1/sqrt(m)", "initial_scale": 0.2, "step_size": 0.05, "moments": "register",
}  # fmt: skip
SETTING = Setting(**FIELDS)
STOPPED = SETTING.replace(moments="even", stop="reached")
STEPS = 4


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Trained(NamedTuple):
    world: World
    before: Network
    signs: Any
    run: Any

    @property
    def after(self) -> Network:
        return self.run.state.parameters


@functools.cache
def trained(setting: Setting, seed: int = 0) -> Trained:
    world, network, _, signs, run = train_network(setting.problem(), jax.random.key(seed))
    run = run._replace(state=run.state._replace(batches=None))
    return Trained(*jax.device_get((world, network, signs, run)))


@functools.partial(jax.jit, static_argnames="count", **FAST)
def draw_batches(problem: Any, key: jax.Array, world: World, count: int) -> Any:
    problem = problem.only(["context_capacity", "batch"])
    draw = lambda t: training_prompts(problem, jax.random.fold_in(stream(key, "batch"), t), world, problem.batch)  # noqa: E731
    return jax.vmap(draw)(np.arange(count))


def batches(setting: Setting, world: World, seed: int = 0, count: int = STEPS) -> Any:
    return jax.device_get(draw_batches(setting.problem(), jax.random.key(seed), world, count=count))


def descend(network: Any, a: Any, batch: Any, step_size: float, attention: float = 1.0) -> Any:
    """One step of SGD by the formulas of section 4, prompt by prompt, on the contexts that are there."""
    w_o, w_v, w_k, w_q = (np.array(leaf) for leaf in network)
    total = [np.zeros_like(w) for w in (w_o, w_v, w_k, w_q)]
    for contexts, query, z in zip(batch.contexts, batch.query, batch.label, strict=True):
        p = contexts[:CONTEXTS]
        mass = np.exp(p @ w_k.T @ w_q @ query)
        s = mass / mass.sum()
        mean = s @ p
        v = w_v @ mean
        h = w_o @ v
        if z * (a @ np.maximum(h, 0)) >= 1:
            continue
        gate = a * (h > 0)
        g = w_o.T @ gate
        w = (s * (p @ w_v.T @ g)) @ (p - mean)
        parts = np.outer(gate, v), np.outer(g, mean), np.outer(w_q @ query, w), np.outer(w_k @ w, query)
        for sum_, part in zip(total, parts, strict=True):
            sum_ -= z * part
    scale = step_size / len(batch.label)
    d_o, d_v, d_k, d_q = (scale * sum_ for sum_ in total)
    moved: Any = (w_o - d_o, w_v - d_v, w_k - attention * d_k, w_q - attention * d_q)
    return Network(*moved)


@pytest.mark.parametrize(
    "changed", [{}, {"label_order": "shuffled"}, {"train_attention": 0}], ids=["true", "coins", "frozen"]
)
def test_training_is_plain_sgd_on_a_fresh_batch_at_every_step(changed: dict[str, Any]) -> None:
    setting = SETTING.replace(steps=STEPS, step_size=0.8, **changed)
    run = trained(setting)
    drawn = batches(setting, run.world)
    network = run.before
    for t in range(STEPS):
        batch = jax.tree.map(lambda leaf, t=t: leaf[t], drawn)
        network = descend(network, run.signs, batch, 0.8, setting.train_attention)
    for name, one, two, start in zip(Network._fields, run.after, network, run.before, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-14, err_msg=name)
        frozen = setting.train_attention == 0 and name in ("key", "query")
        assert (np.abs(one - start).max() > 1e-5) != frozen, name
    assert run.run.last_step == STEPS
    assert np.abs(run.run.records["watch_hinge"][0] - run.run.last["watch_hinge"]) > 1e-4


def test_room_that_is_not_used_is_never_seen() -> None:
    drawn = batches(SETTING, trained(SETTING.replace(steps=STEPS, step_size=0.8)).world)
    assert drawn.contexts.shape == (STEPS, SETTING.batch, ROOM, SETTING.token_width)
    np.testing.assert_array_equal(drawn.weight, np.broadcast_to(np.arange(ROOM) < CONTEXTS, drawn.weight.shape))
    # the first test compares with prompts that were cut off there: everything beyond it differs from zero
    assert np.abs(drawn.contexts[:, :, CONTEXTS:]).max() > 1


def test_frozen_attention_leaves_keys_and_queries_untouched_to_the_bit() -> None:
    run = trained(SETTING.replace(train_attention=0))
    np.testing.assert_array_equal(run.after.key, run.before.key)
    np.testing.assert_array_equal(run.after.query, run.before.query)
    assert np.abs(run.after.value - run.before.value).max() > 1e-2


def test_the_same_seed_has_the_same_patterns_and_initial_weights_in_every_cell() -> None:
    key = jax.random.key(7)
    cells = [SETTING, SETTING.replace(fraction=0.3, steps=5, label_order="shuffled", step_size=0.1, contexts=2)]
    worlds = [jax.device_get(draw_world(cell.problem(), key)) for cell in cells]
    starts = [jax.device_get(initialise(cell.problem(), key)) for cell in cells]
    for one, two in zip(jax.tree.leaves((worlds[0], starts[0])), jax.tree.leaves((worlds[1], starts[1])), strict=True):
        np.testing.assert_array_equal(one, two)
    other = jax.device_get(draw_world(SETTING.problem(), jax.random.key(8)))
    assert np.abs(worlds[0].basis - other.basis).max() > 0.1
    # the initial scale multiplies the same start
    small, _ = jax.device_get(initialise(SETTING.replace(initial_scale=0.1).problem(), key))
    np.testing.assert_array_equal(small.output, starts[0][0].output)
    np.testing.assert_allclose(2 * small.value, starts[0][0].value)


# Records and stops


def test_training_stops_at_the_first_record_with_a_hinge_below_a_fifth() -> None:
    run = trained(STOPPED).run
    hinge, last = run.records["watch_hinge"], int(run.last_step)
    used = last // 10 + 1
    assert 5 < used < 30
    assert run.step[:used].tolist() == list(range(0, last + 1, 10))
    assert hinge[used - 1] < 0.2 <= hinge[: used - 1].min()
    assert run.last["watch_hinge"] == hinge[used - 1]
    assert run.first["reached"] == last
    assert np.isnan(run.step[used:]).all()
    assert np.isnan(hinge[used:]).all()


def test_the_stop_changes_nothing_before_it_and_a_run_without_one_goes_on() -> None:
    whole, stopped = trained(SETTING).run, trained(STOPPED).run
    assert whole.last_step == 300 > stopped.last_step
    steps = whole.step[~np.isnan(whole.step)].astype(int)
    common = [(i, step // 10) for i, step in enumerate(steps) if step <= stopped.last_step and step % 10 == 0]
    assert len(common) > 3
    for i, j in common:
        assert whole.records["watch_hinge"][i] == pytest.approx(stopped.records["watch_hinge"][j], rel=1e-8)
    below = steps[whole.records["watch_hinge"][: len(steps)] < 0.2]
    assert whole.first["reached"] == below[0] >= stopped.last_step


def test_a_run_that_does_not_arrive_is_censored_and_ends_with_its_last_step() -> None:
    run = trained(STOPPED.replace(steps=25)).run
    assert run.first["reached"] == np.inf
    assert run.last_step == 25
    assert run.diverged == 0
    assert run.step[:4].tolist() == [0, 10, 20, 25]
    assert np.isnan(run.step[4:]).all()
    assert run.last["watch_hinge"] == run.records["watch_hinge"][3]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(100, [0, 10, 50, 100]), (120, [0, 10, 50, 100, 120]), (650, [*REGISTER, 650]), (600, [*REGISTER]), (0, [0])],
)
def test_the_moments_of_the_register_are_recorded_and_the_last_step(steps: int, expected: list[int]) -> None:
    run = trained(SETTING.replace(steps=steps)).run
    used = ~np.isnan(run.step)
    assert run.step[used].tolist() == expected
    assert (np.flatnonzero(used) == np.arange(len(expected))).all()
    assert (np.isnan(run.records["watch_hinge"]) == ~used).all()
    assert run.last_step == steps


def test_the_register_is_that_of_the_specification() -> None:
    assert REGISTER == (0, 10, 50, 100, 150, 200, 225, 250, 275, 300, 350, 400, 600)


def test_a_huge_step_size_is_called_divergence_and_leaves_finite_numbers() -> None:
    run = trained(SETTING.replace(step_size=1e200))
    assert run.run.diverged == 1
    assert run.run.last_step < 300
    assert all(np.isfinite(leaf).all() for leaf in run.after)
    assert trained(SETTING).run.diverged == 0
