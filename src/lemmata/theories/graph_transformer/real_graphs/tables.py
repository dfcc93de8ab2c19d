"""What the paper's appendix says of real graphs, computed again, with the printed numbers beside it.

A graph does not depend on the seed: every table is a function of the setting alone. Variables per class are padded with
NaN to the classes of the largest of these graphs.
"""

from functools import partial
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.datasets.graphs import HETEROPHILOUS, Graph
from lemmata.theories.graph_transformer import margins
from lemmata.theories.graph_transformer.deep.data import read
from lemmata.theories.graph_transformer.graphs import discriminative
from lemmata.theories.graph_transformer.graphs.discriminative import THRESHOLD, find_discriminative

NAMES = {
    "standin": "stand-in",
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "actor": "Actor",
    "pascal": "PascalVOC-SP-1G",
    "arxiv": "Ogbn-Arxiv",
    **{name: name for name in HETEROPHILOUS},
}

DISCRIMINATIVE = {
    "cora": (82.05, 88.02, 82.54, 78.12, 78.17, 83.56, 76.11),
    "pubmed": (82.18, 93.34, 80.48),
    "actor": (42.09, 53.33, 57.85, 60.93, 64.79),
    "pascal": (98.62, 100.0, 100.0),
}
"""Tables B.1 to B.4: per cent of every class that is discriminative."""

CORE_SHARE = {"cora": 95.68, "pubmed": 95.50, "actor": 86.31, "pascal": 98.54}
"""Table B.5: per cent of the nodes with a positive winning margin at the core distance."""

PRINTED_STATISTICS = {
    "cora": (2708, 5278, 7, 1433),
    "pubmed": (19717, 44324, 3, 500),
    "actor": (7600, 26659, 5, 932),
    "pascal": (479, 2718, 3, 14),
    "arxiv": (169343, 1166243, 40, 128),
}
"""Table B.6; Cora is absent there, its numbers are the text's. Pascal's edges may be counted in both directions."""

PRINTED_BALANCE = {"cora": (386.86, 431.14, 520.38), "actor": (1520, 667, 871.78)}
"""Table B.8: nodes per class on average, the largest gap of a class to it, and 10 √N."""

CLASSES = 40
RANKS = 50
STATISTICS = ("nodes", "edges", "classes", "features")
BALANCE = ("average", "largest gap", "10 √N")
READINGS = {
    "discriminative, core by counts": (True, False),
    "discriminative, core by normalised": (True, True),
    "all nodes, core by counts": (False, False),
    "all nodes, core by normalised": (False, True),
}
"""The four natural readings of table B.5 (9.22): which neighbours vote, and which margin chooses the core distance."""
measured = partial(lm.simulation, host=True, precision="float64")
LABELS = {"class": tuple(str(c) for c in range(CLASSES))}


class RealSetting(lm.Setting):
    """A real graph on the user's disk, or the stand-in that is always there."""

    graph: str = lm.choice("standin", "which graph; the stand-in is a citation-like one made by the program", *NAMES)
    threshold: float = lm.number(THRESHOLD, "τ", "discriminative: cosine above τ", low=-1, high=1, open_ends="low high")
    labels: str = lm.choice("all", "labels that a diagnosis is given: all, or 20 nodes of a class", "all", "few")
    rounds: int = lm.size(4, "", "rounds, in each of which another part of the labels is hidden", high=4)
    bins: int = lm.size(13, "Z", "distances of the margins are 1 to Z - 1", low=2, high=255)


def padded(values: Any, room: int = CLASSES) -> np.ndarray:
    """float64 [room], NaN after the values."""
    full = np.full(room, np.nan)
    full[: len(values)] = values
    return full


def class_sizes(graph: Graph) -> np.ndarray:
    return np.bincount(graph.labels[graph.labels >= 0], minlength=graph.classes).astype(float)


@measured(
    lm.Variable("eigenvalue", ("class", "rank"), "λ", "eigenvalues of the second moment, largest first", True),
    lm.Variable("leading_share", ("class",), "", "share of the three largest eigenvalues in their sum", True),
    lm.Variable("class_size", ("class",), "", "nodes of the class", True),
    labels=LABELS,
)
def measure_spectrum(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Figures B.1 to B.4: eigenvalues of every class's features (probe 9)."""
    graph = read(setting.graph)
    spectra = discriminative.class_spectra(graph, RANKS)
    rows = [padded(spectrum, RANKS) for spectrum, _ in spectra]
    eigenvalue = np.pad(rows, ((0, CLASSES - len(rows)), (0, 0)), constant_values=np.nan)
    share = [spectrum[: discriminative.LEADING].sum() / total if total > 0 else np.nan for spectrum, total in spectra]
    return {"eigenvalue": eigenvalue, "leading_share": padded(share), "class_size": padded(class_sizes(graph))}


@measured(
    lm.Variable("computed", ("class",), "", "per cent of the class that is discriminative", True),
    lm.Variable("printed", ("class",), "", "the same as the paper prints it", True),
    lm.Variable("quarter", ("class",), "", "per cent at an angle below π/4", True),
    lm.Variable("class_size", ("class",), "", "nodes of the class", True),
    labels=LABELS,
)
def measure_discriminative(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Tables B.1 to B.4: how many nodes of every class are discriminative (probe 9, 9.15)."""
    graph = read(setting.graph)
    cosine = find_discriminative(graph, setting.threshold).cosine
    return {
        "computed": padded(100 * discriminative.share_per_class(graph, cosine, setting.threshold)),
        "printed": padded(DISCRIMINATIVE.get(setting.graph, ())),
        "quarter": padded(100 * discriminative.share_per_class(graph, cosine, discriminative.QUARTER_ANGLE)),
        "class_size": padded(class_sizes(graph)),
    }


@measured(
    lm.Variable("margin", ("distance",), "Δ̄(z)", "mean winning margin"),
    lm.Variable("normalised", ("distance",), "Δ̄(z)/|N_z|", "mean margin as a share of the shell", True),
    lm.Variable("reached", ("distance",), "", "share of the nodes that have a node at this distance"),
    lm.Variable("distance_value", ("distance",), "z", "distance"),
)
def measure_margins(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Figure B.5: winning margins over the distances 1 to Z - 1 (probe 1)."""
    graph = read(setting.graph)
    group = find_discriminative(graph, setting.threshold).group
    shells = margins.shells_from(graph, group, setting.bins, margins.choose_roots(graph, None, 0))
    delta, share = margins.winning_margins(shells, graph.labels)
    margin, normalised = margins.mean_margins(delta, share)
    reached = np.mean(shells.size > 0, axis=0)
    by_distance = {"margin": margin, "normalised": np.where(reached > 0, normalised, np.nan), "reached": reached}
    by_distance["distance_value"] = np.arange(len(margin), dtype=float)
    return {name: values[1 : setting.bins] for name, values in by_distance.items()}


@measured(
    lm.Variable("computed", ("reading",), "", "per cent of nodes with a positive margin at the core distance", True),
    lm.Variable("core", ("reading",), "z_m", "core distance, from 1 to Z - 1"),
    lm.Variable("with_shell", ("reading",), "", "per cent of the nodes that have a node at the core distance"),
    lm.Variable("printed", (), "", "table B.5", True),
    lm.Variable("nearest", ("reading",), "", "1 for the reading nearest to the printed number, else 0"),
    labels={"reading": tuple(READINGS)},
)
def measure_core(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Table B.5: Δ_n(z_m) > 0, as a share of the nodes whose shell at z_m is not empty."""
    graph = read(setting.graph)
    roots = margins.choose_roots(graph, None, 0)
    groups = {True: find_discriminative(graph, setting.threshold).group, False: graph.labels}
    shells = {disc: margins.shells_from(graph, group, setting.bins, roots) for disc, group in groups.items()}
    readings = []
    for disc, by_normalised in READINGS.values():
        delta, normalised = margins.winning_margins(shells[disc], graph.labels)
        z = margins.core_distance(margins.mean_margins(delta, normalised)[int(by_normalised)], setting.bins)
        known = np.isfinite(normalised[:, z])
        readings.append((100 * np.mean(delta[known, z] > 0) if known.any() else np.nan, z, 100 * known.mean()))
    share, core, with_shell = np.array(readings, float).T
    target = CORE_SHARE.get(setting.graph, np.nan)
    gap = np.abs(share - target)
    nearest = (gap == np.min(gap)).astype(float)
    by_reading = {"computed": share, "core": core, "with_shell": with_shell, "nearest": nearest}
    return {**by_reading, "printed": np.asarray(target)}


@measured(
    lm.Variable("computed", ("statistic",), "", "of the graph as loaded"),
    lm.Variable("printed", ("statistic",), "", "as the paper prints it", True),
    labels={"statistic": STATISTICS},
)
def measure_statistics(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Table B.6: nodes, undirected edges, classes and features."""
    graph = read(setting.graph)
    computed = np.array([graph.nodes, len(graph.edges), graph.classes, graph.features.shape[1]], float)
    return {"computed": computed, "printed": padded(PRINTED_STATISTICS.get(setting.graph, ()), len(STATISTICS))}


@measured(
    lm.Variable("class_size", ("class",), "", "nodes of the class", True),
    lm.Variable("computed", ("quantity",), "", "average class, largest gap of a class to it, and the allowed gap"),
    lm.Variable("printed", ("quantity",), "", "as the paper prints it", True),
    labels={**LABELS, "quantity": BALANCE},
)
def measure_balance(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Table B.8: are the classes balanced up to 10 √N (probe 10)?"""
    graph = read(setting.graph)
    sizes = class_sizes(graph)
    computed = np.array([sizes.mean(), np.abs(sizes - sizes.mean()).max(), 10 * np.sqrt(sizes.sum())])
    printed = padded(PRINTED_BALANCE.get(setting.graph, ()), len(BALANCE))
    return {"class_size": padded(sizes), "computed": computed, "printed": printed}
