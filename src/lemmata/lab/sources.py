"""Sources and versions: what results depend on besides the setting.

A digest of sources covers the modules that files reach by import statements, also those inside functions, and of each
module its code: docstrings, comments, layout and what only a type checker reads do not count. Modules count that belong
to Lemmata, to the package of a file, or, where a file belongs to no package, lie beside it. Importing from a package
runs its `__init__`, but that counts only where a name comes from it: not for a submodule, and not for a name that it
declares for type checkers alone, because it loads that lazily (as `lemmata` does): there the module counts that
defines the name.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import platform
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lemmata.lab.codes import Codes
from lemmata.lab.errors import FILE_MODULE

PACKAGE = Path(__file__).parent.parent

Name = tuple[str, ...]
"""A dotted name."""


def versions() -> dict[str, str]:
    """The versions that results may depend on."""
    found = {name: importlib.metadata.version(name) for name in ("lemmata", "jax", "jaxlib", "numpy", "optax")}
    return {"python": platform.python_version(), **found}


NUMERIC = {
    "equinox": "equinox",
    "jax": "jax",
    "numpy": "numpy",
    "optax": "optax",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
}
"""Libraries that decide bits, by the names under which they are imported."""


def versions_of(*objects: Any) -> dict[str, str]:
    """The versions that decide the bits of what these functions or classes compute.

    Of the libraries that their sources import the numeric ones, and whatever a user's own files import.
    """
    wanted = {"jaxlib": "jaxlib", "jax": "jax", "numpy": "numpy"}
    for name, file in reached(file for each in objects if (file := defining_file(each))).items():
        tops = {path[0] for level, path in _read(file).wanted if not level}
        wanted |= {top: NUMERIC.get(top, top) for top in tops if top in NUMERIC or name[0] != "lemmata"}
    return {name: version for name in sorted(wanted.values()) if (version := _version(name))}


def numeric_versions() -> dict[str, str]:
    """The versions of all libraries that may decide bits."""
    return {name: _version(name) for name in NUMERIC.values()}


@functools.cache
def _version(name: str) -> str:
    """The version of an installed library; empty if there is none of that name, or it is Lemmata."""
    try:
        return "" if name == "lemmata" else importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def digest_of_files(folder: Path = PACKAGE) -> str:
    """A digest of all files of Lemmata, or of a folder, as they are: parsing them would take a second."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def digest_of(*objects: Any) -> str:
    """A digest of the sources that these functions or classes reach from the files that define them.

    Those of a notebook have no file: their code counts, with that of all that they name.
    """
    given = [each for each in objects if each is not None]
    files = [file for each in given if (file := defining_file(each))]
    if len(files) == len(given):
        return digest_from(*files)
    codes = Codes([each for each in given if defining_file(each) is None], defining_file)
    whole = digest_from(*files, *_own(codes.files))
    return hashlib.sha256(whole.encode() + codes.digest()).hexdigest()[:16]


def _own(files: Iterable[Path]) -> Iterator[Path]:
    """Those that are no libraries: Lemmata's and the user's."""
    libraries = {"site-packages", "dist-packages"}
    outside = (Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve())
    for file in dict.fromkeys(each.resolve() for each in files):
        within = any(file.is_relative_to(folder) for folder in outside) or libraries & set(file.parts)
        if file.is_relative_to(PACKAGE) or not within:
            yield file


def digest_from(*files: Path) -> str:
    """A digest of the sources that these files reach, themselves included."""
    return _digest(reached(files))


def defining_file(thing: Any) -> Path | None:
    """The file that defines a function or class; a partial or decorated function is unwrapped. None in a notebook."""
    while isinstance(thing, functools.partial) or hasattr(thing, "__wrapped__"):
        thing = thing.func if isinstance(thing, functools.partial) else thing.__wrapped__
    try:
        file = inspect.getsourcefile(thing)
    except (TypeError, OSError):  # nothing that has a source, or code of a command line
        return None
    return Path(file) if file and Path(file).is_file() else None


def by_reference(thing: Any, function: Callable[..., Any]) -> tuple[Any, tuple[str, str]] | None:
    """How to pickle what a decorator made of a module's function: by its place, if others can import the module."""
    module, name = function.__module__, function.__qualname__
    if (
        module == "__main__"
        or module.startswith(FILE_MODULE)
        or getattr(sys.modules.get(module), name, None) is not thing
    ):
        return None
    return fetch, (module, name)


def fetch(module: str, name: str) -> Any:
    """What a module calls by this name."""
    return getattr(importlib.import_module(module), name)


def reached(files: Iterable[Path]) -> dict[Name, Path]:
    """The modules that these files reach by import statements, by name."""
    found: dict[Name, Path] = {}
    for file in files:
        modules = _Modules(file.resolve())
        seen: set[Path] = set()
        left = {modules.file}
        while left:
            each = left.pop()
            seen.add(each)
            found[modules.name_of(each)] = each
            wanted = {modules.defining(path) for path in modules.wanted_by(each)}
            left |= {target for target in wanted if target is not None} - seen
    return found


def _digest(modules: Mapping[Name, Path]) -> str:
    digest = hashlib.sha256()
    for name, file in sorted(modules.items()):
        digest.update(".".join(name).encode() + b"\0" + _read(file).digest)
    return digest.hexdigest()[:16]


class _Modules:
    """The modules that count for a file: where they lie, and which of them defines a name."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._found: dict[Name, Path | None] = {}
        folder = file.parent
        while (folder / "__init__.py").exists():
            folder = folder.parent
        top = file.relative_to(folder).parts[0]
        self._roots = {"lemmata": PACKAGE.parent}
        self._beside: Path | None = None
        if folder != file.parent:
            self._roots[top] = folder
        elif not {"site-packages", "dist-packages"} & set(folder.parts):
            self._beside = folder

    def name_of(self, file: Path) -> Name:
        """The name under which a module of these counts."""
        roots = (folder for top, folder in self._roots.items() if file.is_relative_to(folder / top))
        parts = file.relative_to(next(roots, self.file.parent)).with_suffix("").parts
        return parts[:-1] if parts[-1] == "__init__" else parts

    def wanted_by(self, file: Path) -> Iterator[Name]:
        """The dotted names that a file takes from elsewhere; relative ones made absolute."""
        package = self.name_of(file)
        if file.name != "__init__.py":
            package = package[:-1]
        for level, path in _read(file).wanted:
            yield (*package[: len(package) + 1 - level], *path) if level else path

    def defining(self, path: Name) -> Path | None:
        """The file of the module that defines a dotted name; None if none of these does."""
        package = None
        for length in range(1, len(path) + 1):
            module = self._find(path[:length])
            if module is None:
                break
            if module.suffix == ".py" and module.name != "__init__.py":
                return module
            package = module
        else:
            return None  # the package itself: what is taken from it stands in a longer name
        if package is None or package.is_dir():
            return None
        lazy = _read(package).lazy.get(path[length - 1], path[:length])
        return package if lazy == path[:length] else self.defining((*lazy, *path[length:]))

    def _find(self, name: Name) -> Path | None:
        """A module's file, a package's `__init__`, or the folder of a package without one."""
        if name not in self._found:
            folder = self._roots.get(name[0], self._beside)
            base = folder.joinpath(*name) if folder else None
            candidates = [base / "__init__.py", base.with_name(f"{base.name}.py"), base] if base else []
            self._found[name] = next((each for each in candidates if each.exists()), None)
        return self._found[name]


@dataclass(frozen=True)
class _Source:
    """What matters of one file.

    `wanted`: the dotted names that it takes from elsewhere, each with its number of leading dots. `lazy`: the names
    that it declares for type checkers alone, with where they come from.
    """

    digest: bytes
    wanted: frozenset[tuple[int, Name]]
    lazy: Mapping[str, Name]


_SOURCES: dict[Path, tuple[tuple[int, int], _Source]] = {}
_parsing = threading.Lock()  # Python 3.11 counts how deep a tree is for all threads together


def _read(file: Path) -> _Source:
    """The file's source, parsed once unless it changes."""
    status = file.stat()
    version = (status.st_mtime_ns, status.st_size)
    known = _SOURCES.get(file)
    if known is None or known[0] != version:
        with _parsing:
            known = _SOURCES[file] = (version, _parse(file.read_bytes()))
    return known[1]


def _parse(text: bytes) -> _Source:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # a file that nothing has imported yet
        return _Source(hashlib.sha256(text).digest(), frozenset(), {})
    lazy: dict[str, Name] = {}
    imports: list[ast.Import | ast.ImportFrom] = []
    chains: set[Name] = set()
    inner: set[int] = set()
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and _is_for_type_checkers(node.test):
            lazy |= _declared(node.body)
            node.body = []
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [each for each in node.body if not _is_text(each)]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
        elif isinstance(node, ast.Attribute):
            inner.add(id(node.value))
            if id(node) not in inner:
                chains.add(_chain(node))
        elif isinstance(node, ast.Name) and id(node) not in inner:
            chains.add((node.id, "*"))
        left += ast.iter_child_nodes(node)
    digest = hashlib.sha256(ast.dump(tree, annotate_fields=False).encode()).digest()
    return _Source(digest, frozenset(_wanted(imports, chains)), lazy)


def _is_text(statement: ast.stmt) -> bool:
    """A docstring, also one below what it describes."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_for_type_checkers(test: ast.expr) -> bool:
    return (test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")) == "TYPE_CHECKING"


def _declared(body: Iterable[ast.stmt]) -> dict[str, Name]:
    """The names that these statements import, with where they come from."""
    imports = [node for node in body if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {a.asname or a.name: (*str(node.module).split("."), a.name) for node in imports for a in node.names}


def _wanted(imports: Iterable[ast.Import | ast.ImportFrom], chains: set[Name]) -> Iterator[tuple[int, Name]]:
    """The names that import statements take, and, of those that may be packages, what is taken from these."""
    bound: dict[str, set[tuple[int, Name]]] = {}
    for node in imports:
        module = tuple(node.module.split(".")) if isinstance(node, ast.ImportFrom) and node.module else ()
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        for alias in node.names:
            path = (*module, *alias.name.split("."))
            yield level, path
            if isinstance(node, ast.ImportFrom) or alias.asname:
                bound.setdefault(alias.asname or alias.name, set()).add((level, path))
            else:
                bound.setdefault(path[0], set()).add((0, path[:1]))
    for first, *rest in chains:
        yield from ((level, (*path, *rest)) for level, path in bound.get(first, ()))


def _chain(node: ast.Attribute) -> Name:
    """`a.b.c` as (a, b, c); empty where it begins with anything but a name."""
    parts = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    return (value.id, *reversed(parts)) if isinstance(value, ast.Name) else ("",)
