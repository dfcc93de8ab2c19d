"""Commands about what is there already: `report`, and `bench`, which measures Lemmata itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lemmata.cli.options import Json, folder, show_json, show_text


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that verify wrote.", parser=folder)],
    other: Annotated[
        Path | None,
        typer.Argument(metavar="DIR2", help="A second one: what changed from the first to it.", parser=folder),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rebuild the page of a folder without computing anything, or tell what changed between two folders."""
    from lemmata.lab.report import CHANGES, write_changes, write_report

    if other is None:
        page = write_report(directory)
        show_json({"page": str(page)}) if as_json else print(page)
        return
    changes = write_changes(directory, other)
    show_json(changes.json()) if as_json else show_text(f"{changes.text()}\n{other / CHANGES}")


def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which benchmark; without a name they are listed.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run all of them, one after the other.")] = False,
    as_json: Json = False,
) -> None:
    """Measure Lemmata against what you would take instead, and itself."""
    from lemmata.benchmarks import BENCHMARKS, bench_text
    from lemmata.lab.errors import unknown
    from lemmata.lab.terminal import show

    if name and name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    if name or everything:
        rows = {each: BENCHMARKS[each](quiet=as_json) for each in ([name] if name else BENCHMARKS)}
        if as_json:
            show_json(rows)
    elif as_json:
        show_json([each.json() for each in BENCHMARKS.values()])
    else:
        show(bench_text(), sys.stdout)
