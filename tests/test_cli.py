"""The command line: what every command prints, writes and leaves with."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lemmata import cli
from lemmata.lab import registry

THEORY = '''
import sys, threading
from pathlib import Path
import numpy as np
import xarray as xr
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    slope: float = lm.number(1.0, "a", "slope of the line", low=0, high=10)
    points: int = lm.size(3, "n", "points")
    mode: str = lm.choice("plain", "which variant", "plain", "other")

    def warnings(self):
        return ["the slope exceeds 1, outside of the theorem."] if self.slope > 1 else []


WRITING = threading.Lock()


@lm.simulation(lm.Variable("height", (), "h", "height at the end"), host=True)
def simulate(setting, seed):
    with WRITING, open("calls.log", "a") as log:
        print(f"{setting.slope:g} {seed}", file=log)
    return {"height": np.float64(setting.slope * setting.points + 0.01 * np.sin(seed))}


def plot(data):
    with open("plots.log", "a") as log:
        log.write("x")
    return Figure(figsize=(1, 1))


def experiment(name, slopes):
    presets = {
        "smoke": lm.Preset(Setting(), {"slope": slopes}, 3),
        "quick": lm.Preset(Setting(points=30), {"slope": slopes}, 6),
    }
    return lm.Experiment(name, "How high?", "Figure 1", simulate, presets, plot)


@lm.evidence("e1-line")
def height(data, slope, factor=1.0):
    """The height at the end."""
    return factor * data.height.sel(slope=slope, drop=True)


@lm.evidence("e2-other")
def printed(data, factor=1.0):
    """Leaves what stood on stdout when this claim was about to be judged."""
    if hasattr(sys.stdout, "getvalue"):
        Path("printed").write_text(sys.stdout.getvalue())
    return factor * data.height.sel(slope=3.0, drop=True)


def claim(name, evidence, judge, *controls, expected="holds"):
    return lm.Claim(
        name, "Theorem 1", "bound", f"The statement of {name}.", evidence, judge, *controls, expected=expected
    )


high, low = height(2.0), lm.Control("the low slope", slope=0.5)
CLAIMS = [
    claim("c1-high", high, lm.at_least(4.0), low),
    claim("c2-range", height(0.5), lm.within(5.0, 7.0, predicted=6), lm.Control("right", slope=2.0), expected="fails"),
    claim("c3-absent", height(2.0, np.nan), lm.at_least(4.0),
          lm.Control("the low slope", expected="fails", slope=0.5, factor=1.0), expected="inconclusive"),
    claim("c4-other", printed(), lm.at_most(10.0), lm.Control("far away", factor=100.0)),
]


GAP = lm.parameter(0.5, "c", "gap", low=0, high=1)


@lm.bound("(2)", "constants are 1", n=lm.parameter(10, "n", "samples", low=1, integer=True), c=GAP)
def samples(n, c):
    """n / c."""
    return np.inf if c == 0 else n / c


@lm.bound("(3)", logarithmic=True, n=lm.parameter(10, "n", "samples", low=1))
def huge(n):
    """10^(100 n)."""
    return 100.0 * n


CARD = {
    "name": "toy", "title": "A toy", "authors": "A. Author", "question": "Why?", "answer": "Because.",
    "headlines": ["c1-high"],
}
theory = lm.Theory(
    CARD, Setting, simulate, [experiment("e1-line", [0.5, 2.0]), experiment("e2-other", [3.0])], CLAIMS, [samples, huge]
)
'''


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return strict(self.out)


def strict(text: str) -> Any:
    """JSON as the standard has it: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


Lemmata = Callable[..., Result]


@pytest.fixture
def lemmata(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lemmata:
    """The command, in this process."""

    def call(*args: str) -> Result:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["lemmata", *args])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, said.out, said.err)

    return call


@pytest.fixture
def toy() -> Path:
    """A theory of the user's own in one file."""
    path = Path("toy.py")
    path.write_text(THEORY)
    return path


def calls() -> list[str]:
    return sorted(Path("calls.log").read_text().splitlines()) if Path("calls.log").exists() else []


def forget_calls() -> None:
    Path("calls.log").unlink(missing_ok=True)


def files(folder: Path = Path()) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def sentences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


# the theories


def test_list_gives_name_title_and_question_of_every_theory(lemmata: Lemmata) -> None:
    rows = lemmata("list", "--json").json
    assert [set(row) for row in rows] == [{"name", "title", "question"}] * len(rows)
    assert "vit" in [row["name"] for row in rows]
    assert all(isinstance(value, str) and value for row in rows for value in row.values())
    plain = lemmata("list")
    assert plain.code == 0
    assert plain.err == ""
    assert all(row["name"] in plain.out and row["question"] in plain.out for row in rows)


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
    for word in ("A toy", "slope of the line", "e1-line", "c4-other", "huge"):
        assert word in plain.out


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
    assert sentences(done.stderr) == [
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


def test_an_experiment_of_the_package_runs_at_smoke_size(lemmata: Lemmata) -> None:
    done = lemmata("run", "vit/f2-step-size", "--preset", "smoke", "--seeds", "1", "--json")
    assert done.code == 0, done.err
    assert done.json["dims"]["seed"] == 1
    assert done.json["failed"] == 0


# verify

ROW = {
    "theory", "claim", "reference", "kind", "statement", "outcome", "expected", "relation", "predicted", "measured",
    "low", "high", "note", "preset", "seconds", "control", "control_expected", "source",
    "corrects",
}  # fmt: skip


def test_verify_prints_the_contracts_rows(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("verify", "toy.py", "--preset", "smoke", "--json")
    assert done.code == 0, done.err
    high, ranged, absent, other = done.json
    for row in (high, absent, other):
        assert set(row) == ROW
    assert set(ranged) == ROW | {"accept_low", "accept_high"}
    assert (high["theory"], high["claim"], high["kind"], high["reference"]) == ("toy", "c1-high", "bound", "Theorem 1")
    assert (high["outcome"], high["expected"], high["control"], high["control_expected"]) == (
        "holds", "holds", "fails", "fails",
    )  # fmt: skip
    assert high["relation"] == ">="
    assert high["predicted"] == 4.0
    assert high["low"] < high["measured"] < high["high"]
    assert math.isclose(high["measured"], 6, abs_tol=0.05)
    assert (ranged["outcome"], ranged["control"]) == ("fails", "holds")
    assert (ranged["relation"], ranged["accept_low"], ranged["accept_high"]) == ("in", 5.0, 7.0)
    assert (absent["outcome"], absent["measured"]) == ("inconclusive", None)
    assert "nan" in absent["note"]
    assert other["relation"] == "<="
    assert {row["preset"] for row in done.json} == {"smoke"}
    assert Path("results/smoke/index.html").exists()


def test_an_experiment_that_several_claims_read_is_run_and_drawn_once(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("verify", "toy.py/c1-high", "toy.py/c2-range", "--preset", "smoke", "--json")
    assert [row["claim"] for row in done.json] == ["c1-high", "c2-range"]
    assert Path("plots.log").read_text() == "x"
    assert done.err.count("the slope exceeds 1") == 1


def test_a_claim_that_is_named_twice_is_examined_once(lemmata: Lemmata, toy: Path) -> None:
    rows = lemmata("verify", "toy.py/c2-range", "toy.py", "toy.py/c2-range", "--preset", "smoke", "--json").json
    assert sorted(row["claim"] for row in rows) == ["c1-high", "c2-range", "c3-absent", "c4-other"]


def test_verify_of_one_claim_runs_only_what_it_reads(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert [row["claim"] for row in done.json] == ["c1-high"]
    assert not Path("results/smoke/toy/e2-other").exists()


def test_verify_reuses_what_run_left_and_a_second_one_computes_nothing(lemmata: Lemmata, toy: Path) -> None:
    lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--seeds", "7")
    forget_calls()
    first = lemmata("verify", "toy.py", "--preset", "smoke", "--json")
    assert {call.split()[0] for call in calls()} == {"3"}, "only the experiment that had not been run"
    forget_calls()
    second = lemmata("verify", "toy.py", "--preset", "smoke", "--json")
    assert calls() == []
    strip = [{key: value for key, value in row.items() if key != "seconds"} for row in second.json]
    assert strip == [{key: value for key, value in row.items() if key != "seconds"} for row in first.json]


def test_verify_recomputes_stale_data_and_says_so(lemmata: Lemmata, toy: Path) -> None:
    lemmata("run", "toy.py/e1-line", "--preset", "smoke")
    toy.write_text(THEORY.replace("0.01 * np.sin", "0.02 * np.sin"))
    forget_calls()
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 0
    assert "e1-line: stored data have another version of the sources" in done.err
    assert "computing again" in done.err
    assert len(set(calls())) == 6
    again = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert "computing again" not in again.err


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


def test_verify_leaves_with_1_if_an_outcome_is_not_the_expected_one(lemmata: Lemmata, toy: Path) -> None:
    toy.write_text(THEORY.replace("lm.at_least(4.0), low", "lm.at_least(400.0), low", 1))
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 1
    assert (done.json[0]["outcome"], done.json[0]["expected"]) == ("fails", "holds")
    assert "not as expected: toy/c1-high: fails (expected holds)" in done.err


def test_verify_leaves_with_1_if_a_control_is_wrong(lemmata: Lemmata, toy: Path) -> None:
    toy.write_text(
        THEORY.replace('lm.Control("the low slope", slope=0.5)', 'lm.Control("nothing broken", slope=2.0)', 1)
    )
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 1
    assert done.json[0]["outcome"] == done.json[0]["expected"] == "holds"
    assert (done.json[0]["control"], done.json[0]["control_expected"]) == ("holds", "fails")


def test_verify_leaves_with_1_if_cells_failed(lemmata: Lemmata, toy: Path) -> None:
    broken = THEORY.replace('return {"height"', 'assert setting.slope != 2.0, "no"\n    return {"height"')
    toy.write_text(broken)
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 1
    assert done.json[0]["outcome"] == "inconclusive"
    assert "e1-line has failed cells" in done.json[0]["note"]


def test_verify_hands_its_seed_to_evidence_that_draws(lemmata: Lemmata, toy: Path) -> None:
    drawn = "@lm.fact\ndef drawn(sign=1, *, seed):\n    return sign * np.random.default_rng(seed).uniform()\n\n\n"
    chance = "claim('c0-chance', drawn(), lm.at_least(0.0), lm.Control('below', sign=-1))"
    toy.write_text(THEORY.replace("CLAIMS = [", f"{drawn}CLAIMS = [{chance},"))
    measured = []
    for seed in ("0", "1", "0"):
        done = lemmata("verify", "toy.py/c0-chance", "--preset", "smoke", "--seed", seed, "--json")
        assert done.code == 0
        measured.append(done.json[0]["measured"])
    assert measured[0] == measured[2] != measured[1]
    assert not calls(), "a claim that reads no experiment runs none"


def test_verify_without_a_name_checks_the_headlines_and_with_all_everything(
    lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "load_all", lambda: [registry.load(str(toy))])
    headlines = lemmata("verify", "--preset", "smoke", "--json")
    assert [row["claim"] for row in headlines.json] == ["c1-high"]
    everything = lemmata("verify", "--all", "--preset", "smoke", "--json")
    assert [row["claim"] for row in everything.json] == ["c1-high", "c2-range", "c3-absent", "c4-other"]


def test_rows_appear_as_they_are_decided(lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    stdout = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr("sys.argv", ["lemmata", "verify", "toy.py", "--preset", "smoke"])
        patch.setattr("sys.stdout", stdout)
        with pytest.raises(SystemExit) as left:
            cli.main()
    assert left.value.code == 0
    before_last = Path("printed").read_text()
    assert "toy/c1-high" in before_last
    assert "toy/c3-absent" in before_last
    assert "toy/c4-other" not in before_last
    assert "toy/c4-other" in stdout.getvalue()
    assert "4 claims, 4 as expected. Report: results/smoke/index.html" in stdout.getvalue()


def test_report_rebuilds_the_same_page_without_computing(lemmata: Lemmata, toy: Path) -> None:
    lemmata("verify", "toy.py", "--preset", "smoke")
    page = Path("results/smoke/index.html")
    before = page.read_bytes()
    page.unlink()
    forget_calls()
    toy.unlink()
    done = lemmata("report", "results/smoke")
    assert done.code == 0
    assert done.out.strip() == "results/smoke/index.html"
    assert page.read_bytes() == before
    assert calls() == []


def test_verdicts_of_several_commands_meet_on_one_page(lemmata: Lemmata, toy: Path) -> None:
    lemmata("verify", "toy.py/c1-high", "--preset", "smoke")
    lemmata("verify", "toy.py/c2-range", "--preset", "smoke")
    page = Path("results/smoke/index.html").read_text()
    assert "The statement of c1-high." in page
    assert "The statement of c2-range." in page
    toy.write_text(THEORY + "\nCHANGED = True\n")
    lemmata("verify", "toy.py/c2-range", "--preset", "smoke")
    page = Path("results/smoke/index.html").read_text()
    assert "The statement of c1-high." not in page, "a verdict of other sources does not stay"


# bound


def test_bound_prints_the_contracts_answer(lemmata: Lemmata, toy: Path) -> None:
    answer = lemmata("bound", "toy.py/samples", "--set", "n=20", "--json").json
    assert answer == {
        "inputs": {"n": 20, "c": 0.5}, "value": 40.0, "log10": pytest.approx(math.log10(40)), "vacuous": False,
        "note": "constants are 1",
    }  # fmt: skip
    plain = lemmata("bound", "toy.py/samples")
    assert plain.code == 0
    assert "samples(n=10, c=0.5) = 20" in plain.out


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


# what goes wrong

BAD = {
    "no command": (["lits"], "list"),
    "unknown theory": (["show", "vitt"], "did you mean 'vit'"),
    "unknown theory to run": (["run", "nothing/e1"], "no theory 'nothing'"),
    "unknown theory to verify": (["verify", "vitt"], "did you mean 'vit'"),
    "unknown experiment": (["run", "toy.py/e1-lin"], "did you mean 'e1-line'"),
    "unknown claim": (["verify", "toy.py/c1-hihg"], "did you mean 'c1-high'"),
    "unknown bound": (["bound", "toy.py/sample"], "did you mean 'samples'"),
    "unknown preset": (["run", "toy.py/e1-line", "--preset", "quik"], "did you mean 'quick'"),
    "preset the experiment lacks": (["run", "toy.py/e1-line", "--preset", "paper"], "preset 'paper'"),
    "unknown engine": (["run", "toy.py/e1-line", "--engine", "locl"], "did you mean 'local'"),
    "unknown engine to verify": (["verify", "toy.py", "--engine", "cloud"], "engine 'cloud'"),
    "unknown field": (["run", "toy.py/e1-line", "--set", "slop=1"], "did you mean 'slope'"),
    "unknown parameter": (["bound", "toy.py/samples", "--set", "m=1"], "parameter 'm' in samples"),
    "malformed set": (["run", "toy.py/e1-line", "--set", "slope"], "name=value"),
    "malformed set of a bound": (["bound", "toy.py/samples", "--set", "n:3"], "name=value"),
    "not a number": (["run", "toy.py/e1-line", "--set", "slope=steep"], "slope = steep is not allowed"),
    "not finite": (["run", "toy.py/e1-line", "--set", "slope=nan"], "slope = nan is not allowed"),
    "out of range": (["run", "toy.py/e1-line", "--set", "slope=11"], "at least 0 and at most 10"),
    "not an integer": (["run", "toy.py/e1-line", "--set", "points=2.5"], "an integer"),
    "not a choice": (["run", "toy.py/e1-line", "--set", "mode=third"], "one of plain, other"),
    "bound out of range": (["bound", "toy.py/samples", "--set", "c=2"], "c = 2 is not allowed"),
    "missing argument": (["run"], "argument"),
    "missing argument of bound": (["bound"], "argument"),
    "missing argument of report": (["report"], "argument"),
    "no slash": (["run", "toy.py"], "THEORY/EXPERIMENT"),
    "no slash in bound": (["bound", "vit"], "THEORY/BOUND"),
    "no seeds": (["run", "toy.py/e1-line", "--seeds", "0"], "--seeds"),
    "seeds in words": (["run", "toy.py/e1-line", "--seeds", "many"], "--seeds"),
    "negative seed": (["run", "toy.py/e1-line", "--seed", "-1"], "--seed"),
    "huge seed": (["verify", "toy.py", "--seed", "2147483648"], "--seed"),
    "unknown option": (["run", "toy.py/e1-line", "--sedes", "3"], "--sedes"),
    "no such file": (["verify", "none.py"], "none.py"),
    "a folder in place of a file": (["verify", "folder.py"], "folder.py"),
    "a file with a syntax error": (["verify", "syntax.py"], "syntax.py cannot be loaded: SyntaxError"),
    "a file that raises": (["show", "raises.py"], "raises.py cannot be loaded: ZeroDivisionError"),
    "a file that leaves": (["show", "leaves.py"], "leaves.py"),
    "a file of other bytes": (["show", "bytes.py"], "bytes.py cannot be loaded"),
    "a file without a theory": (["verify", "empty.py"], "does not define `theory`"),
    "report on nothing": (["report", "nowhere"], "nowhere holds no verdicts"),
    "report on an empty folder": (["report", "folder.py"], "folder.py holds no verdicts"),
    "report on a broken file": (["report", "broken"], "verdicts.json cannot be read"),
    "unknown benchmark": (["bench", "nothing"], "benchmark 'nothing'"),
    "out is a file": (["run", "toy.py/e1-line", "--preset", "smoke", "--out", "toy.py"], "toy.py"),
    "out of verify is a file": (["verify", "toy.py/c1-high", "--preset", "smoke", "--out", "toy.py"], "toy.py"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing_behind(case: str, lemmata: Lemmata, toy: Path) -> None:
    args, said = BAD[case]
    Path("syntax.py").write_text("def broken(:\n")
    Path("raises.py").write_text("1 / 0\n")
    Path("leaves.py").write_text("raise SystemExit('bye')\n")
    Path("bytes.py").write_bytes(b"\xff\xfe\x00theory")
    Path("empty.py").write_text("theory = 3\n")
    Path("folder.py").mkdir()
    Path("broken").mkdir()
    Path("broken/verdicts.json").write_text("[{")
    before = files()
    result = lemmata(*args)
    assert result.code == 2, result.err
    warnings = [line for line in sentences(result.err) if not line.startswith(("e1-line: the slope", "e2-other: the"))]
    assert len(warnings) == 1, result.err
    assert said in warnings[0]
    assert "Traceback" not in result.err
    assert sentences(result.out)[1:] == [], "at most the head of the table"
    assert files() == before
    assert calls() == []


def test_a_read_only_folder_is_one_sentence(lemmata: Lemmata, toy: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Path("closed").mkdir()
    Path("closed").chmod(stat.S_IRUSR | stat.S_IXUSR)
    result = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "closed")
    Path("closed").chmod(stat.S_IRWXU)
    assert result.code == 2
    assert "closed" in sentences(result.err)[-1]
    assert files(Path("closed")) == set()


def test_a_file_may_have_the_name_of_a_module(lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", json)
    toy.rename("json.py")
    done = lemmata("run", "json.py/e1-line", "--preset", "smoke", "--json")
    assert done.code == 0, done.err
    assert sys.modules["json"] is json


def test_an_error_of_the_program_leaves_with_3_and_its_traceback(lemmata: Lemmata, toy: Path) -> None:
    toy.write_text(THEORY.replace("lm.at_least(4.0)", "(lambda evidence: 1 / 0)", 1))
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke")
    assert done.code == 3
    assert "Traceback" in done.err
    assert sentences(done.err)[-1].startswith("internal error: ZeroDivisionError")


def test_without_arguments_the_help_is_shown(lemmata: Lemmata) -> None:
    done = lemmata()
    assert done.code == 2
    assert "Usage" in done.out + done.err
    assert "verify" in done.out + done.err
    assert lemmata("--help").code == 0
