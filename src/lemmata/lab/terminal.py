"""Text for people: wrapped at the width of the terminal, with colours where there is one.

In a pipe or a file there is no colour and a line has at most 96 letters; `NO_COLOR` and `COLUMNS` are respected.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from typing import IO, Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDEST = 100
"""Longer lines are hard to read, however wide the terminal."""
PIPE = 96

NAME, COMMAND, QUIET, GOOD, BAD, OPEN = "bold", "cyan", "dim", "green", "bold red", "yellow"
"""What is named, what can be typed, what can be passed over, what is in order, what needs attention, what falls."""


CONTROL_OR_COLOUR = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
"""What would act on a terminal: names and texts may be anybody's."""
CONTROL = re.compile(rf"(?!\x1b\[[\d;]*m){CONTROL_OR_COLOUR.pattern}")


def width(stream: Any) -> int:
    """Letters of a line."""
    if stream.isatty():
        return max(20, min(shutil.get_terminal_size().columns, WIDEST))
    columns = os.environ.get("COLUMNS", "")
    return max(20, min(int(columns), WIDEST)) if columns.isdigit() else PIPE


def show(content: RenderableType, stream: IO[str]) -> None:
    """Write this, without spaces at the ends of lines."""
    console = Console(file=stream, width=width(stream), highlight=False, markup=False, emoji=False, soft_wrap=False)
    with console.capture() as written:
        console.print(content)
    text = "\n".join(line.rstrip() for line in written.get().split("\n")).removesuffix("\n")
    print((CONTROL if console.is_terminal else CONTROL_OR_COLOUR).sub(" ", text), file=stream, flush=True)


def line(*parts: str | Text | tuple[str, str]) -> Text:
    """A line, or a paragraph, of plain and styled parts."""
    return Text.assemble(*parts)


def indent(content: RenderableType, by: int) -> RenderableType:
    return Padding(content, (0, 0, 0, by))


def heading(text: str, more: str = "") -> RenderableType:
    """A heading after an empty line."""
    return line("\n", (text, NAME), (f"  {more}" if more else "", QUIET))


def entry(name: str, more: str, text: str, by: int = 2) -> RenderableType:
    """A name with a remark, and a text below it."""
    head = line((name, NAME), (f"  {more}" if more else "", QUIET))
    return indent(Group(head, indent(Text(text), 4)) if text else head, by)


def table(rows: Iterable[Sequence[Text | str]], by: int = 0, gap: int = 2) -> RenderableType:
    """Columns, of which the last is wrapped."""
    listed = list(rows)
    grid = Table.grid(padding=(0, gap, 0, 0), pad_edge=False)
    last = len(listed[0]) - 1 if listed else 0
    for column in range(last + 1):
        grid.add_column(no_wrap=column < last)
    for row in listed:
        grid.add_row(*row)
    return indent(grid, by)


def commands(pairs: Iterable[tuple[str, str]], by: int = 2) -> RenderableType:
    """What to type, each with what it does."""
    return table([(line((typed, COMMAND)), line((does, QUIET))) for typed, does in pairs], by, gap=3)
