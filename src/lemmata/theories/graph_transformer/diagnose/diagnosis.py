"""The diagnosis of a graph: what helps on it, as measured, with the theory's quantities beside it."""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

import lemmata as lm
from lemmata.datasets.graphs import Graph, from_any
from lemmata.theories.graph_transformer.diagnose import figure
from lemmata.theories.graph_transformer.diagnose.findings import findings
from lemmata.theories.graph_transformer.diagnose.quantities import measure
from lemmata.theories.graph_transformer.diagnose.reading import assumptions, by_distance, reading, tried
from lemmata.theories.graph_transformer.diagnose.ridge import one_thread
from lemmata.theories.graph_transformer.diagnose.trial import try_arms
from lemmata.theories.graph_transformer.graphs.discriminative import THRESHOLD


def diagnose(
    data: Annotated[
        Any,
        "A graph: an npz file, Planetoid's, Geom-GCN's or OGB's files, a folder of edges and labels, these as two or "
        "three files (edges, labels, features), or the name of a known one in $LEMMATA_DATA/graphs.",
    ],
    *,
    bins: Annotated[int, "Distances are 1 to bins - 1."] = 20,
    threshold: Annotated[float, "Cosine above which a node's features count as its class's."] = THRESHOLD,
    sources: Annotated[int | None, "Nodes to measure margins from; default all, on large graphs a sample."] = None,
    permutations: Annotated[int, "Permutations of the labels for the null band."] = 99,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> lm.Diagnosis:
    """Say what the neighbours of a labelled graph's nodes tell about a label, and what to sample."""
    _check(threshold, bins=bins, sources=sources, permutations=permutations)
    progress(0.0)
    graph, files = from_any(data)
    graph = _consecutive(graph)
    with one_thread():
        trial = try_arms(graph, seed, lambda share: progress(0.6 * share))
        measured = measure(
            graph, bins, threshold, sources, seed, permutations, lambda share: progress(0.6 + 0.4 * share)
        )
    progress(1.0)
    facts = measured.facts
    return lm.Diagnosis(
        kind="graph",
        source=graph.source,
        sizes={name: facts[name] for name in ("nodes", "edges", "classes", "features", "labelled")},
        findings=findings(trial),
        quantities={
            "tried": [] if trial is None else tried(trial),
            "distances": by_distance(measured, trial),
            "core": measured.core._asdict(),
            "normalised_core": measured.normalised_core._asdict(),
            **{name: value for name, value in facts.items() if name not in {"nodes", "edges", "classes", "features"}},
            "reading": reading(measured),
        },
        assumptions=assumptions(measured),
        files=files,
        draw=lambda: figure.draw(graph.source, measured, trial),
    )


def _check(threshold: float, **counts: int | None) -> None:
    limits = {"bins": (2, 255), "sources": (1, math.inf), "permutations": (19, 100_000)}
    for name, (low, high) in limits.items():
        value = counts[name]
        if value is None and name == "sources":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
            ends = f"at least {low}" if high == math.inf else f"from {low} to {high}"
            raise lm.UserError(f"{name} = {value} is not allowed: {name} is an integer {ends}.")
    if not -1 < threshold < 1:
        raise lm.UserError(f"threshold = {threshold} is not allowed: it is a cosine greater than -1 and less than 1.")


def _consecutive(graph: Graph) -> Graph:
    """The graph with the classes that occur numbered from 0; refused if that leaves nothing to compare."""
    known = graph.labels >= 0
    classes, number = np.unique(graph.labels[known], return_inverse=True)
    if len(classes) < 2:
        raise lm.UserError(
            f"{graph.source}: all labelled nodes are of one class (-1 means unlabelled); at least two are compared."
        )
    if not len(graph.edges):
        raise lm.UserError(f"{graph.source} has no edges, so there are no distances to measure.")
    labels = graph.labels.copy()
    labels[known] = number
    return dataclasses.replace(graph, labels=labels)
