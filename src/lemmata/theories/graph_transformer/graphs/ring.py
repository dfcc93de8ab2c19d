"""A ring of nodes with patterns drawn independently (P17): shells have two nodes, so masses hardly depend on others."""

from collections.abc import Iterator

import numpy as np

from lemmata.theories.graph_transformer.graphs.drawn import Drawn, PerNode
from lemmata.theories.graph_transformer.setting import Setting


def refusals(setting: Setting) -> Iterator[str]:
    if setting.nodes < 5:
        yield f"nodes = {setting.nodes} is not allowed: a ring has at least 5 nodes."
    if setting.patterns < 3:
        yield "patterns = 2 is not allowed: some nodes of a ring may not be discriminative."


def draw_patterns(setting: Setting, draws: np.random.Generator) -> tuple[PerNode, PerNode]:
    """Patterns by the law (γ_d/2, γ_d/2, rest evenly), and classes (0: label +1), by coin where no pattern decides."""
    fraction, others = setting.discriminative, setting.patterns - 2
    law = [fraction / 2, fraction / 2, *[(1 - fraction) / others] * others]
    pattern = draws.choice(setting.patterns, setting.nodes, p=law)
    return pattern, np.where(pattern < 2, pattern, draws.integers(0, 2, setting.nodes))


def draw(setting: Setting, draws: np.random.Generator) -> Drawn:
    pattern, own = draw_patterns(setting, draws)
    beside = np.roll(np.eye(setting.nodes, dtype=bool), 1, axis=1)
    return Drawn(beside | beside.T, pattern, 1 - 2 * own)
