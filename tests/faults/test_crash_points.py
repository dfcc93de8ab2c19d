"""Killed, out of space or with an I/O error at any single operation on the disk: the same command goes on."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from disk import DISK, Killed
from toys import HOST, OUT, Said, look_at_sources_once, run_toy, verify_toy, write_theory

from lemmata.lab.files import PARTIAL
from lemmata.lab.runner import Options
from lemmata.lab.theory import Theory
from lemmata.lab.verify import verify


@pytest.fixture(autouse=True)
def _sources_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_sources_once(monkeypatch)


def extend(theory: Theory) -> Said:
    return run_toy(theory, seeds=5)


def overwrite(theory: Theory) -> Said:
    return run_toy(theory, overwrite=True)


CASES: dict[str, tuple[Callable[[Theory], Said], list[str] | None]] = {
    "create": (run_toy, None),
    "extend": (extend, []),
    "overwrite": (overwrite, []),
    "draw": (run_toy, ["run.json"]),
    "mend": (run_toy, ["data.zarr/seed/0", "data.zarr/loss/.zarray", "data.zarr/loss/1.0.0"]),
    "verify": (verify_toy, None),
}
"""Commands, and what is missing in the results that there are before; None: there are none."""
FAULTS = {"kill": (0.02, 0.9), "full": (0.1, 0.95), "error": (0.06, 1.0)}
"""Faults, and between which shares of the operations a sample of each lies."""


@pytest.mark.filterwarnings("error::zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("case", CASES)
def test_wherever_the_disk_fails_the_same_command_goes_on(case: str, request: pytest.FixtureRequest) -> None:
    theory = write_theory()
    command, missing = CASES[case]
    if missing is not None:
        run_toy(theory)
        for name in missing:
            (HOST / name).unlink()
        shutil.copytree(OUT, "before")
    with DISK.failing(Path(), 0) as disk:
        right = command(theory)
    operations = disk.count
    assert right.data is not None
    assert operations > 5
    every = request.config.getoption("--long")
    for fault, ends in FAULTS.items():
        some = sorted({*np.linspace(*(1 + end * (operations - 1) for end in ends), 3).astype(int).tolist()})
        at = range(1, operations + 1) if every else some
        for number in at:
            shutil.rmtree(OUT, ignore_errors=True)
            if missing is not None:
                shutil.copytree("before", OUT)
            check_goes_on(theory, command, right, f"{case} {fault} {number} of {operations}", number, fault)
        print(f"{case} {fault}: {len(at)} of {operations} operations")


def check_goes_on(
    theory: Theory, command: Callable[[Theory], Said], right: Said, place: str, number: int, fault: str
) -> None:
    """The command whose disk fails at this operation, and then the same command."""
    with DISK.failing(OUT, number, fault) as disk:
        try:
            said = command(theory)
        except Killed:
            said = None
    place += f": {disk.last}"
    if said is not None and said.refused:
        assert "\n" not in said.refused, place
        assert "cannot be written" in said.refused or "Input/output error" in said.refused, (place, said.refused)
    again = command(theory)
    assert again.data is not None, (place, again.refused)
    assert right.data is not None
    xr.testing.assert_identical(plain(again.data), plain(right.data))
    assert again.rows == right.rows, place
    left = [file.name for file in OUT.rglob("*") if file.name.endswith((PARTIAL, ".new", ".old"))]
    assert not left, place
    assert (HOST / "figure.png").read_bytes().startswith(b"\x89PNG"), place


def plain(data: xr.Dataset) -> xr.Dataset:
    return data.drop_attrs().drop_vars(["status", "digest", "message"], errors="ignore")


def test_after_a_loss_of_power_what_was_not_synced_is_computed_again() -> None:
    """Every file that nobody had synced is empty: none of them is believed, and nothing is stuck."""
    theory = write_theory()
    with DISK.failing(Path(), 0) as disk:
        right = verify_toy(theory)
    lost = {Path(path) for path in disk.written - disk.synced if Path(path).exists()}
    assert len(lost) > 20
    assert {path.name for path in map(Path, disk.synced) if path.exists()} == {".zattrs", "verdicts.json"}
    for path in lost:
        path.write_bytes(b"")
    again = verify_toy(theory)
    assert not again.refused
    assert right.data is not None
    assert again.data is not None
    xr.testing.assert_identical(plain(again.data), plain(right.data))
    assert again.rows == right.rows


@pytest.fixture
def make_readonly(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on the disk is as one that is mounted for reading alone, for root too."""
    opened = os.open

    def refuse(path: object, flags: int, *more: int, **given: int) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR) and str(OUT) in str(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, flags, *more, **given)

    def refuse_change(path: object, *more: object, **given: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    def make() -> None:
        monkeypatch.setattr("os.open", refuse)
        for name in ("os.unlink", "os.rename", "os.replace", "os.mkdir"):
            monkeypatch.setattr(name, refuse_change)

    return make


@pytest.mark.parametrize("lost", ["", "figure.png", "../../index.html", "../../verdicts.json"])
def test_complete_results_are_verified_where_nothing_can_be_written(
    lost: str, make_readonly: Callable[[], None]
) -> None:
    theory = write_theory()
    right = verify_toy(theory)
    (OUT / ".lock").unlink()
    if lost:
        (HOST / lost).unlink()
    before = {file: file.read_bytes() for file in OUT.rglob("*") if file.is_file()}
    said: list[str] = []
    make_readonly()
    options = Options("smoke", out=OUT, recompute_stale=True)
    done = verify([(theory, list(theory.claims.values()))], options, say=said.append)
    assert [row.outcome for row in done.rows] == [row["outcome"] for row in right.rows]
    assert not done.kept
    assert said[-1] == "out can only be read: these verdicts are not kept, and no page is written."
    drawn = "e1-host: out/toy/e1-host can only be read: its figure and record are not made anew."
    assert said[:-1] == ([drawn] if lost == "figure.png" else [])
    assert {file: file.read_bytes() for file in OUT.rglob("*") if file.is_file()} == before


def test_complete_results_are_read_from_a_disk_that_cannot_be_written(make_readonly: Callable[[], None]) -> None:
    theory = write_theory()
    right = run_toy(theory)
    (HOST / ".lock").unlink()
    make_readonly()
    found = run_toy(theory)
    assert found.data is not None, found.refused
    assert right.data is not None
    xr.testing.assert_identical(found.data, right.data)
    more = run_toy(theory, seeds=5)
    assert "Read-only file system" in more.refused
