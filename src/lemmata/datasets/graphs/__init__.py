"""Graphs with features and labels, in the public formats they come in.

`load` reads a file or folder of any format, `find` says where a known graph is kept, and `standins` makes graphs that
need no file at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lemmata.datasets.files import home
from lemmata.datasets.graphs import geom, listed, npz, ogb, planetoid
from lemmata.datasets.graphs.distances import distance_blocks, distance_table
from lemmata.datasets.graphs.graph import Graph, Split, from_arrays, make_graph
from lemmata.datasets.graphs.listed import from_edge_list
from lemmata.datasets.graphs.objects import from_object
from lemmata.lab.errors import UserError, nearest, unknown
from lemmata.lab.inputs import remember

__all__ = [
    "KNOWN",
    "Graph",
    "Split",
    "distance_blocks",
    "distance_table",
    "files_of",
    "find",
    "from_any",
    "from_arrays",
    "from_edge_list",
    "load",
    "make_graph",
]

READERS = {"planetoid": planetoid.load, "npz": npz.load, "geom": geom.load, "ogb": ogb.load, "listed": listed.load}
FORMATS = (
    "a graph is an npz file (edge_index, y, perhaps x), Planetoid's FOLDER/ind.NAME (eight files), a Geom-GCN folder "
    f"({geom.EDGES}, {geom.NODES}), an OGB folder (raw/edge.csv.gz) or a folder with edges.csv and labels.csv"
)
HETEROPHILOUS = (
    "chameleon", "chameleon_filtered", "squirrel", "squirrel_filtered", "minesweeper", "tolokers", "cornell", "texas",
    "wisconsin",
)  # fmt: skip
KNOWN = {
    "cora": "cora.npz, or Planetoid's eight files as planetoid_raw/ind.cora.*",
    "citeseer": "citeseer.npz, or Planetoid's eight files as planetoid_raw/ind.citeseer.*",
    "pubmed": "pubmed.npz, or Planetoid's eight files as planetoid_raw/ind.pubmed.*",
    "actor": f"actor.npz, or Geom-GCN's folder film with {geom.EDGES} and {geom.NODES}",
    "pascal": (
        "pascal.npz with graph 1 of PascalVOC-SP as edge_index, x and y, classes numbered from 0 (its public pickles "
        "hold torch objects, which cannot be read without executing them: convert that graph)"
    ),
    "arxiv": "arxiv.npz, or OGB's folder ogbn_arxiv with raw/edge.csv.gz",
    **{name: f"{name}.npz, or heterophilous/{name}.npz of Platonov's heterophilous graphs" for name in HETEROPHILOUS},
}
"""The graphs that have a name, with what to place below $LEMMATA_DATA/graphs."""


def find(name: str) -> Path:
    """Where the user keeps a known graph, as a path for `load`."""
    if name not in KNOWN:
        raise unknown("graph", name, KNOWN)
    folder = home(f"The graph {name}", "graphs", f"in its folder graphs {KNOWN[name]}")
    places = [
        folder / f"{name}.npz",
        folder / "planetoid_raw" / f"ind.{name}",
        folder / "heterophilous" / f"{name}.npz",
    ]
    places += {"actor": [folder / "film"], "arxiv": [folder / "ogbn_arxiv"]}.get(name, [])
    for place in places:
        if _recognised(place):
            return place
    raise UserError(f"There is no graph {name} in {folder}: place there {KNOWN[name]}.")


def load(path: str | Path) -> Graph:
    """The graph of a file or folder, whatever its format."""
    path = Path(path)
    recognised = _recognised(path)
    if recognised is None:
        raise UserError(f"There is no graph at {path}: {FORMATS}.")
    kind, place = recognised
    return _remembered(place, kind, _changes(place, kind))


def from_any(data: Any) -> tuple[Graph, list[Path]]:
    """The graph of whatever a user has, and its files: a path, a known name, the files of an edge list, an object."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, Path)) for one in data):
        return listed.load_files([Path(one) for one in data]), [Path(one) for one in data]
    if not isinstance(data, (str, Path)):
        return from_object(data), []
    if not Path(data).exists():
        if str(data) in KNOWN:
            data = find(str(data))
        elif str(data).isidentifier() and nearest(str(data), list(KNOWN)):
            raise unknown("graph", str(data), KNOWN)
    return load(data), files_of(data)


def _recognised(path: Path) -> tuple[str, Path] | None:
    """The name of the reader and the path that it takes."""
    if path.is_file() and path.suffix == ".npz":
        return "npz", path
    stem = planetoid.stem_of(path)
    if stem is not None:
        return "planetoid", stem
    folder = path.parent if path.is_file() and path.name in {*listed.EDGES, geom.EDGES, geom.NODES} else path
    for kind, is_here in {"geom": geom.is_here, "ogb": ogb.is_here, "listed": listed.is_here}.items():
        if is_here(folder):
            return kind, folder
    return None


def files_of(path: str | Path) -> list[Path]:
    """The files that a graph is read from; none where there is no graph."""
    recognised = _recognised(Path(path))
    return [] if recognised is None else _files(*recognised)


def _files(kind: str, place: Path) -> list[Path]:
    modules = {"planetoid": planetoid, "geom": geom, "ogb": ogb, "listed": listed}
    files = modules[kind].files_of(place) if kind in modules else [place]
    return [file for file in files if file.is_file()]


def _changes(place: Path, kind: str) -> tuple[tuple[str, int], ...]:
    """The files of a graph with the times of their last changes."""
    return tuple((str(file), file.stat().st_mtime_ns) for file in _files(kind, place))


@remember(4)
def _remembered(place: Path, kind: str, changes: tuple[tuple[str, int], ...]) -> Graph:
    """Read once, not once a run; `changes` tells new files from old ones."""
    return READERS[kind](place)
