"""Four classes (3.9): setting, data, training of two networks, one per coordinate of the label, and one run of both.

The graph is a cluster cycle whose nodes have two labels, one for each sign sequence. The loss is max{1 - y^T F, 0} as
printed, or the sum of the coordinates' hinges: y^T F >= 1 does not mean that both signs are right (9.20).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.datasets.graphs.distances import distance_table
from lemmata.networks.losses import hinge
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.graphs.cycle import cluster_ring
from lemmata.theories.graph_transformer.graphs.drawn import Drawn, spread_evenly
from lemmata.theories.graph_transformer.margins import count_shells, mean_margins, winning_margins
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, initialise, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import mean_over
from lemmata.theories.graph_transformer.sampling import draw_positions, order_by_distance
from lemmata.theories.graph_transformer.setting import SEQUENCES, NetworkSetting

CLASSES = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""The labels of the groups A_1 .. A_4, whose patterns are μ_1 .. μ_4."""
LOSS = hinge()
R = ("record",)


class FourSetting(NetworkSetting):
    """Defaults: the reference task of 3.9."""

    nodes: int = lm.size(480, "N", "number of nodes")
    patterns: int = lm.size(12, "M", "number of patterns; the first four decide the label", low=5)
    neurons: int = lm.number(200, "m", "width of the hidden layer of each network", low=1, integer=True)
    bins: int = lm.number(5, "Z", "bins of the distance encoding", low=2, high=200, integer=True)
    discriminative: float = lm.number(0.4, "γ_d", "share of discriminative nodes", low=0, high=1, open_ends="low high")
    first: str = lm.choice("++--++--", "first coordinate of the clusters' labels", *SEQUENCES)
    second: str = lm.choice("+-+-+-+-", "second coordinate of the clusters' labels", *SEQUENCES)
    labelled: int = lm.number(240, "|L|", "labelled nodes", low=1, integer=True)
    batch: int = lm.size(50, "B", "nodes of a step")
    sample: int = lm.size(40, "|S|", "nodes that are drawn from the whole graph")
    steps: int = lm.number(1000, "T", "training steps", low=1, integer=True)
    record_every: int = lm.number(50, "", "steps between records", low=1, integer=True)
    records: int = lm.size(21, "", "room for records", low=2)
    loss: str = lm.choice("coordinates", "loss of each coordinate, or joint as printed", "coordinates", "joint")
    defect: str = lm.choice("none", "a deliberate break, for controls", "none", "distances")

    @lm.derived
    def joint(self) -> bool:
        return self.loss == "joint"

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if len(self.first) != len(self.second):
            yield f"first = {self.first} and second = {self.second} must be labels of the same clusters."
        elif self.nodes % len(self.first):
            yield f"nodes = {self.nodes} is not allowed: it must be a multiple of the {len(self.first)} clusters."
        if self.labelled >= self.nodes:
            yield f"labelled = {self.labelled} is not allowed: there are {self.nodes} nodes, some for the test."
        yield from self.exceeding("batch", "labelled", ["batch"])


class World(NamedTuple):
    """Features, labels of both coordinates, the split, distances, and the margins of both coordinates."""

    features: Float[Any, "nodes dimension"]
    directions: Float[Any, "dimension patterns"]
    pattern: Any
    label: Float[Any, "coordinate nodes"]
    order: Any
    table: Any
    node: Any
    margins: Float[Any, "coordinate bin"]
    bins_used: Float[Any, ""]


def prepare(setting: FourSetting, seed: int) -> World:
    draws = lm.generator(seed, "graph")
    signs = np.array([[1 if s == "+" else -1 for s in text] for text in (setting.first, setting.second)])
    clusters, each = signs.shape[1], setting.nodes // signs.shape[1]
    marked = round(setting.discriminative * each)
    patterns = []
    for a, b in signs.T:
        # spread_evenly gives patterns from 2 on; here those from 4 on are not discriminative
        others = 2 + spread_evenly(each - marked, setting.patterns - 2, draws)
        patterns += [np.repeat(CLASSES.index((int(a), int(b))), marked), others]
    pattern, label = np.concatenate(patterns), np.repeat(signs, each, axis=1)
    drawn = Drawn(cluster_ring(clusters, each, 1.0, draws), pattern, label[0])
    table = distance_table(data.as_graph(drawn), setting.bins)
    margins = []
    for j in range(2):
        own = np.array([(1 - label_[j]) // 2 for label_ in CLASSES])
        group = np.where(pattern < 4, own[np.minimum(pattern, 3)], -1)
        shells = count_shells([(np.arange(setting.nodes), table)], group, 2, setting.bins).lumped(setting.bins)
        margins.append(mean_margins(*winning_margins(shells, (1 - label[j]) // 2))[0])
    if setting.defect == "distances":
        table = data.permuted_distances(table, seed)
    features, directions = data.draw_patterns(setting, pattern, seed)
    order = lm.generator(seed, "split").permutation(setting.nodes)
    node = order_by_distance(table, setting.bins).node
    known = np.stack([data.padded(each, setting.bin_room) for each in margins])
    features = data.unit_rows(features)
    return data.narrow(World(features, directions, pattern, label * 1.0, order, table, node, known, setting.bins * 1.0))


def draw_tokens(problem: FourSetting, key: jax.Array, world: World, rows: Array) -> Tokens:
    """Every row itself and nodes of the whole graph."""
    positions, used = draw_positions(key, jnp.full(rows.shape, world.order.shape[0] - 1), problem.sample)
    keys = jnp.concatenate([rows[:, None], world.node[rows[:, None], 1 + positions].astype(jnp.int32)], axis=1)
    weight = jnp.concatenate([jnp.ones_like(used[:, :1]), used], axis=1)
    return tokens_of(world, rows, keys, weight, problem.bins)


def slopes(joint: Any, label: Float[Array, "coordinate rows"], answer: Float[Array, "coordinate rows"]) -> Array:
    """The derivative of the (joint) loss with respect to F_1, F_2."""
    margin = label * answer
    return label * LOSS.slope(jnp.where(joint, jnp.sum(margin, axis=0), margin))


@lm.piece("bin_room", "batch", "sample", "records")
def train(problem: FourSetting, key: jax.Array, world: World, pairs: list[tuple[Parameters, Array]]) -> lm.Run:
    """SGD on both networks, which see the same samples."""
    both, signs = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
    answers = jax.vmap(lambda p, a, tokens: run_sampled(p, a, tokens).output, in_axes=(0, 0, None))
    test = draw_tokens(problem, lm.stream(key, "test"), world, world.order)
    tested = jnp.arange(world.order.shape[0]) >= problem.labelled
    label, other = world.label[:, world.order], world.pattern[world.order] >= 4

    def batch_gradient(both: Parameters, drawn: tuple[lm.Batch, jax.Array]) -> Parameters:
        batch, sampler = drawn
        rows = world.order[batch.rows]
        tokens = draw_tokens(problem, sampler, world, rows)
        push = slopes(problem.joint, world.label[:, rows], answers(both, signs, tokens)) * batch.weight
        return jax.vmap(lambda p, a, each: gradient(p, a, tokens, lambda f: each))(both, signs, push)

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        margin = label * answers(state.parameters, signs, test)
        right = jnp.all(margin > 0, axis=0)
        return {
            "joint_loss": mean_over(LOSS.value(jnp.sum(margin, axis=0))[None], tested),
            "coordinate_loss": mean_over(jnp.sum(LOSS.value(margin), axis=0)[None], tested),
            "accuracy": mean_over(right[None], tested),
            "other_accuracy": mean_over(right[None], tested & other),
            "distance_bias": state.parameters.encoding,
        }

    scheme = lm.epochs(lm.stream(key, "batch"), problem.labelled, world.order.shape[0], problem.batch)
    scheme = lm.with_key(scheme, lm.stream(key, "sampler"))
    start, step = lm.descent(batch_gradient, optax.sgd(problem.step_size), scheme)
    return lm.loop(step, start(both), probe, lm.record_steps(problem.steps, problem.records, problem.record_every))


@lm.simulation(
    *lm.RUN,
    lm.Variable("joint_loss", R, "", "max{1 - y^T F, 0} on test nodes"),
    lm.Variable("coordinate_loss", R, "", "sum of both hinge losses on test nodes"),
    lm.Variable("accuracy", R, "", "share of test nodes with both signs right"),
    lm.Variable("other_accuracy", R, "", "the same on nodes that are not discriminative"),
    lm.Variable("distance_bias", ("record", "coordinate", "bin"), "b_z", "distance encoding of each network"),
    lm.Variable("count_margin", ("coordinate", "bin"), "Δ̄(z)", "mean winning margin of each coordinate"),
    lm.Variable("bins_used", (), "Z", "bins of the encoding"),
    labels={"coordinate": ("first", "second")},
    prepare=prepare,
)
def simulate(problem: FourSetting, key: jax.Array, world: World) -> dict[str, Array]:
    """One run of both networks."""
    pairs = [initialise(problem, jax.random.fold_in(key, 1000 + j), world.directions) for j in range(2)]
    run = train(problem, key, world, pairs)
    return {**run.results(), "count_margin": world.margins, "bins_used": world.bins_used}
