"""Host pieces, prepared host work, and the names of what pieces make."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lemmata as lm
from lemmata.lab import live, names
from lemmata.lab.ensemble import CPU, Layout, simulate_runs
from lemmata.lab.prepared import forget_prepared
from lemmata.lab.simulation import host_piece
from lemmata.lab.work import Work


class Setting(lm.Setting):
    """Points to be matched."""

    scale: float = lm.number(1.0, "", "scale of the points")
    other: float = lm.number(0.0, "", "not read")
    points: int = lm.size(4, "", "points")
    mode: str = lm.choice("plain", "", "plain", "doubled")


calls: list[tuple[int, ...]] = []


@host_piece(lambda costs: (jax.ShapeDtypeStruct(costs.shape[:1], jnp.int32), jax.ShapeDtypeStruct((), costs.dtype)))
def assign(costs: Any) -> Any:
    """The assignment of least cost, and its cost."""
    assert isinstance(costs, np.ndarray)
    calls.append(costs.shape)
    rows, columns = linear_sum_assignment(costs)
    return columns, costs[rows, columns].sum()


@lm.piece("points", "mode", once=True)
def draw(problem: Setting, key: jax.Array) -> jax.Array:
    drawn = problem.scale * jax.random.uniform(key, (problem.points, problem.points))
    return drawn if problem.mode == "plain" else 2 * drawn


@lm.piece()
def train(problem: Setting, costs: jax.Array, order: jax.Array) -> Any:
    step = lambda t, x: 0.5 * (x + jnp.take_along_axis(costs, order[:, None], 1)[:, 0])  # noqa: E731
    return lm.loop(step, jnp.zeros(costs.shape[0]), lambda x, _: {"sum": jnp.sum(x)}, lm.record_steps(30, 2))


@lm.simulation(lm.Variable("cost", (), "", "least cost"), lm.Variable("sum", (), "", "sum at the end"))
def match(problem: Setting, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    costs = draw(problem, lm.stream(key, "data"))
    order, cost = assign(costs)
    return {"cost": cost, "sum": train(problem, costs, order).last["sum"]}


def expected(setting: Setting, seed: int) -> float:
    costs = np.asarray(draw(setting.problem(), lm.stream(jax.random.key(seed), "data")))
    return float(costs[linear_sum_assignment(costs)].sum())


def test_host_work_inside_a_run_is_that_of_the_library() -> None:
    run = match(Setting(points=5), 3)
    assert float(run["cost"]) == pytest.approx(expected(Setting(points=5), 3), rel=1e-6)
    assert float(run["sum"]) == pytest.approx(float(run["cost"]), rel=1e-6)


def test_runs_with_host_work_can_be_stacked() -> None:
    runs = [(Setting(scale=scale), seed) for scale in (1.0, 3.0) for seed in range(3)]
    calls.clear()
    stacked = simulate_runs(match, runs, Layout("vmap", 8, 8), "float32")
    assert calls == [(4, 4)] * 6
    for (setting, seed), run in zip(runs, stacked, strict=True):
        assert float(run["cost"]) == pytest.approx(expected(setting, seed), rel=1e-5)
    single = simulate_runs(match, runs, CPU, "float32")
    np.testing.assert_allclose([r["sum"] for r in stacked], [r["sum"] for r in single], rtol=1e-5)


def test_a_stacked_piece_that_uses_nothing_that_differs_is_computed_once_for_all_runs() -> None:
    @lm.piece("points")
    def table(problem: Setting, key: jax.Array) -> jax.Array:
        return problem.scale * jnp.arange(problem.points * 1.0)

    keys = jax.random.split(jax.random.key(0), 3)
    found = jax.vmap(lambda key: table(Setting(scale=2.0).problem(), key))(keys)
    np.testing.assert_array_equal(found, np.tile(2.0 * np.arange(4.0), (3, 1)))


def test_host_work_is_legal_inside_a_compiled_function() -> None:
    costs = jax.random.uniform(jax.random.key(1), (3, 4, 4))
    order, cost = jax.jit(jax.vmap(assign))(costs)
    for row, value, matrix in zip(order, cost, np.asarray(costs), strict=True):
        assert row.tolist() == linear_sum_assignment(matrix)[1].tolist()
        assert float(value) == pytest.approx(matrix[linear_sum_assignment(matrix)].sum(), rel=1e-6)


def test_a_run_with_host_work_is_foreseen_without_it_and_its_name_is_the_actual_one() -> None:
    calls.clear()
    foresight = match.foresee(Setting(), 2)
    assert calls == []
    assert foresight.shapes == {"cost": (), "sum": ()}
    with live.around(live.Live(room=1)) as around:
        match(Setting(), 2)
    kept = {name for results in around._memory.values() for name in results}
    assert {each.name for each in foresight.pieces} == kept
    assert set(foresight.trainings) <= kept


def test_host_work_that_breaks_its_declaration_is_an_error() -> None:
    wrong = host_piece(lambda x: jax.ShapeDtypeStruct((3,), x.dtype))(lambda x: x[:2])
    with pytest.raises(ValueError, match=r"returned an array of shape \(2,\), but declares \(3,\)"):
        wrong(jnp.arange(4.0))


# Names


def name(setting: Setting, seed: int = 0) -> bytes:
    ((training,),) = [match.foresee(setting, seed).trainings]
    assert training is not None
    return training


def test_what_a_program_does_not_use_does_not_enter_its_name() -> None:
    assert name(Setting(other=3.0)) == name(Setting())
    assert name(Setting(scale=2.0)) != name(Setting())
    assert name(Setting(mode="doubled")) != name(Setting())
    assert name(Setting(), seed=1) != name(Setting())


def test_a_static_field_that_changes_no_program_leaves_the_name() -> None:
    @lm.piece("points", "mode")
    def sample(problem: Setting, key: jax.Array) -> jax.Array:
        return jax.random.normal(key, (problem.points if problem.mode == "none" else 3,))

    known = []
    for setting in (Setting(), Setting(points=9), Setting(mode="doubled")):
        with live.around(live.Live(room=1)):
            found = sample(setting.problem(), jax.random.key(0))
            known.append(names.name_of(found))
    assert len(set(known)) == 1


def test_arrays_that_nobody_made_are_named_by_content_and_type() -> None:
    assert names.name_of(jnp.arange(3.0)) == names.name_of(jnp.arange(3.0))
    others = [jnp.arange(3.0), jnp.arange(4.0), jnp.arange(3), np.arange(3.0), 3, 3.0, True, 1, jax.random.key(3)]
    assert len({names.name_of(each) for each in others}) == len(others)


def test_a_name_is_not_taken_over_by_an_array_in_the_same_place() -> None:
    seen = set()
    for number in range(200):
        array = jnp.full(100, float(number))
        seen.add(names.name_of(array))
        del array
    assert len(seen) == 200


def test_a_closed_over_array_is_part_of_the_name() -> None:
    found = []
    for value in (1.0, 2.0):
        table = jnp.full(3, value)
        piece = lm.piece()(lambda problem, x, table=table: x + table)
        with live.around(live.Live(room=1)):
            found.append(names.name_of(piece(Setting().problem(), jnp.ones(3))))
    assert found[0] != found[1]


# Prepared host work


def prepared_simulation() -> tuple[Any, list[tuple[float, int]]]:
    asked: list[tuple[float, int]] = []

    def prepare(setting: Setting, seed: int) -> dict[str, np.ndarray]:
        asked.append((setting.scale, seed))
        return {"graph": np.full(3, setting.scale * seed)}

    @lm.simulation(lm.Variable("value", (), "", "a value"), prepare=prepare)
    def simulate(problem: Setting, key: jax.Array, prepared: Any) -> dict[str, Any]:
        return {"value": jnp.sum(prepared["graph"]) + problem.other}

    forget_prepared()
    return simulate, asked


def test_prepared_work_is_shared_by_all_cells_that_agree_in_what_it_reads() -> None:
    simulate, asked = prepared_simulation()
    data = lm.sweep(simulate, Setting(), {"other": [0.0, 1.0, 2.0], "scale": [1.0, 2.0]}, seeds=3, seed=1)
    assert sorted(asked) == [(scale, seed) for scale in (1.0, 2.0) for seed in (1, 2, 3)]
    np.testing.assert_allclose(data.value, data.other + 3 * data.scale * data.seed)


def test_a_simulation_that_prepares_takes_a_key_or_says_what_it_needs() -> None:
    simulate, asked = prepared_simulation()
    by_key, by_seed = simulate(Setting(), jax.random.key(7)), simulate(Setting(), 7)
    assert float(by_key["value"]) == float(by_seed["value"]) == 21.0
    assert asked == [(1.0, 7)]
    with pytest.raises(lm.UserError, match=r"^simulate does host work before a run: call it with a Setting and a seed"):
        jax.vmap(lambda key: simulate(Setting(), key))(jax.random.split(jax.random.key(0), 2))
    with pytest.raises(lm.UserError, match="call it with a Setting and a seed"):
        simulate(Setting().problem(), 7)


def test_work_counts_what_it_trained(tmp_path: Any) -> None:
    from lemmata.lab.grid import make_grid
    from lemmata.lab.store import Store
    from lemmata.lab.sweep import plan

    grid = make_grid(Setting(), {"other": [0.0, 1.0]})
    store = Store.create(None, match, grid, range(2), 2, {"cost": (), "sum": ()}, "float32", {})
    work = Work(match, store, Layout("threads", 1, 2), "float32")
    (call,) = plan(store.chunks(grid), work.layout, dict.fromkeys(grid.cells, 0))
    answer = work.compute(call)
    assert (answer.trained, answer.reused, answer.reasons) == (2, 2, ["", ""])
