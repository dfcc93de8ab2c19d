"""What a generator gives: edges, patterns and clean labels; and how patterns are spread."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

PerNode = Int[np.ndarray, " nodes"]


class Drawn(NamedTuple):
    """Patterns count from 0: 0 belongs to label +1, 1 to label -1, the others to none.

    `order` has the nodes that are labelled first at the front; None: a uniform permutation is drawn.
    """

    adjacency: Bool[np.ndarray, "nodes nodes"]
    pattern: PerNode
    label: PerNode
    order: PerNode | None = None


def spread_evenly(count: int, patterns: int, draws: np.random.Generator) -> Int[np.ndarray, " count"]:
    """`count` non-discriminative patterns (2 .. patterns - 1) in random order, as equally often as possible."""
    if count == 0:
        return np.zeros(0, int)
    kinds = 2 + draws.permutation(patterns - 2)
    return draws.permutation(np.resize(kinds, count))


def mirrored(upper: Bool[np.ndarray, "nodes nodes"]) -> Bool[np.ndarray, "nodes nodes"]:
    """The symmetric matrix of the entries above the diagonal."""
    upper = np.triu(upper, 1)
    return upper | upper.T
