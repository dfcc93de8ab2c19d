"""Training of the two networks, which see the same samples, and the simulation of one run.

The loss is max{1 - y^T F, 0} as printed, or the sum of the coordinates' hinges: y^T F >= 1 does not mean that both
signs are right (9.20).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.theories.graph_transformer.four_classes.data import World, prepare
from lemmata.theories.graph_transformer.four_classes.setting import FourSetting
from lemmata.theories.graph_transformer.network import Parameters, Tokens, gradient, initialise, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import mean_over
from lemmata.theories.graph_transformer.sampling import draw_positions

LOSS = hinge()


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


R = ("record",)


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
