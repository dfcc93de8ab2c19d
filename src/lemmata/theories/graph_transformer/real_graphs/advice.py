"""Is the advice of `lemmata diagnose graph` right? Every finding, followed and not followed, on splits it has not seen.

For each finding the two arms that it compares are fitted on fresh splits: by scikit-learn's logistic regression, by a
graph transformer of one layer that attends to the drawn nodes (logits q k / sqrt(width) + b_z, with b_z only where the
arm tells distances apart), and, for the first finding, by a GCN that sees the graph against one that does not.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from threadpoolctl import threadpool_limits

import lemmata as lm
from lemmata.datasets.graphs.graph import Graph
from lemmata.theories.graph_transformer.deep.data import normalised_edges, read
from lemmata.theories.graph_transformer.diagnose import arms as ways
from lemmata.theories.graph_transformer.diagnose.arms import DRAWN, Arm, Drawn, block, mean_of
from lemmata.theories.graph_transformer.diagnose.findings import findings
from lemmata.theories.graph_transformer.diagnose.trial import Trial, try_arms
from lemmata.theories.graph_transformer.real_graphs.tables import RealSetting, measured

QUESTIONS = ("use the graph", "give counts", "go farther", "quotas", "tell apart", "whole graph")
ARMS = ways.arms_for(list(range(1, ways.FARTHEST + 1)))
MODELS = ("scikit-learn", "graph transformer", "GCN")
NODES, SPLITS, TRAINED = 600, 4, 0.6
"""Nodes that are drawn for the fresh splits, how many splits, and which share of the nodes is trained on."""
COMPONENTS, WIDTH, STEPS, STEP_SIZE, DECAY = 48, 32, 60, 1e-2, 5e-4
TOLD = ("does", "gain", "gain_low", "gain_high", "first", "second")
DOES = {"follow": 1.0, "avoid": -1.0, "no difference": 0.0}


@measured(
    lm.Variable("does", ("question",), "", "1 follow, -1 avoid, 0 no difference", True),
    lm.Variable("gain", ("question",), "", "gain that the diagnosis reports", True),
    lm.Variable("gain_low", ("question",), "", "lower end of its interval", True),
    lm.Variable("gain_high", ("question",), "", "upper end of its interval", True),
    lm.Variable("first", ("question",), "", "which of the arms is followed", True),
    lm.Variable("second", ("question",), "", "which arm it is compared with", True),
    lm.Variable("fresh", ("question", "model"), "", "mean gain on fresh splits", True),
    lm.Variable("fresh_error", ("question", "model"), "", "standard error of it over the splits", True),
    labels={"question": QUESTIONS, "model": MODELS},
)
def measure_advice(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Diagnose the graph, then follow each finding and not follow it."""
    graph = read(setting.graph)
    with threadpool_limits(1):
        given = _few_labels(graph, seed) if setting.labels == "few" else graph
        trial = try_arms(given, seed, lambda share: None)
        assert trial is not None, graph.source
        found = findings(trial)
        named = {arm.name: arm for arm in trial.arms}
        pairs = [(named[one.compared[0]], named[one.compared[1]]) for one in found]
        asked = sorted({arm for pair in pairs for arm in pair}, key=trial.arms.index)
        scores = _scores(graph, setting, trial, asked, seed)
    told = np.full((len(QUESTIONS), len(TOLD)), np.nan)
    fresh, error = np.full((2, len(QUESTIONS), len(MODELS)), np.nan)
    for n, (one, pair) in enumerate(zip(found, pairs, strict=True)):
        assert one.gain is not None
        i = QUESTIONS.index(_question(*pair)) if n else 0
        told[i] = DOES[one.does], one.gain.value, one.gain.low, one.gain.high, *(ARMS.index(arm) for arm in pair)
        gains = scores[pair[0]] - scores[pair[1]]
        if n:
            gains[:, 2] = np.nan  # a GCN takes all neighbours: it can be asked the first question only
        fresh[i], error[i] = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    return {**dict(zip(TOLD, told.T, strict=True)), "fresh": fresh, "fresh_error": error}


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
    drawn = ways.draw_neighbours(graph, roots, rng, lambda share: None)
    features = ways.represent(graph.features)[:, :COMPONENTS].astype(np.float32)
    features = features / np.sqrt(np.square(features).sum(axis=1).mean())
    splits = [(_split(label, setting, rng), jax.random.key(seed + s)) for s in range(SPLITS)]
    judge = partial(_judge, label, area=trial.unit != "accuracy")
    scores = {arm: np.full((SPLITS, len(MODELS)), np.nan) for arm in arms}
    scale, size = features.shape[1] ** 0.5, int(label.max()) + 1
    source, target, weight = normalised_edges(graph)
    gcn = partial(_train_gcn, features * scale, source, target, classes=size)
    # without the graph, and with it
    networks = [[gcn(w, roots, label, inside, key) for inside, key in splits] for w in (0 * weight, weight)]
    for arm in arms:
        own, nodes = _tokens(arm, drawn, features, rng)
        means = [block(mean_of(features, table)) for table in drawn.of(arm, rng)]
        inputs = np.concatenate([block(own), *means], axis=1)
        seen, told = np.where(nodes[:, :, :1] >= 0, features[nodes[:, :, 0]], 0.0), np.float32(arm.how == "blocks")
        given = np.float32(own * scale), np.float32(seen * scale), nodes[:, :, 0] >= 0, np.maximum(nodes[:, :, 1], 0)
        for s, (inside, key) in enumerate(splits):
            attended = np.asarray(_train_attention(*given, label, inside, told, key, classes=size))
            convolved = np.asarray(networks[int(arm != Arm())][s])
            answers = (_logistic(inputs, label, inside), attended, convolved)
            scores[arm][s] = [judge(answer, inside) for answer in answers]
    return scores


def _split(label: np.ndarray, setting: RealSetting, rng: np.random.Generator) -> np.ndarray:
    """Which nodes are trained on: 20 of a class, or a share of all."""
    if setting.labels == "few":
        return np.isin(np.arange(len(label)), _per_class(label, 20, rng))
    return rng.random(len(label)) < TRAINED


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
    listed = [np.stack([table, np.full_like(table, place)], axis=2) for place, table in enumerate(drawn.of(arm, rng))]
    tokens = np.concatenate([np.full((len(own), 0, 2), -1), *listed], axis=1)
    return own, np.pad(tokens, ((0, 0), (0, DRAWN - tokens.shape[1]), (0, 0)), constant_values=-1)


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
