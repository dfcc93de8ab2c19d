"""The store: what is written can be read back, what was not written is never taken for a result."""

from __future__ import annotations

import functools
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmata as lm
from lemmata.lab.errors import UserError
from lemmata.lab.files import lock
from lemmata.lab.grid import Grid, make_grid
from lemmata.lab.store import DONE, FAILED, PENDING, Chunk, Store

BLOCK = 3
SHAPES = {"loss": (), "path": (4,), "share": (2,)}


class Setting(lm.Setting):
    rate: float = lm.number(0.1, "η", "step size", low=0)
    mode: str = lm.choice("plain", "which variant", "plain", "other")


@lm.simulation(
    lm.Variable("loss", (), "L", "final loss"),
    lm.Variable("path", ("record",), "L_t", "loss along training"),
    lm.Variable("share", ("group",), "p", "share of every group"),
    labels={"group": ("first", "second")},
    host=True,
)
def simulate(setting: Setting, seed: int) -> dict[str, Any]:
    base = setting.rate + seed
    return {"loss": np.float32(base), "path": base + np.arange(4.0), "share": np.array([base, -base])}


GRID = make_grid(Setting(), {"rate": [0.1, 0.2], "mode": ["plain", "other"]})


def new(path: Path | None, seeds: int, grid: Grid = GRID, start: int = 0, **fingerprint: Any) -> Store:
    return Store.create(path, simulate, grid, range(start, start + seeds), BLOCK, SHAPES, "float32", fingerprint)


def results(grid: Grid, chunk: Chunk) -> list[dict[str, np.ndarray]]:
    return [{k: np.asarray(v) for k, v in simulate(grid.cells[chunk.cell], seed).items()} for seed in chunk.seeds]


def fill(store: Store, grid: Grid = GRID) -> None:
    for chunk in store.chunks(grid):
        if store.status()[(*chunk.cell, chunk.block)] != DONE:
            store.write(chunk, results(grid, chunk))


def extend(store: Store, seeds: range) -> None:
    store.extend(store.content(simulate, GRID, "float32"), seeds)


def reopened(path: Path) -> Store:
    store = Store.open(path)
    assert store is not None
    return store


def test_a_new_store_reads_nan_everywhere_and_every_chunk_is_pending(tmp_path: Path) -> None:
    data = new(tmp_path / "data.zarr", 7).dataset()
    assert data.sizes == {"rate": 2, "mode": 2, "seed": 7, "record": 4, "group": 2}
    assert all(data[name].isnull().all() for name in SHAPES)
    store = reopened(tmp_path / "data.zarr")
    for name in SHAPES:
        array = store.root[name]
        assert isinstance(array, zarr.Array)
        assert np.isnan(np.asarray(array[...])).all(), "also to a reader that knows nothing of fill values"
    status = store.status()
    assert status.shape == (2, 2, 3)
    assert (status == PENDING).all()


def test_a_written_chunk_fills_its_own_cell_and_seeds_and_leaves_the_rest_nan(tmp_path: Path) -> None:
    store = new(tmp_path / "data.zarr", 7)
    chunk = Chunk((1, 0), 1, range(3, 6), GRID.cells[1, 0])
    assert chunk in store.chunks(GRID)
    store.write(chunk, results(GRID, chunk))
    data = reopened(tmp_path / "data.zarr").dataset()
    written = data.loss.sel(rate=0.2, mode="plain", seed=slice(3, 5))
    np.testing.assert_array_equal(written, np.float32(0.2 + np.arange(3, 6)))
    assert int(data.loss.notnull().sum()) == 3
    assert int(data.path.notnull().sum()) == 12


def test_a_loss_of_zero_reads_as_zero(tmp_path: Path) -> None:
    store = new(tmp_path / "data.zarr", 3)
    chunk = store.chunks(GRID)[0]
    store.write(chunk, [{name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()} for _ in chunk.seeds])
    assert (reopened(tmp_path / "data.zarr").dataset().loss[0, 0] == 0.0).all()


def test_every_cell_and_block_of_seeds_is_one_zarr_chunk_also_after_extending(tmp_path: Path) -> None:
    store = new(tmp_path / "data.zarr", 2)
    extend(store, range(8))
    for name, shape in SHAPES.items():
        array = store.root[name]
        assert isinstance(array, zarr.Array)
        assert array.chunks == (1, 1, BLOCK, *shape), name


def test_status_is_written_last_so_a_write_that_was_cut_short_stays_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new(tmp_path / "data.zarr", 3)
    chunk = store.chunks(GRID)[0]
    write = Store._write
    asked: list[str] = []

    def cut(self: Store, name: str, *more: Any) -> None:
        asked.append(name)
        if name == "status":
            raise OSError("the disk went away")
        write(self, name, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_write", cut)
        with pytest.raises(UserError, match=r"cannot be written: the disk went away; what was finished is kept"):
            store.write(chunk, results(GRID, chunk))
    assert asked == [*SHAPES, "inputs", "digest", "status"]
    again = reopened(tmp_path / "data.zarr")
    assert again.dataset().loss.notnull().any()
    assert (again.status() == PENDING).all()


def test_status_is_the_only_ledger(tmp_path: Path) -> None:
    """Data without a status are not done; a status that is reset makes the chunk pending again."""
    store = new(tmp_path / "data.zarr", 3)
    fill(store)
    array = store.root["status"]
    assert isinstance(array, zarr.Array)
    array[0, 1, 0] = PENDING
    status = reopened(tmp_path / "data.zarr").status()
    assert status[0, 1, 0] == PENDING
    assert (status == DONE).sum() == status.size - 1


@pytest.mark.parametrize(("first", "then"), [(6, 9), (7, 8), (2, 8), (3, 4), (1, 2)])
def test_more_seeds_add_blocks_and_keep_the_old_data_bit_for_bit(tmp_path: Path, first: int, then: int) -> None:
    store = new(tmp_path / "data.zarr", first)
    fill(store)
    old = store.dataset()
    extend(store, range(then))
    store = reopened(tmp_path / "data.zarr")
    full = first // BLOCK
    status = store.status()
    assert status.shape[-1] == math.ceil(then / BLOCK)
    assert (status[..., :full] == DONE).all()
    assert (status[..., full:] == PENDING).all(), "a last block that was not full is redone"
    data = store.dataset()
    assert list(data.seed.values) == list(range(then))
    xr.testing.assert_identical(data.isel(seed=slice(0, full * BLOCK)), old.isel(seed=slice(0, full * BLOCK)))
    assert data.loss.isel(seed=slice(first, None)).isnull().all()
    fill(store)
    whole = new(None, then)
    fill(whole)
    xr.testing.assert_identical(store.dataset(), whole.dataset())


def test_fewer_seeds_return_a_prefix_and_leave_the_store_as_it_is(tmp_path: Path) -> None:
    store = new(tmp_path / "data.zarr", 8, start=10)
    fill(store)
    extend(store, range(10, 14))
    prefix = store.dataset(4)
    assert list(prefix.seed.values) == [10, 11, 12, 13]
    xr.testing.assert_identical(prefix, store.dataset().isel(seed=slice(0, 4)))
    assert store.seeds == range(10, 18)
    assert (store.status() == DONE).all()


def test_differences_between_fingerprints_are_named(tmp_path: Path) -> None:
    new(tmp_path / "data.zarr", 3, setting={"rate": 0.1}, sources="abc", precision="float32")
    store = reopened(tmp_path / "data.zarr")
    same = {"setting": {"rate": 0.1}, "sources": "abc", "precision": "float32"}
    assert store.difference(same) == ""
    assert store.difference({**same, "setting": {"rate": 0.2}}) == "setting"
    assert store.difference({**same, "sources": "def", "precision": "float64"}) == "sources, precision"
    assert store.difference({**same, "layout": {"block": 5}}) == "layout"


def test_a_tuple_in_a_fingerprint_equals_the_list_that_json_makes_of_it(tmp_path: Path) -> None:
    new(tmp_path / "data.zarr", 3, axes=(1, 2))
    assert reopened(tmp_path / "data.zarr").difference({"axes": (1, 2)}) == ""


def test_failures_are_recorded_with_their_message_and_cleared_by_success(tmp_path: Path) -> None:
    store = new(tmp_path / "data.zarr", 6)
    first, second, *_ = store.chunks(GRID)
    store.fail(first, "ValueError: no")
    store.fail(second, "loss is NaN")
    store = reopened(tmp_path / "data.zarr")
    assert store.status()[0, 0].tolist() == [FAILED, FAILED]
    assert store.failures() == {(0, 0, 0): "ValueError: no", (0, 0, 1): "loss is NaN"}
    assert store.dataset().loss.isnull().all()
    store.write(first, results(GRID, first))
    store = reopened(tmp_path / "data.zarr")
    assert store.failures() == {(0, 0, 1): "loss is NaN"}
    assert store.status()[0, 0].tolist() == [DONE, FAILED]


@pytest.mark.filterwarnings("ignore:Failed to open Zarr store with consolidated metadata")
def test_plain_xarray_opens_the_store_with_labelled_coordinates(tmp_path: Path) -> None:
    grid = make_grid(Setting(), {"rate": [0.1, 0.2], "case": {"für η": {"mode": "plain"}, "b": {"mode": "other"}}})
    store = new(tmp_path / "data.zarr", 4, grid, start=7)
    fill(store, grid)
    data = xr.open_zarr(tmp_path / "data.zarr").load()
    assert data.rate.values.tolist() == [0.1, 0.2]
    assert data.case.values.tolist() == ["für η", "b"]
    assert data.group.values.tolist() == ["first", "second"]
    assert data.seed.values.tolist() == [7, 8, 9, 10]
    assert data.path.dims == ("rate", "case", "seed", "record")
    assert float(data.share.sel(rate=0.2, case="für η", seed=9, group="second")) == np.float32(-9.2)
    assert data.loss.attrs["long_name"] == "final loss"
    assert data.loss.attrs["symbol"] == "L"
    assert data.loss.dtype == np.float32
    assert (data.status == DONE).all()


def test_what_is_no_readable_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    assert Store.open(tmp_path / "absent.zarr") is None
    (tmp_path / "empty.zarr").mkdir()
    for name, text in {"cut": '{"fingerprint": {', "edited": None, "early": "", "other": "[1]"}.items():
        fill(new(tmp_path / f"{name}.zarr", 3))
        attributes = tmp_path / f"{name}.zarr" / ".zattrs"
        attributes.write_text(attributes.read_text().replace('"seeds": 3', '"seeds": 2') if text is None else text)
    new(tmp_path / "none.zarr", 3)
    (tmp_path / "none.zarr" / ".zattrs").unlink()
    for name in ("empty", "cut", "edited", "early", "other", "none"):
        before = sorted(file for file in tmp_path.rglob("*"))
        with pytest.raises(UserError, match=r"\.zarr cannot be read \(it.*\) and is left as it is"):
            Store.open(tmp_path / f"{name}.zarr")
        assert sorted(file for file in tmp_path.rglob("*")) == before


def test_creating_replaces_what_was_there(tmp_path: Path) -> None:
    fill(new(tmp_path / "data.zarr", 6))
    store = new(tmp_path / "data.zarr", 3)
    assert store.dataset().sizes["seed"] == 3
    assert store.dataset().loss.isnull().all()


@pytest.mark.parametrize("kind", ["file", "link to nothing", "link to a folder"])
def test_creating_replaces_what_is_no_folder_and_follows_no_link(kind: str, tmp_path: Path) -> None:
    path, other = tmp_path / "data.zarr", tmp_path / "other"
    if kind == "file":
        path.write_text("no store")
    else:
        path.symlink_to(other)
    if kind == "link to a folder":
        other.mkdir()
        (other / "precious").touch()
    assert new(path, 3).dataset().sizes["seed"] == 3
    assert not path.is_symlink()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data.zarr"] + ["other"] * other.exists()
    assert (other / "precious").exists() == (kind == "link to a folder")


def test_what_else_lies_in_the_folder_is_no_result(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    store = new(tmp_path / "data.zarr", 3)
    fill(store)
    shutil.copytree(tmp_path / "data.zarr" / "loss", tmp_path / "data.zarr" / "stray")
    (tmp_path / "data.zarr" / "note.txt").write_text("mine")
    store.finish()
    assert "stray" not in xr.open_zarr(tmp_path / "data.zarr")
    assert set(reopened(tmp_path / "data.zarr").dataset()) == set(SHAPES)
    assert not recwarn.list


@pytest.mark.parametrize("name", [".zattrs", "loss/.zarray", "seed/0"])
@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_frame_that_is_changed_while_it_is_in_use_is_a_sentence(name: str, change: str, tmp_path: Path) -> None:
    store = new(tmp_path / "data.zarr", 3)
    fill(store)
    file = tmp_path / "data.zarr" / name
    file.unlink() if change == "deleted" else file.write_text("x")
    for use in (store.finish, store.dataset):
        with pytest.raises(UserError, match=r"data\.zarr was changed while it was in use"):
            use()


@functools.cache
def in_order() -> xr.Dataset:
    store = new(None, 7)
    fill(store)
    return store.dataset()


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(12)), st.sets(st.integers(0, 11), max_size=4))
def test_any_order_of_writes_gives_the_same_data_set(order: list[int], failed_before: set[int]) -> None:
    """Chunks may come in any order, some after a failure or written twice."""
    store = new(None, 7)
    chunks = store.chunks(GRID)
    assert len(chunks) == len(order)
    for i in failed_before:
        store.fail(chunks[i], "at first")
    for i in [*order, *sorted(failed_before)]:
        store.write(chunks[i], results(GRID, chunks[i]))
    xr.testing.assert_identical(store.dataset(), in_order())
    assert not store.failures()


def test_a_folder_is_held_by_one_and_free_afterwards(tmp_path: Path) -> None:
    with lock(tmp_path / "a" / "b"):
        with pytest.raises(UserError, match="in use by another process"), lock(tmp_path / "a" / "b"):
            pass
        with lock(tmp_path / "a" / "c"):
            pass
    with lock(tmp_path / "a" / "b"):
        pass


def test_a_folder_into_which_nothing_was_written_is_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    for folder in ("new/theory/experiment", "kept/experiment"):
        with pytest.raises(UserError, match="no data"), lock(tmp_path / folder):
            raise UserError("There are no data at /nowhere.")
    assert [entry.name for entry in tmp_path.rglob("*")] == ["kept"]
    with lock(tmp_path / "new"):
        (tmp_path / "new" / "data").touch()
    assert sorted(entry.name for entry in (tmp_path / "new").iterdir()) == [".lock", "data"]
    with lock(tmp_path / "kept"):
        pass
    assert (tmp_path / "kept").is_dir(), "a folder that was there before stays"
