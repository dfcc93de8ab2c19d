"""The deep graph transformer and the deep GCN (3.10), their training with Adam, and their test on nodes without label.

The transformer: x = u W_in + b_in; every layer x + A(norm(x)), then x + relu(norm(x) W + c) W' + c'; classes from
norm(x) W_out + b_out. A is multi-head attention of a node to its sampled nodes, with logits
q k / sqrt(width of a head) + b_z, one b of Z entries for every layer and head, z the distance of the two nodes.
The GCN: H' = relu(D^-1/2 (A + I) D^-1/2 H W + c), the last layer without relu.

A step is a pass over the whole graph: cross-entropy of the labelled nodes, with a fresh sample that all layers share.
"""

import itertools
import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.networks.attention import softmax_attention
from lemmata.networks.transformer import Block, Dense, Norm, dense, draw_dense, draw_norm, layer_norm
from lemmata.theories.graph_transformer.deep.data import DeepSetting, Entries, Inputs, Split, prepare
from lemmata.theories.graph_transformer.sampling import Ordered, draw_positions

SAMPLER = ("strata", "sample", "per_shell", "bins")
cross_entropy = optax.softmax_cross_entropy_with_integer_labels
EXCESS = 0.1
"""The GCN has at least as many parameters as the transformer, and at most this share more."""


class Sample(NamedTuple):
    """The nodes that every node attends to, itself first, with their bins of distance; weight 0: no node."""

    node: Int[Array, "node slot"]
    bin: Int[Array, "node slot"]
    weight: Float[Array, "node slot"]


class GraphTransformer(NamedTuple):
    """All trained parameters; layers are stacked."""

    embedding: Dense
    blocks: Block
    encoding: Float[Array, "layer head bin"]
    norm: Norm
    unembedding: Dense


class Gcn(NamedTuple):
    """The layers of the graph convolutions."""

    layers: tuple[Dense, ...]


Network = GraphTransformer | Gcn


@lm.piece("layers", "heads", "width", "feedforward", "bins", once=True)
def draw_transformer(problem: DeepSetting, key: jax.Array, *, inputs: int, classes: int) -> GraphTransformer:
    """The default initial layers of the common libraries, and b = 0."""
    width, hidden = problem.width, problem.feedforward

    def one(key: jax.Array) -> Block:
        shapes = ((width, 3 * width), (width, width), (width, hidden), (hidden, width))
        keys = jax.random.split(key, 4)
        qkv, output, first, second = (draw_dense(k, *shape) for k, shape in zip(keys, shapes, strict=True))
        return Block(draw_norm(width), qkv, output, draw_norm(width), first, second)

    embedding, blocks, unembedding = jax.random.split(lm.stream(key, "init"), 3)
    return GraphTransformer(
        draw_dense(embedding, inputs, width),
        jax.vmap(one)(jax.random.split(blocks, problem.layers)),
        jnp.zeros((problem.layers, problem.heads, problem.bins)),
        draw_norm(width),
        draw_dense(unembedding, width, classes),
    )


@lm.piece("layers", once=True)
def draw_gcn(problem: DeepSetting, key: jax.Array, *, inputs: int, classes: int, width: int) -> Gcn:
    """Glorot's uniform matrices and biases 0, as graph convolutions are usually begun."""
    sizes = [inputs, *[width] * (problem.layers - 1), classes]
    keys = jax.random.split(lm.stream(key, "init"), problem.layers)

    def one(key: jax.Array, rows: int, columns: int) -> Dense:
        reach = math.sqrt(6 / (rows + columns))
        return Dense(jax.random.uniform(key, (rows, columns), minval=-reach, maxval=reach), jnp.zeros(columns))

    return Gcn(tuple(one(k, *shape) for k, shape in zip(keys, itertools.pairwise(sizes), strict=True)))


def count_parameters(network: Any) -> int:
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(network))


def transformer_parameters(problem: DeepSetting, inputs: int, classes: int) -> int:
    """How many numbers `draw_transformer` draws."""
    d, hidden = problem.width, problem.feedforward
    block = 4 * d + (d + 1) * 3 * d + (d + 1) * d + (d + 1) * hidden + (hidden + 1) * d
    ends = (inputs + 1) * d + 2 * d + (d + 1) * classes
    return ends + problem.layers * (block + problem.heads * problem.bins)


def matching_width(parameters: int, layers: int, inputs: int, classes: int) -> int:
    """The smallest width at which a GCN has at least this many parameters."""

    def count(width: int) -> int:
        sizes = [inputs, *[width] * (layers - 1), classes]
        return sum((a + 1) * b for a, b in itertools.pairwise(sizes))

    width = 1
    while count(width) < parameters and layers > 1:
        width += 1
    if not parameters <= count(width) <= (1 + EXCESS) * parameters:
        wanted = f"between {parameters} and {1 + EXCESS:g} times as many parameters"
        raise lm.UserError(f"No GCN of {layers} layers has {wanted}; give its width as gcn_width.")
    return width


def draw_sample(problem: DeepSetting, key: jax.Array, shells: Ordered) -> Sample:
    """A fresh sample for every node, uniform without replacement; fewer nodes than asked for are all taken (3.10).

    whole: nodes of the whole graph; single: of one shell; stratified: some of each near shell and some of the whole
    graph, where a node that is drawn twice counts once. The node itself is always added.
    """
    start = shells.start
    nodes, size = start.shape[0], problem.sample
    if problem.strata:
        size = problem.per_shell
        near = start[:, 1 : problem.strata + 2]
        begin = jnp.concatenate([near[:, :-1], start[:, 1:2]], axis=1)
        end = jnp.concatenate([near[:, 1:], start[:, -1:]], axis=1)
    else:
        begin = jnp.take(start, problem.first_shell, axis=1)
        end = jnp.take(start, problem.last_shell + 1, axis=1)
    position, weight = draw_positions(key, (end - begin).ravel(), size)
    # a slot that is not used is the node itself with weight 0
    position = jnp.where(weight > 0, position + begin.reshape(-1, 1), 0).reshape(nodes, -1)
    weight = weight.reshape(nodes, -1)
    if problem.strata:
        near, far = position[:, :-size], position[:, -size:]
        twice = jnp.any(far[:, :, None] == near[:, None, :], axis=2)
        weight = weight.at[:, -size:].multiply(1.0 - twice)
    position = jnp.pad(position, ((0, 0), (1, 0)))
    weight = jnp.pad(weight, ((0, 0), (1, 0)), constant_values=1.0)
    node = jnp.take_along_axis(shells.node, position, axis=1).astype(jnp.int32)
    distance = jnp.sum(position[:, :, None] >= start[:, None, 1:-1], axis=2)
    return Sample(node, jnp.minimum(distance, problem.bins - 1), weight)


def kept(key: jax.Array, rate: Any, shape: tuple[int, ...]) -> Array:
    """The factors of dropout: 0, or 1 / (1 - rate) with probability 1 - rate.

    Bits are compared as they are: to make numbers of them takes several times as long.
    """
    dropped = jax.random.bits(key, shape, jnp.uint32) < jnp.asarray(rate * 2.0**32, jnp.uint32)
    return jnp.where(dropped, 0.0, 1 / (1 - rate))


def read_features(layer: Dense, features: Any) -> Float[Array, "node width"]:
    """u W + b for features in either form."""
    if isinstance(features, Entries):
        return jnp.einsum("ne,new->nw", features.value, layer.matrix[features.column]) + layer.bias
    return dense(layer, features)


def attend(
    block: Block, encoding: Float[Array, "head bin"], x: Float[Array, "node width"], sample: Sample
) -> Float[Array, "node width"]:
    """Every head's softmax(q k / sqrt(width of a head) + b_z) v over the sampled nodes, projected attention_output."""
    heads, bins = encoding.shape
    nodes, width = x.shape
    parts = dense(block.query_key_value, x)

    def fetched(values: Float[Array, "node width"]) -> Float[Array, "node head slot head_width"]:
        # heads before slots, so that the products below are matrix products; keys and values apart are twice as fast
        return values[sample.node].reshape(*sample.node.shape, heads, -1).swapaxes(1, 2)

    query = parts[:, :width].reshape(nodes, heads, -1) / math.sqrt(width // heads)
    logits = jnp.einsum("nhd,nhsd->nhs", query, fetched(parts[:, width : 2 * width]))
    # a product with indicators: its derivative is one too, where that of indexing would add up entry by entry
    logits = logits + jnp.einsum("hz,nsz->nhs", encoding, jax.nn.one_hot(sample.bin, bins, dtype=x.dtype))
    mixed = jnp.einsum("nhs,nhsd->nhd", softmax_attention(logits, sample.weight), fetched(parts[:, 2 * width :]))
    return dense(block.attention_output, mixed.reshape(nodes, width))


def transform(
    network: GraphTransformer, features: Any, sample: Sample, rate: Any = 0.0, key: jax.Array | None = None
) -> Float[Array, "node class"]:
    """The outputs for every node; with a key, in training: a share of what every half layer adds is dropped."""
    x = read_features(network.embedding, features)
    # for all layers at once; one random draw compiles faster than one in every half layer
    shape = (network.encoding.shape[0], 2, *x.shape)
    factors = None if key is None else kept(key, rate, shape)

    def layer(x: Array, given: Any) -> tuple[Array, None]:
        block, encoding, factors = given
        first, second = (1, 1) if factors is None else factors
        x = x + first * attend(block, encoding, layer_norm(block.attention_norm, x), sample)
        hidden = jax.nn.relu(dense(block.mlp, layer_norm(block.mlp_norm, x)))
        return x + second * dense(block.mlp_output, hidden), None

    x, _ = jax.lax.scan(layer, x, (network.blocks, network.encoding, factors))
    return dense(network.unembedding, layer_norm(network.norm, x))


def propagate(inputs: Inputs, x: Float[Array, "node width"]) -> Float[Array, "node width"]:
    """D^-1/2 (A + I) D^-1/2 x, edge by edge."""
    carried = inputs.weight[:, None] * x[inputs.source]
    return jax.ops.segment_sum(carried, inputs.target, x.shape[0], indices_are_sorted=True)


def convolve(network: Gcn, inputs: Inputs, rate: Any = 0.0, key: jax.Array | None = None) -> Float[Array, "node class"]:
    """The outputs for every node; with a key, in training: a share of what every layer reads is dropped."""
    features = inputs.features
    sparse = isinstance(features, Entries)
    x: Any = features.value if sparse else features
    factors: list[Any] = [1] * len(network.layers)
    if key is not None:
        shapes = [x.shape, *((x.shape[0], layer.matrix.shape[0]) for layer in network.layers[1:])]
        ends = list(itertools.accumulate(map(math.prod, shapes)))
        parts = jnp.split(kept(key, rate, (ends[-1],)), ends[:-1])
        factors = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    for i, (layer, factor) in enumerate(zip(network.layers, factors, strict=True)):
        x = (jax.nn.relu(x) if i else x) * factor
        read = features._replace(value=x) if sparse and not i else x
        x = propagate(inputs, read_features(Dense(layer.matrix, jnp.zeros(())), read)) + layer.bias
    return x


class Keys(NamedTuple):
    """The streams of a run that training and test read; a draw inside compiled code takes long to compile."""

    sampler: jax.Array
    noise: jax.Array
    watch: jax.Array
    test: jax.Array


def draw_keys(key: jax.Array, samples: int) -> Keys:
    """The streams of a run, with one key for each of the test's samples."""
    tests = jax.random.split(lm.stream(key, "test"), samples)
    return Keys(lm.stream(key, "sampler"), lm.stream(key, "noise"), lm.stream(key, "batch"), tests)


def outputs(
    problem: DeepSetting, network: Network, inputs: Inputs, shells: Any, sampler: jax.Array, noise: Any = None
) -> Float[Array, "node class"]:
    """The outputs for every node with the sample of one key, and in training the dropout of another."""
    if isinstance(network, Gcn):
        return convolve(network, inputs, problem.dropout, noise)
    return transform(network, inputs.features, draw_sample(problem, sampler, shells), problem.dropout, noise)


def scores(answers: Float[Array, "node class"], split: Split) -> dict[str, Array]:
    """Loss on the labelled nodes, accuracy on them and on those of the test."""
    right = jnp.argmax(answers, axis=-1) == split.label
    return {
        "loss": jnp.sum(split.train * cross_entropy(answers, jnp.asarray(split.label))),
        "train_accuracy": jnp.sum(split.train * right),
        "test_accuracy": jnp.sum(split.test * right),
    }


@lm.piece("records", "decayed", *SAMPLER)
def train(
    problem: DeepSetting, keys: Keys, network: Network, inputs: Inputs, shells: Ordered | None, split: Split
) -> lm.Run:
    """Adam, weight decay added to the gradient; records are of one sample, without dropout."""

    def loss(network: Network, t: jax.Array) -> Array:
        sampler, noise = (jax.random.fold_in(key, t) for key in (keys.sampler, keys.noise))
        answers = outputs(problem, network, inputs, shells, sampler, noise)
        return jnp.sum(split.train * cross_entropy(answers, jnp.asarray(split.label)))

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        return scores(outputs(problem, state.parameters, inputs, shells, keys.watch), split)

    first, trainable = None, None
    if isinstance(network, GraphTransformer):
        trainable = GraphTransformer(1, 1, problem.train_encoding, 1, 1)  # pyright: ignore[reportArgumentType]
    elif problem.decayed == "first":
        first = Gcn((True, *[False] * (len(network.layers) - 1)))  # pyright: ignore[reportArgumentType]
    # the moments of all parameters in one vector each: the loop checks every array, and many take long to compile
    adam = optax.flatten(optax.adam(problem.step_size))
    adam = optax.chain(optax.add_decayed_weights(problem.weight_decay, first), adam)
    every_step = lm.Batches(lambda: (), lambda state, t: (state, t))
    start, step = lm.descent(jax.grad(loss), adam, every_step, trainable=trainable)
    return lm.loop(step, start(network), probe, lm.record_steps(problem.steps, problem.records))


@lm.piece(*SAMPLER)
def test(
    problem: DeepSetting, keys: Keys, network: Network, inputs: Inputs, shells: Ordered | None, split: Split
) -> dict[str, Array]:
    """The same of outputs averaged over some samples, without dropout."""
    answers = jax.lax.map(partial(outputs, problem, network, inputs, shells), keys.test)
    return scores(jnp.mean(answers, axis=0), split)


@lm.simulation(
    lm.Variable("test_accuracy", (), "", "accuracy on the nodes that are not labelled, outputs averaged over samples"),
    lm.Variable("train_accuracy", (), "", "the same on the labelled nodes"),
    lm.Variable("train_loss", (), "", "cross-entropy on the labelled nodes, the same outputs"),
    lm.Variable("distance_bias", ("bin",), "b_z", "distance encoding of the last layer, mean over heads", True),
    lm.Variable("layer_distance_bias", ("layer", "head", "bin"), "b_z", "distance encoding of every head", True),
    lm.Variable("loss_path", ("record",), "", "cross-entropy on the labelled nodes, one sample"),
    lm.Variable("train_path", ("record",), "", "accuracy on the labelled nodes, one sample"),
    lm.Variable("test_path", ("record",), "", "accuracy on the nodes that are not labelled, one sample"),
    lm.Variable("labelled_nodes", (), "", "labelled nodes"),
    lm.Variable("chance", (), "", "share of the most frequent class among the nodes that are not labelled"),
    lm.Variable("parameters", (), "", "trained numbers of the network"),
    *lm.RUN,
    host=True,
)
def simulate(setting: DeepSetting, seed: int) -> dict[str, Any]:
    """Train one network on one split of the graph, and test it."""
    data = prepare(setting, seed)
    problem, key = setting.problem(), jax.random.key(seed)
    ends = {"inputs": data.columns, "classes": data.classes}
    if setting.model == "gt":
        network: Network = draw_transformer(problem, key, **ends)
    else:
        parameters = transformer_parameters(problem, data.columns, data.classes)
        width = setting.gcn_width or matching_width(parameters, setting.layers, data.columns, data.classes)
        network = draw_gcn(problem, key, width=width, **ends)
    given = data.inputs, data.shells, data.split
    keys = draw_keys(key, setting.eval_samples if setting.model == "gt" else 1)
    run = train(problem, keys, network, *given)
    trained: Network = run.state.parameters
    tested = test(problem, keys, trained, *given)
    absent = np.full((setting.layers, setting.heads, setting.bins), np.nan)
    encoding = np.asarray(trained.encoding) if isinstance(trained, GraphTransformer) else absent
    results = {
        **{f"{part}_accuracy": tested[f"{part}_accuracy"] for part in ("train", "test")},
        **{f"{part}_path": run.records[f"{part}_accuracy"] for part in ("train", "test")},
        "train_loss": tested["loss"],
        "loss_path": run.records["loss"],
        "distance_bias": encoding[-1].mean(axis=0),
        "layer_distance_bias": encoding,
        "labelled_nodes": np.count_nonzero(data.split.train),
        "chance": np.bincount(data.split.label, data.split.test).max(),
        "parameters": count_parameters(trained),
        **{name: getattr(run, name) for name in ("step", "last_step", "diverged")},
    }
    return {name: np.asarray(value, np.float32) for name, value in results.items()}


CHECK = DeepSetting(model="gcn", split="public", layers=2, gcn_width=16, dropout=0.5, step_size=1e-2)
CHECK = CHECK.replace(decayed="first", row_normalise=True, records=2)
"""The common two-layer GCN on the public split of Cora, about 81 % right: it checks layer, loss and optimiser."""
