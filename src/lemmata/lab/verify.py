"""Verification: run what claims read, judge them and their controls, keep the rows and write the page."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

from lemmata.lab import registry
from lemmata.lab.claims import Claim, Finding, examine, undecided
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.errors import Broken, UserError, describe_error, unknown
from lemmata.lab.files import lock, write_json, writing
from lemmata.lab.interrupts import errors_of_theories
from lemmata.lab.lanes import Lanes, prints_aside
from lemmata.lab.looks import in_notebook
from lemmata.lab.machine import describe_machine
from lemmata.lab.page.cards import keep_cards
from lemmata.lab.plans import Options, Plan, command, in_python, plan
from lemmata.lab.programs import programs_are_many
from lemmata.lab.report import INDEX, write_report
from lemmata.lab.rows import Occasion, Row, Verdicts
from lemmata.lab.runner import Outcome, carry_out
from lemmata.lab.sweep import OnProgress, Progress, check_seeds
from lemmata.lab.theory import Theory

Selection = Sequence[tuple[Theory, Sequence[Claim]]]
"""Theories, each with the claims to examine."""
VERIFICATION = "verify.json"
"""The last verification of a folder, for scripts."""


@dataclass(frozen=True)
class Verification(Sequence[Row]):
    """What a verification gave: the rows, in the order in which they were decided, and the page.

    It is a sequence of its rows; `found["vit/v8-concentration"]` is the row of a claim.
    """

    rows: Sequence[Row]
    page: Path
    broken: Sequence[str] = ()
    """sentences on what could not be computed or judged: failed cells, errors of a theory"""
    kept: bool = True
    """whether the rows and the page are on the disk; they are not where the folder can only be read"""

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

    @property
    def exit(self) -> int:
        """What `lemmata verify` exits with."""
        return int(bool(self.broken) or any(row.alarming for row in self.rows))

    @property
    def reason(self) -> str:
        """Why it does, in a sentence."""
        odd = [row.name for row in self.rows if row.alarming]
        if odd:
            return f"{len(odd)} of {len(self.rows)} claims not as expected: {', '.join(odd)}."
        if self.broken:
            return self.broken[0]
        if any(row.preset == "smoke" for row in self.rows):
            return "Everything ran; the preset smoke decides nothing."
        which = "The claim and its" if len(self.rows) == 1 else f"All {len(self.rows)} claims and their"
        return f"{which} controls came out as expected."


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
        place = os.path.realpath(source) if source.endswith(".py") else source
        if place not in selection:
            selection[place] = (registry.load(source), {})
        theory, claims = selection[place]
        claims.update(theory.claims if whole else {claim: theory.claim(claim)})
    return [(theory, list(claims.values())) for theory, claims in selection.values()]


def command_of(selection: Selection, options: Options) -> str:
    """What asks for this: what is selected, as shortly as it can be said, then the options."""
    claims = {theory.name: [claim.name for claim in chosen] for theory, chosen in selection}
    theories = {theory.name: theory for theory, _ in selection}
    every = all(names == list(theories[name].claims) for name, names in claims.items())
    said: list[str] = []
    if set(claims) == set(registry.names()) and every:
        said = ["--all"]
    elif set(claims) != set(registry.names()) or any(
        names != list(theories[name].card["headlines"]) for name, names in claims.items()
    ):
        for name, names in claims.items():
            source = theories[name].typed
            whole = source.endswith(".py") or names == list(theories[name].claims)
            said += [source] if whole else [f"{source}/{each}" for each in names]
    if not all(theory.in_shell for theory in theories.values()):
        given = [repr(each) if each not in theories or theories[each].in_shell else "theory" for each in said]
        return in_python(given, options)
    words = ["lemmata", "verify", *said, *(["--preset", options.preset] if options.preset != "quick" else [])]
    words += ["--seed", str(options.seed)] if options.seed else []
    return shlex.join([*words, *(["--out", str(options.out)] if options.out is not None else [])])


def verify(
    selection: Selection,
    options: Options,
    progress: Callable[[str], OnProgress | None] = lambda name: None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: str | Engine = "local",
    decided: Callable[[Row], None] = lambda row: None,
) -> Verification:
    """Examine the claims one by one, holding the results folder; `decided` is called with every row.

    What the claims read is planned, and so validated, before anything is computed; an experiment that is in error makes
    the claims that read it inconclusive. A row is on disk when `decided` is called: whatever happens later, it stays.
    In a folder that can only be read nothing is kept.
    """
    _check_names([theory for theory, _ in selection])
    with prints_aside():
        planned = [
            {name: _plan(theory, name, options) for claim in claims for name in claim.reads}
            for theory, claims in selection
        ]
    plans = [{name: each for name, each in found.items() if isinstance(each, Plan)} for found in planned]
    overall = _Overall(progress("all"), plans, sum(len(claims) for _, claims in selection))
    rows: list[Row] = []
    broken: list[str] = []
    moment, clock = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), time.perf_counter()
    with lock(options.directory) as held, open_engine(engine, options.timeout) as opened, Lanes(opened) as lanes:
        verdicts = Verdicts(options.directory, say, keeps=held)
        occasion = Occasion(command_of(selection, options), importlib.metadata.version("lemmata"), describe_machine())
        if held:
            with writing(options.directory):
                (options.directory / VERIFICATION).unlink(missing_ok=True)
                keep_cards(options.directory, [theory for theory, _ in selection])
        began = time.perf_counter()

        def start(planned: Plan) -> Callable[[], Outcome]:
            def task() -> Outcome:
                outcome = carry_out(planned, opened, overall.watch(planned, progress(_name(planned))), say)
                overall.finish(planned)
                return replace(outcome, data=planned.named(outcome.data))

            return lanes.start(task)

        under_way = [
            {name: start(each) if isinstance(each, Plan) else each for name, each in found.items()} for found in planned
        ]
        for (theory, claims), running in zip(selection, under_way, strict=True):
            sources = theory.digest()
            for claim in claims:
                outcomes = {name: _outcome(running[name]) for name in claim.reads}
                with prints_aside():
                    finding, reason = examine_with(claim, outcomes, options.seed)
                if reason:
                    broken.append(f"{theory.name}/{claim.name}: {reason}")
                reproduce = command(theory, claim.name, options, verb="verify")
                now = time.perf_counter()
                data = {name: each.identity for name, each in outcomes.items() if isinstance(each, Outcome)}
                given = options.preset, now - began, reproduce, sources, occasion, data
                rows.append(Row.of(theory.name, finding, *given))
                began = now
                verdicts.keep(rows[-1])
                decided(rows[-1])
                overall.decide()
            if programs_are_many():
                opened.forget_programs()
        if not held:
            say(f"{options.directory} can only be read: these verdicts are not kept, and no page is written.")
            return Verification(rows, options.directory / INDEX, broken, kept=False)
        done = Verification(rows, write_report(options.directory), broken)
        _record(done, occasion, moment, time.perf_counter() - clock)
        return done


def _check_names(theories: Sequence[Theory]) -> None:
    """Refuse theories that would share a folder."""
    seen: dict[str, Theory] = {}
    for theory in theories:
        folder = theory.name.casefold()
        if folder in seen:
            raise UserError(f"{seen[folder].typed} and {theory.typed} are both called {theory.name}; name one of them.")
        seen[folder] = theory


def _record(done: Verification, occasion: Occasion, started: str, seconds: float) -> None:
    """Write `verify.json`, the verification for scripts; it is there only if the verification came to its end."""
    content = {
        "version": occasion.version,
        "command": occasion.asked,
        "started": started,
        "seconds": round(seconds, 3),
        "page": str(done.page),
        "exit": done.exit,
        "reason": done.reason,
        "rows": [row.json() for row in done.rows],
    }
    write_json(done.page.parent / VERIFICATION, content)


class _Overall:
    """How far a verification is: claims decided and runs done, of all that are to be computed now."""

    def __init__(self, report: OnProgress | None, plans: Sequence[Mapping[str, Plan]], claims: int) -> None:
        self._report, self._claims, self._decided, self._turn = report, claims, 0, threading.Lock()
        each = [plan for planned in plans for plan in planned.values()]
        self._all = {_name(plan): len(plan.grid.cells) * len(plan.seeds) for plan in each}
        self._stored: dict[str, int] = {}
        self._runs: dict[str, int] = {}

    def watch(self, plan: Plan, report: OnProgress | None) -> OnProgress | None:
        """Report on an experiment, and on all."""
        if self._report is None:
            return report
        name = _name(plan)

        def both(progress: Progress) -> None:
            if report:
                report(progress)
            with self._turn:
                self._stored.setdefault(name, progress.runs)
                self._runs[name] = progress.runs
                self._tell()

        return both

    def finish(self, plan: Plan) -> None:
        """All of an experiment is there, whether it was computed or stored."""
        with self._turn:
            name = _name(plan)
            self._stored.setdefault(name, self._all[name])
            self._runs[name] = self._all[name]
            self._tell()

    def decide(self) -> None:
        with self._turn:
            self._decided += 1
            self._tell()

    def _tell(self) -> None:
        if self._report:
            stored = sum(self._stored.values())
            done, every = sum(self._runs.values()) - stored, sum(self._all.values()) - stored
            self._report(Progress(self._decided, self._claims, 0, done, every, unit="claims"))


def _name(plan: Plan) -> str:
    return f"{plan.theory.name}/{plan.name}"


def _plan(theory: Theory, name: str, options: Options) -> Plan | str:
    """The plan of an experiment, or what is wrong with the experiment. What the user asks for is refused instead."""
    experiment = theory.experiment(name)
    preset = experiment.preset(options.preset)
    check_seeds(options.seed, preset.seeds)
    try:
        return plan(theory, name, options)
    except UserError as error:
        return f"{error}{theory.place_of(name)}"
    except errors_of_theories() as error:
        return describe_error(error, experiment.simulation.function)


def _outcome(running: Callable[[], Outcome] | str) -> Outcome | str:
    """What an experiment gave, or why nothing of it could be computed."""
    if isinstance(running, str):
        return running
    try:
        return running()
    except Broken as error:
        return str(error)


def examine_with(claim: Claim, outcomes: Mapping[str, Outcome | str], seed: int) -> tuple[Finding, str]:
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
        except errors_of_theories() as error:  # of a claim, which may be anybody's; the others are examined
            reasons.append(describe_error(error, claim.evidence.function))
    verdict = undecided(claim, "; ".join(reasons), lost=True)
    return Finding(claim, verdict, tuple((control, verdict) for control in claim.controls)), "; ".join(reasons)
