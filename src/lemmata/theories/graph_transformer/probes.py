"""What is looked at along training: losses (probe 8), attention (2 - 4), and what the proof follows (5, 6, 11, 12).

Watched are the nodes to evaluate with samples that stay the same; all probes read the forward pass of these samples.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

import lemmata as lm
from lemmata.networks.losses import hinge
from lemmata.networks.neurons import group_mean
from lemmata.networks.shallow import Network, Pass
from lemmata.theories.graph_transformer.data import World
from lemmata.theories.graph_transformer.network import Parameters, Tokens, run_full, tokens_of
from lemmata.theories.graph_transformer.sampling import SAMPLER, draw_tokens
from lemmata.theories.graph_transformer.setting import Setting

LOSS = hinge()
"""All reported losses have margin 1, whatever the training loss."""
LABELS = {
    "group": ("discriminative", "other", "all"),
    "error": ("sigma", "delta"),
    "crowd": ("W", "U", "wrong W", "wrong U"),
    "label": ("+1", "-1"),
}
"""`error`: that in the exponent of the theoretical masses, σ in the paper, δ for keys and queries (9.28). `crowd`:
lucky neurons, and those of the other output sign that are active on the same nodes."""


class Watched(NamedTuple):
    """Evaluated nodes (the order from `test_from` on), which of them are labelled or tested, and their samples."""

    node: Int[Array, " rows"]
    labelled: Bool[Array, " rows"]
    tested: Bool[Array, " rows"]
    keys: Int[Array, "draws rows keys"]
    weight: Float[Array, "draws rows keys"]


@lm.piece("test_from", "test_draws", *SAMPLER, "bin_room", once=True)
def draw_watched(problem: Setting, key: jax.Array, world: World, encoding: Array | None = None) -> Watched:
    """The nodes and their samples; the seed of the samples is the test's own. `encoding`: b, where it is sampled by."""
    place = jnp.arange(problem.test_from, world.order.shape[0])
    node = world.order[problem.test_from :]
    b = jnp.zeros(problem.bin_room) if encoding is None else encoding
    keys = jax.random.split(lm.stream(key, "test"), problem.test_draws)
    drawn = [draw_tokens(problem, k, world, node, b) for k in keys]
    labelled = place < problem.labelled
    return Watched(node, labelled, ~labelled, *(jnp.stack(parts) for parts in zip(*drawn, strict=True)))


def all_tokens(problem: Setting, world: World, watched: Watched) -> Tokens:
    """Every draw of every watched node as a row, draw after draw."""
    draws, _, width = watched.keys.shape
    nodes = jnp.tile(watched.node, draws)
    return tokens_of(world, nodes, watched.keys.reshape(-1, width), watched.weight.reshape(-1, width), problem.bins)


def full(problem: Setting, parameters: Parameters, signs: Array, world: World, watched: Watched) -> Pass:
    """All nodes of the sampler's shells as keys, and the node itself."""
    distance = world.table[watched.node].astype(jnp.int32)
    allowed = (distance >= world.nearest) & (distance <= world.farthest)
    alone = (world.count[watched.node] == 0)[:, None] | problem.include_self
    allowed = jnp.where(jnp.arange(distance.shape[1]) == watched.node[:, None], alone, allowed)
    bins = jnp.minimum(distance, problem.bins - 1)
    return run_full(parameters, signs, world.features[watched.node], world.features, bins, allowed, problem.scores)


def mean_over(values: Shaped[Array, "draws rows"], chosen: Bool[Array, " rows"]) -> Float[Array, ""]:
    """The mean over draws and chosen rows; NaN without any."""
    return jnp.sum(jnp.where(chosen, values, 0.0)) / (jnp.sum(chosen) * values.shape[0])


def losses(world: World, watched: Watched, answer: Float[Array, "draws rows"]) -> dict[str, Array]:
    """Hinge losses and accuracies; `other`: on nodes that are not discriminative. F = 0 counts as wrong."""
    label, clean = world.label[watched.node], world.clean[watched.node]
    other = world.pattern[watched.node] >= 2
    loss, right = LOSS.value(label * answer), (label * answer > 0).astype(answer.dtype)
    clean_loss = LOSS.value(clean * answer)
    return {
        "loss": mean_over(loss, watched.tested),
        "other_loss": mean_over(loss, watched.tested & other),
        "marked_loss": mean_over(loss, watched.tested & ~other),
        "clean_loss": mean_over(clean_loss, watched.tested),
        "accuracy": mean_over(right, watched.tested),
        "other_accuracy": mean_over(right, watched.tested & other),
        "train_loss": mean_over(loss, watched.labelled),
        "train_clean_loss": mean_over(clean_loss, watched.labelled),
    }


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

    def on(mask: Array) -> Array:
        return jnp.sum(attention * mask, axis=1)

    def predict(error: Any) -> Float[Array, " rows"]:
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

    predicted = [predict(error) for error in (problem.value_error, problem.key_error)]
    exact = world.table[jnp.tile(watched.node, watched.keys.shape[0])[:, None], watched.keys.reshape(attention.shape)]
    core = (exact == world.core) * 1.0
    at_core = on(relevant * core), on(confusing * core)
    entropy = -jnp.sum(attention * jnp.log(jnp.where(attention > 0, attention, 1.0)), axis=1)
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
        "predicted_mass": jnp.stack([means(p, chosen) for p in predicted], axis=1),
    }


class Start(NamedTuple):
    """What is fixed before training: neuron groups, mean features of the patterns, initial parameters."""

    lucky: Float[Array, "group neurons"]
    means: Float[Array, "inputs patterns"]
    parameters: Parameters


def first_draw(watched: Watched, values: Float[Array, "draws_rows ..."]) -> Float[Array, "rows ..."]:
    """The rows of the first draw."""
    return values[: watched.node.shape[0]]


def remember_start(parameters: Parameters, signs: Array, world: World, watched: Watched, run: Pass) -> Start:
    """W: a_i > 0 and active on every labelled node of D_1; U: a_i < 0 and D_2 (probe 6); from the initial pass."""
    active = first_draw(watched, run.hidden[:, 0]) > 0
    pattern = world.pattern[watched.node]

    def always_active(j: int) -> Array:
        return jnp.all(active | ~(watched.labelled & (pattern == j))[:, None], axis=0)

    plus, minus = signs > 0, signs < 0
    pairs = ((plus, 0), (minus, 1), (minus, 0), (plus, 1))
    lucky = jnp.stack([side & always_active(j) for side, j in pairs]) * 1.0
    member = (world.pattern[:, None] == jnp.arange(world.directions.shape[1])) * 1.0
    sizes = jnp.sum(member, axis=0)
    # a pattern that no node carries is represented by itself
    means = jnp.where(sizes > 0, world.features.T @ member / jnp.maximum(sizes, 1), world.directions)
    return Start(lucky, means, parameters)


def follow_proof(
    problem: Setting, start: Start, parameters: Parameters, signs: Array, world: World, watched: Watched, run: Pass
) -> dict[str, Array]:
    """The quantities that the proof follows (probes 5, 6, 11, 12): keys, queries, values, lucky neurons."""
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

    own = value_coefficients(problem, signs, world, watched, run)[:, :2].T

    def share(neurons: Array) -> Array:
        return jnp.sum(start.lucky[:2] * neurons, axis=1) / jnp.sum(start.lucky[:2], axis=1)

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
        "drift_ov": jnp.linalg.norm(conserved(network)[0] - conserved(before)[0]),
        "drift_qk": jnp.linalg.norm(conserved(network)[1] - conserved(before)[1]),
    }


def value_coefficients(
    problem: Setting, signs: Array, world: World, watched: Watched, run: Pass
) -> Float[Array, "neurons patterns"]:
    """V_i^(j) of the batch of the first B labelled nodes (Lemma B.3.4):

    V_i^(j) = -1/B sum_n y_n 1[y_n F_n < 1] a_i 1[W_O,i V_n > 0] <xbar_n, μ_j>.
    """
    label = world.label[watched.node]
    chosen = watched.labelled & (jnp.arange(label.shape[0]) < problem.seen)
    answer, mixed = (first_draw(watched, values[:, 0]) for values in (run.answer, run.mixed))
    gate = first_draw(watched, run.gate[:, 0])
    push = jnp.where(chosen & (label * answer < problem.margin), label, 0.0)
    return -gate.T @ (push[:, None] * (mixed @ world.directions)) / problem.seen


def conserved(network: Network) -> tuple[Float[Array, "width width"], Float[Array, "width width"]]:
    """W_O^T W_O - W_V W_V^T and W_Q W_Q^T - W_K W_K^T, constant in gradient flow."""
    o, v, k, q = network
    return o.T @ o - v @ v.T, q @ q.T - k @ k.T


def _mean(values: Array, group: Array) -> Array:
    return jnp.sum(values * group) / jnp.sum(group)
