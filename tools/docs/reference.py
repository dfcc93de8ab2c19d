"""Reference: settings, bounds, the command line as `--help` prints it, and the Python names with their docstrings."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import pkgutil
import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import typer.main
from facts import Known
from words import code, page, plain, table

import lemmata
from lemmata.lab.declarations import Declaration, spell

WIDTH = 96


def pages(theories: Iterable[Known]) -> Iterator[tuple[str, str]]:
    """(path, text) of every page of reference."""
    theories = list(theories)
    for known in theories:
        yield f"settings/{known.name}.md", settings(known)
        yield f"bounds/{known.name}.md", bounds(known)
    yield "command-line.md", command_line()
    yield "api.md", python_names()


def settings(known: Known) -> str:
    """The fields of every setting of a theory."""
    kinds = dict.fromkeys(
        [known.theory.setting, *(type(e.preset("quick").setting) for e in known.theory.experiments.values())]
    )
    parts = [
        "A setting is one fully specified learning problem. Change a field with `--set name=value`, sweep it with "
        "`--axis name=v1,v2`, or do either from Python. Sweeping a *number* never recompiles; a *size* or a *choice* "
        "is compiled once for each value; an *array* is your own data and can only be given from Python."
    ]
    for kind in kinds:
        if len(kinds) > 1:
            words = (inspect.getdoc(kind) or "").split("\n\n")[0]
            parts += [
                f"## {kind.__name__} ({kind.__module__.removeprefix('lemmata.theories.')})",
                plain(words) if not words.startswith(f"{kind.__name__}(") else "",
            ]
        rows = [_declared(name, each) for name, each in kind.declarations().items()]
        parts.append(table(["field", "symbol", "meaning", "kind", "default", "allowed"], rows))
    return page(f"Settings of {known.name}", *parts, wide=True)


def _declared(name: str, each: Declaration) -> list[str]:
    default = "–" if each.kind == "array" else f"`{spell(each.default)}`"
    return [f"`{name}`", plain(each.symbol), plain(each.meaning), each.kind, default, plain(each.allowed())]


def bounds(known: Known) -> str:
    """The calculators of a theory, each with what it gives at its defaults."""
    parts = [
        "Closed-form calculators. Constants that the paper leaves open are 1 unless you set them. An answer so large "
        "that nobody could run it is called vacuous."
    ]
    if not known.theory.bounds:
        parts = ["This theory has no calculators."]
    for bound in known.theory.bounds.values():
        answer = bound.evaluate()
        value = (
            "not finite"
            if answer["value"] is None and answer["log10"] is None
            else f"10^{answer['log10']:.1f}"
            if answer["value"] is None
            else f"{answer['value']:.6g}"
        )
        words = (inspect.getdoc(bound.function) or "").strip()
        parts += [f"## {bound.name}", f"*{plain(bound.reference)}.* {plain(words)}"]
        parts.append(
            table(
                ["parameter", "symbol", "meaning", "kind", "default", "allowed"],
                [_declared(n, p) for n, p in bound.parameters.items()],
            )
        )
        note = f" {plain(answer['note'])}." if answer["note"] else ""
        parts += [f"At the defaults: {value}.{note}", code(f"lemmata bound {known.name}/{bound.name}")]
    return page(f"Bounds of {known.name}", *parts)


def command_line() -> str:
    """Every command's own help."""
    from lemmata import cli

    app = typer.main.get_command(cli.app)
    os.environ |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    parts = [
        "What each command says with `--help`. Results go to stdout; progress and warnings to stderr. Exit codes: 0 as "
        "expected; 1 a verdict or control is not, or a cell failed; 2 wrong input or environment; 3 an error inside "
        "Lemmata; 130 and 143 interrupted.",
        code(_help(app, [])),
    ]
    for path in _commands(app, []):
        parts += [f"## lemmata {' '.join(path)}", code(_help(app, path))]
    return page("Command line", *parts)


def _commands(command: Any, path: list[str]) -> Iterator[list[str]]:
    context = typer.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is None or inner.hidden:
            continue
        yield [*path, name]
        if hasattr(inner, "list_commands"):
            yield from _commands(inner, [*path, name])


def _help(app: Any, path: list[str]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        app([*path, "--help"], prog_name="lemmata", standalone_mode=False)
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines())


def python_names() -> str:
    """What `import lemmata as lm` offers, by subject, then the public functions of networks and datasets."""
    parts = [
        "Write `import lemmata as lm`. Names are grouped by the module that defines them; a name that is not listed is "
        "not public."
    ]
    homes: dict[str, list[str]] = {}
    for name in lemmata.__all__:
        each = getattr(lemmata, name)
        home = each.__name__ if isinstance(each, ModuleType) else lemmata._HOME[name]
        homes.setdefault(home, []).append(name)
    for home in sorted(homes):
        module = importlib.import_module(home)
        parts += [f"## {home.removeprefix('lemmata.lab.')}", _opening(module)]
        for name in homes[home]:
            each = getattr(lemmata, name)
            parts += _functions(each) if isinstance(each, ModuleType) else [_entry(f"lm.{name}", each)]
    for package in ("lemmata.networks", "lemmata.datasets"):
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
            module = importlib.import_module(f"{package}.{info.name}")
            if not info.name.startswith("_"):
                parts += [f"## {package}.{info.name}", _opening(module), *_functions(module)]
    return page("Python", *parts)


def _functions(module: ModuleType) -> list[str]:
    own = {
        n: v
        for n, v in vars(module).items()
        if not n.startswith("_") and getattr(v, "__module__", "") == module.__name__
    }
    return [
        _entry(f"{module.__name__.removeprefix('lemmata.lab.')}.{name}", each)
        for name, each in own.items()
        if callable(each)
    ]


def _opening(module: ModuleType) -> str:
    return plain((inspect.getdoc(module) or "").split("\n\n")[0])


def _entry(name: str, each: Any) -> str:
    """A name with its signature and its whole docstring."""
    if not callable(each):
        return f"### {name}\n\n{code(repr(each))}"
    try:
        signature = re.sub(r"<[^>]*>", "...", str(inspect.signature(each)))
    except (TypeError, ValueError):
        signature = "(...)"
    words = (inspect.getdoc(each) or "").strip()
    if words.startswith(f"{getattr(each, '__name__', '')}("):
        words = ""  # what dataclasses write by themselves
    head, _, rest = words.partition("\n\n")
    parts = [f"### {name}", code(f"{name}{_wrapped(signature)}", "python"), plain(head), code(rest) if rest else ""]
    return "\n\n".join(filter(None, parts))


def _wrapped(signature: str) -> str:
    """A long signature with an argument on each line."""
    signature = (
        re.sub(r"""ForwardRef\((['"])(.*?)\1[^()]*?\)""", r"\2", signature).replace("lemmata.lab.", "").replace("'", "")
    )
    if len(signature) <= WIDTH:
        return signature
    inside, _, result = signature[1:].rpartition(")")
    depth, start, found = 0, 0, []
    for at, sign in enumerate(inside):
        depth += sign in "([{"
        depth -= sign in ")]}"
        if sign == "," and depth == 0:
            found.append(inside[start:at].strip())
            start = at + 1
    found.append(inside[start:].strip())
    return "(\n    " + ",\n    ".join(filter(None, found)) + f",\n){result}"
