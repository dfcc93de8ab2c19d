"""Is the advice of `lemmata diagnose graph` right? Every finding, followed and not followed, on splits it has not seen.

For each finding the two arms that it compares are fitted on fresh splits: by scikit-learn's logistic regression, by a
graph transformer of one layer that attends to the drawn nodes (logits q k / sqrt(width) + b_z, with b_z only where the
arm tells distances apart), and, for the first finding, by a GCN that sees the graph against one that does not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from threadpoolctl import threadpool_limits

import lemmata as lm
from lemmata.datasets.graphs.graph import Graph
from lemmata.theories.graph_transformer.deep.data import normalised_edges
from lemmata.theories.graph_transformer.diagnose.arms import (
    DRAWN,
    FARTHEST,
    Arm,
    Drawn,
    arms_for,
    block,
    draw_neighbours,
    mean_of,
    represent,
)
from lemmata.theories.graph_transformer.diagnose.findings import findings
from lemmata.theories.graph_transformer.diagnose.trial import Trial, try_arms
from lemmata.theories.graph_transformer.real_graphs.tables import RealSetting, chosen, measured

QUESTIONS = ("use the graph", "give counts", "go farther", "quotas", "tell apart", "whole graph")
ARMS = arms_for(list(range(1, FARTHEST + 1)))
MODELS = ("scikit-learn", "graph transformer", "GCN")
NODES, SPLITS, TRAINED = 600, 4, 0.6
"""Nodes that are drawn for the fresh splits, how many splits, and which share of the nodes is trained on."""
COMPONENTS, WIDTH, STEPS, STEP_SIZE, DECAY = 48, 32, 60, 1e-2, 5e-4
DOES = {"follow": 1.0, "avoid": -1.0, "no difference": 0.0}


@measured(
    lm.Variable("does", ("question",), "", "1 follow, -1 avoid, 0 no difference", optional=True),
    lm.Variable("gain", ("question",), "", "gain that the diagnosis reports", optional=True),
    lm.Variable("gain_low", ("question",), "", "lower end of its interval", optional=True),
    lm.Variable("gain_high", ("question",), "", "upper end of its interval", optional=True),
    lm.Variable("first", ("question",), "", "which of the arms is followed", optional=True),
    lm.Variable("second", ("question",), "", "which arm it is compared with", optional=True),
    lm.Variable("fresh", ("question", "model"), "", "mean gain on fresh splits", optional=True),
    lm.Variable("fresh_error", ("question", "model"), "", "standard error of it over the splits", optional=True),
    labels={"question": QUESTIONS, "model": MODELS},
)
def measure_advice(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Diagnose the graph, then follow each finding and not follow it."""
    graph = chosen(setting)
    with threadpool_limits(1):
        given = _few_labels(graph, seed) if setting.labels == "few" else graph
        trial = try_arms(given, seed, lambda share: None)
        assert trial is not None, graph.source
        found = findings(trial)
        named = {arm.name: arm for arm in trial.arms}
        pairs = [(named[one.compared[0]], named[one.compared[1]]) for one in found]
        scores = _scores(
            graph, setting, trial, sorted({arm for pair in pairs for arm in pair}, key=trial.arms.index), seed
        )
    result = {
        name: np.full(len(QUESTIONS), np.nan) for name in ("does", "gain", "gain_low", "gain_high", "first", "second")
    }
    result |= {name: np.full((len(QUESTIONS), len(MODELS)), np.nan) for name in ("fresh", "fresh_error")}
    for n, (one, pair) in enumerate(zip(found, pairs, strict=True)):
        assert one.gain is not None
        i = QUESTIONS.index(_question(*pair)) if n else 0
        result["does"][i] = DOES[one.does]
        result["gain"][i], result["gain_low"][i], result["gain_high"][i] = one.gain.value, one.gain.low, one.gain.high
        result["first"][i], result["second"][i] = (ARMS.index(arm) for arm in pair)
        gains = scores[pair[0]] - scores[pair[1]]
        if n:
            gains[:, 2] = np.nan  # a GCN takes all neighbours: it can be asked the first question only
        result["fresh"][i] = gains.mean(axis=0)
        result["fresh_error"][i] = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    return result


def _question(first: Arm, second: Arm) -> str:
    """What a finding beside the first one asks."""
    if first.how == "counts":
        return "give counts"
    if first == Arm((0,)):
        return "whole graph"
    if second.how == "union":
        return "quotas"
    return "tell apart" if first.distances == second.distances else "go farther"


def _few_labels(graph: Graph, seed: int) -> Graph:
    """The graph with the labels of its public training nodes alone (20 of a class), drawn where there are none."""
    import dataclasses

    rng = np.random.default_rng([seed, 2])
    train = graph.splits[0].train if graph.splits else _per_class(graph.labels, 20, rng)
    labels = np.full(graph.nodes, -1)
    labels[train] = graph.labels[train]
    return dataclasses.replace(graph, labels=labels)


def _per_class(labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.permutation(np.flatnonzero(labels == c))[:count] for c in range(labels.max() + 1)])


def _scores(graph: Graph, setting: RealSetting, trial: Trial, arms: list[Arm], seed: int) -> dict[Arm, np.ndarray]:
    """[split, model] of every arm, on nodes and splits of their own."""
    rng = np.random.default_rng([seed, 3])
    labelled = np.flatnonzero(graph.labels >= 0)
    roots = np.sort(rng.choice(labelled, min(NODES, len(labelled)), replace=False))
    label = np.unique(graph.labels[roots], return_inverse=True)[1]
    drawn = draw_neighbours(graph, roots, rng, lambda share: None)
    features = represent(graph.features)[:, :COMPONENTS].astype(np.float32)
    features = features / np.sqrt(np.square(features).sum(axis=1).mean())
    splits = []
    for _ in range(SPLITS):
        if setting.labels == "few":
            inside = np.zeros(len(roots), bool)
            inside[_per_class(label, 20, rng)] = True
        else:
            inside = rng.random(len(roots)) < TRAINED
        splits.append(inside)
    judge = partial(_judge, label, area=trial.unit != "accuracy")
    scores = {arm: np.full((SPLITS, len(MODELS)), np.nan) for arm in arms}
    networks = {graphed: _gcn(graph, features, roots, label, splits, graphed, seed) for graphed in (0.0, 1.0)}
    for arm in arms:
        own, tokens = _tokens(arm, drawn, features, rng)
        means = [block(mean_of(features, table)) for table in drawn.of(arm, rng)]
        inputs = np.concatenate([block(own), *means], axis=1)
        for s, inside in enumerate(splits):
            scores[arm][s, 0] = judge(_logistic(inputs, label, inside), inside)
            scores[arm][s, 1] = judge(
                _attend(own, features, tokens, label, inside, arm.how == "blocks", seed + s), inside
            )
            scores[arm][s, 2] = judge(networks[float(arm != Arm())][s], inside)
    return scores


def _judge(label: np.ndarray, answer: np.ndarray, inside: np.ndarray, *, area: bool) -> float:
    """Accuracy, or the area under the ROC curve, on the nodes outside the training part."""
    from sklearn.metrics import roc_auc_score

    if area:
        return float(roc_auc_score(label[~inside], answer[~inside, 1] - answer[~inside, 0]))
    return float((answer.argmax(axis=1) == label)[~inside].mean())


def _logistic(inputs: np.ndarray, label: np.ndarray, inside: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=10.0, max_iter=300).fit(inputs[inside], label[inside])
    answer = np.full((len(label), label.max() + 1), -np.inf)
    answer[:, model.classes_] = model.predict_log_proba(inputs)
    return answer


def _tokens(arm: Arm, drawn: Drawn, features: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A node's own input, and the nodes that it attends to with their distances, [root, drawn, 2], -1 for none."""
    own = np.concatenate([features[drawn.root], *(block(each) for each in drawn.counts(arm))], axis=1)
    own = np.concatenate([own, np.zeros((len(own), features.shape[1] + 2 - own.shape[1]))], axis=1)
    tables = drawn.of(arm, rng)
    tokens = np.full((len(drawn.root), DRAWN, 2), -1)
    at = 0
    for place, table in enumerate(tables):
        tokens[:, at : at + table.shape[1], 0], tokens[:, at : at + table.shape[1], 1] = table, place
        at += table.shape[1]
    return own, tokens


@partial(jax.jit, static_argnames="classes")
def _train_attention(
    own: jax.Array, nodes: jax.Array, present: jax.Array, place: jax.Array, label: jax.Array, inside: jax.Array,
    encoded: jax.Array, key: jax.Array, classes: int,
) -> jax.Array:  # fmt: skip
    """Logits of every root by a transformer of one layer, trained on those inside."""
    width, first = nodes.shape[-1], own.shape[-1]
    shapes = {"q": (first, WIDTH), "k": (width, WIDTH), "v": (width, WIDTH), "w": (first, WIDTH), "o": (WIDTH, classes)}
    keys = jax.random.split(key, len(shapes))
    network = {n: jax.random.normal(k, s) / s[0] ** 0.5 for k, (n, s) in zip(keys, shapes.items(), strict=True)}
    network |= {"b": jnp.zeros(3), "c": jnp.zeros(WIDTH), "d": jnp.zeros(classes)}
    network = jax.tree.map(lambda each: each.astype(jnp.float32), network)

    def answer(p: dict[str, jax.Array]) -> jax.Array:
        logits = jnp.einsum("nw,ntw->nt", own @ p["q"], nodes @ p["k"]) / WIDTH**0.5 + encoded * p["b"][place]
        attention = jax.nn.softmax(jnp.where(present, logits, -1e9), axis=1) * present
        seen = jnp.einsum("nt,ntw->nw", attention, nodes @ p["v"])
        return jax.nn.relu(own @ p["w"] + seen + p["c"]) @ p["o"] + p["d"]

    return answer(_adam(network, answer, label, inside))


def _adam(network: Any, answer: Any, label: jax.Array, inside: jax.Array) -> Any:
    def loss(p: Any) -> jax.Array:
        each = optax.softmax_cross_entropy_with_integer_labels(answer(p), label)
        return jnp.sum(each * inside) / jnp.sum(inside)

    adam = optax.chain(optax.add_decayed_weights(DECAY), optax.adam(STEP_SIZE))

    def step(t: Any, state: Any) -> Any:
        updates, moments = adam.update(jax.grad(loss)(state[0]), state[1], state[0])
        return optax.apply_updates(state[0], updates), moments

    return jax.lax.fori_loop(0, STEPS, step, (network, adam.init(network)))[0]


def _attend(
    own: np.ndarray,
    features: np.ndarray,
    tokens: np.ndarray,
    label: np.ndarray,
    inside: np.ndarray,
    told: bool,
    seed: int,
) -> np.ndarray:
    scale = features.shape[1] ** 0.5
    nodes = np.where(tokens[:, :, :1] >= 0, features[tokens[:, :, 0]], 0.0) * scale
    given = _single(own * scale, nodes), (tokens[:, :, 0] >= 0, np.maximum(tokens[:, :, 1], 0), label, inside)
    classes = int(label.max()) + 1
    told_apart = np.float32(told)
    return np.asarray(
        _train_attention(*given[0], *map(jnp.asarray, given[1]), told_apart, jax.random.key(seed), classes)
    )


def _single(*arrays: np.ndarray) -> list[jax.Array]:
    return [jnp.asarray(each, jnp.float32) for each in arrays]


@partial(jax.jit, static_argnames="classes")
def _train_gcn(
    x: jax.Array, source: jax.Array, target: jax.Array, weight: jax.Array, roots: jax.Array, label: jax.Array,
    inside: jax.Array, key: jax.Array, classes: int,
) -> jax.Array:  # fmt: skip
    """Logits of the roots by two graph convolutions beside the node itself."""
    sizes = ((x.shape[1], WIDTH), (WIDTH, classes))
    keys = jax.random.split(key, 4)
    draw = [jax.random.normal(keys[i], sizes[i // 2]) / sizes[i // 2][0] ** 0.5 for i in range(4)]
    network = jax.tree.map(lambda each: each.astype(jnp.float32), (draw, jnp.zeros(WIDTH), jnp.zeros(classes)))

    def spread(h: jax.Array) -> jax.Array:
        return jax.ops.segment_sum(weight[:, None] * h[source], target, len(x), indices_are_sorted=True)

    around = spread(x)

    def answer(p: Any) -> jax.Array:
        (own1, near1, own2, near2), c, d = p
        hidden = jax.nn.relu(x @ own1 + around @ near1 + c)
        return (hidden @ own2 + spread(hidden @ near2) + d)[roots]

    return answer(_adam(network, answer, label, inside))


def _gcn(
    graph: Graph,
    features: np.ndarray,
    roots: np.ndarray,
    label: np.ndarray,
    splits: list[np.ndarray],
    seen: float,
    seed: int,
) -> list[np.ndarray]:
    """Answers on every split, with the graph (seen = 1) or without."""
    source, target, weight = normalised_edges(graph)
    inputs, weights = _single(features * features.shape[1] ** 0.5, weight * seen)
    given = inputs, jnp.asarray(source), jnp.asarray(target), weights, jnp.asarray(roots), jnp.asarray(label)
    classes = int(label.max()) + 1
    return [
        np.asarray(_train_gcn(*given, jnp.asarray(inside), jax.random.key(seed + s), classes))
        for s, inside in enumerate(splits)
    ]
