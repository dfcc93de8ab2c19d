"""Four classes (3.9): two networks, one per coordinate of the label, on a cluster cycle with two sign sequences.

The loss is max{1 - y^T F, 0} as printed, or the sum of the coordinates' hinges: y^T F >= 1 does not mean that both
signs are right (9.20).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from lemmata.datasets.graphs.distances import distance_table
from lemmata.lab import batches
from lemmata.lab.setting import choice, number, size
from lemmata.lab.simulation import Variable, generator, piece, simulation, stream
from lemmata.lab.training import Run, descent, loop, record_steps
from lemmata.networks.losses import hinge
from lemmata.theories.graph_transformer import data
from lemmata.theories.graph_transformer.generators.cycle import ring
from lemmata.theories.graph_transformer.generators.drawn import Drawn, spread_evenly
from lemmata.theories.graph_transformer.margins import count_shells, mean_margins, winning_margins
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, initialise, run_sampled
from lemmata.theories.graph_transformer.sampling import draw_positions, order_by_distance
from lemmata.theories.graph_transformer.setting import SEQUENCES, NetworkSetting
from lemmata.theories.graph_transformer.watched import mean_over, tokens_of

CLASSES = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""The labels of the groups A_1 .. A_4, whose patterns are μ_1 .. μ_4."""
LOSS = hinge()


class FourSetting(NetworkSetting):
    """Defaults: the reference task of 3.9."""

    nodes: int = size(480, "N", "number of nodes")
    patterns: int = size(12, "M", "number of patterns; the first four decide the label", low=5)
    neurons: int = number(200, "m", "width of the hidden layer of each network", low=1, integer=True)
    bins: int = number(5, "Z", "bins of the distance encoding", low=2, high=200, integer=True)
    discriminative: float = number(
        0.4, "γ_d", "fraction of nodes with a discriminative pattern", low=0, high=1, open_ends="low high"
    )
    first: str = choice("++--++--", "first coordinate of the clusters' labels", *SEQUENCES)
    second: str = choice("+-+-+-+-", "second coordinate of the clusters' labels", *SEQUENCES)
    labelled: int = number(240, "|L|", "labelled nodes", low=1, integer=True)
    batch: int = size(50, "B", "nodes of a step")
    sample: int = size(40, "|S|", "nodes that are drawn from the whole graph")
    steps: int = number(1000, "T", "training steps", low=1, integer=True)
    record_every: int = number(50, "", "steps between records", low=1, integer=True)
    records: int = size(21, "", "room for records", low=2)
    loss: str = choice("coordinates", "training loss: of each coordinate, or joint as printed", "coordinates", "joint")
    defect: str = choice("none", "a deliberate break, for controls", "none", "distances")

    def refusals(self, given: list[str]) -> Iterator[str]:
        yield from super().refusals(given)
        if len(self.first) != len(self.second):
            yield f"first = {self.first} and second = {self.second} must be labels of the same clusters."
        elif self.nodes % len(self.first):
            yield f"nodes = {self.nodes} is not allowed: it must be a multiple of the {len(self.first)} clusters."
        if self.labelled >= self.nodes:
            yield f"labelled = {self.labelled} is not allowed: there are {self.nodes} nodes, some for the test."
        if self.batch > self.labelled:
            yield f"batch = {self.batch} is not allowed: there are {self.labelled} labelled nodes."


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


def prepare(setting: FourSetting, seed: int) -> World:
    draws = generator(seed, "graph")
    signs = np.array([[1 if s == "+" else -1 for s in text] for text in (setting.first, setting.second)])
    clusters, each = signs.shape[1], setting.nodes // signs.shape[1]
    marked = round(setting.discriminative * each)
    kinds = [CLASSES.index((int(a), int(b))) for a, b in signs.T]
    # spread_evenly gives patterns from 2 on; here those from 4 on are not discriminative
    others = [2 + spread_evenly(each - marked, setting.patterns - 2, draws) for _ in kinds]
    pattern = np.concatenate(
        [np.concatenate([np.repeat(k, marked), rest]) for k, rest in zip(kinds, others, strict=True)]
    )
    label = np.repeat(signs, each, axis=1)
    drawn = Drawn(ring(clusters, each, 1.0, draws), pattern, label[0])
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
    room = setting.bin_room
    padded = np.pad(np.stack(margins), ((0, 0), (0, room - setting.bins)))
    return World(
        data.unit_rows(features).astype(np.float32), directions.astype(np.float32), pattern.astype(np.int32),
        label.astype(np.float32), generator(seed, "split").permutation(setting.nodes).astype(np.int32), table,
        order_by_distance(table, setting.bins).node, padded.astype(np.float32),
    )  # fmt: skip


def draw_tokens(problem: FourSetting, key: jax.Array, world: World, rows: Array) -> Tokens:
    """Every row itself and nodes of the whole graph."""
    positions, used = draw_positions(key, jnp.full(rows.shape, world.order.shape[0] - 1), problem.sample)
    keys = jnp.concatenate([rows[:, None], world.node[rows[:, None], 1 + positions].astype(jnp.int32)], axis=1)
    weight = jnp.concatenate([jnp.ones_like(used[:, :1]), used], axis=1)
    return tokens_of(world, rows, keys, weight, problem.bins)


def slopes(loss: str, label: Float[Array, "coordinate rows"], answer: Float[Array, "coordinate rows"]) -> Array:
    """The derivative of the loss with respect to F_1, F_2."""
    margin = label * answer
    return label * LOSS.slope(jnp.sum(margin, axis=0) if loss == "joint" else margin)


@piece("bin_room", "batch", "sample", "records", "loss")
def train(problem: FourSetting, key: jax.Array, world: World, both: Parameters, signs: Array) -> Run:
    """SGD on both networks, which see the same samples."""
    answers = jax.vmap(lambda p, a, tokens: run_sampled(p, a, tokens).output, in_axes=(0, 0, None))
    test = draw_tokens(problem, stream(key, "test"), world, world.order)
    tested = jnp.arange(world.order.shape[0]) >= problem.labelled
    label, other = world.label[:, world.order], world.pattern[world.order] >= 4

    def batch_gradient(both: Parameters, drawn: tuple[batches.Batch, jax.Array]) -> Parameters:
        batch, sampler = drawn
        rows = world.order[batch.rows]
        tokens = draw_tokens(problem, sampler, world, rows)
        push = slopes(problem.loss, world.label[:, rows], answers(both, signs, tokens)) * batch.weight
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

    scheme = batches.epochs(stream(key, "batch"), problem.labelled, world.order.shape[0], problem.batch)
    scheme = batches.with_key(scheme, stream(key, "sampler"))
    start, step = descent(batch_gradient, optax.sgd(problem.step_size), scheme)
    return loop(step, start(both), probe, record_steps(problem.steps, problem.records, problem.record_every))


R = ("record",)


@simulation(
    Variable("step", R, "t", "training step of the record"),
    Variable("joint_loss", R, "", "max{1 - y^T F, 0} on test nodes"),
    Variable("coordinate_loss", R, "", "sum of both hinge losses on test nodes"),
    Variable("accuracy", R, "", "share of test nodes with both signs right"),
    Variable("other_accuracy", R, "", "the same on nodes that are not discriminative"),
    Variable("distance_bias", ("record", "coordinate", "bin"), "b_z", "distance encoding of each network"),
    Variable("count_margin", ("coordinate", "bin"), "Δ̄(z)", "mean winning margin of each coordinate"),
    Variable("bins_used", (), "Z", "bins of the encoding"),
    Variable("diverged", (), "", "1 if training left the finite numbers and was frozen"),
    labels={"coordinate": ("first", "second")},
    prepare=prepare,
)
def simulate(problem: FourSetting, key: jax.Array, world: World) -> dict[str, Array]:
    """One run of both networks."""
    world = jax.tree.map(jnp.asarray, world)
    pairs = [initialise(problem, jax.random.fold_in(key, 1000 + j), world.directions) for j in range(2)]
    both, signs = (jax.tree.map(lambda *leaves: jnp.stack(leaves), *part) for part in zip(*pairs, strict=True))
    run = train(problem, key, world, both, signs)
    return {
        **run.records, "step": run.step, "diverged": run.diverged, "count_margin": world.margins,
        "bins_used": jnp.asarray(problem.bins, jnp.result_type(float)),
    }  # fmt: skip
