"""The command line with bad input: one sentence, its exit code, and nothing left behind."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from cli_toy import calls, files, write_toy
from command import Lemmata, sentences

from lemmata.lab import programs


@pytest.fixture
def toy() -> Path:
    """A theory of the user's own in one file."""
    return write_toy()


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
    "two values behind one set": (["run", "toy.py/e1-line", "--set", "slope=1", "points=3"], "--set points=3"),
    "no blocks": (["replicate", "toy.py", "--blocks", "0"], "--blocks 0 is not allowed"),
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
    "set and an axis": (
        ["run", "toy.py/e1-line", "--set", "slope=1", "--axis", "a=1,2"], "slope is given by --set and by --axis",
    ),
    "seeds beyond the last": (
        ["run", "toy.py/e1-line", "--preset", "smoke", "--seed", "4294967294"], "the last seed is at most 4294967295",
    ),
    "no folder": (["report", ""], "give a folder"),
    "a number of thousands of digits": (["run", "toy.py/e1-line", "--set", f"slope={'9' * 5000}"], " ... "),
    "no seeds": (["run", "toy.py/e1-line", "--seeds", "0"], "--seeds"),
    "seeds in words": (["run", "toy.py/e1-line", "--seeds", "many"], "--seeds"),
    "negative seed": (["run", "toy.py/e1-line", "--seed", "-1"], "--seed"),
    "huge seed": (["verify", "toy.py", "--seed", "4294967296"], "--seed"),
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


@pytest.mark.parametrize("place", ["file", "file/in", "/proc/none"])
def test_a_cache_that_cannot_be_kept_is_one_sentence(
    place: str, lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").touch()
    kept = programs.programs_folder()
    monkeypatch.setenv("LEMMATA_CACHE", place)
    try:
        result = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out")
    finally:
        programs.keep_programs(str(kept))
    assert result.code == 0
    said = [line for line in result.sentences if "Compiled programs cannot be kept" in line]
    assert said == [line for line in result.sentences if place in line]
    assert len(said) == 1


def test_no_cache_is_made_in_the_folder_where_the_command_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEMMATA_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert programs.cache_folder() == Path("/somewhere/lemmata/compiled")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # nobody knows a home
    assert programs.cache_folder().is_absolute()
    assert programs.why_not_kept(programs.cache_folder()), "so that it is said"


def test_a_file_may_have_the_name_of_a_module(lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", json)
    toy.rename("json.py")
    done = lemmata("run", "json.py/e1-line", "--preset", "smoke", "--json")
    assert done.code == 0, done.err
    assert sys.modules["json"] is json


def test_an_error_of_the_program_leaves_with_3_and_its_traceback(
    lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lemmata.lab.verify.write_report", lambda directory: 1 / 0)
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke")
    assert done.code == 3
    assert "Traceback" in done.err
    assert sentences(done.err)[-1].startswith("internal error: ZeroDivisionError")


def test_without_arguments_the_help_is_shown(lemmata: Lemmata) -> None:
    done = lemmata()
    assert (done.code, done.err) == (0, "")
    assert "Usage" in done.out
    assert "verify" in done.out
    assert lemmata("--help") == lemmata("-h") == done
