"""Words and cells that the pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lemmata.lab.page.formulas import show

SIGNS = {"<=": "≤", ">=": "≥", "==": "="}
PLAIN = str.maketrans({**{sign: f"\\{sign}" for sign in "\\*_|[]"}, "<": "&lt;", ">": "&gt;"})
MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "\\*_|[]`~^"})
SAID = {
    "paper": "the paper",
    "figure": "a figure or table of the paper",
    "corrected": "our correction",
    "derived": "derived",
}


def number(value: float | None) -> str:
    """Four digits; whole numbers as such."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"


def interval(row: Mapping[str, Any]) -> str:
    """The interval or range of the number that decided, where it has one."""
    low, high = row["low"], row["high"]
    return f" [{low:.3g}, {high:.3g}]" if low is not None and high is not None and low < high else ""


def measured(row: Mapping[str, Any]) -> str:
    """The number that decided, with its interval or range: "mean -0.994 [-1, -0.986]"."""
    if row["measured"] is None:
        return "–"
    return f"{row['statistic']} {number(row['measured'])}{interval(row)}".removeprefix("none ")


def claimed(row: Mapping[str, Any]) -> str:
    """The condition in signs."""
    if row["relation"] == "in":
        return f"{number(row.get('accept_low'))} to {number(row.get('accept_high'))}"
    if row["relation"] == "==" and row.get("accept_high") is not None:
        return f"≤ {number(row['accept_high'])}"
    if row["relation"] in SIGNS:
        return f"{SIGNS[row['relation']]} {number(row['predicted'])}" if row["predicted"] is not None else "–"
    return row["relation"]


def rule(row: Mapping[str, Any]) -> str:
    """Who decides, over how many seeds."""
    seeds = f", {row['seeds']} seeds" if row["seeds"] else ""
    return row["rule"] + seeds


def decided_by(row: Mapping[str, Any]) -> str:
    """What the number is and by which rule it was judged, each once."""
    statistic = "" if row["statistic"] == "none" or row["statistic"] in row["rule"] else f"{row['statistic']}: "
    return statistic + rule(row)


def cell(text: str) -> str:
    """Text inside a table: every pipe is escaped, once."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def plain(text: str) -> str:
    """Text in which nothing but code in backticks is Markdown: no emphasis by `α_*`, no tags."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else part.translate(PLAIN) for part in parts)


def formula(latex: str) -> str:
    """LaTeX as MathML that Markdown leaves alone, also inside a table; empty if there is none."""
    return f'<span class="formula">{show(latex).translate(MARKS)}</span>' if latex else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells must not have bare pipes."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def folded(summary: str, text: str) -> str:
    """Text behind a line that opens it."""
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{text}\n\n</details>'


def page(title: str, *parts: str, wide: bool = False) -> str:
    """A page of parts; empty ones are left out. Wide pages have no contents at the right."""
    opening = ["---\nhide:\n  - toc\n---"] if wide else []
    return "\n\n".join([*opening, f"# {title}", *filter(None, parts)]) + "\n"
