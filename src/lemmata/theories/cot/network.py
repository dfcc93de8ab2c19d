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
from jaxtyping import Array, Float, Int

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


def project(W: Array, shown: Float[Array, "shown dimension"], noise: Array, first: int, steps: int) -> Table:
    """W between testing patterns, steps and noise directions; `first` is the coordinate of c_1."""
    d = shown.shape[1]
    queries = jnp.concatenate([W[:, :d] @ shown.T, W[:, first : first + steps]], axis=1)
    upper, lower = queries[:d], queries[d:]
    absent = jnp.zeros((1, queries.shape[1]), W.dtype)

    def rows(part: Array) -> Array:
        return jnp.concatenate([shown @ part, absent])

    step = upper[first : first + steps]
    return Table(rows(upper), step, rows(lower), noise @ upper, noise @ lower, noise @ shown.T)


def training_table(W: Array, patterns: int, steps: int) -> Table:
    """W between the training patterns themselves."""
    d = W.shape[0] // 2
    return project(W, jnp.eye(patterns, d, dtype=W.dtype), jnp.zeros((0, d), W.dtype), patterns, steps)


def logits(
    table: Table, query: Array, position: Array, input: Array, column_position: Array, label: Array
) -> Float[Array, "prompts columns"]:
    """The sum of three entries of W p̃_query for every column."""
    shown = table.leak.shape[1]
    of_input, of_step, of_label = (
        (part[:, query] + part[:, shown + position]).T for part in (table.input, table.step, table.label)
    )
    entries = [jnp.take_along_axis(of, at, axis=1) for of, at in ((of_input, input), (of_label, label))]
    return entries[0] + entries[1] + of_step[:, column_position]


def attend(W: Array, prompts: Prompts, patterns: int, steps: int) -> Float[Array, "prompts columns"]:
    """The attention of every training prompt's query on its columns."""
    table = training_table(W, patterns, steps)
    scores = logits(table, prompts.query, prompts.query_position, prompts.input, prompts.position, prompts.label)
    return softmax_attention(scores[:, None], prompts.weight)[:, 0]


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
    upper, lower = jnp.zeros((size // 2, size), W.dtype), jnp.zeros((size // 2, size), W.dtype)
    upper = upper.at[: M + K, : M + K].set(small[: M + K])
    return jnp.concatenate([upper, lower.at[:M, : M + K].set(small[M + K :])])


def rotation(basis: Float[Array, "dimension dimension"]) -> Float[Array, "tokens tokens"]:
    """From coordinates to tokens: the basis in both halves."""
    return jax.scipy.linalg.block_diag(basis, basis)


def plain_loss(W: Array, columns: Array, query: Array, target: Array, weight: Array) -> Array:
    """The mean loss of the network on tokens (W in their own coordinates)."""
    d = target.shape[1]
    scores = jnp.einsum("pct,tu,pu->pc", columns, W, query)
    s = softmax_attention(scores[:, None], weight)[:, 0]
    F = jnp.einsum("pc,pcd->pd", s, columns[:, :, d:])
    return 0.5 * jnp.mean(jnp.sum((F - target) ** 2, axis=1))


def plain_gradient(W: Array, prompts: Prompts, basis: Array, patterns: int) -> Float[Array, "tokens tokens"]:
    """∇_W by automatic differentiation of the plain network, W in the coordinates of the patterns."""
    turn, written = rotation(basis), tokens(prompts, basis, patterns)
    slope = jax.grad(plain_loss)(turn @ W @ turn.T, *written, prompts.weight)
    return turn.T @ slope @ turn


class Chains(NamedTuple):
    """Inference on testing prompts: the outputs of every step, and the attention on S_k* with whether it is empty."""

    outputs: Int[Array, "prompts steps"]
    concentration: Float[Array, "prompts steps"]
    empty: Float[Array, "prompts steps"]


def example_columns(trials: Trials) -> tuple[Array, Array, Array, Array]:
    """Inputs, labels, steps and weights of all columns of the examples, step by step."""
    prompts, reached, room = trials.chain.shape
    K = reached - 1
    input, label = (part.reshape(prompts, K * room) for part in (trials.chain[:, :-1], trials.chain[:, 1:]))
    return input, label, jnp.repeat(jnp.arange(K), room), jnp.tile(trials.weight, (1, K))


def noise_logits(table: Table, query: Array, position: Array, of_input: Array, of_label: Array) -> Array:
    """What the noise of inputs and of labels, [prompts, ..., directions], adds to the logits."""
    shown, parts = table.leak.shape[1], ((of_input, table.input_noise), (of_label, table.label_noise))
    added = [jnp.einsum("p...d,pd->p...", at, (W[:, query] + W[:, shown + position]).T) for at, W in parts]
    return added[0] + added[1]


def trial_attention(
    table: Table, trials: Trials, query: Array, k: int, own: Int[Array, "prompts reached"], equal: Any
) -> tuple[Array, Array, Float[Array, "prompts directions"]]:
    """Attention of the query (v_{k-1}; 0) + c_k on all example columns and on its own earlier steps `own`; and the
    mean label noise under it."""
    prompts, reached, room = trials.chain.shape
    K = reached - 1
    input, label, step, weight = example_columns(trials)
    position = jnp.full(prompts, k) * (1 - equal)
    scores = logits(table, query, position, input, step * (1 - equal), label)
    noisy = noise_logits(table, query, position, trials.noise[:, :-1], trials.noise[:, 1:])
    scores = scores + noisy.reshape(prompts, K * room)
    if k:
        mine = logits(table, query, position, own[:, :k], jnp.arange(k) * (1 - equal), own[:, 1 : k + 1])
        scores, weight = jnp.concatenate([scores, mine], axis=1), jnp.pad(weight, ((0, 0), (0, k)), constant_values=1)
    s = softmax_attention(scores[:, None], weight)[:, 0]
    on_examples = s[:, : K * room]
    drift = jnp.einsum("pkl,pkld->pd", on_examples.reshape(prompts, K, room), trials.noise[:, 1:])
    return on_examples, s[:, K * room :], drift


def answer_chain(table: Table, trials: Trials, equal: Any) -> Chains:
    """CoT inference: K steps of greedy decoding, each output appended to the prompt (section 4)."""
    reached = trials.chain.shape[1]
    shown = table.leak.shape[1]
    input, label, step, weight = example_columns(trials)
    own = [trials.truth[:, 0]]
    attended, absent = [], []
    for k in range(reached - 1):
        earlier = jnp.stack(own, axis=1)
        on_examples, on_own, drift = trial_attention(table, trials, own[-1], k, earlier, equal)
        votes = count(on_examples, label, shown) + drift @ table.leak
        votes = votes + (count(on_own, earlier[:, 1:], shown) if k else 0.0)
        chosen = (input == own[-1][:, None]) & (step == k) & (weight > 0)  # S_k*
        attended.append(jnp.sum(on_examples * chosen, axis=1))
        absent.append(~jnp.any(chosen, axis=1) * 1.0)
        own.append(jnp.argmax(votes, axis=1))
    return Chains(jnp.stack(own[1:], axis=1), jnp.stack(attended, axis=1), jnp.stack(absent, axis=1))


def answer_directly(table: Table, trials: Trials, equal: Any) -> Int[Array, " prompts"]:
    """ICL inference: columns (x_i; y_{i,K}) + c_1, and K - 1 empty ones that carry their positions only."""
    prompts, reached, room = trials.chain.shape
    K, shown, query = reached - 1, table.leak.shape[1], trials.truth[:, 0]
    none = jnp.full((prompts, K - 1), shown)
    input, label = (jnp.concatenate([trials.chain[:, at], none], axis=1) for at in (0, K))
    step = jnp.concatenate([jnp.zeros(room, int), jnp.arange(1, K)]) * (1 - equal)
    position = jnp.zeros(prompts, int)
    scores = logits(table, query, position, input, step, label)
    noisy = noise_logits(table, query, position, trials.noise[:, 0], trials.noise[:, K])
    scores = scores + jnp.pad(noisy, ((0, 0), (0, K - 1)))
    length = jnp.sum(trials.weight, axis=1, keepdims=True)
    weight = jnp.concatenate([trials.weight, jnp.broadcast_to(length, (prompts, K - 1))], axis=1)
    s = softmax_attention(scores[:, None], weight)[:, 0]
    drift = jnp.einsum("pl,pld->pd", s[:, :room], trials.noise[:, K])
    return jnp.argmax(count(s, label, shown) + drift @ table.leak, axis=1)


def trial_table(W: Array, tested: System, patterns: int) -> Table:
    """W between the testing patterns."""
    return project(W, tested.patterns, tested.noise, patterns, tested.matrices.shape[0])
