"""The report: pages that open from disk without a network, rebuilt from what `verify` and `run` left.

One page for little; for much an index with a page per theory beside it. Figures are files beside the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from lemmata.lab.changes import Changes, compare
from lemmata.lab.errors import UserError
from lemmata.lab.files import write_whole, writing
from lemmata.lab.page.cards import Card
from lemmata.lab.page.content import SCIENCE, Content, Statement, collect
from lemmata.lab.page.typeset import set_page, style_of
from lemmata.lab.rows import VERDICTS, Row, read_rows

INDEX, CHANGES = "index.html", "changes.html"
MANY = 40
"""Claims of several theories, above which each theory has a page of its own."""


def write_report(directory: Path) -> Path:
    """Write the pages of a folder that `verify` left; returns the path of the first."""
    for name, text in render(_rows(directory), directory).items():
        _write(directory / name, text)
    return directory / INDEX


def render(rows: Sequence[Row], directory: Path) -> dict[str, str]:
    """The pages of these rows, by the names of their files, with the figures of the experiments they read."""
    content = collect(rows, directory)
    if len(content.parts) < 2 or len(rows) <= MANY:
        return {INDEX: set_page("theories.html", content=content, title=_title(content), home="")}
    pages = {part.card.name: _file_of(part.card.name) for part in content.parts}
    found = {}
    for part in content.parts:
        alone = Content([part], [])
        found[pages[part.card.name]] = set_page("theories.html", content=alone, title=_title(alone), home=INDEX)
    found[INDEX] = set_page(
        "index.html", content=content, pages={name: quote(file) for name, file in pages.items()}
    )  # last: it leads to the others
    return found


def write_changes(a: Path, b: Path) -> Changes:
    """What differs between the verdicts of two folders; `changes.html` in the second shows it."""
    found = compare(_rows(a), _rows(b))
    _write(b / CHANGES, set_page("changes.html", changes=found, a=str(a), b=str(b), science=SCIENCE))
    return found


def table(rows: Sequence[Row]) -> str:
    """The rows as a table, for a notebook."""
    statements = [Statement(row, Card(row.theory), None, ()) for row in rows]
    return set_page("rows.html", statements=statements, style=style_of("rows.css"))


def _rows(directory: Path) -> list[Row]:
    if not (directory / VERDICTS).exists():
        raise UserError(f"{directory} holds no verdicts; run `lemmata verify --out {directory}` first.")
    return read_rows(directory)


def _write(path: Path, text: str) -> None:
    with writing(path):
        write_whole(path, text.encode())


def _file_of(theory: str) -> str:
    """The file of a theory's page."""
    name = f"{theory}.html"
    return name if name not in (INDEX, CHANGES) else f"{theory}-theory.html"


def _title(content: Content) -> str:
    if len(content.parts) != 1:
        return f"Lemmata: {len(content.statements)} claims of {len(content.parts)} papers"
    card = content.parts[0].card
    return f"Lemmata: {card.title or card.name}"
