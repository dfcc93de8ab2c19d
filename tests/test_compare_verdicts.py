"""The comparison of two verifications finds what differs and says by its exit code whether it matters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "compare_verdicts.py"


def row(claim: str = "c1", **changes: Any) -> dict[str, Any]:
    numbers = {"measured": 1.5, "low": 1.0, "high": 2.0}
    return {"theory": "toy", "claim": claim, "outcome": "holds", "control": "fails", **numbers, **changes}


def compare(before: list[Any], after: list[Any], *options: str) -> tuple[int, list[str]]:
    Path("before.json").write_text(json.dumps(before))
    Path("after.json").write_text(json.dumps(after))
    return call("before.json", "after.json", *options)


def call(*arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_equal_rows_differ_in_nothing() -> None:
    rows = [row(), row("c2", measured=None, low=None, high=None)]
    assert compare(rows, rows) == (0, ["2 claims on both sides: 0 missing or with another outcome, 0 other numbers"])


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ([row(outcome="fails")], "toy/c1: outcome holds -> fails"),
        ([row(control="holds")], "toy/c1: control fails -> holds"),
        ([], "toy/c1: missing after"),
        ([row(), row("c2")], "toy/c2: missing before"),
    ],
)
def test_another_outcome_or_a_missing_claim_leaves_with_1(after: list[Any], line: str) -> None:
    code, lines = compare([row()], after)
    assert code == 1
    assert lines[0] == line
    assert "1 missing or with another outcome" in lines[-1]


def test_a_number_is_told_with_both_values_and_where_it_lies() -> None:
    code, lines = compare([row(), row("c2")], [row(measured=1.6), row("c2", measured=3.0, high=None)])
    assert code == 0
    assert lines[:-1] == [
        "toy/c1: measured 1.5 -> 1.6, within [1, 2] of before",
        "toy/c2: measured 1.5 -> 3.0, outside [1, 2] of before",
        "toy/c2: high 2.0 -> None, no value after",
    ]


def test_the_tolerance_is_relative() -> None:
    changed = [row(measured=1.5 * (1 + 1e-4))]
    assert len(compare([row()], changed)[1]) == 2
    assert len(compare([row()], changed, "--relative", "1e-3")[1]) == 1


def test_folders_and_several_files_are_read() -> None:
    Path("results").mkdir()
    Path("results/verdicts.json").write_text(json.dumps([row()]))
    Path("more.json").write_text(json.dumps([row("c2")]))
    code, lines = call("results,more.json", "results")
    assert code == 1
    assert lines[0] == "toy/c2: missing after"


@pytest.mark.parametrize("text", ["[{", '[{"claim": "c1"}]', "3"])
def test_what_is_no_list_of_rows_leaves_with_2(text: str) -> None:
    Path("broken.json").write_text(text)
    assert call("broken.json", "broken.json") == (2, [])
