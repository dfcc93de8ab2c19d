"""Labels of whole graphs (3.8): setting, graphs, the network with one answer for a graph, its training, and one run.

A graph is a root and three layers, each joined to the next; the second decides the label. The network is

    F(G) = K sum_n a^T ReLU(W_O sum_s α_sn W_V x_s),  K = 1 ("sum") or 1/|T| ("mean")

over all nodes n and s of the graph. It is `networks.shallow` with the nodes as their own queries.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

import lemmata as lm
from lemmata.datasets.graphs.distances import distance_table
from lemmata.datasets.graphs.graph import make_graph
from lemmata.networks import shallow
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.network import Parameters, by_bin, initialise
from lemmata.theories.graph_transformer.setting import NetworkSetting

LAYER, LAYERS, MAJORITY = 8, 3, 7
"""Nodes of a layer, layers around the root, and how many of a discriminative layer carry its majority's pattern."""
NODES = 1 + LAYER * LAYERS
LOSS = hinge()
Features = Float[Array, "graphs nodes dimension"]
R = ("record",)


class GraphSetting(NetworkSetting):
    """Defaults: the reference task of 3.8."""

    neurons: int = lm.number(100, "m", "width of the hidden layer", low=1, integer=True)
    patterns: int = lm.size(10, "M", "number of patterns; the third marks the root", low=4)
    step_size: float = lm.number(0.5, "η", "step size", low=0)
    steps: int = lm.number(400, "T", "training steps", low=1, integer=True)
    record_every: int = lm.number(20, "", "steps between records", low=1, integer=True)
    records: int = lm.size(21, "", "room for records", low=2)
    samples: int = lm.size(400, "", "training graphs", low=2)
    test_samples: int = lm.size(200, "", "test graphs", low=2)
    batch: int = lm.size(40, "B", "graphs of a step")
    readout: str = lm.choice("mean", "K of (B.224)", "mean", "sum")
    layer_balance: str = lm.choice(
        "independent", "majority of the other discriminative layer: a coin, or opposite", "independent", "strict"
    )

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        yield from self.exceeding("batch", "samples", ["batch"])

    @lm.derived
    def readout_factor(self) -> int:
        """K |T|."""
        return NODES ** (self.readout == "sum")


class World(NamedTuple):
    """Training graphs first; all have the same edges, and so the same distances. `counting`: how often it is right."""

    features: Float[Any, "graphs nodes dimension"]
    label: Float[Any, " graphs"]
    counting: Float[Any, ""]
    directions: Float[Any, "dimension patterns"]
    bins_used: Float[Any, ""]
    table: Int[Any, "nodes nodes"]


def layers() -> np.ndarray:
    """min(distance, 254) between the nodes: the root, then layer after layer, each joined to the next."""
    layer = np.concatenate([[0], np.repeat(np.arange(1, LAYERS + 1), LAYER)])
    edges = np.argwhere(np.triu(np.abs(layer[:, None] - layer) == 1))
    return distance_table(make_graph(edges, None, np.zeros(NODES, int), "layers"), 254)


def draw_patterns(setting: GraphSetting, count: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Patterns (from 0) of the nodes of `count` graphs, and their labels in +- pairs."""
    label = np.resize([1, -1], count)
    coin = draws.choice([1, -1], count) if setting.layer_balance == "independent" else -label
    near = draws.random(count) < 0.5
    pattern = np.full((count, NODES), 2)

    def majority(sign: int) -> np.ndarray:
        own = (1 - sign) // 2
        return draws.permutation(np.repeat([own, 1 - own], [MAJORITY, LAYER - MAJORITY]))

    for i in range(count):
        plain = 3 + draws.integers(0, setting.patterns - 3, LAYER)
        beside = majority(int(coin[i]))
        inner, outer = (beside, plain) if near[i] else (plain, beside)
        pattern[i, 1:] = np.concatenate([inner, majority(int(label[i])), outer])
    return pattern, label


def prepare(setting: GraphSetting, seed: int) -> World:
    pattern, label = draw_patterns(setting, setting.samples + setting.test_samples, lm.generator(seed, "graph"))
    features, directions = data.draw_patterns(setting, pattern.ravel(), seed)
    features = data.unit_rows(features).reshape(*pattern.shape, -1)
    lead = np.sign((pattern == 0).sum(axis=1) - (pattern == 1).sum(axis=1))
    counting = np.where(lead == 0, 0.5, lead == label)[setting.samples :].mean()
    return data.narrow(World(features, label * 1.0, counting, directions, setting.bins * 1.0, layers().astype(int)))


def answers(parameters: Parameters, signs: Array, features: Features, bins: Array) -> Array:
    """F of every graph with K = 1/|T|; signs times |T| give the sum."""
    weight = jnp.ones(features.shape[:2], features.dtype)
    offset = jnp.broadcast_to(parameters.encoding[bins], (features.shape[0], *bins.shape))
    return shallow.run_forward(shallow.products(parameters.network), signs, features, weight, offset=offset).output


def gradient(parameters: Parameters, signs: Array, features: Features, bins: Array, slope: Any) -> Parameters:
    """sum_i slope_i(F) dF_i/dW in closed form."""
    rows, encoding = features.shape[0], parameters.encoding
    weight = jnp.ones(features.shape[:2], features.dtype)
    bins = jnp.broadcast_to(bins, (rows, *bins.shape))
    network, tilt = shallow.gradient_with_offset(parameters.network, signs, features, weight, slope, encoding[bins])
    d_encoding = by_bin(tilt.reshape(rows, -1), bins.reshape(rows, -1), encoding.shape[0])
    return Parameters(network, d_encoding, jnp.zeros_like(parameters.additive))


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
    at = lm.record_steps(problem.steps, problem.records, problem.record_every)
    return lm.loop(step, start(parameters), probe, at)


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
