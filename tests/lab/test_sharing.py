"""A training that is asked for again is not computed again: cells, experiments, commands and workers share it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr
from forge import Forked

import lemmata as lm
from lemmata.lab import runner, shelf
from lemmata.lab import sweep as sweeps
from lemmata.lab.ensemble import Layout
from lemmata.lab.names import describe
from lemmata.lab.outlook import Foresights, look_ahead
from lemmata.lab.registry import load

THEORY = """
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    step_size: float = lm.number(0.1, "η", "step size", low=0)
    shift: float = lm.number(0.0, "s", "shift of the tests")
    unused: float = lm.number(0.0, "", "read by nothing")
    steps: int = lm.number(40, "T", "steps", low=0, integer=True)
    tests: int = lm.size(4, "", "tests")
    looks: str = lm.choice("loss", "what is recorded", "loss", "shifted")
    second: bool = lm.flag(False, "train a second network on the first")
    broken: str = lm.choice("no", "a test that fails", "no", "yes")


@lm.piece(once=True)
def draw(problem, key):
    return jax.random.normal(key, (6,))


@lm.piece("looks")
def train(problem, key, start):
    def step(t, x):
        return x - problem.step_size * (jnp.sin(x) - 0.1 * jax.random.normal(jax.random.fold_in(key, t), x.shape))

    def probe(x, previous):
        return {"loss": jnp.sum((x - (problem.shift if problem.looks == "shifted" else 0.0)) ** 2)}

    return lm.loop(step, start, probe, lm.record_steps(problem.steps, 3))


@lm.piece("tests", once=True)
def test(problem, key, x):
    return jnp.mean(jnp.abs(jax.random.normal(key, (problem.tests, 1)) + problem.shift - x))


@lm.simulation(lm.Variable("loss", ("record",), "", "loss"), lm.Variable("error", (), "", "test error"))
def simulate(problem, key, prepared=None):
    run = train(problem, lm.stream(key, "batch"), draw(problem, lm.stream(key, "init")))
    if problem.second:
        run = train(problem, lm.stream(key, "batch", 1), run.state)
    if problem.broken == "yes":
        raise ArithmeticError("no test")
    loss = run.records.pop("loss")  # what a run does to its dictionaries must not be seen by those it shares with
    return {"loss": loss, "error": test(problem, lm.stream(key, "test"), run.state)}


def experiment(name, axes, seeds=4, **fields):
    presets = {"smoke": lm.Preset(Setting(**fields), axes, seeds)}
    return lm.Experiment(name, "?", "(1)", simulate, presets, lambda data: Figure(figsize=(1, 1)))


EXPERIMENTS = [
    experiment("e1-shift", {"shift": [0.0, 1.0, 2.0], "step_size": [0.1, 0.2]}),
    experiment("e2-tests", {"tests": [4, 9], "shift": [3.0, 4.0]}),
    experiment("e3-unused", {"unused": [0.0, 1.0]}),
    experiment("e4-broken", {"broken": ["no", "yes"], "shift": [0.0, 1.0]}),
    experiment("e5-looks", {"shift": [0.0, 1.0]}, looks="shifted"),
    experiment("e6-second", {"shift": [0.0, 1.0]}, second=True),
]
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, EXPERIMENTS, [])
"""


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(THEORY)


Said = list[str]


def run(name: str, out: str = "out", said: Said | None = None, **options: Any) -> tuple[dict[str, Any], xr.Dataset]:
    """The record and the data of an experiment."""
    say: Callable[[str], None] = (said if said is not None else []).append
    outcome = runner.run(load("toy.py"), name, runner.Options("smoke", out=Path(out), **options), say=say)
    return json.loads((outcome.path / "run.json").read_text()), outcome.data


def counts(record: dict[str, Any]) -> tuple[int, int]:
    return record["trained"], record["reused"]


def unshared(name: str, monkeypatch: pytest.MonkeyPatch) -> xr.Dataset:
    """The data of an experiment whose runs all train by themselves."""
    with monkeypatch.context() as patch:
        patch.setattr(shelf.Shelf, "read", lambda *_, **__: None)
        patch.setattr(sweeps, "plan", lambda chunks, layout, family=None: PLAN(chunks, layout))
        record, data = run(name, "alone")
    assert counts(record)[1] == 0
    return data


PLAN = sweeps.plan


def test_cells_that_differ_in_their_tests_alone_share_one_training(monkeypatch: pytest.MonkeyPatch) -> None:
    record, data = run("e1-shift")
    assert counts(record) == (2 * 4, 2 * 2 * 4)
    assert data.identical(unshared("e1-shift", monkeypatch))


def test_static_tests_and_other_experiments_share_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    run("e1-shift")
    record, data = run("e2-tests")
    assert counts(record) == (0, 4 * 4)
    assert data.identical(unshared("e2-tests", monkeypatch))


def test_the_next_command_finds_it_and_what_was_deleted_or_damaged_is_trained_again() -> None:
    assert Forked(["run", "toy.py/e1-shift", "--preset", "smoke", "--out", "out"]).wait() == 0
    pieces = sorted(Path("out/toy/.pieces").iterdir())
    assert len(pieces) == 8
    for file in pieces[:3]:
        file.unlink()
    pieces[3].write_bytes(pieces[3].read_bytes()[:-4] + b"oops")
    again, data = run("e1-shift", overwrite=True)
    assert counts(again) == (4, 20)
    assert data.identical(run("e1-shift", "elsewhere")[1])


def test_workers_share_trainings_and_give_the_same_bits() -> None:
    here = run("e1-shift", "local")[1]
    with lm.open_engine("processes:2") as opened:
        options = runner.Options("smoke", out=Path("out"))
        outcome = runner.run(load("toy.py"), "e1-shift", options, engine=opened)
    record = json.loads((outcome.path / "run.json").read_text())
    assert counts(record) == (8, 16)
    assert outcome.data.identical(here)


def test_a_training_whose_records_read_the_tests_is_not_shared() -> None:
    assert counts(run("e5-looks")[0]) == (8, 0)


def test_both_trainings_of_a_run_are_shared() -> None:
    assert counts(run("e6-second")[0]) == (8, 8)


def test_a_failed_test_leaves_the_other_cells_of_its_family_alone() -> None:
    record, data = run("e4-broken")
    assert data.error.sel(broken="no").notnull().all()
    assert data.error.sel(broken="yes").isnull().all()
    assert all("no test" in reason for reason in record["failures"].values())
    assert record["trained"] >= 4


def test_stacked_runs_share_trainings_and_more_tests_leave_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run("e1-shift", "threads")[1]
    monkeypatch.setattr(runner, "default_layout", lambda *_: Layout("vmap", 512, 2))
    record, data = run("e1-shift")
    assert counts(record) == (2, 4), "a stack is one training"
    assert data.sel(shift=[0.0]).identical(run("e1-shift", "fewer", changes=("shift=0",))[1])
    for name in data.data_vars:
        np.testing.assert_allclose(data[name], usual[name], rtol=1e-5)


def test_shuffled_axes_and_reversed_labels_change_nothing() -> None:
    toy = load("toy.py")
    axes = {"shift": [0.0, 1.0, 2.0], "step_size": [0.1, 0.2]}
    straight = lm.sweep(toy.simulate, toy.setting(), axes, seeds=3)
    turned = lm.sweep(toy.simulate, toy.setting(), {"step_size": [0.2, 0.1], "shift": [2.0, 0.0, 1.0]}, seeds=3)
    assert turned.transpose(*straight.dims).reindex_like(straight).equals(straight)


def test_a_field_that_changes_nothing_is_told() -> None:
    said: Said = []
    record, _ = run("e3-unused", said=said)
    assert said == ["e3-unused: unused has no effect here."]
    assert record["warnings"] == ["unused has no effect here."]
    assert counts(record) == (4, 4)
    said.clear()
    run("e2-tests", "changed", said, changes=("unused=2", "step_size=0.3"))
    assert said == ["e2-tests: unused has no effect here."]
    said.clear()
    run("e1-shift", "other", said)
    assert said == []


def test_what_changes_nothing_in_some_cells_only_is_not_told() -> None:
    class Gated(lm.Setting):
        """A number that counts only where it is switched on."""

        amount: float = lm.number(1.0, "", "amount")
        used: int = lm.number(0, "", "whether it counts", low=0, high=1, integer=True)
        mode: str = lm.choice("off", "", "off", "on")

    @lm.piece("mode")
    def respond(problem: Any, key: jax.Array) -> Any:
        return jax.random.normal(key) + (problem.amount if problem.mode == "on" else 0.0)

    @lm.simulation(lm.Variable("value", (), "", "a value"))
    def simulate(problem: Any, key: jax.Array, prepared: None = None) -> dict[str, Any]:
        return {"value": respond(problem, lm.stream(key, "data"))}

    from lemmata.lab.grid import make_grid

    grid = make_grid(Gated(), {"amount": [1.0, 2.0], "mode": ["off", "on"]})
    assert look_ahead(Foresights(simulate, 0, "float32"), grid).idle == []
    grid = make_grid(Gated(), {"amount": [1.0, 2.0]})
    assert look_ahead(Foresights(simulate, 0, "float32"), grid).idle == ["amount"]


def test_a_number_that_is_read_outside_the_pieces_has_an_effect() -> None:
    class Plain(lm.Setting):
        """A number that no piece reads."""

        scale: float = lm.number(1.0, "", "scale")

    @lm.piece()
    def sample(problem: Any, key: jax.Array) -> Any:
        return jax.random.normal(key)

    @lm.simulation(lm.Variable("value", (), "", "a value"))
    def simulate(problem: Any, key: jax.Array, prepared: None = None) -> dict[str, Any]:
        return {"value": problem.scale * sample(problem, lm.stream(key, "data"))}

    from lemmata.lab.grid import make_grid

    grid = make_grid(Plain(), {"scale": [1.0, 2.0]})
    assert look_ahead(Foresights(simulate, 0, "float32"), grid).idle == []


def test_a_full_disk_only_means_that_trainings_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shelf, "write_whole", refuse)
    record, data = run("e1-shift")
    assert counts(record) == (8, 16), "in memory they are shared all the same"
    assert data.error.notnull().all()


def test_the_name_of_a_program_does_not_depend_on_what_was_traced_before() -> None:
    """What is traced at the same time elsewhere, or dropped meanwhile, changes how JAX prints a program."""
    inner, forgets = jax.jit(lambda x: 2 * jax.numpy.sin(x)), False

    def program(x: jax.Array) -> jax.Array:
        first = inner(x)
        if forgets:
            jax.clear_caches()
        return first + inner(x)

    def trace() -> Any:
        return jax.jit(lambda x: program(x)).trace(jax.ShapeDtypeStruct((3,), "float32"))

    first = trace()
    forgets = True
    second = trace()
    assert str(first.jaxpr) != str(second.jaxpr)
    assert describe(first, 1, 1).digest == describe(second, 1, 1).digest
    other = jax.jit(lambda x: inner(x) - inner(x)).trace(jax.ShapeDtypeStruct((3,), "float32"))
    assert describe(other, 1, 1).digest != describe(first, 1, 1).digest


@pytest.mark.parametrize(
    "other",
    [
        lambda x, y: 2.5 * jax.numpy.sin(x) + y,
        lambda x, y: 2 * jax.numpy.cos(x) + y,
        lambda x, y: 2 * jax.numpy.sin(y) + x,
        lambda x, y: 2 * jax.numpy.sin(x) + x,
        lambda x, y: jax.lax.fori_loop(0, 2, lambda i, z: jax.numpy.sin(z), x) + y,
        lambda x, y: jax.lax.cond(x[0] > 0, jax.numpy.sin, jax.numpy.cos, x) + y,
        lambda x, y: jax.lax.cond(x[0] > 0, jax.numpy.cos, jax.numpy.sin, x) + y,
        lambda x, y: jax.numpy.sum(x) + y,
        lambda x, y: jax.numpy.sum(x, keepdims=True) + y,
        lambda x, y: (2 * jax.numpy.sin(x) + y).astype("float16"),
    ],
)
def test_other_programs_have_other_names(other: Callable[..., jax.Array]) -> None:
    shape = jax.ShapeDtypeStruct((3,), "float32")
    named = {
        describe(jax.jit(each).trace(shape, shape), 2, 1).digest
        for each in (lambda x, y: 2 * jax.numpy.sin(x) + y, other)
    }
    assert len(named) == 2
