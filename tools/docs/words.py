"""Words and cells that the pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from lemmata.lab.page import numbers
from lemmata.lab.page.formulas import INDEXED, prose, raised_or_lowered, show

MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "\\*_|[]`~^"})
SAID = {
    "paper": "the paper",
    "figure": "a figure or table of the paper",
    "corrected": "our correction",
    "derived": "derived",
}
STAR, STRONG = "\N{STAR OPERATOR}", "\N{EM SPACE}"
"""What stand for an escaped star, and for two, while indices are set."""
NO_SENTENCE = re.compile(
    r"^```.*?^```$|^(?: {4}|\t)[^\n]*$|`[^`\n]+`|\]\([^)]*\)|https?://\S+|</?[a-z]+(?:\s[^>\n]*)?/?>|&#?\w+;"
    r"|\{\s*(?:[#.:]|\w+=)[^}\n]*\}|\A---\n.*?\n---$",
    flags=re.MULTILINE | re.DOTALL,
)
"""What is no sentence in Markdown: code, targets of links and images, addresses, tags, entities, attributes."""


def measured(row: Mapping[str, Any]) -> str:
    """The number that decided, with its interval or range."""
    return numbers.measured(_row(row)) or "–"


def claimed(row: Mapping[str, Any]) -> str:
    """What the number must be."""
    return numbers.claimed(_row(row)) or "–"


def decided_by(row: Mapping[str, Any]) -> str:
    """What the number is and by which rule it was judged."""
    return numbers.decided_by(_row(row))


def _row(row: Mapping[str, Any]) -> Any:
    """A row of the JSON as the page's words take it."""
    return SimpleNamespace(**{"accept_low": None, "accept_high": None, **row})


def cell(text: str) -> str:
    """Text inside a table: every pipe is escaped, once."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def plain(text: str) -> str:
    """Text in which nothing but code in backticks is Markdown, with indices and exponents set: `α_*` is no emphasis."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else prose(part).translate(MARKS) for part in parts)


def typeset(text: str) -> str:
    """Markdown with the indices and exponents of its sentences set, and its blocks of LaTeX as MathML."""
    text = re.sub(r"^```math\n(.*?)\n```$", lambda found: formula(found[1]), text, flags=re.MULTILINE | re.DOTALL)
    done, at = [], 0
    for other in NO_SENTENCE.finditer(text):
        done += [_indices(text[at : other.start()]), other[0]]
        at = other.end()
    return "".join([*done, _indices(text[at:])])


def _indices(text: str) -> str:
    hidden = text.replace(r"\*", STAR).replace("**", STRONG)
    shown = INDEXED.sub(lambda found: raised_or_lowered(found).translate(MARKS), hidden)
    return shown.replace(STAR, MARKS[ord("*")]).replace(STRONG, "**")


def formula(latex: str) -> str:
    """LaTeX as MathML that Markdown leaves alone, also inside a table; empty if there is none."""
    return f'<span class="formula">{show(latex).translate(MARKS)}</span>' if latex else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells must not have bare pipes."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def of_claims(text: str) -> str:
    """A table of claims, whose columns have the same widths everywhere."""
    return f'<div class="claims" markdown="1">\n\n{text}\n\n</div>'


def code(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def folded(summary: str, text: str) -> str:
    """Text behind a line that opens it."""
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{text}\n\n</details>'


def page(title: str, *parts: str, wide: bool = False) -> str:
    """A page of parts; empty ones are left out. Wide pages have no contents at the right."""
    opening = ["---\nhide:\n  - toc\n---"] if wide else []
    return "\n\n".join([*opening, f"# {title}", *filter(None, parts)]) + "\n"
