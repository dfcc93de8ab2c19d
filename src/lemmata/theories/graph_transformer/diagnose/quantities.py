"""The theory's quantities on any labelled graph: at which distances classes vote for the label, and how surely.

Winning margins (Definition 3.4.1, probe 1) are measured at every distance, normalised by the labelled nodes of the
shell (so that they do not shrink with the share of labels), with two answers to "how surely": an
interval over connected blocks and a null band from permuted labels (`certainty`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from lemmata.datasets.graphs.graph import Graph
from lemmata.theories.graph_transformer.diagnose.certainty import Means, connected_blocks, null_band, permuted_means
from lemmata.theories.graph_transformer.graphs.discriminative import THRESHOLD, find_discriminative
from lemmata.theories.graph_transformer.margins import Shells, choose_roots, mean_margins, shells_from, winning_margins

BLOCKS, SMALLEST_BLOCK = 50, 5
SEARCHED, FEWEST_ROOTS = 5e8, 500
"""Nodes and edges that the searches from all roots may look at, and roots that are taken whatever that costs."""
REACHED = 0.05
"""A distance is considered if at least this share of the roots has a labelled node there."""


class Core(NamedTuple):
    """A core distance; `separated`: its margin exceeds that of every other distance by more than chance."""

    distance: int
    margin: float
    runner_up: int | None
    lead: float | None
    """The margin less the runner-up's."""
    separated: bool | None
    """None where it cannot be told."""
    beyond_chance: bool
    """Whether the margin lies outside the null band."""


@dataclass(frozen=True)
class Quantities:
    """What was measured. `table` is labelled by distance; `facts` are plain values of the graph."""

    table: xr.Dataset
    facts: dict[str, Any]
    core: Core
    """By counts, the paper's definition."""
    normalised_core: Core

    def rows(self) -> list[dict[str, Any]]:
        """The table, a row a distance."""
        names = [str(name) for name in self.table.data_vars]
        return [
            {"distance": int(z), **{name: self.table[name].values[i].item() for name in names}}
            for i, z in enumerate(self.table.distance.values)
        ]


def measure(
    graph: Graph,
    bins: int = 20,
    threshold: float = THRESHOLD,
    sources: int | None = None,
    seed: int = 0,
    permutations: int = 99,
    tell: Callable[[float], None] = lambda share: None,
) -> Quantities:
    """Margins of a graph at the distances 1 to bins - 1.

    threshold: cosine above which a node is discriminative; sources: nodes to measure from (None: as many as `SEARCHED`
    allows); seed: of that sample, the blocks and the permutations.
    """
    group, rule = _groups(graph, threshold)
    affordable = max(FEWEST_ROOTS, int(SEARCHED / (graph.nodes + len(graph.edges))))
    roots = choose_roots(graph, sources or affordable, seed)
    # labelled nodes that are not discriminative are a group of their own, so that labelled ones can be counted
    kinds = np.where(group >= 0, group, np.where(graph.labels >= 0, graph.classes, -1))
    shells = shells_from(graph, kinds, bins, roots, graph.classes + 1, lambda share: tell(0.7 * share))
    size, labelled = shells.size[:, :bins], shells.members[:, :bins].sum(axis=2)
    votes = Shells(roots, labelled, shells.members[:, :bins, : graph.classes])
    delta, share = winning_margins(votes, graph.labels)
    last = max(1, int(np.flatnonzero((size > 0).any(axis=0))[-1]))
    kept = np.arange(1, last + 1)
    delta, share, size, labelled = delta[:, kept], share[:, kept], size[:, kept], labelled[:, kept]
    considered = (labelled > 0).mean(axis=0) >= REACHED
    considered[0] |= not considered.any()

    rng = np.random.default_rng(seed)
    block = connected_blocks(graph, min(BLOCKS, max(1, graph.nodes // SMALLEST_BLOCK)), rng)[roots]
    counted, normalised = (Means(values, block) for values in (delta, share))
    permuted, permuted_roots = permuted_means(graph, group, roots, kept[considered], bins, permutations, rng)
    variables = {
        "shell_size": size.mean(axis=0),
        "largest_shell": size.max(axis=0).astype(float),
        "reached": (size > 0).mean(axis=0),
        "voted": (labelled > 0).mean(axis=0),
        "positive": (delta > 0).mean(axis=0),
    }
    counts, shares = mean_margins(delta, share)
    means = counts, np.where((labelled > 0).any(axis=0), shares, np.nan)
    for name, mean, spread, null in zip(("margin", "normalised"), means, (counted, normalised), permuted, strict=True):
        half = spread.half_width()
        band = np.full((3, len(kept)), np.nan)
        band[:, considered] = null_band(null)
        variables |= {
            name: mean,
            f"{name}_low": mean - half,
            f"{name}_high": mean + half,
            f"{name}_null": band[0],
            f"{name}_null_low": band[1],
            f"{name}_null_high": band[2],
        }
    table = xr.Dataset({name: ("distance", values) for name, values in variables.items()}, {"distance": kept})
    cores = [
        _core(spread, np.flatnonzero(considered), null_band(null))
        for spread, null in zip((counted, normalised), permuted, strict=True)
    ]
    facts = _facts(graph, group, rule, roots) | {
        "threshold": threshold if rule == "features" else None,
        "bins": bins,
        "seed": seed,
        "permutations": permutations,
        "null_roots": permuted_roots,
        "blocks": counted.blocks,
    }
    return Quantities(table, facts, *cores)


def _groups(graph: Graph, threshold: float) -> tuple[np.ndarray, str]:
    """The class of every discriminative node, and how they were found; without features every labelled node is one."""
    if graph.features.shape[1]:
        group = find_discriminative(graph, threshold).group
        if (group >= 0).any():
            return group, "features"
    return graph.labels, "labels"


def _core(means: Means, considered: Int[np.ndarray, " index"], band: Float[np.ndarray, "3 index"]) -> Core:
    place = int(np.argmax(means.mean[considered]))
    best = int(considered[place])
    beyond = not band[1, place] <= means.mean[best] <= band[2, place]
    others = considered[considered != best]
    if not len(others):
        return Core(best + 1, float(means.mean[best]), None, None, None, beyond)
    lead, half = means.lead(best, others)
    second = int(np.argmin(lead))
    known = np.isfinite(half).all()
    separated = bool((lead > half).all()) if known else None
    return Core(best + 1, float(means.mean[best]), int(others[second]) + 1, float(lead[second]), separated, beyond)


def _facts(graph: Graph, group: np.ndarray, rule: str, roots: np.ndarray) -> dict[str, Any]:
    """What is known of the graph without distances."""
    from scipy.sparse.csgraph import connected_components

    components, component = connected_components(graph.adjacency, directed=False)
    labelled = graph.labels >= 0
    counts = np.bincount(graph.labels[labelled], minlength=graph.classes)
    ends = graph.labels[graph.edges]
    ends = ends[(ends >= 0).all(axis=1)]
    degrees = np.bincount(ends.ravel(), minlength=graph.classes) / max(ends.size, 1)
    chance = float(np.square(degrees).sum())
    homophily = graph.homophily
    average = counts.mean()
    return {
        "source": graph.source,
        "nodes": graph.nodes,
        "edges": len(graph.edges),
        "classes": graph.classes,
        "features": graph.features.shape[1],
        "labelled": int(labelled.sum()),
        "components": int(components),
        "unreachable": 1 - float(np.square(np.bincount(component) / graph.nodes).sum()),
        "homophily": homophily,
        "chance_homophily": chance,
        "adjusted_homophily": (homophily - chance) / (1 - chance) if chance < 1 else math.nan,
        "class_counts": [int(count) for count in counts],
        "largest_gap": float(np.abs(counts - average).max()),
        "balance_limit": 10 * math.sqrt(labelled.sum()),
        "discriminative_by": rule,
        "discriminative": float((group >= 0).sum() / labelled.sum()),
        "roots": len(roots),
    }
