"""What the paper's appendix says of real graphs, computed again, with the printed numbers beside it.

A graph does not depend on the seed: every table is a function of the setting alone. Variables per class are padded with
NaN to the classes of the largest of these graphs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.datasets.graphs import HETEROPHILOUS, Graph, find, load, standins
from lemmata.theories.graph_transformer.graphs.discriminative import (
    LEADING,
    QUARTER_ANGLE,
    THRESHOLD,
    class_spectra,
    find_discriminative,
    share_per_class,
)
from lemmata.theories.graph_transformer.margins import (
    choose_roots,
    core_distance,
    mean_margins,
    shells_from,
    winning_margins,
)

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


class RealSetting(lm.Setting):
    """A real graph on the user's disk, or the stand-in that is always there."""

    graph: str = lm.choice("standin", "which graph; the stand-in is a citation-like one made by the program", *NAMES)
    threshold: float = lm.number(
        THRESHOLD, "τ", "cosine above which a node is discriminative", low=-1.0, high=1.0, open_ends="low high"
    )
    labels: str = lm.choice("all", "labels that a diagnosis is given: all, or 20 nodes of a class", "all", "few")
    bins: int = lm.size(13, "Z", "distances of the margins are 1 to Z - 1", low=2, high=255)


def chosen(setting: RealSetting) -> Graph:
    """The graph that the setting names."""
    return standins.citation(0) if setting.graph == "standin" else load(find(setting.graph))


def padded(values: Any, room: int = CLASSES) -> np.ndarray:
    """float64 [room], NaN after the values."""
    full = np.full(room, np.nan)
    full[: len(values)] = values
    return full


def class_sizes(graph: Graph) -> np.ndarray:
    return np.bincount(graph.labels[graph.labels >= 0], minlength=graph.classes).astype(float)


measured = partial(lm.simulation, host=True, precision="float64")
_LABELS = {"class": tuple(str(c) for c in range(CLASSES))}


@measured(
    lm.Variable("eigenvalue", ("class", "rank"), "λ", "eigenvalues of the second moment, largest first", optional=True),
    lm.Variable("leading_share", ("class",), "", "share of the three largest eigenvalues in their sum", optional=True),
    lm.Variable("class_size", ("class",), "", "nodes of the class", optional=True),
    labels=_LABELS,
)
def measure_spectrum(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Figures B.1 to B.4: eigenvalues of every class's features (probe 9)."""
    graph = chosen(setting)
    spectra = class_spectra(graph, RANKS)
    eigenvalue = np.full((CLASSES, RANKS), np.nan)
    for row, (spectrum, _) in zip(eigenvalue, spectra, strict=False):
        row[: len(spectrum)] = spectrum
    share = [spectrum[:LEADING].sum() / total if total > 0 else np.nan for spectrum, total in spectra]
    return {"eigenvalue": eigenvalue, "leading_share": padded(share), "class_size": padded(class_sizes(graph))}


@measured(
    lm.Variable("computed", ("class",), "", "per cent of the class that is discriminative", optional=True),
    lm.Variable("printed", ("class",), "", "the same as the paper prints it", optional=True),
    lm.Variable("quarter", ("class",), "", "per cent at an angle below π/4", optional=True),
    lm.Variable("class_size", ("class",), "", "nodes of the class", optional=True),
    labels=_LABELS,
)
def measure_discriminative(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Tables B.1 to B.4: how many nodes of every class are discriminative (probe 9, 9.15)."""
    graph = chosen(setting)
    cosine = find_discriminative(graph, setting.threshold).cosine
    return {
        "computed": padded(100 * share_per_class(graph, cosine, setting.threshold)),
        "printed": padded(DISCRIMINATIVE.get(setting.graph, ())),
        "quarter": padded(100 * share_per_class(graph, cosine, QUARTER_ANGLE)),
        "class_size": padded(class_sizes(graph)),
    }


@measured(
    lm.Variable("margin", ("distance",), "Δ̄(z)", "mean winning margin"),
    lm.Variable("normalised", ("distance",), "Δ̄(z)/|N_z|", "mean margin as a share of the shell", optional=True),
    lm.Variable("reached", ("distance",), "", "share of the nodes that have a node at this distance"),
    lm.Variable("distance_value", ("distance",), "z", "distance"),
)
def measure_margins(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Figure B.5: winning margins over the distances 1 to Z - 1 (probe 1)."""
    graph = chosen(setting)
    group = find_discriminative(graph, setting.threshold).group
    shells = shells_from(graph, group, setting.bins, choose_roots(graph, None, 0))
    delta, share = winning_margins(shells, graph.labels)
    margin, normalised = mean_margins(delta, share)
    reached = np.mean(shells.size > 0, axis=0)
    kept = slice(1, setting.bins)
    return {
        "margin": margin[kept],
        "normalised": np.where(reached > 0, normalised, np.nan)[kept],
        "reached": reached[kept],
        "distance_value": np.arange(1.0, setting.bins),
    }


@measured(
    lm.Variable(
        "computed", ("reading",), "", "per cent of nodes with a positive margin at the core distance", optional=True
    ),
    lm.Variable("core", ("reading",), "z_m", "core distance, from 1 to Z - 1"),
    lm.Variable("with_shell", ("reading",), "", "per cent of the nodes that have a node at the core distance"),
    lm.Variable("printed", (), "", "table B.5", optional=True),
    lm.Variable("nearest", ("reading",), "", "1 for the reading nearest to the printed number, else 0"),
    labels={"reading": tuple(READINGS)},
)
def measure_core(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Table B.5: Δ_n(z_m) > 0, as a share of the nodes whose shell at z_m is not empty."""
    graph = chosen(setting)
    roots = choose_roots(graph, None, 0)
    groups = {True: find_discriminative(graph, setting.threshold).group, False: graph.labels}
    margins = {
        disc: winning_margins(shells_from(graph, group, setting.bins, roots), graph.labels)
        for disc, group in groups.items()
    }
    share, core, with_shell = [], [], []
    for disc, by_normalised in READINGS.values():
        delta, normalised = margins[disc]
        z = core_distance(mean_margins(delta, normalised)[int(by_normalised)], setting.bins)
        known = np.isfinite(normalised[:, z])
        share.append(100 * np.mean(delta[known, z] > 0) if known.any() else np.nan)
        core.append(float(z))
        with_shell.append(100 * known.mean())
    target = CORE_SHARE.get(setting.graph, np.nan)
    gap = np.abs(np.asarray(share) - target)
    nearest = gap == np.min(gap)
    return {
        "computed": np.asarray(share),
        "core": np.asarray(core),
        "with_shell": np.asarray(with_shell),
        "printed": np.asarray(target),
        "nearest": nearest.astype(float),
    }


@measured(
    lm.Variable("computed", ("statistic",), "", "of the graph as loaded"),
    lm.Variable("printed", ("statistic",), "", "as the paper prints it", optional=True),
    labels={"statistic": STATISTICS},
)
def measure_statistics(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Table B.6: nodes, undirected edges, classes and features."""
    graph = chosen(setting)
    computed = [graph.nodes, len(graph.edges), graph.classes, graph.features.shape[1]]
    return {
        "computed": np.asarray(computed, float),
        "printed": padded(PRINTED_STATISTICS.get(setting.graph, ()), len(STATISTICS)),
    }


@measured(
    lm.Variable("class_size", ("class",), "", "nodes of the class", optional=True),
    lm.Variable("computed", ("quantity",), "", "average class, largest gap of a class to it, and the allowed gap"),
    lm.Variable("printed", ("quantity",), "", "as the paper prints it", optional=True),
    labels={**_LABELS, "quantity": BALANCE},
)
def measure_balance(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Table B.8: are the classes balanced up to 10 √N (probe 10)?"""
    graph = chosen(setting)
    sizes = class_sizes(graph)
    average = sizes.mean()
    return {
        "class_size": padded(sizes),
        "computed": np.asarray([average, np.abs(sizes - average).max(), 10 * np.sqrt(sizes.sum())]),
        "printed": padded(PRINTED_BALANCE.get(setting.graph, ()), len(BALANCE)),
    }
