"""Graphs with the same edges: a root and three layers, each joined to the next; patterns decide the label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

import lemmata as lm
from lemmata.datasets.graphs.distances import distance_table
from lemmata.datasets.graphs.graph import make_graph
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.whole_graphs.setting import LAYER, LAYERS, MAJORITY, NODES, GraphSetting


class World(NamedTuple):
    """Training graphs first; all have the same edges, and so the same distances. `counting`: how often it is right."""

    features: Float[Any, "graphs nodes dimension"]
    label: Float[Any, " graphs"]
    counting: Float[Any, ""]
    directions: Float[Any, "dimension patterns"]
    table: Int[Any, "nodes nodes"]
    bins_used: Float[Any, ""]


def layers() -> np.ndarray:
    """min(distance, 254) between the nodes: the root, then layer after layer, each joined to the next."""
    layer = np.concatenate([[0], np.repeat(np.arange(1, LAYERS + 1), LAYER)])
    edges = np.argwhere(np.triu(np.abs(layer[:, None] - layer) == 1))
    return distance_table(make_graph(edges, None, np.zeros(NODES, int), "layers"), 254)


def draw_patterns(setting: GraphSetting, count: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Patterns (from 0) of the nodes of `count` graphs, and their labels in +- pairs."""
    label = np.resize([1, -1], count)
    coin = draws.choice([1, -1], count) if setting.layer_balance == "independent" else -label
    near = draws.random(count) < 0.5
    pattern = np.full((count, NODES), 2)
    for i in range(count):

        def majority(sign: int) -> np.ndarray:
            own = (1 - sign) // 2
            return draws.permutation(np.repeat([own, 1 - own], [MAJORITY, LAYER - MAJORITY]))

        plain = 3 + draws.integers(0, setting.patterns - 3, LAYER)
        beside = majority(int(coin[i]))
        inner, outer = (beside, plain) if near[i] else (plain, beside)
        pattern[i, 1:] = np.concatenate([inner, majority(int(label[i])), outer])
    return pattern, label


def prepare(setting: GraphSetting, seed: int) -> World:
    pattern, label = draw_patterns(setting, setting.samples + setting.test_samples, lm.generator(seed, "graph"))
    features, directions = data.draw_patterns(setting, pattern.ravel(), seed)
    features = data.unit_rows(features).reshape(*pattern.shape, -1)
    lead = np.sign((pattern == 0).sum(axis=1) - (pattern == 1).sum(axis=1))
    counting = np.where(lead == 0, 0.5, lead == label)[setting.samples :].mean()
    return World(
        features.astype(np.float32),
        label.astype(np.float32),
        np.float32(counting),
        directions.astype(np.float32),
        layers().astype(np.int32),
        np.float32(setting.bins),
    )
