"""How often is the advice of `lemmata diagnose graph` wrong, and how often does it say nothing where it should?

A graph is made, most of its labels are hidden, and it is diagnosed. All arms are then fitted on the labels that were
given and judged on the hidden ones by two models of scikit-learn that the diagnosis does not use, logistic regression
and extremely randomised trees. A gain is the mean over both.
"""

import dataclasses
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.theories.graph_transformer.diagnose.arms import Arm, block, draw_neighbours, mean_of, represent
from lemmata.theories.graph_transformer.diagnose.findings import findings
from lemmata.theories.graph_transformer.diagnose.ridge import one_thread
from lemmata.theories.graph_transformer.diagnose.trial import scorer, try_arms
from lemmata.theories.graph_transformer.real_graphs import made
from lemmata.theories.graph_transformer.real_graphs.advice import DOES, QUESTIONS, logistic, question
from lemmata.theories.graph_transformer.real_graphs.tables import measured

TREES = 50


class MadeSetting(lm.Setting):
    """A graph of a kind, made from the seed."""

    kind: str = lm.choice("homophily", "what decides the labels of the graph, and how much of it is known", *made.KINDS)


@measured(
    lm.Variable("does", ("question",), "", "1 follow, -1 avoid, 0 no difference", True),
    lm.Variable("gain", ("question",), "", "gain that the diagnosis reports", True),
    lm.Variable("low", ("question",), "", "lower end of its interval", True),
    lm.Variable("high", ("question",), "", "upper end of its interval", True),
    lm.Variable("fresh", ("question",), "", "mean gain on hidden nodes", True),
    lm.Variable("fresh_error", ("question",), "", "standard error of it over the nodes", True),
    lm.Variable("best", (), "", "gain on hidden nodes of the best arm, chosen on others of them", True),
    lm.Variable("best_error", (), "", "standard error of it over the nodes", True),
    labels={"question": QUESTIONS},
)
def measure_rates(setting: MadeSetting, seed: int) -> dict[str, Any]:
    """Diagnose a made graph and try everything that it says on nodes whose labels it has not seen."""
    graph, given = made.make(setting.kind, seed)
    rng = np.random.default_rng([seed, 1])
    told, fresh = np.full((4, len(QUESTIONS)), np.nan), np.full((2, len(QUESTIONS)), np.nan)
    best = np.full(2, np.nan)
    with one_thread():
        trial = try_arms(dataclasses.replace(graph, labels=np.where(given, graph.labels, -1)), seed, lambda share: None)
        if trial is not None:
            values = _values(graph, given, list(trial.arms), rng)
            named = {arm.name: arm for arm in trial.arms}
            for n, one in enumerate(findings(trial)):
                assert one.gain is not None
                pair = [named[name] for name in one.compared]
                i = QUESTIONS.index(question(*pair)) if n else 0
                told[:, i] = DOES[one.does], one.gain.value, one.gain.low, one.gain.high
                fresh[:, i] = _mean(values[pair[0]] - values[pair[1]])
            best = _best(values, rng)
    rows = dict(zip(("does", "gain", "low", "high"), told, strict=True))
    return {**rows, "fresh": fresh[0], "fresh_error": fresh[1], "best": best[0], "best_error": best[1]}


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def _best(values: dict[Arm, np.ndarray], rng: np.random.Generator) -> tuple[float, float]:
    """The gain on features alone of the arm that is best on the other half of the nodes."""
    gains = {arm: each - values[Arm()] for arm, each in values.items() if arm not in (Arm(), Arm((0,)))}
    half = rng.permutation(len(values[Arm()])) % 2
    gained = np.empty(len(half))
    for side in range(2):
        chosen = max(gains, key=lambda arm, side=side: gains[arm][half != side].mean())
        gained[half == side] = gains[chosen][half == side]
    return _mean(gained)


def _values(graph: Any, given: np.ndarray, arms: list[Arm], rng: np.random.Generator) -> dict[Arm, np.ndarray]:
    """Values of the hidden nodes whose mean is an arm's score, the mean of both models."""
    from sklearn.ensemble import ExtraTreesClassifier

    drawn = draw_neighbours(graph, np.arange(graph.nodes), rng, lambda share: None)
    label = np.unique(graph.labels, return_inverse=True)[1]
    own = represent(graph.features) if graph.features.shape[1] else np.zeros((graph.nodes, 1))
    seen = own if graph.features.shape[1] else np.eye(label.max() + 1)[label] * given[:, None]
    score, values = scorer(label), {}
    for arm in arms:
        means = [mean_of(seen, table) for table in drawn.of(arm, rng)]
        inputs = np.concatenate([block(part) for part in (own, *means, *drawn.counts(arm))], axis=1)
        trees = ExtraTreesClassifier(TREES, min_samples_leaf=2, random_state=0).fit(inputs[given], label[given])
        spread = np.zeros((graph.nodes, label.max() + 1))
        spread[:, trees.classes_] = trees.predict_proba(inputs)
        answers = logistic(inputs, label, given), spread
        values[arm] = np.mean([score(answer[~given], label[~given]) for answer in answers], axis=0)
    return values
