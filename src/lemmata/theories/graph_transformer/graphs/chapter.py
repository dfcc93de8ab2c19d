"""G1, the graph of the paper's synthetic experiments (2.2): non-discriminative nodes see discriminative ones."""

from collections.abc import Iterator

import numpy as np

import lemmata as lm
from lemmata.theories.graph_transformer.graphs.drawn import Drawn, spread_evenly
from lemmata.theories.graph_transformer.setting import Setting


def refusals(setting: Setting) -> Iterator[str]:
    if 2 * setting.pairs > setting.nodes:
        yield f"discriminative = {setting.discriminative:g} needs an even number of nodes, not {setting.nodes}."
    if setting.on_infeasible == "cap" or not setting.capped:
        return
    needed = max(setting.relevant_neighbours, setting.intra + 1)
    what = f"intra_degree = {setting.intra} needs {setting.intra + 1}"
    if setting.relevant_neighbours > setting.pairs:
        what = f"degree = {setting.degree} with confusion = {setting.confusion:g} needs {setting.relevant_neighbours}"
    yield (
        f"{what} nodes of each discriminative pattern, but discriminative = {setting.discriminative:g} gives "
        f"{setting.pairs}: the smallest feasible γ_d is {2 * needed / setting.nodes:g} (or on_infeasible = cap)."
    )


def neighbours(setting: Setting) -> tuple[int, int]:
    """k_*, k_#: neighbours of a non-discriminative node in its own and in the other discriminative set."""
    relevant = setting.relevant_neighbours
    if relevant <= setting.pairs:
        return relevant, setting.degree - relevant
    relevant = setting.pairs
    return relevant, round(relevant * setting.confusion / (1 - setting.confusion))


def draw(setting: Setting, draws: np.random.Generator) -> Drawn:
    nodes, half = setting.nodes, setting.pairs
    others = nodes - 2 * half
    pattern = np.concatenate([np.repeat([0, 1], half), spread_evenly(others, setting.patterns, draws)])
    label = np.concatenate([np.repeat([1, -1], half), draws.choice([1, -1], others)])
    adjacency = np.zeros((nodes, nodes), bool)
    counts = neighbours(setting)
    for side, sign in ((0, 1), (1, -1)):
        # the discriminative set `side` as seen by every other node: its own or the confusing one
        ranks = draws.random((others, half)).argsort(axis=1).argsort(axis=1)
        wanted = np.where(label[2 * half :] == sign, *counts)[:, None]
        adjacency[2 * half :, side * half : (side + 1) * half] = ranks < wanted
    adjacency |= adjacency.T
    least = min(setting.intra, half - 1)
    for node in draws.permutation(2 * half):
        first = half * (node >= half)
        own = adjacency[node, first : first + half]
        missing = max(setting.degree - int(adjacency[node].sum()), least - int(own.sum()))
        if missing > 0:
            free = first + np.flatnonzero(~own)
            free = free[free != node]
            if missing > len(free) and setting.on_infeasible == "error":
                what = "a discriminative node cannot have so many neighbours"
                raise lm.UserError(f"degree = {setting.degree} is not allowed: {what}.")
            chosen = draws.choice(free, min(missing, len(free)), replace=False)
            adjacency[node, chosen] = adjacency[chosen, node] = True
    return Drawn(adjacency, pattern, label)
