"""The three-layer transformer: setting, network, training with Adam on fresh prompts, attention groups of every head.

Pre-norm blocks of causal attention with H heads of width d_X and a ReLU perceptron, on tokens of width 2d_X; the answer
is read from the query, the last column. Its columns stand example by example, as in the paper.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import lemmata as lm
from lemmata.networks.causal import sinusoidal
from lemmata.networks.transformer import Block, Dense, Norm, dense, draw_dense, draw_norm, layer_norm, transform
from lemmata.theories.cot import data
from lemmata.theories.cot.data import Prompts, haar, tokens
from lemmata.theories.cot.probes import GROUPS, group_masses
from lemmata.theories.cot.setting import PromptSetting


class DeepSetting(PromptSetting):
    """The three-layer model on training prompts of two steps."""

    step_size: float = lm.number(1e-3, "η", "step size of Adam", low=0, open_ends="low")
    steps: int = lm.number(3000, "T", "training steps", low=0, high=10**6, integer=True)
    examples: int = lm.number(10, "l_tr", "examples of a training prompt", low=1, high=1024, integer=True)
    position_scale: float = lm.number(0.3, "", "size of sinusoidal positions", low=0)
    record_every: int = lm.number(100, "", "steps between two records, at least", low=1, integer=True)

    reasoning_steps: int = lm.size(2, "K", "reasoning steps")
    batch: int = lm.size(120, "B", "prompts of a training step")
    records: int = lm.size(31, "", "room for records", low=2)
    watch_prompts: int = lm.size(500, "", "fresh training prompts that are watched")
    blocks: int = lm.size(3, "", "transformer blocks")
    heads: int = lm.size(2, "H", "attention heads, of width d_X")

    positions: str = lm.choice(
        "orthonormal", "what a column knows of its place: its step's c_k, or its number", "orthonormal", "sinusoidal"
    )


class Deep(NamedTuple):
    """The parameters: blocks, last norm, read-out."""

    blocks: Block
    last_norm: Norm
    readout: Dense


@lm.piece("dimension", "blocks", "heads", once=True)
def initialise(problem: DeepSetting, key: jax.Array) -> Deep:
    """Norms the identity, affine maps as the common libraries draw them."""
    d, width = problem.dimension, 2 * problem.dimension
    inner = problem.heads * d

    def block(key: jax.Array) -> Block:
        shapes = (width, 3 * inner), (inner, width), (width, 4 * d), (4 * d, width)
        keys = zip(jax.random.split(key, 4), shapes, strict=True)
        query_key_value, output, mlp, mlp_output = (draw_dense(part, *shape) for part, shape in keys)
        return Block(draw_norm(width), query_key_value, output, draw_norm(width), mlp, mlp_output)

    first, second = jax.random.split(lm.stream(key, "init"))
    blocks = jax.vmap(block)(jax.random.split(first, problem.blocks))
    return Deep(blocks, draw_norm(width), draw_dense(second, width, d))


def column_order(steps: int, room: int) -> np.ndarray:
    """From columns step by step to columns example by example, the query's earlier steps last."""
    return np.concatenate([np.arange(steps * room).reshape(steps, room).T.ravel(), steps * room + np.arange(steps - 1)])


def sequence(problem: DeepSetting, prompts: Prompts, basis: Array) -> tuple[Array, Array, Array]:
    """Columns example by example, then the query's earlier steps and the query: tokens, weights, targets."""
    M, K, room = problem.patterns, problem.reasoning_steps, problem.example_capacity
    order, by_number = column_order(K, room), problem.positions == "sinusoidal"
    attended, query, target = tokens(prompts, basis * (np.arange(len(basis)) < M) if by_number else basis, M)
    columns = jnp.concatenate([attended[:, order], query[:, None]], axis=1)
    if by_number:
        place = jnp.tile(jnp.arange(1, columns.shape[1] + 1), (columns.shape[0], 1))
        place = place.at[:, -1].set(K * room + prompts.query_step + 1)
        columns = columns + problem.position_scale * sinusoidal(columns.shape[1] + 1, columns.shape[2])[place]
    return columns, jnp.pad(prompts.weight[:, order], ((0, 0), (0, 1)), constant_values=1.0), target


def answer(network: Deep, columns: Array, weight: Array, heads: int, show: tuple[str, ...] = ()) -> tuple[Array, Any]:
    """F(P): what the network says at the query, and what is shown of its blocks."""
    states, shown = transform(network.blocks, columns, weight, heads=heads, causal=True, last=True, show=show)
    return dense(network.readout, layer_norm(network.last_norm, states[:, -1])), shown


def head_groups(
    attention: Float[Array, "layer prompts head query key"], prompts: Prompts, order: np.ndarray
) -> Float[Array, "layer head group"]:
    """The query's attention by group, mean over prompts: the four of 5.1, and itself."""
    last = jnp.swapaxes(attention[:, :, :, -1], 1, 2)
    same_step = (prompts.step[None] == prompts.query_step[:, None])[:, order]
    same_pattern = (prompts.input == prompts.query[:, None])[:, order]
    masses = group_masses(last[..., :-1], same_step, same_pattern)
    return jnp.mean(jnp.concatenate([masses, last[..., -1:]], axis=-1), axis=2)


def prepare(setting: DeepSetting, seed: int) -> Float[Any, "dimension dimension"]:
    """The basis of patterns and positions of a run."""
    return haar(lm.generator(seed, "basis"), setting.dimension)


@lm.piece(
    *("dimension", "patterns", "reasoning_steps", "batch", "records", "watch_prompts", "example_capacity", "task_law"),
    *("blocks", "heads", "positions"),
)
def train(problem: DeepSetting, key: jax.Array, network: Deep | None, basis: Array) -> lm.Run:
    """Adam on ½‖z - F‖² of a fresh batch at every step, from the initial network if none is given."""
    pool_key, fresh = lm.stream(key, "test", data.POOL), data.watched_prompts(problem, key, 0)
    network = initialise(problem, key) if network is None else network

    def draw(key: jax.Array) -> Prompts:
        return data.training_prompts(problem, key, pool_key, problem.batch, problem.pool)

    def look(network: Deep, prompts: Prompts, show: tuple[str, ...] = ()) -> tuple[Array, Any]:
        columns, weight, target = sequence(problem, prompts, basis)
        said, shown = answer(network, columns, weight, problem.heads, show)
        return 0.5 * jnp.mean(jnp.sum((said - target) ** 2, axis=1)), shown

    def probe(state: Any, previous: Any) -> dict[str, Array]:
        loss, shown = look(state.parameters, fresh, ("attention",))
        order = column_order(problem.reasoning_steps, problem.example_capacity)
        return {"train_loss": loss, "head_groups": head_groups(shown["attention"], fresh, order)}

    fresh_batches = lm.fresh(lm.stream(key, "batch"), draw)
    start, step = lm.descent(jax.grad(lambda *given: look(*given)[0]), optax.adam(problem.step_size), fresh_batches)
    return lm.loop(step, start(network), probe, lm.record_steps(problem.steps, problem.records, problem.record_every))


@lm.simulation(
    *lm.RUN,
    lm.Variable("train_loss", ("record",), "ℓ", "loss on watched prompts of fresh tasks"),
    lm.Variable("head_groups", ("record", "layer", "head", "five_group"), "", "the query's attention by group"),
    labels={"five_group": (*GROUPS, "itself")},
    prepare=prepare,
)
def train_deep(problem: DeepSetting, key: jax.Array, basis: Array) -> dict[str, Array]:
    """Train, and look at the attention of every head."""
    given = lm.starting(None, like=lambda: initialise(problem, key))
    run = train(problem, key, given, basis)
    lm.keep(network=run.state.parameters, initial=lambda: initialise(problem, key) if given is None else given)
    lm.keep(data=lambda: data.watched_prompts(problem, key, 0), basis=basis)
    return run.results()
