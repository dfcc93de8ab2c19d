"""Training on whole graphs by SGD, and the simulation of one run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.network import Parameters, initialise
from lemmata.theories.graph_transformer.whole_graphs.data import World, prepare
from lemmata.theories.graph_transformer.whole_graphs.network import answers, gradient
from lemmata.theories.graph_transformer.whole_graphs.setting import GraphSetting

LOSS = hinge()


@lm.piece("samples", "batch", "records")
def train(problem: GraphSetting, key: jax.Array, world: World, parameters: Parameters, signs: Array) -> lm.Run:
    """SGD on the training graphs."""
    bins = jnp.minimum(world.table, problem.bins - 1)
    signs = signs * problem.readout_factor

    def batch_gradient(parameters: Parameters, batch: lm.Batch) -> Parameters:
        features, label = batch.take((world.features, world.label))
        return gradient(parameters, signs, features, bins, LOSS.push(label, batch.weight))

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        margin = world.label * answers(state.parameters, signs, world.features, bins)
        known = problem.samples
        return {
            "train_loss": jnp.mean(LOSS.value(margin[:known])),
            "loss": jnp.mean(LOSS.value(margin[known:])),
            "accuracy": jnp.mean(margin[known:] > 0),
            "distance_bias": state.parameters.encoding,
        }

    one = jnp.ones(())
    moving = Parameters(Network(one, one, one, one), problem.train_encoding * one, one)
    scheme = lm.epochs(lm.stream(key, "batch"), problem.samples, problem.samples, problem.batch)
    start, step = lm.descent(batch_gradient, optax.sgd(problem.step_size), scheme, trainable=moving)
    return lm.loop(
        step, start(parameters), probe, lm.record_steps(problem.steps, problem.records, problem.record_every)
    )


R = ("record",)


@lm.simulation(
    *lm.RUN,
    lm.Variable("train_loss", R, "", "hinge loss on training graphs"),
    lm.Variable("loss", R, "", "hinge loss on test graphs"),
    lm.Variable("accuracy", R, "", "accuracy on test graphs"),
    lm.Variable("distance_bias", ("record", "bin"), "b_z", "distance encoding"),
    lm.Variable("counting_accuracy", (), "", "accuracy of comparing the numbers of μ_1 and μ_2 nodes, test graphs"),
    lm.Variable("bins_used", (), "Z", "bins of the encoding"),
    prepare=prepare,
)
def simulate(problem: GraphSetting, key: jax.Array, world: World) -> dict[str, Array]:
    """One run on graphs."""
    parameters, signs = initialise(problem, key, world.directions)
    run = train(problem, key, world, parameters, signs)
    return {**run.results(), "counting_accuracy": world.counting, "bins_used": world.bins_used}
