"""`lemmata bench compile`: how many programs a verification at the preset smoke compiles, and for how long."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lemmata.lab.theory import Theory

EAGER = "(outside pieces)"
CLAIMS = "(claims)"


def compile_programs(quiet: bool = False) -> list[dict[str, Any]]:
    """Count; prints a line per theory and piece unless `quiet`, and returns a row per theory, experiment and piece.

    Calls come from one thread, so that the seconds of a compilation are its own.
    """
    from lemmata.lab import registry

    rows: list[dict[str, Any]] = []
    for theory in registry.load_all():
        began = time.process_time()
        found = count_theory(theory)
        rows += found
        if not quiet:
            _print(theory.name, found, time.process_time() - began)
    if not quiet and rows:
        programs, seconds = sum(row["programs"] for row in rows), sum(row["seconds"] for row in rows)
        print(f"all: {programs} programs, {seconds:.1f} s", flush=True)
    return rows


def count_theory(theory: Theory) -> list[dict[str, Any]]:
    """The programs of every experiment that claims read and of judging them, from nothing."""
    from lemmata.lab import programs
    from lemmata.lab.claims import examine
    from lemmata.lab.engines.local import Local
    from lemmata.lab.runner import Options, run

    programs.forget_programs()
    rows: list[dict[str, Any]] = []

    def keep(experiment: str, count: programs.Count) -> None:
        for piece, seconds in count.pieces.items():
            name = piece.removeprefix(f"lemmata.theories.{theory.name}.") or EAGER
            row = {"theory": theory.name, "experiment": experiment, "piece": name}
            rows.append({**row, "programs": len(seconds), "seconds": round(sum(seconds), 3)})

    with tempfile.TemporaryDirectory() as folder:
        options = Options("smoke", out=Path(folder))
        data = {}
        for name in dict.fromkeys(name for claim in theory.claims.values() for name in claim.reads):
            with programs.counting() as count:
                data[name] = run(theory, name, options, engine=Local(threads=1)).data
            keep(name, count)
        with programs.counting() as count:
            for claim in theory.claims.values():
                examine(claim, {name: data[name] for name in claim.reads}, options.seed)
        keep(CLAIMS, count)
    return rows


def _print(theory: str, rows: list[dict[str, Any]], spent: float) -> None:
    programs, seconds = sum(row["programs"] for row in rows), sum(row["seconds"] for row in rows)
    print(f"{theory}: {programs} programs, {seconds:.1f} s of {spent:.1f} s on processors")
    for piece in dict.fromkeys(row["piece"] for row in sorted(rows, key=lambda row: -row["seconds"])):
        mine = [row for row in rows if row["piece"] == piece]
        counted = sum(row["programs"] for row in mine)
        print(f"  {piece:<44} {counted:>4} programs {sum(row['seconds'] for row in mine):>8.2f} s", flush=True)
