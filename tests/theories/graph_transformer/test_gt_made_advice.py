"""Made graphs on which advice is tested are what their names say, and the table counts what was said and found."""

import numpy as np
import pytest
import xarray as xr

from lemmata.datasets.graphs import distance_table
from lemmata.theories.graph_transformer.real_graphs.advice import QUESTIONS
from lemmata.theories.graph_transformer.real_graphs.experiments import rates
from lemmata.theories.graph_transformer.real_graphs.made import BLOCKS, GIVEN, KINDS, make


@pytest.mark.parametrize("kind", KINDS)
def test_a_made_graph_depends_on_its_seed_alone_and_gives_as_many_labels_as_it_says(kind):
    (graph, given), (again, same), (other, _) = make(kind, 1), make(kind, 1), make(kind, 2)
    assert np.array_equal(graph.edges, again.edges)
    assert np.array_equal(given, same)
    assert not np.array_equal(graph.labels, other.labels)
    assert given.sum() == (BLOCKS[kind].given if kind in BLOCKS else GIVEN)
    assert graph.labels.min() == 0
    assert len(graph.edges) > graph.nodes / 2


def adjusted(kind: str) -> float:
    """Homophily above that of edges drawn by degree alone."""
    found = []
    for seed in range(3):
        graph, _ = make(kind, seed)
        share = np.bincount(graph.labels[graph.edges].ravel()) / (2 * len(graph.edges))
        chance = np.square(share).sum()
        found.append((graph.homophily - chance) / (1 - chance))
    return float(np.mean(found))


def test_classes_attract_or_repel_each_other_where_the_name_says_so_and_nowhere_else():
    for kind in ("homophily", "weak homophily", "useless features", "no features", "rare class", "small components"):
        assert adjusted(kind) > 0.1
    assert adjusted("heterophily") < -0.2
    for kind in KINDS:
        if "no signal" in kind or kind in {"features decide", "many features"}:
            assert abs(adjusted(kind)) < 0.05


def test_labels_of_two_hops_are_the_sign_of_the_features_at_distance_two():
    graph, _ = make("two hops", 0)
    far = (distance_table(graph, 3) == 2) @ graph.features[:, 0]
    known = np.abs(far) > 1e-4
    assert known.mean() > 0.7
    assert np.array_equal(graph.labels[known], (far[known] > 0).astype(int))


def test_the_table_counts_what_is_said_confirmed_and_contradicted():
    seeds = {  # does, gain, low, high, fresh, error, best, its error
        "confirmed": (1, 0.2, 0.1, 0.3, 0.2, 0.05, 0.3, 0.05),
        "contradicted": (1, 0.2, 0.1, 0.3, -0.2, 0.05, -0.1, 0.05),
        "other sign, not clearly": (-1, -0.2, -0.3, -0.1, 0.05, 0.05, 0.0, 0.05),
        "nothing said where a gain is clear": (0, 0.1, -0.1, 0.3, 0.1, 0.05, 0.2, 0.05),
        "nothing could be measured": (np.nan,) * 8,
    }
    values = np.full((8, 1, len(seeds), len(QUESTIONS)), np.nan)
    values[:, 0, :, 0] = np.transpose(list(seeds.values()))
    names = ("does", "gain", "low", "high", "fresh", "fresh_error", "best", "best_error")
    data = xr.Dataset(
        {
            name: (("kind", "seed", "question"), value) if i < 6 else (("kind", "seed"), value[:, :, 0])
            for i, (name, value) in enumerate(zip(names, values, strict=True))
        },
        {"kind": ["toy"], "question": list(QUESTIONS)},
    )
    table = rates(data)
    row, total = (dict(zip(table.columns, each, strict=True)) for each in table.rows)
    counts = {"made": 4, "follow": 2, "avoid": 1, "best arm clear": 2, "of these followed": 1, "said": 3}
    counts |= {"confirmed": 1, "other sign": 2, "contradicted": 1, "agree": "2/4"}
    for each in (row, total):
        assert {name: each[name] for name in counts} == counts
    assert row["graph"] == "toy"
    assert row["reported gain"] == "+0.075"
