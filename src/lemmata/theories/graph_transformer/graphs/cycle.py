"""G3, the cluster cycle (2.4), which plants an even core distance; its margins in closed form; and a planner."""

import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

import lemmata as lm
from lemmata.theories.graph_transformer.graphs.drawn import Drawn, mirrored, spread_evenly
from lemmata.theories.graph_transformer.setting import Setting


def refusals(setting: Setting) -> Iterator[str]:
    signs = setting.cluster_labels
    if signs.ndim != 1 or len(signs) < 4 or not np.isin(signs, [1, -1]).all() or signs.sum() != 0:
        yield "cluster_signs must be at least four labels +1 and -1, one per cluster, that add up to 0."
    elif setting.nodes % len(signs):
        yield f"nodes = {setting.nodes} is not allowed: it must be a multiple of the {len(signs)} clusters."
    elif round(setting.discriminative * setting.nodes / len(signs)) < 1:
        yield f"discriminative = {setting.discriminative:g} leaves a cluster without discriminative nodes."


def draw(setting: Setting, draws: np.random.Generator) -> Drawn:
    signs = setting.cluster_labels
    clusters, per_cluster = len(signs), setting.nodes // len(signs)
    marked = round(setting.discriminative * per_cluster)
    patterns = []
    for sign in signs:
        patterns += [np.repeat((1 - sign) // 2, marked), spread_evenly(per_cluster - marked, setting.patterns, draws)]
    adjacency = cluster_ring(clusters, per_cluster, setting.edge_probability, draws)
    return Drawn(adjacency, np.concatenate(patterns).astype(int), np.repeat(signs, per_cluster).astype(int))


def cluster_ring(clusters: int, per_cluster: int, probability: float, draws: np.random.Generator) -> np.ndarray:
    """Edges between the nodes of neighbouring clusters of a cycle, none inside a cluster."""
    cluster = np.repeat(np.arange(clusters), per_cluster)
    beside = np.isin((cluster[:, None] - cluster) % clusters, [1, clusters - 1])
    if probability == 1:
        return beside
    return mirrored(beside & (draws.random(beside.shape) < probability))


def cluster_margins(signs: Int[np.ndarray, " clusters"]) -> Float[np.ndarray, "distance clusters"]:
    """Δ_n(z)/u for the nodes of every cluster, z = 1 .. C/2, with p = 1; the node itself is not left out."""
    half = len(signs) // 2
    margins = []
    for z in range(1, half + 1):
        ahead, behind = np.roll(signs, -z), np.roll(signs, z)
        margins.append(signs * ((ahead + behind) / (2 if z == half else 1)) + (z == 2))
    return np.stack(margins).astype(float)


def plan_cycle(clusters: int, core: int) -> str:
    """The sequence of `clusters` labels that plants this core distance with the largest gap to all other distances.

    Brute force over sequences that begin with +, add up to 0 and have positive margins in every cluster at the core
    distance; ties go to the lexicographically first, + before -. Gaps are in units of u, the node itself not left out.
    No odd distance is possible: it would force an odd period, which contradicts the balance.
    """
    if clusters % 2 or not 4 <= clusters <= 14:
        raise lm.UserError(f"clusters = {clusters} is not allowed: an even number from 4 to 14.")
    if not 1 <= core <= clusters // 2:
        there = f"a cycle of {clusters} clusters has distances 1 to {clusters // 2}"
        raise lm.UserError(f"core = {core} is not allowed: {there}.")
    best, best_gap = "", 0.0
    for plus in itertools.combinations(range(1, clusters), clusters // 2 - 1):
        signs = np.full(clusters, -1)
        signs[[0, *plus]] = 1
        margins = cluster_margins(signs)
        if margins[core - 1].min() <= 0:
            continue
        mean = margins.mean(axis=1)
        gap = mean[core - 1] - np.delete(mean, core - 1).max()
        if gap > best_gap + 1e-9:  # combinations come in the lexicographic order that puts + first
            best, best_gap = "".join("+" if s > 0 else "-" for s in signs), gap
    if not best:
        odd = " No odd core distance is possible on a cycle." if core % 2 else ""
        raise lm.UserError(f"No balanced sequence of {clusters} clusters has its core at distance {core}.{odd}")
    return best
