"""Verification: run what claims read, judge them and their controls, and keep the rows for the report."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lemmata.lab.claims import INCONCLUSIVE, Claim, Finding, Verdict, examine
from lemmata.lab.engines import Engine
from lemmata.lab.engines.local import Local
from lemmata.lab.errors import UserError
from lemmata.lab.runner import Options, Outcome, command, run, write_json
from lemmata.lab.sweep import OnProgress
from lemmata.lab.theory import Theory, source_hash

VERDICTS = "verdicts.json"
FOR_THE_PAGE = ("formula", "reads", "controls", "command", "sources")
"""Keys of a row that only the report reads; the JSON of `lemmata verify` leaves them out."""


def verify(
    selection: Sequence[tuple[Theory, Sequence[Claim]]],
    options: Options,
    progress: Callable[[str], OnProgress | None] = lambda name: None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: Engine | None = None,
) -> Iterator[dict[str, Any]]:
    """Examine the claims one by one; yields their rows as they are decided."""
    engine = engine or Local()
    for theory, claims in selection:
        outcomes: dict[str, Outcome] = {}
        for claim in claims:
            began = time.perf_counter()
            for name in claim.reads:
                if name not in outcomes:
                    outcomes[name] = run(theory, name, options, progress(f"{theory.name}/{name}"), say, engine)
            broken = [name for name in claim.reads if outcomes[name].failed]
            if broken:
                reason = Verdict(INCONCLUSIVE, "==", note=f"{', '.join(broken)} has failed cells")
                finding = Finding(claim, reason, tuple((control, reason) for control in claim.controls))
            else:
                finding = examine(claim, {name: outcomes[name].data for name in claim.reads}, options.seed)
            yield row(theory, finding, options, time.perf_counter() - began)
        engine.forget_programs()


def as_expected(row: dict[str, Any]) -> bool:
    """The verdict and the control came out as the specification says."""
    return row["outcome"] == row["expected"] and row["control"] == row["control_expected"]


def row(theory: Theory, finding: Finding, options: Options, seconds: float) -> dict[str, Any]:
    """A finding as the JSON row of `lemmata verify`; NaN and infinities become null with a note."""
    claim, verdict = finding.claim, finding.verdict
    control, control_verdict = finding.worst_control
    numbers: dict[str, Any] = {"predicted": verdict.predicted, "measured": verdict.measured}
    numbers |= {"low": verdict.low, "high": verdict.high}
    if verdict.relation == "in":
        numbers |= {"accept_low": verdict.accept_low, "accept_high": verdict.accept_high}
    note = verdict.note
    lost = [name for name, value in numbers.items() if value is not None and not math.isfinite(value)]
    if lost:
        note = f"{note} ({', '.join(f'{name} is {numbers[name]}' for name in lost)})"
        numbers |= dict.fromkeys(lost, None)
    return {
        "theory": theory.name,
        "claim": claim.name,
        "reference": claim.reference,
        "kind": claim.kind,
        "statement": claim.statement,
        "outcome": verdict.outcome,
        "expected": claim.expected,
        "relation": verdict.relation,
        **numbers,
        "note": note,
        "preset": options.preset,
        "seconds": round(seconds, 3),
        "control": control_verdict.outcome,
        "control_expected": control.expected,
        "formula": claim.formula,
        "reads": list(claim.reads),
        "controls": [
            {
                "case": c.case,
                "outcome": v.outcome,
                "expected": c.expected,
                "measured": _finite(v.measured),
                "note": v.note,
            }
            for c, v in finding.controls
        ],
        "command": command(theory, claim.name, options, verb="verify"),
        "sources": source_hash(theory, readers=True),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def stored_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an earlier verification."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path} cannot be read; remove it and run `lemmata verify` again.") from None


def keep(directory: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge new rows into the folder's verdicts; rows judged with other sources of their theory are dropped."""
    path = directory / VERDICTS
    old = stored_rows(path) if path.exists() else []
    current = {row["theory"]: row["sources"] for row in rows}
    new = {(row["theory"], row["claim"]): row for row in rows}
    kept = [r for r in old if current.get(r["theory"], r["sources"]) == r["sources"]]
    merged = [new.pop((r["theory"], r["claim"]), r) for r in kept] + list(new.values())
    write_json(path, merged)
    return merged
