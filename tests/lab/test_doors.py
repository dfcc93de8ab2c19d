"""The laboratory from Python: the same rooms as the command line, and a trained network to look at."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cli_toy import THEORY, calls, forget_calls, write_toy
from command import Lemmata
from jaxtyping import Array, Float

import lemmata as lm


@pytest.fixture
def toy() -> Path:
    return write_toy()


def test_both_doors_find_each_others_data(lemmata: Lemmata, toy: Path) -> None:
    with pytest.warns(lm.AssumptionWarning, match="the slope exceeds 1"):
        data = lm.run("toy.py/e1-line", preset="smoke")
    assert dict(data.sizes) == {"slope": 2, "seed": 3}
    forget_calls()
    lemmata("run", "toy.py/e1-line", "--preset", "smoke")
    assert calls() == []
    lemmata("verify", "toy.py", "--preset", "smoke")
    forget_calls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lm.verify("toy.py", preset="smoke")
    assert calls() == []
    assert found.page == Path("results/smoke/index.html")


def test_a_run_takes_the_commands_options_as_values(toy: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = lm.run(
            "toy.py/e1-line", preset="smoke", seeds=1, set={"points": 5}, axes={"mode": ["plain", "other"]},
            select={"slope": 2.0},
        )  # fmt: skip
    assert dict(data.sizes) == {"slope": 1, "mode": 2, "seed": 1}
    assert float(data.height[0, 0, 0]) == 10.0
    assert json.loads(data.attrs["setting"])["points"] == 5
    assert json.loads(data.attrs["seeds"]) == [0, 0]
    assert data.attrs["experiment"] == "toy.py/e1-line"


@pytest.mark.filterwarnings("ignore")
def test_verify_gives_rows_with_the_jsons_fields_and_never_raises_because_a_claim_fails(toy: Path) -> None:
    toy.write_text(THEORY.replace("lm.at_least(4.0), low", "lm.at_least(400.0), low", 1))
    found = lm.verify("toy.py")
    assert [row.claim for row in found] == ["c1-high", "c2-range", "c3-absent", "c4-other"]
    assert found["toy/c1-high"].outcome == "fails"
    assert not found.as_expected
    assert found[0].control == "fails"
    assert "c1-high" in found._repr_html_()
    with pytest.raises(lm.UserError, match="did you mean 'toy/c1-high'"):
        found["toy/c1-hihg"]


@pytest.mark.filterwarnings("ignore")
def test_a_theory_of_ones_own_needs_no_file(toy: Path) -> None:
    theory = lm.load("toy.py")
    assert [row.name for row in lm.verify(theory, preset="smoke", out="mine")] == [
        f"toy/{name}" for name in theory.claims
    ]
    assert [each.blocks for each in lm.replicate(theory, blocks=2, preset="smoke", out="mine")] == [2, 2, 2, 2]


WRONG: Any = 3
"""Something of the wrong kind."""
MISUSE = {
    "a path that is not there": (lambda: lm.load(Path("nothing.py")), "There is no file nothing.py"),
    "no name": (lambda: lm.load(WRONG), "3 is no theory"),
    "a theory instead of its simulation": (
        lambda: lm.sweep(cast("Any", lm.load("toy.py")), Toy()),
        "needs a simulation and a setting",
    ),
    "labels without fields": (lambda: lm.sweep(grow, Toy(), {"room": cast("Any", {"a": 8})}), "give it fields to set"),
    "axes that are no mapping": (lambda: lm.sweep(grow, Toy(), cast("Any", ["rate"])), "give a mapping"),
    "no engine": (lambda: lm.sweep(grow, Toy(), engine=cast("Any", None)), "None is no engine"),
    "no engine to verify": (lambda: lm.verify("toy.py", engine=cast("Any", None)), "None is no engine"),
    "a reversed range": (lambda: lm.within(2, 1), "the first may not be larger"),
    "a limit that is no number": (lambda: lm.at_least(float("nan")), "the first may not be larger"),
    "a limit in words": (lambda: lm.at_most(cast("Any", "x")), "allowed are numbers"),
    "a value twice": (lambda: lm.sweep(grow, Toy(), {"rate": [0.5, 0.50]}), "the value 0.5 twice"),
    "progress in words": (lambda: lm.sweep(grow, Toy(), progress=cast("Any", "yes")), "give True, False or a function"),
    "a number as experiment": (lambda: lm.run(WRONG), "not of the form THEORY/EXPERIMENT"),
    "a number as preset": (lambda: lm.run("toy.py/e1-line", preset=WRONG), "There is no preset '3'"),
    "a number as folder": (lambda: lm.run("toy.py/e1-line", out=WRONG), "give a folder"),
    "no folder": (lambda: lm.run("toy.py/e1-line", out=""), "give a folder"),
    "a number as changes": (lambda: lm.run("toy.py/e1-line", set=WRONG), "give a mapping"),
    "fields without names": (lambda: Toy(cast("Any", 3)), "by name"),
    "a field that is not there": (lambda: Toy(sampels=3), "did you mean 'samples'"),
    "a seed below 0": (lambda: lm.sweep(grow, Toy(), seed=-1), "seed = -1 is not allowed"),
    "a seed of a second round": (lambda: lm.sweep(grow, Toy(), seed=2**32, seeds=1), "the last seed is at most"),
    "yes as a count": (lambda: Toy(samples=True), "samples = true is not allowed"),
    "no file of a run": (lambda: lm.trained("nothing.npz"), "There is no file nothing.npz"),
    "a file of another kind": (lambda: lm.trained("toy.py"), "ends in .npz"),
    "a network of nothing": (
        lambda: lm.trained(grow, Toy(), network=np.zeros(3)),
        "starts from no given network",
    ),
    "no experiment": (lambda: lm.run("vit"), "not of the form THEORY/EXPERIMENT"),
    "no such preset": (lambda: lm.verify("vit", preset="quik"), "did you mean 'quick'"),
    "not a theory": (lambda: lm.verify(3), "3 is no theory"),  # pyright: ignore[reportArgumentType]
    "a negative seed": (lambda: lm.verify("vit", seed=-1), "seed = -1 is not allowed"),
    "no blocks": (lambda: lm.replicate("vit", blocks=0), "blocks = 0 is not allowed"),
    "no simulation": (lambda: lm.sweep("vit", Toy()), "needs a simulation and a setting"),  # pyright: ignore[reportArgumentType]
    "seeds beyond the last": (lambda: lm.sweep(grow, Toy(), seed=2**32 - 1, seeds=2), "the last seed is at most"),
    "a list as preset": (lambda: lm.verify("toy.py", preset=cast("Any", [])), "There is no preset"),
    "an array as a flag": (lambda: lm.run("toy.py/e1-line", overwrite=cast("Any", np.zeros(2))), "give True or False"),
    "words as a flag": (lambda: lm.verify("toy.py", everything=cast("Any", "no")), "give True or False"),
    "progress as a number": (lambda: lm.replicate("toy.py", progress=cast("Any", 2)), "give True or False"),
    "a folder that no disk has": (lambda: lm.run("toy.py/e1-line", out="a\0b"), "give a folder"),
    "a sweep into a number": (lambda: lm.sweep(grow, Toy(), out=WRONG), "out = 3 is not allowed: give a folder"),
    "a sweep into nothing": (lambda: lm.sweep(grow, Toy(), out=""), "give a folder"),
    "a sweep into a file": (lambda: lm.sweep(grow, Toy(), out="toy.py"), "toy.py is not a folder"),
    "workers in a file": (
        lambda: lm.sweep(grow, Toy(), folder="toy.py", engine="processes:1"),
        "toy.py cannot be written",
    ),
    "a number as precision": (lambda: lm.sweep(grow, Toy(), precision=WRONG), "There is no precision '3'"),
    "axes that are nothing": (lambda: lm.sweep(grow, Toy(), cast("Any", 0)), "give a mapping"),
    "fields that are numbers": (lambda: lm.sweep(grow, Toy(), {"room": cast("Any", {"a": {1: 2}})}), "no field '1'"),
    "a search without a simulation": (
        lambda: lm.find_threshold(cast("Any", "vit"), Toy(), "rate", success=np.isfinite, between=(1, 2)),
        "needs a simulation and a setting",
    ),
    "blocks without end": (lambda: lm.replicate("toy.py", blocks=2**40), "an integer from 1 to 400000"),
    "a diagnosis of no kind": (lambda: lm.diagnose(WRONG, "x"), "There is no diagnosis '3'"),
    "a diagnosis of a list": (lambda: lm.diagnose(cast("Any", []), "x"), "There is no diagnosis"),
    "a diagnosis into a number": (lambda: lm.diagnose("graph", "x", out=WRONG), "out = 3 is not allowed"),
    "a diagnosis that tells a number": (lambda: lm.diagnose("graph", "x", progress=WRONG), "give a function"),
    "half a seed": (lambda: lm.sweep(grow, Toy(), seeds=1.5), "seeds = 1.5 is not allowed"),  # pyright: ignore[reportArgumentType]
    "no network": (lambda: lm.trained(lm.load("toy.py").simulate, lm.load("toy.py").setting()), "computed on the host"),
}


@pytest.mark.parametrize("misuse", MISUSE)
def test_misuse_is_one_sentence_and_leaves_nothing(misuse: str, toy: Path) -> None:
    call, words = MISUSE[misuse]
    with pytest.raises(lm.UserError, match=words) as refused:
        call()
    assert len(str(refused.value).splitlines()) == 1
    assert {path.name for path in Path().iterdir()} <= {"toy.py", "__pycache__"}


# Sweeps that are kept, and trained networks


class Toy(lm.Setting):
    samples: int = lm.number(3, "N", "samples", low=1, high=8, integer=True)
    rate: float = lm.number(0.5, "", "rate", low=0)
    room: int = lm.size(8, "", "room for samples")

    def warnings(self) -> list[str]:
        return ["the rate exceeds 1."] if self.rate > 1 else []


class Points(NamedTuple):
    position: Float[Array, "samples 2"]
    label: Float[Array, " samples"]


@lm.piece("room")
def draw(problem: Toy, key: jax.Array) -> Points:
    return Points(jax.random.normal(key, (problem.room, 2)), jnp.arange(problem.room, dtype=float))


@lm.simulation(lm.Variable("height", (), "h", "height"))
def grow(problem: Toy, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    points = draw(problem, lm.stream(key, "data"))
    lm.keep({"samples": problem.samples}, data=points, weights=(points.position, "samples 2"), rate=problem.rate)
    return {"height": problem.rate * points.position[0, 0]}


def test_a_kept_sweep_is_not_computed_again_and_grows_by_seeds(tmp_path: Path) -> None:
    call = lambda seeds, **changes: lm.sweep(grow, Toy(**changes), {"rate": [0.5, 1.0]}, seeds=seeds, out="kept")  # noqa: E731
    first = call(2)
    stamp = (tmp_path / "kept" / "run.json").stat().st_mtime_ns
    assert call(2).identical(first)
    assert (tmp_path / "kept" / "run.json").stat().st_mtime_ns == stamp
    more = call(4)
    np.testing.assert_array_equal(more.height[:, :2], first.height)
    assert json.loads((tmp_path / "kept" / "run.json").read_text())["seeds"] == [0, 3]
    with pytest.raises(lm.UserError, match="kept holds data with another setting"):
        call(2, samples=4)
    with pytest.raises(lm.UserError, match="kept holds data with another axes, cell settings; choose another out"):
        lm.sweep(grow, Toy(), {"rate": [0.5, 1.5]}, seeds=2, out="kept")
    assert call(4).identical(more)


@pytest.mark.filterwarnings("ignore")
def test_a_kept_sweep_of_sources_that_have_changed_is_refused_and_left_as_it_is(toy: Path) -> None:
    def call() -> Any:
        theory = lm.load("toy.py")
        return lm.sweep(theory.simulate, theory.setting(), seeds=2, out="kept")

    first, text = call(), toy.read_text()
    toy.write_text(f"{text}\nCHANGED = True\n")
    before = {path: path.read_bytes() for path in Path("kept").rglob("*") if path.is_file()}
    with pytest.raises(lm.UserError, match="kept holds data with another version of the sources; choose another out"):
        call()
    assert {path: path.read_bytes() for path in Path("kept").rglob("*") if path.is_file()} == before
    toy.write_text(text)
    assert call().identical(first)


def test_a_sweep_says_what_it_is_of_and_warns_of_assumptions() -> None:
    with pytest.warns(lm.AssumptionWarning, match="the rate exceeds 1"):
        data = lm.sweep(grow, Toy(rate=2.0), seeds=2, progress=True)
    assert json.loads(data.attrs["setting"]) == {"samples": 3, "rate": 2.0, "room": 8}
    assert all(isinstance(value, (str, int, float)) for value in data.attrs.values())


def test_the_last_seeds_are_seeds_of_their_own() -> None:
    data = lm.sweep(grow, Toy(), seed=2**32 - 2, seeds=2)
    assert data.seed.values.tolist() == [2**32 - 2, 2**32 - 1]
    assert len({float(h) for h in (*data.height, *lm.sweep(grow, Toy(), seeds=2).height)}) == 4


def test_a_run_can_be_looked_at_and_has_only_what_is_used() -> None:
    t = lm.trained(grow, Toy(samples=5), seed=3)
    assert t.data.position.shape == t.weights.shape == (5, 2)
    assert t.data.label.tolist() == [0, 1, 2, 3, 4]
    assert (t.seed, t.setting.samples) == (3, 5)
    assert set(dir(t)) == {"setting", "seed", "records", "save", "data", "weights", "rate"}
    assert float(t.records.height) == float(lm.sweep(grow, Toy(samples=5), seed=3, seeds=1).height[0])
    assert "position (5, 2)" in repr(t)
    with pytest.raises(AttributeError, match="it has data, rate, weights"):
        _ = t.network


def test_naming_is_free_of_effect_outside() -> None:
    lm.keep(network=object())
    assert "network" not in dir(lm.trained(grow, Toy()))
