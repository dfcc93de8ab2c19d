"""Tracked quantities (section 5): attention groups, projections of W and of gradients, voters on the same prompts."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lemmata.theories.cot.data import Prompts, Trials
from lemmata.theories.cot.network import Table, attention, count, example_columns, matching, with_own

GROUPS = tuple(f"{step} step, {pattern} pattern" for step in ("same", "other") for pattern in ("same", "other"))


def group_masses(s: Array, same_step: Array, same_pattern: Array) -> Float[Array, "*prompts group"]:
    """The attention on columns of the query's step or another, with its pattern or another (5.1); they sum to 1."""
    step, pattern = same_step * 1.0, same_pattern * 1.0
    kinds = (step * pattern, step * (1 - pattern), (1 - step) * pattern, (1 - step) * (1 - pattern))
    return jnp.stack([jnp.sum(s * kind, axis=-1) for kind in kinds], axis=-1)


def training_groups(attention: Array, prompts: Prompts) -> Float[Array, "prompts group"]:
    """The four groups of every training prompt; the first is p_n."""
    same_step = prompts.step[None] == prompts.query_step[:, None]
    return group_masses(attention, same_step, prompts.input == prompts.query[:, None])


def testing_groups(table: Table, trials: Trials) -> tuple[Float[Array, " group"], Float[Array, ""]]:
    """The four groups on testing prompts with the true earlier steps, mean over steps; and the share without S_k*."""
    examples, truth = example_columns(trials), jnp.asarray(trials.truth)

    def at(k: Array) -> tuple[Array, Array]:
        query, columns = truth[:, k], with_own(examples, truth, k)
        s = attention(table, query, jnp.full_like(query, k), columns)
        there = jnp.any(matching(columns, query, k), axis=1) * 1.0
        return there @ group_masses(s, (columns.position == k)[None], columns.input == query[:, None]), there

    total, there = jax.lax.map(at, jnp.arange(truth.shape[1] - 1))
    return jnp.sum(total, axis=0) / jnp.sum(there), 1 - jnp.mean(there)


def diagonal_means(block: Float[Array, "size size"]) -> tuple[Array, Array]:
    """The mean of the diagonal and of the rest; of one entry there is no rest: NaN."""
    size = block.shape[0]
    own, everything = jnp.trace(block), jnp.sum(block)
    return own / size, (everything - own) / (size * (size - 1)) if size > 1 else jnp.asarray(jnp.nan, block.dtype)


def gains(W: Array, patterns: int, steps: int) -> dict[str, Array]:
    """Block projections of W (5.3): pattern gain u_μ, step gain u_c, the label block's own and other entries, and how
    large the cross blocks are, whose sums over attended columns never change (root mean squares)."""
    d = W.shape[0] // 2
    pattern, step, label = slice(patterns), slice(patterns, patterns + steps), slice(d, d + patterns)
    (own, other), (step_own, step_other) = (diagonal_means(W[part, part]) for part in (pattern, step))
    same, rest = diagonal_means(W[label, pattern])
    found = {"pattern_gain": own - other, "step_gain": step_own - step_other, "label_own": same, "label_other": rest}
    crossed = {"pattern_step": W[pattern, step], "step_pattern": W[step, pattern], "label_step": W[label, step]}
    return found | {name: jnp.sqrt(jnp.mean(block**2)) for name, block in crossed.items()}


def relations(G: Array, patterns: int, steps: int) -> Float[Array, " relation"]:
    """p̃'ᵀ ∇ p̃ with p̃ = (μ_i; 0) + c_k, mean over all index pairs of each of the four relations (5.4)."""
    M = patterns
    pattern, step = diagonal_means(G[:M, :M]), diagonal_means(G[M : M + steps, M : M + steps])
    cross = jnp.mean(G[:M, M : M + steps]) + jnp.mean(G[M : M + steps, :M])
    return jnp.stack([pattern[i] + step[j] + cross for i, j in ((0, 0), (0, 1), (1, 0), (1, 1))])


def vote_chain(key: jax.Array, trials: Trials, shown: int, blind: bool = False) -> Int[Array, "prompts steps"]:
    """The ideal voter on these prompts (3.3): the plurality of what examples did from the current pattern.

    blind: all examples vote, whatever their input. Ties, and votes of nobody, are decided at random.
    """

    def step(current: Array, of: Any) -> tuple[Array, Array]:
        k, before, after = of
        voters = trials.weight * (1.0 if blind else before == current[:, None])
        chosen = _plurality(jax.random.fold_in(key, k), voters, after, shown)
        return chosen, chosen

    before, after = (part.swapaxes(0, 1) for part in (trials.chain[:, :-1], trials.chain[:, 1:]))
    return jax.lax.scan(step, trials.truth[:, 0], (jnp.arange(len(before)), before, after))[1].T


def vote_directly(key: jax.Array, trials: Trials, shown: int) -> Int[Array, " prompts"]:
    """The ideal voter of ICL: the plurality of the final outputs of examples with the query's input."""
    voters = trials.weight * (trials.chain[:, 0] == trials.truth[:, :1])
    return _plurality(key, voters, trials.chain[:, -1], shown)


def _plurality(key: jax.Array, voters: Array, output: Array, shown: int) -> Array:
    votes = count(voters, output, shown)
    return jnp.argmax(votes + 0.5 * jax.random.uniform(key, votes.shape), axis=1)
