"""The raw folder of an OGB node-property graph (Hu 2020), such as ogbn-arxiv: csv files, gzipped or plain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.datasets import files
from lemmata.datasets.files import require
from lemmata.datasets.graphs.graph import Graph, Split
from lemmata.datasets.graphs.parts import columns, graph_at, split_of, within

ADVICE = (
    "an OGB folder holds raw/edge.csv.gz, raw/node-label.csv.gz, raw/node-feat.csv.gz (if there are features) "
    "and split/NAME/{train,valid,test}.csv.gz, gzipped or not"
)


def is_here(folder: Path) -> bool:
    return _file(folder / "raw", "edge").is_file()


def files_of(folder: Path) -> list[Path]:
    return sorted(file for part in ("raw", "split") for file in (folder / part).rglob("*.csv*"))


def load(folder: Path) -> Graph:
    """The graph of a folder, directions left out, with a split for every folder below `split`, by name."""
    labels = _read(_file(folder / "raw", "node-label"), _integers)
    edges = _read(_file(folder / "raw", "edge"), lambda text: columns(text, int, 2))
    feature_file = _file(folder / "raw", "node-feat")
    features = _read(feature_file, lambda text: columns(text, float)) if feature_file.is_file() else None
    found = sorted(place for place in (folder / "split").glob("*") if place.is_dir())
    splits = tuple(_split(place, labels) for place in found)
    return graph_at(folder, edges, features, labels, source=f"{folder.name}, OGB files", splits=splits)


def _file(folder: Path, name: str) -> Path:
    plain = folder / f"{name}.csv"
    return plain if plain.is_file() else folder / f"{name}.csv.gz"


def _read(file: Path, parse: Callable[[str], Any]) -> Any:
    def understand(content: bytes) -> Any:
        return parse(files.text(content, gzipped=file.suffix == ".gz"))

    return files.read(file, understand, "part of an OGB graph", ADVICE)


def _integers(text: str) -> np.ndarray:
    return columns(text, int, 1)[:, 0]


def _split(place: Path, labels: np.ndarray) -> Split:
    def part(name: str) -> np.ndarray:
        def parse(text: str) -> np.ndarray:
            nodes = _integers(text)
            require(within(nodes, len(labels)), "it names an unknown node")
            return nodes

        return _read(_file(place, name), parse)

    return split_of(part("train"), part("valid"), part("test"), labels)
