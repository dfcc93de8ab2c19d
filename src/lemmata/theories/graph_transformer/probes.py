"""What attention does (probes 2 - 4), read off the sampled forward pass of the labelled nodes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.networks.shallow import Pass
from lemmata.theories.graph_transformer.data import World
from lemmata.theories.graph_transformer.network import Parameters, Tokens
from lemmata.theories.graph_transformer.setting import Setting
from lemmata.theories.graph_transformer.watched import Watched

GROUPS = ("discriminative", "other", "all")
ERRORS = ("sigma", "delta")
"""The error in the exponent of the theoretical masses: σ in the document, δ for keys and queries (9.28)."""


def kinds(world: World, watched: Watched) -> tuple[Array, Array]:
    """For every row and key: 1 if the key is class-relevant (S_*), 1 if it is confusing (S_#)."""
    draws, rows, width = watched.keys.shape
    pattern = world.pattern[watched.keys].reshape(draws * rows, width)
    own = jnp.tile(((1 - world.label[watched.node]) / 2).astype(jnp.int32), draws)[:, None]
    return (pattern == own) * 1.0, (pattern == 1 - own) * 1.0


def groups(world: World, watched: Watched) -> Float[Array, "group rows"]:
    """Which rows (every draw of every node) belong to the labelled discriminative, other and all nodes."""
    draws = watched.keys.shape[0]
    other = world.pattern[watched.node] >= 2
    chosen = jnp.stack([watched.labelled & ~other, watched.labelled & other, watched.labelled])
    return jnp.tile(chosen, (1, draws)) * 1.0


def means(values: Float[Array, "rows ..."], chosen: Float[Array, "group rows"]) -> Float[Array, "group ..."]:
    """Means over the rows of each group, rows with NaN left out; NaN for a group without any."""
    known = jnp.isfinite(values)
    total = jnp.tensordot(chosen, jnp.where(known, values, 0.0), axes=1)
    return total / jnp.tensordot(chosen, known * 1.0, axes=1)


def masses(
    problem: Setting, parameters: Parameters, world: World, watched: Watched, tokens: Tokens, run: Pass
) -> dict[str, Array]:
    """Attention on class-relevant, confusing and other keys, per bin, its entropy, and the theory's p_n."""
    attention = run.attention[0][:, 0]
    relevant, confusing = kinds(world, watched)
    chosen = groups(world, watched)
    on = lambda mask: jnp.sum(attention * mask, axis=1)  # noqa: E731
    exact = world.table[jnp.tile(watched.node, watched.keys.shape[0])[:, None], watched.keys.reshape(attention.shape)]
    core = (exact == world.core) * 1.0
    at_core = on(relevant * core), on(confusing * core)
    entropy = -jnp.sum(
        jnp.where(attention > 0, attention * jnp.log(jnp.where(attention > 0, attention, 1.0)), 0.0), axis=1
    )
    per_bin = jnp.stack([on(tokens.bins == z) for z in range(problem.bin_room)], axis=1)
    confused = jnp.sum(confusing * core * tokens.weight, axis=1)
    decisive = confused + jnp.sum(relevant * core * tokens.weight, axis=1)
    return {
        "relevant_mass": means(on(relevant), chosen),
        "confusing_mass": means(on(confusing), chosen),
        "core_ratio": means(at_core[0] / (at_core[0] + at_core[1]), chosen)[1],
        "confusion_ratio": means(confused / decisive, chosen)[1],
        "undecided": means((decisive == 0) * 1.0, chosen)[1],
        "bin_mass": means(per_bin, chosen),
        "entropy": means(entropy, chosen),
        "predicted_mass": jnp.stack(
            [
                means(predicted_mass(parameters, world, watched, tokens, relevant, confusing, error), chosen)
                for error in (problem.value_error, problem.key_error)
            ],
            axis=1,
        ),
    }


def predicted_mass(
    parameters: Parameters,
    world: World,
    watched: Watched,
    tokens: Tokens,
    relevant: Array,
    confusing: Array,
    error: Any,
) -> Float[Array, " rows"]:
    """p_n of Definition B.2.3 from ||q_1||^2 = <W_K μ_1, W_Q μ_1> and b.

    Keys with the factor e^{||q_1||^2 - error ||q_1||}: S_* of a discriminative node, S_* and S_# of any other.
    """
    network = parameters.network
    square = (network.key @ world.directions[:, 0]) @ (network.query @ world.directions[:, 0])
    boost = jnp.exp(square - error * jnp.sqrt(jnp.maximum(square, 0.0)))
    other = jnp.tile(world.pattern[watched.node] >= 2, watched.keys.shape[0])[:, None]
    boosted = jnp.where(other, relevant + confusing, relevant)
    mass = tokens.weight * jnp.exp(parameters.encoding[tokens.bins]) * jnp.where(boosted > 0, boost, 1.0)
    return jnp.sum(mass * relevant, axis=1) / jnp.sum(mass, axis=1)
