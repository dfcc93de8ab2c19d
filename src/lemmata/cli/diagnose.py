"""`lemmata diagnose KIND FILE`: the kinds that the theories' cards declare, each a command with its own options."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from lemmata.cli.options import Json, Plain, Progress, Seed, check_options, example, folder, show_json, show_text


def spelled(name: str) -> str:
    """An option of the command line for a parameter of Python."""
    return f"--{name.replace('_', '-')}"


class Kinds(typer.core.TyperGroup):
    """The kinds of diagnoses, built from the registry."""

    def list_commands(self, ctx: Any) -> list[str]:
        from lemmata.lab.diagnoses import kinds

        return list(kinds())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return diagnosis(cmd_name)


def diagnosis(kind: str) -> Any:
    """The command of a kind, with the options that its function declares."""
    from lemmata.lab.diagnoses import find, options

    function = find(kind)
    data, own = options(function)

    def command(files: list[str], seed: int, out: Path | None, progress: str, as_json: bool, **given: Any) -> None:
        check_options("quick", seed, "local", progress)
        from lemmata.lab.diagnoses import diagnose
        from lemmata.lab.progress import reporting, told

        with reporting(progress, sys.stderr) as reporter:
            tell = told(reporter(f"diagnose {kind}"))
            found = diagnose(kind, files[0] if len(files) == 1 else files, seed=seed, progress=tell, **given)
        folder = out or Path("results") / "diagnose" / Path(files[0]).resolve().stem
        content = found.write(folder)
        if as_json:
            show_json(content)
        else:
            show_text(f"{found.text}\n\n{folder}: figure.png, diagnosis.json ({found.seconds:.1f} s)")

    told = "Folder for figure.png and diagnosis.json; default results/diagnose/NAME."
    place = typer.Option("--out", metavar="DIR", parser=folder, help=told)
    declared = {
        "files": (Annotated[list[str], typer.Argument(help=data, metavar="FILE")], inspect.Parameter.empty),
        **{
            name: (Annotated[one.type, typer.Option(spelled(name), metavar="X", help=one.meaning)], one.default)
            for name, one in own.items()
        },
        "seed": (Seed, 0),
        "out": (Annotated[Path | None, place], None),
        "progress": (Progress, "auto"),
        "as_json": (Json, False),
    }
    kinds = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(
        [inspect.Parameter(name, kinds, default=default, annotation=kind) for name, (kind, default) in declared.items()]
    )
    command.__annotations__ = {name: kind for name, (kind, _) in declared.items()}
    command.__doc__ = (function.__doc__ or "").strip().splitlines()[0]
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    asked = [f"{spelled(name)} {name.upper()}" for name, one in own.items() if one.type == str | None]
    shown = example(" ".join(["lemmata diagnose", kind, "FILE", *asked, "--out my-results"]))
    single.command(kind, cls=Plain, short_help=command.__doc__, epilog=shown)(command)
    return typer.main.get_command(single)
