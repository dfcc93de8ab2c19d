"""The arms tried on the user's graph, and by which rule one is said to gain on another.

*Values.* Every node has, by every arm and by two models of different kinds (`ridge`), a value whose mean is the score:
whether it was classified rightly when held out, or, where one class has over three quarters of the nodes, its share in
the area under the ROC curve (placement values, DeLong 1988; the mean over classes where there are more than two).

*Choice and gain on different nodes.* The best of many arms looks better than it is on the nodes that chose it. The
graph is cut into connected blocks and these into parts; the gain on a part is that of the arms that the other parts
choose. So a gain is one of the whole procedure, and no correction for the number of arms is needed. Arms are chosen by
the squared error of their predictions, which tells them apart on far fewer nodes than the score does.

*Intervals.* The wider of two. Nadeau and Bengio (2003): splits share training nodes, so the variance of a mean over J
of them is (1/J + test/train) times theirs. Cluster-robust over the blocks: nodes near one another may err together. A
block with a large share of the nodes (a hub with its leaves) is cut at random, or few blocks would be left.

*Agreement.* Gains are those of both models' mean prediction, which errs less than either. Their interval is widened to
hold what each model says alone, within a standard error: so it is on one side of 0 only if both say so as well.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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
from lemmata.theories.graph_transformer.diagnose.certainty import LEVEL, Means, connected_blocks
from lemmata.theories.graph_transformer.diagnose.ridge import Decomposed, bumps, decompose, held_out

FOLDS, REPEATS = 5, 8
PARTS = 5
BLOCKS, LARGEST = 50, 0.04
"""Connected blocks of the graph, and the share of the nodes above which one is cut."""
ROOTS, FEWEST_ROOTS, SEARCHED = 3000, 1000, 1.5e9
"""Labelled nodes that the trial uses at most, and at least where searching from them looks at more nodes and edges."""
FEWEST = 20
"""Labelled nodes below which nothing is tried."""
UNEQUAL = 0.75
"""The share of the largest class from which on the score is the area under the ROC curve."""
MODELS = ("linear", "kernel")
"""Beside their mean, which comes last in `Trial.values`."""

ONE_ERROR = 0.683
"""Level of an interval of one standard error."""

Score = Callable[[Arm], float]
Choice = Callable[[Score], tuple[Arm, Arm]]
"""Which two arms are compared, given how good every arm is."""


class Gain(NamedTuple):
    """The score of one arm less another's; whether the models disagree where their mean tells a difference."""

    first: Arm
    second: Arm
    value: Estimate
    disputed: bool


@dataclass(frozen=True)
class Trial:
    """Values of every node by every model and arm; NaN where a node has only given its label."""

    arms: tuple[Arm, ...]
    values: Float[np.ndarray, "model arm repeat node"]
    errors: Float[np.ndarray, "arm node"]
    """Squared errors of the mean prediction."""
    fold: Int[np.ndarray, "repeat node"]
    """-1: gives its label to others."""
    block: Int[np.ndarray, " node"]
    part: Int[np.ndarray, " node"]
    unit: str
    inputs: str
    """What stands for a node: features, or labels of other nodes."""
    coverage: Float[np.ndarray, " distance"]
    """Share of the nodes that have a node at distances 0, 1, 2, ..."""

    @property
    def splits(self) -> int:
        return int(sum(len(np.unique(fold[fold >= 0])) for fold in self.fold))

    def score(self, arm: Arm, model: int = -1) -> float:
        return float(np.nanmean(self.values[model, self.arms.index(arm)]))

    def chosen(self, choose: Choice, nodes: np.ndarray | slice = slice(None)) -> tuple[Arm, Arm]:
        """The arms that these nodes choose."""
        good = -self.errors[:, nodes].mean(axis=1)
        return choose(lambda arm: good[self.arms.index(arm)])

    def gain(self, choose: Choice, level: float = LEVEL) -> Gain:
        """The score of the first arm less that of the second, on nodes that have not chosen them."""
        difference = np.empty_like(self.values[:, 0])
        for part in np.unique(self.part):
            out = self.part == part
            first, second = (self.arms.index(arm) for arm in self.chosen(choose, ~out))
            difference[..., out] = self.values[:, first][..., out] - self.values[:, second][..., out]
        *alone, both = difference
        total = gain_of(both, self.fold, self.block, level)
        each = [gain_of(one, self.fold, self.block, ONE_ERROR) for one in alone]
        low, high = min(one.low for one in each), max(one.high for one in each)
        value = Estimate(total.value, min(total.low, low), max(total.high, high))
        disputed = not total.low <= 0 <= total.high and value.low <= 0 <= value.high
        return Gain(*self.chosen(choose), value, disputed)


def gain_of(
    difference: Float[np.ndarray, "repeat node"], fold: np.ndarray, block: np.ndarray, level: float = LEVEL
) -> Estimate:
    """The mean, with the wider of the interval over splits and the one over blocks."""
    from scipy.special import stdtrit

    node = np.nanmean(difference, axis=0)
    rows = zip(difference, fold, strict=True)
    splits = [one[where == f].mean() for one, where in rows for f in range(FOLDS)]
    error = np.sqrt((1 / len(splits) + 1 / (FOLDS - 1)) * np.var(splits, ddof=1))
    over_splits = stdtrit(len(splits) - 1, (1 + level) / 2) * error
    half = float(np.fmax(over_splits, Means(node[:, None], block).half_width(level)[0]))
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
    near, part = cut_blocks(graph, roots, rng)
    features = represent(graph.features)
    known = features.shape[1] > 0 and bool(np.ptp(features, axis=0).any())
    fold = np.stack([_folds(label, rng) for _ in range(REPEATS)])
    if not known:
        for repeat in range(0, REPEATS, 2):  # one half gives labels, the other is judged; then the other way round
            half = _folds(label, rng, 2)
            for side in range(2):
                fold[repeat + side, half == side] = -1
                fold[repeat + side, half != side] = _folds(label[half != side], rng)
    score, target = scorer(label), np.eye(label.max() + 1)[label]
    values = np.full((len(MODELS) + 1, len(arms), REPEATS, len(roots)), np.nan)
    errors = np.empty((len(arms), len(roots)))
    for i, arm in enumerate(arms):
        tables, counts = drawn.of(arm, rng), drawn.counts(arm)
        answers = _answers(drawn, tables, counts, features if known else None, target, fold, rng)
        for value, answer in zip(values[:, i], answers, strict=True):
            for repeat, each in enumerate(fold):
                for f in range(FOLDS):
                    value[repeat, each == f] = score(answer[repeat][each == f], label[each == f])
        errors[i] = np.nanmean(np.square(answers[-1] - target).sum(axis=2), axis=0)
        tell(0.5 + 0.5 * (i + 1) / len(arms))
    unit = "area under the ROC curve" if score is areas else "accuracy"
    return Trial(tuple(arms), values, errors, fold, near, part, unit, "features" if known else "labels", coverage)


def _answers(
    drawn: Drawn,
    tables: list[np.ndarray],
    counts: list[np.ndarray],
    features: np.ndarray | None,
    target: Float[np.ndarray, "node class"],
    fold: Int[np.ndarray, "repeat node"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "model repeat node class"]:
    """Held-out predictions of one arm by each model and their mean."""
    answers = np.full((len(MODELS) + 1, len(fold), *target.shape), np.nan)
    models = []
    if features is not None:
        inputs = _joined([features[drawn.root], *(mean_of(features, table) for table in tables), *counts])
        models = _models(inputs, target, rng)
    for repeat, each in enumerate(fold):
        judged = each >= 0
        if features is None:
            given = np.zeros((max(drawn.root.max(), drawn.members.max()) + 1, target.shape[1]))
            given[drawn.root[~judged]] = target[~judged]
            inputs = _joined([np.zeros((len(target), 1)), *(mean_of(given, table) for table in tables), *counts])
            models = _models(inputs[judged], target[judged], rng)
        for answer, model in zip(answers, models, strict=False):
            answer[repeat, judged] = held_out(model, each[judged])
    answers[-1] = answers[:-1].mean(axis=0)
    return answers


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([block(part) for part in parts], axis=1)


def _models(inputs: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> list[Decomposed]:
    return [decompose(each, target) for each in (inputs, block(bumps(inputs, rng)))]


def cut_blocks(graph: Graph, roots: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The block of every root, large ones cut at random, and the part that its block belongs to."""
    block = connected_blocks(graph, BLOCKS, rng)[roots]
    order = rng.permutation(len(roots))
    order = order[np.argsort(block[order], kind="stable")]
    _, first = np.unique(block[order], return_index=True)
    piece = np.empty(len(roots), np.int64)
    piece[order] = np.arange(len(roots)) - np.repeat(first, np.diff([*first, len(roots)]))
    pieces = np.stack([block, piece // int(np.ceil(LARGEST * len(roots)))], axis=1)
    near = np.unique(pieces, axis=0, return_inverse=True)[1].ravel()
    return near, rng.permutation(np.arange(near.max() + 1) % PARTS)[near]


def _folds(label: Int[np.ndarray, " node"], rng: np.random.Generator, count: int = FOLDS) -> Int[np.ndarray, " node"]:
    """Every class spread evenly over the folds, from a random one on."""
    fold = np.empty(len(label), np.int64)
    start = 0
    for c in range(label.max() + 1):
        members = rng.permutation(np.flatnonzero(label == c))
        fold[members] = (start + np.arange(len(members))) % count
        start += len(members)
    return fold


def scorer(label: Int[np.ndarray, " node"]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """By which values these labels are scored."""
    return areas if np.bincount(label).max() > UNEQUAL * len(label) else hits


def hits(answer: Float[np.ndarray, "node class"], label: Int[np.ndarray, " node"]) -> Float[np.ndarray, " node"]:
    return (answer.argmax(axis=1) == label).astype(float)


def areas(answer: Float[np.ndarray, "node class"], label: Int[np.ndarray, " node"]) -> Float[np.ndarray, " node"]:
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
