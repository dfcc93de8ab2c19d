"""Training on whole graphs by SGD, and the simulation of one run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from lemmata.lab import batches
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.lab.training import Run, descent, loop, record_steps
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.network import Parameters, initialise
from lemmata.theories.graph_transformer.whole_graphs.data import World, prepare
from lemmata.theories.graph_transformer.whole_graphs.network import answers, gradient
from lemmata.theories.graph_transformer.whole_graphs.setting import GraphSetting

LOSS = hinge()


@piece("samples", "batch", "records")
def train(problem: GraphSetting, key: jax.Array, world: World, parameters: Parameters, signs: Array) -> Run:
    """SGD on the training graphs."""
    bins = jnp.minimum(world.table, problem.bins - 1)
    signs = signs * problem.readout_factor

    def batch_gradient(parameters: Parameters, batch: batches.Batch) -> Parameters:
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
    scheme = batches.epochs(stream(key, "batch"), problem.samples, problem.samples, problem.batch)
    start, step = descent(batch_gradient, optax.sgd(problem.step_size), scheme, trainable=moving)
    return loop(step, start(parameters), probe, record_steps(problem.steps, problem.records, problem.record_every))


R = ("record",)


@simulation(
    Variable("step", R, "t", "training step of the record"),
    Variable("train_loss", R, "", "hinge loss on training graphs"),
    Variable("loss", R, "", "hinge loss on test graphs"),
    Variable("accuracy", R, "", "accuracy on test graphs"),
    Variable("distance_bias", ("record", "bin"), "b_z", "distance encoding"),
    Variable("counting_accuracy", (), "", "accuracy of comparing the numbers of μ_1 and μ_2 nodes, test graphs"),
    Variable("bins_used", (), "Z", "bins of the encoding"),
    Variable("diverged", (), "", "1 if training left the finite numbers and was frozen"),
    prepare=prepare,
)
def simulate(problem: GraphSetting, key: jax.Array, world: World) -> dict[str, Array]:
    """One run on graphs."""
    world = jax.tree.map(jnp.asarray, world)
    parameters, signs = initialise(problem, key, world.directions)
    run = train(problem, key, world, parameters, signs)
    return {
        **run.records, "step": run.step, "diverged": run.diverged,
        "counting_accuracy": jnp.mean(world.counting[problem.samples :]),
        "bins_used": jnp.asarray(problem.bins, jnp.result_type(float)),
    }  # fmt: skip
