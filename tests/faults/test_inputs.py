"""Whatever results are made of is part of their fingerprint: data files, sources, versions; and nothing else is."""

from __future__ import annotations

import ast
import dis
import inspect
import shutil
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lemmata
from lemmata.lab import registry, sources
from lemmata.lab.errors import UserError
from lemmata.lab.pieces import HostPiece, Piece
from lemmata.lab.runner import Options, Outcome, run
from lemmata.lab.setting import Derivation
from lemmata.lab.simulation import Simulation
from lemmata.lab.sources import defining_file, digest_from, reached

SOURCE = Path(lemmata.__file__).parent

READING = """
import functools
from pathlib import Path
import numpy as np
import helper
import lemmata as lm
HERE = Path(__file__).parent
{top}

class Setting(lm.Setting):
    factor: float = lm.number(1.0, "f", "factor", low=0)

@functools.cache
def cached():
    return np.load(HERE / "data.npy")

def prepare(setting, seed):
    return {prepare}

@lm.simulation(lm.Variable("total", (), "s", "sum"), {how})
def simulate(setting, seed, prepared=None):
    return {{"total": {total} * setting.factor + helper.MORE}}

PRESETS = {{"smoke": lm.Preset(Setting(), {{"factor": [1.0, 2.0]}}, 2)}}
CARD = {{"name": "toy", "title": "Toy", "authors": "A.", "question": "?", "answer": "!", "headlines": []}}
theory = lm.Theory(CARD, Setting, simulate, [lm.Experiment("e1", "How much?", "(1)", simulate, PRESETS)], [])
"""
HOST = {"how": "host=True", "prepare": "None", "top": ""}
PLACES = {
    "in the run": {**HOST, "total": 'np.load(HERE / "data.npy").sum()'},
    "in a function that remembers": {**HOST, "total": "cached().sum()"},
    "when the theory is loaded": {**HOST, "top": 'DATA = np.load(HERE / "data.npy")', "total": "DATA.sum()"},
    "in prepare": {
        "how": "prepare=prepare", "prepare": 'np.load(HERE / "data.npy").astype(np.float32)', "top": "",
        "total": "prepared.sum()",
    },
}  # fmt: skip


def compute(seeds: int = 2, **options: Any) -> tuple[Outcome, list[str]]:
    said: list[str] = []
    theory = registry.load("toy.py")
    return run(theory, "e1", Options("smoke", seeds=seeds, out=Path("out"), **options), say=said.append), said


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    """A theory that reads a data file here."""
    Path("toy.py").write_text(READING.format(**PLACES[request.param]))
    Path("helper.py").write_text("MORE = 0\n")
    np.save("data.npy", np.arange(3.0))
    return request.param


def test_results_of_another_data_file_are_refused_or_computed_again(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(".")
    first, said = compute()
    assert said == []
    assert float(first.data.total[0, 0]) == 3
    assert compute(seeds=3)[1] == [], "the same file, more seeds"
    np.save("data.npy", np.arange(4.0))
    for seeds in (3, 6):
        with pytest.raises(UserError, match=r"holds data with another .*data\.npy \(that file has changed\); use"):
            compute(seeds)
    again, said = compute(recompute_stale=True)
    assert len(said) == 1
    assert "data.npy (that file has changed); computing again" in said[0]
    assert float(again.data.total[0, 0]) == 6
    assert compute()[1] == []
    Path("data.npy").rename("elsewhere.npy")
    if place == "when the theory is loaded":
        return
    kept, said = compute()
    assert kept.data.identical(again.data)
    assert len(said) == 1
    assert "data.npy, which cannot be compared: it is gone" in said[0]


def test_a_module_beside_a_one_file_theory_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("toy.py").write_text(READING.format(**PLACES["in the run"]))
    np.save("data.npy", np.arange(3.0))
    Path("helper.py").write_text("MORE = 0\n")
    monkeypatch.syspath_prepend(".")
    compute()
    Path("helper.py").write_text("MORE = 100\n")
    with pytest.raises(UserError, match="another version of the sources"):
        compute()


def test_versions_that_decide_bits_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("toy.py").write_text(READING.format(**PLACES["in the run"]))
    np.save("data.npy", np.arange(3.0))
    Path("helper.py").write_text("MORE = 0\n")
    monkeypatch.syspath_prepend(".")
    compute()
    find = sources._version
    monkeypatch.setattr(sources, "_version", lambda name: "0.0" if name == "numpy" else find(name))
    with pytest.raises(UserError, match="another version of the libraries"):
        compute()


def test_only_what_a_simulation_imports_is_compared() -> None:
    def versions(name: str, experiment: str) -> set[str]:
        simulation = registry.load(name).experiments[experiment].simulation
        return set(sources.versions_of(simulation.function, simulation.prepare))

    assert {"jax", "jaxlib", "numpy", "optax"} <= versions("vit", "f4-attention")
    assert not {"xarray", "zarr", "matplotlib"} & versions("vit", "f4-attention")


# every file of the package in turn


def functions_of(thing: Any) -> Iterator[Any]:
    """The plain functions inside of what decorators made."""
    if isinstance(thing, Simulation):
        yield from (each for each in (thing.function, thing.prepare) if each)
    elif isinstance(thing, (Piece, HostPiece)):
        yield thing._function
        if isinstance(thing, HostPiece):
            yield thing._shapes
    elif isinstance(thing, Derivation):
        yield thing.compute
    elif isinstance(thing, (property, classmethod, staticmethod)):
        yield getattr(thing, "fget", None) or thing.__func__  # pyright: ignore[reportAttributeAccessIssue]
    elif hasattr(thing, "func") and callable(getattr(thing, "func", None)):
        yield thing.func
    elif hasattr(thing, "__wrapped__"):
        yield thing.__wrapped__
    elif inspect.isclass(thing):
        yield from vars(thing).values()
    else:
        yield thing


def taken(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """What a function's code takes from its globals, and from modules among these (`lm.loop`, `draw.panels`)."""
    value: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = names.get(instruction.argval)
            yield value
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
            value = getattr(value, instruction.argval, None)
            yield value
        elif isinstance(instruction.argval, types.CodeType):
            yield from taken(instruction.argval, names)
        elif instruction.opname not in ("PRECALL", "CACHE", "PUSH_NULL"):
            value = None


def called_by(thing: Any) -> tuple[set[Path], list[Any]]:
    """The file of the package that a function lies in, and what it can call."""
    if isinstance(thing, types.FunctionType):
        file = Path(inspect.unwrap(thing).__code__.co_filename)
        if not file.is_relative_to(SOURCE):
            return set(), []
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell)]
        return {file.relative_to(SOURCE)}, [*taken(thing.__code__, thing.__globals__), *cells]
    if not isinstance(thing, types.ModuleType) and (callable(thing) or isinstance(thing, (Derivation, property))):
        module = getattr(thing, "__module__", "") or ""
        if module.startswith("lemmata") or not inspect.isclass(thing):
            return set(), list(functions_of(thing))
    return set(), []


_called: dict[int, tuple[Any, set[Path], list[Any]]] = {}
"""By the identity of a thing, the thing itself, which so stays alive, and what `called_by` gives of it."""


def executed(*begin: Any) -> set[Path]:
    """The files of the package whose functions these can call: seen from the living objects, not from imports."""
    seen: set[int] = set()
    files: set[Path] = set()
    left = list(begin)
    while left:
        thing = left.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if id(thing) not in _called:
            _called[id(thing)] = thing, *called_by(thing)
        _, mine, more = _called[id(thing)]
        files |= mine
        left += more
    return files


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@pytest.fixture(scope="module")
def simulations() -> dict[str, tuple[Any, ...]]:
    """Every experiment with what its fingerprint begins from."""
    found = {}
    for theory in registry.load_all():
        for experiment in theory.experiments.values():
            setting = next(iter(experiment.presets.values())).setting
            simulation = experiment.simulation
            found[f"{theory.name}/{experiment.name}"] = (simulation.function, simulation.prepare, type(setting))
    return found


READERS = ("lab/claims.py", "lab/judges.py", "lab/fits.py", "lab/intervals.py", "lab/report.py", "lab/figures.py")
"""Beside the claims and figures of every theory."""


def test_every_file_that_a_simulation_can_call_makes_its_data_stale_and_no_claim_or_figure_does(
    simulations: dict[str, tuple[Any, ...]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each file of the package is edited in turn, on a copy; which files must count is seen from living objects."""
    copy = tmp_path / "lemmata"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    begins = {name: tuple(copy / f.relative_to(SOURCE) for o in objects if (f := defining_file(o)))
              for name, objects in simulations.items()}  # fmt: skip
    counted = {files: {path.relative_to(copy) for path in reached(files).values()} for files in set(begins.values())}
    for name, objects in simulations.items():
        missing = executed(*objects) - counted[begins[name]]
        assert not missing, f"{name} can call {sorted(map(str, missing))}, which do not count"
    every = sorted(copy.rglob("*.py"))
    apart = [file for file in every if is_apart(file.relative_to(copy))]
    assert len(apart) > 60
    for files in counted:
        if files[0].name not in ("advice.py", "rates.py"):  # they examine a diagnosis, which judges and draws itself
            assert not counted[files] & {file.relative_to(copy) for file in apart}
    sample = every if request.config.getoption("--long") else every[::25]
    before = {files: digest_from(*files) for files in counted}
    for file in sample:
        text = file.read_text()
        inside = [files for files in counted if file.relative_to(copy) in counted[files]]
        outside = [files for files in counted if file.relative_to(copy) not in counted[files]]
        file.write_text(f'"""Other words."""\n{without_docstring(text)}')
        for files in inside[:1]:
            assert digest_from(*files) == before[files], f"a docstring of {file} counts"
        file.write_text(f"{text}\nCHANGED = True\n")
        for files in inside[:3]:
            assert digest_from(*files) != before[files], f"{file} does not count"
        for files in outside[:1]:
            assert digest_from(*files) == before[files], f"{file} counts"
        file.write_text(text)


def is_apart(file: Path) -> bool:
    """Whether a file only reads results."""
    return (
        file.as_posix() in READERS
        or file.parent.as_posix() == "lab/page"
        or (file.parts[0] == "theories" and bool({"claims", "figures"} & {*file.parts[:-1], file.stem}))
    )


def without_docstring(text: str) -> str:
    """The text of a module without its own docstring; imports from the future stay in front."""
    tree = ast.parse(text)
    first = tree.body[0] if tree.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return "\n".join(text.splitlines()[first.end_lineno :]) + "\n"
    return text


def test_the_oracle_finds_what_a_function_calls() -> None:
    """Else the test above could not fail."""
    function: Callable[..., Any] = registry.load("vit").simulate.function
    found = {path.as_posix() for path in executed(function)}
    assert {"theories/vit/training.py", "theories/vit/data.py", "theories/vit/network.py", "lab/training.py"} <= found
    assert not any("claims" in name or "figures" in name for name in found)
