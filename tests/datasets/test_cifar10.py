"""The CIFAR-10 loader: three public forms of the same images, and one sentence for whatever is wrong with a file."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from lemmata.datasets import cifar10
from lemmata.datasets.images import Images
from lemmata.lab.errors import UserError

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
Part = tuple[np.ndarray, np.ndarray]


def real_file() -> Path:
    places = [Path(os.environ.get("LEMMATA_DATA", "/nowhere")), Path(__file__).parents[3] / "shared" / "data"]
    for place in places:
        if (place / "cifar10" / cifar10.SUBSET).is_file():
            return place / "cifar10" / cifar10.SUBSET
    pytest.skip("CIFAR-10's subset is neither in $LEMMATA_DATA/cifar10 nor in ../shared/data/cifar10")


def random_part(count: int, seed: int) -> Part:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, count)


TRAIN, TEST = random_part(10, 0), random_part(3, 1)


def rows(pixels: np.ndarray) -> np.ndarray:
    """Images as CIFAR-10 stores them: red, then green, then blue."""
    return pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)


def in_five(part: Part) -> list[Part]:
    return list(zip(np.array_split(part[0], 5), np.array_split(part[1], 5), strict=True))


def write_python(parent: Path, train: Part = TRAIN, test: Part = TEST) -> Path:
    folder = parent / "cifar-10-batches-py"
    folder.mkdir(parents=True)

    def write(name: str, table: dict[bytes, object]) -> None:
        (folder / name).write_bytes(pickle.dumps(table, protocol=2))

    for i, (pixels, labels) in enumerate(in_five(train), start=1):
        write(f"data_batch_{i}", {b"data": rows(pixels), b"labels": labels.tolist(), b"batch_label": b"a batch"})
    write("test_batch", {b"data": rows(test[0]), b"labels": test[1].tolist()})
    write("batches.meta", {b"label_names": [name.encode() for name in NAMES]})
    return folder


def write_binary(parent: Path, train: Part = TRAIN, test: Part = TEST) -> Path:
    folder = parent / "cifar-10-batches-bin"
    folder.mkdir(parents=True)

    def write(name: str, part: Part) -> None:
        table = np.concatenate([part[1][:, None].astype(np.uint8), rows(part[0])], axis=1)
        (folder / name).write_bytes(table.tobytes())

    for i, part in enumerate(in_five(train), start=1):
        write(f"data_batch_{i}.bin", part)
    write("test_batch.bin", test)
    (folder / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    return folder


def write_subset(parent: Path, train: Part = TRAIN, test: Part = TEST) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    file = parent / cifar10.SUBSET
    np.savez(
        file, train_images=train[0], train_labels=train[1].astype(np.uint8), test_images=test[0],
        test_labels=test[1].astype(np.uint8), class_names=np.asarray(NAMES),
    )  # fmt: skip
    return file


WRITERS = {"python": write_python, "binary": write_binary, "subset": write_subset}


def assert_same(found: Images, train: Part, test: Part) -> None:
    np.testing.assert_array_equal(found.train_labels, train[1])
    np.testing.assert_array_equal(found.test_labels, test[1])
    np.testing.assert_array_equal(found.train_pixels, train[0].astype(np.float32) / 255)
    np.testing.assert_array_equal(found.test_pixels, test[0].astype(np.float32) / 255)
    assert found.class_names == tuple(NAMES)
    assert found.train_pixels.dtype == np.float32
    assert found.source.startswith("CIFAR-10")


@pytest.mark.parametrize("form", WRITERS)
def test_every_public_form_is_read_by_its_own_path_or_its_parent(form: str, tmp_path: Path) -> None:
    path = WRITERS[form](tmp_path / "cifar10")
    assert_same(cifar10.load(path), TRAIN, TEST)
    assert_same(cifar10.load(str(tmp_path / "cifar10")), TRAIN, TEST)


def test_the_whole_data_set_is_preferred_to_the_subset(tmp_path: Path) -> None:
    write_subset(tmp_path, random_part(5, 7))
    write_python(tmp_path)
    assert_same(cifar10.load(tmp_path), TRAIN, TEST)


def test_real_images_are_the_same_in_every_form(tmp_path: Path) -> None:
    file = real_file()
    subset = cifar10.load(file)
    assert subset.train_pixels.shape == (5000, 32, 32, 3)
    assert subset.test_pixels.shape == (1000, 32, 32, 3)
    assert subset.train_labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    np.testing.assert_allclose(subset.train_pixels[0, 0, 0] * 255, [59, 62, 63])
    np.testing.assert_allclose(subset.train_pixels.mean((0, 1, 2)), [0.4914, 0.4822, 0.4465], atol=0.02)
    assert np.bincount(subset.train_labels).tolist() == [500] * 10
    with np.load(file, allow_pickle=False) as arrays:
        train = (arrays["train_images"][:200], arrays["train_labels"][:200].astype(int))
        test = (arrays["test_images"][:50], arrays["test_labels"][:50].astype(int))
    for form, write in WRITERS.items():
        found = cifar10.load(write(tmp_path / form, train, test))
        np.testing.assert_array_equal(found.train_pixels, subset.train_pixels[:200])
        np.testing.assert_array_equal(found.train_labels, subset.train_labels[:200])
        np.testing.assert_array_equal(found.test_pixels, subset.test_pixels[:50])
        assert found.class_names == subset.class_names


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = write_subset(tmp_path)
    cifar10.load(file)
    other = random_part(4, 9)
    write_subset(tmp_path, other)
    os.utime(file, ns=(1, 1))
    assert_same(cifar10.load(file), other, TEST)


# What is wrong with a file


def sentence(path: Path) -> str:
    """The one sentence that loading gives."""
    with pytest.raises(UserError) as refused:
        cifar10.load(path)
    said = str(refused.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert cifar10.PYTHON in said
    assert cifar10.BINARY in said
    assert cifar10.SUBSET in said
    return said


def test_a_place_without_the_data_set_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "nothing") in sentence(tmp_path / "nothing")
    assert str(tmp_path) in sentence(tmp_path)


def test_without_the_environment_variable_the_user_is_told_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEMMATA_DATA", raising=False)
    with pytest.raises(UserError, match="LEMMATA_DATA is not set"):
        cifar10.find()
    monkeypatch.setenv("LEMMATA_DATA", "/some/where")
    assert cifar10.find() == Path("/some/where/cifar10")


MISSING = {
    "python": ["data_batch_1", "data_batch_4", "test_batch", "batches.meta"],
    "binary": ["data_batch_1.bin", "data_batch_4.bin", "test_batch.bin", "batches.meta.txt"],
}


@pytest.mark.parametrize(("form", "name"), [(form, name) for form, names in MISSING.items() for name in names])
def test_a_missing_file_of_a_folder_is_named(form: str, name: str, tmp_path: Path) -> None:
    folder = WRITERS[form](tmp_path)
    (folder / name).unlink()
    said = sentence(folder)
    assert str(folder / name) in said
    assert "no such file" in said


@pytest.mark.parametrize(
    ("form", "name"),
    [("python", "data_batch_2"), ("python", "batches.meta"), ("binary", "data_batch_2.bin"), ("subset", "")],
)
@pytest.mark.parametrize("left", [0.0, 0.4, 0.98])
def test_a_file_that_is_cut_short_is_named(form: str, name: str, left: float, tmp_path: Path) -> None:
    path = WRITERS[form](tmp_path)
    file = path / name if name else path
    content = file.read_bytes()
    file.write_bytes(content[: int(left * len(content))])
    assert str(file) in sentence(path)


@pytest.mark.parametrize("form", WRITERS)
def test_a_label_outside_the_ten_classes_is_refused(form: str, tmp_path: Path) -> None:
    assert "label is outside" in sentence(WRITERS[form](tmp_path, (TRAIN[0], np.full(10, 10))))


@pytest.mark.parametrize(
    "table",
    [
        {b"data": np.zeros((2, 3072)), b"labels": [0, 1]},
        {b"data": np.zeros((2, 3071), np.uint8), b"labels": [0, 1]},
        {b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]},
        {b"data": np.zeros((2, 3072), np.uint8), b"labels": [0.5, 1.0]},
        {b"labels": [0, 1]},
        [1, 2],
    ],
)
def test_a_pickle_of_something_else_is_refused(table: object, tmp_path: Path) -> None:
    folder = write_python(tmp_path)
    (folder / "data_batch_3").write_bytes(pickle.dumps(table, protocol=2))
    assert str(folder / "data_batch_3") in sentence(folder)


class Malicious:
    """Unpickling it calls a function of the attacker's choice."""

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, ("hacked",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_cannot_run_code(protocol: int, tmp_path: Path) -> None:
    folder = write_python(tmp_path)
    table = {b"data": Malicious(), b"labels": []}
    (folder / "data_batch_1").write_bytes(pickle.dumps(table, protocol=protocol))
    said = sentence(folder)
    assert "mkdir" in said
    assert not Path("hacked").exists()


def test_an_archive_cannot_run_code_either(tmp_path: Path) -> None:
    file = tmp_path / cifar10.SUBSET
    np.savez(file, train_images=np.asarray([Malicious()], object), class_names=np.asarray(NAMES))
    assert str(file) in sentence(file)
    assert not Path("hacked").exists()
