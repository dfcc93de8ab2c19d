"""The command line: what `list`, `show`, `run` and `bound` print, write and leave with."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_toy import THEORY, calls, forget_calls, write_toy
from command import Lemmata, sentences, strict
from smoke import THEORIES, Smoke

from lemmata.lab.descriptions import description


@pytest.fixture
def toy() -> Path:
    """A theory of the user's own in one file."""
    return write_toy()


# the theories


def test_list_gives_name_title_and_question_of_every_theory(lemmata: Lemmata) -> None:
    rows = lemmata("list", "--json").json
    assert [set(row) for row in rows] == [{"name", "title", "question"}] * len(rows)
    assert "vit" in [row["name"] for row in rows]
    assert all(isinstance(value, str) and value for row in rows for value in row.values())
    plain = lemmata("list")
    assert plain.code == 0
    assert plain.err == ""
    words = " ".join(plain.out.split())
    assert all(row["name"] in words for row in rows)
    assert all(row["question"][:40] in words for row in rows)


@pytest.mark.parametrize("args", [["list"], ["list", "--json"], ["--help"], ["verify", "--help"]])
def test_listing_and_help_load_no_heavy_library(args: list[str]) -> None:
    """They answer at once because jax, numpy, xarray and matplotlib stay unloaded."""
    script = (
        "import sys, atexit\n"
        "heavy = {'jax', 'numpy', 'xarray', 'matplotlib', 'zarr', 'scipy', 'sklearn'}\n"
        "atexit.register(lambda: print('loaded:', sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        "from lemmata.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=True)
    assert sentences(done.stderr) == ["loaded: []"]
    assert done.stdout


LOOKS = """
import contextlib, io, sys
from lemmata.cli import main
from lemmata.lab.descriptions import description
from lemmata.lab.registry import cards
for card in cards():
    found = description(card["name"])
    claim, experiment = found["claims"][0]["name"], found["experiments"][0]["name"]
    asked = [["show", ""], ["show", claim], ["show", "nothing"], ["verify", "nothing"], ["bound", "nothing"]]
    asked += [["run", experiment, "--set", "nothing=1"], *(["bound", each["name"]] for each in found["bounds"])]
    for verb, name, *rest in asked:
        sys.argv = ["lemmata", verb, f"{card['name']}/{name}".rstrip("/"), *rest]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            with contextlib.suppress(SystemExit):
                main()
        assert "jax" not in sys.modules, sys.argv
    print(card["name"])
"""
"""Looks at every theory: shown, a wrong item, a refused `--set`, every bound."""


def test_looking_something_up_and_evaluating_a_bound_loads_no_jax() -> None:
    for name in THEORIES:
        description(name)  # written down where it is not
    done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == THEORIES


def test_show_describes_settings_experiments_claims_and_bounds(lemmata: Lemmata, toy: Path) -> None:
    shown = lemmata("show", str(toy), "--json").json
    assert set(shown) == {
        "name", "title", "authors", "question", "answer", "settings", "experiments", "claims", "bounds",
    }  # fmt: skip
    slope = {
        "name": "slope", "symbol": "a", "meaning": "slope of the line", "kind": "number", "default": 1.0, "low": 0,
        "high": 10, "choices": None,
    }  # fmt: skip
    assert shown["settings"][0] == slope
    assert shown["settings"][2]["choices"] == ["plain", "other"]
    assert [row["kind"] for row in shown["settings"]] == ["number", "size", "choice"]
    assert shown["bounds"][0] == {"name": "samples", "reference": "(2)", "parameters": ["n", "c"]}
    assert [row["name"] for row in shown["experiments"]] == ["e1-line", "e2-other"]
    assert [row["name"] for row in shown["claims"]] == ["c1-high", "c2-range", "c3-absent", "c4-other"]
    plain = lemmata("show", str(toy))
    assert plain.code == 0
    for word in ("A toy", "Why?", "Because.", "c1-high", "4 claims", "lemmata verify toy.py/c1-high"):
        assert word in plain.out
    listed = lemmata("show", str(toy), "--settings", "--experiments", "--claims", "--bounds").out
    for word in ("slope of the line", "e1-line", "c4-other", "huge"):
        assert word in listed
        assert (word == "e1-line") == (word in plain.out), "a theory alone is short"


def test_show_of_a_theory_of_the_package_is_strict_json(lemmata: Lemmata) -> None:
    shown = lemmata("show", "vit", "--json")
    assert shown.code == 0
    assert shown.json["name"] == "vit"


# run


def test_run_writes_data_figure_and_record_and_prints_its_json(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--json")
    assert done.code == 0
    answer = done.json
    assert set(answer) == {"path", "dims", "variables", "seconds", "failed"}
    assert answer["path"] == "results/smoke/toy/e1-line"
    assert answer["dims"] == {"slope": 2, "seed": 3}
    assert answer["variables"] == ["height"]
    assert answer["failed"] == 0
    assert answer["seconds"] > 0
    folder = Path(answer["path"])
    assert {"data.zarr", "figure.png", "run.json"} <= {path.name for path in folder.iterdir()}
    record = strict((folder / "run.json").read_text())
    assert record["setting"] == {"slope": 1.0, "points": 3, "mode": "plain"}
    assert record["seeds"] == [0, 2]
    assert record["preset"] == "smoke"
    assert record["layout"]["block"] >= 1
    assert set(record["versions"]) >= {"python", "lemmata", "jax", "numpy"}
    assert record["timings"]["total"] >= record["timings"]["compute"] > 0
    assert record["command"] == "lemmata run toy.py/e1-line --preset smoke"
    assert record["warnings"] == ["the slope exceeds 1, outside of the theorem. (in 1 of 2 cells)"]


def test_warnings_appear_once_on_stderr_and_results_alone_on_stdout(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--json")
    assert done.err.count("the slope exceeds 1") == 1
    assert "slope exceeds" not in done.out
    plain = lemmata("run", "toy.py/e1-line", "--preset", "smoke")
    assert plain.code == 0
    assert "height" in plain.out
    assert "results/smoke/toy/e1-line" in plain.out


def test_a_real_process_keeps_stdout_clean_and_is_quiet_in_a_pipe(toy: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lemmata", "verify", "toy.py", "--preset", "smoke", "--json"],
        capture_output=True, text=True, check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(strict(done.stdout)) == 4
    assert sorted(sentences(done.stderr)) == [  # the experiments run side by side
        "e1-line: the slope exceeds 1, outside of the theorem. (in 1 of 2 cells)",
        "e2-other: the slope exceeds 1, outside of the theorem.",
    ]


def test_default_folders_are_named_by_preset_and_seed(lemmata: Lemmata, toy: Path) -> None:
    run = ("run", "toy.py/e1-line", "--json")
    assert lemmata(*run).json["path"] == "results/quick/toy/e1-line"
    assert lemmata(*run, "--preset", "smoke", "--seed", "7").json["path"] == "results/smoke-seed7/toy/e1-line"
    assert lemmata(*run, "--preset", "smoke", "--seed", "0").json["path"] == "results/smoke/toy/e1-line"
    assert lemmata(*run, "--preset", "smoke", "--out", "a/b").json["path"] == "a/b/toy/e1-line"
    assert strict(Path("results/smoke-seed7/toy/e1-line/run.json").read_text())["seeds"] == [7, 9]
    assert {path.name for path in Path("results").iterdir()} == {"quick", "smoke", "smoke-seed7"}


def test_set_changes_a_field_and_narrows_an_axis_and_seeds_their_number(lemmata: Lemmata, toy: Path) -> None:
    args = ("--set", "slope=3", "--set", "points=5", "--set", "mode=other", "--seeds", "2")
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", *args, "--json")
    assert done.json["dims"] == {"slope": 1, "seed": 2}
    record = strict((Path(done.json["path"]) / "run.json").read_text())
    assert record["setting"]["points"] == 5
    assert record["setting"]["mode"] == "other"
    assert record["axes"] == {"slope": [3.0]}
    assert record["command"] == (
        "lemmata run toy.py/e1-line --preset smoke --seeds 2 --set slope=3 --set points=5 --set mode=other"
    )


def test_run_refuses_other_data_in_its_folder_unless_told_to_overwrite(lemmata: Lemmata, toy: Path) -> None:
    run = ("run", "toy.py/e1-line", "--preset", "smoke", "--out", "here")
    assert lemmata(*run).code == 0
    forget_calls()
    before = Path("here/toy/e1-line/run.json").read_text()
    refused = lemmata(*run, "--seed", "7")
    assert refused.code == 2
    assert refused.out == ""
    assert "holds data with another seed" in refused.err
    assert "--overwrite" in refused.err
    assert calls() == []
    assert Path("here/toy/e1-line/run.json").read_text() == before
    assert lemmata(*run).code == 0, "the stored data are untouched"
    assert calls() == []
    accepted = lemmata(*run, "--seed", "7", "--overwrite")
    assert accepted.code == 0
    assert set(calls()) == {f"{slope} {seed}" for slope in ("0.5", "2") for seed in (7, 8, 9)}
    assert strict(Path("here/toy/e1-line/run.json").read_text())["seeds"] == [7, 9]


def test_run_refuses_data_of_other_sources(lemmata: Lemmata, toy: Path) -> None:
    assert lemmata("run", "toy.py/e1-line", "--preset", "smoke").code == 0
    toy.write_text(THEORY + "\nCHANGED = True\n")
    refused = lemmata("run", "toy.py/e1-line", "--preset", "smoke")
    assert refused.code == 2
    assert "sources" in refused.err


@pytest.mark.xdist_group("vit")
def test_an_experiment_of_the_package_is_run_once(lemmata: Lemmata, smoke: Callable[[str], Smoke]) -> None:
    folder = smoke("vit").folder
    before = (folder / "vit/f2-step-size/run.json").read_bytes()
    done = lemmata("run", "vit/f2-step-size", "--preset", "smoke", "--out", str(folder), "--json")
    assert done.code == 0, done.err
    assert done.json["dims"]["seed"] >= 1
    assert done.json["failed"] == 0
    assert (folder / "vit/f2-step-size/run.json").read_bytes() == before


@pytest.mark.parametrize("change", [("--set", "points=4"), ("--axis", "slope=2"), ("--select", "slope=0.5")])
def test_what_a_user_changes_lies_in_a_folder_of_its_own_and_verify_leaves_it_alone(
    change: tuple[str, str], lemmata: Lemmata, toy: Path
) -> None:
    mine = lemmata("run", "toy.py/e1-line", "--preset", "smoke", *change, "--json")
    folder = Path(mine.json["path"])
    assert folder.parent == Path("results/smoke/toy")
    assert folder.name.startswith("e1-line@")
    assert len(folder.name) == len("e1-line@") + 8
    record = json.loads((folder / "run.json").read_text())
    assert record["changed"] == [" ".join(change)]
    assert " ".join(change) in record["command"]
    assert {"figure.png", "figure.svg", "data.zarr"} <= {each.name for each in folder.iterdir()}
    forget_calls()
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 0
    assert "computing again" not in done.err
    assert len(set(calls())) == 6
    again = lemmata("run", "toy.py/e1-line", "--preset", "smoke", *change, "--json")
    assert (again.json["path"], len(set(calls()))) == (mine.json["path"], 6)


def test_axes_and_selections_are_those_of_the_command(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata(
        "run", "toy.py/e1-line", "--preset", "smoke", "--axis", "points=2,3", "--select", "slope=2", "--json"
    )
    assert done.json["dims"] == {"slope": 1, "points": 2, "seed": 3}
    same = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--axis", "slope=0.5,2", "--json")
    assert Path(same.json["path"]).name == "e1-line", "the axis as it was"
    refused = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--select", "slope=3")
    assert refused.code == 2
    assert "no label '3' in the axis slope of e1-line" in refused.err


def test_run_ends_with_its_claims_and_the_path_of_the_figure(lemmata: Lemmata, toy: Path) -> None:
    told = lemmata("run", "toy.py/e1-line").out
    assert told.startswith("How high?\n")
    assert " holds        toy/c1-high" in told
    assert "measured 60" in told
    assert " fails        toy/c2-range" in told
    assert "toy/c4-other" not in told, "which reads another experiment"
    assert "figure  results/quick/toy/e1-line/figure.png" in told
    assert Path("results/quick/toy/e1-line/figure.png").exists()
    assert not Path("results/quick/verdicts.json").exists(), "a run verifies nothing"


def test_run_of_something_changed_ends_with_its_main_variable(lemmata: Lemmata, toy: Path) -> None:
    told = lemmata("run", "toy.py/e1-line", "--set", "points=2").out
    assert "height  h: height at the end" in told
    assert "slope = 0.5  mean 1" in told
    assert "slope = 2    mean 4" in told
    assert "Its claims speak of the unchanged experiment" in told
    assert "c1-high" not in told
    small = lemmata("run", "toy.py/e1-line", "--preset", "smoke").out
    assert "slope = 0.5  mean 1.5" in small
    assert "The preset smoke only shows that it runs" in small


# bound


def test_bound_prints_the_contracts_answer(lemmata: Lemmata, toy: Path) -> None:
    answer = lemmata("bound", "toy.py/samples", "--set", "n=20", "--json").json
    assert answer == {
        "inputs": {"n": 20, "c": 0.5}, "value": 40.0, "log10": pytest.approx(math.log10(40)), "vacuous": False,
        "note": "constants are 1",
    }  # fmt: skip
    plain = lemmata("bound", "toy.py/samples")
    assert plain.code == 0
    assert plain.out.startswith("samples = 20  (2)\nn / c.\n")
    assert plain.out.split()[-3:] == ["Constants", "are", "1."]
    assert "  c  0.5  gap" in plain.out


def test_a_vacuous_or_enormous_bound_is_null_with_a_note(lemmata: Lemmata, toy: Path) -> None:
    vacuous = lemmata("bound", "toy.py/samples", "--set", "c=0", "--json").json
    assert (vacuous["value"], vacuous["log10"], vacuous["vacuous"]) == (None, None, True)
    assert "vacuous" in vacuous["note"]
    enormous = lemmata("bound", "toy.py/huge", "--json").json
    assert (enormous["value"], enormous["log10"], enormous["vacuous"]) == (None, 1000.0, False)
    assert "10^1000" in enormous["note"]


def test_every_bound_of_the_package_answers_in_strict_json(lemmata: Lemmata) -> None:
    for row in lemmata("show", "vit", "--json").json["bounds"]:
        answer = lemmata("bound", f"vit/{row['name']}", "--json").json
        assert set(answer) == {"inputs", "value", "log10", "vacuous", "note"}
        assert set(answer["inputs"]) == set(row["parameters"])
