"""G2, the planted block graph (2.3): every neighbourhood holds a fraction γ_d of discriminative nodes."""

from collections.abc import Iterator

import numpy as np

from lemmata.theories.graph_transformer.graphs.drawn import Drawn, mirrored, spread_evenly
from lemmata.theories.graph_transformer.setting import Setting


def refusals(setting: Setting) -> Iterator[str]:
    largest = 2 * (1 - setting.confusion) * setting.degree / setting.nodes
    if largest > 1:
        yield (
            f"degree = {setting.degree} is not allowed for {setting.nodes} nodes: the edge probability "
            f"2 (1 - ε_S) D/N = {largest:g} exceeds 1."
        )
    if 2 * setting.pairs > 2 * (setting.nodes // 2):
        yield f"discriminative = {setting.discriminative:g} leaves no balanced labels for {setting.nodes} nodes."


def draw(setting: Setting, draws: np.random.Generator) -> Drawn:
    nodes, half = setting.nodes, setting.pairs
    plus = nodes - nodes // 2
    label = np.repeat([1, -1], [plus, nodes - plus])
    others = (spread_evenly(side - half, setting.patterns, draws) for side in (plus, nodes - plus))
    pattern = np.concatenate([part for k, rest in enumerate(others) for part in (np.repeat(k, half), rest)])
    agree = label[:, None] == label
    confusion = 1 - setting.confusion if setting.heterophily else setting.confusion
    factor = np.where(agree, 2 * (1 - confusion), 2 * confusion)
    if not setting.heterophily:
        plain = pattern >= 2
        factor = np.where(plain[:, None] & plain, 1.0, factor)
    adjacency = mirrored(draws.random((nodes, nodes)) < factor * setting.degree / nodes)
    return Drawn(adjacency, pattern, label)
