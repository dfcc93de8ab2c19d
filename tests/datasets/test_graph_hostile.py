"""Damaged and hostile graph files: one sentence that names the file, nothing executed, and no memory for a lie."""

import gzip
import io
import os
import pickle
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse
from graph_writers import (
    GRAPH,
    KNOWN,
    WRITERS,
    write_collected,
    write_listed,
    write_neutral,
    write_ogb,
    write_planetoid,
)
from hostile import checked, little_memory, sentence

from lemmata.datasets import graphs, pickles
from lemmata.datasets.files import DamagedError
from lemmata.datasets.graphs import Graph, planetoid
from lemmata.lab.errors import UserError

PICKLES = [part for part in planetoid.PARTS if part != "test.index"]


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    with little_memory():
        yield


def graph_or_sentence(path: Path) -> Graph | str:
    try:
        return graphs.load(path)
    except UserError as error:
        return checked(error)


# Pickles that would run code


class Calls:
    """Unpickling it calls a function of the attacker's choice."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[object, ...]:
        return self.call


class CallsWhenBuilt:
    """The call is hidden in the state of an honest sparse matrix."""

    def __init__(self, inner: Calls) -> None:
        self.inner = inner

    def __reduce__(self) -> tuple[object, ...]:
        return sparse.csr_matrix, (), {"data": self.inner, "_shape": (2, 2)}


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("part", PICKLES)
def test_a_pickle_cannot_run_code(part: str, protocol: int, tmp_path: Path) -> None:
    stem = write_planetoid(tmp_path / "graph")
    mark = tmp_path / "hacked"
    for function, argument in (
        (os.system, f"touch {mark}"),
        (os.mkdir, str(mark)),
        (subprocess.call, ["touch", str(mark)]),
    ):
        call = Calls(function, argument)
        for hidden in (call, [{"deep": (call,)}], CallsWhenBuilt(call)):
            (tmp_path / "graph" / f"ind.small.{part}").write_bytes(pickle.dumps(hidden, protocol=protocol))
            said = sentence(stem)
            assert f"ind.small.{part}" in said
            assert function.__name__ in said
            assert not mark.exists()


ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
TYPE = b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
SHELL = b"cposix\nsystem\n"
PROGRAMS = {
    "a call by INST": b"(S'touch hacked'\niposix\nsystem\n.",
    "a call by OBJ": b"(cposix\nsystem\nS'touch hacked'\no.",
    "a call by NEWOBJ_EX": b"\x80\x04cposix\nsystem\n(S'touch hacked'\nt}\x92.",
    "a call by an extension code": b"\x80\x02\x82\x01.",
    "a persistent name": b"Ptouch hacked\n.",
    "eval": b"c__builtin__\neval\n(S'1'\ntR.",
    "getattr": b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'tofile'\ntR.",
    "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0fndarray.tofile\x93.",
    "a name with line breaks": b"\x80\x04\x8c\x05a\nb\tc\x8c\x03\x1b[0\x93.",
    "an attribute of a name": b"cnumpy\nndarray\n}S'x'\nI1\nsb.",
    "an attribute of a list": b"]}S'x'\nI1\nsb.",
    "a call of a list": b"](I1\ntR.",
    "a call of a number": b"I1\n(I1\ntR.",
    "an array made directly": b"cnumpy\nndarray\n((I1000000000000\nttR.",
    "an array made as an object": b"\x80\x02cnumpy\nndarray\n(I1000000000000\nt\x81.",
    "an array of objects": b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
    "an array of records": b"cnumpy\ndtype\n(S'V8'\nI0\nI1\ntR.",
    "an array with a forged shape": ARRAY + b"(I1\n(I1000000000000\nt" + TYPE + b"I00\nS''\ntb.",
    "an array with a negative shape": ARRAY + b"(I1\n(I-1\nI-1\nt" + TYPE + b"I00\nS'12345678'\ntb.",
    "an array with a shape beyond all numbers": ARRAY
    + b"(I1\n(L" + b"9" * 300 + b"L\nI0\nt" + TYPE + b"I00\nS''\ntb.",
    "an array without a type": ARRAY + b"(I1\n(I0\ntNI00\nS''\ntb.",
    "an array without a state": ARRAY + b".",
    "a memo with a far place": b"\x80\x02Nr\xff\xff\xff\xff.",
    "a text with a forged length": b"\x80\x04\x8e" + struct.pack("<Q", 2**60) + b"abc.",
    "a text with a length that memory may have": b"\x80\x04\x8e" + struct.pack("<Q", 2**34) + b"abc.",
    "a frame with a forged length": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N.",
    "a number of too many digits": b"I" + b"9" * 100_000 + b"\n.",
    "a deep list": b"]" * 40_000 + b"a" * 39_999 + b".",
    "a deep tuple": b"N" + b"\x85" * 40_000 + b".",
    "a deep tuple as a key": b"}N" + b"\x85" * 200_000 + b"Ns.",  # its hash would overflow the stack of C
    "a tuple of doublings as a key": b"}(t" + b"".join(b"q%cg%d\n\x86" % (i, i) for i in range(200)) + b"Ns.",
    "a list of doublings": b"]" + b"".join(b"q%c(h%ch%cl" % (i, i, i) for i in range(200)) + b".",
    "a list in itself": b"]q\x00h\x00a.",
    "a table in itself": b"}q\x00I0\nh\x00s.",
    "a graph with one list a thousand times": b"}](" + b"I1\n" * 2000 + b"eq\x000"
    + b"".join(b"I%d\nh\x00s" % i for i in range(2000)) + b".",
    "a text that is encoded again and again": b"c_codecs\nencode\nq\x000X" + struct.pack("<I", 2**20) + b"a" * 2**20
    + b"q\x010(" + b"h\x00(h\x01S'latin1'\ntR" * 2000 + b"l.",
    "nothing on the stack": b"R.",
    "no mark": b"t.",
    "no end": b"\x80\x02}",
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("part", ["allx", "graph"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_hostile_program_gives_one_sentence(
    program: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stem = write_planetoid(tmp_path / "graph")
    (tmp_path / "graph" / f"ind.small.{part}").write_bytes(PROGRAMS[program])
    assert f"ind.small.{part}" in sentence(stem)
    assert not (tmp_path / "hacked").exists()


def test_an_array_is_what_numpy_pickled() -> None:
    for value in (np.arange(6, dtype=">i4").reshape(2, 3), np.asfortranarray(np.eye(3)[:, :2]), np.zeros((0, 4), bool)):
        for protocol in (0, 1, 2, 3, 4):
            found = pickles.array(pickles.load(pickle.dumps(value, protocol), pickles.ARRAYS, needed_by="no test"))
            np.testing.assert_array_equal(found, value)
            assert found.dtype == value.dtype


def test_a_pickle_of_plain_values_is_what_was_pickled() -> None:
    value = {"a": [1, -2, 2**40, 2.5, None, True], b"b": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)), 3: {"é": [[]]}}
    for protocol in (0, 1, 2, 3, 4):
        found = pickles.load(pickle.dumps(value, protocol), pickles.ARRAYS, needed_by="no test")
        assert found == value


@pytest.mark.parametrize("name", [b"numpy\nndarray\n", b"numpy\ndtype\n", b"_codecs\nencode\n"])
@pytest.mark.parametrize("state", [b"}S'x'\nI1\ns", b"(N}S'x'\nI1\nst"], ids=["dict", "slots"])
def test_a_pickle_cannot_change_what_its_names_stand_for(name: bytes, state: bytes) -> None:
    with pytest.raises(DamagedError, match="sets attributes of what has none"):
        pickles.load(b"c" + name + state + b"b.", pickles.ARRAYS, needed_by="no test")
    assert not any(hasattr(maker, "x") for maker in pickles.ARRAYS.values())


def test_the_name_that_is_refused_is_said() -> None:
    with pytest.raises(DamagedError, match=r"it asks for posix\.system, which no test needs"):
        pickles.load(SHELL + b".", pickles.ARRAYS, needed_by="no test")


# Sparse matrices that contradict themselves


def matrix_with(**changed: object) -> bytes:
    matrix = sparse.csr_matrix(GRAPH.features[:KNOWN])
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "_shape": matrix.shape}

    class Forged:
        def __reduce__(self) -> tuple[object, ...]:
            return sparse.csr_matrix, (), {**arrays, **changed}

    return pickle.dumps(Forged(), protocol=2)


FORGED = {
    "rows": {"_shape": (10**12, 9)},
    "columns": {"_shape": (KNOWN, 10**12)},
    "no shape": {"_shape": None},
    "words for a shape": {"_shape": ("a", "b")},
    "an index too large": {
        "indices": np.full(3, 9, np.int32),
        "indptr": np.asarray([0, 3] + [3] * (KNOWN - 1), np.int32),
    },
    "a negative index": {
        "indices": np.full(3, -1, np.int32),
        "indptr": np.asarray([0, 3] + [3] * (KNOWN - 1), np.int32),
    },
    "rows that go back": {"indptr": np.asarray([0, 5, 3] + [9] * (KNOWN - 2), np.int32)},
    "rows that go far and end at nothing": {"indptr": np.asarray([0, 10**6] + [0] * (KNOWN - 1), np.int32)},
    "rows that begin below zero": {"indptr": np.asarray([-(10**6)] + [0] * KNOWN, np.int32)},
    "rows that go too far": {"indptr": np.asarray([0] * KNOWN + [10**6], np.int32)},
    "positions that are no integers": {"indptr": np.zeros(KNOWN + 1)},
    "less data": {"data": np.zeros(1)},
    "data in a table": {"data": np.zeros((2, 2))},
    "no data": {"data": None},
    "infinite data": {"data": np.full(sparse.csr_matrix(GRAPH.features[:KNOWN]).nnz, np.inf)},
}


@pytest.mark.parametrize("case", FORGED)
def test_a_sparse_matrix_that_contradicts_itself_is_refused(case: str, tmp_path: Path) -> None:
    stem = write_planetoid(tmp_path)
    (tmp_path / "ind.small.allx").write_bytes(matrix_with(**FORGED[case]))
    assert "ind.small" in sentence(stem)


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("x_shape", np.asarray([GRAPH.nodes, 10**12])),
        ("x_shape", np.asarray([10**12, 9])),
        ("x_shape", np.asarray([GRAPH.nodes])),
        ("x_indices", np.full(sparse.csr_matrix(GRAPH.features).nnz, -1, np.int16)),
        ("x_indptr", np.full(GRAPH.nodes + 1, 10**6)),
        ("edges", np.asarray([[0, GRAPH.nodes]])),
        ("edges", np.asarray([[0.5, 1.0]])),
        ("edges", np.asarray([["a", "b"]])),
        ("y", np.zeros(3, int)),
        ("y", np.zeros((GRAPH.nodes, 2), int)),
        ("y", np.full(GRAPH.nodes, 0.5)),
        ("train_idx", np.asarray([GRAPH.nodes])),
        ("train_idx", np.asarray([-1])),
        ("train_idx", np.asarray([0.5])),
        ("y", np.asarray([None] * GRAPH.nodes)),
    ],
)
def test_an_archive_that_contradicts_itself_is_refused(array: str, value: np.ndarray, tmp_path: Path) -> None:
    file = write_collected(tmp_path)
    np.savez(file, **{**np.load(file), array: value})
    assert str(file) in sentence(file)


def forged_npy(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"shape": shape, "fortran_order": False, "descr": "<f8"})
    return stream.getvalue() + content


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (3,), (-1,), (2**62, 4)])
def test_an_array_that_claims_more_than_its_file_holds_costs_nothing(shape: tuple[int, ...], tmp_path: Path) -> None:
    file = write_neutral(tmp_path)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("x2.npy", forged_npy(shape))
    assert str(file) in sentence(file)
    folder = write_listed(tmp_path / "listed")
    (folder / "features.csv").unlink()
    (folder / "features.npy").write_bytes(forged_npy(shape))
    assert "features.npy" in sentence(folder)


def test_an_archive_that_claims_too_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "bomb.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("y.npy", forged_npy((2 * 10**9,), b"12345678"))
    content = bytearray(file.read_bytes())
    place = content.index(b"PK\x01\x02") + 24  # the size that the directory gives for the unpacked member
    content[place : place + 4] = struct.pack("<I", 2**32 - 2)
    file.write_bytes(content)
    assert str(file) in sentence(file)


def test_an_archive_of_objects_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "objects.npz"
    np.savez(file, edge_index=np.asarray([Calls(os.mkdir, str(tmp_path / "hacked"))], object), y=[0, 1])
    assert "objects" in sentence(file)
    assert not (tmp_path / "hacked").exists()


def test_an_archive_of_other_arrays_gives_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", pixels=np.zeros(3), names=np.zeros(3))
    said = sentence(tmp_path / "other.npz")
    assert "names, pixels" in said
    assert "edge_index" in said


def test_a_text_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    folder = write_ogb(tmp_path)
    (folder / "raw" / "edge.csv.gz").write_bytes(gzip.compress(b"0,1\n" * (17 * 2**20), 1))
    assert "times as long" in sentence(folder)


FORGED_BESIDE = {
    "rows": {"shape": [10**12, 9]},
    "columns": {"shape": [20, 10**12]},
    "a negative shape": {"shape": [-20, -9]},
    "another layout": {"format": b"dia"},
    "an entry outside": {"indices": [10**6] * 5, "row": [10**6] * 5, "col": [0] * 5, "data": [1.0] * 5},
    "an entry before": {"indices": [-1] * 5, "row": [-1] * 5, "col": [0] * 5, "data": [1.0] * 5},
    "lists that do not fit": {"indices": [0] * 5, "row": [0] * 5},
    "columns that end at nothing": {"indptr": [0, 10**6] + [0] * 8, "row": [[0]]},
    "words": {"data": ["a"] * 5, "row": [0] * 5, "col": [0] * 5},
}


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("case", FORGED_BESIDE)
def test_forged_sparse_features_beside_an_edge_list_are_refused(case: str, layout: str, tmp_path: Path) -> None:
    folder = write_listed(tmp_path)
    (folder / "features.csv").unlink()
    sparse.save_npz(folder / "features.npz", sparse.csr_matrix(GRAPH.features).asformat(layout))
    np.savez(folder / "features.npz", **{**np.load(folder / "features.npz"), **FORGED_BESIDE[case]})
    assert str(folder) in sentence(folder)


# Files that are cut short or changed


def files_of(form: str, folder: Path) -> list[Path]:
    WRITERS[form](folder)
    return sorted(file for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("form", WRITERS)
def test_a_file_that_is_cut_short_gives_a_sentence_or_a_shorter_graph(form: str, tmp_path: Path) -> None:
    for number in range(len(files_of(form, tmp_path / "first"))):
        folder = tmp_path / str(number)
        path = WRITERS[form](folder)
        file = files_of(form, folder)[number]
        content = file.read_bytes()
        for length in np.unique(np.linspace(0, len(content) - 1, 25).astype(int)):
            file.write_bytes(content[:length])
            os.utime(file, ns=(length + 1, length + 1))
            found = graph_or_sentence(path)
            # a text without its last lines may be a smaller text, but a pickle or an archive is nothing
            if file.suffix in {".npz", ".gz"} or (form == "planetoid" and file.suffix != ".index"):
                assert isinstance(found, str), (file.name, length)
                assert file.name in found


@pytest.mark.parametrize("form", WRITERS)
def test_a_file_with_changed_bytes_gives_a_sentence_or_a_graph(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = WRITERS[form](tmp_path)
    for file in files_of(form, tmp_path):
        content = np.frombuffer(file.read_bytes(), np.uint8)
        for trial in range(25):
            changed = content.copy()
            changed[rng.integers(0, len(content), 1 + trial % 4)] = rng.integers(0, 256, 1 + trial % 4)
            file.write_bytes(changed.tobytes())
            os.utime(file, ns=(trial + 1, trial + 1))
            graph_or_sentence(path)
        file.write_bytes(content.tobytes())


@pytest.mark.parametrize("part", planetoid.PARTS)
def test_a_missing_planetoid_file_is_named(part: str, tmp_path: Path) -> None:
    stem = write_planetoid(tmp_path)
    (tmp_path / f"ind.small.{part}").unlink()
    said = sentence(stem)
    assert f"ind.small.{part} " in said
    assert "no such file" in said


INDEX = {
    "letters": "a\n", "too few": "12\n", "twice": "12\n" * 8, "among the known": "".join(f"{i}\n" for i in range(8)),
    "far away": "".join(f"{10**9 + i}\n" for i in range(8)), "negative": "-1\n" * 8, "too large": "9" * 30 + "\n",
}  # fmt: skip


@pytest.mark.parametrize("case", INDEX)
def test_a_test_index_that_does_not_fit_is_refused(case: str, tmp_path: Path) -> None:
    stem = write_planetoid(tmp_path)
    (tmp_path / "ind.small.test.index").write_text(INDEX[case])
    assert "ind.small" in sentence(stem)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("graph", {0: [1, 99]}),
        ("graph", {0: [1, -1]}),
        ("graph", {0: [1, 2**80]}),
        ("graph", {0: ["1"]}),
        ("graph", {0: 1}),
        ("graph", [[0, 1]]),
        ("ally", np.full((KNOWN, 3), 2)),
        ("ally", np.ones((KNOWN, 3), int)),
        ("ally", np.zeros(KNOWN)),
        ("ally", np.zeros((KNOWN, 0))),
        ("ally", np.eye(KNOWN + 1)),
        ("ally", np.full((KNOWN, 3), np.nan)),
        ("allx", np.zeros((KNOWN, 8))),
        ("allx", np.zeros(KNOWN)),
        ("y", np.eye(3)[[0] * (KNOWN + 1)]),
    ],
)
def test_planetoid_parts_that_do_not_fit_are_refused(part: str, value: object, tmp_path: Path) -> None:
    stem = write_planetoid(tmp_path)
    (tmp_path / f"ind.small.{part}").write_bytes(pickle.dumps(value, protocol=2))
    assert "ind.small" in sentence(stem)
