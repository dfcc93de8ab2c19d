"""Tables: what an experiment leaves where numbers are to be read, not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Table:
    """A caption, the heads of the columns, and rows of words and numbers.

    lm.Table("Test error", ["network", "error"], [["trained", 0.01], ["frozen", 0.3]])
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]

    def asdict(self) -> dict[str, Any]:
        """As plain values; what is no number is None."""
        known = [[cell if isinstance(cell, str) or _is_number(cell) else None for cell in row] for row in self.rows]
        return {"caption": self.caption, "columns": list(self.columns), "rows": known}

    def html(self) -> str:
        """As it stands on the page."""
        head = "".join(f"<th scope=col>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(shown(cell))}</td>' for cell in row)}</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.caption)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shown(cell: str | float | None) -> str:
    """Numbers to four digits, none as a dash."""
    if isinstance(cell, str):
        return cell
    return f"{cell:.4g}" if _is_number(cell) else "–"


def _is_number(cell: float | None) -> bool:
    return cell is not None and math.isfinite(cell)
