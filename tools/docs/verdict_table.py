"""Write the verdict table of a theory's page: `python tools/docs/verdict_table.py PAGE VERDICTS`.

VERDICTS is what `lemmata verify --json` printed, or a results folder (its `verdicts.json`). Rows of claims that were
not verified this time (they may need data) stay as they are on the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from words import cell, claimed, decided_by, measured, table

HEAD = ["claim", "statement", "source", "outcome", "measured", "claimed", "decided by"]


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    odd = (row["outcome"], row["control"]) != (row["expected"], row["control_expected"])
    remark = f"; expected {row['expected']}, control {row['control']}" if odd else ""
    listed = [f"`{row['claim']}`", row["statement"], row["source"], f"**{row['outcome']}**"]
    return [cell(each) for each in [*listed, measured(row), claimed(row), decided_by(row) + remark]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("verdicts", type=Path)
    given = parser.parse_args()
    path = given.verdicts / "verdicts.json" if given.verdicts.is_dir() else given.verdicts
    rows = {row["claim"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    lines = given.page.read_text(encoding="utf-8").splitlines()
    start = next(i for i, text in enumerate(lines) if text.startswith("| claim | statement |"))
    end = next(i for i in range(start, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
    before = {text.split("`")[1]: text for text in lines[start + 2 : end]}
    now = {name: table(cells(row), []).splitlines()[0] for name, row in rows.items()}
    head = table(HEAD, []).splitlines()
    new = list((before | now).values())
    given.page.write_text("\n".join([*lines[:start], *head, *new, *lines[end:]]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
