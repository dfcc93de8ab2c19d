"""What the type checker knows (which attributes a problem has, how a piece is called), and that shapes are checked."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

import lemmata
from lemmata.lab.setting import Setting, derived, fixed
from lemmata.networks.attention import softmax_attention
from lemmata.theories.graph_transformer.probes import mean_over

SOURCES = Path(lemmata.__file__).parents[1]
THEORIES = SOURCES / "lemmata" / "theories"
NAMES = sorted(folder.name for folder in THEORIES.iterdir() if (folder / "card.py").exists())
USES = Path(__file__).parent / "typing" / "uses.py"
KINDS = ("field", "derived", "fixed")

CALLS = """
import jax
from lemmata.theories.vit.data import draw_patterns
from lemmata.theories.vit.setting import Setting

def call(problem: Setting, key: jax.Array) -> jax.Array:
    draw_patterns(problem)  # wrong
    draw_patterns(problem, key, 3)  # wrong
    draw_patterns(3, key)  # wrong
    draw_patterns(problem, key).sahpe  # wrong
    return draw_patterns(problem, key)
"""


class Read(NamedTuple):
    """One `problem.name` in the source: where it stands, and what a setting of this class declares the name to be."""

    file: Path
    line: int
    column: int
    name: str
    reader: type[Setting]
    kind: str

    @property
    def misspelt(self) -> str:
        return self.name[:-2] + self.name[:-3:-1] + "l"


def kind_of(setting: type[Setting], name: str) -> str:
    known = setting.derivations().get(name)
    if isinstance(known, (derived, fixed)):
        return type(known).__name__
    return "field" if name in setting.declarations() else "undeclared"


def reads(theory: str) -> Iterator[Read]:
    """Everything that functions of `problem` read from it."""
    for file in sorted((THEORIES / theory).rglob("*.py")):
        source = file.read_text()
        if "problem: " not in source:
            continue
        module = importlib.import_module(".".join(file.relative_to(SOURCES).with_suffix("").parts))
        for function in ast.walk(ast.parse(source)):
            if not isinstance(function, ast.FunctionDef):
                continue
            given = {each.arg: ast.unparse(each.annotation) for each in function.args.args if each.annotation}
            reader = getattr(module, given.get("problem", ""), None)
            if not (isinstance(reader, type) and issubclass(reader, Setting)):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "problem" and node.attr != "replace":
                    column = (node.end_col_offset or 0) - len(node.attr)
                    line = node.end_lineno or 0
                    yield Read(file, line, column, node.attr, reader, kind_of(reader, node.attr))


def chosen(theory: str) -> list[Read]:
    """One read of every setting of the theory and every kind."""
    first: dict[tuple[type[Setting], str], Read] = {}
    for read in reads(theory):
        first.setdefault((read.reader, read.kind), read)
    return list(first.values())


@pytest.fixture(scope="module")
def diagnostics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[int]]:
    """The lines with errors in every file of a folder with copies of the sources, some as they are, some misspelt."""
    folder = tmp_path_factory.mktemp("typed")
    options = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text())["tool"]["basedpyright"]
    options |= {"include": ["."], "extraPaths": [str(SOURCES)]}
    (folder / "pyrightconfig.json").write_text(json.dumps({k: v for k, v in options.items() if "venv" not in k}))
    (folder / "calls.py").write_text(CALLS)
    (folder / "uses.py").write_text(USES.read_text())
    misspellings: dict[Path, list[Read]] = defaultdict(list)
    for theory in NAMES:
        for read in chosen(theory):
            misspellings[read.file].append(read)
    for file, found in misspellings.items():
        lines = file.read_text().splitlines(keepends=True)
        for read in sorted(found, key=lambda read: read.column, reverse=True):
            line = lines[read.line - 1].encode()
            end = read.column + len(read.name)
            assert line[read.column : end].decode() == read.name
            lines[read.line - 1] = (line[: read.column] + read.misspelt.encode() + line[end:]).decode()
        (folder / copy_of(file, "wrong")).write_text("".join(lines))
        (folder / copy_of(file, "right")).write_text(file.read_text())
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder).stdout)
    assert answer["summary"]["filesAnalyzed"] == 2 * len(misspellings) + 2
    errors: dict[str, set[int]] = defaultdict(set)
    for each in answer["generalDiagnostics"]:
        if each["severity"] == "error":
            errors[Path(each["file"]).name].add(each["range"]["start"]["line"] + 1)
    return errors


def copy_of(file: Path, which: str) -> str:
    return "_".join([which, *file.relative_to(THEORIES).parts])


@pytest.mark.parametrize("theory", NAMES)
def test_a_misspelt_attribute_of_a_problem_is_an_error_at_its_line(theory, diagnostics):
    found = chosen(theory)
    declared = {type(each).__name__ for read in found for each in read.reader.derivations().values()}
    assert {read.kind for read in found} == {"field", *declared} & set(KINDS)
    for read in found:
        assert read.line in diagnostics[copy_of(read.file, "wrong")], read
        assert not diagnostics[copy_of(read.file, "right")], read


@pytest.mark.parametrize("theory", NAMES)
def test_a_problem_is_only_asked_for_what_its_setting_declares(theory):
    """The type checker lets pass what a setting has besides: properties and methods, which a problem does not have."""
    assert [read for read in reads(theory) if read.kind == "undeclared"] == []


def test_a_piece_keeps_the_signature_of_its_function(diagnostics):
    assert diagnostics["calls.py"] == {n for n, line in enumerate(CALLS.splitlines(), 1) if "# wrong" in line}


def test_a_wrong_use_of_the_laboratory_is_an_error_at_its_line_and_a_right_one_is_none(diagnostics):
    wrong = {n for n, line in enumerate(USES.read_text().splitlines(), 1) if line.endswith("# wrong")}
    assert len(wrong) > 40
    assert diagnostics["uses.py"] == wrong


def test_an_array_of_another_shape_than_annotated_is_an_error_in_tests():
    assert softmax_attention(jnp.zeros((5, 2, 3)), jnp.ones((1, 3))).shape == (5, 2, 3)
    with pytest.raises(TypeCheckError, match="softmax_attention"):
        softmax_attention(jnp.zeros((5, 2, 3)), jnp.ones((5, 1)))
    with pytest.raises(TypeCheckError, match="mean_over"):
        mean_over(jnp.zeros((2, 3)), jnp.ones((1,), bool))
    with pytest.raises(TypeCheckError, match="mean_over"):
        mean_over(jnp.zeros((2, 3)), jnp.ones(3))
