"""Data that changed on the disk are never used silently: every outcome is right data or one sentence."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
import xarray as xr
from toys import HOST, OUT, TRAINED, Said, look_at_sources_once, run_toy, verify_toy, write_theory

from lemmata.lab.theory import Theory

KINDS = ("flip", "delete", "truncate", "empty", "append", "garbage")


@pytest.fixture(autouse=True)
def _sources_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_sources_once(monkeypatch)


def mutate(file: Path, kind: str, chance: random.Random) -> None:
    """Damage a file as a disk, a person or a program would."""
    content = bytearray(file.read_bytes())
    if kind == "delete":
        file.unlink()
        return
    if kind == "flip" and content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif kind == "truncate":
        content = content[: chance.randrange(len(content))] if content else content
    elif kind == "empty":
        content = bytearray()
    elif kind == "append":
        content += chance.randbytes(3)
    else:
        content = bytearray(chance.randbytes(max(1, len(content))))
    file.write_bytes(content)


def files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name != ".lock")


@pytest.fixture
def theory() -> Theory:
    return write_theory()


def same(one: Said, other: Said) -> bool:
    assert one.data is not None
    assert other.data is not None
    return one.data.drop_vars("digest").drop_attrs().identical(other.data.drop_vars("digest").drop_attrs()) and (
        one.rows == other.rows
    )


def test_whatever_is_changed_in_a_results_folder_gives_right_data_or_one_sentence(
    theory: Theory, request: pytest.FixtureRequest
) -> None:
    """Metadata and small files are chosen as often as chunks: a file is drawn first, then what happens to it."""
    right = verify_toy(theory)
    assert not right.sentences
    shutil.copytree(OUT, "kept")
    store = HOST / "data.zarr"
    chance = random.Random(22)
    tally: Counter[str] = Counter()
    for number in range(5000 if request.config.getoption("--long") else 150):
        file = chance.choice(files_of(store if number % 5 else OUT))
        kind = chance.choice(KINDS)
        before = file.read_bytes()
        mutate(file, kind, chance)
        changed = not file.exists() or file.read_bytes() != before
        found = verify_toy(theory)
        if found.refused:
            assert "\n" not in found.refused
            assert str(OUT) in found.refused
            assert store.exists(), "what is refused is not deleted"
            assert not changed or not file.exists() or file.read_bytes() != before, "nor changed"
            tally["refused"] += 1
            shutil.rmtree(OUT)
            shutil.copytree("kept", OUT)
            continue
        assert same(found, right), (file, kind)
        data_file = file.is_relative_to(store) and file.name != ".zmetadata" and file.parent.name != "status"
        assert found.sentences or not changed or not data_file, (file, kind)
        assert len(found.sentences) <= 2
        tally["said" if found.sentences else "rewritten" if changed else "same bytes"] += 1
    print(dict(tally))
    assert tally["said"] > 100


@pytest.mark.parametrize("name", ["loss/0.0.0", "place/2.1.0.0", "digest/1.0.0", "seed/0", "rate/0", "status/0.0.0"])
@pytest.mark.parametrize("kind", ["flip", "delete", "truncate"])
def test_a_damaged_chunk_or_label_is_found_computed_again_and_said(name: str, kind: str, theory: Theory) -> None:
    right = run_toy(theory)
    assert right.data is not None
    mutate(HOST / "data.zarr" / name, kind, random.Random(1))
    found = run_toy(theory)
    assert found.data is not None
    assert found.data.identical(right.data)
    if name.startswith("status"):
        assert not found.sentences, "a chunk without a status is pending, as if nobody had computed it"
    else:
        (sentence,) = found.sentences
        assert sentence.startswith("e1-host: ")
        assert ("labels or metadata" if name in ("seed/0", "rate/0") else "1 stored chunk is damaged") in sentence
    assert run_toy(theory).sentences == []


def test_a_chunk_in_the_place_of_another_is_found(theory: Theory) -> None:
    right = run_toy(theory)
    assert right.data is not None
    for name in ("loss", "digest", "status"):
        shutil.copy(HOST / "data.zarr" / name / "0.0.0", HOST / "data.zarr" / name / "2.0.0")
    shutil.copy(HOST / "data.zarr/place/0.0.0.0", HOST / "data.zarr/place/2.0.0.0")
    found = run_toy(theory)
    assert found.data is not None
    assert found.data.identical(right.data)
    assert "1 stored chunk is damaged or missing" in found.sentences[0]


def test_a_damaged_training_on_the_shelf_is_computed_again_and_said(theory: Theory) -> None:
    right = run_toy(theory, "e2-trained")
    assert right.data is not None
    pieces = files_of(OUT / "toy" / ".pieces")
    assert pieces
    for file in pieces:
        mutate(file, "flip", random.Random(3))
    shutil.rmtree(TRAINED)
    found = run_toy(theory, "e2-trained")
    assert found.data is not None
    xr.testing.assert_identical(found.data, right.data)
    assert found.sentences == [
        f"e2-trained: {len(pieces)} of the trainings that were kept are damaged; they are computed again."
    ]
