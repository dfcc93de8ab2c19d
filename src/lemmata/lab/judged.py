"""A judged claim in a few lines of a terminal: verdict, name, statement, what was measured and what it must be."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE
from lemmata.lab.page.numbers import claimed, in_words, measured, statistic
from lemmata.lab.rows import Row
from lemmata.lab.terminal import BAD, GOOD, NAME, OPEN, QUIET, indent, line, show

if TYPE_CHECKING:
    from lemmata.lab.verify import Verification

STYLES = {HOLDS: GOOD, FAILS: OPEN, INCONCLUSIVE: QUIET}
VERBS = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail"), INCONCLUSIVE: ("is inconclusive", "are inconclusive")}
INSET = 4


def row_text(row: Row, counter: str = "") -> RenderableType:
    """The verdict and the name; below them the statement, what was measured, and what is not in order."""
    mark, style = ("!", BAD) if row.alarming else ("✓", STYLES[row.outcome]) if row.as_expected else ("·", OPEN)
    first = line((counter, QUIET), (mark, style), " ", (f"{row.outcome:<12}", style), " ", (row.name, NAME))
    parts = [Text(row.statement), Text(measured_text(row))]
    told = row.preset != "smoke"  # which is too small to decide anything
    if told and row.outcome != row.expected:
        parts.append(line((f"expected: {row.expected}", style)))
    if told and row.control != row.control_expected:
        parts.append(line((f"its control {row.control}, which must come out as: {row.control_expected}", style)))
    if row.note and (row.alarming or row.measured is None or row.outcome == INCONCLUSIVE):
        parts.append(line((in_words(row.note), style if row.alarming else QUIET)))
    return Group(first, indent(Group(*(part for part in parts if part.plain)), INSET))


def measured_text(row: Row) -> str:
    """What was measured, what the number is, and what it must be."""
    if row.measured is None:
        return ""
    wanted = claimed(row)
    return f"measured {measured(row)} ({statistic(row)})" + (f"; must be {wanted}" if wanted else "")


def counted(rows: Iterable[Row]) -> str:
    """How many hold, fail and are undecided, and how many are as expected."""
    listed = list(rows)
    count, expected = len(listed), sum(row.as_expected for row in listed)
    outcomes = Counter(row.outcome for row in listed)
    told = ", ".join(f"{outcomes[each]} {VERBS[each][outcomes[each] > 1]}" for each in VERBS if outcomes[each])
    small = " The preset smoke only shows that everything runs." if any(row.preset == "smoke" for row in listed) else ""
    return f"{count} claim{'s' if count != 1 else ''}, {expected} as expected: {told}.{small}"


def odd_sentences(done: Verification) -> list[str]:
    """A sentence for everything that makes `verify` exit with 1."""
    odd = [row for row in done.rows if row.alarming]
    told = {row.name for row in odd if row.lost}
    return [
        *(
            f"not as expected: {row.name}: {row.outcome} (expected {row.expected}), "
            f"control {row.control} (expected {row.control_expected}){'; ' + row.note if row.lost else ''}"
            for row in odd
        ),
        *(sentence for sentence in done.broken if sentence.partition(": ")[0] not in told),
    ]


class Judged:
    """Prints every row as it is decided, with how many have been; stdout as it is now, whatever prints later."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._out = total, 0, sys.stdout

    def pass_over(self, row: Row) -> None:
        """Print nothing."""

    def add(self, row: Row) -> None:
        self._done += 1
        width = len(str(self._total))
        show(row_text(row, f"{self._done:>{width}}/{self._total} "), self._out)
