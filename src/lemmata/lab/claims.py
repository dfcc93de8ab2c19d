"""Claims: one statement of a document, how it is judged, and the control that keeps the judge honest.

A claim is declared, not programmed: statement, the experiments it reads, the evidence taken from their data sets, the
judge (from `lab.judges`), the outcome that the specification expects, and controls. A control is other evidence, broken
on purpose (or put right, where the claim is expected to fail), that the *same* judge must get right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from lemmata.lab.intervals import CannotFit

HOLDS, FAILS, INCONCLUSIVE = "holds", "fails", "inconclusive"
OUTCOMES = (HOLDS, FAILS, INCONCLUSIVE)
KINDS = ("identity", "bound", "scaling", "ordering", "limit", "comparison")


class Datasets(dict[str, xr.Dataset]):
    """What evidence is taken from: the data set of every experiment that the claim reads, by name.

    `seed` is that of `lemmata verify`, for evidence that draws its own random numbers.
    """

    def __init__(self, datasets: Mapping[str, xr.Dataset] | None = None, seed: int = 0) -> None:
        super().__init__(datasets or {})
        self.seed = seed


class NotApplicable(Exception):
    """Raised by evidence that cannot be taken (not converged, censored, vacuous here): the verdict is inconclusive."""


@dataclass(frozen=True)
class Verdict:
    """An outcome with its evidence.

    `relation` is one of ==, <=, >=, in, increasing, decreasing; `measured` is the criterion with the least margin,
    `low` and `high` its interval over seeds, `accept_low` and `accept_high` the accepted range of relation `in`.
    """

    outcome: str
    relation: str
    predicted: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    accept_low: float | None = None
    accept_high: float | None = None


Judge = Callable[[Any], Verdict]
Evidence = Callable[[Datasets], Any]


@dataclass(frozen=True)
class Control:
    """A case that the claim's judge must get right: what it is, its evidence, the outcome it must give."""

    case: str
    evidence: Evidence
    expected: str = FAILS


@dataclass(frozen=True)
class Claim:
    """One statement of the document. `name` begins with the specification's row id."""

    name: str
    reference: str
    kind: str
    statement: str
    judge: Judge
    evidence: Evidence
    controls: tuple[Control, ...]
    reads: tuple[str, ...] = ()
    expected: str = HOLDS
    formula: str = ""

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"{self.name}: kind {self.kind}"
        assert self.expected in OUTCOMES
        assert any(control.expected != self.expected for control in self.controls), (
            f"{self.name} has no control that its judge must answer differently"
        )


@dataclass(frozen=True)
class Finding:
    """What examining a claim gave: its verdict and every control's verdict."""

    claim: Claim
    verdict: Verdict
    controls: tuple[tuple[Control, Verdict], ...]

    @property
    def worst_control(self) -> tuple[Control, Verdict]:
        """The control that came out wrong, or the first."""
        wrong = [pair for pair in self.controls if pair[1].outcome != pair[0].expected]
        return (wrong or list(self.controls))[0]

    @property
    def as_expected(self) -> bool:
        control, verdict = self.worst_control
        return self.verdict.outcome == self.claim.expected and verdict.outcome == control.expected


def examine(claim: Claim, datasets: Mapping[str, xr.Dataset], seed: int = 0) -> Finding:
    """Judge the claim and its controls on these data sets; `seed` is for evidence that draws random numbers."""
    given = Datasets(datasets, seed)
    controls = tuple((control, _judge(claim.judge, control.evidence, given)) for control in claim.controls)
    return Finding(claim, _judge(claim.judge, claim.evidence, given), controls)


def _judge(judge: Judge, evidence: Evidence, datasets: Datasets) -> Verdict:
    try:
        verdict = judge(evidence(datasets))
    except (NotApplicable, CannotFit) as reason:
        return Verdict(INCONCLUSIVE, "==", note=str(reason))
    assert verdict.outcome in OUTCOMES
    return replace(verdict, note=verdict.note.strip())
