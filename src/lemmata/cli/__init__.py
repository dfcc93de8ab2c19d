"""The command line. Results on stdout, progress and warnings on stderr; bad input is one sentence and exit code 2.

Each command is a thin call into `lemmata.lab`, and imports what it needs when it is called: that keeps the start fast.
"""

from __future__ import annotations

import functools
import logging
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from lemmata.cli import look, results, work
from lemmata.cli.diagnose import Kinds
from lemmata.cli.options import Plain, example
from lemmata.lab.errors import FILE_MODULE, Broken, UserError, describe_error, is_of, printable, shortened
from lemmata.lab.interrupts import leaving_on_signals
from lemmata.lab.streams import Closed, drop_results, guard

HELP: Any = {"help_option_names": ["-h", "--help"]}
# the base of typer's usage errors, wherever this version of typer keeps it
USAGE: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

app = typer.Typer(rich_markup_mode=None, context_settings=HELP)
diagnose = typer.Typer(cls=Kinds, rich_markup_mode=None, context_settings=HELP)

COMMANDS: dict[str, tuple[Any, str, list[str]]] = {
    "list": (look.list_theories, "The theories: which papers, which questions.", ["lemmata list"]),
    "show": (
        look.show,
        "A theory on one screen, or one of its claims in full.",
        ["lemmata show vit", "lemmata show vit/v8-concentration", "lemmata show vit --settings"],
    ),
    "search": (
        look.search,
        "Find claims, experiments, bounds and fields.",
        ["lemmata search attention", "lemmata search step size"],
    ),
    "verify": (
        work.verify,
        "Test claims with their controls, and write a page.",
        ["lemmata verify", "lemmata verify vit/v8-concentration", "lemmata verify vit --preset smoke"],
    ),
    "run": (
        work.run,
        "Run one experiment: data, figure, finding.",
        [
            "lemmata run vit/f4-attention",
            "lemmata run vit/f4-attention --preset smoke --set N=50",
            "lemmata run vit/f2-step-size --axis η=0.1,0.2",
        ],
    ),
    "replicate": (
        work.replicate,
        "How often does a verdict repeat on fresh seeds?",
        ["lemmata replicate vit/v8-concentration --blocks 20"],
    ),
    "bound": (
        look.bound,
        "Evaluate a closed-form bound of a paper.",
        ["lemmata bound vit/samples_vit --set α_*=0.3 --set σ=0.05"],
    ),
    "report": (
        results.report,
        "Rebuild a page, or compare two results folders.",
        ["lemmata report results/quick", "lemmata report results/quick results/quick-seed7"],
    ),
    "bench": (
        results.bench,
        "Measure Lemmata against alternatives.",
        ["lemmata bench", "lemmata bench start"],
    ),
}
"""The commands, each with a few words and examples."""


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """A command, of which typer does not make a silent exit where a theory of the user's own raises this."""

    @functools.wraps(function)
    def command(*arguments: Any, **options: Any) -> None:
        try:
            function(*arguments, **options)
        except (KeyboardInterrupt, EOFError) as error:
            raise Broken(describe_error(error)) from error

    return command


for _name, (_function, _words, _examples) in COMMANDS.items():
    app.command(_name, cls=Plain, short_help=_words, epilog=example(*_examples))(guarded(_function))
app.add_typer(diagnose, name="diagnose", short_help="What helps on your own data?")


def show_version(wanted: bool) -> None:
    """Print what is installed."""
    if wanted:
        import importlib.metadata
        import platform

        found = [f"{each} {importlib.metadata.version(each)}" for each in ("lemmata", "jax")]
        print(", ".join([*found, f"Python {platform.python_version()}"]))
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=example("lemmata list", "lemmata show vit", "lemmata verify vit/v8-concentration"),
)
def start(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=show_version)
    ] = False,
) -> None:
    """A laboratory for provable learning: papers about training as software that runs, measures and may contradict.

    Begin with `lemmata list`, look at a theory with `lemmata show`, test its claims with `lemmata verify`.
    """
    _help_if_alone(ctx)


@diagnose.callback(invoke_without_command=True, epilog=example("lemmata diagnose graph --help"))
def start_diagnosis(ctx: typer.Context) -> None:
    """Say what helps on your own data, and what a theory measures there."""
    _help_if_alone(ctx)


def _help_if_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit


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
        with leaving_on_signals(results=1):
            code = app(standalone_mode=False, prog_name="lemmata")
            sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except UserError as error:
        _leave(str(error), 2)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except USAGE as error:
        asked = getattr(error, "ctx", None)
        _leave(f"{_usage(error.format_message())}. Try: {asked.command_path if asked else 'lemmata'} --help", 2)
    except (Closed, BrokenPipeError):
        drop_results()
        sys.exit(0)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}." if error.filename else f"{error}.", 2)
    except MemoryError:
        _leave("There is not enough memory for this.", 2)
    except Broken as error:
        _leave(str(error), 1)
    except BaseException as error:
        if is_of(error, FILE_MODULE):  # a theory of the user's own, which may also exit or interrupt
            _leave(describe_error(error), 1)
        if isinstance(error, SystemExit):
            raise
        import traceback

        traceback.print_exc()
        _leave(f"internal error: {type(error).__name__}: {error}", 3)


def _usage(message: str) -> str:
    """What is wrong with the arguments; a NAME=VALUE that stands alone wanted an option."""
    extra = re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message.rstrip("."))
    if extra and all("=" in each for each in extra[1].split()):
        return f"Every NAME=VALUE needs an option of its own: {' '.join(f'--set {each}' for each in extra[1].split())}"
    return message.rstrip(".")


def _leave(message: str, code: int) -> None:
    print(printable(shortened(message, 2000)), file=sys.stderr, flush=True)
    sys.exit(code)
