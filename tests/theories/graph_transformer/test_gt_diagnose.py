"""The diagnosis of a graph: margins by hand, intervals that cover, a null band that holds its level, the command."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.figure import Figure

from lemmata import cli
from lemmata.datasets.graphs import Graph, make_graph, standins
from lemmata.lab.errors import UserError
from lemmata.theories.graph_transformer.diagnose import certainty, diagnose, quantities
from lemmata.theories.graph_transformer.diagnose.certainty import Means, connected_blocks
from lemmata.theories.graph_transformer.diagnose.quantities import measure


def cycle_of_clusters(clusters: int = 12, size: int = 8, seed: int = 0) -> Graph:
    """Clusters on a circle with alternating classes; edges join neighbouring clusters only, so that the shell at
    distance 1 is of the other class and the one at distance 2 of the own."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    beside = (cluster[:, None] + 1) % clusters == cluster[None]
    return make_graph(np.argwhere(beside & (rng.random(beside.shape) < 0.6)), None, cluster % 2, "cycle of clusters")


def random_graph(nodes: int, degree: float, classes: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, nodes, (int(nodes * degree / 2), 2))
    return make_graph(edges, None, rng.integers(0, classes, nodes), "random graph")


def margins_by_hand(graph: Graph, furthest: int) -> tuple[np.ndarray, np.ndarray]:
    """Δ̄(z) and its normalised form by a search from every labelled node."""
    neighbours = [np.flatnonzero(row) for row in graph.adjacency.toarray()]
    counts, shares = [], [[] for _ in range(furthest + 1)]
    for root in np.flatnonzero(graph.labels >= 0):
        distance, queue = {int(root): 0}, [int(root)]
        for n in queue:
            new = [int(m) for m in neighbours[n] if int(m) not in distance]
            distance |= dict.fromkeys(new, distance[n] + 1)
            queue += new
        row = np.zeros(furthest + 1)
        sizes = np.zeros(furthest + 1)
        for node, z in distance.items():
            if z <= furthest:
                sizes[z] += graph.labels[node] >= 0
                own = graph.labels[node] == graph.labels[root]
                row[z] += 0 if graph.labels[node] < 0 else 1 if own else -1 / (graph.classes - 1)
        counts.append(row)
        for z in range(furthest + 1):
            if sizes[z]:
                shares[z].append(row[z] / sizes[z])
    return np.mean(counts, axis=0), np.array([np.mean(share) if share else np.nan for share in shares])


@pytest.mark.parametrize(("classes", "hidden"), [(2, 0), (3, 0), (3, 10), (5, 4)])
def test_margins_are_those_of_a_search_from_every_labelled_node(classes, hidden):
    graph = random_graph(60, 3.0, classes, classes + hidden)
    labels = graph.labels.copy()
    labels[:hidden] = -1
    graph = make_graph(graph.edges, None, labels)
    found = measure(graph, permutations=19)
    counts, shares = margins_by_hand(graph, int(found.table.distance[-1]))
    np.testing.assert_allclose(found.table.margin, counts[1:])
    np.testing.assert_allclose(found.table.normalised, shares[1:])
    assert found.facts["roots"] == 60 - hidden
    assert found.facts["discriminative_by"] == "labels"


def test_the_planted_core_distance_is_found():
    found = measure(cycle_of_clusters())
    assert found.normalised_core.distance == 2
    assert found.normalised_core.margin == 1
    assert found.normalised_core.beyond_chance
    assert found.table.normalised.sel(distance=1) == -1
    assert found.table.positive.sel(distance=1) == 0


def test_classes_that_do_not_occur_and_the_order_of_nodes_make_no_difference():
    graph = random_graph(80, 4.0, 3, 1)
    plain = measure(graph, permutations=19)
    order = np.random.default_rng(0).permutation(80)
    turned = measure(make_graph(order[graph.edges], None, graph.labels[np.argsort(order)]), permutations=19)
    for other in (turned,):
        for name in ("margin", "normalised", "shell_size", "positive", "reached"):
            np.testing.assert_allclose(other.table[name], plain.table[name])
        assert other.core.distance == plain.core.distance
        assert other.facts["adjusted_homophily"] == pytest.approx(plain.facts["adjusted_homophily"])


def test_features_choose_the_discriminative_nodes_and_useless_ones_are_passed_over():
    graph = standins.citation(0)
    found = measure(graph, permutations=19)
    assert found.facts["discriminative_by"] == "features"
    assert 0 < found.facts["discriminative"] < 1
    stricter = measure(graph, threshold=0.99, permutations=19)
    assert stricter.facts["discriminative"] < found.facts["discriminative"]
    blank = make_graph(graph.edges, np.zeros((graph.nodes, 3)), graph.labels)
    assert measure(blank, permutations=19).facts["discriminative_by"] == "labels"


def test_labels_placed_at_random_leave_the_null_band_at_some_distance_in_one_graph_of_twenty():
    graph = random_graph(150, 3.0, 3, 0)
    rng = np.random.default_rng(1)
    left = {"margin": 0, "normalised": 0}
    for _ in range(40):
        table = measure(make_graph(graph.edges, None, rng.permutation(graph.labels))).table
        for name in left:
            outside = (table[name] < table[f"{name}_null_low"]) | (table[name] > table[f"{name}_null_high"])
            left[name] += bool(outside.any())
    assert max(left.values()) <= 6, left  # more than 6 of 40 has probability 0.003


def test_unequal_classes_give_a_margin_by_chance_and_the_band_is_centred_on_it():
    rng = np.random.default_rng(0)
    graph = random_graph(300, 5.0, 2, 0)
    table = measure(make_graph(graph.edges, None, (rng.random(300) < 0.1).astype(int))).table
    assert (table.normalised.values[:3] > 0.5).all()
    assert ((table.normalised >= table.normalised_null_low) & (table.normalised <= table.normalised_null_high))[
        :3
    ].all()


def test_intervals_over_blocks_cover_where_those_over_nodes_would_not():
    rng = np.random.default_rng(0)
    block = np.repeat(np.arange(40), rng.integers(5, 60, 40))
    covered, naive = 0, 0
    for _ in range(300):
        values = (rng.standard_normal(40)[block] + rng.standard_normal(len(block)))[:, None]
        means = Means(values, block)
        covered += bool(abs(means.mean[0]) <= means.half_width()[0])
        naive += bool(abs(values.mean()) <= 1.96 * values.std() / len(block) ** 0.5)
    assert 0.90 <= covered / 300 <= 0.98
    assert naive / 300 < 0.6


def test_a_lead_is_called_separated_only_if_it_exceeds_every_other_distance():
    block = np.arange(200) % 20
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200, 3))
    lead, half = Means(noise * 0.1 + np.array([1.0, 0.0, 0.5]), block).lead(0, np.array([1, 2]))
    assert (lead > half).all()
    lead, half = Means(noise + np.array([1.0, 0.0, 0.99]), block).lead(0, np.array([1, 2]))
    assert (lead > half).tolist() == [True, False]


def test_blocks_are_connected_and_small_components_are_taken_together():
    graph = random_graph(400, 1.5, 2, 0)
    block = connected_blocks(graph, 20, np.random.default_rng(0))
    assert block.min() >= 0
    assert 20 <= len(np.unique(block)) <= 45
    import scipy.sparse.csgraph as csgraph

    for b in range(20):
        members = np.flatnonzero(block == b)
        assert csgraph.connected_components(graph.adjacency[members][:, members])[0] == 1


def test_a_sample_of_the_nodes_is_drawn_by_the_seed_and_named():
    graph = random_graph(300, 3.0, 2, 0)
    some, again, other = (measure(graph, sources=50, seed=s, permutations=19) for s in (1, 1, 2))
    assert str(some.rows()) == str(again.rows())
    assert some.table.margin.values.tolist() != other.table.margin.values.tolist()
    assert some.facts["roots"] == 50
    assert measure(graph, sources=10_000, permutations=19).facts["roots"] == 300


def test_large_graphs_are_measured_from_a_sample_and_no_table_of_pairs_is_made(monkeypatch):
    import tracemalloc

    graph = random_graph(30_000, 3.0, 2, 0)
    monkeypatch.setattr(quantities, "SEARCHED", 1e7)
    monkeypatch.setattr(quantities, "FEWEST_ROOTS", 200)
    monkeypatch.setattr(certainty, "OPERATIONS", 1e9)
    tracemalloc.start()
    found = measure(graph, permutations=19)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.facts["roots"] == 200
    assert found.facts["null_roots"] == 50
    assert peak < 600e6  # a byte for every pair would be 900e6


@pytest.mark.parametrize("share", [0.05, 0.1, 1.0])
def test_normalised_margins_do_not_shrink_with_the_share_of_labels(share):
    graph = standins.citation(0, nodes=2000)
    full = measure(make_graph(graph.edges, None, graph.labels), permutations=19).table.normalised.values
    hidden = np.random.default_rng(1).random(2000) >= share
    part = measure(make_graph(graph.edges, None, np.where(hidden, -1, graph.labels)), permutations=19).table
    assert part.normalised.values[1] == pytest.approx(full[1], abs=0.12)
    assert part.normalised.values[1] > 0.2
    assert (part.voted <= part.reached).all()


@pytest.mark.parametrize("graph", [standins.karate(), make_graph([[0, 1]], None, [0, 1]), random_graph(12, 1.0, 2, 0)])
def test_tiny_graphs_are_diagnosed_and_what_cannot_be_known_is_null(graph):
    found = diagnose(graph)
    text = json.dumps(found.json(), allow_nan=False)
    assert json.loads(text)["input"]["sizes"]["nodes"] == graph.nodes
    assert isinstance(found.figure(), Figure)


@pytest.mark.parametrize(
    ("edges", "labels", "sentence"),
    [([[0, 1]], [0, 0, -1], "of one class"), ([], [0, 1], "no edges"), ([[0, 1]], [2, 2, 2], "of one class")],
)
def test_graphs_with_nothing_to_compare_are_refused(edges, labels, sentence):
    with pytest.raises(UserError, match=sentence):
        diagnose(make_graph(edges, None, labels))


@pytest.mark.parametrize(
    "options", [{"bins": 1}, {"bins": 256}, {"sources": 0}, {"threshold": 1.0}, {"permutations": 3}]
)
def test_options_out_of_range_are_refused_by_name(options):
    with pytest.raises(UserError, match=f"{next(iter(options))} = .* is not allowed"):
        diagnose(standins.karate(), **options)


# the command


class Result(NamedTuple):
    code: object
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capsys):
    def call(*args: str) -> Result:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["lemmata", "diagnose", "graph", *args])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return Result(left.value.code, said.out, said.err)

    return call


@pytest.fixture
def karate():
    graph = standins.karate()
    np.savez("club.npz", edge_index=graph.edges.T, y=graph.labels)
    return "club.npz"


def strict(text: str):
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


def test_the_command_prints_the_table_and_leaves_figure_and_json_in_results(command, karate):
    done = command(karate)
    assert done.code == 0
    assert done.err == ""
    for words in ("nodes 34, edges 78, classes 2", "adjusted homophily", "core distance "):
        assert words in done.out
    folder = Path("results/diagnose/club")
    assert sorted(path.name for path in folder.iterdir()) == ["diagnosis.json", "figure.png"]
    assert f"{folder}: figure.png, diagnosis.json" in done.out


def test_the_commands_json_has_no_nan_and_goes_to_the_folder_with_the_figure(command, karate):
    done = command(karate, "--json", "--bins", "6", "--sources", "20", "--out", "a/b")
    answer = strict(done.out)
    assert answer["quantities"]["roots"] == 20
    assert answer["quantities"]["bins"] == 6
    assert [row["distance"] for row in answer["quantities"]["distances"]] == [1, 2, 3, 4, 5]
    assert set(answer["quantities"]["core"]) == {
        "distance",
        "margin",
        "runner_up",
        "lead",
        "separated",
        "beyond_chance",
    }
    assert strict(Path("a/b/diagnosis.json").read_text()) == answer
    assert answer["figure"] == "a/b/figure.png"
    assert Path("a/b/figure.png").stat().st_size > 5000
    assert done.err == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.npz"], "There is no graph at nowhere.npz"),
        (["damaged.npz"], "damaged.npz"),
        (["one.npz"], "of one class"),
        (["club.npz", "--bins", "1"], "bins = 1 is not allowed"),
        (["club.npz", "--bins", "many"], "--bins"),
        (["club.npz", "--threshold", "7"], "threshold = 7"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(command, karate, args, words):
    Path("damaged.npz").write_bytes(b"PK not a graph")
    np.savez("one.npz", edge_index=[[0], [1]], y=[0, 0])
    before = sorted(Path().iterdir())
    done = command(*args, "--out", "result")
    assert done.code == 2
    assert done.out == ""
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert sorted(Path().iterdir()) == before
