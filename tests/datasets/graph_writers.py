"""Every format of graphs that is read, written from one graph."""

import gzip
import pickle
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sparse

from lemmata.datasets.graphs import Graph, Split, make_graph

KNOWN, TESTED, CLASSES, WORDS = 12, 8, 3, 9
TRAIN = 4


def small_graph() -> Graph:
    """Twenty nodes, the last one without an edge, with features 0 and 1 and one split."""
    rng = np.random.default_rng(5)
    nodes = KNOWN + TESTED
    labels = rng.permutation(np.arange(nodes) % CLASSES)
    features = (rng.random((nodes, WORDS)) < 0.4).astype(np.float32)
    features[0, -1] = features[1, 3] = 1
    split = Split(np.arange(TRAIN), np.arange(TRAIN, KNOWN), np.arange(KNOWN, nodes))
    return make_graph(rng.integers(0, nodes - 1, (40, 2)), features, labels, "small", (split,))


GRAPH = small_graph()


def masks(split: Split) -> list[np.ndarray]:
    return [np.isin(np.arange(GRAPH.nodes), part) for part in split]


def write_planetoid(folder: Path, places: np.ndarray | None = None, protocol: int = 2) -> Path:
    """The eight files; `places` are the test nodes in the order of the file, and may leave some out."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / "ind.small"
    places = np.random.default_rng(0).permutation(np.arange(KNOWN, GRAPH.nodes)) if places is None else places
    features = sparse.csr_matrix(GRAPH.features)
    one_hot = np.eye(CLASSES, dtype=np.int32)[GRAPH.labels]
    neighbours = defaultdict(list)
    for first, second in GRAPH.edges.tolist():
        neighbours[first].append(second)
        neighbours[second].append(first)
    parts = {
        "x": features[:TRAIN], "y": one_hot[:TRAIN], "tx": features[places], "ty": one_hot[places],
        "allx": features[:KNOWN], "ally": one_hot[:KNOWN], "graph": neighbours,
    }  # fmt: skip
    for name, part in parts.items():
        (folder / f"ind.small.{name}").write_bytes(pickle.dumps(part, protocol=protocol))
    (folder / "ind.small.test.index").write_text("".join(f"{place}\n" for place in places))
    return stem


def write_collected(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    features: sparse.csr_matrix = sparse.csr_matrix(GRAPH.features)
    (split,) = GRAPH.splits
    np.savez_compressed(
        folder / "small.npz", edges=GRAPH.edges.astype(np.int32), x_data=features.data.astype(np.uint8),
        x_indices=features.indices.astype(np.int16), x_indptr=features.indptr, x_shape=np.asarray(features.shape),
        y=GRAPH.labels, train_idx=split.train, val_idx=split.validation, test_idx=split.test,
    )  # fmt: skip
    return folder / "small.npz"


def write_heterophilous(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    train, validation, test = masks(GRAPH.splits[0])
    np.savez(
        folder / "small.npz", edges=GRAPH.edges, node_features=GRAPH.features, node_labels=GRAPH.labels,
        train_masks=train[None], val_masks=validation[None], test_masks=test[None],
    )  # fmt: skip
    return folder / "small.npz"


def write_neutral(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    both = np.concatenate([GRAPH.edges, GRAPH.edges[:, ::-1]])
    np.savez(folder / "small.npz", edge_index=both.T, x=GRAPH.features, y=GRAPH.labels)
    return folder / "small.npz"


def geom_lines(write: Callable[[np.ndarray], list[int]]) -> str:
    rows = [
        f"{node}\t{','.join(map(str, write(GRAPH.features[node])))}\t{GRAPH.labels[node]}"
        for node in reversed(range(GRAPH.nodes))
    ]
    return "\n".join(["node_id\tfeature\tlabel", *rows, ""])


def write_geom(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{first}\t{second}" for first, second in GRAPH.edges]
    (folder / "out1_graph_edges.txt").write_text("\n".join(["node_id\tnode_id", *rows, ""]))
    (folder / "out1_node_feature_label.txt").write_text(geom_lines(lambda row: [int(value) for value in row]))
    train, validation, test = masks(GRAPH.splits[0])
    np.savez(folder / "small_split_0.6_0.2_0.npz", train_mask=train, val_mask=validation, test_mask=test)
    return folder


def write_film(folder: Path) -> Path:
    write_geom(folder)
    (folder / "out1_node_feature_label.txt").write_text(
        geom_lines(lambda row: [*np.flatnonzero(row), *np.flatnonzero(row)[:1]])
    )
    return folder


def write_ogb(folder: Path, *, zipped: bool = True) -> Path:
    def write(name: str, rows: np.ndarray) -> None:
        file = folder / f"{name}.csv.gz" if zipped else folder / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(",".join(map(str, np.atleast_1d(row).tolist())) + "\n" for row in rows).encode()
        file.write_bytes(gzip.compress(text) if zipped else text)

    write("raw/edge", GRAPH.edges)
    write("raw/node-feat", GRAPH.features)
    write("raw/node-label", GRAPH.labels)
    for name, part in zip(("train", "valid", "test"), GRAPH.splits[0], strict=True):
        write(f"split/time/{name}", part)
    return folder


def write_listed(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{first},{second}" for first, second in GRAPH.edges]
    (folder / "edges.csv").write_text("\n".join(["# a small graph", "source,target", *rows, ""]))
    (folder / "labels.csv").write_text("\n".join(["label", *map(str, GRAPH.labels), ""]))
    np.savetxt(folder / "features.csv", GRAPH.features, delimiter=",", fmt="%g")
    return folder


WRITERS: dict[str, Callable[[Path], Path]] = {
    "planetoid": write_planetoid, "collected": write_collected, "heterophilous": write_heterophilous,
    "neutral": write_neutral, "geom": write_geom, "film": write_film, "ogb": write_ogb, "listed": write_listed,
}  # fmt: skip
WITHOUT_SPLIT = {"neutral", "listed"}
