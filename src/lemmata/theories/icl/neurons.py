"""Single neurons (probes 5.4 to 5.6): large and small ones, lucky ones, and what pruning some of them costs."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.networks.losses import hinge
from lemmata.networks.neurons import alignment
from lemmata.networks.shallow import Network, Pass
from lemmata.theories.icl.data import Prompts, World

ORDERS = ("smallest", "random", "largest", "random large")
RATES = (0.0, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.8)
RATE_LABELS = tuple(f"{rate:g}" for rate in RATES)
SIGNS = ("plus", "minus")
"""a_i > 0 and a_i < 0."""


def otsu(values: Float[Array, " values"]) -> Bool[Array, " values"]:
    """The larger of two groups, split where the variance between them is largest (Otsu's method, without bins)."""
    count = values.shape[0]
    ordered = jnp.sort(values)
    below = jnp.arange(1, count)
    total = jnp.cumsum(ordered)
    gap = total[:-1] / below - (total[-1] - total[:-1]) / (count - below)
    return values >= ordered[1:][jnp.argmax(below * (count - below) * gap**2)]


def neuron_blocks(rows: Float[Array, "neurons width"], signs: Array, world: World) -> dict[str, Array]:
    """Norms of r_i and of its two blocks, and their cosines with μ̄ and with sign(a_i) q (probe 5.4)."""
    dimension = world.basis.shape[0]
    feature, label = rows[:, :dimension], rows[:, dimension:]
    towards = jnp.stack([jnp.mean(world.patterns.relevant, axis=1)], axis=1)
    return {
        "neuron_norm": jnp.linalg.norm(rows, axis=1),
        "feature_norm": jnp.linalg.norm(feature, axis=1),
        "feature_cosine": alignment(feature, towards)[:, 0],
        "label_norm": jnp.linalg.norm(label, axis=1),
        "label_cosine": jnp.sign(signs) * alignment(label, world.q[:, None])[:, 0],
    }


class Lucky(NamedTuple):
    """The lucky neurons of every prompt, and all of each sign: W = union of W_n (a_i > 0), U = union of U_n."""

    own: Bool[Array, "prompts neurons"]
    unsigned: Bool[Array, "prompts neurons"]
    union: Bool[Array, "sign neurons"]


def find_lucky(network: Network, signs: Array, prompts: Prompts, run: Pass, world: World) -> Lucky:
    """W_n and U_n at initialisation (probe 5.5): both blocks of W_O point to V^n, and a_i has the sign of the label."""
    dimension = world.basis.shape[0]
    values = run.mixed[:, 0] @ network.value.T
    feature = values[:, :dimension] @ network.output[:, :dimension].T
    label = values[:, dimension:] @ network.output[:, dimension:].T
    unsigned = (feature > 0) & (label > 0)
    own = unsigned & (signs[None] * prompts.label[:, None] > 0)
    of_label = jnp.stack([prompts.label > 0, prompts.label < 0])
    union = jnp.any(own[None] & of_label[:, :, None], axis=1)
    return Lucky(own, unsigned, union)


def lucky_activity(active: Bool[Array, "prompts neurons"], prompts: Prompts, lucky: Lucky) -> dict[str, Array]:
    """Shares of active (neuron, prompt) pairs: own lucky neurons, and W on every +1, U on every -1 prompt."""
    of_label = jnp.stack([prompts.label > 0, prompts.label < 0])
    every = jnp.any(lucky.union[:, None, :] & of_label[:, :, None], axis=0)
    return {f"{name}_active": jnp.sum(active & p) / jnp.sum(p) for name, p in (("own", lucky.own), ("all", every))}


def prune_order(key: jax.Array, score: Float[Array, " neurons"], large: Bool[Array, " neurons"]) -> Array:
    """The place of every neuron in the ORDERS of pruning; place < round(rate m) is pruned.

    "random large" begins with the large neurons, in the same random order as "random".
    """
    mark = jax.random.uniform(key, score.shape)
    return jnp.stack([jnp.argsort(jnp.argsort(by)) for by in (score, mark, -score, mark - large)])


def prune(
    key: jax.Array, rows: Float[Array, "neurons width"], norms: Array, signs: Array, run: Pass, prompts: Prompts
) -> dict[str, Array]:
    """Hinge and error after pruning by order and rate, and of exactly the small neurons (3.6). No retraining.

    rows: their norms define large and small neurons; norms: what neurons are ordered by.
    """
    m = signs.shape[0]
    large = otsu(jnp.linalg.norm(rows, axis=1))
    place = prune_order(key, norms, large)
    removed = jnp.round(jnp.asarray(RATES) * m)
    kept = place[:, None, :] >= removed[:, None]
    # "random large" is about large neurons only: beyond their number there is nothing to prune
    few = removed <= jnp.sum(large)
    masks = jnp.concatenate([kept.reshape(-1, m), large[None]]) * signs
    margin = prompts.label[:, None] * (jnp.maximum(run.hidden[:, 0], 0.0) @ masks.T)
    losses, errors = jnp.mean(hinge().value(margin), axis=0), jnp.mean((margin <= 0) * 1.0, axis=0)
    absent = jnp.where((jnp.arange(len(ORDERS)) == 3)[:, None] & ~few, jnp.nan, 0.0)
    shape = (len(ORDERS), len(RATES))
    return {
        "pruned_hinge": losses[:-1].reshape(shape) + absent,
        "pruned_error": errors[:-1].reshape(shape) + absent,
        "large_hinge": losses[-1],
        "large_error": errors[-1],
        "pruned_large_share": jnp.mean(large * 1.0),
    }
