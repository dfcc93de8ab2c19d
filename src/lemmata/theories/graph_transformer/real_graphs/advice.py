"""Is the advice of `lemmata diagnose graph` right? Every finding, followed and not followed, on nodes it has not seen.

A part of the labels is hidden, the graph is diagnosed without them, and for each finding the two arms that it compares
are fitted on the labels that were given and judged on the hidden ones: by scikit-learn's logistic regression, by a
graph transformer of one layer that attends to the drawn nodes (with a bias and values for every distance where the arm
tells distances apart), and, for the first finding, by a GCN that sees the graph against one that does not. On small
graphs another part is hidden in every round, until each label was.
"""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import lemmata as lm
from lemmata.datasets.graphs.graph import Graph
from lemmata.theories.graph_transformer.deep.data import normalised_edges, read
from lemmata.theories.graph_transformer.diagnose import arms as ways
from lemmata.theories.graph_transformer.diagnose.arms import DRAWN, Arm, Drawn, block, mean_of
from lemmata.theories.graph_transformer.diagnose.findings import findings
from lemmata.theories.graph_transformer.diagnose.ridge import one_thread
from lemmata.theories.graph_transformer.diagnose.trial import scorer, try_arms
from lemmata.theories.graph_transformer.real_graphs.tables import RealSetting, measured

QUESTIONS = ("use the graph", "give counts", "go farther", "quotas", "tell apart", "whole graph")
ARMS = ways.arms_for(list(range(1, ways.FARTHEST + 1)))
MODELS = ("scikit-learn", "graph transformer", "GCN")
ROUNDS = 4
"""One part of as many is hidden; at most so many rounds."""
GIVEN, HIDDEN = 2000, 1500
"""Nodes that the models are fitted on at most, and hidden ones at most that they are judged on over all rounds."""
COMPONENTS, WIDTH, STEPS, STEP_SIZE, DECAY = 48, 32, 60, 1e-2, 5e-4
TOLD = ("does", "gain", "first", "second")
DOES = {"follow": 1.0, "avoid": -1.0, "no difference": 0.0}


@measured(
    lm.Variable("does", ("question", "round"), "", "1 follow, -1 avoid, 0 no difference", True),
    lm.Variable("gain", ("question", "round"), "", "gain that the diagnosis reports", True),
    lm.Variable("first", ("question", "round"), "", "which of the arms is followed", True),
    lm.Variable("second", ("question", "round"), "", "which arm it is compared with", True),
    lm.Variable("fresh", ("question", "model", "round"), "", "mean gain on hidden nodes", True),
    lm.Variable("fresh_error", ("question", "model", "round"), "", "standard error of it over the nodes", True),
    labels={"question": QUESTIONS, "model": MODELS, "round": tuple(str(r + 1) for r in range(ROUNDS))},
)
def measure_advice(setting: RealSetting, seed: int) -> dict[str, Any]:
    """Diagnose the graph, then follow each finding and not follow it."""
    graph = read(setting.graph)
    told = np.full((len(TOLD), len(QUESTIONS), ROUNDS), np.nan)
    fresh, error = np.full((2, len(QUESTIONS), len(MODELS), ROUNDS), np.nan)
    part = np.random.default_rng([seed, 1]).permutation(graph.nodes) % ROUNDS
    with one_thread():
        seen = 0
        for r in range(setting.rounds):
            rng = np.random.default_rng([seed, 2, r])
            given = _few_labels(graph, rng) if setting.labels == "few" else np.where(part == r, -1, graph.labels)
            hidden = np.flatnonzero((given < 0) & (graph.labels >= 0))
            trial = try_arms(dataclasses.replace(graph, labels=given), seed, lambda share: None)
            assert trial is not None, graph.source
            found, named = findings(trial), {arm.name: arm for arm in trial.arms}
            pairs = [(named[one.compared[0]], named[one.compared[1]]) for one in found]
            asked = sorted({arm for pair in pairs for arm in pair}, key=trial.arms.index)
            inside = rng.permutation(np.flatnonzero(given >= 0))[:GIVEN]
            outside = rng.permutation(hidden)[: HIDDEN - seen]
            values = _values(graph, inside, outside, asked, rng, jax.random.key(seed + r))
            for n, (one, pair) in enumerate(zip(found, pairs, strict=True)):
                assert one.gain is not None
                i = QUESTIONS.index(question(*pair)) if n else 0
                told[:, i, r] = DOES[one.does], one.gain.value, *(ARMS.index(arm) for arm in pair)
                gains = values[pair[0]] - values[pair[1]]
                models = 2 if n else 3  # a GCN takes all neighbours: it can be asked the first question only
                fresh[i, :models, r] = gains.mean(axis=1)[:models]
                error[i, :models, r] = gains.std(axis=1, ddof=1)[:models] / np.sqrt(len(outside))
            seen += len(outside)
            if seen >= HIDDEN:
                break
    return {**dict(zip(TOLD, told, strict=True)), "fresh": fresh, "fresh_error": error}


def question(first: Arm, second: Arm) -> str:
    """What a finding beside the first one asks."""
    if first == Arm((0,)):
        return "whole graph"
    if first.counted and not second.counted:
        return "give counts"
    if second.how == "union":
        return "quotas"
    return "tell apart" if first.distances == second.distances else "go farther"


def _few_labels(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """The labels of the public training nodes alone (20 of a class), of drawn ones where there are none."""
    train = graph.splits[0].train if graph.splits else None
    if train is None:
        classes = [rng.permutation(np.flatnonzero(graph.labels == c))[:20] for c in range(graph.classes)]
        train = np.concatenate(classes)
    labels = np.full(graph.nodes, -1)
    labels[train] = graph.labels[train]
    return labels


def _values(
    graph: Graph, given: np.ndarray, hidden: np.ndarray, arms: list[Arm], rng: np.random.Generator, key: jax.Array
) -> dict[Arm, np.ndarray]:
    """[model, hidden node] of every arm: values whose mean is its score."""
    roots = np.concatenate([given, hidden])
    inside = np.arange(len(roots)) < len(given)
    label = np.unique(graph.labels[roots], return_inverse=True)[1]
    score = scorer(label)
    drawn = ways.draw_neighbours(graph, roots, rng, lambda share: None)
    features = ways.represent(graph.features)[:, :COMPONENTS].astype(np.float32)
    features = features / np.sqrt(np.square(features).sum(axis=1).mean())
    scale, size = features.shape[1] ** 0.5, int(label.max()) + 1
    edges = normalised_edges(graph)
    gcn = partial(_train_gcn, features * scale, classes=size)
    # without the graph, and with it
    networks = [np.asarray(gcn(*(end[:n] for end in edges), roots, label, inside, key)) for n in (0, None)]
    values = {}
    for arm in arms:
        own, nodes = _tokens(arm, drawn, features, rng)
        means = [block(mean_of(features, table)) for table in drawn.of(arm, rng)]
        inputs = np.concatenate([block(own), *means], axis=1)
        present, told = nodes[:, :, 0] >= 0, arm.how == "blocks"
        seen = np.where(present[:, :, None], features[nodes[:, :, 0]], 0.0)
        place = np.where(present & told, nodes[:, :, 1], 0)
        tokens = np.float32(own * scale), np.float32(seen * scale), present, place
        attended = np.asarray(_train_attention(*tokens, label, inside, key, classes=size))
        answers = (logistic(inputs, label, inside), attended, networks[int(arm != Arm())])
        values[arm] = np.stack([score(answer[~inside], label[~inside]) for answer in answers])
    return values


def logistic(inputs: np.ndarray, label: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities of the classes, fitted on the nodes inside."""
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
    key: jax.Array, classes: int,
) -> jax.Array:  # fmt: skip
    """Logits of every root by a transformer of one layer, trained on those inside."""
    width, first = nodes.shape[-1], own.shape[-1]
    shapes = {
        "q": (first, WIDTH), "k": (width, WIDTH), "v": (ways.MOST, width, WIDTH), "w": (first, WIDTH),
        "o": (WIDTH, classes),
    }  # fmt: skip
    keys = jax.random.split(key, len(shapes))
    network = {n: jax.random.normal(k, s) / s[-2] ** 0.5 for k, (n, s) in zip(keys, shapes.items(), strict=True)}
    network |= {"b": jnp.zeros(ways.MOST), "c": jnp.zeros(WIDTH), "d": jnp.zeros(classes)}
    network = jax.tree.map(lambda each: each.astype(jnp.float32), network)

    at = place == jnp.arange(ways.MOST)[:, None, None]

    def answer(p: dict[str, jax.Array]) -> jax.Array:
        logits = jnp.einsum("nw,ntw->nt", own @ p["q"] @ p["k"].T, nodes) / WIDTH**0.5 + p["b"][place]
        attention = jax.nn.softmax(jnp.where(present, logits, -1e9), axis=1) * present
        seen = jnp.einsum("pnw,pwv->nv", jnp.einsum("pnt,ntw->pnw", attention * at, nodes), p["v"])
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
