"""Digests of sources: what a file reaches by import statements counts, and of that only what runs."""

from __future__ import annotations

import functools
import shutil
import textwrap
from pathlib import Path

import pytest

import lemmata
from lemmata.lab import registry
from lemmata.lab.sources import defining_file, digest_from, digest_of, reached

PACKAGE = {
    "__init__.py": "from made.eager import EAGER\n",
    "start.py": '''
        """A module."""
        from typing import TYPE_CHECKING
        import lemmata as lm
        import made.absolute
        from made import submodule
        from made.inner import name, leaf
        from . import beside
        from .relative import thing as renamed

        if TYPE_CHECKING:
            from made.typed import Type

        HERE = 1

        def late():
            """Imports when called."""
            from made.late import value
            return value, lm.stream
    ''',
    "eager.py": "EAGER = 1\n",
    "absolute.py": "A = 1\n",
    "submodule.py": "S = 1\n",
    "beside.py": "from made.cycle import C\n",
    "cycle.py": "import made.beside\nC = 1\n",
    "relative.py": "thing = 1\n",
    "typed.py": "Type = 1\n",
    "late.py": "value = 1\n",
    "unreached.py": "U = 1\n",
    "inner/__init__.py": "name = 1\n",
    "inner/leaf.py": "from ..up import U\nfrom .twig import T\n",
    "inner/twig.py": "T = 1\n",
    "up.py": "U = 1\n",
}
REACHED = {
    "start", "absolute", "submodule", "beside", "cycle", "relative", "late", "inner", "inner.leaf", "inner.twig", "up",
}  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A package of somebody else's."""
    folder = tmp_path / "made"
    for name, text in PACKAGE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    return folder


def names(*files: Path) -> set[str]:
    return {".".join(name) for name in reached(files)}


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_modules_are_reached_by_every_form_of_import_and_no_others(made: Path) -> None:
    found = names(made / "start.py")
    assert {name for name in found if name.startswith("made")} == {f"made.{name}" for name in REACHED}
    assert "lemmata.lab.simulation" in found, "lm.stream counts as the module that defines it"
    assert "lemmata" not in found
    assert "lemmata.lab.judges" not in found


def test_a_name_of_the_package_itself_counts_its_init_and_what_that_imports(made: Path) -> None:
    (made / "start.py").write_text("from made import EAGER\n")
    assert names(made / "start.py") == {"made", "made.eager", "made.start"}


@pytest.mark.parametrize(
    "text",
    ["import made.inner\nmade.inner.leaf.U", "import made.inner as i\ni.leaf.U", "from made import inner\ninner.leaf"],
)
def test_what_is_taken_from_a_package_as_an_attribute_counts(text: str, made: Path) -> None:
    (made / "start.py").write_text(text)
    assert names(made / "start.py") == {"made.inner.leaf", "made.inner.twig", "made.up", "made.start"}
    edit(made / "start.py", "leaf", "name")
    assert names(made / "start.py") == {"made.inner", "made.start"}


def test_a_name_that_is_loaded_lazily_counts_as_the_module_that_defines_it(made: Path) -> None:
    """As in `lemmata` itself: the names stand in a block for type checkers."""
    lazy = "if TYPE_CHECKING:\n    from made.late import value\n    from made import up\n"
    (made / "__init__.py").write_text(f"from typing import TYPE_CHECKING\n{lazy}def __getattr__(name): ...\n")
    (made / "start.py").write_text("import made as m\nm.value, m.up.U\n")
    assert names(made / "start.py") == {"made.start", "made.late", "made.up"}
    edit(made / "start.py", "m.value", "print(m)")
    assert "made" in names(made / "start.py"), "the package as a value: anything may be taken from it"


@pytest.mark.parametrize("module", sorted(REACHED))
def test_code_of_a_reached_module_counts(module: str, made: Path) -> None:
    before = digest_from(made / "start.py")
    file = made.joinpath(*module.split("."))
    with (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).open("a") as text:
        text.write("\nMORE = 2\n")
    assert digest_from(made / "start.py") != before


@pytest.mark.parametrize("module", ["unreached", "typed", "eager", "__init__"])
def test_code_of_other_modules_does_not_count(module: str, made: Path) -> None:
    before = digest_from(made / "start.py")
    (made / f"{module}.py").write_text("MORE = 2\n")
    assert digest_from(made / "start.py") == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another\n\n   docstring."""'),
        ('"""A module."""', ""),
        ("HERE = 1", 'HERE = 1\n"""What it is."""'),
        ('"""Imports when called."""', '"""Other words."""'),
        ("import made.absolute", "# why\nimport made.absolute  # here"),
        ("return value, lm.stream", "return (\n        value,\n        lm.stream,\n    )"),
        ("from made.typed import Type", "from made.typed import Type as T"),
    ],
)
def test_words_layout_and_types_do_not_count(before: str, after: str, made: Path) -> None:
    digest = digest_from(made / "start.py")
    edit(made / "start.py", before, after)
    assert digest_from(made / "start.py") == digest


def test_the_digest_does_not_depend_on_the_place(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "elsewhere" / "made")
    assert digest_from(tmp_path / "elsewhere" / "made" / "start.py") == digest_from(made / "start.py")


def test_a_file_on_its_own_reaches_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(
        "import numpy, helper\nfrom parts.one import ONE\nfrom pack import TWO\nfrom lemmata import stream\n"
    )
    (tmp_path / "helper.py").write_text("H = 1\n")
    (tmp_path / "other.py").write_text("O = 1\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("from .two import TWO\n")
    (tmp_path / "pack" / "two.py").write_text("TWO = (\n")
    found = names(tmp_path / "toy.py")
    assert {"toy", "helper", "parts.one", "pack", "pack.two", "lemmata.lab.simulation"} <= found
    assert not {"other", "numpy"} & found


def test_partial_and_decorated_functions_are_those_they_wrap() -> None:
    @functools.wraps(names)
    def wrapped(*args: Path) -> set[str]:
        return names(*args)

    for function in (names, functools.partial(wrapped), functools.partial(functools.partial(names))):
        assert defining_file(function) == Path(__file__)
    assert defining_file(3) is None
    assert digest_of(names, None) == digest_of(names)


def test_claims_figures_and_fits_leave_data_valid_and_training_does_not(tmp_path: Path) -> None:
    """On a copy of the package, from the files of every simulation."""
    copy, source = tmp_path / "lemmata", Path(lemmata.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    theory_of: dict[tuple[Path, ...], str] = {}
    for theory in registry.load_all():
        for experiment in theory.experiments.values():
            if experiment.name in {"real-advice", "made-advice"}:
                continue  # they examine a diagnosis, which judges and draws itself
            simulation, setting = experiment.simulation, next(iter(experiment.presets.values())).setting
            files = [defining_file(each) for each in (simulation.function, simulation.prepare, type(setting))]
            theory_of[tuple(copy / file.relative_to(source) for file in files if file)] = theory.name

    known = {files: digest_from(*files) for files in theory_of}

    def stale_after_editing(*edited: Path) -> set[str]:
        """The theories of which data become stale when these files are edited."""
        for file in edited:
            with file.open("a") as text:
                text.write("\nCHANGED = True\n")
        before = dict(known)
        known.update({files: digest_from(*files) for files in theory_of})
        return {name for files, name in theory_of.items() if known[files] != before[files]}

    readers = [copy / "lab" / f"{room}.py" for room in ("claims", "judges", "fits", "intervals", "report", "verify")]
    readers += [file for room in ("claims", "figures") for file in copy.glob(f"theories/*/{room}/*.py")]
    assert len(readers) > 20
    assert stale_after_editing(*readers) == set()
    assert stale_after_editing(copy / "theories/vit/training.py") == {"vit"}
    assert stale_after_editing(copy / "theories/vit/setting.py") == {"vit"}
    assert stale_after_editing(copy / "lab/setting.py") == set(theory_of.values())
