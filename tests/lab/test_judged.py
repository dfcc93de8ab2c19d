"""Judged claims on a terminal: everything within its width, colours where there is one."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest

from lemmata.lab.judged import Judged, counted, measured_text, row_text
from lemmata.lab.rows import Row
from lemmata.lab.terminal import show

ROW = Row(
    theory="exp_regression", claim="q8-second-order-sign-as-printed-in-the-paper", reference="(8)", kind="bound",
    statement="The number of steps that the network needs grows as the inverse of the step size, whatever the width.",
    outcome="holds", expected="holds", relation=">=", predicted=0.75, measured=0.823456, low=0.8, high=0.99,
    accept_low=None, accept_high=None, note="a second criterion: 3", preset="quick", seconds=1.0, control="fails",
    control_expected="fails", statistic="worst seed", rule="every seed", source="paper", seeds=5, corrects=None,
    formula="", reads=(), controls=(), command="", sources="", lost=False, judged="", asked="", version="", machine="",
)  # fmt: skip


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(row: Row, columns: int, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    show(row_text(row, "12/462 "), stream)
    return stream.getvalue()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_a_row_fits_the_terminal_and_shows_what_was_measured(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = plain(shown(ROW, columns, monkeypatch)).splitlines()
    assert max(map(len, lines)) <= columns
    words = " ".join(" ".join(lines).split())
    assert "12/462 ✓ holds" in words
    assert "measured 0.8235 [0.8, 0.99] (worst of 5 seeds); must be ≥ 0.75" in words
    assert ROW.statement in words
    assert ROW.name in words.replace(" ", "")
    assert "criterion" not in words, "notes of what is in order are left to the page"


def test_what_is_not_as_expected_is_red_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = dataclasses.replace(ROW, outcome="fails", control="holds")
    text = shown(odd, 80, monkeypatch)
    assert "\x1b[1;31m" in text
    words = " ".join(plain(text).split())
    assert "! fails" in words
    assert "expected: holds" in words
    assert "its control holds, which must come out as: fails" in words
    assert "a second criterion: 3" in words
    falls = dataclasses.replace(ROW, outcome="fails", expected="fails")
    assert "31m" not in shown(falls, 80, monkeypatch), "a statement that falls as expected needs no attention"


def test_there_are_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[3" not in shown(ROW, 80, monkeypatch, NO_COLOR="1")
    assert "\x1b" not in shown(ROW, 80, monkeypatch, TERM="dumb")
    stream = io.StringIO()
    show(row_text(ROW), stream)
    assert "\x1b" not in stream.getvalue(), "a pipe"
    assert max(map(len, stream.getvalue().splitlines())) <= 96


def test_numbers_say_what_they_are_and_must_be() -> None:
    within = dataclasses.replace(ROW, relation="in", accept_low=-0.66, accept_high=-0.54, measured=10300.0, low=None)
    assert measured_text(within) == "measured 10\u202f300 (worst of 5 seeds); must be in [−0.66, −0.54]"
    equal = dataclasses.replace(ROW, relation="==", accept_high=1e-12, statistic="largest difference", low=None)
    assert measured_text(equal).endswith("(largest difference); must be equal within 10⁻¹²")
    assert measured_text(dataclasses.replace(ROW, measured=None)) == ""


def test_the_end_counts_outcomes_and_the_counter_is_over_all_claims(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [ROW, dataclasses.replace(ROW, outcome="fails"), dataclasses.replace(ROW, outcome="inconclusive")]
    assert counted(rows) == "3 claims, 1 as expected: 1 holds, 1 fails, 1 is inconclusive."
    assert counted([ROW]) == "1 claim, 1 as expected: 1 holds."
    judged = Judged(12)
    for row in rows:
        judged.add(row)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if "/12" in line] == [
        "1/12",
        "2/12",
        "3/12",
    ]


def test_at_smoke_nothing_is_called_unexpected(monkeypatch: pytest.MonkeyPatch) -> None:
    small = dataclasses.replace(ROW, preset="smoke", outcome="inconclusive", control="inconclusive")
    words = plain(shown(small, 80, monkeypatch))
    assert "expected" not in words
    assert "· inconclusive" in words
