"""The registry: which theories exist. The folder `theories` plus the entry-point group `lemmata.theories`.

Cards are plain data, loaded by path without importing the theory, so that listing them is instant. A theory of the
user's own is one file that defines `theory`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lemmata.lab.errors import UserError, describe_error, unknown
from lemmata.lab.sources import FILE_MODULE

if TYPE_CHECKING:
    from lemmata.lab.theory import Theory

GROUP = "lemmata.theories"


def _modules() -> dict[str, tuple[str, Path]]:
    """Theory name -> (module, folder)."""
    folder = Path(__file__).parent.parent / "theories"
    found = {f.parent.name: (f"{GROUP}.{f.parent.name}", f.parent) for f in sorted(folder.glob("*/card.py"))}
    for entry in importlib.metadata.entry_points(group=GROUP):
        spec = importlib.util.find_spec(entry.value)
        if spec is not None and spec.origin is not None:
            found[entry.name] = (entry.value, Path(spec.origin).parent)
    return found


def cards() -> list[dict[str, Any]]:
    """The card of every theory."""
    return [_card(folder) for _, folder in _modules().values()]


def _card(folder: Path) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile((folder / "card.py").read_text(encoding="utf-8"), str(folder / "card.py"), "exec"), namespace)
    return namespace["CARD"]


def names() -> list[str]:
    """The names of the theories."""
    return list(_modules())


def has(name: str) -> bool:
    """Whether a theory of this name is registered."""
    return name in _modules()


def check(name: str) -> None:
    """Refuse a name that no theory has; nothing is loaded."""
    if not name.endswith(".py") and name not in _modules():
        raise unknown("theory", name, _modules())


def folder_of(name: str) -> Path:
    """Where a registered theory lies."""
    return _modules()[name][1]


def load_room(name: str, room: str) -> ModuleType:
    """One module of a registered theory, without the others that the theory is made of."""
    check(name)
    package, folder = _modules()[name]
    if package in sys.modules:
        return importlib.import_module(f"{package}.{room}")
    stand_in = ModuleType(package)
    stand_in.__path__ = [str(folder)]
    sys.modules[package] = stand_in
    try:
        return importlib.import_module(f"{package}.{room}")
    finally:
        del sys.modules[package]


def load(name: str | Path) -> Theory:
    """The theory of this name, or the one defined in this file: `lm.load("vit").claims`, `lm.load("max_margin.py")`."""
    if isinstance(name, Path):
        name = str(name)
    if not isinstance(name, str):
        raise UserError(f"{name!r} is no theory: give its name or a FILE.py.")
    if name.endswith(".py"):
        return _load_file(Path(name))
    modules = _modules()
    if name not in modules:
        raise unknown("theory", name, modules)
    return importlib.import_module(modules[name][0]).theory


def _load_file(path: Path) -> Theory:
    from lemmata.lab.inputs import noting
    from lemmata.lab.lanes import prints_aside
    from lemmata.lab.theory import Theory

    if not path.is_file():
        raise UserError(f"There is no file {path}.")
    spec = importlib.util.spec_from_file_location(FILE_MODULE + path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    here = os.getcwd()
    try:
        with noting() as inputs, prints_aside():
            spec.loader.exec_module(module)
    except UserError as error:
        raise UserError(f"{path} cannot be loaded: {error}{_line(error, path)}") from error
    except BaseException as error:  # a file may raise anything; signals do not come as exceptions
        raise UserError(f"{path} cannot be loaded: {describe_error(error)}") from error
    finally:
        os.chdir(here)  # a file may look for its data from its own folder; results stay where they were asked for
    theory = getattr(module, "theory", None)
    if not isinstance(theory, Theory):
        raise UserError(f"{path} does not define `theory`, a lemmata.Theory.")
    if theory.name.casefold() in _modules():
        raise UserError(f"{path} calls its theory '{theory.name}', as one of Lemmata's is called; choose another name.")
    object.__setattr__(theory, "inputs", dict(inputs))
    if theory.source is None:
        object.__setattr__(theory, "source", path)
    return theory


def _line(error: BaseException, path: Path) -> str:
    """Where in a file an error arose."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path.absolute()]
    return f" ({path.name}:{frames[-1].lineno})" if frames else ""


def load_all() -> list[Theory]:
    """Every registered theory."""
    return [load(name) for name in _modules()]
