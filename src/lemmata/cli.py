"""The command line. Results on stdout, progress and warnings on stderr; bad input is one sentence and exit code 2."""

from __future__ import annotations

import inspect
import json
import logging
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

from lemmata.lab.errors import Broken, UserError, describe_error, is_of, printable, unknown
from lemmata.lab.interrupts import leaving_on_signals
from lemmata.lab.streams import Closed, drop_results, guard

if TYPE_CHECKING:
    from lemmata.lab.rows import Row

app = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode=None, help="A laboratory for provable learning."
)


class Kinds(typer.core.TyperGroup):
    """The kinds of diagnoses that the theories' cards declare, each a command with its own options."""

    def list_commands(self, ctx: Any) -> list[str]:
        from lemmata.lab.diagnoses import kinds

        return list(kinds())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _diagnosis(cmd_name)


diagnose = typer.Typer(
    cls=Kinds,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Say what helps on your own data, and what a theory measures there.",
)
app.add_typer(diagnose, name="diagnose")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PresetOption = Annotated[str, typer.Option("--preset", help="smoke (seconds), quick, or paper (the document's sizes).")]
SeedOption = Annotated[int, typer.Option("--seed", help="First seed.")]


def _folder(text: str) -> Path:
    if not text:
        raise typer.BadParameter("it is empty; give a folder")
    return Path(text)


OutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder for results; default results/PRESET.", parser=_folder)
]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="name=value; may be repeated.")]
EngineOption = Annotated[
    str, typer.Option("--engine", help="Where to compute: local, processes[:K], dask[:ADDRESS or scheduler file].")
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", help="Seconds without a sign of life after which a worker is given up; default: never."),
]
ProgressOption = Annotated[
    str,
    typer.Option(
        "--progress",
        help="bar, log (a line now and then), json (events) or quiet, on stderr; auto: a bar on a terminal, a log in a "
        "file, quiet in a pipe.",
    ),
]


FILE_MODULE = "lemmata_file_"
# the base of typer's usage errors, wherever this version of typer keeps it
USAGE: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def show_json(content: Any) -> None:
    print(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False))


def say(sentence: str) -> None:
    """A warning or remark, on stderr."""
    print(printable(sentence), file=sys.stderr, flush=True)


def prepare_backend(engine: str = "local") -> None:
    """Keep compiled programs between commands, and freed memory between runs; leave that of a GPU to other workers."""
    from lemmata.lab.machine import keep_memory
    from lemmata.lab.programs import cache_folder, keep_programs

    if engine != "local":
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    keep_memory()
    keep_programs(str(cache_folder()))


@app.command("list")
def list_theories(as_json: Json = False) -> None:
    """List the theories."""
    from lemmata.lab.registry import cards

    rows = [{key: card[key] for key in ("name", "title", "question")} for card in cards()]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        print(f"{row['name']:<20} {row['title']}\n{'':<20} {row['question']}")


@app.command()
def show(
    what: Annotated[str, typer.Argument(help="THEORY, FILE.py or THEORY/ITEM: a claim, experiment, bound, field.")],
    as_json: Json = False,
) -> None:
    """Show a theory in short, or one of its claims, experiments, bounds or fields in full."""
    from lemmata.lab.descriptions import description, item, shipped_replication
    from lemmata.lab.shown import item_text, theory_text

    theory, slash, name = what.rpartition("/")
    if slash and not what.endswith(".py"):
        found = item(theory, name)
        if found["type"] == "claim":
            found["replication"] = shipped_replication(theory, found["name"])
        show_json(found) if as_json else print(item_text(theory, found))
        return
    found = description(what)
    if as_json:
        hidden = ("declared", "items")
        content = {key: value for key, value in found.items() if key not in hidden}
        content["experiments"] = [{k: v for k, v in e.items() if k != "setting"} for e in found["experiments"]]
        show_json(content)
    else:
        print(theory_text(found))


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="THEORY/EXPERIMENT")],
    preset: PresetOption = "quick",
    seeds: Annotated[int | None, typer.Option("--seeds", help="Number of seeds.", min=1)] = None,
    seed: SeedOption = 0,
    changes: SetOption = None,
    axes: Annotated[
        list[str] | None, typer.Option("--axis", help="name=v1,v2: the values of an axis, or a further axis.")
    ] = None,
    selected: Annotated[
        list[str] | None, typer.Option("--select", help="axis=label,label: only these labels of an axis.")
    ] = None,
    out: OutOption = None,
    engine: EngineOption = "local",
    timeout: TimeoutOption = None,
    progress: ProgressOption = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace data of another setting.")] = False,
    as_json: Json = False,
) -> None:
    """Run one experiment and write data.zarr, figure.png, figure.svg and run.json."""
    theory, name = _split(experiment, "experiment")
    _check(preset, seed, engine, progress, seeds or 1)
    from lemmata.lab.descriptions import check_changes

    if not theory.endswith(".py"):
        check_changes(theory, name, changes or ())
    from lemmata.lab.engines import open_engine
    from lemmata.lab.progress import reporting
    from lemmata.lab.registry import load
    from lemmata.lab.runner import Options, carry_out, plan

    options = Options(
        preset,
        seed,
        seeds,
        changes=tuple(changes or ()),
        out=out,
        overwrite=overwrite,
        axes=tuple(axes or ()),
        select=tuple(selected or ()),
    )
    planned = plan(load(theory), name, options)
    prepare_backend(engine)
    with open_engine(engine, timeout) as opened, reporting(progress, sys.stderr) as reporter:
        outcome = carry_out(planned, opened, reporter(experiment), say)
    for place, message in outcome.failures.items():
        say(f"failed: {place}: {message}")
    if as_json:
        show_json(
            {
                "path": str(outcome.path), "dims": {str(k): v for k, v in outcome.data.sizes.items()},
                "variables": [str(v) for v in outcome.data.data_vars], "seconds": round(outcome.seconds, 3),
                "failed": outcome.failed,
            }
        )  # fmt: skip
    else:
        print(outcome.data)
        kept = ", ".join(each.name for each in sorted(outcome.path.iterdir()) if not each.name.startswith("."))
        print(f"\n{outcome.path}: {kept} ({outcome.seconds:.1f} s)")
    if outcome.failed:
        say(f"{outcome.failed} failed; the same command tries only these again.")
        raise typer.Exit(1)


@app.command()
def verify(
    what: Annotated[
        list[str] | None, typer.Argument(help="THEORY, THEORY/CLAIM or FILE.py; default: headline claims.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every claim of every theory.")] = False,
    preset: PresetOption = "quick",
    seed: SeedOption = 0,
    out: OutOption = None,
    engine: EngineOption = "local",
    timeout: TimeoutOption = None,
    progress: ProgressOption = "auto",
    as_json: Json = False,
) -> None:
    """Examine claims with their controls and write the report."""
    _check(preset, seed, engine, progress)
    _check_names(what or ())
    from lemmata.lab.progress import reporting
    from lemmata.lab.runner import Options
    from lemmata.lab.verify import select
    from lemmata.lab.verify import verify as examine_claims

    options = Options(preset, seed, out=out, recompute_stale=True, timeout=timeout)
    selection = select(what or [], everything)
    prepare_backend(engine)
    with reporting(progress, sys.stderr) as reporter:
        done = examine_claims(selection, options, reporter, say, engine, decided=_Table(quiet=as_json).add)
    odd = [row for row in done.rows if row.alarming]
    if as_json:
        show_json([row.json() for row in done.rows])
    else:
        count, expected = len(done.rows), sum(row.as_expected for row in done.rows)
        small = " (the preset smoke only shows that everything runs)" if preset == "smoke" else ""
        print(f"\n{count} claim{'s' if count > 1 else ''}, {expected} as expected{small}. Report: {done.page}")
    for row in odd:
        say(
            f"not as expected: {row.name}: {row.outcome} (expected {row.expected}), "
            f"control {row.control} (expected {row.control_expected}){'; ' + row.note if row.lost else ''}"
        )
    told = {row.name for row in odd if row.lost}
    for sentence in done.broken:
        if sentence.partition(": ")[0] not in told:
            say(sentence)
    if odd or done.broken:
        raise typer.Exit(1)


@app.command()
def replicate(
    what: Annotated[
        list[str] | None, typer.Argument(help="THEORY, THEORY/CLAIM or FILE.py; default: every claim of every theory.")
    ] = None,
    blocks: Annotated[int, typer.Option("--blocks", help="How many blocks of seeds.", min=1, max=400_000)] = 5,
    preset: PresetOption = "quick",
    out: OutOption = None,
    engine: EngineOption = "local",
    progress: ProgressOption = "auto",
    as_json: Json = False,
) -> None:
    """Judge claims again on further blocks of seeds: how often does a verdict repeat?"""
    _check(preset, 0, engine, progress)
    _check_names(what or ())
    from dataclasses import asdict

    from lemmata.lab.progress import reporting
    from lemmata.lab.replicate import replicate as judge_again
    from lemmata.lab.replications import ENOUGH, TABLE
    from lemmata.lab.runner import Options
    from lemmata.lab.verify import select

    options = Options(preset, out=out)
    selection = select(what or [], everything=True)
    prepare_backend(engine)
    with reporting(progress, sys.stderr) as reporter:
        found, lost = judge_again(selection, blocks, options, reporter, say, engine)
    if as_json:
        show_json([asdict(each) for each in found])
    else:
        print(f"{'claim':<44} {'as expected':>12}   {'95 % interval':<15} {'measured: median [range over blocks]'}")
        for each in found:
            numbers = "" if each.median is None else f"{each.median:.4g} [{each.low:.4g}, {each.high:.4g}]"
            share = f"{each.share_low:.2f} to {each.share_high:.2f}"
            print(f"{each.name:<44} {each.as_expected:>5} of {each.blocks:<4}   {share:<15} {numbers}")
        repeated = sum(each.repeats for each in found)
        print(f"\n{repeated} of {len(found)} as expected in at least {ENOUGH:.0%}. Table: {options.directory / TABLE}")
    for each in found:
        for odd in each.odd:
            say(f"{each.name}, seeds from {odd['seed']}: {odd['outcome']}, control {odd['control']}; {odd['note']}")
    if lost or not all(each.repeats for each in found):
        raise typer.Exit(1)


class _Table:
    """Prints one line per row as it is decided, under a head."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.empty, self.out = quiet, True, sys.stdout
        self.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 215

    def add(self, row: Row) -> None:
        if self.quiet:
            return
        if self.empty:
            self._print("claim", "outcome", "expected", "control", "measured", "note")
            self.empty = False
        measured = "" if row.measured is None else f"{row.measured:.4g}"
        if row.low is not None and row.high is not None and row.low != row.high:
            measured += f" [{row.low:.3g}, {row.high:.3g}]"
        mark = "" if row.control == row.control_expected else " !"
        self._print(row.name, row.outcome, row.expected, row.control + mark, measured, row.note)

    def _print(self, name: str, outcome: str, expected: str, control: str, measured: str, note: str) -> None:
        line = f"{name:<36} {outcome:<13} {expected:<13} {control:<13} {measured:>22}  {note}"
        print(line[: self.width], file=self.out, flush=True)


@app.command()
def bound(
    name: Annotated[str, typer.Argument(help="THEORY/BOUND")], changes: SetOption = None, as_json: Json = False
) -> None:
    """Evaluate a closed-form bound."""
    from lemmata.lab.registry import load, load_room

    theory, bound_name = _split(name, "bound")
    if theory.endswith(".py"):
        bounds = load(theory).bounds
    else:
        bounds = {each.name: each for each in load_room(theory, "bounds").BOUNDS}
    if bound_name not in bounds:
        raise unknown("bound", bound_name, bounds, theory)
    calculator = bounds[bound_name]
    answer = calculator.evaluate(**calculator.parse(changes or ()))
    if as_json:
        show_json(answer)
        return
    shown = {key: value if isinstance(value, str) else f"{value:g}" for key, value in answer["inputs"].items()}
    inputs = ", ".join(f"{key}={value}" for key, value in shown.items())
    value = "not finite" if answer["value"] is None else f"{answer['value']:.10g}"
    if answer["value"] is None and answer["log10"] is not None:
        value = f"10^{answer['log10']:.6g}"
    print(f"{bound_name}({inputs}) = {value}   {calculator.reference}")
    if answer["note"]:
        print(answer["note"])


def _diagnosis(kind: str) -> Any:
    """The command of a kind, with the options that its function declares."""
    from lemmata.lab.diagnoses import find, options

    function = find(kind)
    data, own = options(function)

    def command(files: list[str], seed: int, out: Path | None, progress: str, as_json: bool, **given: Any) -> None:
        _check("quick", seed, "local", progress)
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
            print(f"{found.text}\n\n{folder}: figure.png, diagnosis.json ({found.seconds:.1f} s)")

    place = typer.Option("--out", help="Folder for figure.png and diagnosis.json; default results/diagnose/NAME.")
    declared = {
        "files": (Annotated[list[str], typer.Argument(help=data, metavar="FILE")], inspect.Parameter.empty),
        **{
            name: (Annotated[one.type, typer.Option(f"--{name.replace('_', '-')}", help=one.meaning)], one.default)
            for name, one in own.items()
        },
        "seed": (SeedOption, 0),
        "out": (Annotated[Path | None, place], None),
        "progress": (ProgressOption, "auto"),
        "as_json": (Json, False),
    }
    kinds = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(
        [inspect.Parameter(name, kinds, default=default, annotation=kind) for name, (kind, default) in declared.items()]
    )
    command.__annotations__ = {name: kind for name, (kind, _) in declared.items()}
    command.__doc__ = (function.__doc__ or "").strip().splitlines()[0]
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(kind)(command)
    return typer.main.get_command(single)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="A folder that verify wrote.")],
    other: Annotated[Path | None, typer.Argument(help="A second one: what changed from the first to it.")] = None,
    as_json: Json = False,
) -> None:
    """Rebuild the page of a folder without computing anything, or tell what changed between two folders."""
    from lemmata.lab.report import CHANGES, write_changes, write_report

    if other is None:
        page = write_report(directory)
        show_json({"page": str(page)}) if as_json else print(page)
        return
    changes = write_changes(directory, other)
    show_json(changes.json()) if as_json else print(f"{changes.text()}\n{other / CHANGES}")


@app.command()
def bench(name: Annotated[str | None, typer.Argument(help="Which benchmark.")] = None, as_json: Json = False) -> None:
    """Measure the laboratory against what a user would pick instead."""
    from lemmata.benchmarks import BENCHMARKS

    if name and name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    chosen = [name] if name else list(BENCHMARKS)
    rows = {each: BENCHMARKS[each](quiet=as_json) for each in chosen}
    if as_json:
        show_json(rows)


def _check(preset: str, seed: int, engine: str, progress: str, seeds: int = 1) -> None:
    from lemmata.lab.engines import check_engine
    from lemmata.lab.programs import OF_PRESET
    from lemmata.lab.progress import STYLES

    if preset not in OF_PRESET:
        raise unknown("preset", preset, OF_PRESET)
    if progress not in STYLES:
        raise unknown("progress", progress, STYLES)
    check_engine(engine)
    if not 1 <= seeds <= 2**32:
        raise UserError(f"--seeds {seeds} is not allowed: the number of seeds is an integer from 1 to {2**32}.")
    if not 0 <= seed < 2**32:
        raise UserError(f"--seed {seed} is not allowed: the first seed is an integer from 0 to {2**32 - 1}.")


def _check_names(names: Sequence[str]) -> None:
    """Refuse theories and claims that there are not, before anything is loaded."""
    from lemmata.lab.descriptions import check_item
    from lemmata.lab.registry import check

    for name in names:
        theory, slash, claim = name.rpartition("/")
        if name.endswith(".py") or not slash:
            check(name)
        elif not theory.endswith(".py"):
            check_item(theory, "claim", claim)


def _split(name: str, what: str) -> tuple[str, str]:
    theory, slash, rest = name.rpartition("/")
    if not slash or (name.endswith(".py") and Path(name).exists()):
        raise UserError(f"'{name}' is not of the form THEORY/{what.upper()}.")
    return theory, rest


def main() -> None:
    """Run the command line with the contract's exit codes."""
    streams = sys.stdout, sys.stderr
    guard()
    # zarr writes several files at once; when the disk is full one error is ours to tell, the others are no news
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        _main()
    finally:
        sys.stdout, sys.stderr = streams


def _main() -> None:
    try:
        with leaving_on_signals():
            code = app(standalone_mode=False)
            sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except UserError as error:
        _leave(str(error), 2)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except USAGE as error:
        _leave(error.format_message(), 2)
    except (Closed, BrokenPipeError):
        drop_results()
        sys.exit(0)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}." if error.filename else f"{error}.", 2)
    except MemoryError:
        _leave("There is not enough memory for this.", 2)
    except KeyboardInterrupt:  # raised by a theory, since a signal ends the process by itself
        _leave("interrupted; what was finished is kept, the same command goes on from there", 130)
    except Broken as error:
        _leave(str(error), 1)
    except Exception as error:
        if is_of(error, FILE_MODULE):  # a theory of the user's own
            _leave(describe_error(error), 1)
        import traceback

        traceback.print_exc()
        _leave(f"internal error: {type(error).__name__}: {error}", 3)


def _leave(message: str, code: int) -> None:
    print(printable(message), file=sys.stderr, flush=True)
    sys.exit(code)
