"""The arms tried on the user's graph: cross-validated scores of every labelled node, and what one arm gains on another.

Every node has, by every arm, a value whose mean is the score: whether it was classified rightly, or, where one class
has over three quarters of the nodes, its share in the area under the ROC curve (placement values, DeLong 1988; the mean
over classes where there are more than two). A gain is the mean of the differences of values. Its interval is that of a
mean over nodes drawn from this graph, widened by how much it differs from repeat to repeat (Bayle 2020 shows that
cross-validated differences of stable models are so distributed).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from lemmata.datasets.graphs.graph import Graph
from lemmata.lab.intervals import Estimate
from lemmata.theories.graph_transformer.diagnose.arms import (
    COVERED,
    Arm,
    Drawn,
    arms_for,
    block,
    draw_neighbours,
    mean_of,
    represent,
)
from lemmata.theories.graph_transformer.diagnose.ridge import decompose, held_out

FOLDS, REPEATS = 5, 8
LEVEL = 0.95
ROOTS, FEWEST_ROOTS, SEARCHED = 3000, 1000, 1.5e9
"""Labelled nodes that the trial uses at most, and at least where searching from them looks at more nodes and edges."""
FEWEST = 20
"""Labelled nodes below which nothing is tried."""
UNEQUAL = 0.75
"""The share of the largest class from which on the score is the area under the ROC curve."""


@dataclass(frozen=True)
class Trial:
    """Values of every node by every arm."""

    arms: tuple[Arm, ...]
    values: Float[np.ndarray, "arm repeat node"]
    fold: Int[np.ndarray, "repeat node"]
    unit: str
    inputs: str
    """What stands for a node: features, or labels of the training part."""
    coverage: Float[np.ndarray, " distance"]
    """Share of the nodes that have a node at distances 0, 1, 2, ..."""

    @property
    def splits(self) -> int:
        return int(sum(len(np.unique(fold)) for fold in self.fold))

    def score(self, arm: Arm) -> float:
        return float(self.values[self.arms.index(arm)].mean())

    def gain(self, first: Arm, second: Arm, level: float = LEVEL) -> Estimate:
        """The score of the first arm less that of the second."""
        return gain_of(self.values[self.arms.index(first)] - self.values[self.arms.index(second)], level)

    def gains(self, arms: Sequence[Arm]) -> list[Estimate]:
        """What every one of these gains on features alone, by intervals that hold for all of them at once.

        So the best of them may be picked: the intervals are as wide as the largest of their errors is likely to be.
        """
        from scipy.special import ndtr, stdtrit

        differences = self.values[[self.arms.index(arm) for arm in arms]] - self.values[0]
        nodes = differences.mean(axis=1)
        spread = nodes.std(axis=1)
        moving = spread > 0
        if not moving.any():
            return [gain_of(each) for each in differences]
        together = np.corrcoef(nodes[moving]).reshape(moving.sum(), -1)
        drawn = np.random.default_rng(0).multivariate_normal(
            np.zeros(len(together)), together, 20_000, check_valid="ignore"
        )
        reach = float(ndtr(np.quantile(np.abs(drawn).max(axis=1), LEVEL)))
        widened = float(stdtrit(nodes.shape[1] - 1, reach) / stdtrit(nodes.shape[1] - 1, (1 + LEVEL) / 2))
        found = [gain_of(each) for each in differences]
        return [
            Estimate(g.value, g.value + widened * (g.low - g.value), g.value + widened * (g.high - g.value))
            for g in found
        ]


def gain_of(differences: Float[np.ndarray, "repeat node"], level: float = LEVEL) -> Estimate:
    """The mean, with a t interval over nodes widened by the variance between repeats."""
    from scipy.special import stdtrit

    node = differences.mean(axis=0)
    repeats = differences.mean(axis=1)
    variance = node.var(ddof=1) / len(node) + repeats.var(ddof=1) / len(repeats)
    half = float(stdtrit(len(node) - 1, (1 + level) / 2) * np.sqrt(variance))
    mean = float(node.mean())
    return Estimate(mean, mean - half, mean + half)


def try_arms(graph: Graph, seed: int, tell: Callable[[float], None]) -> Trial | None:
    """Try every arm on the labelled nodes of the graph; None if there are too few of them."""
    rng = np.random.default_rng(seed)
    labelled = np.flatnonzero(graph.labels >= 0)
    affordable = int(np.clip(SEARCHED / (graph.nodes + len(graph.edges)), FEWEST_ROOTS, ROOTS))
    roots = labelled
    if len(labelled) > affordable:
        roots = np.sort(rng.choice(labelled, affordable, replace=False))
    label = np.unique(graph.labels[roots], return_inverse=True)[1]
    if len(roots) < FEWEST or np.sort(np.bincount(label))[-2:].min() < FOLDS or label.max() == 0:
        return None
    drawn = draw_neighbours(graph, roots, rng, lambda share: tell(0.5 * share))
    coverage = (drawn.size > 0).mean(axis=1)
    arms = arms_for([z for z in range(1, len(coverage)) if coverage[z] >= COVERED])
    fold = np.stack([_folds(label, rng) for _ in range(REPEATS)])
    known = graph.features.shape[1] > 0 and np.ptp(represent(graph.features[:1000]), axis=0).any()
    score = _areas if np.bincount(label).max() > UNEQUAL * len(label) else _hits
    values = np.empty((len(arms), REPEATS, len(roots)))
    features = represent(graph.features) if known else None
    for i, arm in enumerate(arms):
        tables = drawn.of(arm, rng)
        counts = drawn.counts(arm)
        for repeat, answer in enumerate(_answers(graph, drawn, tables, counts, features, label, fold)):
            for f in np.unique(fold[repeat]):
                out = fold[repeat] == f
                values[i, repeat, out] = score(answer[out], label[out])
        tell(0.5 + 0.5 * (i + 1) / len(arms))
    unit = "area under the ROC curve" if score is _areas else "accuracy"
    return Trial(tuple(arms), values, fold, unit, "features" if known else "labels", coverage)


def _answers(
    graph: Graph,
    drawn: Drawn,
    tables: list[np.ndarray],
    counts: list[np.ndarray],
    features: np.ndarray | None,
    label: Int[np.ndarray, " node"],
    fold: Int[np.ndarray, "repeat node"],
) -> list[Float[np.ndarray, "node class"]]:
    """Held-out predictions of one arm, an array for every repeat."""
    target = np.eye(label.max() + 1)[label]
    numbers = [block(each) for each in counts]
    if features is not None:
        blocks = [block(features[drawn.root]), *(block(mean_of(features, table)) for table in tables), *numbers]
        model = decompose(np.concatenate(blocks, axis=1), target)
        return [held_out(model, each) for each in fold]
    answers = [np.empty_like(target) for _ in fold]
    one_hot = np.zeros((graph.nodes, target.shape[1]))
    for answer, each in zip(answers, fold, strict=True):
        for f in np.unique(each):
            out = each == f
            one_hot[drawn.root] = np.where(out[:, None], 0.0, target)
            blocks = [np.zeros((len(label), 1)), *(block(mean_of(one_hot, table)) for table in tables), *numbers]
            answer[out] = held_out(decompose(np.concatenate(blocks, axis=1), target), np.where(out, 0, 1))[out]
    return answers


def _folds(label: Int[np.ndarray, " node"], rng: np.random.Generator) -> Int[np.ndarray, " node"]:
    """Every class spread evenly over the folds, from a random one on."""
    fold = np.empty(len(label), np.int64)
    start = 0
    for c in range(label.max() + 1):
        members = rng.permutation(np.flatnonzero(label == c))
        fold[members] = (start + np.arange(len(members))) % FOLDS
        start += len(members)
    return fold


def _hits(answer: Float[np.ndarray, "node class"], label: Int[np.ndarray, " node"]) -> Float[np.ndarray, " node"]:
    return (answer.argmax(axis=1) == label).astype(float)


def _areas(answer: Float[np.ndarray, "node class"], label: Int[np.ndarray, " node"]) -> Float[np.ndarray, " node"]:
    """Values whose mean is the area under the ROC curve, and whose variance is DeLong's, averaged over classes."""
    present = [c for c in range(answer.shape[1]) if 0 < np.sum(label == c) < len(label)]
    if answer.shape[1] == 2:
        present = present[-1:]
    return np.mean([placements(answer[:, c], label == c) for c in present], axis=0)


def placements(score: Float[np.ndarray, " node"], member: np.ndarray) -> Float[np.ndarray, " node"]:
    """area + n/n_c (V - area) with V the share of the other side that a node is on the right side of."""
    from scipy.stats import rankdata

    inside, outside = member.sum(), (~member).sum()
    rank, right = rankdata(score), np.empty(len(score))
    right[member] = (rank[member] - rankdata(score[member])) / outside
    right[~member] = 1 - (rank[~member] - rankdata(score[~member])) / inside
    area = right[member].mean()
    return area + np.where(member, len(score) / inside, len(score) / outside) * (right - area)
