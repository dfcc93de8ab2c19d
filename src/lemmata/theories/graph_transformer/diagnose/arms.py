"""What is compared on the user's graph: a node's own features, alone or with means of nodes drawn around it.

Every arm draws the same number of nodes, as a sampled graph transformer does (3.5.2): from one distance, from several
with a quota each (pooled in one mean, or one mean a distance, which is what a distance encoding can tell apart), from
the union of several as they come, or from the whole graph. Without features, the labels of a node's neighbours that are
in the training part take their place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Float, Int

from lemmata.datasets.graphs.distances import distance_blocks
from lemmata.datasets.graphs.graph import Graph

DRAWN = 20
"""Nodes that an arm draws for every node (3.5.2)."""
FARTHEST = 5
"""Distances that are tried; beyond them shells of real graphs hold most of the graph."""
MOST = 3
"""Distances that are drawn from together."""
COVERED = 0.5
"""A distance is tried if at least this share of the labelled nodes has a node there."""
WIDTH = 96
"""Principal components of the features that are kept."""
SPARSE = 0.2
"""Features with a smaller share of entries other than 0 count as bags of words."""
ALONE, WHOLE = "features alone", "whole graph"


@dataclass(frozen=True)
class Arm:
    """A way of drawing nodes: how many from each distance (0: from the whole graph), and how they are put together."""

    distances: tuple[int, ...] = ()
    how: str = "quotas"
    """quotas (one mean of all), blocks (a mean a distance), union (as they come), counts (only how many there are)."""
    counted: bool = False
    """Whether the model is also told how many nodes there are."""

    @property
    def quota(self) -> int:
        return DRAWN // max(len(self.distances), 1)

    @property
    def name(self) -> str:
        if not self.distances:
            return ALONE
        if self.distances == (0,):
            return f"{DRAWN} nodes of the {WHOLE}"
        where = spelled(self.distances)
        if self.how == "counts":
            return f"the number of nodes at {where}"
        number = " and how many there are" if self.counted else ""
        if len(self.distances) == 1:
            return f"{DRAWN} nodes of {where}{number}"
        if self.how == "union":
            return f"{DRAWN} nodes of the union of {where}"
        each = f"{self.quota} nodes of each of {where}"
        return f"{each}, told apart" if self.how == "blocks" else f"{each}, pooled{number}"


def arms_for(distances: list[int]) -> list[Arm]:
    """Each distance alone, the nearest two and three in three ways, the nearest one and two with their numbers of
    nodes, these numbers alone, the whole graph; the first is no graph."""
    several = [tuple(distances[:count]) for count in range(2, min(MOST, len(distances)) + 1)]
    ways = [Arm(chosen, how) for chosen in several for how in ("quotas", "blocks", "union")]
    counted = [Arm(tuple(distances[:count]), counted=True) for count in range(1, min(2, len(distances)) + 1)]
    counted += [Arm(tuple(distances[:2]), "counts")] if distances else []
    return [Arm(), *(Arm((z,)) for z in distances), *ways, *counted, Arm((0,))]


def spelled(distances: tuple[int, ...]) -> str:
    """distance 1; distances 1 to 3."""
    first, last = distances[0], distances[-1]
    return f"distance {first}" if first == last else f"distances {first} {'and' if last == first + 1 else 'to'} {last}"


class Drawn(NamedTuple):
    """Nodes drawn for every root: `members[z]` at distance z (0: of the whole graph), -1 where there are no more."""

    root: Int[np.ndarray, " root"]
    members: Int[np.ndarray, "distance root drawn"]
    size: Int[np.ndarray, "distance root"]

    def of(self, arm: Arm, rng: np.random.Generator) -> list[Int[np.ndarray, "root drawn"]]:
        """The nodes that an arm draws, a table for every mean."""
        if arm.how == "union" and len(arm.distances) > 1:
            sizes = self.size[list(arm.distances)]
            together = np.full((len(self.root), DRAWN), -1)
            for i, pool in enumerate(sizes.T):
                share = rng.multivariate_hypergeometric(pool, min(DRAWN, pool.sum()))
                parts = [self.members[z, i, :count] for z, count in zip(arm.distances, share, strict=True)]
                together[i, : share.sum()] = np.concatenate(parts)
            return [together]
        if arm.how == "counts":
            return []
        parts = [self.members[z, :, : arm.quota] for z in arm.distances]
        return parts if arm.how == "blocks" else [np.concatenate(parts, axis=1)] if parts else []

    def counts(self, arm: Arm) -> list[Float[np.ndarray, "root 1"]]:
        """Logarithms of how many nodes lie at the distances, where the arm is told that."""
        sizes = [self.size[z, :, None] for z in arm.distances] if arm.counted or arm.how == "counts" else []
        return [np.log1p(size) for size in sizes]


def draw_neighbours(
    graph: Graph, roots: Int[np.ndarray, " root"], rng: np.random.Generator, tell: Callable[[float], None]
) -> Drawn:
    """Up to `DRAWN` nodes at every distance from the roots, and of the whole graph, without repetition."""
    members = np.full((FARTHEST + 1, len(roots), DRAWN), -1)
    size = np.zeros((FARTHEST + 1, len(roots)), np.int64)
    row = 0
    for _, distances in distance_blocks(graph, FARTHEST + 1, roots):
        for each in distances:
            for z in range(1, FARTHEST + 1):
                shell = np.flatnonzero(each == z)
                size[z, row] = len(shell)
                kept = rng.choice(shell, min(DRAWN, len(shell)), replace=False, shuffle=True)
                members[z, row, : len(kept)] = kept
            row += 1
        tell(row / len(roots))
    others = min(DRAWN, graph.nodes - 1)
    for i, root in enumerate(roots):
        kept = rng.choice(graph.nodes - 1, others, replace=False)
        members[0, i, :others] = kept + (kept >= root)
    size[0] = graph.nodes - 1
    return Drawn(roots, members, size)


def represent(features: Any) -> Float[np.ndarray, "nodes width"]:
    """Features as at most `WIDTH` principal components: rows of length one for bags of words, else standardised."""
    from sklearn.utils.extmath import randomized_svd

    filled = features.count_nonzero() if sparse.issparse(features) else np.count_nonzero(features)
    if filled < SPARSE * np.prod(features.shape, dtype=float):
        rows: Any = sparse.csr_matrix(features, dtype=np.float32)
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        rows = sparse.diags_array(1 / np.where(length > 0, length, 1.0)) @ rows
    else:
        rows = np.asarray(features.toarray() if sparse.issparse(features) else features, np.float64)
        rows = rows - rows.mean(axis=0)
        spread = rows.std(axis=0)
        rows = rows[:, spread > 0] / spread[spread > 0]
    if min(rows.shape) > WIDTH:
        left, values, _ = randomized_svd(rows, WIDTH, random_state=0, n_iter=4)  # pyright: ignore[reportArgumentType]
        return left * values
    return rows.toarray() if sparse.issparse(rows) else rows


def mean_of(values: Float[np.ndarray, "nodes width"], drawn: Int[np.ndarray, "root drawn"]) -> np.ndarray:
    """The mean over the drawn nodes of every root; 0 where there are none."""
    known = drawn >= 0
    total = sum(values[np.where(known[:, k], drawn[:, k], 0)] * known[:, [k]] for k in range(drawn.shape[1]))
    return total / np.maximum(known.sum(axis=1), 1)[:, None]


def block(values: Float[np.ndarray, "root width"]) -> Float[np.ndarray, "root width"]:
    """Centred, with rows of mean square length 1, so that a penalty treats blocks alike."""
    centred = values - values.mean(axis=0)
    length = np.sqrt(np.square(centred).sum(axis=1).mean())
    return centred / length if length > 0 else centred
