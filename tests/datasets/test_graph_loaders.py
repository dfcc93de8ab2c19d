"""The loaders of graphs: the public files hold what is known of them, and every format gives the same graph."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse
from graph_writers import (
    GRAPH,
    KNOWN,
    TRAIN,
    WITHOUT_SPLIT,
    WRITERS,
    masks,
    write_collected,
    write_film,
    write_geom,
    write_listed,
    write_ogb,
    write_planetoid,
)
from scipy.sparse.csgraph import dijkstra

from lemmata.datasets import graphs
from lemmata.datasets.graphs import Graph
from lemmata.lab.errors import UserError


def real(name: str) -> Path:
    places = [Path(os.environ.get("LEMMATA_DATA", "/nowhere")), Path(__file__).parents[3] / "shared" / "data"]
    for place in places:
        file = place / "graphs" / name
        if file.is_file():
            return file
    pytest.skip(f"graphs/{name} is neither in $LEMMATA_DATA nor in ../shared/data")


# Real files

REAL = {
    "cora": (2708, 1433, 7, 5278, 0.810, 11),
    "citeseer": (3327, 3703, 6, 4552, 0.738, 11),
    "pubmed": (19717, 500, 3, 44324, 0.802, 11),
    "actor": (7600, 932, 5, 26659, 0.217, 10),
    "heterophilous/chameleon": (2277, 2325, 5, 31371, 0.230, 10),
    "heterophilous/chameleon_filtered": (890, 2325, 5, 8854, 0.236, 10),
    "heterophilous/squirrel": (5201, 2089, 5, 198353, 0.222, 10),
    "heterophilous/squirrel_filtered": (2223, 2089, 5, 46998, 0.207, 10),
    "heterophilous/minesweeper": (10000, 7, 2, 39402, 0.683, 10),
    "heterophilous/tolokers": (11758, 10, 2, 519000, 0.595, 10),
    "heterophilous/cornell": (183, 1703, 5, 277, 0.123, 10),
    "heterophilous/texas": (183, 1703, 5, 279, 0.061, 10),
    "heterophilous/wisconsin": (251, 1703, 5, 450, 0.178, 10),
}
ENTRIES = {"cora": 49216, "citeseer": 105165, "pubmed": 988031, "actor": 40977}
PUBLIC = {"cora": 140, "citeseer": 120, "pubmed": 60}


@pytest.mark.parametrize("name", REAL)
def test_a_public_graph_has_its_known_counts(name: str) -> None:
    nodes, features, classes, edges, homophily, splits = REAL[name]
    graph = graphs.load(real(f"{name}.npz"))
    assert (graph.nodes, graph.features.shape) == (nodes, (nodes, features))
    assert (graph.classes, len(graph.edges), len(graph.splits)) == (classes, edges, splits)
    assert graph.homophily == pytest.approx(homophily, abs=6e-4)
    for split in graph.splits:
        together = np.concatenate(split)
        assert len(np.unique(together)) == len(together)
        assert (graph.labels[together] >= 0).all()
    if name in ENTRIES:
        assert graph.features.nnz == ENTRIES[name]
    if name in PUBLIC:
        assert [len(part) for part in graph.splits[0]] == [PUBLIC[name], 500, 1000]
        assert np.ptp(np.bincount(graph.labels[graph.splits[0].train])) == 0


def test_citeseer_has_fifteen_nodes_without_features_and_label() -> None:
    graph = graphs.load(real("citeseer.npz"))
    unknown = graph.labels == -1
    assert unknown.sum() == 15
    assert graph.features[unknown].nnz == 0
    # counted as class 0, as is usual, they lower the homophily to the number that is usually given
    labels = np.where(unknown, 0, graph.labels)
    assert np.mean(labels[graph.edges[:, 0]] == labels[graph.edges[:, 1]]) == pytest.approx(0.736, abs=6e-4)


def test_the_planetoid_files_of_cora_are_the_collected_cora() -> None:
    raw, collected = graphs.load(real("planetoid_raw/ind.cora.graph")), graphs.load(real("cora.npz"))
    assert_same(raw, collected, splits=False)
    for part, expected in zip(raw.splits[0], collected.splits[0], strict=True):
        np.testing.assert_array_equal(part, expected)


def test_distances_in_cora_agree_with_scipy() -> None:
    graph = graphs.load(real("cora.npz"))
    sources = np.arange(0, graph.nodes, 60)
    ((_, rows),) = graphs.distance_blocks(graph, 20, sources)
    expected = dijkstra(graph.adjacency, indices=sources, unweighted=True)
    np.testing.assert_array_equal(rows, np.minimum(expected, 20))


# Every format


def assert_same(found: Graph, expected: Graph, *, splits: bool = True) -> None:
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.features.dtype == np.float32
    np.testing.assert_array_equal(found.dense_features, expected.dense_features)
    if splits:
        assert len(found.splits) == len(expected.splits)
        for parts, others in zip(found.splits, expected.splits, strict=True):
            for part, other in zip(parts, others, strict=True):
                np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("form", WRITERS)
def test_every_format_gives_the_graph_that_was_written(form: str, tmp_path: Path) -> None:
    path = WRITERS[form](tmp_path / "small")
    graph = graphs.load(path)
    assert_same(graph, GRAPH, splits=form not in WITHOUT_SPLIT)
    assert graph.source.startswith("small")
    assert str(tmp_path) not in graph.source
    assert_same(graphs.load(str(path)), graph)


def test_any_of_the_eight_planetoid_files_names_the_graph(tmp_path: Path) -> None:
    stem = write_planetoid(tmp_path)
    for file in tmp_path.iterdir():
        assert graphs.load(file) is graphs.load(stem)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_planetoid_pickles_may_be_of_any_age(protocol: int, tmp_path: Path) -> None:
    assert_same(graphs.load(write_planetoid(tmp_path, protocol=protocol)), GRAPH)


def test_a_place_that_the_test_index_leaves_out_is_a_node_without_features_and_label(tmp_path: Path) -> None:
    left_out = KNOWN + 2
    places = np.setdiff1d(np.arange(KNOWN, GRAPH.nodes), left_out)[::-1]
    graph = graphs.load(write_planetoid(tmp_path, places))
    assert graph.labels[left_out] == -1
    assert not graph.dense_features[left_out].any()
    others = np.arange(GRAPH.nodes) != left_out
    np.testing.assert_array_equal(graph.labels[others], GRAPH.labels[others])
    np.testing.assert_array_equal(graph.dense_features[others], GRAPH.features[others])
    assert graph.splits[0].test.tolist() == sorted(places)
    np.testing.assert_array_equal(graph.edges, GRAPH.edges)


def test_the_public_split_comes_before_the_ten_and_unlabelled_nodes_are_in_none(tmp_path: Path) -> None:
    file = write_collected(tmp_path)
    arrays = dict(np.load(file))
    train, validation, test = masks(GRAPH.splits[0])
    ten = {"geom_train_masks": test, "geom_val_masks": validation, "geom_test_masks": train}
    np.savez(
        file, **arrays, **{name: np.tile(mask, (10, 1)) for name, mask in ten.items()}, isolated_unlabelled_idx=[1]
    )
    graph = graphs.load(file)
    assert len(graph.splits) == 11
    assert graph.labels[1] == -1
    assert graph.splits[0].train.tolist() == graph.splits[10].test.tolist() == [0, *range(2, TRAIN)]


@pytest.mark.parametrize("across", [True, False])
def test_the_neutral_edges_may_lie_or_stand_and_features_may_be_missing(across: bool, tmp_path: Path) -> None:
    edges = GRAPH.edges if not across else GRAPH.edges.T
    np.savez(tmp_path / "plain.npz", edge_index=edges, y=GRAPH.labels)
    graph = graphs.load(tmp_path / "plain.npz")
    np.testing.assert_array_equal(graph.edges, GRAPH.edges)
    assert graph.features.shape == (GRAPH.nodes, 0)


def test_film_has_932_features_even_if_the_last_are_nobodys(tmp_path: Path) -> None:
    graph = graphs.load(write_film(tmp_path / "film"))
    assert graph.features.shape == (GRAPH.nodes, 932)
    np.testing.assert_array_equal(graph.dense_features[:, : GRAPH.features.shape[1]], GRAPH.features)


def test_geom_splits_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write_geom(tmp_path)
    none = np.zeros(GRAPH.nodes, bool)
    for number in (1, 2, 10):
        train = np.arange(GRAPH.nodes) == number
        np.savez(tmp_path / f"small_split_0.6_0.2_{number}.npz", train_mask=train, val_mask=none, test_mask=none)
    assert [split.train.tolist() for split in graphs.load(tmp_path).splits[1:]] == [[1], [2], [10]]


def test_an_ogb_folder_may_be_unpacked_and_lack_features_and_splits(tmp_path: Path) -> None:
    assert_same(graphs.load(write_ogb(tmp_path, zipped=False)), GRAPH)
    (tmp_path / "raw" / "node-feat.csv").unlink()
    for name in ("train", "valid", "test"):
        (tmp_path / "split" / "time" / f"{name}.csv").unlink()
    (tmp_path / "split" / "time").rmdir()
    graph = graphs.load(tmp_path)
    assert graph.splits == ()
    assert graph.features.shape == (GRAPH.nodes, 0)


@pytest.mark.parametrize("layout", ["dense", "csr", "csc", "coo"])
@pytest.mark.parametrize(("name", "between"), [("edges.txt", " "), ("edges.tsv", "\t"), ("edges.csv", " , ")])
def test_an_edge_list_is_read_whatever_separates_it(name: str, between: str, layout: str, tmp_path: Path) -> None:
    write_listed(tmp_path)
    (tmp_path / "edges.csv").unlink()
    (tmp_path / "features.csv").unlink()
    (tmp_path / "labels.csv").unlink()
    rows = [f"{second}{between}{first}  # an edge" for first, second in GRAPH.edges]
    (tmp_path / name).write_text("\r\n".join([*rows, "", "# the end"]))
    np.save(tmp_path / "labels.npy", GRAPH.labels)
    if layout == "dense":
        np.save(tmp_path / "features.npy", GRAPH.features)
    else:
        sparse.save_npz(tmp_path / "features.npz", sparse.csr_matrix(GRAPH.features).asformat(layout))
    assert_same(graphs.load(tmp_path), GRAPH, splits=False)
    assert_same(graphs.load(tmp_path / name), GRAPH, splits=False)


def test_features_are_optional_and_an_edge_list_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n")
    (tmp_path / "labels.txt").write_text("0\n-1\n1\n")
    graph = graphs.load(tmp_path)
    assert graph.edges.shape == (0, 2)
    assert graph.labels.tolist() == [0, -1, 1]


@pytest.mark.parametrize("form", WRITERS)
def test_a_graph_is_read_once_and_again_after_a_change(form: str, tmp_path: Path) -> None:
    path = WRITERS[form](tmp_path / "small")
    graph = graphs.load(path)
    assert graphs.load(path) is graph
    changed = sorted(file for file in (tmp_path / "small").rglob("*") if file.is_file())[-1]
    os.utime(changed, ns=(1, 1))
    assert graphs.load(path) is not graph


# Where known graphs are


def test_without_the_environment_variable_the_user_is_told_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEMMATA_DATA", raising=False)
    with pytest.raises(UserError, match=r"LEMMATA_DATA is not set.*cora\.npz"):
        graphs.find("cora")


@pytest.mark.parametrize("name", graphs.KNOWN)
def test_a_missing_graph_says_what_to_place_where(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    with pytest.raises(UserError) as refused:
        graphs.find(name)
    said = str(refused.value)
    assert str(tmp_path / "graphs") in said
    assert f"{name}.npz" in said
    assert said.endswith(".")
    assert ("without executing" in said) == (name == "pascal")


PLACES = {
    "cora": "planetoid_raw/ind.cora", "citeseer": "planetoid_raw/ind.citeseer", "pubmed": "planetoid_raw/ind.pubmed",
    "actor": "film", "arxiv": "ogbn_arxiv",
}  # fmt: skip


@pytest.mark.parametrize("name", graphs.KNOWN)
def test_a_known_graph_is_found_in_its_public_format_and_rather_as_npz(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    home = tmp_path / "graphs"
    if name in PLACES:
        place = home / PLACES[name]
        if "planetoid" in PLACES[name]:
            for file in list(write_planetoid(place.parent).parent.iterdir()):
                file.rename(file.with_name(file.name.replace("small", name)))
        else:
            {"actor": write_geom, "arxiv": write_ogb}[name](place)
        assert graphs.find(name) == place
        np.testing.assert_array_equal(graphs.load(graphs.find(name)).edges, GRAPH.edges)
    file = write_collected(home).rename(home / f"{name}.npz")
    assert graphs.find(name) == file


def test_an_unknown_name_gives_the_nearest_known() -> None:
    with pytest.raises(UserError, match="did you mean 'cora'"):
        graphs.find("coral")


@pytest.mark.parametrize("name", ["nothing", "ind.nothing", "nothing.npz", "."])
def test_a_place_without_a_graph_gives_the_formats(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        graphs.load(tmp_path / name)
    said = str(refused.value)
    assert str(tmp_path / name) in said
    for word in ("npz", "ind.NAME", "out1_graph_edges.txt", "raw/edge.csv.gz", "edges.csv"):
        assert word in said
