"""The documentation does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


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


def test_the_code_on_the_page_of_the_vision_transformer_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "theories" / "vit.md").read_text(), flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "relevant_share" in done.stdout


def test_the_page_of_the_vision_transformer_has_every_claim_and_every_figure() -> None:
    from lemmata.theories.vit import theory

    text = (ROOT / "docs" / "theories" / "vit.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*?\| \*\*(\w+)\*\* \|", text, flags=re.MULTILINE))
    assert rows.keys() == theory.claims.keys()
    assert set(rows.values()) <= {"holds", "fails", "inconclusive"}
    for name in theory.experiments:
        assert f"lemmata run vit/{name}\n" in text, f"no command for {name}"
    for image in re.findall(r"\]\((\.\./images/[^)]+)\)", text):
        assert (ROOT / "docs" / "theories" / image).exists(), image
