"""Shared by all tests: programs are compiled fast and kept between runs, commands write into temporary folders, the
shapes that functions are annotated with are checked when they are called, and what a theory gives at the preset smoke
is computed once."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from command import Lemmata
    from smoke import Smoke

os.environ["XLA_FLAGS"] = (  # for programs outside pieces: see lemmata.lab.programs.FAST
    os.environ.get("XLA_FLAGS", "")
    + " --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    + " --xla_cpu_parallel_codegen_split_count=1 --xla_llvm_disable_expensive_passes=true"
)

import jax
import jaxtyping
import pytest
import shapes
from order import in_order

jaxtyping.install_import_hook(shapes.modules(), "shapes.check")

CACHE = os.environ.setdefault("LEMMATA_CACHE", str(Path.home() / ".cache" / "lemmata" / "tests"))
TESTS = Path(__file__).parent
THEORIES = TESTS / "theories"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="tests/faults: every case, not a sample; for a night")


def pytest_configure(config: pytest.Config) -> None:
    from lemmata.lab import machine, programs

    programs.USUAL = "fast"
    programs.keep_programs(CACHE)
    machine.collect_rarely()

    from costs import Costs

    config.pluginmanager.register(Costs())
    config.option.loadscopereorder = False  # the order of `pytest_collection_modifyitems` counts, not that of xdist


def group_of(path: Path) -> str:
    """The tests of a theory are run by one worker, which then shares its programs and smoke data; else a file's are."""
    relative = path.relative_to(THEORIES) if path.is_relative_to(THEORIES) else path
    return relative.parts[0] if len(relative.parts) > 1 and relative is not path else path.stem


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups follow each other as `order.py` says. Within one, programs of a theory are counted first, before its other
    tests have left anything in the worker."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group_of(item.path)))
    groups = [(name_of(item), item.path.relative_to(TESTS).as_posix()) for item in items]
    place = {group: number for number, group in enumerate(in_order(groups))}
    items.sort(key=lambda item: (place[name_of(item)], item.path.name != "test_smoke.py"))


def name_of(item: pytest.Item) -> str:
    """The group of a test."""
    marker = item.get_closest_marker("xdist_group")
    assert marker
    return marker.args[0]


@pytest.fixture(autouse=True)
def _no_stray_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write to `results` in the working folder; tests work in a temporary one."""
    monkeypatch.chdir(tmp_path)


_group = ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compiled programs are dropped after each group: each holds memory mappings, of which a process has 65530."""
    global _group
    if _group != name_of(item):
        _group = name_of(item)
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def lemmata(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lemmata:
    """The command, in this process."""
    from command import Result

    from lemmata import cli

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["lemmata", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, said.out, said.err)

    return call


@pytest.fixture
def thorough_programs() -> Iterator[None]:
    """For a test that runs for longer than it compiles."""
    from lemmata.lab import programs

    with programs.compiling("mid"):
        yield


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Smoke]:
    """What a theory of this name gives at the preset smoke: computed when it is first asked for."""
    from smoke import Smoke

    return functools.cache(lambda name: Smoke.of(name, tmp_path_factory.mktemp(f"smoke-{name}")))
