"""Engines when the disk refuses: one sentence, what was stored stays readable, the same command completes later."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import xarray as xr
from engine_toys import (
    DATA,
    RATES,
    THEORY,
    Result,
    contents,
    done,
    finish,
    hold,
    process_of,
    repeat,
    runs,
    started,
    status,
    undisturbed,
    wait_until,
)

from lemmata.lab.engines.processes import Processes
from lemmata.lab.ensemble import Layout
from lemmata.lab.errors import Interrupted, UserError
from lemmata.lab.grid import make_grid
from lemmata.lab.parcels import compute_parcel, pack, pack_work
from lemmata.lab.registry import load
from lemmata.lab.store import DONE, FAILED, PENDING, Store, open_elsewhere
from lemmata.lab.work import Call, Work

KEPT = "; what was finished is kept, the same command goes on from there."


@pytest.fixture(autouse=True)
def _toy() -> None:
    Path("toy.py").write_text(THEORY)


# root may write everywhere, but not without this capability: prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)
BOUND_BY_MODES = "import ctypes; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)"


def check_refused(result: Result, path: Path, reason: str) -> None:
    """One sentence that names the folder and the reason; the stored data can be read and nothing counts as failed."""
    assert result.code == 2
    assert result.out == ""
    assert result.sentences == [f"{path} cannot be written: {reason}{KEPT}"]
    data = xr.open_zarr(DATA, consolidated=False).load()
    have = status().ravel() == DONE
    assert 0 < have.sum() < len(RATES)
    assert not (status() == FAILED).any()
    for index, finished in enumerate(have):
        assert finished == data.place[index].notnull().all()
    assert not list(DATA.rglob("*.partial"))


def check_completes() -> None:
    assert repeat().failed == 0
    assert (status() == DONE).all()
    assert contents() == undisturbed()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = Path("out").resolve()
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """A file that takes all the space that is left."""
    file = folder / "filler"
    with open(file, "wb", buffering=0) as handle:
        try:
            while True:
                handle.write(bytes(4096))
        except OSError:
            return file


def test_a_full_disk_is_one_sentence_and_the_command_completes_when_there_is_space(small_disk: Path) -> None:
    hold("0.5 1", "0.6 1")
    with started("processes:2") as process:
        wait_until(lambda: process_of("0.5 1") and process_of("0.6 1") and done() == 4, process)
        filler = fill(small_disk)
        hold()
        result = finish(process)
    check_refused(result, DATA.resolve(), "No space left on device")
    filler.unlink()
    check_completes()


@pytest.mark.parametrize("engine", ["local", "processes:2"])
def test_a_file_that_may_not_grow_is_one_sentence(engine: str) -> None:
    hold("0.5 1", "0.6 1")
    with started(engine) as process:
        wait_until(lambda: process_of("0.5 1") and process_of("0.6 1") and done() == 4, process)
        for name in ("0.5 1", "0.6 1"):
            resource.prlimit(process_of(name), resource.RLIMIT_FSIZE, (10, 10))
        hold()
        result = finish(process)
    check_refused(result, DATA if engine == "local" else DATA.resolve(), "File too large")
    check_completes()


def test_a_folder_that_may_not_be_written_any_more_is_one_sentence() -> None:
    hold("0.5 1", "0.6 1")
    with started("processes:2", before=BOUND_BY_MODES) as process:
        wait_until(lambda: process_of("0.5 1") and process_of("0.6 1") and done() == 4, process)
        (DATA / "place").chmod(0o500)
        hold()
        result = finish(process)
    (DATA / "place").chmod(0o700)
    check_refused(result, DATA.resolve(), "Permission denied")
    check_completes()


@pytest.mark.parametrize(("size", "refused"), [(10, "figure.png"), (4000, "figure.svg")])
def test_a_disk_that_is_full_for_a_figure_is_one_sentence(size: int, refused: str) -> None:
    Path("limit").write_text(str(size))
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(UserError) as error:
            repeat()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert str(error.value) == f"{DATA.with_name(refused)} cannot be written: File too large{KEPT}"
    written = {file.name for file in DATA.parent.iterdir()}
    assert written == {".lock", "data.zarr"} | ({"figure.png"} if refused == "figure.svg" else set())
    Path("limit").unlink()
    Path("calls.log").unlink()
    repeat()
    assert process_of(runs()[0]) == 0, "the data are not computed again"
    assert json.loads(DATA.with_name("run.json").read_text())["failures"] == {}
    assert DATA.with_name("figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_full_disk_while_the_store_is_made_is_one_sentence_and_the_next_command_makes_it_anew() -> None:
    with started("local", before="import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (60, 60))") as process:
        result = finish(process)
    assert result.code == 2
    assert result.sentences == [f"{DATA} cannot be written: File too large{KEPT}"]
    check_completes()


def new_store(path: Path) -> tuple[Work, Store]:
    """The toy's work in an empty store at this path."""
    experiment = load("toy.py").experiment("e1-toy")
    preset = experiment.preset("smoke")
    grid = make_grid(preset.setting, preset.axes)
    store = Store.create(path, experiment.simulation, grid, range(2), 2, {"place": (3,)}, "float32", {})
    return Work(experiment.simulation, store, Layout("threads", 1, 2), "float32"), store


def test_a_worker_writes_only_into_the_store_for_which_it_was_asked(tmp_path: Path) -> None:
    work, store = new_store(tmp_path / "data.zarr")
    parcel = pack_work(work)
    grid = make_grid(load("toy.py").setting(), {"rate": list(RATES)})
    first, second, third = store.chunks(grid)[:3]
    assert compute_parcel(parcel, pack(Call(((first,),)))).reasons == [""]
    assert store.is_done(first)
    _, newer = new_store(tmp_path / "data.zarr")
    before = contents(tmp_path / "data.zarr")
    for chunk in (second, third):
        with pytest.raises(Interrupted):
            compute_parcel(parcel, pack(Call(((chunk,),))))
    assert contents(tmp_path / "data.zarr") == before
    assert (newer.status() == PENDING).all()


def test_a_store_is_out_of_the_way_before_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what others still write into it makes removing it fail."""
    new_store(tmp_path / "data.zarr")
    remove, removed = shutil.rmtree, []

    def look(path: Path) -> None:
        removed.append(path.name)
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", look)
    new_store(tmp_path / "data.zarr")
    assert len(removed) == 1
    assert removed[0].endswith(".old")
    assert [entry.name for entry in tmp_path.glob("data.zarr*")] == ["data.zarr"]


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    work, store = new_store(tmp_path / "data.zarr")
    parcel = pack_work(work)
    grid = make_grid(load("toy.py").setting(), {"rate": list(RATES)})
    (tmp_path / "data.zarr").rename(tmp_path / "moved.zarr")
    engine = Processes(1)
    try:
        with pytest.raises(UserError, match=r"The worker on .* does not see .*data\.zarr: choose a folder that all"):
            engine.workers[0].ask(compute_parcel, parcel, pack(Call((tuple(store.chunks(grid)[:1]),))))
    finally:
        engine.close()
    with pytest.raises(UserError, match="does not see"):
        open_elsewhere(str(tmp_path / "data.zarr"), "any")
