"""Teachers f*(X) = σ(V*XS*): scores S*, values V*, positions P (sections 2.2, 2.3).

All of it is host work in NumPy, from the run's seed: one draw serves training, theory and tests. A support is the set
G^i of the K tokens that output column i averages: S*[i', i] = 1/K for i' in G^i.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

import lemmata as lm

if TYPE_CHECKING:
    from lemmata.theories.teacher_student.setting import Setting

TEACHERS = ("cnn", "cnn_2d", "gcn", "sts", "gslp", "layer", "supports", "scores")
GRAPHS = ("cycle", "circulant", "blocks", "regular", "given")
VALUE_LAWS = ("teacher", "gaussian", "identity", "positive", "scaled_rows", "equal_rows", "two_rows", "given")
POSITIONS = ("haar", "identity", "hadamard", "dct", "fourier", "given")
DEFECTS = ("row_softmax", "skew_positions", "extra_support", "uneven_weights", "coloured_inputs")
ORTHOGONAL = 1e-6
"""How far P^T P may be from the identity, entry by entry."""
UNEVEN, COLOURS = (0.5, 0.3, 0.2), (0.5, 2.0)
"""The weights of defect=uneven_weights (K = 3); least and largest variance of a feature of defect=coloured_inputs."""
SHARES = (0.9, 0.1)
"""The shares of ‖V*‖² of the rows of value_law=two_rows."""


class Teacher(NamedTuple):
    """V*, S*, P and the covariance (diagonal) of the features, which is 1 but for a defect."""

    values: Float[Any, "output feature"]
    scores: Float[Any, "token token"]
    positions: Float[Any, "position token"]
    covariance: Float[Any, " feature"]


def make_teacher(setting: Setting, seed: int) -> Teacher:
    """The teacher of a run, with the defect of the setting."""
    scores = score_matrix(setting, seed)
    positions = position_matrix(setting, seed)
    covariance = np.ones(setting.dimension)
    if setting.defect == "skew_positions":
        positions = lm.generator(seed, "positions").standard_normal(positions.shape) / math.sqrt(setting.tokens)
    elif setting.defect == "coloured_inputs":
        covariance = np.linspace(*COLOURS, setting.dimension)
    elif setting.defect == "uneven_weights":
        for i, column in enumerate(scores.T):
            scores[np.flatnonzero(column), i] = UNEVEN
    elif setting.defect == "extra_support":
        column = scores[:, 0] > 0
        column[np.argmin(column)] = True
        scores = np.column_stack([column / column.sum(), scores[:, 1:]])
    return Teacher(value_matrix(setting, seed), scores, positions, covariance)


def from_supports(supports: Int[np.ndarray, "token support"]) -> Float[np.ndarray, "token token"]:
    """S* from the support of every column."""
    tokens, count = supports.shape
    scores = np.zeros((tokens, tokens))
    scores[supports, np.arange(tokens)[:, None]] = 1 / count
    return scores


def score_matrix(setting: Setting, seed: int) -> Float[np.ndarray, "token token"]:
    """S* of the setting's teacher."""
    D, K = setting.tokens, setting.support
    rng = lm.generator(seed, "scores")
    match setting.teacher:
        case "cnn":
            return pooling(D, K)
        case "cnn_2d":
            height, width, window = grid(setting)
            return pooling_2d(height, width, window)
        case "gcn":
            loops = adjacency(setting, rng) + np.eye(D)  # (A + I) / K of a (K-1)-regular graph
            return loops / loops[0].sum()
        case "sts" | "gslp":
            chosen = np.isin(np.arange(D), rng.choice(D, K, replace=False))
            return np.outer(chosen / K, np.ones(D))
        case "layer":
            return np.eye(D)
        case "scores":
            return (np.asarray(setting.given_scores) > 0) / K
    if setting.supports is not None:
        return from_supports(setting.supports.astype(int))
    return from_supports(np.argsort(rng.random((D, D)), axis=1)[:, :K])


def pooling(tokens: int, group: int) -> Float[np.ndarray, "token token"]:
    """Contiguous groups: S* = diag(1_{K x K}, ...) / K."""
    return np.kron(np.eye(tokens // group), np.full((group, group), 1 / group))


def pooling_2d(height: int, width: int, window: int) -> Float[np.ndarray, "token token"]:
    """Square windows on a grid of patches, numbered row by row."""
    row, column = np.divmod(np.arange(height * width), width)
    group = (row // window) * width + column // window
    return (group[:, None] == group) / window**2


def adjacency(setting: Setting, rng: np.random.Generator) -> Bool[np.ndarray, "token token"]:
    D, degree = setting.tokens, setting.support - 1
    match setting.graph:
        case "given":
            return setting.adjacency.astype(bool)
        case "cycle" | "circulant":
            return circulant(D, degree)
        case "blocks":
            return (pooling(D, degree + 1) > 0) & ~np.eye(D, dtype=bool)
    return random_regular(D, degree, rng)


def circulant(nodes: int, degree: int) -> Bool[np.ndarray, "node node"]:
    """Every node joined to its nearest ones on a ring, and to the opposite one if the degree is odd."""
    apart = (np.arange(nodes)[:, None] - np.arange(nodes)) % nodes
    ring = np.minimum(apart, nodes - apart)
    near = (ring > 0) & (ring <= degree // 2)
    return near | (ring == nodes // 2) if degree % 2 else near


def random_regular(nodes: int, degree: int, rng: np.random.Generator) -> Bool[np.ndarray, "node node"]:
    """A simple regular graph: a circulant one, mixed by 20 switches of two edges per edge (ab, cd -> ad, cb)."""
    adjacency = circulant(nodes, degree)
    edges = np.argwhere(np.triu(adjacency))
    for _ in range(20 * len(edges)):
        one, two = rng.integers(len(edges), size=2)
        (a, b), (c, d) = edges[one], edges[two][:: rng.choice([1, -1])]
        if len({a, b, c, d}) == 4 and not adjacency[a, d] and not adjacency[c, b]:
            for u, v, there in ((a, b, False), (c, d, False), (a, d, True), (c, b, True)):
                adjacency[u, v] = adjacency[v, u] = there
            edges[one], edges[two] = (a, d), (c, b)
    return adjacency


def grid(setting: Setting) -> tuple[int, int, int]:
    """Height, width and window of the grid of patches."""
    height = setting.height or math.isqrt(setting.tokens)
    return height, setting.tokens // height, math.isqrt(setting.support)


def law_of_values(setting: Setting) -> str:
    """How V* is drawn: as the setting or its teacher says."""
    teachers = "identity" if setting.teacher == "sts" else "gaussian"
    return teachers if setting.value_law == "teacher" else setting.value_law


def value_matrix(setting: Setting, seed: int) -> Float[np.ndarray, "output feature"]:
    """V* of the setting: drawn, its rows normalised if asked, then rescaled to `strength`."""
    M, d, kind = setting.outputs, setting.dimension, law_of_values(setting)
    match kind:
        case "identity":
            values = np.eye(M, d)
        case "given":
            values = np.asarray(setting.given_values, float)
        case "two_rows":
            values = np.eye(M, d) * np.sqrt(SHARES)[:, None]
        case _:
            values = lm.generator(seed, "values").standard_normal((M, d))
    if kind == "positive":
        values = np.abs(values)
    if kind in ("scaled_rows", "equal_rows"):
        values *= (0.5 * 2.0 ** (np.arange(M) % 3))[:, None]
    if setting.normalise_rows:
        values = values / np.linalg.norm(values, axis=1, keepdims=True)
    if setting.strength > 0:
        values = values * math.sqrt(setting.strength / np.sum(values**2))
    if kind == "equal_rows":
        # as scaled_rows with the same sum of the norms of the rows, so with another ‖V*‖²
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        values = values / norms * norms.mean()
    return values


def known_strength(setting: Setting) -> float:
    """‖V*‖² where the setting says it without a draw, else 0."""
    if setting.strength > 0:
        return setting.strength
    if setting.normalise_rows:
        return float(setting.outputs)
    if setting.value_law == "given":
        return float(np.sum(np.asarray(setting.given_values, float) ** 2))
    return float(setting.outputs) if law_of_values(setting) == "identity" else 0.0


def position_matrix(setting: Setting, seed: int) -> Float[np.ndarray, "position token"]:
    """P with orthonormal columns."""
    import scipy.fft
    import scipy.linalg

    D = setting.tokens
    match setting.positions:
        case "identity":
            return np.eye(D)
        case "hadamard":
            return scipy.linalg.hadamard(D) / math.sqrt(D)
        case "dct":
            return np.asarray(scipy.fft.dct(np.eye(D), norm="ortho", axis=0))
        case "fourier":
            return fourier(D)
        case "given":
            return np.asarray(setting.given_positions, float)
    q, r = np.linalg.qr(lm.generator(seed, "positions").standard_normal((D, D)))
    return q * np.sign(np.diag(r))


def fourier(tokens: int) -> Float[np.ndarray, "position token"]:
    """The real Fourier basis: constant, cosines, sines (and the alternating one for an even number of tokens)."""
    t = 2 * math.pi * np.arange(tokens) / tokens
    waves = [np.full(tokens, 1 / math.sqrt(tokens))]
    for k in range(1, tokens // 2 + 1):
        waves.append(np.cos(k * t))
        if 2 * k < tokens:
            waves.append(np.sin(k * t))
    return np.stack([wave / np.linalg.norm(wave) for wave in waves])


def refusals(setting: Setting) -> Iterator[str]:
    """What is wrong with the teacher of a setting (section 2.5)."""
    D, K, M, d = setting.tokens, setting.support, setting.outputs, setting.dimension
    if K > D:
        yield f"support = {K} is not allowed: at most tokens = {D}."
        return
    yield from _score_refusals(setting)
    if setting.teacher == "gcn":
        yield from _graph_refusals(setting)
    if law_of_values(setting) == "identity" and d != M:
        yield f"outputs = {M} is not allowed: with V* the identity it equals dimension = {d}."
    if setting.value_law == "two_rows" and (len(SHARES) != M or d < M):
        yield f"value_law = two_rows has outputs = {len(SHARES)} and at least as many features, not {M} and {d}."
    if setting.value_law == "given":
        yield from setting.misshapen("given_values", (M, d))
        if not np.any(setting.given_values, axis=1).all():
            yield "given_values is not allowed: a row of V* is zero."
    if setting.positions == "hadamard" and D & (D - 1):
        yield f"tokens = {D} is not allowed: positions=hadamard needs a power of two."
    if setting.positions == "given":
        yield from setting.misshapen("given_positions", (D, D))
        P = np.asarray(setting.given_positions, float)
        if np.abs(P.T @ P - np.eye(D)).max() > ORTHOGONAL:
            yield f"given_positions is not orthogonal to {ORTHOGONAL}."
    if setting.defect == "uneven_weights" and len(UNEVEN) != K:
        yield f"defect = uneven_weights needs support = {len(UNEVEN)}, not {K}."
    if setting.defect == "extra_support" and K == D:
        yield "defect = extra_support needs support < tokens."


def _score_refusals(setting: Setting) -> Iterator[str]:
    D, K = setting.tokens, setting.support
    if setting.teacher == "cnn" and D % K:
        yield f"tokens = {D} is not a multiple of support = {K}, the pooling group."
    if setting.teacher == "cnn_2d":
        height, width, window = grid(setting)
        if height * width != D:
            yield f"tokens = {D} do not fill a grid of {height} rows; set height to a divisor of tokens."
        elif window**2 != K:
            yield f"support = {K} is not allowed: a square window has 1, 4, 9, ... patches."
        elif height % window or width % window:
            yield f"a grid of {height} x {width} patches is not divisible into windows of {window} x {window}."
    if setting.teacher in ("gslp", "layer") and K != 1:
        yield f"support = {K} is not allowed: teacher={setting.teacher} has support 1."
    if setting.teacher == "gslp" and setting.outputs != 1:
        yield f"outputs = {setting.outputs} is not allowed: teacher=gslp has one output."
    if setting.teacher == "supports" and setting.supports is not None:
        yield from setting.misshapen("supports", (D, K))
        given = np.asarray(setting.supports)
        if (given != np.round(given)).any() or (given < 0).any() or (given >= D).any():
            yield f"supports is not allowed: indices are whole numbers from 0 to {D - 1}."
        elif any(len(set(row)) != K for row in given.tolist()):
            yield f"supports is not allowed: every column needs {K} different indices."
    if setting.teacher == "scores":
        yield from setting.misshapen("given_scores", (D, D))
        scores = np.asarray(setting.given_scores, float)
        counted = (scores > 0).sum(axis=0)
        if (counted != K).any() or not np.allclose(scores[scores > 0], 1 / K, rtol=0, atol=1e-6) or (scores < 0).any():
            yield f"given_scores is not allowed: every column must have exactly {K} entries 1/{K} and the rest 0."


def _graph_refusals(setting: Setting) -> Iterator[str]:
    D, degree, graph = setting.tokens, setting.support - 1, setting.graph
    if graph == "cycle" and (degree != 2 or D < 3):
        yield f"a cycle has support = 3 and at least 3 tokens, not support = {degree + 1} and tokens = {D}."
    if graph == "blocks" and D % (degree + 1):
        yield f"tokens = {D} is not a multiple of support = {degree + 1}, the size of a block."
    if graph in ("circulant", "regular") and (degree * D) % 2:
        yield f"no graph on {D} nodes has degree {degree} everywhere: (support - 1) x tokens must be even."
    if graph != "given":
        return
    yield from setting.misshapen("adjacency", (D, D))
    A = np.asarray(setting.adjacency)
    if not np.isin(A, (0, 1)).all() or (A != A.T).any() or np.diag(A).any():
        yield "adjacency is not allowed: it must be symmetric, of zeros and ones, with a zero diagonal."
    elif (A.sum(axis=0) != degree).any():
        yield f"adjacency is not allowed: every node must have support - 1 = {degree} neighbours."
