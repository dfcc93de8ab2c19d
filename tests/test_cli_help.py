"""The command line for a newcomer: help, examples, versions, completion."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import subprocess
import sys

import pytest
from command import Lemmata

from lemmata import cli
from lemmata.cli.completion import complete
from lemmata.lab import registry
from lemmata.lab.descriptions import check_changes, check_item
from lemmata.lab.plans import Options, plan

EXAMPLES = [example for _, _, examples in cli.COMMANDS.values() for example in examples]


@pytest.mark.parametrize("command", [*cli.COMMANDS, "diagnose"])
def test_every_help_ends_with_an_example(command: str, lemmata: Lemmata) -> None:
    done = lemmata(command, "--help")
    assert done.code == 0
    head, example = done.out.split("Example")
    assert f"lemmata {command}" in example
    assert head.startswith(f"Usage: lemmata {command}")
    assert lemmata(command, "-h").out == done.out


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_example_can_be_typed(command: str, lemmata: Lemmata) -> None:
    """What computes nothing is run; of the others the names and values are accepted."""
    _, verb, *arguments = shlex.split(command)
    if verb in ("list", "show", "search", "bound") or arguments == []:
        if verb != "verify":
            assert lemmata(verb, *arguments).code == 0
        return
    theory, _, name = arguments[0].partition("/")
    given: dict[str, list[str]] = {option: [] for option in ("--set", "--axis", "--preset")}
    for option, value in zip(arguments[1::2], arguments[2::2], strict=False):
        given.setdefault(option, []).append(value)
    if verb == "run":
        check_changes(theory, name, given["--set"])
        preset = (given["--preset"] or ["quick"])[0]
        plan(registry.load(theory), name, Options(preset, changes=given["--set"], axes=given["--axis"]))
    elif verb in ("verify", "replicate"):
        check_item(theory, "claim", name) if name else registry.check(theory)
    else:
        assert verb in ("report", "bench")


def test_a_help_text_names_arguments_without_their_types_in_python(lemmata: Lemmata) -> None:
    for command in cli.COMMANDS:
        told = lemmata(command, "--help").out
        assert not [typed for typed in ("<str>", "list[", "<=x") if typed in told], command


def test_the_first_help_lists_every_command_in_a_line_of_its_own(lemmata: Lemmata) -> None:
    listed = lemmata("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == [*cli.COMMANDS, "diagnose"]
    assert not any(line.endswith("...") for line in listed), "no sentence is cut"


def test_version_says_what_is_installed(lemmata: Lemmata) -> None:
    done = lemmata("--version")
    assert done.code == 0
    assert done.out.startswith(f"lemmata {importlib.metadata.version('lemmata')}, jax ")


def test_names_are_completed_up_to_the_slash_and_behind_it() -> None:
    assert "vit" in complete("v", ("claims",))
    assert complete("vit/v8-concentration-", ("claims",)) == [
        "vit/v8-concentration-corrected", "vit/v8-concentration-margin",
    ]  # fmt: skip
    assert complete("vit/f4-att", ("claims",)) == []
    assert complete("vit/f4-att", ("experiments",)) == ["vit/f4-attention"]
    assert complete("nothing/", ("claims",)) == []


def test_a_shell_is_given_the_completions() -> None:
    asked = {"_LEMMATA_COMPLETE": "complete_bash", "COMP_WORDS": "lemmata run vit/f4-att", "COMP_CWORD": "2"}
    script = "import sys; sys.argv = ['lemmata']; from lemmata.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["vit/f4-attention"], done.stderr


def test_diagnose_alone_shows_its_kinds(lemmata: Lemmata) -> None:
    done = lemmata("diagnose")
    assert (done.code, done.err) == (0, "")
    assert "graph" in done.out


def test_bench_lists_its_names_with_what_each_measures_and_takes(lemmata: Lemmata) -> None:
    from lemmata.benchmarks import BENCHMARKS

    rows = lemmata("bench", "--json").json
    assert [row["name"] for row in rows] == list(BENCHMARKS)
    assert all(row["measures"] and row["takes"] for row in rows)
    told = lemmata("bench").out
    assert all(f"{row['name']}  {row['takes']}" in told for row in rows)
