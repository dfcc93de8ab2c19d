"""What the proof follows (probes 5, 6, 11, 12): keys, queries and values of patterns, lucky neurons, coefficients."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.networks.neurons import group_mean
from lemmata.networks.shallow import Pass
from lemmata.theories.graph_transformer.data import World
from lemmata.theories.graph_transformer.network import Parameters
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.watched import Watched

NEURONS = ("W", "U", "wrong W", "wrong U")
"""Lucky neurons, and those of the other output sign that are active on the same nodes."""


class Start(NamedTuple):
    """What is fixed before training: neuron groups, mean features of the patterns, initial parameters."""

    lucky: Float[Array, "group neurons"]
    means: Float[Array, "inputs patterns"]
    parameters: Parameters


def first_draw(watched: Watched, values: Float[Array, "draws_rows ..."]) -> Float[Array, "rows ..."]:
    """The rows of the first draw."""
    return values[: watched.node.shape[0]]


def begin(parameters: Parameters, signs: Array, world: World, watched: Watched, run: Pass) -> Start:
    """W: a_i > 0 and active on every labelled node of D_1; U: a_i < 0 and D_2 (probe 6); from the initial pass."""
    active = first_draw(watched, run.hidden[:, 0]) > 0
    pattern = world.pattern[watched.node]

    def always(j: int) -> Array:
        return jnp.all(active | ~(watched.labelled & (pattern == j))[:, None], axis=0)

    plus, minus = signs > 0, signs < 0
    lucky = jnp.stack([plus & always(0), minus & always(1), minus & always(0), plus & always(1)]) * 1.0
    member = (world.pattern[:, None] == jnp.arange(world.directions.shape[1])) * 1.0
    sizes = jnp.sum(member, axis=0)
    # a pattern that no node carries is represented by itself
    means = jnp.where(sizes > 0, world.features.T @ member / jnp.maximum(sizes, 1), world.directions)
    return Start(lucky, means, parameters)


def follow(
    problem: Setting, start: Start, parameters: Parameters, signs: Array, world: World, watched: Watched, run: Pass
) -> dict[str, Array]:
    """The proof's quantities now."""
    network, before = parameters.network, start.parameters.network
    mu = world.directions
    q, r, p = (matrix @ start.means for matrix in (network.key, network.query, network.value))
    along = network.output @ (p / jnp.linalg.norm(p, axis=0))
    moved = (network.value - before.value) @ mu
    square_norm = jnp.sum(network.output**2, axis=1)
    used = (signs != 0) * 1.0
    lucky = jnp.maximum(start.lucky[0], start.lucky[1])
    unlucky = used * (1 - lucky)
    pattern = world.pattern[watched.node]
    active = first_draw(watched, run.hidden[:, 0]) > 0
    # the first row of W_O in the place of all: a control of the initial fraction
    alike = jnp.mean(first_draw(watched, run.mixed[:, 0]) @ (before.output[0] @ before.value) > 0)

    def persistence(group: Array, j: int) -> Array:
        pairs = (pattern == j)[:, None] * group
        return jnp.sum(pairs * active) / jnp.sum(pairs)

    coefficient = value_coefficients(problem, signs, world, watched, run)
    own = jnp.stack([coefficient[:, 0], coefficient[:, 1]])
    share = lambda below: jnp.sum(start.lucky[:2] * below, axis=1) / jnp.sum(start.lucky[:2], axis=1)  # noqa: E731
    first = before.value @ start.means[:, 0]
    return {
        "key_norm": jnp.linalg.norm(q, axis=0),
        "query_norm": jnp.linalg.norm(r, axis=0),
        "cross_logits": (network.key @ mu).T @ (network.query @ mu),
        "lucky_along": group_mean(along.T, start.lucky),
        "lucky_along_size": group_mean(jnp.abs(along).T, start.lucky),
        "norm_ratio": _mean(square_norm, unlucky) / _mean(square_norm, lucky),
        "persistence": jnp.stack([persistence(g, j) for g, j in zip(start.lucky, (0, 1, 0, 1), strict=True)]),
        "active_fraction": jnp.sum(active * used) / (active.shape[0] * jnp.sum(used)),
        "active_fraction_alike": alike,
        "lucky_count": jnp.sum(start.lucky, axis=1),
        "value_along_first": (network.value @ mu[:, 0]) @ first,
        "value_moved": jnp.linalg.norm(moved, axis=0),
        "value_opposition": moved[:, 0] @ moved[:, 1],
        "lucky_value": jnp.stack([_mean(network.output @ moved[:, j], start.lucky[j]) for j in range(2)]),
        "coefficient_negative": share(own < 0),
        "coefficient_positive": share(own > 0),
        "drift_ov": jnp.linalg.norm(conserved_ov(parameters) - conserved_ov(start.parameters)),
        "drift_qk": jnp.linalg.norm(conserved_qk(parameters) - conserved_qk(start.parameters)),
    }


def value_coefficients(
    problem: Setting, signs: Array, world: World, watched: Watched, run: Pass
) -> Float[Array, "neurons patterns"]:
    """V_i^(j) of the batch of the first B labelled nodes (Lemma B.3.4):

    V_i^(j) = -1/B sum_n y_n 1[y_n F_n < 1] a_i 1[W_O,i V_n > 0] <xbar_n, μ_j>.
    """
    label = world.label[watched.node]
    size = jnp.minimum(problem.labelled, problem.batch or problem.labelled)
    chosen = watched.labelled & (jnp.arange(label.shape[0]) < size)
    answer, mixed = (first_draw(watched, values[:, 0]) for values in (run.answer, run.mixed))
    gate = first_draw(watched, run.gate[:, 0])
    push = jnp.where(chosen & (label * answer < problem.margin), label, 0.0)
    return -gate.T @ (push[:, None] * (mixed @ world.directions)) / size


def conserved_ov(parameters: Parameters) -> Float[Array, "width width"]:
    """W_O^T W_O - W_V W_V^T, constant in gradient flow."""
    network = parameters.network
    return network.output.T @ network.output - network.value @ network.value.T


def conserved_qk(parameters: Parameters) -> Float[Array, "width width"]:
    """W_Q W_Q^T - W_K W_K^T, constant in gradient flow."""
    network = parameters.network
    return network.query @ network.query.T - network.key @ network.key.T


def _mean(values: Array, group: Array) -> Array:
    return jnp.sum(values * group) / jnp.sum(group)
