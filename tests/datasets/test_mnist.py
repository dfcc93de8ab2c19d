"""The MNIST loader: the public files in every spelling, and one sentence for whatever is wrong with one."""

import gzip
import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from lemmata.datasets import files, mnist
from lemmata.datasets.files import DamagedError
from lemmata.datasets.images import Images
from lemmata.lab.errors import UserError

Part = tuple[np.ndarray, np.ndarray]
IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def real_folder() -> Path:
    places = [Path(os.environ.get("LEMMATA_DATA", "/nowhere")), Path(__file__).parents[3] / "shared" / "data"]
    for place in places:
        if (place / "mnist").is_dir():
            return place / "mnist"
    pytest.skip("MNIST is neither in $LEMMATA_DATA/mnist nor in ../shared/data/mnist")


def random_part(count: int, seed: int) -> Part:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 28, 28), dtype=np.uint8), rng.integers(0, 10, count).astype(np.uint8)


TRAIN, TEST = random_part(10, 0), random_part(3, 1)


def idx(array: np.ndarray) -> bytes:
    """An IDX file of unsigned bytes."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write(folder: Path, part: Part = TEST, name: str = "t10k", dot: bool = False, packed: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for what, array in zip(("images-idx3", "labels-idx1"), part, strict=True):
        stem = f"{name}-{what.replace('-', '.') if dot else what}-ubyte"
        content = idx(array)
        (folder / (stem + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def assert_same(pixels: np.ndarray, labels: np.ndarray, part: Part) -> None:
    assert pixels.dtype == np.float32
    np.testing.assert_array_equal(pixels, part[0][..., None].astype(np.float32) / 255)
    np.testing.assert_array_equal(labels, part[1])


def checked(error: UserError) -> str:
    said = str(error)
    assert said.endswith(".")
    assert said.isprintable()
    assert "train-images-idx3-ubyte" in said
    assert len(said) < 700
    return said


def sentence(path: Path) -> str:
    with pytest.raises(UserError) as refused:
        mnist.load(path)
    return checked(refused.value)


def images_or_sentence(path: Path) -> Images | str:
    try:
        return mnist.load(path)
    except UserError as error:
        return checked(error)


@pytest.mark.parametrize("dot", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_every_spelling_of_the_four_files_is_read(dot: bool, packed: bool, tmp_path: Path) -> None:
    write(tmp_path, TRAIN, "train", dot, packed)
    write(tmp_path, TEST, "t10k", dot, packed)
    found = mnist.load(str(tmp_path))
    assert_same(found.train_pixels, found.train_labels, TRAIN)
    assert_same(found.test_pixels, found.test_labels, TEST)
    assert found.class_names == tuple("0123456789")
    assert found.source == "MNIST"


@pytest.mark.parametrize("name", ["train", "t10k"])
def test_one_pair_alone_is_a_source_without_a_split(name: str, tmp_path: Path) -> None:
    found = mnist.load(write(tmp_path, TRAIN, name))
    assert_same(found.train_pixels, found.train_labels, TRAIN)
    assert len(found.test_labels) == 0
    assert name in found.source


def test_the_real_files_are_what_is_known_of_them() -> None:
    found = mnist.load(real_folder())
    assert found.train_pixels.shape == (60_000, 28, 28, 1)
    assert found.test_pixels.shape == (10_000, 28, 28, 1)
    assert found.train_labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert found.test_labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert found.train_pixels.mean() == pytest.approx(0.1307, abs=5e-5)
    assert found.train_pixels.std() == pytest.approx(0.3081, abs=5e-5)
    assert found.train_pixels.max() == 1
    assert mnist.load(real_folder()) is found


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    mnist.load(write(tmp_path))
    other = random_part(4, 9)
    write(tmp_path, other)
    os.utime(tmp_path / IMAGES, ns=(1, 1))
    found = mnist.load(tmp_path)
    assert_same(found.train_pixels, found.train_labels, other)


# What is wrong with a file


def test_a_place_without_the_data_set_is_named(tmp_path: Path) -> None:
    assert f"no MNIST at {tmp_path / 'nothing'}" in sentence(tmp_path / "nothing")
    assert f"no MNIST at {tmp_path}" in sentence(tmp_path)
    write(tmp_path)
    assert "no MNIST at" in sentence(tmp_path / IMAGES)


def test_without_the_environment_variable_the_user_is_told_to_set_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("LEMMATA_DATA", raising=False)
    assert not mnist.available()
    with pytest.raises(UserError, match="LEMMATA_DATA is not set"):
        mnist.find()
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    assert not mnist.available()
    write(tmp_path / "mnist")
    assert mnist.available()
    assert mnist.find() == tmp_path / "mnist"


@pytest.mark.parametrize("name", [IMAGES, LABELS])
def test_half_a_pair_is_refused_naming_the_other_half(name: str, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / name).unlink()
    said = sentence(tmp_path)
    assert name in said.partition("cannot be read")[0]
    assert "no such file" in said


def broken(images: bytes | None = None, labels: bytes | None = None) -> dict[str, bytes | None]:
    return {IMAGES: images, LABELS: labels}


PIXELS, CLASSES = idx(TEST[0]), idx(TEST[1])
BAD = {
    "does not begin like an IDX file": broken(b"\x1f\x8b" + PIXELS[2:]),
    "not begin": broken(b"\0\0"),
    "IDX type 0x0d, not unsigned bytes": broken(PIXELS[:2] + b"\x0d" + PIXELS[3:]),
    "it has 1 dimensions, not 3": broken(CLASSES),
    "it has 3 dimensions, not 1": broken(labels=PIXELS),
    "header is cut short": broken(PIXELS[:12]),
    "promises 2352 entries and 2351 bytes follow": broken(PIXELS[:-1]),
    "promises 2352 entries and 2353 bytes follow": broken(PIXELS + b"\0"),
    "promises 3 entries and 1 bytes follow": broken(labels=CLASSES[:-2]),
    "images are 27 x 28 pixels": broken(idx(np.zeros((3, 27, 28), np.uint8))),
    "it has no images": broken(idx(np.zeros((0, 28, 28), np.uint8)), idx(np.zeros(0, np.uint8))),
    "it has 4 labels for the 3 images of": broken(labels=idx(np.zeros(4, np.uint8))),
    "a label is outside 0 to 9": broken(labels=idx(np.asarray([1, 10, 2], np.uint8))),
    "header promises 79228162458924105385300197375 entries": broken(PIXELS[:4] + b"\xff" * 12 + PIXELS[16:]),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_file_that_is_not_what_its_format_promises_is_named_with_the_reason(reason: str, tmp_path: Path) -> None:
    write(tmp_path)
    spoilt = {tmp_path / name: content for name, content in BAD[reason].items() if content is not None}
    for file, content in spoilt.items():
        file.write_bytes(content)
    said = sentence(tmp_path)
    assert str(next(iter(spoilt))) in said
    assert reason in said


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / LABELS).unlink()
    (tmp_path / LABELS).mkdir()
    assert str(tmp_path / LABELS) in sentence(tmp_path)


def test_a_file_called_gz_must_be_gzipped_and_whole(tmp_path: Path) -> None:
    write(tmp_path, packed=True)
    file = tmp_path / f"{IMAGES}.gz"
    content = file.read_bytes()
    file.write_bytes(PIXELS)
    assert "it is not gzipped" in sentence(tmp_path)
    for spoilt in (content[:-5], content[:40], content[:60] + b"\0\0\0\0" + content[64:]):
        file.write_bytes(spoilt)
        assert "compression is damaged" in sentence(tmp_path)


def test_what_unpacks_beyond_measure_costs_no_memory(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files, "SMALL", 2**20)
    write(tmp_path, packed=True)
    (tmp_path / f"{IMAGES}.gz").write_bytes(gzip.compress(PIXELS + bytes(30 * 2**20)))
    tracemalloc.start()
    said = sentence(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "more than 200 times as long" in said
    assert peak < 20 * 2**20


def test_unpacking_is_the_inverse_of_packing_and_text_shares_it() -> None:
    assert files.unzipped(gzip.compress(b"one two")) == b"one two"
    assert files.text(gzip.compress("é".encode()), gzipped=True) == "é"
    with pytest.raises(DamagedError, match="not gzipped"):
        files.unzipped(b"one two")


@pytest.mark.parametrize("packed", [False, True])
def test_mutated_files_give_images_or_one_sentence(packed: bool, tmp_path: Path) -> None:
    write(tmp_path, packed=packed)
    rng = np.random.default_rng(0)
    loaded = 0
    for case in range(150):
        file = tmp_path / ((IMAGES, LABELS)[case % 2] + ".gz" * packed)
        content = file.read_bytes()
        spoilt = bytearray(content)
        if case % 3 == 0:
            del spoilt[int(rng.integers(len(content))) :]
        else:
            # most of them in the header, where they matter
            reach = len(content) if case % 3 == 1 else min(24, len(content))
            for place in rng.integers(0, reach, rng.integers(1, 5)):
                spoilt[place] = rng.integers(256)
        file.write_bytes(bytes(spoilt))
        os.utime(file, ns=(case, case))
        found = images_or_sentence(tmp_path)
        if isinstance(found, str):
            assert str(tmp_path) in found
        else:
            loaded += 1
            assert found.train_pixels.shape[1:] == (28, 28, 1)
            assert len(found.train_labels) == len(found.train_pixels)
            assert found.train_labels.max() < 10
        file.write_bytes(content)
    assert 0 < loaded < 120
