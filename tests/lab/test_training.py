"""The training loop and the descent step, against plain Python loops and closed forms on quadratic losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lemmata.lab import training
from lemmata.lab.batches import Batches, epochs, full
from lemmata.lab.precision import numerics
from lemmata.lab.training import Run, descent, record_steps

STEPS, RATE = 12, 0.1
SAMPLES, CAPACITY = 6, 8


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    with numerics("float64"):
        yield


def loop(step: Any, state: Any, probe: Any, at: jax.Array, **options: Any) -> Run:
    """The loop inside one program, as a piece has it."""
    return jax.jit(lambda state, at: training.loop(step, state, probe, at, **options))(state, at)


def regression() -> tuple[np.ndarray, np.ndarray]:
    """Six samples of a linear problem, padded to eight with rows that would show."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CAPACITY, 3))
    y = x @ np.asarray([1.0, -2.0, 0.5]) + 0.3
    x[SAMPLES:], y[SAMPLES:] = 1e6, -1e6
    return x, y


X, Y = regression()


def slope(parameters: dict[str, Any], batch: Any) -> dict[str, Any]:
    """The gradient of the weighted mean of (w x + b - y)^2 / 2."""
    x, y = batch.take((jnp.asarray(X), jnp.asarray(Y)))
    residual = batch.weight * (x @ parameters["w"] + parameters["b"] - y)
    return {"w": residual @ x, "b": jnp.sum(residual)}


def zeros() -> dict[str, Any]:
    return {"w": jnp.zeros(3), "b": jnp.zeros(())}


def numpy_slope(parameters: dict[str, Any], rows: Any = slice(SAMPLES)) -> dict[str, Any]:
    x, y = X[rows], Y[rows]
    residual = (x @ parameters["w"] + parameters["b"] - y) / len(y)
    return {"w": residual @ x, "b": residual.sum()}


def everything() -> Batches:
    return full(SAMPLES, CAPACITY)


def losses(state: Any, previous: Any) -> dict[str, jax.Array]:
    residual = jnp.asarray(X)[:SAMPLES] @ state.parameters["w"] + state.parameters["b"] - jnp.asarray(Y)[:SAMPLES]
    return {"loss": jnp.mean(residual**2) / 2, "w": state.parameters["w"]}


def train(optimiser: Any, batches: Batches | None = None, records: int = 5, **options: Any) -> Run:
    start, step = descent(slope, optimiser, batches or everything(), **options)
    return loop(step, start(zeros()), losses, record_steps(STEPS, records, 3))


def by_hand(update: Callable[[int, dict[str, Any]], dict[str, Any]], steps: int = STEPS) -> list[dict[str, Any]]:
    """Parameters after 0, 1, ... steps of a plain loop; `update(t, gradient)` is what is subtracted."""
    parameters: dict[str, Any] = {"w": np.zeros(3), "b": 0.0}
    path = [parameters]
    for t in range(steps):
        change = update(t, numpy_slope(parameters))
        parameters = {name: parameters[name] - change[name] for name in parameters}
        path.append(parameters)
    return path


def same(run: Run, path: list[dict[str, Any]]) -> None:
    """The records are the path's and the last state its end."""
    at = [int(t) for t in np.asarray(run.step) if not np.isnan(t)]
    assert at == [0, 3, 6, 9, 12]
    np.testing.assert_allclose(run.records["w"], [path[t]["w"] for t in at], rtol=1e-12, atol=1e-14)
    wanted = [np.mean((X[:SAMPLES] @ path[t]["w"] + path[t]["b"] - Y[:SAMPLES]) ** 2) / 2 for t in at]
    np.testing.assert_allclose(run.records["loss"], wanted, rtol=1e-12)
    np.testing.assert_allclose(run.last["loss"], wanted[-1], rtol=1e-12)
    for name in ("w", "b"):
        np.testing.assert_allclose(run.state.parameters[name], path[-1][name], rtol=1e-12, atol=1e-14)


# The step


def test_plain_descent_on_the_full_batch_is_a_plain_loop():
    same(train(optax.sgd(RATE)), by_hand(lambda t, g: {name: RATE * g[name] for name in g}))


def test_full_batch_descent_contracts_by_the_closed_form():
    rates = jnp.asarray([0.5, 1.0, 3.0])
    start, step = descent(lambda w, batch: rates * w, optax.sgd(RATE), everything())
    run = loop(step, start(jnp.ones(3)), lambda s, p: {"w": s.parameters}, record_steps(STEPS, STEPS + 1))
    wanted = (1 - RATE * np.asarray(rates)) ** np.arange(STEPS + 1)[:, None]
    np.testing.assert_allclose(run.records["w"], wanted, rtol=1e-12)


def test_momentum_is_a_plain_loop_with_a_velocity():
    velocity = {"w": np.zeros(3), "b": 0.0}

    def update(t: int, g: dict[str, Any]) -> dict[str, Any]:
        for name in g:
            velocity[name] = 0.9 * velocity[name] + g[name]
        return {name: RATE * velocity[name] for name in g}

    same(train(optax.sgd(RATE, momentum=0.9)), by_hand(update))


def test_adam_is_a_plain_loop_with_two_moments():
    first, second = {"w": np.zeros(3), "b": 0.0}, {"w": np.zeros(3), "b": 0.0}

    def update(t: int, g: dict[str, Any]) -> dict[str, Any]:
        change = {}
        for name in g:
            first[name] = 0.9 * first[name] + 0.1 * g[name]
            second[name] = 0.999 * second[name] + 0.001 * g[name] ** 2
            mean, square = first[name] / (1 - 0.9 ** (t + 1)), second[name] / (1 - 0.999 ** (t + 1))
            change[name] = RATE * mean / (np.sqrt(square) + 1e-8)
        return change

    same(train(optax.adam(RATE)), by_hand(update))


def test_mini_batches_are_those_of_the_scheme():
    scheme = epochs(jax.random.key(1), SAMPLES, CAPACITY, 2)
    state, rows = scheme.start(), []
    for t in range(STEPS):
        state, batch = scheme.draw(state, jnp.asarray(t))
        rows.append(np.asarray(batch.rows))
    parameters: dict[str, Any] = {"w": np.zeros(3), "b": 0.0}
    for t in range(STEPS):
        g = numpy_slope(parameters, rows[t])
        parameters = {name: parameters[name] - RATE * g[name] for name in g}
    run = train(optax.sgd(RATE), scheme)
    np.testing.assert_allclose(run.state.parameters["w"], parameters["w"], rtol=1e-12)


def test_padding_never_enters_a_gradient():
    assert np.isfinite(train(optax.sgd(RATE)).records["loss"]).all()
    assert float(train(optax.sgd(RATE)).last["loss"]) < 1


def test_a_schedule_changes_the_step_size_by_stages():
    schedule = optax.piecewise_constant_schedule(RATE, {4: 0.5, 8: 0.1})
    rates = [RATE] * 4 + [RATE * 0.5] * 4 + [RATE * 0.05] * 4
    same(train(optax.sgd(schedule)), by_hand(lambda t, g: {name: rates[t] * g[name] for name in g}))


@pytest.mark.parametrize("optimiser", [optax.sgd(RATE), optax.adam(RATE), optax.sgd(RATE, momentum=0.9)])
def test_a_frozen_parameter_does_not_move_and_the_others_do(optimiser):
    run = train(optimiser, trainable={"w": 0, "b": 1.0})
    assert np.all(run.state.parameters["w"] == 0)
    assert float(run.state.parameters["b"]) != 0
    run = train(optimiser, trainable={"w": jnp.asarray(1), "b": jnp.asarray(0.0)})
    assert float(run.state.parameters["b"]) == 0
    assert np.all(run.state.parameters["w"] != 0)


def test_a_multiplier_scales_the_update_of_its_parameter():
    run = train(optax.sgd(RATE), trainable={"w": 0.5, "b": 2.0})
    same(run, by_hand(lambda t, g: {"w": 0.5 * RATE * g["w"], "b": 2.0 * RATE * g["b"]}))


def test_multipliers_may_be_a_prefix_of_the_tree_or_one_per_entry():
    start, step = descent(slope, optax.sgd(RATE), everything(), trainable=0.5)
    one = loop(step, start(zeros()), losses, record_steps(STEPS, 5, 3))
    same(one, by_hand(lambda t, g: {name: 0.5 * RATE * g[name] for name in g}))
    mask = jnp.asarray([1.0, 0.0, 1.0])
    run = train(optax.sgd(RATE), trainable={"w": mask, "b": 1.0})
    same(run, by_hand(lambda t, g: {"w": RATE * np.asarray(mask) * g["w"], "b": RATE * g["b"]}))

    def nested(parameters: Any, batch: Any) -> Any:
        return {"deep": slope(parameters["deep"], batch), "rest": jnp.ones(2)}

    start, step = descent(nested, optax.sgd(RATE), everything(), trainable={"deep": 0, "rest": 1})
    state = step(jnp.asarray(0), start({"deep": zeros(), "rest": jnp.zeros(2)}))
    assert all(np.all(leaf == 0) for leaf in jax.tree.leaves(state.parameters["deep"]))
    np.testing.assert_allclose(state.parameters["rest"], -RATE)


def test_stages_of_trainable_parameters_are_a_function_of_the_step():
    run = train(optax.sgd(RATE), trainable=lambda t: {"w": t < 5, "b": (t >= 5) * 1.0})
    same(run, by_hand(lambda t, g: {"w": RATE * g["w"] * (t < 5), "b": RATE * g["b"] * (t >= 5)}))


def test_gradient_noise_has_the_variance_that_was_asked_for():
    start, step = descent(
        lambda w, batch: {"a": jnp.zeros(2000), "b": jnp.zeros(2000)},
        optax.sgd(1.0),
        everything(),
        noise=0.7,
        key=jax.random.key(5),
    )
    state = start({"a": jnp.zeros(2000), "b": jnp.zeros(2000)})
    first = step(jnp.asarray(0), state).parameters
    second = step(jnp.asarray(1), state).parameters
    draws = [np.asarray(part) for part in (first["a"], first["b"], second["a"])]
    for draw in draws:
        # five standard errors of a mean and of a standard deviation
        assert abs(draw.mean()) < 5 * 0.7 / np.sqrt(2000)
        assert abs(draw.std() - 0.7) < 5 * 0.7 / np.sqrt(4000)
    correlations = np.corrcoef(draws)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_gradient_noise_depends_on_its_key_alone():
    noisy = partial(train, optax.sgd(RATE), noise=0.1)
    once, again, other = noisy(key=jax.random.key(1)), noisy(key=jax.random.key(1)), noisy(key=jax.random.key(2))
    assert once.records["w"].tolist() == again.records["w"].tolist()
    assert once.last["w"].tolist() != other.last["w"].tolist()
    silent = train(optax.sgd(RATE), noise=0.0, key=jax.random.key(1))
    np.testing.assert_allclose(silent.last["w"], train(optax.sgd(RATE)).last["w"], rtol=1e-14)
    with pytest.raises(AssertionError, match="needs a key"):
        noisy()


def test_two_calls_are_two_stages_of_one_training():
    scheme = epochs(jax.random.key(1), SAMPLES, CAPACITY, 4)
    whole = train(optax.adam(RATE), scheme)
    start, step = descent(slope, optax.adam(RATE), scheme)
    first = loop(step, start(zeros()), losses, record_steps(6, 3, 3))
    second = loop(step, first.state, losses, jnp.asarray([6, 9, 12]))
    assert second.step.tolist() == [6, 9, 12]
    assert second.records["w"].tolist() == whole.records["w"][2:].tolist()
    np.testing.assert_array_equal(second.state.parameters["w"], whole.state.parameters["w"])


def test_a_second_stage_with_a_new_optimiser_keeps_the_order_of_the_samples():
    scheme = epochs(jax.random.key(1), SAMPLES, CAPACITY, 2)
    schedule = optax.piecewise_constant_schedule(RATE, {4: 0.5})
    whole = train(optax.sgd(schedule), scheme)
    start, step = descent(slope, optax.sgd(RATE), scheme)
    first = loop(step, start(zeros()), losses, jnp.asarray([0, 4]))
    start, step = descent(slope, optax.sgd(RATE / 2), scheme)
    second = loop(step, start(first.state.parameters), losses, jnp.asarray([4, 12]))
    np.testing.assert_allclose(second.last["w"], whole.last["w"], rtol=1e-12)


# The loop: a state that is halved at every step, w_t = 2^-t


def halving(at: jax.Array, factor: Any = 0.5, start: Any = 1.0, dtype: Any = None, **options: Any) -> Run:
    return loop(
        lambda t, w: w * factor,
        jnp.asarray(start, dtype or jnp.result_type(float)),
        lambda w, previous: {"w": w, "moved": previous - w},
        at,
        **options,
    )


def test_the_probe_sees_the_state_at_the_previous_record():
    run = halving(record_steps(6, 4, 2))
    assert run.step.tolist() == [0, 2, 4, 6]
    assert run.records["w"].tolist() == [1, 2**-2, 2**-4, 2**-6]
    assert run.records["moved"].tolist() == [0, 1 - 2**-2, 2**-2 - 2**-4, 2**-4 - 2**-6]


@pytest.mark.parametrize("each_step", [False, True])
def test_training_stops_at_the_first_record_that_meets_the_condition(each_step):
    run = halving(record_steps(20, 21), stop=lambda probed: probed["w"] <= 0.1, each_step=each_step)
    assert run.step[:5].tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(run.step[5:]).all()
    assert np.isnan(run.records["w"][5:]).all()
    assert (float(run.state), float(run.last["w"]), float(run.last_step)) == (2**-4, 2**-4, 4)
    assert float(run.diverged) == 0


def test_a_run_that_meets_the_condition_at_once_is_not_trained():
    run = halving(record_steps(20, 21), stop=lambda probed: probed["w"] <= 1)
    assert (float(run.state), float(run.last_step)) == (1, 0)


def test_first_passages_are_reported_at_the_resolution_of_the_records():
    below = {str(level): (lambda probed, level=level: probed["w"] <= level) for level in (1, 0.3, 0.03, 1e-9)}
    run = halving(record_steps(12, 5, 3), passages=below)
    assert {name: float(step) for name, step in run.first.items()} == {"1": 0, "0.3": 3, "0.03": 6, "1e-09": np.inf}
    fine = halving(record_steps(12, 13), passages=below, each_step=True)
    assert {name: float(step) for name, step in fine.first.items()} == {"1": 0, "0.3": 2, "0.03": 6, "1e-09": np.inf}


def test_a_passage_is_the_first_one_even_if_the_condition_ceases_and_returns():
    run = loop(
        lambda t, w: -w,
        jnp.asarray(1.0),
        lambda w, previous: {"w": w},
        record_steps(6, 7),
        passages={"negative": lambda probed: probed["w"] < 0},
    )
    assert float(run.first["negative"]) == 1


@pytest.mark.parametrize("each_step", [False, True])
def test_a_diverging_run_is_flagged_and_frozen_at_its_last_finite_record(each_step):
    every = 1 if each_step else 2
    run = halving(record_steps(40, 41, every), 1e4, dtype=jnp.float32, each_step=each_step)
    # 1e36 is the last power of 1e4 below the largest float32
    last = 9 if each_step else 8
    assert float(run.diverged) == 1
    assert float(run.last_step) == last
    np.testing.assert_allclose([float(run.state), float(run.last["w"])], 1e4**last, rtol=1e-5)
    used = last // every + 1
    assert np.isfinite(run.records["w"][:used]).all()
    assert np.isnan(run.records["w"][used:]).all()
    assert np.isnan(run.step[used:]).all()


def test_a_state_that_becomes_nan_is_frozen_too():
    run = loop(
        lambda t, w: jnp.where(t == 4, jnp.nan, w + 1), jnp.asarray(0.0), lambda w, p: {"w": w}, record_steps(10, 11)
    )
    assert (float(run.diverged), float(run.state), float(run.last_step)) == (1, 4, 4)


def test_a_run_that_reaches_its_end_is_not_flagged():
    run = halving(record_steps(5, 6))
    assert (float(run.diverged), float(run.last_step)) == (0, 5)


def test_records_that_are_not_used_are_nan():
    run = halving(record_steps(3, 10))
    assert run.step[:4].tolist() == [0, 1, 2, 3]
    assert np.isnan(run.step[4:]).all()
    assert np.isnan(run.records["w"][4:]).all()
    nothing = halving(record_steps(0, 10))
    assert (float(nothing.state), float(nothing.last_step)) == (1, 0)
    assert nothing.step[0] == 0
    assert np.isnan(nothing.step[1:]).all()


@pytest.mark.parametrize("optimiser", [optax.sgd(RATE), optax.adam(RATE)])
@pytest.mark.parametrize("steps", [0, 7, 9])
def test_fusing_step_and_probe_changes_nothing(optimiser, steps):
    start, step = descent(slope, optimiser, epochs(jax.random.key(1), SAMPLES, CAPACITY, 4))
    runs = [
        loop(
            step,
            start(zeros()),
            losses,
            record_steps(steps, 10),
            stop=lambda probed: probed["loss"] < 0.5,
            passages={"one": lambda probed: probed["loss"] < 1},
            each_step=each_step,
        )
        for each_step in (False, True)
    ]
    general, fused = (jax.tree.leaves((r.state.parameters, r.records, r.step, r.first, r.last_step)) for r in runs)
    for a, b in zip(general, fused, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)


def test_the_number_of_steps_compiles_nothing_new():
    run = jax.jit(lambda steps, every: halving(record_steps(steps, 9, every)).state)
    for steps, every in ((0, 1), (1, 1), (8, 2), (50, 3), (1000, 1)):
        assert float(run(steps, every)) == 0.5**steps
    assert run._cache_size() == 1


@pytest.mark.parametrize("each_step", [False, True])
def test_runs_under_vmap_are_the_single_runs(each_step):
    def one(factor: jax.Array, steps: jax.Array) -> Run:
        return halving(
            record_steps(steps, 9),
            factor,
            stop=lambda probed: probed["w"] < 0.01,
            passages={"tenth": lambda probed: probed["w"] < 0.1},
            each_step=each_step,
        )

    factors, steps = jnp.asarray([0.5, 0.1, 0.9, 1e200]), jnp.asarray([8, 5, 3, 8])
    stacked = jax.vmap(one)(factors, steps)
    for i in range(4):
        single = one(factors[i], steps[i])
        for a, b in zip(jax.tree.leaves(single), jax.tree.leaves(stacked), strict=True):
            np.testing.assert_array_equal(a, b[i])
    assert stacked.last_step.tolist() == [7, 3, 3, 1]
    assert stacked.diverged.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("each_step", [False, True])
def test_under_vmap_the_loop_leaves_when_every_run_has_stopped(each_step):
    calls = []

    def count(w: np.ndarray) -> np.ndarray:
        calls.append(None)
        return w

    def step(t: jax.Array, w: jax.Array) -> jax.Array:
        return jax.pure_callback(count, jax.ShapeDtypeStruct(w.shape, w.dtype), w * 0.5, vmap_method="broadcast_all")

    def one(start: jax.Array) -> Run:
        return loop(
            step,
            start,
            lambda w, previous: {"w": w},
            record_steps(1000, 1001),
            stop=lambda probed: probed["w"] <= 1,
            each_step=each_step,
        )

    run = jax.block_until_ready(jax.vmap(one)(jnp.asarray([2.0, 16.0, 4.0])))
    assert run.last_step.tolist() == [1, 4, 2]
    assert 4 <= len(calls) <= 6


def test_what_is_recorded_has_the_precision_of_the_run():
    for precision in ("float32", "float64"):
        with numerics(precision):
            at = record_steps(3, 4)
            run = halving(at, passages={"never": lambda probed: probed["w"] < 0})
            floats = jax.tree.leaves((run.records, run.last, run.step, run.first, run.last_step, run.diverged))
            assert {str(leaf.dtype) for leaf in floats} == {precision}
