"""Divided trainings: run to a given step, looked at, kept and resumed, to the very bits of a run in one go."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.lab import live, names, programs
from lemmata.lab.inputs import noting
from lemmata.lab.shelf import Shelf

SOURCE = """
import jax, jax.numpy as jnp
import lemmata as lm


class Walk(lm.Setting):
    step_size: float = lm.number(0.1, "η", "step size", low=0)
    steps: int = lm.number(100, "T", "steps", low=0, integer=True)
    every: int = lm.number(20, "", "steps between records", low=1, integer=True)
    kick: int = lm.number(-1, "", "step whose update leaves the finite numbers", low=-1, integer=True)
    mend: int = lm.number(-1, "", "step that brings it back", low=-1, integer=True)
    stop_at: float = lm.number(0.0, "", "loss below which it stops", low=0)
    records: int = lm.size(8, "", "records", low=2)


@lm.piece("records")
def train(problem, key, start):
    def step(t, state):
        weights, low = state
        noise = 0.3 * jax.random.normal(jax.random.fold_in(key, t), weights.shape)
        moved = weights - problem.step_size * (jnp.sin(weights) - noise)
        moved = jnp.where(t == problem.kick, jnp.inf, moved)
        moved = jnp.where(t == problem.mend, start * 0.5, moved)
        return moved, jnp.minimum(low, jnp.min(moved))

    def probe(state, previous):
        return {"loss": jnp.sum(state[0] ** 2), "moved": jnp.max(jnp.abs(state[0] - previous[0]))}

    return lm.loop(
        step, (start, jnp.asarray(9.0)), probe,
        lm.record_steps(problem.steps, problem.records, problem.every),
        stop=lambda probed: probed["loss"] < problem.stop_at, passages={"small": lambda probed: probed["loss"] < 2.0},
        keep=jnp.asarray([20, 60, 61]), best=lambda probed: probed["loss"],
    )


@lm.piece(once=True)
def draw(problem, key):
    return jax.random.normal(key, (5,))


def run_once(setting, seed):
    problem, key = setting.problem(), jax.random.key(seed)
    return train(problem, lm.stream(key, "batch"), draw(problem, lm.stream(key, "init")))
"""
space: dict[str, Any] = {}
exec(compile(SOURCE, "walk.py", "exec"), space)
Walk, run_once, train = space["Walk"], space["run_once"], space["train"]

CASES = {
    "usual": Walk(),
    "odd records": Walk(steps=97, every=13),
    "stops early": Walk(stop_at=1.0),
    "leaves the finite numbers": Walk(kick=33),
    "at the first step": Walk(kick=0),
    "and comes back between two records": Walk(kick=25, mend=33),
    "no steps": Walk(steps=0),
}


def leaves(run: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(run)]


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(leaves(a), leaves(b), strict=True))


def divided(run: Any, cut: int, shelf: Shelf, **around: Any) -> tuple[Any, list[live.Moment]]:
    """The run, paused at every `cut` steps and continued from its checkpoint."""
    moments: list[live.Moment] = []
    for until in range(cut, 10_000, cut):
        paused = contextlib.suppress(live.Paused)
        with paused, live.around(live.Live(shelf, until=until, look=moments.append, **around)):
            return run(), moments
        assert moments[-1].step <= until
    raise AssertionError("it never ended")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "pieces", b"")


@pytest.mark.parametrize("cut", [1, 7, 20])
@pytest.mark.parametrize("case", CASES)
def test_a_training_that_is_divided_anywhere_ends_with_the_same_bits(case: str, cut: int, shelf: Shelf) -> None:
    whole = run_once(CASES[case], 3)
    part, moments = divided(lambda: run_once(CASES[case], 3), cut, shelf)
    assert same(part, whole)
    assert len(moments) >= (case not in ("no steps", "at the first step", "stops early")) * 20 // cut


def test_one_program_serves_the_whole_run_and_its_windows(shelf: Shelf) -> None:
    train.forget_programs()
    run_once(Walk(), 0)
    divided(lambda: run_once(Walk(), 1), 9, shelf)
    assert train.count_programs() == 1


def test_what_was_recorded_so_far_is_a_prefix_of_the_records(shelf: Shelf) -> None:
    whole = run_once(Walk(), 4)
    _, moments = divided(lambda: run_once(Walk(), 4), 13, shelf)
    taken = []
    for moment in moments:
        records = moment.records
        taken.append(len(records["loss"]))
        np.testing.assert_array_equal(records["loss"], whole.records["loss"][: taken[-1]])
        assert list(records["step"]) == [20.0 * i for i in range(taken[-1])]
        assert (moment.step - 1) // 20 + 1 == taken[-1]
        assert moment.last == 100
    assert taken == sorted(taken)


def test_states_are_kept_at_the_steps_asked_for_and_where_the_loss_is_least() -> None:
    run = run_once(Walk(), 5)
    shorter = {steps: run_once(Walk(steps=steps), 5).state for steps in (20, 60)}
    for place, steps in enumerate((20, 60)):
        assert same(jax.tree.map(lambda leaf, place=place: leaf[place], run.kept), shorter[steps])
    assert np.isnan(run.kept[0][2]).all(), "61 is no record"
    least = int(np.nanargmin(run.records["loss"]))
    assert float(run.best.value) == float(run.records["loss"][least])
    assert float(run.best.step) == float(run.step[least])
    assert float(jnp.sum(run.best.state[0] ** 2)) == pytest.approx(float(run.best.value))


def test_a_divided_stack_of_runs_is_the_undivided_one(shelf: Shelf) -> None:
    keys = jax.vmap(jax.random.key)(jnp.arange(4))
    problems = [
        Walk(step_size=size, steps=steps).problem() for size, steps in ((0.1, 50), (0.2, 90), (0.6, 30), (0.3, 70))
    ]
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *problems)

    def one(problem: Any, key: jax.Array) -> Any:
        return train(problem, lm.stream(key, "batch"), space["draw"](problem, lm.stream(key, "init")))

    def stack() -> Any:
        return jax.vmap(one)(stacked, keys)

    whole = stack()
    part, moments = divided(stack, 11, shelf)
    assert same(part, whole)
    assert len(moments) >= 8
    assert moments[-1].records["loss"].shape[0] == 4
    for place, problem in enumerate(problems):
        alone = one(problem, jax.random.key(place))
        np.testing.assert_allclose(whole.records["loss"][place], alone.records["loss"], rtol=1e-5)


def test_a_loop_inside_vmap_or_another_loop_runs_whole() -> None:
    @lm.piece()
    def many(problem: Any, starts: jax.Array) -> Any:
        def one(start: jax.Array) -> Any:
            return lm.loop(lambda t, x: 0.9 * x, start, lambda x, _: {"x": x}, lm.record_steps(10, 3)).state

        return jax.vmap(one)(starts), jax.lax.map(one, starts)

    starts = jnp.arange(3.0)
    with live.around(live.Live(until=1)):
        for found in many(Walk().problem(), starts):
            np.testing.assert_allclose(found, starts * 0.9**10, rtol=1e-6)


def test_the_training_of_a_piece_inside_another_runs_whole() -> None:
    @lm.piece("records")
    def twice(problem: Any, key: jax.Array, start: jax.Array) -> Any:
        return train(problem, key, train(problem, key, start).state[0]).state[0]

    problem, key, start = Walk().problem(), jax.random.key(0), jnp.ones(5)
    with live.around(live.Live(until=1)):
        found = twice(problem, key, start)
    np.testing.assert_allclose(found, train(problem, key, train(problem, key, start).state[0]).state[0], rtol=1e-5)


def test_a_checkpoint_goes_on_in_another_process(tmp_path: Path, shelf: Shelf) -> None:
    whole = run_once(Walk(steps=140, every=35), 6)
    with pytest.raises(live.Paused), live.around(live.Live(shelf, until=52)):
        run_once(Walk(steps=140, every=35), 6)
    (checkpoint,) = shelf.folder.iterdir()
    assert checkpoint.name.endswith(".part")
    script = tmp_path / "go_on.py"
    script.write_text(
        SOURCE + "\nimport sys, numpy as np\nfrom pathlib import Path\nfrom lemmata.lab import live, programs\n"
        "from lemmata.lab.shelf import Shelf\nseen = []\nlook = lambda moment: seen.append(moment.step)\n"
        f"with programs.compiling({programs.effort()!r}):\n"
        "    with live.around(live.Live(Shelf(Path(sys.argv[1]), b''), look=look, seconds=1e-9)) as around:\n"
        "        run = run_once(Walk(steps=140, every=35), 6)\n"
        "assert seen[0] > 52 and around.trained == 1, (seen, around.trained)\n"
        "np.savez(sys.argv[2], *jax.tree.leaves(run))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), str(shelf.folder), str(tmp_path / "run.npz")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "run.npz") as found:
        assert same(list(found.values()), jax.tree.leaves(whole))
    assert not checkpoint.exists()


def test_a_checkpoint_of_another_setting_seed_or_program_is_not_found(shelf: Shelf) -> None:
    with pytest.raises(live.Paused), live.around(live.Live(shelf, until=40)):
        run_once(Walk(), 6)
    for setting, seed in ((Walk(), 7), (Walk(step_size=0.11), 6), (Walk(records=9), 6)):
        seen: list[live.Moment] = []
        with live.around(live.Live(shelf, look=seen.append, seconds=1e-9)):
            assert same(run_once(setting, seed), run_once(setting, seed))
        assert seen[0].step <= live.FIRST


def test_a_damaged_checkpoint_is_computed_again(shelf: Shelf) -> None:
    whole = run_once(Walk(), 6)
    for damage in (lambda content: content[:-1], lambda content: content[:-1] + b"?", lambda content: b""):
        with pytest.raises(live.Paused), live.around(live.Live(shelf, until=40)):
            run_once(Walk(), 6)
        (file,) = shelf.folder.glob("*.part")
        file.write_bytes(damage(file.read_bytes()))
        with live.around(live.Live(shelf)):
            assert same(run_once(Walk(), 6), whole)
        for file in shelf.folder.iterdir():
            file.unlink()


def test_keys_and_small_numbers_come_back_from_the_shelf_as_they_were(shelf: Shelf) -> None:
    tree = {
        "key": jax.random.key(3),
        "keys": jax.random.split(jax.random.key(4, impl="rbg"), 3),
        "half": jnp.arange(3, dtype=jnp.bfloat16),
        "flag": jnp.asarray(True),
        "count": jnp.asarray(7),
        "empty": jnp.zeros((0, 3)),
    }
    shelf.write(b"name", tree)
    found = shelf.read(b"name", jax.eval_shape(lambda: tree))
    for name, value in tree.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(names.plain(found[name]), names.plain(value))


def test_what_lies_on_the_shelf_is_no_data_file_of_a_run(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("1,2")
    shelf.write(b"name", jnp.zeros(3))
    with noting() as inputs:
        assert shelf.read(b"absent", jnp.zeros(3)) is None
        assert shelf.read(b"name", jnp.zeros(3)) is not None
        shelf.write(b"absent", jnp.zeros(3))
        (tmp_path / "table.csv").read_text()
    assert [Path(name).name for name in inputs] == ["table.csv"]


def test_the_command_itself_is_no_data_file_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lemmata").write_text("a script of its installation")
    (tmp_path / "table.csv").write_text("1,2")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "lemmata"), "verify"])
    with noting() as inputs:
        (tmp_path / "lemmata").read_text()
        (tmp_path / "table.csv").read_text()
    assert [Path(name).name for name in inputs] == ["table.csv"]


def test_the_shelf_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, b"", room=40_000)
    for number in range(20):
        shelf.write(bytes([number]), jnp.zeros(1000))
    shelf.tidy()
    kept = [number for number in range(20) if shelf.read(bytes([number]), jnp.zeros(1000)) is not None]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 40_000
    assert kept == list(range(11, 20))
    shelf.write(b"large", jnp.zeros(20_000))
    assert shelf.read(b"large", jnp.zeros(20_000)) is None, "one training must not throw out all others"
