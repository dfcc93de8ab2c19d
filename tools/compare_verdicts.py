"""Compare two verifications: `python tools/compare_verdicts.py BEFORE AFTER [--relative 1e-6]`.

BEFORE and AFTER are what `lemmata verify --json` printed, a results folder (its `verdicts.json`), or several of these
separated by commas. Claims that only one side has, outcomes that differ and numbers that differ by more than the
tolerance are listed. Exit code 1: an outcome differs or a claim is missing; 2: a file cannot be read; else 0.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
OUTCOMES = ("outcome", "control")
NUMBERS = ("measured", "low", "high")


def read(places: str) -> dict[str, Row]:
    """The rows of these files or folders, by THEORY/CLAIM."""
    rows: dict[str, Row] = {}
    for place in places.split(","):
        path = Path(place)
        content = json.loads((path / "verdicts.json" if path.is_dir() else path).read_text(encoding="utf-8"))
        rows |= {f"{row['theory']}/{row['claim']}": row for row in content}
    return rows


def differ(before: float | None, after: float | None, relative: float) -> bool:
    """Whether two numbers are further apart than the tolerance allows; None is a number of its own."""
    if before is None or after is None:
        return before is not after
    return not math.isclose(before, after, rel_tol=relative)


def inside(value: float | None, row: Row) -> str:
    """Where a value lies to the interval of a row, in words."""
    low, high = row["low"], row["high"]
    if value is None or low is None or high is None:
        return "no interval before" if value is not None else "no value after"
    return f"{'within' if low <= value <= high else 'outside'} [{low:.6g}, {high:.6g}] of before"


def compare(before: Mapping[str, Row], after: Mapping[str, Row], relative: float) -> tuple[list[str], list[str]]:
    """What differs, in lines: what must not (claims, outcomes), and numbers."""
    wrong = [f"{name}: missing after" for name in before if name not in after]
    wrong += [f"{name}: missing before" for name in after if name not in before]
    moved = []
    for name in [name for name in before if name in after]:
        old, new = before[name], after[name]
        wrong += [f"{name}: {key} {old[key]} -> {new[key]}" for key in OUTCOMES if old[key] != new[key]]
        for key in NUMBERS:
            if differ(old[key], new[key], relative):
                moved.append(f"{name}: {key} {old[key]} -> {new[key]}, {inside(new[key], old)}")
    return wrong, moved


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", help="file, results folder, or several separated by commas")
    parser.add_argument("after", help="the same")
    parser.add_argument("--relative", type=float, default=1e-6, help="relative tolerance of numbers; default 1e-6")
    given = parser.parse_args(arguments)
    try:
        before, after = read(given.before), read(given.after)
        wrong, moved = compare(before, after, given.relative)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"not rows of `lemmata verify --json`: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for line in (*wrong, *moved):
        print(line)
    both = len(before.keys() & after.keys())
    print(f"{both} claims on both sides: {len(wrong)} missing or with another outcome, {len(moved)} other numbers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
