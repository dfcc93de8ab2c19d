"""What `lemmata list` prints; it reads cards alone, so that it answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from lemmata.lab.terminal import NAME, QUIET, commands, line, table


def list_text(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """The theories, each with its paper and question."""
    papers = [(line((row["name"], NAME)), line(row["title"], "\n", (row["question"], QUIET))) for row in rows]
    return Group(table(papers), Text(), commands([("lemmata show NAME", "what a theory claims, and what to try")], 0))
