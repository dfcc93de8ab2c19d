"""Write the verdict table of a theory's page: `python tools/docs/verdict_table.py PAGE VERDICTS [--keep CLAIM,CLAIM]`.

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

from words import cell, claimed, interval, number, rule, table

HEAD = ["claim", "statement", "source", "outcome", "measured", "claimed", "decided by"]


def decided_by(row: Mapping[str, Any]) -> str:
    """What the value is and by which rule it was judged; what is not as expected is said."""
    odd = (row["outcome"], row["control"]) != (row["expected"], row["control_expected"])
    remark = f"; expected {row['expected']}, control {row['control']}" if odd else ""
    return f"{row['statistic']}: {rule(row)}{remark}".removeprefix("none: ")


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    found = number(row["measured"]) + interval(row)
    listed = [f"`{row['claim']}`", row["statement"], row["source"], f"**{row['outcome']}**", found, claimed(row)]
    return [cell(each) for each in [*listed, decided_by(row)]]


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
    head = table(HEAD, []).splitlines()
    new = [kept.get(name) or table(cells(row), []).splitlines()[0] for name, row in rows.items()]
    given.page.write_text("\n".join([*lines[:start], *head, *new, *lines[end:]]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
