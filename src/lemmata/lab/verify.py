"""Verification: run what claims read, judge them and their controls, keep the rows and write the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from lemmata.lab import registry
from lemmata.lab.claims import Claim, Finding, examine, undecided
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.errors import Broken, describe_error, unknown
from lemmata.lab.files import lock
from lemmata.lab.lanes import Lanes
from lemmata.lab.looks import in_notebook
from lemmata.lab.programs import programs_are_many
from lemmata.lab.report import write_report
from lemmata.lab.rows import Row, Verdicts
from lemmata.lab.runner import Options, Outcome, Plan, carry_out, command, plan
from lemmata.lab.sweep import OnProgress, Progress
from lemmata.lab.theory import Theory

Selection = Sequence[tuple[Theory, Sequence[Claim]]]
"""Theories, each with the claims to examine."""


@dataclass(frozen=True)
class Verification(Sequence[Row]):
    """What a verification gave: the rows, in the order in which they were decided, and the page.

    It is a sequence of its rows; `found["vit/v8-concentration"]` is the row of a claim.
    """

    rows: Sequence[Row]
    page: Path
    broken: Sequence[str] = ()
    """sentences on what could not be computed or judged: failed cells, errors of a theory"""

    @property
    def as_expected(self) -> bool:
        """Every verdict and every control came out as the specification says."""
        return all(row.as_expected for row in self.rows)

    @overload
    def __getitem__(self, which: int | str) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[Row]: ...
    def __getitem__(self, which: int | str | slice) -> Row | Sequence[Row]:
        if not isinstance(which, str):
            return self.rows[which]
        named = {row.name: row for row in self.rows}
        if which not in named:
            raise unknown("claim", which, named)
        return named[which]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return in_notebook("rows", self.rows, str(self.page))


def select(names: Sequence[str] = (), everything: bool = False) -> Selection:
    """The theories and claims that these names name (THEORY, THEORY/CLAIM, FILE.py); none: the headlines of all.

    `everything`: without names, every claim of every theory.
    """
    if not names:
        theories = registry.load_all()
        if everything:
            return [(theory, list(theory.claims.values())) for theory in theories]
        return [(theory, [theory.claim(name) for name in theory.card["headlines"]]) for theory in theories]
    selection: dict[str, tuple[Theory, dict[str, Claim]]] = {}
    for name in names:
        theory_name, slash, claim = name.rpartition("/")
        whole = name.endswith(".py") or not slash
        source = name if whole else theory_name
        if source not in selection:
            selection[source] = (registry.load(source), {})
        theory, claims = selection[source]
        claims.update(theory.claims if whole else {claim: theory.claim(claim)})
    return [(theory, list(claims.values())) for theory, claims in selection.values()]


def verify(
    selection: Selection,
    options: Options,
    progress: Callable[[str], OnProgress | None] = lambda name: None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: str | Engine = "local",
    decided: Callable[[Row], None] = lambda row: None,
) -> Verification:
    """Examine the claims one by one, holding the results folder; `decided` is called with every row.

    What the claims read is planned, and so validated, before anything is computed. A row is on disk when `decided` is
    called: whatever happens later, it stays.
    """
    plans = [{name: plan(theory, name, options) for c in claims for name in c.reads} for theory, claims in selection]
    overall = _Overall(progress("all"), plans, sum(len(claims) for _, claims in selection))
    rows: list[Row] = []
    broken: list[str] = []
    with lock(options.directory), open_engine(engine, options.timeout) as opened, Lanes(opened) as lanes:
        verdicts = Verdicts(options.directory)
        began = time.perf_counter()

        def start(planned: Plan) -> Callable[[], Outcome]:
            name = f"{planned.theory.name}/{planned.name}"
            return lanes.start(lambda: carry_out(planned, opened, overall.watch(name, progress(name)), say))

        started = [{name: start(each) for name, each in planned.items()} for planned in plans]
        for (theory, claims), running in zip(selection, started, strict=True):
            sources = theory.digest()
            for claim in claims:
                outcomes = {name: _outcome(running[name]) for name in claim.reads}
                finding, reason = _examine(claim, outcomes, options.seed)
                if reason:
                    broken.append(f"{theory.name}/{claim.name}: {reason}")
                reproduce = command(theory, claim.name, options, verb="verify")
                now = time.perf_counter()
                rows.append(Row.of(theory.name, finding, options.preset, now - began, reproduce, sources))
                began = now
                verdicts.keep(rows[-1])
                decided(rows[-1])
                overall.decide()
            if programs_are_many():
                opened.forget_programs()
        return Verification(rows, write_report(options.directory), broken)


class _Overall:
    """How far a verification is: claims decided and runs done, of all."""

    def __init__(self, report: OnProgress | None, plans: Sequence[Mapping[str, Plan]], claims: int) -> None:
        self._report, self._claims, self._decided, self._turn = report, claims, 0, threading.Lock()
        each = [plan for planned in plans for plan in planned.values()]
        self._all = sum(len(plan.grid.cells) * len(plan.seeds) for plan in each)
        self._runs: dict[str, float] = {}

    def watch(self, name: str, report: OnProgress | None) -> OnProgress | None:
        """Report on an experiment, and on all."""
        if self._report is None:
            return report

        def both(progress: Progress) -> None:
            if report:
                report(progress)
            with self._turn:
                self._runs[name] = progress.runs
                self._tell()

        return both

    def decide(self) -> None:
        with self._turn:
            self._decided += 1
            self._tell()

    def _tell(self) -> None:
        if self._report:
            runs = int(sum(self._runs.values()))
            self._report(Progress(self._decided, self._claims, 0, runs, self._all, unit="claims"))


def _outcome(running: Callable[[], Outcome]) -> Outcome | str:
    """What an experiment gave, or why nothing of it could be computed."""
    try:
        return running()
    except Broken as error:
        return str(error)


def _examine(claim: Claim, outcomes: Mapping[str, Outcome | str], seed: int) -> tuple[Finding, str]:
    """Judge a claim; and why nothing can be said: cells of what it reads failed, or the theory is in error."""
    reasons = []
    for name, outcome in outcomes.items():
        if isinstance(outcome, str):
            reasons.append(f"{name}: {outcome}")
        elif outcome.failed:
            place, message = next(iter(outcome.failures.items()))
            reasons.append(f"{name} has failed cells ({outcome.failed}); first, at {place}: {message}")
    if not reasons:
        try:
            data = {name: outcome.data for name, outcome in outcomes.items() if isinstance(outcome, Outcome)}
            return examine(claim, data, seed), ""
        except Exception as error:  # of a claim, which may be anybody's; the others are examined
            reasons.append(describe_error(error))
    verdict = undecided(claim, "; ".join(reasons), lost=True)
    return Finding(claim, verdict, tuple((control, verdict) for control in claim.controls)), "; ".join(reasons)
