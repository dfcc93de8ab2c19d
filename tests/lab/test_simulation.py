"""Simulations: named streams of randomness, declared variables, host work, and pieces that compile on their own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.lab import ensemble
from lemmata.lab.engines import local
from lemmata.lab.ensemble import Layout
from lemmata.lab.simulation import STREAMS


class Gaussian(lm.Setting):
    """A sample mean with a shift."""

    shift: float = lm.number(0.0, "s", "shift")
    count: int = lm.size(4, "n", "numbers drawn")
    prepared: str = lm.choice("plain", "what is prepared", "plain", "other")


traced: Counter[str] = Counter()


@lm.piece("count", once=True)
def draw(problem: lm.Problem, key: jax.Array, *, copies: int = 1) -> jax.Array:
    traced["draw"] += 1
    return jax.random.normal(key, (copies, problem.count))


@lm.piece()
def shifted(problem: lm.Problem, values: jax.Array) -> jax.Array:
    traced["shifted"] += 1
    return values + problem.shift


@lm.simulation(
    lm.Variable("values", ("copy", "place"), "x", "numbers drawn"),
    lm.Variable("moved", ("place",), "x + s", "the first copy, shifted"),
    lm.Variable("start", (), "w", "a number of the stream init"),
    labels={"copy": ("first", "second")},
)
def gaussian(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    values = draw(problem, lm.stream(key, "data"), copies=2)
    start = jax.random.normal(lm.stream(key, "init"))
    return {"values": values, "moved": shifted(problem, values[0]), "start": start}


# Streams


def test_the_table_of_streams_only_grows():
    assert list(STREAMS.items())[:7] == [
        ("graph", 0), ("data", 1), ("init", 2), ("batch", 3), ("sampler", 4), ("test", 5), ("noise", 6),
    ]  # fmt: skip
    assert len(set(STREAMS.values())) == len(STREAMS)


def test_a_stream_of_a_seed_is_the_same_key_for_ever():
    keys = {name: jax.random.key_data(lm.stream(jax.random.key(7), name)).tolist() for name in STREAMS}
    assert {name: keys[name] for name in ("graph", "data", "init", "batch", "sampler", "test", "noise")} == {
        "graph": [3625411723, 1954958720],
        "data": [195045567, 4062205631],
        "init": [966301609, 1948237315],
        "batch": [276534068, 1641862660],
        "sampler": [51277378, 3088387524],
        "test": [3583082021, 1947592014],
        "noise": [2687091327, 3539857703],
    }


def test_streams_of_one_seed_and_of_different_seeds_are_distinct():
    keys = [lm.stream(jax.random.key(seed), name) for seed in range(20) for name in STREAMS]
    assert len({tuple(jax.random.key_data(key).tolist()) for key in keys}) == 20 * len(STREAMS)


def test_an_unknown_stream_is_an_error():
    with pytest.raises(lm.UserError, match="did you mean 'data'"):
        lm.stream(jax.random.key(0), "date")


def test_the_same_seed_has_the_same_data_in_every_cell():
    data = lm.sweep(gaussian, Gaussian(), {"shift": [0.0, 1.0, 5.0]}, seeds=3, seed=4)
    assert np.ptp(data["values"].values, axis=0).max() == 0
    assert np.ptp(data.start.values, axis=0).max() == 0
    np.testing.assert_allclose(data.moved.sel(shift=5) - data.moved.sel(shift=0), 5, rtol=1e-5)
    assert len(np.unique(data.start.isel(shift=0))) == 3
    again = lm.sweep(gaussian, Gaussian(), {"shift": [1.0]}, seeds=1, seed=5)
    np.testing.assert_array_equal(again["values"].sel(seed=5, shift=1), data["values"].sel(seed=5, shift=1))


# Variables


def test_dimensions_are_the_axes_the_seed_and_the_declared_ones_with_their_labels():
    data = lm.sweep(gaussian, Gaussian(), {"shift": [0.0, 1.0]}, seeds=2, seed=10)
    assert data["values"].dims == ("shift", "seed", "copy", "place")
    assert data.moved.dims == ("shift", "seed", "place")
    assert data.start.dims == ("shift", "seed")
    assert data["copy"].values.tolist() == ["first", "second"]
    assert data.seed.values.tolist() == [10, 11]
    assert "place" not in data.coords
    assert data.moved.attrs == {"long_name": "the first copy, shifted", "symbol": "x + s"}
    np.testing.assert_array_equal(data["values"].sel(copy="first", shift=0), data.moved.sel(shift=0))


def test_an_undeclared_variable_is_an_error_that_names_it():
    @lm.simulation(lm.Variable("known", (), "", "declared"))
    def wrong(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
        return {"known": jnp.zeros(()), "unknwon": jnp.zeros(())}

    with pytest.raises(KeyError, match="wrong returned undeclared variables: unknwon"):
        wrong(Gaussian(), jax.random.key(0))
    with pytest.raises((KeyError, RuntimeError), match="unknwon"):
        lm.sweep(wrong, Gaussian(), seeds=1)


def test_a_declared_variable_may_be_absent():
    @lm.simulation(lm.Variable("known", (), "", "declared"), lm.Variable("rare", (), "", "not always returned"))
    def partial(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
        return {"known": jnp.zeros(())}

    assert set(lm.sweep(partial, Gaussian(), seeds=1).data_vars) == {"known"}


def test_one_run_takes_a_setting_or_a_problem_and_a_key_or_a_seed():
    setting = Gaussian(shift=2.0)
    runs = [gaussian(setting, 3), gaussian(setting, jax.random.key(3)), gaussian(setting.problem(), 3)]
    assert len({tuple(run["moved"].tolist()) for run in runs}) == 1


def test_a_single_run_is_the_run_of_a_sweep():
    run = gaussian(Gaussian(shift=2.0), jax.random.key(3))
    data = lm.sweep(gaussian, Gaussian(), {"shift": [2.0]}, seeds=2, seed=2)
    for name, value in run.items():
        np.testing.assert_array_equal(data[name].sel(shift=2, seed=3), value)


# Pieces


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "workers", lambda layout: 1)
    traced.clear()
    for piece in (draw, shifted):
        piece.forget_programs()


@pytest.mark.usefixtures("counting")
def test_a_piece_that_runs_once_compiles_one_program_for_all_seeds_and_numbers():
    lm.sweep(gaussian, Gaussian(), {"shift": [0.0, 1.0, 2.0]}, seeds=4)
    assert (draw.count_programs(), shifted.count_programs()) == (1, 1)


@pytest.mark.usefixtures("counting")
def test_keyword_arguments_of_a_piece_are_static():
    problem, key = Gaussian().problem(), jax.random.key(0)
    assert draw(problem, key, copies=2).shape == (2, 4)
    assert draw(problem, key, copies=3).shape == (3, 4)
    assert draw(problem, key, copies=2).shape == (2, 4)
    assert traced["draw"] == 2


def test_a_piece_keeps_its_name_and_docstring():
    @lm.piece()
    def named(problem: lm.Problem) -> Any:
        """What it does."""
        return problem.shift

    assert (named.__name__, named.__doc__) == ("named", "What it does.")


# Host work


def test_prepared_arrays_reach_the_simulation_of_their_setting_and_seed():
    seen: list[tuple[str, int]] = []

    def prepare(setting: Gaussian, seed: int) -> dict[str, np.ndarray]:
        assert isinstance(setting, Gaussian)
        seen.append((setting.prepared, seed))
        return {"table": np.full(3, 10.0 * seed + (setting.prepared == "other"), np.float32)}

    @lm.simulation(lm.Variable("table", ("place",), "", "what was prepared"), prepare=prepare)
    def prepared_run(problem: lm.Problem, key: jax.Array, prepared: Any) -> dict[str, Any]:
        return {"table": shifted(problem, prepared["table"])}

    data = lm.sweep(prepared_run, Gaussian(shift=0.5), {"prepared": ["plain", "other"]}, seeds=2, seed=3)
    assert data.table.sel(prepared="plain", seed=4).values.tolist() == [40.5] * 3
    assert data.table.sel(prepared="other", seed=3).values.tolist() == [31.5] * 3
    assert {("plain", 3), ("plain", 4), ("other", 3), ("other", 4)} == set(seen)
    runs = [(Gaussian(shift=shift), seed) for shift in (0.0, 1.0) for seed in (1, 2)]
    stacked = ensemble.simulate_runs(prepared_run, runs, Layout("vmap", 4, 2), "float32")
    assert [run["table"].tolist() for run in stacked] == [[10.0] * 3, [20.0] * 3, [11.0] * 3, [21.0] * 3]


def test_a_host_simulation_sees_the_setting_and_the_integer_seed():
    @lm.simulation(lm.Variable("value", (), "", "a number"), lm.Variable("row", ("place",), "", "a row"), host=True)
    def table(setting: Gaussian, seed: int) -> dict[str, Any]:
        assert isinstance(setting, Gaussian)
        assert isinstance(seed, int)
        return {"value": setting.shift + seed, "row": np.arange(3.0)}

    for layout in (Layout("threads", 1, 5), Layout("vmap", 8, 8)):
        runs = ensemble.simulate_runs(table, [(Gaussian(shift=0.5), 2), (Gaussian(count=9), 3)], layout, "float32")
        assert [float(run["value"]) for run in runs] == [2.5, 3.0]
    data = lm.sweep(table, Gaussian(), {"shift": [0.25, 1.0]}, seeds=3)
    np.testing.assert_array_equal(data.value.sel(shift=0.25), [0.25, 1.25, 2.25])
    assert data.row.dims == ("shift", "seed", "place")
    with pytest.raises(KeyError, match="undeclared"):
        lm.simulation(host=True)(lambda setting, seed: {"other": 1.0})(Gaussian(), 0)
