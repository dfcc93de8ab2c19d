"""The graph transformer with one answer for a graph, its training by SGD, and the simulation of one run.

    F(G) = K sum_n a^T ReLU(W_O sum_s α_sn W_V x_s),  K = 1 ("sum") or 1/|T| ("mean")

over all nodes n and s of the graph. It is `networks.shallow` with the nodes as their own queries.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks import shallow
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer.network import Parameters, by_bin, initialise
from lemmata.theories.graph_transformer.whole_graphs.data import World, prepare
from lemmata.theories.graph_transformer.whole_graphs.setting import GraphSetting


def answers(
    parameters: Parameters, signs: Array, features: Float[Array, "graphs nodes dimension"], bins: Array
) -> Array:
    """F of every graph with K = 1/|T|; signs times |T| give the sum."""
    weight = jnp.ones(features.shape[:2], features.dtype)
    offset = jnp.broadcast_to(parameters.encoding[bins], (features.shape[0], *bins.shape))
    return shallow.run_forward(shallow.products(parameters.network), signs, features, weight, offset=offset).output


def gradient(parameters: Parameters, signs: Array, features: Array, bins: Array, slope: Any) -> Parameters:
    """sum_i slope_i(F) dF_i/dW in closed form."""
    weight = jnp.ones(features.shape[:2], features.dtype)
    bins = jnp.broadcast_to(bins, (features.shape[0], *bins.shape))
    network, tilt = shallow.gradient_with_offset(
        parameters.network, signs, features, weight, slope, parameters.encoding[bins]
    )
    rows = features.shape[0]
    d_encoding = by_bin(tilt.reshape(rows, -1), bins.reshape(rows, -1), parameters.encoding.shape[0])
    return Parameters(network, d_encoding, jnp.zeros_like(parameters.additive))


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
