"""Compiled programs: the options of every effort, where the effort enters, who compiles what, and the count."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from command import Lemmata
from jax.errors import JaxRuntimeError

import lemmata as lm
from lemmata.benchmarks.compile import CLAIMS, EAGER, count_theory
from lemmata.lab import programs, registry
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.ensemble import CPU, Layout, default_layout, simulate_runs
from lemmata.lab.precision import numerics
from lemmata.lab.runner import Options, run
from lemmata.lab.store import Store

TOY = '''
import jax, jax.numpy as jnp
import lemmata as lm
from lemmata.lab import programs
from matplotlib.figure import Figure


class Setting(lm.Setting):
    rate: float = lm.number(0.1, "r", "step size", low=0)
    width: int = lm.size(12, "m", "width")


@lm.piece("width", once=True)
def draw(problem, key):
    return jax.random.normal(key, (problem.width, problem.width)) / problem.width


@lm.piece(once=True)
def turn(problem, x):
    """A piece that another one calls."""
    return jnp.tanh(x - problem.rate * x @ x.T @ x)


@lm.piece()
def train(problem, weights):
    probe = lambda x, _: {"size": jnp.sum(x**2), "row": x[0]}
    return lm.loop(lambda t, x: turn(problem, x) + jnp.cumsum(x, 1) * 1e-2, weights, probe, lm.record_steps(9, 4))


@lm.simulation(
    lm.Variable("size", ("record",), "", "size"),
    lm.Variable("row", ("record", "column"), "", "a row"),
    lm.Variable("effort", (), "", "with which effort the run is compiled"),
)
def simulate(problem, key, prepared=None):
    records = train(problem, draw(problem, lm.stream(key, "init"))).records
    effort = list(programs.EFFORTS).index(programs.effort())
    return {"size": records["size"], "row": records["row"], "effort": jnp.asarray(float(effort))}


@lm.evidence("e1-toy")
def last(data, factor=1.0):
    """The last size."""
    return factor * data["size"].isel(record=-1)


SMALL, LARGE = lm.at_most(100.0), lm.Control("large", factor=1e6)
CLAIMS = [
    lm.Claim("c1-small", "(1)", "bound").states("It stays small.").judged(last(), SMALL, LARGE),
]
PRESETS = {name: lm.Preset(Setting(), {}, 2) for name in ("smoke", "quick", "paper")}
EXPERIMENT = lm.Experiment("e1-toy", "How large?", "(1)", simulate, PRESETS, lambda data: Figure(figsize=(1, 1)))
CARD = {
    "name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.",
    "headlines": ["c1-small"],
}
theory = lm.Theory(CARD, Setting, simulate, [EXPERIMENT], CLAIMS)
'''
PIECES = {"draw", "train"}
EFFORTS = list(programs.EFFORTS)
ACCEPTED = {
    (name, value)
    for efforts in (programs.EFFORTS, programs.GPU_EFFORTS)
    for pair in efforts.values()
    for options in pair
    for name, value in options.items()
}
USUAL = {
    "xla_backend_optimization_level": 3,
    "xla_cpu_use_fusion_emitters": True,
    "xla_cpu_parallel_codegen_split_count": 32,
    "xla_llvm_disable_expensive_passes": False,
}
"""What XLA does without being told; the tests tell it otherwise for programs outside pieces."""
UNKNOWN = {"xla_no_such_option": 1}
REFUSED = "No such compile option"


@pytest.fixture
def toy(tmp_path: Path) -> lm.Theory:
    """A theory of which nothing is compiled."""
    (tmp_path / "toy.py").write_text(TOY)
    return registry.load("toy.py")


def count_pieces(count: programs.Count) -> dict[str, int]:
    """Programs by the piece's own name; "" is what no piece compiled."""
    return {name.rpartition(".")[2]: len(seconds) for name, seconds in count.pieces.items()}


# Options


def work(x: jax.Array, key: jax.Array) -> Any:
    x = jnp.tanh(x @ x) + jax.random.normal(key, x.shape)
    return jnp.sort(x.sum(0)), jnp.cumsum(x, 1).mean()


def compiled(options: dict[str, Any], salt: float = 0) -> Any:
    """A salt makes another program: one out of the cache has lost half of what tells it from others."""
    function = lambda x, key: work(x + salt, key)  # noqa: E731
    return jax.jit(function, compiler_options=options).lower(jnp.ones((16, 16)), jax.random.key(0)).compile()


@pytest.mark.parametrize(("name", "value"), sorted(ACCEPTED, key=str))
def test_the_compiler_still_knows_every_option(name: str, value: int | bool) -> None:
    """A new jaxlib may drop one: then it says so here. Those of a GPU are known to every backend."""
    compiled({name: value})


def test_an_option_that_the_compiler_does_not_know_is_an_error() -> None:
    with pytest.raises(JaxRuntimeError, match=REFUSED):
        compiled(UNKNOWN)


def test_every_option_of_fast_programs_changes_what_is_compiled() -> None:
    """Expensive passes leave no trace in a program this small."""
    salt = np.random.default_rng().uniform()
    size = lambda options: len(compiled(options, salt).runtime_executable().serialize())  # noqa: E731
    assert programs.FAST.keys() == USUAL.keys()
    fast = size(dict(programs.FAST))
    for name in programs.FAST.keys() - {"xla_llvm_disable_expensive_passes"}:
        assert size({**programs.FAST, name: USUAL[name]}) != fast, name
    assert fast < size(USUAL)


# Where the effort enters


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Give pieces that run once, or all others, an option that does not exist: whoever compiles with it fails."""

    def change(once: bool) -> None:
        monkeypatch.setattr(programs, "EFFORTS", {"fast": (UNKNOWN, {}) if once else ({}, UNKNOWN)})

    return change


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("kind", ["threads", "vmap"])
def test_the_options_reach_the_compiler_of_single_and_of_stacked_pieces(
    kind: str, once: bool, toy: lm.Theory, spoil: Callable[[bool], None]
) -> None:
    spoil(once)
    module = sys.modules[toy.simulate.function.__module__]
    problem, keys = toy.setting().problem(), jax.random.split(jax.random.key(0), 2)
    weights = jnp.ones((2, 12, 12))
    call = jax.vmap if kind == "vmap" else lambda function: lambda stack: function(stack[0])
    draw = call(lambda key: module.draw(problem, key))
    train = call(lambda start: module.train(problem, start).records["size"])
    with programs.compiling("fast"):
        for function, given, refused in ((draw, keys, once), (train, weights, not once)):
            if refused:
                with pytest.raises(JaxRuntimeError, match=REFUSED):
                    function(given)
            else:
                function(given)  # also where the piece inside it would be compiled with other options


def test_presets_have_their_efforts_and_data_say_so(toy: lm.Theory) -> None:
    assert programs.OF_PRESET == {"smoke": "fast", "quick": "mid", "paper": "full"}
    for preset, effort in programs.OF_PRESET.items():
        done = run(toy, "e1-toy", Options(preset, out=Path(preset)))
        assert json.loads((done.path / "run.json").read_text())["layout"]["effort"] == effort
        assert (done.data.effort == EFFORTS.index(effort)).all()


def test_without_a_preset_the_effort_is_that_of_the_thread() -> None:
    assert programs.effort() == programs.USUAL
    with programs.compiling("full"):
        assert (default_layout().effort, default_layout(backend="gpu").effort) == ("full", "full")
        with programs.compiling("fast"):
            assert programs.effort() == "fast"
        assert programs.effort() == "full"
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(programs.effort()))
        thread.start()
        thread.join()
        assert seen == [programs.USUAL]


def test_data_are_stale_when_the_options_of_their_effort_change(
    toy: lm.Theory, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options("smoke", out=Path("out"))
    run(toy, "e1-toy", options)
    others = {**programs.EFFORTS, "full": (UNKNOWN, UNKNOWN)}
    monkeypatch.setattr(programs, "EFFORTS", others)
    run(toy, "e1-toy", options)
    monkeypatch.setattr(programs, "EFFORTS", {**others, "fast": (programs.FAST, programs.MID)})
    with pytest.raises(lm.UserError, match="holds data with another compiler;"):
        run(toy, "e1-toy", options)
    said: list[str] = []
    again = Options("smoke", out=Path("out"), recompute_stale=True)
    run(toy, "e1-toy", again, say=said.append)
    assert said == ["e1-toy: stored data have another compiler; computing again."]
    run(toy, "e1-toy", options)


def test_trainings_of_other_efforts_have_other_names(toy: lm.Theory) -> None:
    def trainings(effort: str) -> tuple[bytes | None, ...]:
        with programs.compiling(effort):
            return toy.simulate.foresee(toy.setting(), 0).trainings

    found = [trainings(effort) for effort in (*EFFORTS, *EFFORTS)]
    assert found[:3] == found[3:]
    assert len(set(found)) == 3
    assert all(None not in names for names in found)


# The same bits for the same effort


@pytest.fixture(scope="module")
def workers() -> Iterator[Engine]:
    with open_engine("processes:2") as engine:
        yield engine


@pytest.mark.parametrize("effort", ["fast", "mid"])
def test_a_call_a_sweep_the_command_and_worker_processes_give_the_same_bits(
    effort: str, toy: lm.Theory, lemmata: Lemmata, workers: Engine
) -> None:
    (preset,) = [preset for preset, each in programs.OF_PRESET.items() if each == effort]
    with programs.compiling(effort):
        runs = [toy.simulate(toy.setting(), seed) for seed in range(2)]
        swept = lm.sweep(toy.simulate, toy.setting(), seeds=2)
        away = lm.sweep(toy.simulate, toy.setting(), seeds=2, engine=workers)
    done = lemmata("run", "toy.py/e1-toy", "--preset", preset, "--json")
    assert done.code == 0, done.err
    store = Store.open(Path(done.json["path"], "data.zarr"))
    assert store is not None
    stored = store.dataset()
    assert (swept.effort == EFFORTS.index(effort)).all()
    for name in swept.data_vars:
        expected = np.stack([run[name] for run in runs])
        for data in (swept, away, stored):
            np.testing.assert_array_equal(data[name], expected, err_msg=str(name))


def test_efforts_agree_to_rounding(toy: lm.Theory, monkeypatch: pytest.MonkeyPatch) -> None:
    full = (programs.ONCE, USUAL)  # what XLA does where nothing else is said
    monkeypatch.setattr(programs, "EFFORTS", {**programs.EFFORTS, "full": full})
    found = {}
    for effort in EFFORTS:
        (found[effort],) = simulate_runs(
            toy.simulate, [(toy.setting(), 3)], Layout("threads", 1, 1, 0, effort), "float32"
        )
    for effort in ("mid", "full"):
        for name in ("size", "row"):
            np.testing.assert_allclose(found[effort][name], found["fast"][name], rtol=1e-4, atol=1e-6)


# Who compiles what


def test_two_threads_that_ask_for_the_same_training_compile_it_once(toy: lm.Theory) -> None:
    begin, runs = threading.Barrier(2), list[Any]()

    def compute() -> None:
        begin.wait()
        runs.append(simulate_runs(toy.simulate, [(toy.setting(), 0)], CPU, "float32"))

    with programs.counting() as count:
        threads = [threading.Thread(target=compute) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(runs) == 2
    assert count_pieces(count)["train"] == 1


def test_what_a_foreseen_run_has_compiled_the_run_does_not_compile_again(toy: lm.Theory) -> None:
    setting = toy.setting()
    with numerics("float32"), programs.compiling("fast"):
        foreseen = toy.simulate.foresee(setting, 0, "float32").pieces
        with programs.counting() as ahead:
            for _ in range(2):
                for each in foreseen:
                    each.compile()
    assert count_pieces(ahead) == dict.fromkeys(PIECES, 1)
    with programs.counting() as count:
        simulate_runs(toy.simulate, [(setting, 0), (setting, 1)], Layout("threads", 1, 1, 0, "fast"), "float32")
    assert PIECES.isdisjoint(count_pieces(count))
    with programs.counting() as count:
        simulate_runs(toy.simulate, [(setting, 0)], Layout("threads", 1, 1, 0, "mid"), "float32")
    assert count_pieces(count)["train"] == 1, "another effort is another program"


# The count


def test_programs_are_counted_by_piece_and_those_of_no_piece_under_no_name(toy: lm.Theory) -> None:
    jax.clear_caches()
    with programs.counting() as count:
        toy.simulate(toy.setting(), 0)
        toy.simulate(toy.setting(), 1)
        toy.simulate(toy.setting(width=5), 0)
        jnp.arange(17.0) * 3
    counted = count_pieces(count)
    assert (counted["draw"], counted["train"]) == (2, 2)
    assert counted[""] >= 1
    assert counted.keys() == {*PIECES, ""}
    assert count.programs == sum(counted.values())
    assert count.seconds == pytest.approx(sum(map(sum, count.pieces.values())))
    assert all(second > 0 for seconds in count.pieces.values() for second in seconds)


def test_a_count_inside_another_is_part_of_it_and_ends_with_its_block() -> None:
    compile_one = lambda size: jax.jit(lambda x: x * size)(np.ones(size))  # noqa: E731
    with programs.counting() as outer:
        with programs.counting() as inner:
            compile_one(3)
        compile_one(5)
    compile_one(7)
    assert (inner.programs, outer.programs) == (1, 2)
    with pytest.raises(ZeroDivisionError), programs.counting() as broken:
        1 / 0  # noqa: B018
    compile_one(9)
    assert broken.programs == 0


ROW = {"theory", "experiment", "piece", "programs", "seconds"}


def check_rows(rows: list[dict[str, Any]]) -> None:
    assert all(row.keys() == ROW for row in rows)
    assert {row["theory"] for row in rows} == {"toy"}
    mine = {row["piece"].rpartition(".")[2]: row["programs"] for row in rows if row["experiment"] == "e1-toy"}
    assert {name: mine[name] for name in PIECES} == dict.fromkeys(PIECES, 1)
    assert mine.keys() <= {*PIECES, EAGER}
    assert {row["experiment"] for row in rows} <= {"e1-toy", CLAIMS}
    assert all(row["seconds"] > 0 for row in rows if row["piece"] != EAGER)


def test_the_programs_of_a_theory_are_counted_from_nothing(toy: lm.Theory) -> None:
    first, second = count_theory(toy), count_theory(toy)
    check_rows(first)
    assert [{**row, "seconds": 0} for row in first] == [{**row, "seconds": 0} for row in second]


def test_bench_compile_prints_rows_or_a_line_for_every_piece(
    toy: lm.Theory, lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "load_all", lambda: [toy])
    done = lemmata("bench", "compile", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json.keys() == {"compile"}
    check_rows(done.json["compile"])
    plain = lemmata("bench", "compile").out.splitlines()
    assert plain[0].startswith("toy: ")
    assert plain[-1].startswith("all: ")
    assert all(any(f".{piece} " in line for line in plain) for piece in PIECES)


def test_an_option_that_the_jaxlib_has_dropped_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt = {**programs.FAST, "xla_cpu_dropped_yesterday": True}
    monkeypatch.setattr(programs, "FAST", spoilt)
    monkeypatch.setattr(programs, "EFFORTS", {"fast": (spoilt, spoilt)})
    programs._dropped_options.cache_clear()
    with programs.counting() as count:
        told = programs.options("fast", once=True)
    programs._dropped_options.cache_clear()
    assert "xla_cpu_dropped_yesterday" not in told
    assert told.keys() <= spoilt.keys()
    assert count.programs == 0
