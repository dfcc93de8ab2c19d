"""An experiment on the page: its figure or table, question, seeds and command, as far as they are what was written."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lemmata.lab.files import digest_of_file, is_sealed
from lemmata.lab.frame import ATTRIBUTES, identity_at
from lemmata.lab.tables import Table

CHANGED = "{} was damaged or changed after it was written and is not shown; `lemmata verify` makes it anew."
OTHERS = "The data are others than those that were drawn; `lemmata verify` draws them anew."
NAME = re.compile(r"\w[\w.+-]*")
LARGE = 1_500_000
"""Bytes above which a drawing is shown as an image of points, and as lines only when it is enlarged."""


@dataclass(frozen=True)
class Image:
    """A figure beside the page: what is shown, what it is enlarged to, and its proportions."""

    shown: str
    enlarged: str
    width: int
    height: int
    words: str


@dataclass(frozen=True)
class Run:
    """An experiment that claims read."""

    theory: str
    name: str
    record: Mapping[str, Any] = field(default_factory=dict)
    image: Image | None = None
    table: str = ""
    wrong: Sequence[str] = ()

    @property
    def anchor(self) -> str:
        return f"run:{self.theory}/{self.name}"

    @property
    def question(self) -> str:
        return self.record.get("question", "")

    @property
    def command(self) -> str:
        return self.record.get("command", "")

    @property
    def warnings(self) -> Sequence[str]:
        return self.record.get("warnings", ())

    @property
    def about(self) -> list[str]:
        """What it is, of which seeds and when, as far as that is known."""
        finished = self.record.get("finished", "").replace("T", " ").replace("+00:00", " UTC")
        parts = [f"{self.theory}/{self.name}", self.record.get("reference", ""), self.seeds, finished]
        return [part for part in parts if part]

    @property
    def seeds(self) -> str:
        first, last = self.record.get("seeds", (0, -1))
        return "" if last < first else f"seed {first}" if first == last else f"seeds {first} to {last}"


def read_run(directory: Path, theory: str, name: str) -> Run:
    """What a results folder holds of this experiment."""
    if not (NAME.fullmatch(theory) and NAME.fullmatch(name)):
        return Run(theory, name)
    folder = directory / theory / name
    record, wrong = _record(folder)
    known = record.get("figures", {})
    whole = {}
    for each, digest in known.items():
        found = digest_of_file(folder / each)
        if found == digest:
            whole[each] = folder / each
        elif found:
            wrong.append(CHANGED.format(each))
    axes = record.get("axes") or {}
    words = f"Figure of {name}: {record.get('question', '')}"
    if axes:
        words += f" Over {', '.join(axes)}."
    table = ""
    if "table.json" in whole:
        content = json.loads(whole["table.json"].read_text(encoding="utf-8"))
        table = Table(content["caption"], content["columns"], content["rows"]).html()
    return Run(theory, name, record, _image(whole, f"{quote(theory)}/{quote(name)}", words), table, wrong)


def _record(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The experiment's `run.json`, if it is as it was written and of the data that are there; and what is wrong."""
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError, RecursionError):
        record = {}
    if not is_sealed(record):
        return {}, [CHANGED.format("run.json")]
    data = folder / "data.zarr"
    same = not (data / ATTRIBUTES).exists() or identity_at(data) == record.get("data")
    return (record, []) if same else ({}, [OTHERS])


def _image(whole: Mapping[str, Path], folder: str, words: str) -> Image | None:
    """The figure: lines where there are any, points where the lines are too many to show at once."""
    drawing, points = whole.get("figure.svg"), whole.get("figure.png")
    shown = drawing if drawing and (points is None or drawing.stat().st_size < LARGE) else points
    if shown is None:
        return None
    width, height = _size(shown)
    return Image(f"{folder}/{shown.name}", f"{folder}/{(drawing or shown).name}", width, height, words)


def _size(file: Path) -> tuple[int, int]:
    """Width and height, of which the page needs the proportion to leave room before the figure is there."""
    with file.open("rb") as opened:
        head = opened.read(2000)
    if head.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", head[16:24])
        return width, height
    found = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    return (round(float(found[1])), round(float(found[2]))) if found else (4, 3)
