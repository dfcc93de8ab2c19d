"""Options that several commands share, and the checks that need nothing loaded."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from lemmata.cli.completion import complete_bound, complete_claim, complete_experiment, complete_item
from lemmata.lab.errors import UserError, printable, unknown

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="PRESET",
        help="How large: smoke (tiny, only shows that it runs), quick, or paper (the paper's sizes).",
    ),
]


def whole(text: str | int) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


Seed = Annotated[
    int,
    typer.Option("--seed", metavar="S", parser=whole, help="The first seed; the runs take this one and the next ones."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Give a field another value; NAME may be the paper's symbol (η=0.2). May be repeated. "
        "`lemmata show THEORY --settings` lists the fields.",
    ),
]
SetParameter = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Give a parameter another value; NAME may be the paper's symbol (σ=0.05). May be repeated. "
        "`lemmata show THEORY/BOUND` lists the parameters.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine", metavar="ENGINE", help="Where to compute: local, processes[:K], dask[:ADDRESS or scheduler file]."
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Seconds without a sign of life after which a worker is given up; default: never.",
    ),
]
Progress = Annotated[
    str,
    typer.Option(
        "--progress",
        metavar="STYLE",
        help="bar, log (a line now and then), json (events) or quiet, on stderr; auto: a bar on a terminal, a log in a "
        "file, quiet in a pipe.",
    ),
]


def folder(text: str) -> Path:
    """A folder that results may be written to."""
    if not text:
        raise typer.BadParameter("it is empty; give a folder")
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise typer.BadParameter(f"{text} is a file; give a folder")
    return path


Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for results; default results/PRESET.", parser=folder),
]
Item = Annotated[
    str,
    typer.Argument(
        metavar="THEORY[/ITEM]",
        help="A theory, a FILE.py of your own, or THEORY/ITEM: a claim, experiment, bound or field.",
        autocompletion=complete_item,
    ),
]
Experiment = Annotated[
    str,
    typer.Argument(
        metavar="THEORY/EXPERIMENT",
        help="The experiment; `lemmata show THEORY --experiments` lists them.",
        autocompletion=complete_experiment,
    ),
]
Bound = Annotated[
    str,
    typer.Argument(
        metavar="THEORY/BOUND",
        help="The bound; `lemmata show THEORY --bounds` lists them.",
        autocompletion=complete_bound,
    ),
]
CLAIMS: Any = {"metavar": "THEORY[/CLAIM]|FILE.py", "autocompletion": complete_claim}


class Plain(typer.core.TyperCommand):
    """A command whose help names an argument as the usage line does, without its type in Python."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in self.params:
            if each.param_type_name == "argument":
                vars(each)["display_type_rich"] = lambda ctx: None  # only some versions of typer have it


def show_json(content: Any) -> None:
    plain = "utf" not in (sys.stdout.encoding or "").lower()  # what such a stream has no letter for is escaped
    print(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=plain))


def show_text(text: str) -> None:
    """Lines of results; names in them may be anybody's."""
    print("\n".join(map(printable, text.splitlines())))


def say(sentence: str) -> None:
    """A warning or remark, on stderr; in one piece with its end, since experiments that run side by side make some."""
    sys.stderr.write(printable(sentence) + "\n")
    sys.stderr.flush()


def example(*commands: str) -> str:
    """The end of a help text: commands to copy."""
    return "\n".join(["\b", "Example:" if len(commands) == 1 else "Examples:", *(f"  {each}" for each in commands)])


def prepare_backend(engine: str = "local") -> None:
    """Keep compiled programs between commands, and freed memory between runs; leave that of a GPU to other workers."""
    from lemmata.lab.machine import collect_rarely, keep_memory
    from lemmata.lab.programs import cache_folder, keep_programs, why_not_kept

    if engine != "local":
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if platforms := os.environ.get("JAX_PLATFORMS"):
        check_platforms(platforms)
    keep_memory()
    collect_rarely()
    folder = cache_folder()
    if reason := why_not_kept(folder):
        say(f"Compiled programs cannot be kept in {folder} ({reason}); LEMMATA_CACHE may name another folder.")
    keep_programs(str(folder))


def check_platforms(names: str) -> None:
    """Refuse platforms on which JAX cannot compute here."""
    import jax

    try:
        jax.devices()
    except Exception as error:
        reason = str(error).splitlines() or ["it gives no reason"]
        raise UserError(f"JAX_PLATFORMS = {names} is not possible here: {reason[0]}") from error


def check_options(preset: str, seed: int, engine: str, progress: str, seeds: int = 1) -> None:
    """Refuse values that no command can use."""
    from lemmata.lab.engines import check_engine
    from lemmata.lab.programs import OF_PRESET
    from lemmata.lab.progress import STYLES

    if preset not in OF_PRESET:
        raise unknown("preset", preset, OF_PRESET)
    if progress not in STYLES:
        raise unknown("progress", progress, STYLES)
    check_engine(engine)
    if not 1 <= seeds <= 2**32:
        raise UserError(f"--seeds {seeds} is not allowed: it is how many seeds to run, from 1 to {2**32}.")
    if not 0 <= seed < 2**32:
        raise UserError(f"--seed {seed} is not allowed: the first seed is an integer from 0 to {2**32 - 1}.")


def check_claims(names: Sequence[str]) -> None:
    """Refuse theories and claims that there are not, before anything is loaded."""
    from lemmata.lab.descriptions import check_item
    from lemmata.lab.registry import check

    for name in names:
        theory, slash, claim = name.rpartition("/")
        if name.endswith(".py") or not slash:
            check(name)
        elif not theory.endswith(".py"):
            check_item(theory, "claim", claim)


def split(name: str, what: str) -> tuple[str, str]:
    """THEORY and what stands behind the slash."""
    theory, slash, rest = name.rpartition("/")
    if not slash or (name.endswith(".py") and Path(name).exists()):
        shown = f"`lemmata show {name} --{what}s` lists them" if name else "`lemmata list` names the theories"
        raise UserError(f"'{name}' is not of the form THEORY/{what.upper()}; {shown}.")
    return theory, rest
