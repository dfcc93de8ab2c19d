"""What is measured on a network and prompts (section 5): single neurons (large and small ones, lucky ones, what pruning
some of them costs; 5.4 to 5.6), errors, attention, pattern coordinates, gradients.

The last two functions gather what is recorded along training: for figure 6.2, and for the proof.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.networks.losses import hinge
from lemmata.networks.neurons import alignment, group_mean
from lemmata.networks.shallow import Network, Pass, products
from lemmata.theories.icl.data import Patterns, Prompts, Watched, World
from lemmata.theories.icl.network import attention_on, gradient, neurons, run_forward
from lemmata.theories.icl.setting import Setting

LOSS = hinge()
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
    losses, errors = jnp.mean(LOSS.value(margin), axis=0), jnp.mean((margin <= 0) * 1.0, axis=0)
    absent = jnp.where((jnp.arange(len(ORDERS)) == 3)[:, None] & ~few, jnp.nan, 0.0)
    shape = (len(ORDERS), len(RATES))
    return {
        "pruned_hinge": losses[:-1].reshape(shape) + absent,
        "pruned_error": errors[:-1].reshape(shape) + absent,
        "large_hinge": losses[-1],
        "large_error": errors[-1],
        "pruned_large_share": jnp.mean(large * 1.0),
    }


LUCKY_PROMPTS = 600
SHOWN = 5
"""Neurons of each sign of a_i that figure 6.2 shows."""


def mean_where(values: Float[Array, "*parts prompts"], chosen: Bool[Array, " prompts"]) -> Float[Array, "*parts"]:
    """The mean over some of the prompts; NaN over none."""
    return group_mean(values, (chosen * 1.0)[None])[0]


def judge_margins(margin: Float[Array, " prompts"]) -> dict[str, Array]:
    """Sign error (F = 0 counts) and hinge loss of every prompt, from its margin z F."""
    return {"error": (margin <= 0) * 1.0, "hinge": LOSS.value(margin)}


def scores(run: Pass, prompts: Prompts) -> dict[str, Array]:
    """Probes 5.1 and 5.2: hinge, sign error (F = 0 counts), mean margin z F, attention on N_* by head.

    Attention is averaged over the prompts that have a context with the query's pattern; the error is given with and
    without one too.
    """
    margin = prompts.label * run.output
    judged = judge_margins(margin)
    wrong = judged["error"]
    matched = jnp.any(prompts.matches(), axis=1)
    return {
        **{name: jnp.mean(values) for name, values in judged.items()},
        "margin": jnp.mean(margin),
        "concentration": mean_where(attention_on(run, prompts.matches() * 1.0), matched),
        "no_match": jnp.mean(~matched * 1.0),
        "error_match": mean_where(wrong, matched),
        "error_no_match": mean_where(wrong, ~matched),
    }


def scores_by_query(run: Pass, prompts: Prompts, relevant: int) -> dict[str, Array]:
    """Probe 5.8: error, hinge and concentration by the query's pattern."""
    scored = judge_margins(prompts.label * run.output)
    scored["concentration"] = attention_on(run, prompts.matches() * 1.0)[0]
    matched = jnp.any(prompts.matches(), axis=1)
    each = {}
    for name, values in scored.items():
        of = [(prompts.query_pattern == j) & (matched | (name != "concentration")) for j in range(relevant)]
        each[name] = jnp.stack([mean_where(values, chosen) for chosen in of])
    return each


def block(matrix: Array, left: Float[Array, "dimension left"], right: Any = None) -> Float[Array, "left right"]:
    """v_j^T W[:d_x, :d_x] u_k / β² for all pairs of patterns; u = v unless given."""
    dimension = left.shape[0]
    return left.T @ matrix[:dimension, :dimension] @ (left if right is None else right) / jnp.sum(left[:, 0] ** 2)


def pattern_blocks(network: Network, world: World) -> dict[str, Array]:
    """Probe 5.3: G^Q, G^K on the relevant patterns and on the irrelevant ones; ‖W_K(μ_j; 0)‖ and ‖W_K(0; q)‖.

    `mapped_sum`: where W_Q and W_K send (Σ_j μ_j; 0), in units of |Σ_j μ_j|, along that sum (first) and across it.
    """
    mu, nu = world.patterns.relevant, world.patterns.irrelevant
    dimension = mu.shape[0]
    total = jnp.sum(mu, axis=1)
    unit = jnp.pad(total / jnp.linalg.norm(total), (0, network.key.shape[1] - dimension))
    mapped = jnp.stack([network.query @ unit, network.key @ unit])
    along = mapped @ unit
    across = jnp.linalg.norm(mapped - along[:, None] * unit, axis=1)
    return {
        "mapped_sum": jnp.stack([along, across], axis=1),
        "query_patterns": block(network.query, mu),
        "key_patterns": block(network.key, mu),
        "query_irrelevant": block(network.query, nu),
        "key_irrelevant": block(network.key, nu),
        "key_pattern_norm": jnp.linalg.norm(network.key[:, :dimension] @ mu, axis=0),
        "key_label_norm": jnp.linalg.norm(network.key[:, dimension:] @ world.q),
    }


def partners(roles: Float[Array, "tasks patterns"], seen: Any) -> Float[Array, "patterns patterns"]:
    """1 where two patterns form a training task."""
    used = jnp.abs(roles) * (jnp.arange(roles.shape[0]) < seen)[:, None]
    return ((used.T @ used) > 0) * (1.0 - jnp.eye(roles.shape[1]))


def partner_ratio(
    blocks: Float[Array, "map patterns patterns"], partner: Float[Array, "patterns patterns"]
) -> Float[Array, " map"]:
    """Mean entry of task partners of G^Q and of G^K, each over the own entry of its row."""
    ratios = blocks / jnp.diagonal(blocks, axis1=1, axis2=2)[:, :, None]
    return jnp.sum(ratios * partner, axis=(1, 2)) / jnp.sum(partner)


def projections(network: Network, prompts: Prompts, patterns: Patterns) -> dict[str, Array]:
    """Probe 5.3 on prompts: mean ‖W_Q p_query‖, ‖W_K p_i‖, and their projections on the tokens' own patterns / β."""
    unit = patterns.relevant / jnp.linalg.norm(patterns.relevant, axis=0)
    dimension = unit.shape[0]
    queries, keys = prompts.query @ network.query.T, prompts.contexts @ network.key.T

    def own(mapped: Array, pattern: Array) -> Array:
        return jnp.sum(mapped[..., :dimension] * unit.T[pattern], axis=-1)

    return {
        "query_norm": jnp.mean(jnp.linalg.norm(queries, axis=-1)),
        "key_norm": jnp.mean(jnp.linalg.norm(keys, axis=-1)),
        "query_projection": jnp.mean(own(queries, prompts.query_pattern)),
        "key_projection": jnp.mean(own(keys, prompts.pattern)),
    }


def updates(network: Network, signs: Array, prompts: Prompts, world: World, include_query: bool) -> dict[str, Array]:
    """Lemma E.4.5: -∇W_Q and -∇W_K on a fixed batch, in pattern coordinates; and with all z negated.

    `label_gradient` is the largest entry of the label columns, `irrelevant_update` the mean size of ν_k^T (-∇) μ_j:
    what the map of a relevant pattern gains along an irrelevant one.
    """
    mu, nu = world.patterns.relevant, world.patterns.irrelevant
    dimension = mu.shape[0]

    def step(z: Array) -> Network:
        return gradient(network, signs, prompts, lambda outputs: z * LOSS.slope(z * outputs), include_query)

    down, other = step(prompts.label), step(-prompts.label)
    maps = (down.query, down.key)
    return {
        "map_update": jnp.stack([block(-g, mu) for g in maps]),
        "negated_update": jnp.stack([jnp.mean(jnp.diag(block(-g, mu))) for g in (other.query, other.key)]),
        "irrelevant_update": jnp.stack([jnp.mean(jnp.abs(block(-g, nu, mu))) for g in maps]),
        "label_gradient": jnp.stack([jnp.max(jnp.abs(g[:, dimension:])) for g in maps]),
    }


def value_coefficients(
    run: Pass, signs: Array, prompts: Prompts, world: World, negated: bool = False
) -> Float[Array, " sign"]:
    """Lemma E.4.6: -∇W_V (μ_j; q) = Σ_i V_i W_O,i; the mean of V_i over j and the neurons of each sign of a."""
    z = -prompts.label if negated else prompts.label
    push = z * (z * run.output < 1) / z.shape[0]
    q = jnp.broadcast_to(world.q[:, None], (world.q.shape[0], world.patterns.relevant.shape[1]))
    directions = jnp.concatenate([world.patterns.relevant, q])
    overlap = jnp.mean(run.mixed[:, 0] @ directions, axis=1)
    each = signs * ((push * overlap) @ ((run.hidden[:, 0] > 0) * 1.0))
    return group_mean(each, jnp.stack([signs > 0, signs < 0]) * 1.0)


def output_growth(before: Array, after: Array, signs: Array, lucky: Array, world: World) -> Float[Array, " group"]:
    """Lemma E.4.7: mean of (W_O(t) - W_O(0)) along (μ̄; q): over W, a_i > 0; along (μ̄; -q) over a_i < 0."""
    mean = jnp.mean(world.patterns.relevant, axis=1)
    along = (after - before) @ jnp.stack([jnp.concatenate([mean, world.q]), jnp.concatenate([mean, -world.q])], axis=1)
    groups = jnp.stack([lucky, signs > 0, signs < 0]) * 1.0
    means = group_mean(along.T, groups)
    return jnp.stack([means[0, 0], means[1, 0], means[2, 1]])


def planted_activity(network: Network, signs: Array, world: World, run: Pass) -> Bool[Array, "prompts neurons"]:
    """Which neurons would be active with the rows of W_O replaced by (μ̄; sign(a_i) q): the ideal of the proof."""
    mean = jnp.mean(world.patterns.relevant, axis=1)
    means = jnp.broadcast_to(mean, (signs.shape[0], mean.shape[0]))
    rows = jnp.concatenate([means, jnp.sign(signs)[:, None] * world.q], axis=1)
    return run.mixed[:, 0] @ products(network._replace(output=rows))[0].T > 0


def record_mechanism(network: Network, signs: Array, world: World, watched: Watched, include: bool) -> dict[str, Array]:
    """What figure 6.2 shows: projections and attention out of domain, and some neurons."""
    prompts, patterns = watched.shifted, watched.shifted_patterns
    assert prompts is not None
    assert patterns is not None
    run = run_forward(network, signs, prompts, include)
    matched = jnp.any(prompts.matches(), axis=1)
    same = mean_where(attention_on(run, prompts.matches() * 1.0), matched)[0]
    blocks = neuron_blocks(neurons(network), signs, world)
    shown = jnp.concatenate([jnp.argsort(order)[:SHOWN] for order in (-jnp.sign(signs), jnp.sign(signs))])
    return {
        **projections(network, prompts, patterns),
        "attention_same": same,
        "attention_other": 1 - same,
        **{f"shown_{name}": value[shown] for name, value in blocks.items()},
    }


def record_proof(
    problem: Setting, initial: Network, signs: Array, world: World, watched: Watched
) -> Callable[[Network], dict[str, Array]]:
    """The probe of everything that the proof speaks about; the lucky neurons are those of the initial network."""
    fixed, include = watched.fixed, problem.include_query
    unseen_prompts, seen_prompts = watched.unseen, watched.seen
    assert fixed is not None
    assert unseen_prompts is not None
    assert seen_prompts is not None
    some = jax.tree.map(lambda leaf: leaf[:LUCKY_PROMPTS], fixed)
    first = run_forward(initial, signs, some, include)
    lucky = find_lucky(initial, signs, some, first, world)
    factor = signs.shape[0] / problem.pattern_norm**2

    def probe(network: Network) -> dict[str, Array]:
        run = run_forward(network, signs, fixed, include)
        few = run_forward(network, signs, some, include)
        blocks = neuron_blocks(neurons(network), signs, world)
        large = otsu(blocks["neuron_norm"])
        groups = jnp.stack([large, ~large]) * 1.0
        attention, matched = attention_on(run, fixed.matches() * 1.0)[0], jnp.any(fixed.matches(), axis=1)
        sharp, hidden = mean_where(attention, matched), run.hidden[:, 0]
        planted = lucky_activity(planted_activity(network, signs, world, few), some, lucky)
        medians = jnp.nanmedian(jnp.where(groups > 0, blocks["neuron_norm"], jnp.nan), axis=1)
        new, old = (scores(run_forward(network, signs, p, include), p) for p in (unseen_prompts, seen_prompts))
        coefficients = [value_coefficients(run, signs, fixed, world, negated) for negated in (False, True)]
        return {
            **{f"unseen_{what}_path": new[what] for what in ("hinge", "error")},
            **{f"seen_{what}_path": old[what] for what in ("hinge", "error")},
            "concentration_path": new["concentration"][0],
            "least_attention": jnp.min(jnp.where(matched, attention, 1.0)),
            "active_hinge": jnp.mean(fixed.label * run.output < 1),
            **pattern_blocks(network, world),
            **updates(network, signs, fixed, world, include),
            "value_coefficient": coefficients[0] * factor / sharp,
            "negated_value_coefficient": coefficients[1] * factor / sharp,
            "output_growth": output_growth(initial.output, network.output, signs, lucky.union[0], world),
            "zeta": jnp.min(jnp.where(hidden > 0, hidden, jnp.inf)),
            "active_share": group_mean(jnp.mean((hidden > 0) * 1.0, axis=0), groups),
            **lucky_activity(few.hidden[:, 0] > 0, some, lucky),
            **{f"planted_{name}": value for name, value in planted.items()},
            "lucky_share": jnp.mean(jnp.any(lucky.union, axis=0) * 1.0),
            **blocks,
            "large": large * 1.0,
            "large_share": jnp.mean(large * 1.0),
            "norm_ratio": medians[0] / medians[1],
        }

    return probe
