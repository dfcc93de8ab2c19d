"""Graphs as people have them: labels in words, floats, columns or signs, named nodes, weights, other libraries."""

from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from lemmata.datasets import graphs
from lemmata.datasets.graphs.graph import classes_of
from lemmata.lab.errors import UserError

EDGES = [[0, 1], [1, 2], [2, 3]]
FEATURES = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([0, 2, -1, 1], [0, 2, -1, 1]),
        ([1, -1, -1, 1], [1, 0, 0, 1]),
        ([1.0, -1.0, 1.0, 1.0], [1, 0, 1, 1]),
        ([[0], [1], [1], [-1]], [0, 1, 1, -1]),
        ([0.0, 1.0, np.nan, 2.0], [0, 1, -1, 2]),
        (["dog", "cat", "", "dog"], [1, 0, -1, 1]),
        (["0", "1", "?", "1"], [0, 1, -1, 1]),
        ([True, False, True, True], [1, 0, 1, 1]),
        (np.asarray(["b", None, "a", "b"], object), [1, -1, 0, 1]),
    ],
)
def test_labels_of_every_kind_become_classes(labels: object, classes: list[int]) -> None:
    assert classes_of(labels).tolist() == classes
    assert graphs.make_graph(EDGES, None, labels).labels.tolist() == classes


def listed(folder: Path, edges: str, labels: str) -> graphs.Graph:
    (folder / "edges.csv").write_text(edges)
    (folder / "labels.csv").write_text(labels)
    return graphs.load(folder)


@pytest.mark.parametrize(
    "edges",
    [
        "0,1,0.5\n1,2,2\n2,3,1e-3\n0,3,0\n",
        "source target weight\n0 1 1\n1 2 1\n2 3 1\n",
        "0\t1\n1\t2\n2\t3\n",
        '"from";"to"\n"0";"1"\n"1";"2"\n"2";"3"\n',
    ],
)
@pytest.mark.parametrize(
    "labels",
    [
        "a\nb\nb\na\n",
        "label\na\nb\nb\na\n",
        "node,label\n3,a\n1,b\n2,b\n0,a\n",
        '"node","label"\n"3","a"\n"1","b"\n"2","b"\n"0","a"\n',
    ],
)
def test_weights_headers_tables_and_words_are_read(tmp_path: Path, edges: str, labels: str) -> None:
    graph = listed(tmp_path, edges, labels)
    assert graph.edges.tolist() == EDGES
    assert graph.labels.tolist() == [0, 1, 1, 0]


def test_nodes_with_names_are_numbered_and_those_without_a_label_are_unlabelled(tmp_path: Path) -> None:
    graph = listed(tmp_path, "from,to\nann,bob\nbob,eve\neve,zoe\n", "node,class\nbob,red\nann,blue\neve,red\n")
    assert graph.labels.tolist() == [1, 0, 1, -1]
    assert graph.edges.tolist() == [[0, 1], [0, 2], [2, 3]]


def test_an_edge_list_whose_nodes_no_label_names_is_refused_with_a_name_of_each(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"names nodes such as 'n0', the edge list others such as '1'\."):
        listed(tmp_path, "0,1\n1,2\n", "n0,a\nn1,b\nn2,a\n")


def test_a_first_edge_between_unlabelled_nodes_is_no_header(tmp_path: Path) -> None:
    graph = listed(tmp_path, "ann,bob\nbob,eve\neve,zoe\nann,zoe\n", "zoe,red\neve,blue\n")
    assert len(graph.edges) == 4


def test_labels_that_are_no_classes_are_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read as labels: labels must be integers; "):
        listed(tmp_path, "0,1\n1,2\n", "0.5\n1.5\n0.5\n")
    with pytest.raises(UserError, match=r"labels must be integers\."):
        graphs.make_graph(EDGES, None, np.asarray([0, 1, 1, 0]) + 0j)


def test_only_the_files_of_a_graph_count_as_its_files_also_in_the_folder_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(tmp_path, "0,1\n1,2\n", "a\nb\na\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "other.csv").write_text("1")
    monkeypatch.chdir(tmp_path)
    files = graphs.from_any("edges.csv")[1]
    assert [str(file) for file in files] == ["edges.csv", "labels.csv"]


def test_a_table_of_some_nodes_leaves_the_others_unlabelled(tmp_path: Path) -> None:
    graph = listed(tmp_path, "0 1\n1 2\n2 3\n", "1,5\n3,6\n")
    assert graph.labels.tolist() == [-1, 5, -1, 6]


def test_edges_labels_and_features_may_be_given_as_files(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("links.txt", "kinds.csv", "values.npy")]
    files[0].write_text("0 1\n1 2\n2 3\n")
    files[1].write_text("x\ny\ny\nx\n")
    np.save(files[2], FEATURES)
    graph, read = graphs.from_any(files)
    assert graph.features.tolist() == FEATURES.tolist()
    assert read == files
    with pytest.raises(UserError, match="4 files are no graph"):
        graphs.from_any([*files, files[0]])


def test_graphs_of_networkx_have_labels_and_features_of_their_nodes() -> None:
    club = nx.karate_club_graph()
    graph, files = graphs.from_any(club)
    assert files == []
    assert (graph.nodes, len(graph.edges), graph.classes) == (34, 78, 2)
    path = nx.path_graph(["a", "b", "c", "d"])
    nx.set_node_attributes(path, {node: {"y": i % 2, "x": FEATURES[i]} for i, node in enumerate(path)})
    graph = graphs.from_any(path)[0]
    assert graph.edges.tolist() == EDGES
    assert graph.labels.tolist() == [0, 1, 0, 1]
    assert graph.features.tolist() == FEATURES.tolist()
    with pytest.raises(UserError, match="No node of the NetworkX graph has a label"):
        graphs.from_any(nx.path_graph(3))


class Tensor:
    """What an array of another library has."""

    def __init__(self, values: object) -> None:
        self.values = np.asarray(values)

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.values


def test_graphs_of_pytorch_geometric_are_read_from_their_tensors() -> None:
    data = SimpleNamespace(edge_index=Tensor(np.transpose(EDGES)), y=Tensor([[0], [1], [1], [0]]), x=Tensor(FEATURES))
    graph = graphs.from_any(data)[0]
    assert graph.edges.tolist() == EDGES
    assert graph.labels.tolist() == [0, 1, 1, 0]
    assert graph.features.tolist() == FEATURES.tolist()
    data.x = sparse.csr_matrix(FEATURES)
    assert graphs.from_any(data)[0].features.toarray().tolist() == FEATURES.tolist()


def test_mappings_are_read_and_anything_else_is_refused_in_one_sentence() -> None:
    matrix = np.eye(4, k=1)
    for links in ({"edges": EDGES}, {"adjacency": matrix}):
        assert graphs.from_any({**links, "labels": [0, 1, 1, 0]})[0].edges.tolist() == EDGES
    for wrong in (3, {"labels": [0, 1]}, np.eye(3)):
        with pytest.raises(UserError, match=r"a graph is a lemmata Graph.*\.$"):
            graphs.from_any(wrong)


def test_a_known_name_is_looked_for_where_the_user_keeps_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEMMATA_DATA", str(tmp_path))
    folder = tmp_path / "graphs" / "heterophilous"
    folder.mkdir(parents=True)
    np.savez(folder / "texas.npz", edges=EDGES, node_features=FEATURES, node_labels=[0, 1, 1, 0])
    graph, files = graphs.from_any("texas")
    assert graph.nodes == 4
    assert files == [folder / "texas.npz"]
    with pytest.raises(UserError, match="There is no graph cora"):
        graphs.from_any("cora")
    with pytest.raises(UserError, match="There is no graph 'corra'; did you mean 'cora'"):
        graphs.from_any("corra")
    with pytest.raises(UserError, match="There is no graph at elsewhere"):
        graphs.from_any("elsewhere")
