"""Verification: run what claims read, judge them and their controls, keep the rows and write the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lemmata.lab import registry
from lemmata.lab.claims import INCONCLUSIVE, Claim, Finding, Verdict, examine
from lemmata.lab.engines import Engine, open_engine
from lemmata.lab.files import lock
from lemmata.lab.report import write_report
from lemmata.lab.rows import Row, Verdicts
from lemmata.lab.runner import Options, Outcome, carry_out, command, plan
from lemmata.lab.sweep import OnProgress
from lemmata.lab.theory import Theory

Selection = Sequence[tuple[Theory, Sequence[Claim]]]
"""Theories, each with the claims to examine."""


@dataclass(frozen=True)
class Verification:
    """What a verification gave: the rows, in the order in which they were decided, and the page."""

    rows: Sequence[Row]
    page: Path


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
    rows: list[Row] = []
    with lock(options.directory), open_engine(engine) as opened:
        verdicts = Verdicts(options.directory)
        for (theory, claims), planned in zip(selection, plans, strict=True):
            if rows:
                opened.forget_programs()
            sources = theory.digest()
            outcomes: dict[str, Outcome] = {}
            for claim in claims:
                began = time.perf_counter()
                for name in claim.reads:
                    if name not in outcomes:
                        outcomes[name] = carry_out(planned[name], opened, progress(f"{theory.name}/{name}"), say)
                finding = _examine(claim, outcomes, options.seed)
                reproduce = command(theory, claim.name, options, verb="verify")
                seconds = time.perf_counter() - began
                rows.append(Row.of(theory.name, finding, options.preset, seconds, reproduce, sources))
                verdicts.keep(rows[-1])
                decided(rows[-1])
        return Verification(rows, write_report(options.directory))


def _examine(claim: Claim, outcomes: Mapping[str, Outcome], seed: int) -> Finding:
    """Judge a claim; where cells of what it reads failed, nothing can be said."""
    broken = [name for name in claim.reads if outcomes[name].failed]
    if not broken:
        return examine(claim, {name: outcomes[name].data for name in claim.reads}, seed)
    reason = Verdict(INCONCLUSIVE, "==", note=f"{', '.join(broken)} has failed cells")
    return Finding(claim, reason, tuple((control, reason) for control in claim.controls))
