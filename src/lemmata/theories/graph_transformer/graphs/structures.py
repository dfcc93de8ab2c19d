"""Graphs whose labels are decided by a structure that an absolute encoding can see (3.7).

Eight structures, labels alternating; the nodes of the first four are labelled, those of the others are the test. Of
every structure two fifths carry discriminative patterns, one in twelve of them the other class's.

clusters: dense inside, sparse across (Laplacian eigenvectors). cycles: a structure is made of many cycles, of length 3
for label +1 and 5 for label -1 (return probabilities of a random walk). degrees: random graphs of degree about 4 and 12
(degree classes). rings: layers around a centre, completely joined to the next ones (distance to the centroid).
"""

from collections.abc import Iterator

import numpy as np

from lemmata.theories.graph_transformer.graphs.drawn import Drawn, mirrored, spread_evenly
from lemmata.theories.graph_transformer.setting import Setting

COUNT = 8
INSIDE, ACROSS = 0.3, 0.01
LENGTHS = (3, 5)
DEGREES = (4, 12)
OTHERS = 1 / 12
"""Share of a structure's discriminative nodes that carry the other class's pattern."""


def refusals(setting: Setting) -> Iterator[str]:
    unit = COUNT * (LENGTHS[0] * LENGTHS[1] if setting.structure == "cycles" else 1)
    if setting.nodes % unit or setting.nodes < 2 * unit:
        what = f"{COUNT} structures of {setting.structure}"
        yield f"nodes = {setting.nodes} is not allowed: {what} need a multiple of {unit}."


def draw(setting: Setting, draws: np.random.Generator) -> Drawn:
    each = setting.nodes // COUNT
    structure = np.repeat(np.arange(COUNT), each)
    label = np.where(structure % 2 == 0, 1, -1)
    marked = round(setting.discriminative * each)
    counts = [marked - round(OTHERS * marked), round(OTHERS * marked)]
    patterns = []
    for own in [0, 1] * (COUNT // 2):
        patterns += [np.repeat([own, 1 - own], counts), spread_evenly(each - marked, setting.patterns, draws)]
    adjacency = {"clusters": _clusters, "cycles": _cycles, "degrees": _degrees, "rings": _rings}[setting.structure]
    drawn = adjacency(structure, each, draws)
    # the nodes of the first half of the structures, shuffled, then the others
    halves = (structure < COUNT // 2, structure >= COUNT // 2)
    order = np.concatenate([draws.permutation(np.flatnonzero(half)) for half in halves])
    return Drawn(drawn, np.concatenate(patterns), label, order)


def _clusters(structure: np.ndarray, each: int, draws: np.random.Generator) -> np.ndarray:
    probability = np.where(structure[:, None] == structure, INSIDE, ACROSS)
    return mirrored(draws.random(probability.shape) < probability)


def _cycles(structure: np.ndarray, each: int, draws: np.random.Generator) -> np.ndarray:
    adjacency = np.zeros((len(structure),) * 2, bool)
    for k in range(COUNT):
        length = LENGTHS[k % 2]
        # which nodes form a cycle is random, so that cycles say nothing about patterns
        for cycle in draws.permutation(np.flatnonzero(structure == k)).reshape(-1, length):
            adjacency[cycle, np.roll(cycle, 1)] = adjacency[np.roll(cycle, 1), cycle] = True
    return adjacency


def _degrees(structure: np.ndarray, each: int, draws: np.random.Generator) -> np.ndarray:
    degree = np.asarray(DEGREES)[structure % 2]
    inside = structure[:, None] == structure
    return mirrored(inside & (draws.random(inside.shape) < degree / each))


def _rings(structure: np.ndarray, each: int, draws: np.random.Generator) -> np.ndarray:
    # two halves that meet at the centre only, so that the centre has the smallest eccentricity
    half = np.arange(len(structure)) % 2
    beside = (np.abs(structure[:, None] - structure) == 1) & (half[:, None] == half)
    beside[0], beside[:, 0] = structure == 0, structure == 0  # node 0 of the innermost ring is the centre
    beside[0, 0] = False
    return beside
