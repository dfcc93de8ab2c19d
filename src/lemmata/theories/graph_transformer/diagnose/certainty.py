"""How surely mean margins are known: intervals over connected blocks, and a null band from permuted labels.

*Interval.* Margins of nearby nodes share neighbours. The nodes are cut into connected blocks, and the interval of a
mean is the cluster-robust t interval over blocks: nodes of one block may depend on each other in any way, blocks count
as independent. Where shells reach far beyond a block they are not, and the interval is too narrow.

*Null band.* Labels (each with whether its node is discriminative) are permuted over the labelled nodes. The band holds,
at all distances at once, 95 % of the graphs so made; its centre is what unequal classes give by chance. It is valid
whatever the graph is. Where permuting is costly it is made from some of the roots alone, which only widens it.
"""

import math

import numpy as np
from jaxtyping import Float, Int

from lemmata.datasets.graphs.distances import distance_blocks
from lemmata.datasets.graphs.graph import Graph
from lemmata.theories.graph_transformer.margins import PAIRS

OPERATIONS = 5e9
"""About how many multiplications the null band may take."""
FEWEST_BLOCKS = 5
LEVEL = 0.95


def connected_blocks(graph: Graph, count: int, rng: np.random.Generator) -> Int[np.ndarray, " nodes"]:
    """Cut the graph into connected blocks: `count` random nodes, each with the nodes that are nearest to it.

    Components without such a node are taken together to further blocks of the average size.
    """
    from scipy.sparse.csgraph import connected_components, dijkstra

    centres = np.sort(rng.choice(graph.nodes, min(count, graph.nodes), replace=False))
    _, _, nearest = dijkstra(
        graph.adjacency, directed=False, indices=centres, unweighted=True, min_only=True, return_predecessors=True
    )
    block = np.searchsorted(centres, nearest)
    left = np.flatnonzero(nearest < 0)
    _, component = connected_components(graph.adjacency, directed=False)
    _, part, sizes = np.unique(component[left], return_inverse=True, return_counts=True)
    begins = np.cumsum(sizes) - sizes
    block[left] = len(centres) + (begins * len(centres) // graph.nodes)[part]
    return block


class Means:
    """Means over roots of values[root, distance] (NaN: absent) that depend on each other within blocks."""

    def __init__(self, values: Float[np.ndarray, "root distance"], block: Int[np.ndarray, " root"]) -> None:
        known = np.isfinite(values)
        count = np.maximum(known.sum(axis=0), 1)
        filled = np.where(known, values, 0.0)
        self.mean = filled.sum(axis=0) / count
        number = np.unique(block, return_inverse=True)[1]
        self.blocks = int(number.max()) + 1
        influence = np.where(known, filled - self.mean, 0.0) / count
        self.sums = self._per_block(influence, number)
        """What every block contributes to the error of the mean, [block, distance]."""
        size = self._per_block(known, number)
        self.present = (size > 0).sum(axis=0)
        self.effective = size.sum(axis=0) ** 2 / np.maximum(np.square(size).sum(axis=0), 1)
        """How many blocks of equal size are worth these."""

    def _per_block(self, values: np.ndarray, number: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(number, column, self.blocks) for column in values.T], axis=1)

    def half_width(self, level: float = LEVEL) -> Float[np.ndarray, " distance"]:
        """t √(G/(G-1) Σ_g (Σ_{n in g} (x_n - x̄)/R)²) over the G blocks with roots that have such a shell.

        Blocks are unequal, so t has as many degrees of freedom as the blocks are worth.
        """
        return self._half(self.sums, self.present, self.effective, level)

    def lead(self, best: int, others: Int[np.ndarray, " other"]) -> tuple[np.ndarray, np.ndarray]:
        """By how much the mean at `best` exceeds the others, and half the width of their joint intervals."""
        present, effective = (np.minimum(n[others], n[best]) for n in (self.present, self.effective))
        level = 1 - (1 - LEVEL) / max(len(others), 1)
        half = self._half(self.sums[:, [best]] - self.sums[:, others], present, effective, level)
        return self.mean[best] - self.mean[others], half

    @staticmethod
    def _half(sums: np.ndarray, present: np.ndarray, effective: np.ndarray, level: float) -> np.ndarray:
        from scipy.special import stdtrit

        error = np.sqrt(present / np.maximum(present - 1, 1) * np.square(sums).sum(axis=0))
        enough = effective >= FEWEST_BLOCKS
        return np.where(enough, stdtrit(np.maximum(effective - 1, 1), (1 + level) / 2) * error, np.nan)


def permuted_means(
    graph: Graph,
    group: np.ndarray,
    roots: np.ndarray,
    distances: np.ndarray,
    bins: int,
    count: int,
    rng: np.random.Generator,
) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Mean margins [permutation, distance] and normalised ones, with labels permuted; and over how many roots.

    Normalised is by the labelled nodes of a shell, as the margins are.
    """
    classes = graph.classes
    affordable = int(OPERATIONS / (2 * graph.nodes * classes * count * len(distances)))
    if affordable < len(roots):
        roots = np.sort(rng.choice(roots, max(affordable, 50), replace=False)) if len(roots) > 50 else roots
    table = np.concatenate([part for _, part in distance_blocks(graph, bins, roots)])
    labelled = np.flatnonzero(graph.labels >= 0)
    sums = np.zeros((2, count, len(distances)))
    voting = (graph.labels >= 0).astype(np.float32)
    known = np.zeros(len(distances))
    together = max(1, PAIRS // (graph.nodes * classes))
    rows = max(1, PAIRS // graph.nodes)
    for first in range(0, count, together):
        batch = range(first, min(first + together, count))
        members = np.zeros((graph.nodes, len(batch), classes), np.float32)
        label = np.empty((len(roots), len(batch)), np.int64)
        for b in range(len(batch)):
            placed = graph.labels.copy(), group.copy()
            order = rng.permutation(labelled)
            for values, source in zip(placed, (graph.labels, group), strict=True):
                values[labelled] = source[order]
            label[:, b] = placed[0][roots]
            chosen = np.flatnonzero(placed[1] >= 0)
            members[chosen, b, placed[1][chosen]] = 1.0
        for start in range(0, len(roots), rows):
            part = slice(start, start + rows)
            for i, z in enumerate(distances):
                shell = (table[part] == z).astype(np.float32)
                counts = (shell @ members.reshape(graph.nodes, -1)).reshape(len(shell), len(batch), classes)
                own = np.take_along_axis(counts, label[part][:, :, None], axis=2)[:, :, 0]
                delta = own - (counts.sum(axis=2) - own) / (classes - 1)
                votes = shell @ voting
                size = np.maximum(votes, 1.0)
                known[i] += (votes > 0).sum() if first == 0 else 0
                sums[0, batch.start : batch.stop, i] += delta.sum(axis=0)
                sums[1, batch.start : batch.stop, i] += (delta / size[:, None]).sum(axis=0)
    return (sums[0] / len(roots), sums[1] / np.maximum(known, 1)), len(roots)


def null_band(means: Float[np.ndarray, "permutation distance"]) -> Float[np.ndarray, "3 distance"]:
    """Centre, lower and upper end of the band that holds `LEVEL` of the permutations at all distances at once."""
    centre, spread = means.mean(axis=0), means.std(axis=0)
    worst = np.divide(np.abs(means - centre), spread, out=np.zeros_like(means), where=spread > 0).max(axis=1)
    reach = np.sort(worst)[min(math.ceil(LEVEL * (len(means) + 1)), len(means)) - 1] * spread
    return np.stack([centre, centre - reach, centre + reach])
