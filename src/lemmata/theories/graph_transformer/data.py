"""One run's world: features, labels, distances and candidates, drawn on the host (section 2).

Graph, features, split and noise come from separate streams of the seed, so that the cells of one seed are paired: the
same nodes are labelled first whatever their number, and the same labels are flipped whatever the model.
"""

import functools
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Float, Int, UInt8, UInt16

import lemmata as lm
from lemmata.datasets.graphs.distances import distance_table
from lemmata.datasets.graphs.graph import Graph, make_graph
from lemmata.theories.graph_transformer import margins
from lemmata.theories.graph_transformer.graphs import Drawn, draw_graph
from lemmata.theories.graph_transformer.graphs.drawn import PerNode
from lemmata.theories.graph_transformer.graphs.positions import encode, unit_rows
from lemmata.theories.graph_transformer.sampling import Ordered, order_by_distance
from lemmata.theories.graph_transformer.setting import FAR, STRATA, NetworkSetting, Setting

Tuple = TypeVar("Tuple")
GRAPH_FIELDS = (
    "generator", "nodes", "patterns", "discriminative", "degree", "confusion", "intra_degree", "on_infeasible",
    "heterophily", "sequence", "edge_probability", "structure", "bins", "reach", "distance",
)  # fmt: skip


class World(NamedTuple):
    """What training and probes read. Distances are truncated beyond all that bins and shells tell apart."""

    features: Float[Any, "nodes inputs"]
    directions: Float[Any, "inputs patterns"]
    pattern: Int[Any, " nodes"]
    label: Float[Any, " nodes"]
    clean: Float[Any, " nodes"]
    taught: Float[Any, " nodes"]
    order: Int[Any, " nodes"]
    table: UInt8[Any, "nodes nodes"]
    node: UInt16[Any, "nodes nodes"]
    first: Int[Any, " nodes"]
    count: Int[Any, " nodes"]
    nearest: Int[Any, ""]
    farthest: Int[Any, ""]
    shell: Int[Any, "nodes strata_and_ends"]
    core: Int[Any, ""]
    facts: dict[str, Any]


def as_graph(drawn: Drawn) -> Graph:
    """The drawn graph as data: class 0 is label +1."""
    edges = np.argwhere(np.triu(drawn.adjacency, 1))
    return make_graph(edges, None, (1 - drawn.label) // 2, "drawn graph")


def depth(setting: Setting) -> int:
    """Where distances are truncated: bins, and the shells that the sampler names, stay apart from all beyond."""
    return max(setting.bins, setting.reach + 1, setting.distance + 1)


class Found(NamedTuple):
    """A graph, its truncated distances, and its nodes by distance."""

    drawn: Drawn
    table: UInt8[np.ndarray, "nodes nodes"]
    ordered: Ordered


def _find(setting: Setting, seed: int) -> Found:
    drawn, cap = draw_graph(setting, seed), depth(setting)
    table = distance_table(as_graph(drawn), cap)
    return Found(drawn, table, order_by_distance(table, cap))


_remembered = functools.lru_cache(maxsize=32)(_find)
"""The graph of a setting that has its graph fields alone: cells of one seed share it, and a stack has twenty seeds."""


def draw(setting: Setting, seed: int) -> Found:
    """The graph of the run."""
    if setting.generator == "given" or setting.cluster_signs is not None:
        return _find(setting, seed)
    alone: dict[str, Any] = {name: getattr(setting, name) for name in GRAPH_FIELDS}
    rest: dict[str, Any] = {"labelled": 1, "dimension": max(setting.patterns, 2)}
    return _remembered(Setting(**alone, **rest), seed)


def shells_of(table: UInt8[np.ndarray, "nodes nodes"], pattern: np.ndarray, cap: int) -> margins.Shells:
    """The shells of all nodes, the discriminative nodes of the two labels as groups."""
    return margins.count_shells([(np.arange(len(table)), table)], np.where(pattern < 2, pattern, -1), 2, cap)


def flip(label: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """The observed labels: round(ε_0 N) nodes, uniformly chosen, have theirs flipped; a larger ε_0 flips more."""
    chosen = lm.generator(seed, "noise").permutation(len(label))[: round(fraction * len(label))]
    observed = label.copy()
    observed[chosen] *= -1
    return observed


def draw_patterns(setting: NetworkSetting, pattern: PerNode, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """x_n = μ_j + c_0 g for nodes of these patterns, and μ_1 .. μ_M as columns of a random orthogonal matrix."""
    draws = lm.generator(seed, "features")
    square, upper = np.linalg.qr(draws.normal(size=(setting.dimension, setting.dimension)))
    directions = (square * np.sign(np.diag(upper)))[:, : setting.patterns]
    noise = draws.normal(size=(len(pattern), setting.dimension))
    return directions.T[pattern] + setting.feature_noise * noise, directions


def given_patterns(setting: Setting, pattern: PerNode, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The features of a given graph; orthonormal directions nearest to the mean features of each pattern."""
    features = np.asarray(setting.features, float)
    absent = lm.generator(seed, "features").normal(size=(setting.dimension, setting.patterns))
    present = [(j, pattern == j) for j in range(setting.patterns) if (pattern == j).any()]
    for j, members in present:
        absent[:, j] = features[members].mean(axis=0)
    left, _, right = np.linalg.svd(absent, full_matrices=False)
    return features, left @ right


def permuted_distances(table: np.ndarray, seed: int) -> np.ndarray:
    """The distances of all pairs of different nodes, shuffled among the pairs."""
    upper = np.triu_indices(len(table), 1)
    shuffled = np.zeros_like(table)
    shuffled[upper] = lm.generator(seed, "permuted distances").permutation(table[upper])
    return shuffled + shuffled.T


def prepare(setting: Setting, seed: int) -> World:
    """Everything that one run needs of its graph."""
    drawn, table, ordered = draw(setting, seed)
    pattern, label = drawn.pattern, drawn.label
    if setting.defect == "patterns":
        pattern = lm.generator(seed, "permuted patterns").permutation(pattern)
    if setting.defect == "labels":
        label = lm.generator(seed, "permuted labels").permutation(label)
    observed = flip(label, setting.label_noise, seed)
    permuted = setting.defect == "training_labels"
    taught = lm.generator(seed, "permuted labels").permutation(observed) if permuted else observed
    order = drawn.order if drawn.order is not None else lm.generator(seed, "split").permutation(setting.nodes)
    features, directions = node_features(setting, drawn, pattern, seed)

    cap = depth(setting)
    shells = shells_of(table, pattern, cap)
    facts, core = measure_graph(setting, shells, observed)
    seen = table
    if setting.defect == "distances":
        seen = permuted_distances(table, seed)
        ordered = order_by_distance(seen, cap)
    ranges = {"near": (1, setting.reach), "whole": (1, FAR), "core": (core, core), "single": (setting.distance,) * 2}
    nearest, farthest = ranges[setting.shells]
    first = ordered.start[:, nearest]
    count = ordered.start[:, min(farthest, cap) + 1] - first
    known = order[: setting.labelled]
    lonely = int((count[known] == 0).sum())
    if setting.require_candidates and lonely:
        raise lm.UserError(f"{lonely} of {setting.labelled} labelled nodes have no node at the sampled distances.")
    reached = reached_bins(setting.bins, ordered.start[known], first[known], count[known])
    facts |= {"lonely": np.float32(lonely), "reached_bins": padded(reached, setting.bin_room)}
    labels = (observed * 1.0, label * 1.0, taught * 1.0)
    # the beginnings of the shells 0 .. STRATA + 1, whatever the depth of the distances
    starts = np.pad(ordered.start, ((0, 0), (0, STRATA + 2)), "edge")[:, : STRATA + 2]
    shells_at = (ordered.node, first, count, nearest, farthest, starts, core)
    return narrow(World(features, directions, pattern, *labels, order, seen, *shells_at, facts))


def narrow(world: Tuple) -> Tuple:
    """All numbers in 32 bits, small unsigned ones as they are."""
    kinds = {"f": np.float32, "i": np.int32}
    return jax.tree.map(lambda each: np.asarray(each, kinds.get(np.asarray(each).dtype.kind)), world)


def padded(values: np.ndarray, room: int) -> Float[np.ndarray, " room"]:
    """The values of the bins that there are, in the room of the bins."""
    return np.pad(np.float32(values), (0, room - len(values)))


def node_features(setting: Setting, drawn: Drawn, pattern: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features [nodes, inputs] and patterns [inputs, M], with an absolute encoding beside them if there is one."""
    drawing = given_patterns if setting.generator == "given" else draw_patterns
    features, directions = drawing(setting, pattern, seed)
    features = unit_rows(features) if setting.unit_features else features
    if setting.positions == "none":
        return features, directions
    beside = setting.position_scale * encode(as_graph(drawn), setting.positions, setting.position_width)
    blank = np.zeros((setting.position_width, setting.patterns))
    return np.concatenate([features, beside], axis=1), np.concatenate([directions, blank])


def measure_graph(setting: Setting, shells: margins.Shells, label: np.ndarray) -> tuple[dict[str, Any], int]:
    """What is known of the graph before training (probe 1), in the room of the bins, and the core distance."""
    bins, room, classes = setting.bins, setting.bin_room, (1 - label) // 2
    delta, share = margins.winning_margins(shells, classes)
    core = margins.core_distance(margins.mean_margins(delta, share)[0], bins)
    lumped = shells.lumped(bins)
    mean, normalised = margins.mean_margins(*margins.winning_margins(lumped, classes))
    facts = {
        "count_margin": padded(mean, room),
        "normalised_margin": padded(normalised, room),
        "largest_shell": padded(lumped.size.max(axis=0), room),
        "core_distance": np.float32(core),
        "node_count": np.float32(setting.nodes),
        "positive_share": np.float32(np.mean(delta[:, core] > 0)),
        "bins_used": np.float32(bins),
    }
    return facts, core


def reached_bins(bins: int, start: np.ndarray, first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """1 for the bins that the candidates of some of these nodes reach: ranges of positions that overlap."""
    ends = np.concatenate([start[:, :bins], start[:, -1:]], axis=1)
    overlap = np.minimum(ends[:, 1:], (first + count)[:, None]) - np.maximum(ends[:, :-1], first[:, None])
    return np.asarray((overlap > 0).any(axis=0))
