"""The cluster cycle whose nodes have two labels, one for each sign sequence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.datasets.graphs.distances import distance_table
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.four_classes.setting import FourSetting
from lemmata.theories.graph_transformer.graphs.cycle import cluster_ring
from lemmata.theories.graph_transformer.graphs.drawn import Drawn, spread_evenly
from lemmata.theories.graph_transformer.margins import count_shells, mean_margins, winning_margins
from lemmata.theories.graph_transformer.sampling import order_by_distance

CLASSES = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""The labels of the groups A_1 .. A_4, whose patterns are μ_1 .. μ_4."""


class World(NamedTuple):
    """Features, labels of both coordinates, the split, distances, and the margins of both coordinates."""

    features: Float[Any, "nodes dimension"]
    directions: Float[Any, "dimension patterns"]
    pattern: Any
    label: Float[Any, "coordinate nodes"]
    order: Any
    table: Any
    node: Any
    margins: Float[Any, "coordinate bin"]
    bins_used: Float[Any, ""]


def prepare(setting: FourSetting, seed: int) -> World:
    draws = lm.generator(seed, "graph")
    signs = np.array([[1 if s == "+" else -1 for s in text] for text in (setting.first, setting.second)])
    clusters, each = signs.shape[1], setting.nodes // signs.shape[1]
    marked = round(setting.discriminative * each)
    kinds = [CLASSES.index((int(a), int(b))) for a, b in signs.T]
    # spread_evenly gives patterns from 2 on; here those from 4 on are not discriminative
    others = [2 + spread_evenly(each - marked, setting.patterns - 2, draws) for _ in kinds]
    pattern = np.concatenate(
        [np.concatenate([np.repeat(k, marked), rest]) for k, rest in zip(kinds, others, strict=True)]
    )
    label = np.repeat(signs, each, axis=1)
    drawn = Drawn(cluster_ring(clusters, each, 1.0, draws), pattern, label[0])
    table = distance_table(data.as_graph(drawn), setting.bins)
    margins = []
    for j in range(2):
        own = np.array([(1 - label_[j]) // 2 for label_ in CLASSES])
        group = np.where(pattern < 4, own[np.minimum(pattern, 3)], -1)
        shells = count_shells([(np.arange(setting.nodes), table)], group, 2, setting.bins).lumped(setting.bins)
        margins.append(mean_margins(*winning_margins(shells, (1 - label[j]) // 2))[0])
    if setting.defect == "distances":
        table = data.permuted_distances(table, seed)
    features, directions = data.draw_patterns(setting, pattern, seed)
    room = setting.bin_room
    padded = np.pad(np.stack(margins), ((0, 0), (0, room - setting.bins)))
    return World(
        data.unit_rows(features).astype(np.float32),
        directions.astype(np.float32),
        pattern.astype(np.int32),
        label.astype(np.float32),
        lm.generator(seed, "split").permutation(setting.nodes).astype(np.int32),
        table,
        order_by_distance(table, setting.bins).node,
        padded.astype(np.float32),
        np.float32(setting.bins),
    )
