"""Changes: what differs between two folders is told by claim, on the page and as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "page"))
from page_cases import Page, keep, row

from lemmata.lab.changes import Changes, compare
from lemmata.lab.errors import UserError
from lemmata.lab.report import write_changes
from lemmata.lab.rows import Row


def compared(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Changes:
    return compare([Row.read(each) for each in a], [Row.read(each) for each in b])


def test_other_outcomes_other_numbers_and_claims_of_one_side_are_told_apart() -> None:
    found = compared(
        [row("c1"), row("c2"), row("c3"), row("c4"), row("c5")],
        [row("c1"), row("c2", outcome="fails"), row("c3", measured=1.6), row("c5", measured=1.5 + 1e-9), row("c6")],
    )
    assert [change.name for change in found.outcomes] == ["toy/c2"]
    assert [change.name for change in found.numbers] == ["toy/c3"]
    assert [change.name for change in found.alone] == ["toy/c4", "toy/c6"]
    assert (found.same, found.both) == (2, 4)
    assert "toy/c2: holds 1.5 -> fails 1.5" in found.text()
    assert "toy/c4: holds 1.5 -> not examined" in found.text()
    assert "2 of 4 claims on both sides are the same." in found.text()


def test_where_no_claim_is_on_both_sides_it_is_said() -> None:
    assert compared([row("c1")], [row("c2")]).text().endswith("No claim is on both sides.")


def test_the_json_is_that_of_the_contract() -> None:
    found = compared([row("c1"), row("c2")], [row("c1", outcome="inconclusive", measured=None)])
    assert found.json() == [
        {"theory": "toy", "claim": "c1", "a": {"outcome": "holds", "measured": 1.5},
         "b": {"outcome": "inconclusive", "measured": None}},
        {"theory": "toy", "claim": "c2", "a": {"outcome": "holds", "measured": 1.5}, "b": None},
    ]  # fmt: skip


def test_the_page_of_changes_lies_in_the_second_folder(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b<i>"
    for folder, rows in ((a, [row()]), (b, [row(outcome="fails", statement="<b>new</b>")])):
        folder.mkdir()
        keep(folder, *rows)
    write_changes(a, b)
    page = Page((b / "changes.html").read_text())
    assert "Other outcomes" in page.text
    assert "<b>new</b>" in page.text
    assert not {"b", "i"} & set(page.tags)
    assert not (a / "changes.html").exists()


def test_a_folder_without_verdicts_is_named(tmp_path: Path) -> None:
    keep(tmp_path, row())
    with pytest.raises(UserError, match="nowhere holds no verdicts"):
        write_changes(tmp_path, tmp_path / "nowhere")
