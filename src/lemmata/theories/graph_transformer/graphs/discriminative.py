"""The discriminative nodes of a real graph (probe 9): whose features point the way of their class.

For class c with feature matrix X_c [nodes of c, features] (raw: not centred, not normalised) take the three leading
eigenvectors V_3 of the second moment X_cᵀ X_c / n_c, represent R = X_c V_3 with mean r̄, and call node i discriminative
if cos∠(R_i, r̄) > τ. The paper says an angle below π/4; its tables correspond to τ = 0.7 (9.15).
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Bool, Float, Int

from lemmata.datasets.graphs.graph import Graph

THRESHOLD = 0.7
QUARTER_ANGLE = math.cos(math.pi / 4)
LEADING = 3
SMALL = 50
"""Up to this side a matrix is decomposed as a whole; beyond it only its leading vectors are searched, which is sparse
work and much faster."""


class Discriminative(NamedTuple):
    """What the rule says of every node."""

    cosine: Float[np.ndarray, " nodes"]
    """cos∠(R_i, r̄) within the node's class; NaN for unlabelled nodes, 0 where a representation is zero."""
    group: Int[np.ndarray, " nodes"]
    """The class of a discriminative node, else -1: what `count_shells` counts."""

    @property
    def nodes(self) -> Bool[np.ndarray, " nodes"]:
        return self.group >= 0


def find_discriminative(graph: Graph, threshold: float = THRESHOLD) -> Discriminative:
    """Apply the rule class by class; features stay sparse if they are."""
    cosine = np.full(graph.nodes, np.nan)
    for c in range(graph.classes):
        members = np.flatnonzero(graph.labels == c)
        features = sparse.csr_matrix(graph.features[members], dtype=np.float64)
        # along the leading eigenvectors of XᵀX, which are the right singular vectors of X
        cosine[members] = _cosines(np.asarray(features @ _singular(features, LEADING)[1].T))
    with np.errstate(invalid="ignore"):
        group = np.where(cosine > threshold, graph.labels, -1)
    return Discriminative(cosine, group)


def class_spectra(graph: Graph, count: int = SMALL) -> list[tuple[Float[np.ndarray, " eigenvalue"], float]]:
    """Of every class the `count` largest eigenvalues of X_cᵀ X_c / n_c and the sum of all (figures B.1 to B.4)."""
    spectra = []
    for c in range(graph.classes):
        features: Any = sparse.csr_matrix(graph.features[graph.labels == c], dtype=np.float64)
        nodes = max(features.shape[0], 1)
        eigenvalues = np.square(_singular(features, count)[0]) / nodes
        spectra.append((eigenvalues, float(np.square(features.data).sum()) / nodes))
    return spectra


def share_per_class(graph: Graph, cosine: Float[np.ndarray, " nodes"], threshold: float) -> Float[np.ndarray, " class"]:
    """Which share of every class is discriminative; NaN for a class without nodes."""
    counts = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        chosen = np.bincount(graph.labels[cosine > threshold], minlength=graph.classes)
        return chosen / counts


def _singular(features: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest singular values, largest first, and their right vectors [value, feature]; none of a zero matrix."""
    assert count <= SMALL, count
    side = min(features.shape)
    if not features.count_nonzero():
        return np.zeros(0), np.zeros((0, features.shape[1]))
    from scipy.sparse.linalg import svds
    from threadpoolctl import threadpool_limits

    # many products of small arrays: on a busy machine a second thread makes them a hundred times slower
    with threadpool_limits(1):
        if side <= SMALL:
            _, values, vectors = np.linalg.svd(features.toarray(), full_matrices=False)
            return values[:count], vectors[:count]
        # a fixed start, so that the same graph gives the same answer
        start = np.random.default_rng(0).standard_normal(side)
        _, values, vectors = svds(features, k=count, v0=start)
    order = np.argsort(-values)
    return values[order], np.asarray(vectors)[order]


def _cosines(represented: Float[np.ndarray, "node leading"]) -> Float[np.ndarray, " node"]:
    """Cosine of the angle between each row and the mean row; 0 where one of them is zero."""
    mean = represented.mean(axis=0) if len(represented) else represented.sum(axis=0)
    lengths = np.linalg.norm(represented, axis=1) * np.linalg.norm(mean)
    # rounding leaves the zero vector a direction; against the longest row it has none
    known = lengths > 1e-12 * lengths.max(initial=0.0)
    return np.divide(represented @ mean, lengths, out=np.zeros(len(represented)), where=known)
