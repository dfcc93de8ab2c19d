"""What a page says, before it is set: statements with their corrections, theories, and where everything comes from.

Two questions are kept apart. *Science*: is the paper's statement confirmed, refuted or undecided? *Health*: can one
trust that answer, that is, did the judge get its controls right, did it come out as predicted, does it repeat?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lemmata.lab.claims import FAILS, HOLDS, INCONCLUSIVE
from lemmata.lab.page import numbers
from lemmata.lab.page.cards import Card, read_cards
from lemmata.lab.page.formulas import symbols_of
from lemmata.lab.page.runs import Run, read_run
from lemmata.lab.page.strip import Strip, make_strip
from lemmata.lab.replications import Replication, known_replications
from lemmata.lab.rows import Row
from lemmata.lab.shown import SAID

SCIENCE = {HOLDS: "confirmed", FAILS: "refuted", INCONCLUSIVE: "undecided"}
SIGNS = {"confirmed": "✓", "refuted": "✗", "undecided": "?"}
CORRECTED = "corrected"
SMOKE = "smoke"


@dataclass(frozen=True)
class Sign:
    """One sign of health: what was looked at, in a sentence and in short, and whether it is good, bad or mild.

    Mild: it is not as it should be, at the preset smoke, which is too small to decide anything.
    """

    word: str
    state: str
    text: str
    short: str


@dataclass(frozen=True)
class Statement:
    """One claim with its verdict."""

    row: Row
    card: Card
    replication: Replication | None
    runs: Sequence[Run]

    @property
    def is_smoke(self) -> bool:
        """Judged at sizes that are too small to decide anything."""
        return self.row.preset == SMOKE

    @property
    def science(self) -> str:
        return SCIENCE[INCONCLUSIVE] if self.is_smoke else SCIENCE.get(self.row.outcome, self.row.outcome)

    @property
    def sign(self) -> str:
        return "" if self.is_smoke else SIGNS.get(self.science, "")

    @property
    def verdict(self) -> str:
        return f"{self.row.outcome} at smoke" if self.is_smoke else self.science

    @property
    def said(self) -> str:
        """Who says so."""
        return SAID.get(self.row.source, self.row.source)

    @property
    def is_correction(self) -> bool:
        return self.row.source == CORRECTED

    @property
    def claimed(self) -> str:
        return numbers.claimed(self.row)

    @property
    def measured(self) -> str:
        return numbers.measured(self.row)

    @property
    def statistic(self) -> str:
        return numbers.statistic(self.row)

    @property
    def decided_by(self) -> str:
        return numbers.decided_by(self.row)

    @property
    def strip(self) -> Strip | None:
        return make_strip(self.row)

    @property
    def where(self) -> list[tuple[str, str]]:
        """The symbols of its formula with their meanings."""
        known, here = self.card.symbols or {}, symbols_of(self.row.formula)
        return [(symbol, meaning) for symbol, meaning in known.items() if symbol in here]

    @property
    def notes(self) -> list[str]:
        return [numbers.in_words(part) for part in self.row.note.split("; ") if part]

    @property
    def health(self) -> list[Sign]:
        row, repeated = self.row, self.replication

        def sign(word: str, good: bool, text: str, short: str) -> Sign:
            state = "good" if good else "mild" if self.is_smoke else "bad"
            return Sign(word, state, text, short if good else text)

        right, known = row.control == row.control_expected, row.outcome == row.expected
        judged = "judge validated by its control"
        if not right:
            judged = f"a control came out as {row.control} instead of {row.control_expected}"
        came = "as predicted" if known else f"{row.outcome} instead of {row.expected}"
        signs = [sign("control", right, judged, "control"), sign("predicted", known, came, "as predicted")]
        for name in self.others:
            text = f"the data of {name} are others than those that were judged; verify it again"
            signs.append(Sign("data", "bad", text, text))
        if row.lost and row.expected != INCONCLUSIVE:
            signs.append(Sign("data", "bad", text := "a value was lost or a cell failed", text))
        if repeated is not None and repeated.preset == row.preset:
            short = f"{repeated.as_expected} of {repeated.blocks} blocks"
            signs.append(sign("replicated", repeated.repeats, repeated.words(), short))
        return signs

    @property
    def others(self) -> list[str]:
        """The experiments whose data are others than those that were judged."""
        there = {run.name: run.record.get("data") for run in self.runs}
        return [name for name, identity in self.row.data.items() if there.get(name) not in (None, identity)]

    @property
    def needs_attention(self) -> bool:
        return any(sign.state == "bad" for sign in self.health)


@dataclass(frozen=True)
class Group:
    """A statement and the statements that correct it, in one card."""

    main: Statement
    corrections: Sequence[Statement]

    def __iter__(self) -> Iterator[Statement]:
        return iter((self.main, *self.corrections))

    @property
    def words(self) -> str:
        """What a filter may ask for."""
        found = dict.fromkeys(each.science for each in self if not each.is_correction)
        extra = ["corrected"] if self.corrections or self.main.is_correction else []
        return " ".join([*found, *extra, *(["attention"] if any(each.needs_attention for each in self) else [])])


@dataclass(frozen=True)
class Part:
    """A theory: its paper, its statements, its experiments."""

    card: Card
    groups: Sequence[Group]
    runs: Sequence[Run]

    @cached_property
    def statements(self) -> list[Statement]:
        return [each for group in self.groups for each in group]

    @cached_property
    def printed(self) -> list[Statement]:
        """What the paper states, or what follows from it: all but our corrections."""
        return [each for each in self.statements if not each.is_correction]

    def of(self, science: str) -> list[Statement]:
        return [each for each in self.printed if each.science == science]

    @property
    def corrections(self) -> list[Statement]:
        return [each for each in self.statements if each.is_correction]

    @property
    def amended(self) -> list[Statement]:
        """Refuted statements beside which a confirmed correction stands."""
        good = {each.row.corrects for each in self.corrections if each.science == "confirmed"}
        return [each for each in self.of("refuted") if each.row.claim in good]

    @property
    def attention(self) -> list[Statement]:
        return [each for each in self.statements if each.needs_attention]

    @property
    def controls(self) -> int:
        return sum(len(each.row.controls) for each in self.statements)

    @property
    def replicated(self) -> list[Statement]:
        return [each for each in self.statements if any(sign.word == "replicated" for sign in each.health)]

    @property
    def is_smoke(self) -> bool:
        return any(each.is_smoke for each in self.statements)


@dataclass(frozen=True)
class Content:
    """Everything a page says."""

    parts: Sequence[Part]
    wrong: Sequence[str]

    @property
    def statements(self) -> list[Statement]:
        return [each for part in self.parts for each in part.statements]

    @property
    def rows(self) -> list[Row]:
        return [each.row for each in self.statements]

    @property
    def attention(self) -> list[Statement]:
        return [each for each in self.statements if each.needs_attention]

    @property
    def is_smoke(self) -> bool:
        return all(each.is_smoke for each in self.statements)

    def counts(self) -> Mapping[str, int]:
        return Counter(each.science for part in self.parts for each in part.printed)

    def filters(self) -> Mapping[str, int]:
        """How many cards each filter leaves."""
        return Counter(word for part in self.parts for group in part.groups for word in group.words.split())

    def every(self, field: str) -> list[str]:
        """The distinct values of a field of the rows, in their order."""
        return list(dict.fromkeys(str(getattr(row, field)) for row in self.rows))

    @property
    def dates(self) -> tuple[str, str]:
        """When the first and the last verdict were given."""
        stamps = sorted(row.judged.replace("T", " ").replace("+00:00", " UTC") for row in self.rows)
        return (stamps[0], stamps[-1]) if stamps else ("", "")

    @property
    def seconds(self) -> str:
        return numbers.duration(sum(row.seconds for row in self.rows))

    @property
    def seeds(self) -> list[str]:
        """The seeds of the experiments, from the most used on."""
        found = Counter(run.seeds for part in self.parts for run in part.runs if run.seeds)
        return [words for words, _ in found.most_common()]

    @property
    def libraries(self) -> list[str]:
        """What the experiments were computed with."""
        records = [run.record.get("versions", {}) for part in self.parts for run in part.runs]
        return list(dict.fromkeys(f"{k} {v}" for versions in records for k, v in versions.items() if k != "lemmata"))


def collect(rows: Sequence[Row], directory: Path) -> Content:
    """What a results folder has to say of these rows."""
    cards, wrong = read_cards(directory)
    theories = dict.fromkeys(row.theory for row in rows)
    parts = [_part([row for row in rows if row.theory == name], cards.get(name) or Card(name), directory)
             for name in theories]  # fmt: skip
    return Content(parts, wrong)


def _part(rows: Sequence[Row], card: Card, directory: Path) -> Part:
    runs = {name: read_run(directory, card.name, name) for row in rows for name in row.reads}
    known = known_replications(card.name, directory)
    there = {row.claim: Statement(row, card, known.get(row.claim), [runs[name] for name in row.reads]) for row in rows}
    corrections: dict[str, list[Statement]] = {}
    for statement in there.values():
        root = _root(statement.row, there)
        if root != statement.row.claim:
            corrections.setdefault(root, []).append(statement)
    groups = [
        Group(statement, corrections.get(claim, []))
        for claim, statement in there.items()
        if _root(statement.row, there) == claim
    ]
    return Part(card, groups, list(runs.values()))


def _root(row: Row, there: Mapping[str, Statement]) -> str:
    """The claim in whose card a row stands: what it corrects, what that corrects, ..., as far as it is there."""
    seen = [row.claim]
    while (target := there[seen[-1]].row.corrects or "") in there:
        if target in seen:
            return row.claim
        seen.append(target)
    return seen[-1]
