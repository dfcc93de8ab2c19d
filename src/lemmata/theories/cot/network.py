"""The one-layer attention model (3.1) and its two ways of inference (section 4).

    F(Ψ; P) = Σ_i W_V p̃_i s_i,   s = softmax_i(p̃_iᵀ W p̃_query),   W_V = (0 I)

W is kept in the basis of the patterns: coordinates 0..M-1 are (μ_i; 0), M..M+K-1 are c_k, d..d+M-1 are (0; μ_i). A
column is three one-hots there, so that its logit is a sum of three entries of W p̃_query and the gradient a scatter of
scalars (the exact reduction). Testing patterns and noise are rows of coordinates: the same after a projection. The
plain network, which multiplies tokens, is beside it as the other path.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

import lemmata as lm
from lemmata.networks.attention import softmax_attention
from lemmata.theories.cot.data import Prompts, System, Trials, tokens
from lemmata.theories.cot.setting import Setting


class Factors(NamedTuple):
    """W_K and W_Q where they are trained separately: W = W_Kᵀ W_Q."""

    key: Float[Array, "width tokens"]
    query: Float[Array, "width tokens"]


Parameters = Array | Factors


@lm.piece("dimension", "factored", "key_width", once=True)
def initialise(problem: Setting, key: jax.Array) -> Parameters:
    """W(0) with entries N(0, ξ²); factors with entries such that their product has this variance."""
    size, scale = 2 * problem.dimension, jnp.asarray(problem.initial_scale, jnp.result_type(float))
    init = lm.stream(key, "init")
    if not problem.factored:
        return scale * jax.random.normal(init, (size, size))
    parts = jax.random.normal(init, (2, problem.key_width, size))
    return Factors(*(jnp.sqrt(scale / jnp.sqrt(problem.key_width)) * parts))


def weights(parameters: Parameters) -> Float[Array, "*moments tokens tokens"]:
    """W of parameters, factored or not."""
    if isinstance(parameters, Factors):
        return jnp.swapaxes(parameters.key, -1, -2) @ parameters.query
    return parameters


class Table(NamedTuple):
    """p̃ᵀ W p̃' for columns p̃ = input + step + label and queries p̃' = input + step; noise by its directions.

    Query columns are the patterns, then the steps. The last row of `input` and of `label` is 0, for what is absent.
    `leak` is what noise in a label adds to the votes: 0 unless it lies in the span of the testing patterns.
    """

    input: Float[Array, "shown_and_none queries"]
    step: Float[Array, "steps queries"]
    label: Float[Array, "shown_and_none queries"]
    input_noise: Float[Array, "directions queries"]
    label_noise: Float[Array, "directions queries"]
    leak: Float[Array, "directions shown"]


class Columns(NamedTuple):
    """What a query attends to: input, label, step and multiplicity of every column, and the noise of its two tokens."""

    input: Int[Array, "prompts columns"]
    label: Int[Array, "prompts columns"]
    position: Int[Array, " columns"]
    weight: Float[Array, "prompts columns"]
    input_noise: Float[Array, "prompts columns directions"]
    label_noise: Float[Array, "prompts columns directions"]


def project(W: Array, shown: Float[Array, "shown dimension"], noise: Array, steps: Int[Array, " steps"]) -> Table:
    """W between testing patterns, steps (the coordinates of their encodings) and noise directions."""
    d, none = shown.shape[1], ((0, 1), (0, 0))
    queries = jnp.concatenate([W[:, :d] @ shown.T, W[:, steps]], axis=1)
    upper, lower = queries[:d], queries[d:]
    input, label = (jnp.pad(shown @ part, none) for part in (upper, lower))
    return Table(input, upper[steps], label, noise @ upper, noise @ lower, noise @ shown.T)


def trial_table(W: Array, tested: System, patterns: int, equal: Any = 0) -> Table:
    """W between the testing patterns; equal: with one positional encoding for all steps."""
    steps = patterns + jnp.arange(tested.matrices.shape[0]) * (1 - equal)
    return project(W, tested.patterns, tested.noise, steps)


def attention(table: Table, query: Array, position: Array, columns: Columns) -> Float[Array, "prompts columns"]:
    """Softmax over the columns of W p̃_query's entries at their input, label and step, and at what is noise in them."""
    shown = table.leak.shape[1]
    of = Table._make((*((part[:, query] + part[:, shown + position]).T for part in table[:-1]), table.leak))
    entries = [jnp.take_along_axis(*both, axis=1) for both in zip((of.input, of.label), columns[:2], strict=True)]
    by_direction = zip(columns[4:], (of.input_noise, of.label_noise), strict=True)
    noisy = [jnp.einsum("pcd,pd->pc", *both) for both in by_direction]
    scores = entries[0] + entries[1] + of.step[:, columns.position] + (noisy[0] + noisy[1])
    return softmax_attention(scores[:, None], columns.weight)[:, 0]


def attend(W: Array, prompts: Prompts, patterns: int, steps: int) -> Float[Array, "prompts columns"]:
    """The attention of every training prompt's query on its columns."""
    d, quiet = W.shape[0] // 2, jnp.zeros((*prompts.input.shape, 0), W.dtype)
    itself, silent = jnp.eye(patterns, d, dtype=W.dtype), jnp.zeros((0, d), W.dtype)
    table = project(W, itself, silent, patterns + jnp.arange(steps))
    columns = Columns(prompts.input, prompts.label, prompts.position, prompts.weight, quiet, quiet)
    return attention(table, prompts.query, prompts.query_position, columns)


def count(attention: Float[Array, "prompts columns"], label: Array, patterns: int) -> Float[Array, "prompts patterns"]:
    """The attention on every label: the coordinates of F."""
    prompts = jnp.arange(label.shape[0])[:, None]
    return jnp.zeros((label.shape[0], patterns), attention.dtype).at[prompts, label].add(attention)


def losses(attention: Array, prompts: Prompts, patterns: int) -> Float[Array, " prompts"]:
    """½‖z - F‖² of every prompt."""
    missing = count(attention, prompts.label, patterns) - jax.nn.one_hot(prompts.target, patterns)
    return 0.5 * jnp.sum(missing**2, axis=1)


def gradient(W: Array, prompts: Prompts, patterns: int, steps: int) -> Float[Array, "tokens tokens"]:
    """The mean of ∇_W ℓ over prompts in closed form: Σ_i s_i (a_i - ā) p̃_i p̃_queryᵀ, a_i = (F-z)ᵀ W_V p̃_i."""
    s, M, K, size = attend(W, prompts, patterns, steps), patterns, steps, W.shape[0]
    missing = count(s, prompts.label, M) - jax.nn.one_hot(prompts.target, M)
    a = jnp.take_along_axis(missing, prompts.label, axis=1)
    g = s * (a - jnp.sum(s * a, axis=1, keepdims=True)) / s.shape[0]
    scattered = [count(g, prompts.input, M), g @ jax.nn.one_hot(prompts.position, K), count(g, prompts.label, M)]
    asked = jnp.concatenate([jax.nn.one_hot(prompts.query, M), jax.nn.one_hot(prompts.query_position, K)], axis=1)
    small = (jnp.concatenate(scattered, axis=1).T @ asked).astype(W.dtype)
    upper = jnp.zeros_like(W).at[: M + K, : M + K].set(small[: M + K])
    return upper.at[size // 2 : size // 2 + M, : M + K].set(small[M + K :])


def plain_gradient(W: Array, prompts: Prompts, basis: Array, patterns: int) -> Float[Array, "tokens tokens"]:
    """∇_W by automatic differentiation of the network on tokens; W is in the coordinates of the patterns."""
    columns, query, target = tokens(prompts, basis, patterns)
    turn = jax.scipy.linalg.block_diag(basis, basis)  # from coordinates to tokens

    def loss(W: Array) -> Array:
        s = softmax_attention(jnp.einsum("pct,tu,pu->pc", columns, W, query)[:, None], prompts.weight)[:, 0]
        F = jnp.einsum("pc,pcd->pd", s, columns[:, :, len(basis) :])
        return 0.5 * jnp.mean(jnp.sum((F - target) ** 2, axis=1))

    return turn.T @ jax.grad(loss)(turn @ W @ turn.T) @ turn


class Chains(NamedTuple):
    """Inference on testing prompts: the outputs of every step, and the attention on S_k* (NaN where it is empty)."""

    outputs: Int[Array, "prompts steps"]
    concentration: Float[Array, "prompts steps"]


def example_columns(trials: Trials) -> Columns:
    """All columns of the examples, step by step."""
    prompts, reached, room = trials.chain.shape
    K, directions = reached - 1, trials.noise.shape[3]
    input, label = (part.reshape(prompts, K * room) for part in (trials.chain[:, :-1], trials.chain[:, 1:]))
    noise = (part.reshape(prompts, K * room, directions) for part in (trials.noise[:, :-1], trials.noise[:, 1:]))
    return Columns._make((input, label, jnp.repeat(jnp.arange(K), room), jnp.tile(trials.weight, (1, K)), *noise))


def with_own(examples: Columns, own: Int[Array, "prompts reached"], k: Any) -> Columns:
    """The columns of the examples, and the query's own steps, free of noise, of which the first k are there."""
    prompts, reached = own.shape
    steps = jnp.arange(reached - 2)
    own_columns = own[:, :-2], own[:, 1:-1], steps, jnp.broadcast_to((steps < k) * 1.0, (prompts, reached - 2))
    here = (jnp.concatenate(parts, axis=-1) for parts in zip(examples[:4], own_columns, strict=True))
    return Columns(*here, *(jnp.pad(part, ((0, 0), (0, reached - 2), (0, 0))) for part in examples[4:]))


def matching(columns: Columns, query: Int[Array, " prompts"], k: Any) -> Bool[Array, "prompts columns"]:
    """S_k*: the columns of step k with the query's pattern."""
    return (columns.input == query[:, None]) & (columns.position == k) & (columns.weight > 0)


def votes(table: Table, columns: Columns, attended: Float[Array, "prompts columns"]) -> Float[Array, "prompts shown"]:
    """F by testing pattern: the attention on every label, and what noise of labels adds to it."""
    drift = jnp.einsum("pc,pcd->pd", attended, columns.label_noise)
    return count(attended, columns.label, table.leak.shape[1]) + drift @ table.leak


def answer_chain(table: Table, trials: Trials) -> Chains:
    """CoT inference: K steps of greedy decoding, each output appended to the prompt (section 4)."""
    examples = example_columns(trials)

    def step(own: Array, k: Array) -> tuple[Array, Array]:
        query, columns = own[:, k], with_own(examples, own, k)
        s, chosen = attention(table, query, jnp.full_like(query, k), columns), matching(columns, query, k)
        attended = jnp.where(jnp.any(chosen, axis=1), jnp.sum(s * chosen, axis=1), jnp.nan)
        return own.at[:, k + 1].set(jnp.argmax(votes(table, columns, s), axis=1)), attended

    own, attended = jax.lax.scan(step, trials.truth, jnp.arange(trials.truth.shape[1] - 1))
    return Chains(own[:, 1:], attended.T)


def answer_directly(table: Table, trials: Trials) -> Int[Array, " prompts"]:
    """ICL inference: columns (x_i; y_{i,K}) + c_1, and K - 1 empty ones that carry their positions only."""
    K, shown, query = trials.chain.shape[1] - 1, table.leak.shape[1], trials.truth[:, 0]
    empty, ends = ((0, 0), (0, K - 1)), (0, K)
    length = jnp.repeat(jnp.sum(trials.weight, axis=1, keepdims=True), K - 1, axis=1)
    input, label = (jnp.pad(trials.chain[:, end], empty, constant_values=shown) for end in ends)
    input_noise, label_noise = (jnp.pad(trials.noise[:, end], (*empty, (0, 0))) for end in ends)
    step = jnp.concatenate([jnp.zeros(trials.chain.shape[2], int), jnp.arange(1, K)])
    weight = jnp.concatenate([trials.weight, length], axis=1)
    columns = Columns(input, label, step, weight, input_noise, label_noise)
    s = attention(table, query, jnp.zeros_like(query), columns)
    return jnp.argmax(votes(table, columns, s), axis=1)
