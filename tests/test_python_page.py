"""docs/python.md and the notebooks do what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def same(printed: str, shown: str) -> bool:
    """The same words, and the same numbers up to what another machine's rounding changes in a training."""
    if re.sub(NUMBER, "#", printed).split() != re.sub(NUMBER, "#", shown).split():
        return False
    numbers = ([float(each) for each in re.findall(NUMBER, text)] for text in (printed, shown))
    return np.allclose(*numbers, rtol=0.05, atol=0.02)


@pytest.mark.filterwarnings("ignore")
def test_the_code_on_the_page_prints_what_stands_below_it() -> None:
    known: dict[str, Any] = {"__name__": "__main__"}
    blocks = re.findall(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", (DOCS / "python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 10
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "python.md", "exec"), known)
        assert same(printed.getvalue(), shown), f"{code}\nprints\n{printed.getvalue()}"


def test_numbers_and_words_are_compared() -> None:
    assert same("a 0.51 b", "a 0.50  b")
    assert not same("a 0.61 b", "a 0.50 b")
    assert not same("a 0.50 c", "a 0.50 b")
    assert not same("a", "a 1")


def texts(output: Any) -> str:
    """What an output says in words: streams and plain results; not what is HTML, whose plain text has timings."""
    if "text/html" in output.get("data", {}):
        return ""
    if output["output_type"] == "stream":
        return output["text"] if output["name"] == "stdout" else ""
    return "".join(output.get("data", {}).get("text/plain", ""))


def test_there_are_two_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["is-this-theorem-true", "what-did-the-network-learn"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_stored_outputs_are_those_of_a_run(path: Path, tmp_path: Path) -> None:
    from nbclient import NotebookClient

    stored = nbformat.read(path, as_version=4)
    again = nbformat.read(path, as_version=4)
    NotebookClient(again, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert sum("image/png" in out.get("data", {}) for cell in stored.cells for out in cell.get("outputs", [])) >= 1
    for old, new in zip(stored.cells, again.cells, strict=True):
        if old.cell_type == "code":
            assert [out["output_type"] for out in old.outputs] == [out["output_type"] for out in new.outputs]
            before, after = (re.sub(r"0x[0-9a-f]+", "", " ".join(map(texts, cell.outputs))) for cell in (old, new))
            assert same(after, before), f"{old.source}\n{before}\n{after}"
