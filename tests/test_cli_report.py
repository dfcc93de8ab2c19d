"""`lemmata report`: one folder makes its page anew, two tell what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_toy import write_toy
from command import Lemmata


@pytest.fixture
def toy() -> Path:
    return write_toy()


def test_a_page_is_made_anew_without_computing(lemmata: Lemmata, toy: Path) -> None:
    lemmata("verify", "toy.py", "--preset", "smoke", "--out", "a")
    Path("a/index.html").unlink()
    done = lemmata("report", "a")
    assert done.code == 0
    assert done.out.strip() == "a/index.html"
    assert Path("a/index.html").exists()
    assert lemmata("report", "a", "--json").json == {"page": "a/index.html"}


def test_a_verdict_on_other_data_than_those_that_are_there_says_so(lemmata: Lemmata, toy: Path) -> None:
    lemmata("verify", "toy.py", "--preset", "smoke", "--out", "a")
    lemmata("report", "a")
    said = "the data of e1-line are others than those that were judged"
    assert said not in Path("a/index.html").read_text()
    assert lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--seed", "5", "--overwrite", "--out", "a").code == 0
    assert lemmata("report", "a").code == 0
    assert said in Path("a/index.html").read_text()
    lemmata("verify", "toy.py", "--preset", "smoke", "--out", "a")
    assert said not in Path("a/index.html").read_text()


def test_two_folders_tell_what_changed(lemmata: Lemmata, toy: Path) -> None:
    for seed, out in (("0", "a"), ("7", "b")):
        lemmata("verify", "toy.py", "--preset", "smoke", "--seed", seed, "--out", out)
    same = lemmata("report", "a", "a", "--json")
    assert same.json == []
    done = lemmata("report", "a", "b")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "b/changes.html"
    assert Path("b/changes.html").exists()
    rows = {side: json.loads(Path(side, "verify.json").read_text())["rows"] for side in "ab"}
    found = lemmata("report", "a", "b", "--json").json
    before, after = ({row["claim"]: row for row in rows[side]} for side in "ab")
    changed = [c for c in before if any(before[c][key] != after[c][key] for key in ("outcome", "measured"))]
    assert sorted(each["claim"] for each in found) == sorted(changed)
    for each in found:
        for side, of in (("a", before), ("b", after)):
            assert each[side] == {key: of[each["claim"]][key] for key in ("outcome", "measured")}


def test_a_folder_without_verdicts_is_a_sentence(lemmata: Lemmata) -> None:
    Path("empty").mkdir()
    done = lemmata("report", "empty", "empty")
    assert done.code == 2
    assert "empty holds no verdicts" in done.err
