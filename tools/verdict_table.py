"""Write the verdict table of a theory's page: `python tools/verdict_table.py PAGE VERDICTS [--keep CLAIM,CLAIM]`.

VERDICTS is what `lemmata verify --json` printed, or a results folder (its `verdicts.json`). Rows of the claims that are
kept (they need data that this verification did not have) stay as they are on the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HEAD = ["claim", "statement", "source", "outcome", "expected", "control", "measured", "claimed"]
SIGNS = {"<=": "≤", ">=": "≥", "==": "="}


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def measured(row: Mapping[str, Any]) -> str:
    """The value with its interval, where it has one."""
    value, low, high = (row[name] for name in ("measured", "low", "high"))
    interval = f" [{low:.3g}, {high:.3g}]" if low is not None and high is not None and low < high else ""
    return number(value) + interval


def claimed(row: Mapping[str, Any]) -> str:
    """The condition in signs."""
    if row["relation"] == "in":
        return f"{number(row['accept_low'])} to {number(row['accept_high'])}"
    if row["relation"] in SIGNS:
        return f"{SIGNS[row['relation']]} {number(row['predicted'])}" if row["predicted"] is not None else "–"
    return row["relation"]


def line(row: Mapping[str, Any]) -> str:
    cells = [f"`{row['claim']}`", row["statement"].replace("|", "\\|"), row["source"], f"**{row['outcome']}**"]
    cells += [row["expected"], row["control"], measured(row), claimed(row)]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("verdicts", type=Path)
    parser.add_argument("--keep", default="")
    given = parser.parse_args()
    path = given.verdicts / "verdicts.json" if given.verdicts.is_dir() else given.verdicts
    rows = {row["claim"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    lines = given.page.read_text(encoding="utf-8").splitlines()
    start = next(i for i, text in enumerate(lines) if text.startswith("| claim | statement |"))
    end = next(i for i in range(start, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
    before = {text.split("`")[1]: text for text in lines[start + 2 : end]}
    kept = {name: before[name] for name in given.keep.split(",") if name}
    table = [f"| {' | '.join(HEAD)} |", "|---|---|---|---|---|---|---:|---|"]
    table += [kept.get(name) or line(row) for name, row in rows.items()]
    given.page.write_text("\n".join([*lines[:start], *table, *lines[end:]]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
