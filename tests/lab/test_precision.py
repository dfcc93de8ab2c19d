"""The precision that a simulation declares, wherever it is run, and who may ask for another; blocks of seeds."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

import lemmata as lm
from lemmata.lab import ensemble, runner
from lemmata.lab.ensemble import CPU, GPU, default_layout
from lemmata.lab.theory import Theory


class Third(lm.Setting):
    """A number that no binary fraction is."""

    divisor: float = lm.number(3.0, "q", "divisor", low=1)


VARIABLES = (lm.Variable("share", (), "1/q", "one over the divisor"), lm.Variable("drawn", (), "", "a random number"))


def share(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    return {"share": 1 / jnp.asarray(problem.divisor), "drawn": jax.random.normal(lm.stream(key, "data"))}


single = lm.simulation(*VARIABLES)(share)
double = lm.simulation(*VARIABLES, precision="float64")(share)


@lm.simulation(lm.Variable("share", (), "", ""), host=True, precision="float64")
def on_host(setting: Third, seed: int) -> dict[str, Any]:
    return {"share": 1 / jnp.asarray(setting.divisor)}


def digits(value: Any) -> str:
    """The precision in which a third was computed and is kept."""
    value = np.asarray(value)
    assert value.dtype in ("float32", "float64")
    exact = abs(float(value.ravel()[0]) - 1 / 3) < 1e-15
    assert exact == (value.dtype == "float64")
    return str(value.dtype)


def test_float32_is_what_a_simulation_runs_in_unless_it_says_otherwise():
    assert (single.precision, double.precision) == ("float32", "float64")


@pytest.mark.parametrize(("simulation", "precision"), [(single, "float32"), (double, "float64")])
def test_a_simulation_called_directly_runs_in_its_own_precision(simulation, precision):
    for key in (0, jax.random.key(0)):
        found = simulation(Third(), key)
        assert digits(found["share"]) == precision
        assert found["drawn"].dtype == precision
    assert digits(simulation(Third().problem(), 0)["share"]) == precision
    # and leaves the caller's as it was
    assert jnp.ones(1).dtype == "float32"


def test_a_host_simulation_runs_in_its_own_precision_too():
    assert digits(on_host(Third(), 0)["share"]) == "float64"
    assert digits(lm.sweep(on_host, Third(), seeds=1).share.values) == "float64"


@pytest.mark.parametrize(("simulation", "precision"), [(single, "float32"), (double, "float64")])
def test_a_sweep_runs_in_the_precision_of_its_simulation(simulation, precision):
    assert digits(lm.sweep(simulation, Third(), seeds=2).share.values) == precision


def test_a_sweep_may_ask_for_another_precision():
    assert digits(lm.sweep(double, Third(), seeds=1, precision="float32").share.values) == "float32"
    assert digits(lm.sweep(single, Third(), seeds=1, precision="float64").share.values) == "float64"
    with pytest.raises(lm.UserError, match="no precision 'float16'"):
        lm.sweep(double, Third(), seeds=1, precision="float16")


def test_a_run_by_hand_is_that_of_a_sweep():
    swept = lm.sweep(double, Third(), seeds=3)
    assert [float(double(Third(), seed)["drawn"]) for seed in range(3)] == swept.drawn.values.tolist()


def experiment(name: str, simulation: lm.Simulation, **asked: str) -> lm.Experiment:
    presets = {"quick": lm.Preset(Third(), {"divisor": [3.0]}, 2)}
    return lm.Experiment(name, "How much?", "", simulation, presets, lambda data: Figure(figsize=(1, 1)), **asked)


def test_an_experiment_runs_in_the_precision_of_its_simulation_or_in_its_own(tmp_path: Path):
    experiments = [
        experiment("single", single),
        experiment("double", double),
        experiment("less", double, precision="float32"),
        experiment("more", single, precision="float64"),
    ]
    wanted = {"single": "float32", "double": "float64", "less": "float32", "more": "float64"}
    assert {each.name: each.precision for each in experiments} == wanted
    card = dict.fromkeys(("name", "title", "authors", "question", "answer"), "third") | {"headlines": []}
    theory = Theory(card, Third, single, experiments, [])
    for name, precision in wanted.items():
        found = runner.run(theory, name, runner.Options("quick", out=tmp_path)).data
        assert digits(found.share.values) == precision


# Blocks of seeds


@pytest.mark.parametrize(
    ("seeds", "cells", "block"),
    [(1, 1, 1), (5, 2, 1), (5, 4, 3), (10, 3, 5), (100, 1, 5), (101, 1, 6), (200, 3, 10), (400, 9, 20), (2000, 4, 100)],
)
def test_hundreds_of_seeds_come_in_about_twenty_blocks_and_few_runs_in_six_tasks(monkeypatch, seeds, cells, block):
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    layout = default_layout(seeds, cells)
    assert (layout.kind, layout.runs, layout.block) == (CPU.kind, 1, block)
    assert -(-seeds // layout.block) <= ensemble.BLOCKS


def test_a_gpu_keeps_its_layout_whatever_the_seeds(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert default_layout(1) == default_layout(2000) == dataclasses.replace(GPU, platform="gpu")


def test_a_sweep_whose_last_block_is_not_full_is_complete():
    found = lm.sweep(double, Third(), seeds=103)
    assert found.sizes["seed"] == 103
    assert len(set(found.drawn.values.ravel().tolist())) == 103
