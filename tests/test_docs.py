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
