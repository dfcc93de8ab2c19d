"""Training the deep models on a real graph with Adam, and their test on the nodes that are not labelled (3.10).

A step is a pass over the whole graph: cross-entropy of the labelled nodes, with a fresh sample that all layers share.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.theories.graph_transformer.deep.data import Inputs, Split, prepare
from lemmata.theories.graph_transformer.deep.network import (
    Gcn,
    GraphTransformer,
    convolve,
    count_parameters,
    draw_gcn,
    draw_sample,
    draw_transformer,
    matching_width,
    transform,
    transformer_parameters,
)
from lemmata.theories.graph_transformer.deep.setting import DeepSetting
from lemmata.theories.graph_transformer.sampling import Ordered

SAMPLER = ("strata", "sample", "per_shell", "bins")
cross_entropy = optax.softmax_cross_entropy_with_integer_labels
Network = GraphTransformer | Gcn


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
    problem: DeepSetting,
    network: Network,
    inputs: Inputs,
    shells: Ordered | None,
    sampler: jax.Array,
    noise: jax.Array | None = None,
) -> Float[Array, "node class"]:
    """The outputs for every node with the sample of one key, and in training the dropout of another."""
    if isinstance(network, Gcn):
        return convolve(network, inputs, problem.dropout, noise)
    assert shells is not None, "a transformer needs the distances"
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
    lm.Variable(
        "distance_bias", ("bin",), "b_z", "distance encoding of the last layer, mean over heads", optional=True
    ),
    lm.Variable(
        "layer_distance_bias",
        ("layer", "head", "bin"),
        "b_z",
        "distance encoding of every layer and head",
        optional=True,
    ),
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
    frequent = np.bincount(data.split.label, data.split.test).max()
    named = {"loss_path": "loss", "train_path": "train_accuracy", "test_path": "test_accuracy"}
    results = {
        "test_accuracy": tested["test_accuracy"],
        "train_accuracy": tested["train_accuracy"],
        "train_loss": tested["loss"],
        "distance_bias": encoding[-1].mean(axis=0),
        "layer_distance_bias": encoding,
        "step": run.step,
        **{name: run.records[record] for name, record in named.items()},
        "labelled_nodes": np.count_nonzero(data.split.train),
        "chance": frequent,
        "parameters": count_parameters(trained),
        "last_step": run.last_step,
        "diverged": run.diverged,
    }
    return {name: np.asarray(value, np.float32) for name, value in results.items()}


CHECK = DeepSetting(
    graph="cora",
    model="gcn",
    split="public",
    layers=2,
    gcn_width=16,
    dropout=0.5,
    step_size=1e-2,
    decayed="first",
    row_normalise=True,
    steps=200,
    records=2,
)
"""The common two-layer GCN on the public split of Cora, about 81 % right: it checks layer, loss and optimiser."""
