"""The documentation does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lemmata.lab.registry import load

ROOT = Path(__file__).parent.parent
PRINTED = [
    ("vit", "relevant_share"),
    ("exp_regression", "condition number"),
    ("icl", "condition satisfied: True"),
    ("graph_transformer", "core distance: 2"),
    ("teacher_student", "steps to escape from 1/D: 3155"),
]
"""Every theory with a page, and something that the code on it prints."""


def test_the_miniature_theory_runs_exactly_as_printed(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "adding-a-theory.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert code.count("\n") < 100
    (tmp_path / "max_margin.py").write_text(code)
    command = [sys.executable, "-m", "lemmata", "verify", "max_margin.py", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["outcome"], row["control"]) == ("holds", "fails")
    assert 1.28 < row["measured"] < 1.57
    assert (tmp_path / "results" / "quick" / "index.html").exists()


@pytest.mark.parametrize(("name", "printed"), PRINTED)
def test_the_code_on_the_page_of_a_theory_runs(tmp_path: Path, name: str, printed: str) -> None:
    text = (ROOT / "docs" / "theories" / f"{name}.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


@pytest.mark.parametrize("name", [name for name, _ in PRINTED])
def test_the_page_of_a_theory_has_every_claim_and_every_figure(name: str) -> None:
    theory = load(name)
    text = (ROOT / "docs" / "theories" / f"{name}.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*?\| \*\*(\w+)\*\* \|", text, flags=re.MULTILINE))
    assert rows.keys() == theory.claims.keys()
    assert set(rows.values()) <= {"holds", "fails", "inconclusive"}
    for experiment in theory.experiments:
        assert f"lemmata run {name}/{experiment}\n" in text, f"no command for {experiment}"
    for image in re.findall(r"\]\((\.\./images/[^)]+)\)", text):
        assert (ROOT / "docs" / "theories" / image).exists(), image
