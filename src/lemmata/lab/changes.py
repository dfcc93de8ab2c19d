"""Changes: what differs between two verifications of the same claims, of other seeds, sizes or versions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lemmata.lab.rows import Row

CLOSE = 1e-6
"""Numbers that differ by less, relatively, are the same."""


@dataclass(frozen=True)
class Change:
    """A claim that differs between A and B; None: it was not examined there."""

    a: Row | None
    b: Row | None

    @property
    def row(self) -> Row:
        """The claim as the last side that has it states it."""
        found = self.b or self.a
        assert found is not None
        return found

    @property
    def name(self) -> str:
        return self.row.name

    def json(self) -> dict[str, Any]:
        """As `lemmata report A B --json` prints it."""
        return {"theory": self.row.theory, "claim": self.row.claim, "a": _side(self.a), "b": _side(self.b)}

    def text(self) -> str:
        """In a line or two."""
        before, after = _words(self.a), _words(self.b)
        line = f"{self.name}: {before} -> {after}"
        return line if len(line) <= 80 else f"{self.name}\n  {before} -> {after}"


@dataclass(frozen=True)
class Changes:
    """Everything that differs: other outcomes, claims that one side lacks, other numbers; and how many are the same."""

    outcomes: Sequence[Change]
    alone: Sequence[Change]
    numbers: Sequence[Change]
    both: int

    @property
    def same(self) -> int:
        return self.both - len(self.outcomes) - len(self.numbers)

    @property
    def summary(self) -> str:
        """How much is the same."""
        if not self.both:
            return "no claim is on both sides"
        return f"{self.same} of {self.both} claims on both sides are the same"

    def json(self) -> list[dict[str, Any]]:
        return [change.json() for change in (*self.outcomes, *self.alone, *self.numbers)]

    def text(self) -> str:
        """What `lemmata report A B` prints."""
        lines = []
        for title, changes in (
            ("Other outcomes", self.outcomes), ("On one side only", self.alone), ("Other numbers", self.numbers)
        ):  # fmt: skip
            if changes:
                lines += [f"{title} ({len(changes)})", *(change.text() for change in changes), ""]
        return "\n".join([*lines, f"{self.summary[:1].upper()}{self.summary[1:]}."])


def compare(a: Sequence[Row], b: Sequence[Row]) -> Changes:
    """What differs between these rows: outcomes, and numbers by more than rounding."""
    before, after = ({row.name: row for row in rows} for rows in (a, b))
    both = [(before[name], after[name]) for name in before if name in after]
    alone = [Change(row, None) for name, row in before.items() if name not in after]
    alone += [Change(None, row) for name, row in after.items() if name not in before]
    outcomes = [Change(x, y) for x, y in both if x.outcome != y.outcome]
    numbers = [Change(x, y) for x, y in both if x.outcome == y.outcome and _differ(x.measured, y.measured)]
    return Changes(outcomes, alone, numbers, len(both))


def _differ(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return not math.isclose(before, after, rel_tol=CLOSE)


def _side(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else {"outcome": row.outcome, "measured": row.measured}


def _words(row: Row | None) -> str:
    if row is None:
        return "not examined"
    return row.outcome if row.measured is None else f"{row.outcome} {row.measured:.4g}"
