"""The documentation does what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import Lemmata
from smoke import each_theory

from lemmata.lab.registry import load, load_all

ROOT = Path(__file__).parent.parent
PRINTED = {
    "vit": "relevant_share",
    "exp_regression": "condition number",
    "icl": "condition satisfied: True",
    "cot": "Show the steps of the examples: gains",
    "graph_transformer": "core distance: 2",
    "group_imbalance": "What to do, as measured on these data",
    "teacher_student": "steps to escape from 1/D: 3155",
}
"""Every theory with a page, and something that the code on it prints."""


def code_of(page: Path) -> str:
    """All the code of a page, as it is read from top to bottom."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))


def test_the_miniature_theory_runs_exactly_as_printed(lemmata: Lemmata) -> None:
    code = code_of(ROOT / "docs" / "adding-a-theory.md")
    assert code.count("\n") < 100
    Path("max_margin.py").write_text(code)
    done = lemmata("verify", "max_margin.py", "--json")
    assert done.code == 0, done.err
    (row,) = done.json
    assert (row["outcome"], row["control"]) == ("holds", "fails")
    assert 1.28 < row["measured"] < 1.57
    assert Path("results/quick/index.html").exists()


@pytest.mark.parametrize("name", each_theory(*PRINTED))
def test_the_code_on_the_page_of_a_theory_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "theories" / f"{name}.md"
    exec(compile(code_of(page), str(page), "exec"), {"__name__": "__main__"})
    assert PRINTED[name] in capsys.readouterr().out


@pytest.mark.parametrize("name", each_theory(*PRINTED))
def test_the_page_of_a_theory_has_every_claim_and_every_figure(name: str) -> None:
    theory = load(name)
    text = (ROOT / "docs" / "theories" / f"{name}.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*?\| \*\*(\w+)\*\* \|", text, flags=re.MULTILINE))
    assert rows.keys() == theory.claims.keys()
    assert set(rows.values()) <= {"holds", "fails", "inconclusive"}
    verified = ROOT / "docs" / "verdicts" / f"{name}.json"
    if verified.exists():  # what the page says is what was computed
        computed = {row["claim"]: row["outcome"] for row in json.loads(verified.read_text())}
        assert rows == rows | computed
    for experiment in theory.experiments:
        assert f"lemmata run {name}/{experiment}\n" in text, f"no command for {experiment}"
    for image in re.findall(r"\]\((\.\./images/[^)]+)\)", text):
        assert (ROOT / "docs" / "theories" / image).exists(), image


ITEMS = {"run": ("experiment",), "bound": ("bound",), "verify": ("claim",), "replicate": ("claim",)}
"""What the commands are given; `show` takes anything."""


def test_every_command_of_the_documentation_names_things_that_exist() -> None:
    theories = {theory.name: theory for theory in load_all()}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    seen = 0
    for page in pages:
        for command, words in re.findall(r"\blemmata (run|bound|verify|replicate|show) ([^`\n#]+)", page.read_text()):
            for name, item in re.findall(r"(?<![\w/])(\w+)/([\w.-]+)", words):
                if name not in theories or item.isupper():
                    continue
                kinds = ITEMS.get(command, ("experiment", "bound", "claim"))
                known = {each for kind in kinds for each in getattr(theories[name], f"{kind}s")}
                fields = theories[name].setting.declarations() if command == "show" else {}
                assert item in known | fields.keys(), f"{page.name}: lemmata {command} {name}/{item}"
                seen += 1
    assert seen > 100
