"""Rows: a judged claim as `lemmata verify` prints it, keeps it in `verdicts.json` and shows it on the page."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from lemmata.lab.claims import INCONCLUSIVE, Claim, Control, Finding, Verdict
from lemmata.lab.declarations import spell_changes
from lemmata.lab.errors import UserError
from lemmata.lab.files import format_json, is_sealed, sealed, write_whole, writing
from lemmata.lab.looks import in_notebook

VERDICTS = "verdicts.json"


class OldRows(UserError):
    """Rows that another version of Lemmata left: none has a seal, or all lack a field."""


@dataclass(frozen=True)
class Occasion:
    """A verification: the command that asks for it, the version of Lemmata, and the machine that judges."""

    asked: str
    version: str
    machine: str


@dataclass(frozen=True)
class ControlRow:
    """A judged control."""

    case: str
    outcome: str
    expected: str
    measured: float | None
    note: str
    changed: str = ""
    """which arguments of the evidence it changes, from what to what; empty if it is other evidence"""

    @classmethod
    def of(cls, claim: Claim, control: Control, verdict: Verdict) -> ControlRow:
        changed = claim.changed_by(control) or {}
        outcome, expected = verdict.outcome, claim.expected_of(control)
        return cls(control.case, outcome, expected, _finite(verdict.measured), verdict.note, spell_changes(changed))


@dataclass(frozen=True)
class Row:
    """A judged claim: the fields of the JSON of `lemmata verify`, then, from `formula` on, what only the page reads.

    Numbers are finite or None. `accept_low` and `accept_high` are given for the relation `in`, `accept_high` for ==
    too; `control` is the outcome of the worst control; `lost` says that a value is not a number or a cell failed, in
    the claim or a control; `data` are the stores that were read, by experiment; `sources` is the digest of what decided
    the verdict; `judged` says when, in UTC, and the last three on which occasion.
    """

    theory: str
    claim: str
    reference: str
    kind: str
    statement: str
    outcome: str
    expected: str
    relation: str
    predicted: float | None
    measured: float | None
    low: float | None
    high: float | None
    accept_low: float | None
    accept_high: float | None
    note: str
    preset: str
    seconds: float
    control: str
    control_expected: str
    statistic: str
    rule: str
    source: str
    seeds: int
    corrects: str | None
    formula: str
    reads: tuple[str, ...]
    data: Mapping[str, str]
    controls: tuple[ControlRow, ...]
    command: str
    sources: str
    lost: bool
    judged: str
    asked: str
    version: str
    machine: str

    @classmethod
    def of(
        cls,
        theory: str,
        finding: Finding,
        preset: str,
        seconds: float,
        command: str,
        sources: str,
        during: Occasion,
        data: Mapping[str, str],
    ) -> Row:
        """The row of a finding; NaN and infinities become None with a note."""
        claim, verdict = finding.claim, finding.verdict
        control, control_verdict = finding.worst_control
        numbers = {"predicted": verdict.predicted, "measured": verdict.measured}
        numbers |= {"low": verdict.low, "high": verdict.high, "accept_low": None, "accept_high": None}
        if verdict.relation in ("in", "=="):
            numbers |= {"accept_low": verdict.accept_low, "accept_high": verdict.accept_high}
        odd = [f"{name} is {value}" for name, value in numbers.items() if value != _finite(value)]
        return cls(
            theory=theory,
            claim=claim.name,
            reference=claim.reference,
            kind=claim.kind,
            statement=claim.statement,
            outcome=verdict.outcome,
            expected=claim.expected,
            relation=verdict.relation,
            **{name: _finite(value) for name, value in numbers.items()},
            note=f"{verdict.note} ({', '.join(odd)})" if odd else verdict.note,
            preset=preset,
            seconds=round(seconds, 3),
            control=control_verdict.outcome,
            control_expected=claim.expected_of(control),
            statistic=verdict.statistic,
            rule=verdict.rule,
            source=claim.source,
            seeds=verdict.seeds or 0,
            corrects=claim.corrects or None,
            formula=claim.formula,
            reads=tuple(claim.reads),
            data=dict(data),
            controls=tuple(ControlRow.of(claim, control, verdict) for control, verdict in finding.controls),
            command=command,
            sources=sources,
            lost=any(each.lost for each in (verdict, *(verdict for _, verdict in finding.controls))),
            judged=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            **asdict(during),
        )

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Row:
        """The row that `stored` gave."""
        controls = tuple(ControlRow(**control) for control in stored["controls"])
        accepted = {"accept_low": None, "accept_high": None}
        return cls(**{**accepted, **stored, "reads": tuple(stored["reads"]), "controls": controls})

    @property
    def name(self) -> str:
        return f"{self.theory}/{self.claim}"

    def _repr_html_(self) -> str:
        return in_notebook("row", self)

    @property
    def as_expected(self) -> bool:
        """The verdict and the control came out as the specification says."""
        return self.outcome == self.expected and self.control == self.control_expected

    @property
    def alarming(self) -> bool:
        """Whether it makes `verify` exit with 1: not as expected; at the preset smoke, which is too small to decide
        anything, only a failed cell or a lost value."""
        if self.preset == "smoke":
            return self.lost and self.expected != INCONCLUSIVE
        return not self.as_expected

    def json(self) -> dict[str, Any]:
        """The row as `lemmata verify --json` prints it."""
        return dict(itertools.takewhile(lambda field: field[0] != "formula", self.stored().items()))

    def stored(self) -> dict[str, Any]:
        """The whole row, for `verdicts.json`."""
        fields = asdict(self)
        for name in {"in": (), "==": ("accept_low",)}.get(self.relation, ("accept_low", "accept_high")):
            del fields[name]
        return fields


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def read_rows(directory: Path) -> list[Row]:
    """The rows that earlier verifications left in this folder."""
    path = directory / VERDICTS
    try:
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        old = _is_old(stored)
        if not old and all(map(is_sealed, stored)):
            return [Row.read({name: value for name, value in row.items() if name != "seal"}) for row in stored]
        reason = "was changed after it was written"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        old, reason = False, "cannot be read"
    if old:
        raise OldRows(f"{path} was written by another version of Lemmata; run `lemmata verify` again.")
    raise UserError(f"{path} {reason}; remove it and run `lemmata verify` again.")


def _is_old(stored: Any) -> bool:
    """Whether these are rows as another version wrote them: none has a seal, or all are sealed and some have other
    fields than ours."""
    if not isinstance(stored, list):
        raise ValueError("no rows")
    if not stored or not all(isinstance(row, dict) for row in stored):
        return False
    if not all("theory" in row and "claim" in row for row in stored):
        return False
    if all("seal" not in row for row in stored):
        return True
    return all(map(is_sealed, stored)) and any(_has_other_fields(row) for row in stored)


def _has_other_fields(row: Mapping[str, Any]) -> bool:
    """Whether a row, or one of its controls, lacks a field or has one that is not known here."""

    def differ(found: Any, kind: type, may: set[str]) -> bool:
        known = {field.name for field in fields(kind)}
        return not isinstance(found, dict) or not (known - may <= found.keys() <= known | {"seal"})

    controls = row.get("controls", ())
    if not isinstance(controls, list) or not isinstance(row.get("reads"), list):
        return True
    return differ(row, Row, {"accept_low", "accept_high"}) or any(differ(c, ControlRow, set()) for c in controls)


class Verdicts:
    """The rows of a results folder, kept on disk one by one as they are decided; those of other versions are left."""

    def __init__(self, directory: Path, say: Callable[[str], None] = lambda sentence: None, keeps: bool = True) -> None:
        self._path, self._keeps = directory / VERDICTS, keeps
        try:
            kept = read_rows(directory)
        except OldRows:
            say(f"{self._path} was written by another version of Lemmata; the verdicts in it are left out.")
            kept = []
        self._rows = {row.name: row for row in kept}
        self._texts = {name: _text(row) for name, row in self._rows.items()}

    def keep(self, new: Row) -> None:
        """Put a row in its place; rows of its theory that were judged with other sources are dropped."""
        for row in list(self._rows.values()):
            if row.theory == new.theory and row.sources != new.sources:
                del self._rows[row.name], self._texts[row.name]
        self._rows[new.name], self._texts[new.name] = new, _text(new)
        if not self._keeps:  # the folder can only be read
            return
        with writing(self._path):
            write_whole(self._path, ("[\n" + ",\n".join(self._texts.values()) + "\n]\n").encode(), lasting=True)


def _text(row: Row) -> str:
    """The row's own lines of the file: what stands in it is made once, however often the file is written."""
    return textwrap.indent(format_json(sealed(row.stored())), " ")
