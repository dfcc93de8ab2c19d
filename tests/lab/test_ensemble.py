"""The ensemble: precision, layouts, and results that do not depend on how the runs are grouped."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import lemmata as lm
from lemmata.lab import live
from lemmata.lab import sweep as sweep_module
from lemmata.lab.engines import local
from lemmata.lab.ensemble import CPU, Layout, result_shapes, simulate_runs, workers
from lemmata.lab.errors import Interrupted
from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.precision import numerics
from lemmata.lab.store import Chunk
from lemmata.lab.sweep import plan
from lemmata.lab.work import Call
from lemmata.theories import vit

PRECISIONS = ("float32", "float64")
VMAP = Layout("vmap", runs=64, block=8)


class Regression(lm.Setting):
    """Noisy linear regression by mini-batch descent."""

    step_size: float = lm.number(0.05, "η", "step size", low=0, open_ends="low")
    noise: float = lm.number(0.1, "σ", "label noise", low=0)
    steps: int = lm.number(8, "T", "steps", low=0, integer=True)
    dimension: int = lm.size(3, "d", "dimension")
    scheme: str = lm.choice("epochs", "batches", "epochs", "iid")


@lm.piece("dimension", once=True)
def draw(problem: lm.Problem, key: jax.Array) -> Any:
    weight_key, x_key, noise_key = jax.random.split(key, 3)
    x = jax.random.normal(x_key, (16, problem.dimension))
    truth = jax.random.normal(weight_key, (problem.dimension,))
    return x, x @ truth + problem.noise * jax.random.normal(noise_key, (16,))


@lm.piece("scheme")
def train(problem: lm.Problem, key: jax.Array, data: Any) -> Any:
    batches = lm.epochs(key, 16, 16, 4) if problem.scheme == "epochs" else lm.independent(key, 16, 4)

    def loss(w: jax.Array, batch: lm.Batch) -> jax.Array:
        x, y = batch.take(data)
        return jnp.sum(batch.weight * (x @ w - y) ** 2)

    start, step = lm.descent(jax.grad(loss), optax.sgd(problem.step_size), batches)
    probe = lambda state, previous: {"loss": jnp.mean((data[0] @ state.parameters - data[1]) ** 2)}  # noqa: E731
    return lm.loop(step, start(jnp.zeros(data[0].shape[1])), probe, lm.record_steps(problem.steps, 5))


@lm.simulation(
    lm.Variable("loss", ("record",), "L", "training loss"),
    lm.Variable("step", ("record",), "t", "step"),
    lm.Variable("weights", ("place",), "w", "weights"),
    lm.Variable("last_step", (), "", "last step"),
)
def regress(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    run = train(problem, lm.stream(key, "batch"), draw(problem, lm.stream(key, "data")))
    return {**run.records, "step": run.step, "weights": run.state.parameters, "last_step": run.last_step}


def rows(results: list[dict[str, np.ndarray]], name: str) -> np.ndarray:
    return np.stack([result[name] for result in results])


RUNS = [(Regression(step_size=rate, steps=steps), seed) for rate, steps in ((0.05, 8), (0.1, 3)) for seed in (0, 1, 7)]


# Precision


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("layout", [CPU, VMAP], ids=lambda layout: layout.kind)
def test_every_output_has_the_precision_that_was_asked_for(precision, layout):
    for result in simulate_runs(regress, RUNS[:2], layout, precision):
        assert {name: str(value.dtype) for name, value in result.items()} == dict.fromkeys(result, precision)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_variable_of_a_sweep_has_the_precision_that_was_asked_for(precision):
    data = lm.sweep(regress, Regression(), {"step_size": [0.05]}, seeds=1, precision=precision)
    assert set(data.data_vars) == {"loss", "step", "weights", "last_step"}
    assert {str(data[name].dtype) for name in data.data_vars} == {precision}


@pytest.mark.xdist_group("vit")
def test_every_output_of_the_vision_transformer_has_double_precision_where_that_was_asked_for():
    tiny = vit.Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=9, records=21, track="neurons", batch=4)
    general = tiny.replace(classes=4, patterns=6, members=2, dimension=18, track="loss", batch=0, keep=0.8)
    returned = {}
    for setting in (tiny, general):
        (result,) = simulate_runs(vit.simulate, [(setting, 0)], CPU, "float64")
        assert {name: str(value.dtype) for name, value in result.items()} == dict.fromkeys(result, "float64")
        returned |= result
    assert returned.keys() == {variable.name for variable in vit.simulate.variables}


def test_float64_is_more_than_float32_widened():
    single, double = (simulate_runs(regress, RUNS[:1], CPU, precision)[0]["weights"] for precision in PRECISIONS)
    assert np.any(double != double.astype(np.float32))
    assert single.shape == double.shape


def test_true_float32_products_are_asked_for_inside_numerics_and_only_there():
    before = (jax.config.jax_default_matmul_precision, jnp.ones(1).dtype)
    for precision in PRECISIONS:
        with numerics(precision):
            assert jax.config.jax_default_matmul_precision == "highest"
            assert jnp.ones(1).dtype == precision
    assert (jax.config.jax_default_matmul_precision, jnp.ones(1).dtype) == before
    with pytest.raises(AssertionError, match="float16"), numerics("float16"):
        pass


def product(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    asked.append(jax.config.jax_default_matmul_precision)
    matrix = jax.random.normal(key, (4, 4))
    return {"product": jnp.sum(matrix @ matrix)}


asked: list[Any] = []
products = lm.simulation(lm.Variable("product", (), "", "a product"))(product)


@pytest.mark.parametrize("layout", [CPU, VMAP], ids=lambda layout: layout.kind)
def test_every_run_asks_for_true_float32_products(layout):
    asked.clear()
    simulate_runs(products, [(Regression(), 0), (Regression(), 1)], layout, "float32")
    lm.sweep(products, Regression(), seeds=6)
    assert len(asked) >= 6
    assert set(asked) == {"highest"}


def test_a_simulation_called_by_hand_asks_for_true_float32_products_too():
    asked.clear()
    products(Regression(), jax.random.key(0))
    assert asked == ["highest"]


def test_numerics_are_those_of_the_thread():
    seen = {}

    def look() -> None:
        seen["other"] = jnp.ones(1).dtype

    with numerics("float64"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert jnp.ones(1).dtype == "float64"
    assert seen["other"] == "float32"


# Layouts


@pytest.mark.parametrize("precision", PRECISIONS)
def test_both_layouts_agree_to_rounding_over_a_few_steps(precision):
    single = simulate_runs(regress, RUNS, CPU, precision)
    stacked = simulate_runs(regress, RUNS, VMAP, precision)
    tolerance = 1e-5 if precision == "float32" else 1e-13
    for name in ("loss", "weights", "step", "last_step"):
        assert rows(single, name).shape == rows(stacked, name).shape
        np.testing.assert_allclose(rows(single, name), rows(stacked, name), rtol=tolerance, atol=tolerance)
    assert rows(single, "last_step").tolist() == [8, 8, 8, 3, 3, 3]


@pytest.mark.xdist_group("vit")
def test_the_vision_transformer_agrees_in_both_layouts_over_a_few_steps():
    tiny = vit.Setting(tokens=10, neurons=16, samples=8, test_samples=16, steps=3, records=21)
    runs = [(tiny, 0), (tiny.replace(step_size=0.3, train_attention=0), 1)]
    single, stacked = (simulate_runs(vit.simulate, runs, layout, "float64") for layout in (CPU, VMAP))
    for name in single[0]:
        np.testing.assert_allclose(rows(single, name), rows(stacked, name), rtol=1e-10, atol=1e-12, err_msg=name)


def chunks_of(grid: Grid, blocks: int) -> list[Chunk]:
    """Every cell with so many blocks of four seeds."""
    return [
        Chunk(cell, block, range(4 * block, 4 * block + 4), setting)
        for cell, setting in grid.cells.items()
        for block in range(blocks)
    ]


def test_more_seeds_leave_the_calls_of_the_earlier_ones_as_they_were():
    grid = make_grid(Regression(), {"step_size": [0.1, 0.2, 0.3]})
    layout = Layout("vmap", runs=10, block=4)
    few = chunks_of(grid, 1)
    more = chunks_of(grid, 2)
    earlier = [call for call in plan(more, layout) if call.chunks[0].block == 0]
    assert earlier == plan(few, layout)


@pytest.mark.parametrize(("block", "threads"), [(1, 1), (1, 3), (2, 1), (5, 2), (64, 2)])
def test_a_sweep_does_not_depend_on_blocks_and_threads(monkeypatch, block, threads):
    axes = {"step_size": [0.05, 0.1], "scheme": ["epochs", "iid"]}
    reference = lm.sweep(regress, Regression(), axes, seeds=7)
    monkeypatch.setattr(sweep_module, "default_layout", lambda *_, **__: Layout("threads", 1, block))
    monkeypatch.setattr(local, "workers", lambda layout: threads)
    assert lm.sweep(regress, Regression(), axes, seeds=7).equals(reference)


def test_a_stacked_sweep_fills_every_cell_with_its_own_runs(monkeypatch):
    axes = {"step_size": [0.05, 0.1], "labels": {"clean": {"noise": 0.0}, "noisy": {"noise": 1.0}}, "scheme": ["iid"]}
    reference = lm.sweep(regress, Regression(), axes, seeds=5)
    monkeypatch.setattr(sweep_module, "default_layout", lambda *_, **__: Layout("vmap", 6, 2))
    stacked = lm.sweep(regress, Regression(), axes, seeds=5)
    for name in reference.data_vars:
        np.testing.assert_allclose(stacked[name], reference[name], rtol=1e-4, atol=1e-5)


def test_calls_are_at_most_as_large_as_the_layout_and_share_their_static_fields():
    grid = make_grid(Regression(), {"dimension": [2, 3], "step_size": [0.1, 0.2, 0.3]})
    chunks = chunks_of(grid, 2)
    calls = plan(chunks, Layout("vmap", runs=10, block=4))
    assert sorted(map(id, (chunk for call in calls for chunk in call.chunks))) == sorted(map(id, chunks))
    for call in calls:
        assert sum(len(chunk.seeds) for chunk in call.chunks) <= 10
        assert len({chunk.setting.dimension for chunk in call.chunks}) == 1
        assert len({chunk.block for chunk in call.chunks}) == 1
    assert len(calls) == 8


def test_from_threads_every_chunk_is_a_call_and_those_with_new_programs_come_first():
    grid = make_grid(Regression(), {"dimension": [2, 3], "step_size": [0.1, 0.2, 0.3]})
    chunks = chunks_of(grid, 2)
    calls = plan(chunks, CPU)
    assert [len(call.chunks) for call in calls] == [1] * len(chunks)
    assert {call.chunks[0] for call in calls} == set(chunks)
    assert [call.chunks[0].setting.dimension for call in calls[:2]] == [2, 3]


def test_a_call_larger_than_the_layout_is_one_block():
    chunks = [Chunk((), 0, range(20), Regression()), Chunk((), 1, range(20, 40), Regression())]
    assert plan(chunks, Layout("vmap", runs=10, block=20)) == [Call(((chunk,),)) for chunk in chunks]


def test_one_thread_per_core_makes_single_calls_and_one_makes_stacked_calls():
    assert workers(VMAP) == 1
    assert workers(CPU) >= 1


def test_work_stops_between_two_runs_when_asked():
    started = []

    @lm.simulation(lm.Variable("value", (), "", ""), host=True)
    def count(setting: Regression, seed: int) -> dict[str, Any]:
        started.append(seed)
        return {"value": 0.0}

    with live.around(live.Live(stopping=lambda: len(started) == 3)), pytest.raises(Interrupted):
        simulate_runs(count, [(Regression(), seed) for seed in range(9)], CPU, "float32")
    assert started == [0, 1, 2]


def test_shapes_are_known_without_computing():
    shapes = result_shapes(regress, Regression(dimension=5), 0, "float32")
    assert shapes == {"loss": (5,), "step": (5,), "weights": (5,), "last_step": ()}
